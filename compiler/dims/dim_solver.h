// DimSolver: facts about symbols, each with its reason, and the questions that typing, fusion and planning
// ask.
//
//   DimSolver s(context);
//   s.addEqual(n, m, {"Add at node X demands equal dims"});
//   s.equal(n * 4, m * 4)        → Answer::yes, explain() lists the facts used
//   s.lessEqual(n, n + 1)        → Answer::yes
//   s.equal(n, k)                → Answer::unknown: costs a run-time guard, never correctness
//
// Every symbol is a dim, so it is ≥ 0 unless addRange says otherwise (addRange may also lower the bound:
// slice offsets; do so before other facts about that symbol). An answer speaks of all values for which both
// dims are defined (no division by 0, no overflow). `no` is only answered when NO assignment allowed by the
// facts makes the statement true; counterexample() gives values for `unknown` and `no`. The solver is sound,
// not complete: linear arithmetic over canonical sums, congruence by union-find, intervals, divisibility, and
// equal products. Time of a question is bounded (a budget of steps; past it: unknown).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/dims/dim.h"

namespace dyn {

enum class Answer : uint8_t { no, yes, unknown };
const char* toString(Answer answer);

struct Reason {
  std::string text;  // "operator rule: Add needs equal dims", "model names the dim", "user: --dim seq=1..512"
  SourceLocation place;  // node or line, when there is one
};

enum class FactKind : uint8_t { equal, range, multipleOf, equalProduct, likely };
const char* toString(FactKind kind);

struct Fact {
  FactKind kind;
  Dim a, b;                          // equal: a == b; equalProduct: a == b as products; others: a
  std::optional<int64_t> low, high;  // range, inclusive
  int64_t multiple = 1;              // multipleOf
  std::vector<int64_t> likely;       // likely values, most frequent first
  Reason reason;
  std::string toString() const;  // "seq in 1..512 (user: --dim seq=1..512)"
};

struct Interval {
  std::optional<int64_t> low, high;  // nullopt = unbounded on that side
};

class DimSolver {
 public:
  explicit DimSolver(DimContext& context);
  ~DimSolver();
  DimSolver(
      const DimSolver& other);  // a copy learns on its own: a specialised clone never leaks its facts back
  DimSolver& operator=(const DimSolver&) = delete;

  // Each returns an error (shapeMismatch, naming both reasons) when the new fact contradicts what is known;
  // the solver then keeps its old state.
  Status addEqual(Dim a, Dim b, Reason reason);
  Status addRange(Dim a, std::optional<int64_t> low, std::optional<int64_t> high, Reason reason);
  Status addMultipleOf(Dim a, int64_t multiple, Reason reason);
  Status addEqualProduct(Dim a, Dim b, Reason reason);
  void addLikely(Dim a, std::vector<int64_t> values, Reason reason);

  Answer equal(Dim a, Dim b) const;
  Answer lessEqual(Dim a, Dim b) const;
  Answer divides(int64_t divisor, Dim a) const;
  Answer equalShapes(const Shape& a, const Shape& b) const;  // rank and each dim
  Answer equalElementCount(const Shape& a, const Shape& b) const;
  Interval interval(Dim a) const;
  // The representative form: every symbol replaced by its class's representative (a constant where known,
  // else a named symbol before an anonymous one, else the oldest). Two dims are provably equal if their
  // canonical forms are the same object.
  Dim canonical(Dim a) const;

  // The facts that prove the `yes` or `no` of that question, none of them needless (up to 400 facts; beyond,
  // a superset); between two symbols they form a chain from a to b. Empty when the answer is unknown or needs
  // no fact.
  std::vector<Fact> explainEqual(Dim a, Dim b) const;
  std::vector<Fact> explainLessEqual(Dim a, Dim b) const;
  // Values of the symbols, allowed by all facts, for which a != b (small search); nullopt when none was
  // found.
  std::optional<std::vector<std::pair<SymbolId, int64_t>>> counterexampleEqual(Dim a, Dim b) const;

  // Facts learnt inside a branch hold only there: mark() before it, rollback() after it. Marks nest like
  // brackets.
  size_t mark() const;
  void rollback(size_t mark);

  const std::vector<Fact>& facts() const;
  std::vector<Fact> factsAbout(SymbolId symbol) const;
  DimContext& context() const;
  // Steps of work so far, of facts and questions: the measure of the near-linear cost that tests hold it to.
  uint64_t stepCount() const;

  struct Impl;  // dim_solver_state.h

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace dyn
