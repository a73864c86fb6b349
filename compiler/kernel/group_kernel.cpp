#include "compiler/kernel/group_kernel.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "compiler/kernel/split_reduction.h"
#include "compiler/loop/builder/lower_context.h"
#include "compiler/ops/statements/statement_kernel.h"
#include "vm/include/abi/dyn_kernel.h"

namespace dyn {

using loop::Buffer;
using loop::Expr;
using loop::LoopContext;

namespace {

// Definitions of the values of one group, composed on demand. A definition reads its operands' definitions,
// so the depth of calls is the depth of the group, which fusion bounds.
class Composer {
 public:
  Composer(const GroupKernelRequest& request, DimContext& dims)
      : request_(request), context_(std::make_shared<LoopContext>(dims)) {
    const Function& body = *request.body;
    for (const Parameter& p : body.parameters) addBuffer(p.id, p.type);
    for (const Op* op : body.ops)
      for (size_t i = 0; i < op->results.size(); ++i) {
        types_[op->results[i].id] = op->results[i].type;
        definitions_[op->results[i].id] = {op, static_cast<int>(i)};
      }
    for (ValueId v : request.given) addBuffer(v, types_.at(v));
  }

  std::shared_ptr<LoopContext> context() { return context_; }
  const std::vector<const Buffer*>& buffers() const { return buffers_; }
  const std::vector<ValueId>& bufferValues() const { return bufferValues_; }
  const DimSolver& facts() const { return *request_.facts; }
  Type typeOf(ValueId v) const { return types_.at(v); }

  const std::vector<KernelCheck>& checks() const { return checks_; }
  // From 1; 0 for what cannot be told apart any more.
  int32_t checkNumber(KernelCheck check) {
    auto known = std::find(checks_.begin(), checks_.end(), check);
    if (known == checks_.end()) known = checks_.insert(known, std::move(check));
    const auto number = known - checks_.begin() + 1;
    return number <= DYN_FAULT_CHECKS ? static_cast<int32_t>(number) : 0;
  }

  Result<Expr> element(ValueId value, std::span<const Expr> index);
  Result<Expr> contents(ValueId value, int64_t k);

 private:
  struct Definition {
    const Op* op = nullptr;
    int result = 0;
  };

  void addBuffer(ValueId value, Type type) {
    types_[value] = type;
    if (!type.isTensor()) return;
    std::vector<Expr> shape;
    for (Dim d : type.dims()) shape.push_back(context_->dim(d));
    bufferOf_[value] = buffers_.size();
    buffers_.push_back(context_->buffer("x" + std::to_string(buffers_.size()), type.dtype(), std::move(shape),
                                        loop::BufferRole::input));
    bufferValues_.push_back(value);
  }

  const GroupKernelRequest& request_;
  std::shared_ptr<LoopContext> context_;
  std::unordered_map<ValueId, Type> types_;
  std::unordered_map<ValueId, Definition> definitions_;
  std::unordered_map<ValueId, size_t> bufferOf_;
  std::vector<const Buffer*> buffers_;
  std::vector<ValueId> bufferValues_;
  std::vector<KernelCheck> checks_;
  std::map<std::pair<ValueId, std::vector<uint32_t>>, Expr> memo_;
};

class OpLowering : public loop::LowerContext {
 public:
  OpLowering(Composer& composer, const Op& op) : composer_(composer), op_(op) {}
  const Op& op() const override { return op_; }
  LoopContext& loops() override { return *composer_.context(); }
  const DimSolver& solver() const override { return composer_.facts(); }
  Type operandType(int i) const override { return composer_.typeOf(op_.operands[static_cast<size_t>(i)]); }
  Result<Expr> read(int i, std::span<const Expr> index) override {
    return composer_.element(op_.operands[static_cast<size_t>(i)], index);
  }
  Result<Expr> contents(int i, int64_t k) override {
    return composer_.contents(op_.operands[static_cast<size_t>(i)], k);
  }
  Expr checked(Expr condition, Expr value, const loop::Check& check) override {
    const int32_t number = composer_.checkNumber({op_.place.toString(), check.noun, check.bound});
    return loops().checked(condition, check.code | number << 3, value, number > 0 ? check.subject : Expr());
  }

 private:
  Composer& composer_;
  const Op& op_;
};

Result<Expr> Composer::element(ValueId value, std::span<const Expr> index) {
  std::vector<uint32_t> key;
  for (const Expr& e : index) key.push_back(e.id());
  const auto memoKey = std::make_pair(value, std::move(key));
  if (auto it = memo_.find(memoKey); it != memo_.end()) return it->second;
  Expr result;
  if (auto buffer = bufferOf_.find(value); buffer != bufferOf_.end()) {
    result = context_->load(buffers_[buffer->second], std::vector<Expr>(index.begin(), index.end()));
  } else {
    auto definition = definitions_.find(value);
    if (definition == definitions_.end())
      return makeError(DiagnosticId::internalError, "a kernel's body uses a value from outside");
    const Op& op = *definition->second.op;
    if (!op.def->lower)
      return makeError(
          DiagnosticId::unsupportedOp,
          "unsupported: " + std::string(op.def->name) + " in a kernel: " + std::string(op.def->lowerNote),
          op.place);
    OpLowering lowering(*this, op);
    Result<Expr> lowered = op.def->lower(lowering, definition->second.result, index);
    if (!lowered.ok()) return lowered.takeError().at(op.place);
    result = *lowered;
  }
  memo_.emplace(memoKey, result);
  return result;
}

Result<Expr> Composer::contents(ValueId value, int64_t k) {
  if (request_.contents)
    if (std::optional<Contents> known = request_.contents(value);
        known && k < static_cast<int64_t>(known->size()) && (*known)[static_cast<size_t>(k)])
      return context_->dim((*known)[static_cast<size_t>(k)]);
  const Type type = types_.at(value);
  std::vector<Expr> index;
  if (type.rank() == 1) index.push_back(context_->integer(k));
  if (type.rank() > 1)
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: sizes read from a tensor of rank above 1");
  DYN_TRY(Expr e, element(value, index));
  return context_->cast(e, Dtype::i64);
}

}  // namespace

namespace {

// Kernels compute with numbers.
Status requireNumbers(const Function& body) {
  const auto check = [](Type type, const SourceLocation& place, std::string_view name) -> Status {
    if (!type.isTensor() || type.dtype() != Dtype::string) return {};
    return makeError(DiagnosticId::unsupportedDtype,
                     "unsupported: " + std::string(name) + " of strings in a kernel", place);
  };
  std::string_view name = body.ops.empty() ? "an operation" : body.ops.back()->def->name;
  for (const Parameter& p : body.parameters) DYN_CHECK(check(p.type, body.place, name));
  for (const Op* op : body.ops)
    for (const ValueDef& r : op->results) DYN_CHECK(check(r.type, op->place, op->def->name));
  return {};
}

}  // namespace

namespace {

Result<std::optional<SplitKernels>> splitKernels(const LoopNest& nest, const DimSolver& facts,
                                                 const std::vector<ValueId>& values) {
  std::optional<SplitReduction> split = splitReduction(nest);
  if (!split) return std::optional<SplitKernels>();
  SplitKernels kernels;
  const auto guard = [&](Dim dim, VersionGuard::Relation relation, int64_t value) {
    if (!dim.isConstant()) kernels.guards.push_back({dim, relation, value});
  };
  guard(split->length, VersionGuard::Relation::above, kLongReduction);
  guard(split->elements, VersionGuard::Relation::atMost, kFewElements);
  kernels.partsShape = split->partsShape;
  kernels.partsDtype = split->partsDtype;
  split->parts.description += guardsText(kernels.guards);
  split->whole.description += " of parts" + guardsText(kernels.guards);
  split->whole.name += ".whole";
  const auto inputsOf = [&](const NestKernel& built) {
    std::vector<ValueId> inputs;
    for (size_t used : built.usedInputs) inputs.push_back(used < values.size() ? values[used] : kNoValue);
    return inputs;
  };
  DYN_TRY(NestKernel parts, buildLoopNest(split->parts, facts));
  DYN_TRY(NestKernel whole, buildLoopNest(split->whole, facts));
  kernels.partsInputs = inputsOf(parts);
  kernels.wholeInputs = inputsOf(whole);
  kernels.parts = std::move(parts.kernel);
  kernels.whole = std::move(whole.kernel);
  return std::optional<SplitKernels>(std::move(kernels));
}

}  // namespace

namespace {

// The kernel of one operation that elements do not define.
Result<GroupKernel> statementGroup(const GroupKernelRequest& request, const Op& op, DimContext& dims) {
  std::unordered_map<ValueId, Type> types;
  for (const Parameter& p : request.body->parameters) types[p.id] = p.type;
  StatementRequest wanted{.op = op,
                          .dims = dims,
                          .facts = *request.facts,
                          .name = request.name,
                          .description = request.description};
  for (ValueId v : op.operands) wanted.operandTypes.push_back(v == kNoValue ? Type() : types.at(v));
  wanted.contents = [&](int i) -> std::optional<Contents> {
    const ValueId v = op.operands[static_cast<size_t>(i)];
    return request.contents ? request.contents(v) : std::nullopt;
  };
  DYN_TRY(StatementKernel made, makeStatementKernel(wanted));
  GroupKernel group;
  group.kernel = std::move(made.kernel);
  for (int operand : made.operands) group.inputs.push_back(op.operands[static_cast<size_t>(operand)]);
  for (const loop::Check& check : made.checks)
    group.checks.push_back({op.place.toString(), check.noun, check.bound});
  return group;
}

}  // namespace

Result<GroupKernel> buildGroupKernel(const GroupKernelRequest& request, DimContext& dims) {
  DYN_CHECK(requireNumbers(*request.body));
  if (request.body->ops.size() == 1 && !request.body->ops[0]->def->lower &&
      hasStatementKernel(*request.body->ops[0]->def))
    return statementGroup(request, *request.body->ops[0], dims);
  Composer composer(request, dims);
  const Function& body = *request.body;
  LoopNest nest;
  nest.name = request.name;
  nest.description = request.description;
  nest.context = composer.context();
  nest.columns = request.columns;
  nest.onDevice = request.onDevice;
  std::vector<ValueId> results;
  for (size_t i : request.results) results.push_back(body.results.at(i));
  if (results.empty()) results = body.results;
  nest.space = composer.typeOf(results.at(0)).dims();
  for (size_t axis = 0; axis < nest.space.size(); ++axis) {
    nest.index.push_back(nest.context->variable("i"));
    nest.context->bound(nest.index.back(), nest.context->dim(nest.space[axis]));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    DYN_TRY(Expr element, composer.element(results[i], nest.index));
    nest.outputs.push_back({"y" + std::to_string(i), composer.typeOf(results[i]).dtype(), element});
  }
  nest.inputs = composer.buffers();
  DYN_TRY(NestKernel built, buildLoopNest(nest, *request.facts));
  GroupKernel group;
  group.kernel = std::move(built.kernel);
  group.checks = composer.checks();
  for (size_t used : built.usedInputs) group.inputs.push_back(composer.bufferValues()[used]);
  DYN_TRY(group.split, splitKernels(nest, *request.facts, composer.bufferValues()));
  if (built.rowLength) {
    nest.schedule = NestSchedule::rowsInLanes;
    DYN_TRY(NestKernel rows, buildLoopNest(nest, *request.facts));
    if (rows.usedInputs == built.usedInputs)
      group.rowsInLanes = RowsInLanes{std::move(rows.kernel), built.rowLength};
  }
  if (built.laneAxis && !request.onDevice) {
    nest.schedule = NestSchedule::shortAxisInLanes;
    DYN_TRY(NestKernel lanes, buildLoopNest(nest, *request.facts));
    if (lanes.usedInputs == built.usedInputs)
      group.shortLanes = ShortLanes{std::move(lanes.kernel), built.laneAxis};
  }
  if (built.innermostAcross) {
    nest.schedule = NestSchedule::unitInnermost;
    DYN_TRY(NestKernel unit, buildLoopNest(nest, *request.facts));
    if (unit.usedInputs == built.usedInputs)
      group.unitInnermost = UnitInnermost{std::move(unit.kernel), built.innermostAcross};
  }
  return group;
}

}  // namespace dyn
