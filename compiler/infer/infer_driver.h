// The inference driver: an explicit stack of function bodies, and the InferContext of the operation at hand.
// Internal to infer*.cpp.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/infer/infer.h"
#include "compiler/ops/control_infer.h"

namespace dyn {

class InferDriver final : public ControlInferContext, public NeedListener {
 public:
  InferDriver(const Module& module, IrContext& ir, int64_t maxSteps);

  // Infers one listed function; the result stands in for it from now on.
  Status inferFunction(const Function* function);
  // Facts of the main path, told to IrContext::facts().
  Status publishFacts();
  Module takeModule() { return std::move(module_); }
  InferredModule takeResult();
  const std::vector<Need>& needs() const { return needs_; }

  // InferContext
  const Op& op() const override { return *op_; }
  IrContext& ir() const override { return ir_; }
  const Module& module() const override { return module_; }
  DimSolver& solver() const override { return solver_; }
  Type operandType(int i) const override;
  std::optional<Contents> operandContents(int i) const override;
  const HostTensor* operandConstant(int i) const override;
  Status requireEqual(Dim a, Dim b, std::string_view what) override;
  Status requireLessEqual(Dim a, Dim b, std::string_view what) override;
  Result<Dim> broadcast(Dim a, Dim b, std::string_view what) override;
  Dim fresh(std::string_view reason) override;
  Dim freshFromOperand(int i, int64_t index, std::string_view reason) override;
  void setResult(int i, Type type) override;
  void setResultContents(int i, Contents contents) override;
  Status inferRegion(int region, std::span<const Type> parameters, std::vector<Type>* results) override;
  void need(Need need) const override { needs_.push_back(need); }
  // ControlInferContext
  Dim freshOr(Dim annotation, std::string_view reason) override;
  bool inScope(Dim dim) const override;
  Result<std::vector<Type>> instantiateCall(std::string_view callee, std::span<const Type> arguments,
                                            std::vector<Type>* restParameters) override;
  Result<std::vector<Type>> instantiateValue(Type function, std::span<const Type> arguments) override;
  bool regionResultIs(int region, int k, int64_t constant) const override;
  Status requireType(Type expected, Type actual, std::string_view what) override;
  void expectResults(int region, std::vector<Type> expected) override;
  std::vector<WidenedAxis> widenedBefore() override;
  void rememberWidened(std::vector<WidenedAxis> axes) override;
  void leaveOut() override { stack_.back().state.leftOut = true; }
  void learnContents(int operand, int64_t index, Dim value) override;
  Status learnRelation(std::string_view relation, Dim a, Dim b, std::string_view what) override;

 private:
  struct RegionCall {
    int region = 0;
    std::vector<Type> parameters, results;
    const Function* function = nullptr;
  };
  // A check that stands behind its operation: the facts it gives hold from there on.
  struct LateCheck {
    const Op* check = nullptr;
    Dim a, b;
    Reason reason;
  };
  // What is known of the operation at hand; kept while its regions are inferred and its rule starts again.
  struct OpState {
    std::vector<Dim> fresh;
    size_t freshUsed = 0;
    std::vector<RegionCall> regionCalls;
    std::optional<RegionCall> pending;
    std::map<int, std::vector<Type>> expected;  // by region
    std::vector<Type> results;
    std::vector<std::pair<int, Contents>> contents;
    std::vector<std::pair<SymbolId, Dim>> aliases;  // fresh symbol → the symbol of the annotation
    bool leftOut = false;
    std::optional<std::vector<WidenedAxis>> widenedBefore;  // as it was when the rule began
    std::vector<LateCheck> after;                           // checks of annotations that need the result
    void restart();
  };
  using Demand = std::tuple<char, uint32_t, uint32_t>;  // relation, ids of both dims
  struct Frame {
    const Function* source = nullptr;
    std::vector<const Op*>
        todo;  // operations of the source, with branches that are sure to be taken spliced in
    std::vector<ValueId> results;
    std::vector<Parameter> parameters;
    std::vector<const Op*> ops;
    size_t next = 0;
    bool isRegion = false;
    bool changed = false;
    size_t solverMark = 0, scopeMark = 0, demandMark = 0;
    // Symbols of the parameters' annotations that have no value here: a body inferred before says `?9` where
    // the size is known by now.
    std::unordered_map<SymbolId, Dim> renamed;
    OpState state;
  };

  struct Signature {
    std::string name;
    std::vector<Type> parameters, results;
    bool ownSymbols = true;  // all symbols are the callee's; else those in scope stand for themselves
  };
  Result<std::vector<Type>> instantiate(const Signature& signature, std::span<const Type> arguments,
                                        std::vector<Type>* restParameters);
  Status enter(const Function* function, std::span<const Type> parameterTypes, bool isRegion);
  Status step();
  // The type rule of an operation; what it asks the solver is that operation's.
  Status inferAsked(const Op& op);
  void renameSymbols(Frame& frame);
  // The branch that must run because its condition is known.
  const Function* sureBranch(const Op& op) const;
  Status checkBranch(const Op& op, const Function& branch) const;
  Status inlineBranch(Frame& frame, const Op& op, const Function& branch);
  // infer_alternatives.cpp: an `if` whose branches have different ranks takes the rest of its body into both.
  bool canSplit(const Op& op) const;
  Status splitContinuation(Frame& frame, const Op& op);
  // After a fault inside such a body: the other one stands in, behind a check of the condition. False: there
  // is no such body.
  bool takeOther(const Error& fault);
  // infer_constants.cpp
  std::optional<HostTensor> knownTensor(ValueId id) const;
  void evaluateConstants(const Op& op);
  Status finishOp(Frame& frame, const Op* source);
  Status finishFrame();
  void leaveFrame();
  static bool isFresh(const OpState& state, Dim dim);
  static Dim named(const OpState& state, Dim dim);
  std::string resultName(const ValueDef& result) const;
  void nameFreshDims(OpState& state, const Op& op);
  Result<Type> meetAnnotation(OpState& state, Type inferred, Type annotation, std::string_view what,
                              const SourceLocation& place);
  Type canonicalType(Type type);
  void define(Type type);
  void defineSymbols(Dim dim);
  Result<Dim> meetDim(OpState& state, Dim inferred, Dim annotated, std::string_view what,
                      const SourceLocation& place);
  void insertCheck(std::string_view relation, Dim a, Dim b, std::string_view what);
  const Op* checkOp(std::string_view relation, Dim a, Dim b, std::string_view what,
                    const SourceLocation& place);
  bool demanded(char relation, Dim a, Dim b) const { return demands_.count({relation, a.id(), b.id()}) > 0; }
  void remember(char relation, Dim a, Dim b);
  // Elements that the row of the operation at hand demands: looked at, or a check before it.
  Status demandElements(const Op& op);
  bool isInGroup() const;
  ValueId operandId(int i) const { return op_->operands[static_cast<size_t>(i)]; }
  void setValue(ValueId id, Type type);
  Reason reasonHere(std::string_view what) const;

  Module module_;
  IrContext& ir_;
  mutable DimSolver solver_;
  size_t baseFacts_ = 0;
  int64_t stepsLeft_ = 0;
  int checksInserted_ = 0;
  std::vector<Frame> stack_;
  const Op* op_ = nullptr;
  const Function* finished_ = nullptr;
  std::vector<Type> types_;  // by ValueId
  std::unordered_map<ValueId, Contents> contents_;
  std::unordered_map<ValueId, const HostTensor*> constants_;
  std::unordered_map<uint64_t, Dim> elementDims_;  // (value, index) too large for contents_
  std::vector<char> inScope_;                      // by SymbolId
  std::vector<SymbolId> scopeLog_;
  std::unordered_map<const Function*, std::vector<WidenedAxis>> widened_;  // by body of a loop
  std::set<Demand> demands_;
  std::vector<Demand> demandLog_;
  std::vector<Diagnostic> warnings_;
  mutable std::vector<Need> needs_;
  std::deque<HostTensor> evaluated_;            // what constants_ points to, besides the module's own
  std::unordered_set<const Op*> alternatives_;  // made by splitContinuation
  std::vector<std::string> impossible_;         // faults of the bodies that takeOther left
};

}  // namespace dyn
