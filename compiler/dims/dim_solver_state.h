// Inside of DimSolver. Only compiler/dims includes this.
//
// Equalities are solved for a symbol where one has coefficient ±1, and kept as definitions `symbol := dim` in
// triangular form (a definition never leads back to its symbol); canonical() substitutes them until none is
// left. What can't be solved stays as a range [v, v] over a sum. Ranges and residues are kept per symbol and
// per sum, always over undefined symbols. Each thing learnt points to a node of the proof graph; its leaves
// are facts. Every change is in the undo log.
#pragma once

#include <array>
#include <functional>
#include <unordered_map>
#include <vector>

#include "compiler/dims/dim_node.h"
#include "compiler/dims/dim_solver.h"

namespace dyn {

using ProofId = uint32_t;  // 0: needs no fact
constexpr uint32_t kNoFact = UINT32_MAX;

struct ProofNode {
  uint32_t fact = kNoFact;
  std::vector<ProofId> parents;
};

// low <= dim <= high, each side with its proof.
struct KnownRange {
  Interval range;
  ProofId lowProof = 0, highProof = 0;
};

struct SymbolKnowledge {
  KnownRange range{{0, std::nullopt}, 0, 0};
  bool lowGiven = false;  // false: low is the default 0
  int64_t multiple = 1;
  ProofId multipleProof = 0;
  Dim definition;  // null: undefined; always as first written
  Dim shortcut;    // the definition with later ones substituted
  ProofId proof = 0, shortcutProof = 0;
};

// A sum without constant, with coprime coefficients and a positive first one; and what is known of it.
struct SumKnowledge {
  Dim sum;
  KnownRange range;
  int64_t modulus = 1, residue = 0;  // sum ≡ residue (mod modulus)
  ProofId residueProof = 0;
  bool live = true;  // false: a symbol in it was defined since; its successor carries on
};

// sum = factor*dim + offset, factor ±: the normal form that SumKnowledge is keyed by.
struct NormalSum {
  Dim sum;
  int64_t factor = 1;  // dim = factor*sum + offset
  int64_t offset = 0;
};

// One constraint to be learnt: d in range, or d ≡ 0 (mod multiple), or both sides of the range equal.
struct PendingConstraint {
  Dim dim;
  Interval range;
  int64_t multiple = 1;
  ProofId proof = 0;
  bool lowersDefault = false;  // written by addRange about a symbol: may replace the default low of 0
};

// The values of a dim at a few assignments of its symbols (dim_samples.cpp).
struct SampledValues {
  static constexpr size_t kCount = 8;
  std::array<int64_t, kCount> at{};
  uint8_t defined = 0;  // bit k: there is a value at assignment k; of a symbol: an allowed one
};

// The signs of a dim at those of the assignments that everything known allows.
struct SampledSigns {
  bool negative = false, zero = false, positive = false;
};

// What searches for dim >= 0 ended in. A search from depth k goes less far than one from before k.
struct SearchMemory {
  bool proven = false;
  uint8_t failedFrom = UINT8_MAX;  // no proof is found from this depth on
};

struct DimSolver::Impl {
  explicit Impl(DimContext& c) : context(&c) {}

  DimContext* context;
  std::vector<Fact> facts;
  std::vector<std::vector<uint32_t>> factsOf;  // by symbol
  std::vector<ProofNode> proofs{ProofNode{}};
  std::vector<SymbolKnowledge> symbols;
  std::vector<SumKnowledge> sums;
  std::unordered_map<const DimNode*, uint32_t> sumIndex;                   // by sum
  std::unordered_map<const DimNode*, std::vector<uint32_t>> sumsWithTerm;  // by monomial
  std::vector<std::vector<uint32_t>> sumsWithSymbol;
  std::vector<std::function<void(Impl&)>> undo;

  // Memory of answers; an entry counts while its generation is the current one.
  template <typename T>
  struct Remembered {
    uint64_t generation = 0;
    T value;
  };
  struct Resolved {
    Dim dim;
    ProofId proof = 0;
  };
  uint64_t generation = 1;  // grows with every change, rollback included
  // What depends on definitions alone; an entry counts while its generation is this one, which grows with
  // each definition made or taken back.
  uint64_t definitionGeneration = 1;
  size_t definitionCount = 0;
  std::vector<Remembered<Resolved>> resolved;      // by symbol
  std::vector<Remembered<Dim>> canonicals;         // by node
  std::vector<Remembered<Interval>> intervals;     // by node
  std::vector<Remembered<Dim>> simplified;         // by node
  std::vector<Remembered<SearchMemory>> searched;  // by node
  std::vector<Remembered<Answer>> zeros;           // by node: is it always zero?
  std::vector<Remembered<uint8_t>> allowedAt;      // by symbol: a mask of assignments
  std::vector<Remembered<SampledValues>> sampledSymbols;
  uint64_t sampleEpoch = 1;         // grows when the values of a symbol move
  std::vector<uint32_t> sampledAt;  // by node: where its values are; 0: nowhere
  std::vector<Remembered<SampledValues>> sampledNodes{
      {}};  // an entry counts while its generation is the epoch
  uint64_t steps = 0;
  void count(size_t work) {
    steps += work;
    DimBuilder::impl(*context).solverSteps += work;
  }
  template <typename T>
  T* remembered(std::vector<Remembered<T>>& memory, uint32_t id) const {
    return id < memory.size() && memory[id].generation == generation ? &memory[id].value : nullptr;
  }
  template <typename T>
  T& remember(std::vector<Remembered<T>>& memory, uint32_t id, T value) const {
    if (id >= memory.size()) memory.resize(id + id / 2 + 16);
    memory[id] = {generation, std::move(value)};
    return memory[id].value;
  }
  bool explains = true;  // false in the scratch solvers that look for needless facts

  SymbolKnowledge& known(SymbolId s) {
    if (s >= symbols.size()) symbols.resize(context->symbolCount());
    return symbols[s];
  }
  bool defined(SymbolId s) { return static_cast<bool>(known(s).definition); }
  ProofId prove(uint32_t fact, std::vector<ProofId> parents);
  // The facts at the leaves, ascending.
  std::vector<uint32_t> factsBehind(const std::vector<ProofId>& proofIds) const;

  // Definitions applied until none is left; appends their proofs to `proof` when given.
  Dim canonical(Dim d, std::vector<ProofId>* proof = nullptr);
  const Resolved& resolve(SymbolId symbol);
  void rollback(size_t mark);

  // Learns the fact, or gives the error and leaves everything as it was.
  Status learnFact(Fact fact, PendingConstraint constraint);
  Error contradiction(const Fact& fact, uint32_t index, const std::vector<ProofId>& proof);
  void recordFact(Fact fact);
  // A scratch solver with just these facts; null when they contradict.
  std::unique_ptr<DimSolver> replay(const std::vector<uint32_t>& chosen) const;
  static Status add(DimSolver& solver, const Fact& fact);

  const SampledValues& sampledSymbol(SymbolId s);
  SampledValues sampled(Dim d);
  uint8_t allowedSamples(SymbolId s);
  SampledSigns sampledSigns(Dim d);

  static NormalSum normalSum(DimContext& context, Dim d);
  const SumKnowledge* sumKnowledge(Dim sum) const;
};

// Learns constraints one by one; stops at a contradiction.
class DimLearner {
 public:
  explicit DimLearner(DimSolver::Impl& impl) : impl_(impl) {}
  void push(PendingConstraint c) { queue_.push_back(std::move(c)); }
  // False: contradiction; `conflict()` holds its proofs.
  bool run();
  const std::vector<ProofId>& conflict() const { return conflict_; }

 private:
  bool learn(const PendingConstraint& c);
  bool learnZero(Dim d, std::vector<ProofId> proof);
  bool learnRange(Dim d, Interval range, bool lowersDefault, std::vector<ProofId> proof);
  bool learnMultiple(Dim d, int64_t multiple, std::vector<ProofId> proof);
  bool tightenSymbol(SymbolId s, Interval range, bool lowersDefault, ProofId proof);
  bool define(SymbolId s, Dim value, ProofId proof);
  void spreadToSymbols(Dim sum, Interval range, ProofId proof);
  uint32_t sumEntry(Dim sum);
  bool fail(std::vector<ProofId> proof);

  DimSolver::Impl& impl_;
  std::vector<PendingConstraint> queue_;
  std::vector<ProofId> conflict_;
};

// Steps of one question: a term looked at, an atom rewritten. A question that is answered takes tens of them.
constexpr int64_t kQuestionSteps = 4000;

// Answers questions about canonical dims within a budget of steps. With a trace, it records the proofs of
// what it looked at.
struct DimProver {
  explicit DimProver(DimSolver::Impl& impl, std::vector<ProofId>* trace = nullptr)
      : impl_(impl), trace_(trace) {}

  Interval interval(Dim d);
  int64_t multipleOf(Dim d);  // a number that divides d; 0 for the constant 0
  Answer divides(int64_t divisor, Dim d);
  bool nonNegative(Dim d, int depth = 0);
  // -1, 0 or 1 (never zero, unknown, always zero).
  Answer isZero(Dim d);
  Answer isNonNegative(Dim d);
  // Atoms rewritten by what is known: max(n, 1) → n when n >= 1.
  Dim simplify(Dim d);

 private:
  // False when the budget is used up.
  bool spend(size_t steps) {
    impl_.count(steps);
    budget_ -= static_cast<int64_t>(steps);
    return budget_ > 0;
  }
  bool exhausted() const { return budget_ <= 0; }
  bool searchNonNegative(Dim d, int depth);
  Answer searchZero(Dim d);
  void note(ProofId proof) {
    if (trace_ && proof) trace_->push_back(proof);
  }
  Interval nodeInterval(const DimNode* n);
  Interval symbolInterval(SymbolId s);
  Interval operandInterval(const DimNode* n);
  Dim simplifyAtom(Dim atom);
  Dim simplifyQuotient(Dim atom);
  Dim withoutPresence(Dim product);
  Dim sumAsChoice(Dim sum);
  bool allTermsPositive(Dim d);
  bool nonNegativeByChoice(const DimPoly& p, Dim d, int depth, bool& decided);
  bool nonNegativeByQuotients(const DimPoly& p, int depth);
  bool nonNegativeBySums(const DimPoly& p, Dim d, int depth);
  bool nonNegativeByZeroSplit(Dim d);
  bool zeroBySubstitution(Dim d);
  bool differsByDivisibility(const DimPoly& p);
  Dim plain(const DimNode* n) { return DimBuilder::dim(n); }

  DimSolver::Impl& impl_;
  std::vector<ProofId>* trace_;
  int64_t budget_ = kQuestionSteps;
  std::unordered_map<const DimNode*, Interval> traced_;
};

}  // namespace dyn
