// Inside of Dim: the interned node and the polynomials it is built from. Only compiler/dims includes this.
//
// Canonical form: a Dim is a sum of terms, a term is coefficient × monomial, a monomial is a sorted product
// of atoms. Atoms are symbols and floorDiv / ceilDiv / mod / min / max nodes. A sum or product that would
// grow past the limits below is not expanded:
// its parts become atoms themselves (an `add` node as operand of an add or mul), printed `group(...)`.
// Nothing is lost but the merging of like terms across that border.
// The order of terms and atoms is structural (names, not creation order), so the text of a Dim is the same in
// every context.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/dims/dim.h"
#include "compiler/dims/solver_work.h"

namespace dyn {

struct DimNode {
  DimKind kind = DimKind::invalid;
  bool grouped = false;  // as a monomial: it is, or contains, a grouped sum
  uint32_t id = 0;
  uint32_t depth = 0;   // 0 for leaves
  uint32_t degree = 1;  // atoms in the monomial: 0 for a constant
  int64_t value = 1;    // constant: its value; mul: the coefficient; others 1
  SymbolId symbol = 0;
  const DimNode* monomial = nullptr;  // this without its coefficient; the constant 1 for constants
  uint64_t hash = 0;                  // of kind, value, symbol and operands
  uint32_t symbolSet = 0;             // in Impl::symbolSets; kManySymbols: too many to be kept, walk for them
  DimContext* context = nullptr;
  std::vector<Dim> operands;
};

constexpr uint32_t kManySymbols = UINT32_MAX;
constexpr SymbolId kNoBatch = UINT32_MAX;

struct DimTerm {
  int64_t coefficient;
  const DimNode* monomial;
};

// Terms in canonical order, no zero coefficients. `bad`: an overflow or a division by zero happened.
struct DimPoly {
  std::vector<DimTerm> terms;
  bool bad = false;
  static DimPoly failed() { return {{}, true}; }
};

// The nodes of a context, found by what they are. Every step of arithmetic looks here, so that a look-up is
// one place in memory and then the node: hashes stand beside the pointers.
class InternedDims {
 public:
  // The node that is the same as `probe`, which knows its hash; null: there is none.
  const DimNode* find(const DimNode& probe) const;
  void insert(const DimNode* node);

 private:
  struct Entry {
    uint64_t hash = 0;
    const DimNode* node = nullptr;  // null: the entry is free
  };
  Entry& freeEntry(uint64_t hash);
  std::vector<Entry> entries_ = std::vector<Entry>(64);  // a power of two, at most half of them taken
  size_t count_ = 0;
};

struct DimContext::Impl {
  struct Symbol {
    std::string name;
    std::string reason;
    const DimNode* node;
    bool anonymous;
    uint64_t number;            // of an anonymous symbol
    SymbolId batch = kNoBatch;  // of a ragged one, `len[b]`: b (ragged_dim.h)
  };
  std::deque<DimNode> nodes;
  InternedDims interned;
  std::vector<Symbol> symbols;
  std::unordered_map<std::string, SymbolId> byName;   // cleaned names, and "?3"
  std::unordered_map<std::string, SymbolId> byAlias;  // names that cleaning changed, as written
  uint64_t nextNumber = 0;
  // Sets of symbols of nodes, ascending, each once; 0 is the empty set. A node has the set of its operands
  // more often than its own.
  std::deque<std::vector<SymbolId>> symbolSets{{}};
  std::map<std::vector<SymbolId>, uint32_t> symbolSetNumbers{{{}, 0}};
  // Of nodes with more symbols than a set has, by id: those that were asked for lately.
  std::unordered_map<uint32_t, std::vector<SymbolId>> manySymbols;
  size_t manySymbolsCount = 0;
  uint64_t solverSteps = 0;  // of all solvers over this context
  DearestWork dearest;
  const DimNode* one = nullptr;
  const DimNode* invalid = nullptr;
};

// Everything that makes nodes.
struct DimBuilder {
  static constexpr size_t kMaxTerms = 256;   // of a sum, and of an expanded product
  static constexpr size_t kMaxDegree = 64;   // atoms of a monomial; past it the Dim is invalid
  static constexpr size_t kMaxChoices = 64;  // operands of a flattened min or max
  static constexpr size_t kMaxSymbols = 16;  // of a set that is kept
  static constexpr size_t kMostKeptSymbols = size_t{1} << 22;  // of all nodes that have more

  explicit DimBuilder(DimContext& context) : context_(context), impl_(*context.impl_) {}
  static DimContext::Impl& impl(DimContext& context) { return *context.impl_; }

  static const DimNode* node(Dim d) { return d.node_; }
  static Dim dim(const DimNode* n) { return Dim(n); }

  const DimNode* constant(int64_t value);
  const DimNode* invalid() { return impl_.invalid; }
  SymbolId addSymbol(std::string name, bool anonymous, uint64_t number, std::string reason);
  // The anonymous symbol printed `?number`, created when it is not there yet.
  Dim anonymous(uint64_t number);

  static DimPoly poly(Dim d);
  // A polynomial of one term that keeps `d` together: group(d).
  static DimPoly grouped(Dim d);
  Dim build(const DimPoly& p);
  DimPoly add(const DimPoly& a, const DimPoly& b, int64_t sign);
  DimPoly multiply(const DimPoly& a, const DimPoly& b);
  DimPoly scale(const DimPoly& a, int64_t factor);

  Dim floorDiv(Dim a, Dim b);
  Dim ceilDiv(Dim a, Dim b);
  Dim mod(Dim a, Dim b);
  Dim choose(DimKind minOrMax, Dim a, Dim b);
  // The node of `kind` over new operands, canonicalised: what substitute() needs.
  Dim rebuild(const DimNode* n, const std::vector<Dim>& operands);

  const DimNode* intern(DimKind kind, std::vector<Dim> operands);
  // The number of that set, or kManySymbols.
  uint32_t symbolSet(std::vector<SymbolId> symbols);
  const DimNode* scaled(int64_t coefficient, const DimNode* monomial);
  const DimNode* monomialProduct(const DimNode* a, const DimNode* b);

 private:
  uint32_t symbolSetOf(const std::vector<Dim>& operands);
  DimPoly single(const DimPoly& p);
  std::optional<DimPoly> withoutRemainder(const DimPoly& numerator, int64_t divisor, DimPoly& whole);
  Dim floorDivByConstant(DimPoly numerator, int64_t divisor);
  Dim modByConstant(DimPoly numerator, int64_t divisor);

  DimContext& context_;
  DimContext::Impl& impl_;
};

// Calls visit(node) for `root` and all nodes below it that are not known(node), operands first. Nothing below
// a known one is visited. A node that is not known after its visit may be visited again. visit returns false
// to stop. Returns whether it went to the end.
template <typename Known, typename Visit>
bool visitOperandsFirst(const DimNode* root, Known known, Visit visit) {
  std::vector<std::pair<const DimNode*, size_t>> stack;  // and the operand that is next
  if (!known(root)) stack.push_back({root, 0});
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    if (next < node->operands.size()) {
      const DimNode* operand = DimBuilder::node(node->operands[next++]);
      if (!known(operand)) stack.push_back({operand, 0});
      continue;
    }
    const DimNode* finished = node;
    stack.pop_back();
    if (!visit(finished)) return false;
  }
  return true;
}

// The structural order of nodes: <0, 0, >0. Constant time unless depths and kinds agree.
int compareDims(const DimNode* a, const DimNode* b);
bool monomialBefore(const DimNode* a, const DimNode* b);
// The operands of nested min(min(a, b), c), left to right; {n} when n is not of that kind.
std::vector<Dim> flattenChoice(DimKind minOrMax, Dim n);

}  // namespace dyn
