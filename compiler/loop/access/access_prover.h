// AccessProver: proves inequalities between index expressions, for memory safety of kernels and for moving
// loads out of loops.
//
//   AccessProver p(context, &solver);
//   p.addVariable(i, n);  p.addVariable(j, m);
//   p.inRange(i * m + j, n * m)      → true
//
// Expressions become polynomials over atoms (loop variables, symbols of dims, floordiv, min, max, select,
// values of functions, loads). Atoms are eliminated one after the other, innermost variable first, each by a
// bound that makes the polynomial smallest:
//   variable v < e           v := 0 or v := e - 1, by the sign of its coefficient
//   floordiv(a, k), k >= 1   multiplied out: r - q >= 0 iff k*r + k - 1 - a >= 0
//   min, max, select         each alternative (one suffices where any of them is a bound)
//   f(x)                     its range; f(x) + g(x) = f(x + 1) for prefix sums; f(x) <= f(y) for x <= y when monotone
// and what is left over dims goes to the solver. Guards are constraints that may be subtracted.
// Sound while no index computation wraps at 64 bits (sizes are checked before a kernel runs); bounded by a
// budget of steps.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "compiler/dims/dim_solver.h"
#include "compiler/loop/expr.h"

namespace dyn::loop {

class AccessProver {
 public:
  AccessProver(LoopContext& context, const DimSolver* solver);

  void addVariable(Expr variable, Expr extent);  // 0 <= variable < extent, so extent >= 1
  void addRange(Expr variable, Expr extent);     // only 0 <= variable < extent where the variable is used
  void addLet(Expr variable, Expr value);
  void assume(Expr condition, bool holds = true);

  size_t mark() const { return constraints_.size(); }
  void rollback(size_t mark) { constraints_.resize(mark); }

  // Takes the facts since `mark` away for a while; giveBack() puts them behind those that are there then.
  struct Facts;
  Facts takeSince(size_t mark);
  void giveBack(Facts facts);

  bool nonNegative(Expr e);
  bool positive(Expr e);
  bool inRange(Expr index, Expr extent);  // 0 <= index < extent

 private:
  using Monomial = std::vector<uint32_t>;  // atoms, sorted, with repeats
  using Polynomial = std::map<Monomial, int64_t>;
  enum class AtomKind : uint8_t { opaque, variable, symbol, floorDiv, min, max, select, call };
  struct Atom {
    AtomKind kind = AtomKind::opaque;
    Expr expr;           // opaque, variable, call
    Dim dim;             // symbol
    Polynomial a, b;     // floorDiv, min, max, select: operands; call: argument
    bool known = false;  // variable: has an extent, in b
    int depth = 0;
  };

  uint32_t atom(AtomKind kind, uint64_t reference, Expr expr, Dim dim, Polynomial a, Polynomial b);
  Polynomial ofAtom(uint32_t id) const { return {{{id}, 1}}; }
  Polynomial constant(int64_t value) const;
  bool add(Polynomial& into, const Polynomial& p, int64_t factor);
  std::optional<Polynomial> multiply(const Polynomial& a, const Polynomial& b);
  Polynomial sum(const Polynomial& a, const Polynomial& b, int64_t factor);
  Polynomial convert(Expr e, int depth = 0);
  Polynomial convert(Dim d, int depth = 0);
  Polynomial division(Polynomial a, Polynomial k, bool remainder, uint64_t reference);
  Polynomial call(Expr e, int depth);

  bool dependsOn(const Polynomial& p, uint32_t atom, int depth = 0) const;
  bool split(const Polynomial& p, uint32_t atom, Polynomial* coefficient, Polynomial* rest) const;
  bool prove(Polynomial p, int depth);
  bool simplySigned(const Polynomial& p);
  bool symbolNonNegative(uint32_t id) const;
  int64_t symbolLow(uint32_t id) const;
  bool bySolver(const Polynomial& p) const;
  bool byConstraints(const Polynomial& p, uint32_t atom, int depth);
  bool eliminate(const Polynomial& p, uint32_t atom, int depth);
  bool eliminateCall(const Polynomial& c, const Polynomial& r, uint32_t id, int depth);
  std::vector<uint32_t> candidates(const Polynomial& p) const;
  void joinPrefixSums(Polynomial& p);
  bool joinOnePrefixSum(Polynomial& p);
  bool ask(const Polynomial& p);

  LoopContext& context_;
  const DimSolver* solver_;
  std::vector<Atom> atoms_;
  std::map<std::tuple<AtomKind, uint64_t, Polynomial, Polynomial>, uint32_t> ids_;
  std::unordered_map<uint32_t, Expr> lets_;
  std::unordered_map<uint32_t, Expr> extents_;
  std::vector<Polynomial> constraints_;  // each >= 0
  std::unordered_map<uint32_t, Polynomial> converted_;
  int budget_ = 0;
};

struct AccessProver::Facts {
  std::vector<Polynomial> constraints;
};

}  // namespace dyn::loop
