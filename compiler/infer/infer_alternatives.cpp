// Branches of different rank. A rank is part of a type, so what such an `if` gives has none; but what follows
// it has, once for each branch:
//
//   %y = if(%c, %x) then { %s = squeeze(%x) return %s } else { return %x }        %z = f(%y)  return %z
//   →  %r = if(%c, %x) then { %s = squeeze(%x) %z = f(%s) return %z } else { %z = f(%x) return %z }        return %r
//
// Most often f fits one rank only (exporters write "squeeze where the size is 1" this way): then the other
// branch cannot go on, and the operation becomes that branch behind a run-time check of the condition. What
// both fit stays an `if` of two continuations.
#include <algorithm>
#include <unordered_set>

#include "compiler/infer/infer_driver.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"

namespace dyn {

namespace {

// A continuation is copied for each of two branches: this many in one module are more than any exporter
// writes.
constexpr size_t kMaxAlternatives = 64;

// The operations of a branch, and its results under the names of the `if`.
std::vector<const Op*> branchOps(IrContext& ir, const Op& op, const Function& branch,
                                 const std::vector<ValueDef>& named) {
  ValueMap map;
  for (size_t i = 0; i < branch.parameters.size(); ++i) map[branch.parameters[i].id] = op.operands[i + 1];
  const Function* renamed = replaceValues(ir, branch, map);
  std::vector<const Op*> ops = renamed->ops;
  for (size_t i = 0; i < named.size(); ++i) {
    Op same;
    same.def = &ops::identityOp;
    same.operands = {renamed->results[i]};
    same.results = {named[i]};
    same.place = op.place;
    ops.push_back(ir.own(std::move(same)));
  }
  return ops;
}

}  // namespace

Status InferDriver::checkBranch(const Op& op, const Function& branch) const {
  if (branch.parameters.size() + 1 == op.operands.size() && branch.results.size() == op.results.size())
    return {};
  return error(DiagnosticId::invalidIr, "the branch @" + branch.name + " does not fit the operation");
}

// Its operations stand in for the `if`; the other branch may well be wrong for these sizes.
Status InferDriver::inlineBranch(Frame& frame, const Op& op, const Function& branch) {
  DYN_CHECK(checkBranch(op, branch));
  const std::vector<const Op*> ops = branchOps(ir_, op, branch, op.results);
  const auto at = frame.todo.begin() + static_cast<std::ptrdiff_t>(frame.next);
  frame.todo.insert(frame.todo.erase(at), ops.begin(), ops.end());
  frame.changed = true;
  return {};
}

bool InferDriver::canSplit(const Op& op) const {
  const Frame& frame = stack_.back();
  return op.def == &ops::ifOp && op.regions.size() == 2 && !alternatives_.count(&op) &&
         alternatives_.size() < kMaxAlternatives && frame.next + 1 < frame.todo.size();
}

Status InferDriver::splitContinuation(Frame& frame, const Op& op) {
  for (const Function* branch : op.regions) DYN_CHECK(checkBranch(op, *branch));
  std::vector<const Op*> rest(frame.todo.begin() + static_cast<std::ptrdiff_t>(frame.next) + 1,
                              frame.todo.end());
  // What the branches and the rest use of what was there before.
  std::unordered_set<ValueId> seen{kNoValue};
  for (const ValueDef& result : op.results) seen.insert(result.id);
  for (const Op* later : rest) {
    for (const ValueDef& result : later->results) seen.insert(result.id);
  }
  std::vector<ValueId> captures;
  auto capture = [&](ValueId id) {
    if (seen.insert(id).second) captures.push_back(id);
  };
  for (size_t i = 1; i < op.operands.size(); ++i) capture(op.operands[i]);
  for (const Op* later : rest) {
    for (ValueId operand : later->operands) capture(operand);
  }
  for (ValueId result : frame.results) capture(result);

  Op whole;
  whole.def = &ops::ifOp;
  whole.place = op.place;
  whole.operands = captures;
  whole.operands.insert(whole.operands.begin(), op.operands[0]);
  std::vector<ValueDef> untyped;  // an annotation is of one rank
  for (const ValueDef& result : op.results) untyped.push_back({result.id, Type()});
  for (size_t b = 0; b < 2; ++b) {
    Function body;
    body.name = frame.source->name;
    body.place = op.place;
    for (ValueId id : captures) body.parameters.push_back({id, Type()});
    body.ops = branchOps(ir_, op, *op.regions[b], untyped);
    body.ops.insert(body.ops.end(), rest.begin(), rest.end());
    body.results = frame.results;
    const std::string name = ir_.uniqueFunctionName(frame.source->name + (b == 0 ? ".then" : ".else"));
    whole.regions.push_back(cloneWithNewIds(ir_, *ir_.own(std::move(body)), name));
  }
  for (ValueId& result : frame.results) {
    whole.results.push_back({ir_.newValue(ir_.valueName(result)), Type()});
    result = whole.results.back().id;
  }
  frame.todo.resize(frame.next);
  frame.todo.push_back(ir_.own(std::move(whole)));
  alternatives_.insert(frame.todo.back());
  frame.changed = true;
  frame.state = OpState();
  return {};
}

bool InferDriver::takeOther(const Error& fault) {
  const DiagnosticId id = fault.diagnostic().id;
  if (id == DiagnosticId::internalError || id == DiagnosticId::memoryLimit || id == DiagnosticId::cancelled)
    return false;
  size_t inner = stack_.size();
  const Op* op = nullptr;
  while (inner-- > 1) {
    const Frame& owner = stack_[inner - 1];
    op = stack_[inner].isRegion ? owner.todo[owner.next] : nullptr;
    if (op && alternatives_.count(op)) break;
  }
  if (inner == 0 || inner == SIZE_MAX) return false;
  if (types_[op->operands[0]].dtype() != Dtype::boolean) return false;
  while (stack_.size() > inner) leaveFrame();
  Frame& frame = stack_.back();
  const int impossible = frame.state.pending->region;
  const ValueId condition = op->operands[0];

  Dim value = ir_.dims().any("the condition of a branch whose result has an unusable rank");
  Op bind;
  bind.def = &ops::bind_dimsOp;
  bind.operands = {condition};
  bind.attributes = Attributes{{"dims", Shape{value}}, {"elements", std::vector<int64_t>{0}}};
  bind.place = op->place;
  const std::string what = std::string(impossible == 0 ? "then" : "else") +
                           " would be taken, and its result does not fit the operations after it (" +
                           fault.diagnostic().message + ")";
  const Op* check = checkOp("eq", value, ir_.dims().constant(impossible == 0 ? 0 : 1), what, op->place);
  impossible_.push_back(fault.diagnostic().message);
  frame.state = OpState();
  if (!inlineBranch(frame, *op, *op->regions[impossible == 0 ? 1 : 0]).ok()) return false;
  frame.todo.insert(frame.todo.begin() + static_cast<std::ptrdiff_t>(frame.next),
                    {ir_.own(std::move(bind)), check});
  return true;
}

}  // namespace dyn
