#include "compiler/passes/many/many_body.h"

#include <algorithm>

#include "compiler/ops/op_table.h"
#include "compiler/passes/many/instance_loop.h"
#include "compiler/passes/many/vectorize_rules.h"

namespace dyn::passes {

ValueId ManyBody::countVector() {
  if (countVector_ == kNoValue) countVector_ = maker_.make(ops::reshapeOp, {count_, maker_.integers({1})});
  return countVector_;
}

Layout ManyBody::layoutOf(ValueId old) const {
  if (madeByPutOff_.count(old)) return instanceLoopLayout(module_, old);
  return held_.at(old).layout;
}

bool ManyBody::othersAreShared(const Op& op) const {
  for (size_t i = 1; i < op.operands.size(); ++i)
    if (op.operands[i] != kNoValue && !isShared(op.operands[i])) return false;
  return true;
}

ValueId ManyBody::valueOf(ValueId old) {
  if (madeByPutOff_.count(old)) runPutOff();
  return held_.at(old).value;
}

ValueId ManyBody::batchedOf(ValueId old) {
  const ValueId value = valueOf(old);
  return layoutOf(old) == Layout::shared ? spread(value, module_.rankOf(old)) : value;
}

ValueId ManyBody::batchedOf(ValueId old, int rank) {
  const ValueId value = batchedOf(old);
  std::vector<int64_t> axes;
  for (int axis = module_.rankOf(old); axis < rank; ++axis)
    axes.push_back(static_cast<int64_t>(axes.size()) + 1);
  return axes.empty() ? value : maker_.make(ops::unsqueezeOp, {value, maker_.integers(axes)});
}

ValueId ManyBody::spread(ValueId value, int rank) {
  ValueId sizes = countVector();
  if (rank > 0) {
    const ValueId own = maker_.make(ops::shapeOp, {value});
    sizes = maker_.make(ops::concatOp, {sizes, own}, {{"axis", int64_t{0}}});
  }
  return maker_.make(ops::expandOp, {value, sizes});
}

// Each element has sizes of its own.
ValueId ManyBody::emptyList(Type element) {
  std::unordered_map<SymbolId, Dim> own;
  const Type open = substituteDims(ir(), element, [&](SymbolId symbol) {
    return own.try_emplace(symbol, ir().dims().any("a size of one instance")).first->second;
  });
  return appendOp(ir(), ops_, maker_.place(), ops::listOp, {}, {}, ir().listType(open));
}

Type ManyBody::batchedType(Type type) {
  if (!type || !type.isTensor()) return Type();
  Shape dims = type.dims();
  dims.insert(dims.begin(), lead_ ? lead_ : ir().dims().any("the number of instances here"));
  return ir().tensorType(dims, type.dtype());
}

void ManyBody::give(const Op& op, size_t k, const OpDef& def, std::vector<ValueId> operands,
                    Attributes attributes) {
  Op made;
  made.def = &def;
  made.place = op.place;
  made.operands = std::move(operands);
  made.attributes = std::move(attributes);
  const ValueId old = op.results[k].id, id = module_.idFor(old);
  made.results = {{id, batchedType(op.results[k].type)}};
  ops_.push_back(ir().own(std::move(made)));
  give(op, k, id);
}

void ManyBody::giveAll(const Op& op, const OpDef& def, std::vector<ValueId> operands, Attributes attributes) {
  Op made;
  made.def = &def;
  made.place = op.place;
  made.operands = std::move(operands);
  made.attributes = std::move(attributes);
  made.results = op.results;
  for (size_t k = 0; k < op.results.size(); ++k) {
    const ValueId id = op.results[k].id == kNoValue ? kNoValue : module_.idFor(op.results[k].id);
    made.results[k] = {id, batchedType(op.results[k].type)};
    if (id != kNoValue) give(op, k, id);
  }
  ops_.push_back(ir().own(std::move(made)));
}

void ManyBody::give(const Op& op, size_t k, ValueId value) {
  module_.addUniform(op.results[k].type);
  held_[op.results[k].id] = {Layout::batched, value};
}

void ManyBody::giveShared(const Op& op, size_t k, ValueId value) {
  module_.addUniform(op.results[k].type);
  held_[op.results[k].id] = {Layout::shared, value};
}

void ManyBody::asItIs(const Op& op) {
  Op copy = op;
  for (ValueId& v : copy.operands)
    if (v != kNoValue) v = valueOf(v);
  for (ValueDef& r : copy.results) {
    if (r.id == kNoValue) continue;
    const ValueId old = r.id;
    r.id = module_.idFor(old);
    held_[old] = {Layout::shared, r.id};
    module_.addUniform(r.type);
  }
  // Bodies are as they were, under ids of their own where they stand a second time.
  if (!copy.regions.empty() && (module_.isDraft() || copy.results[0].id != op.results[0].id))
    for (const Function*& region : copy.regions)
      region = cloneWithNewIds(ir(), *region, ir().uniqueFunctionName(region->name));
  ops_.push_back(ir().own(std::move(copy)));
}

bool ManyBody::byRule(const Op& op) {
  VectorizeRule rule = vectorizeRuleOf(*op.def);
  if (!rule && op.def->cls == OpClass::elementwise) rule = vectorizeElementwise;
  const bool walksOn = !op.regions.empty() || op.attributes.has("callee");
  if (!rule || (walksOn && module_.depth >= ManyModule::kMostDepth)) return false;
  // What was put off is run first: where the rule takes the operation after all, nothing else is left of it.
  for (ValueId v : op.operands)
    if (v != kNoValue) (void)valueOf(v);
  const size_t before = ops_.size();
  const ValueId countVector = countVector_;
  if (rule(*this, op)) return true;
  ops_.resize(before);
  countVector_ = countVector;
  return false;
}

void ManyBody::translate(const Op& op) {
  maker_.standAt(op.place);
  Layout most = Layout::shared;
  for (ValueId v : op.operands)
    if (v != kNoValue) most = std::max(most, layoutOf(v));
  if (isCheckOfOne(module_, op)) return;  // inference makes it anew where it is needed
  if (most == Layout::shared) {
    module_.count("shared");
    return asItIs(op);
  }
  if (op.def == &ops::bind_dimsOp) return;  // inference binds them where they are read
  if (most == Layout::batched && byRule(op)) {
    module_.count("joined");
    return;
  }
  putOff(op, most == Layout::listed ? "its operands differ in size, or are no tensors"
                                    : "it has no form over many instances");
}

void ManyBody::translate(const Function& function) {
  ++module_.depth;
  for (const Op* op : function.ops) translate(*op);
  --module_.depth;
}

void ManyBody::putOff(const Op& op, const std::string& why) {
  module_.count("alone");
  module_.remark("for each instance by itself: " + module_.nameOf(op) + ": " + why);
  putOff_.push_back(&op);
  for (const ValueDef& r : op.results)
    if (r.id != kNoValue) madeByPutOff_.insert(r.id);
}

void ManyBody::runPutOff() {
  if (putOff_.empty()) return;
  const std::vector<const Op*> ops = std::move(putOff_);
  putOff_.clear();
  madeByPutOff_.clear();
  makeInstanceLoop(*this, ops);
}

std::vector<const Op*> ManyBody::takeOps() {
  runPutOff();
  return std::move(ops_);
}

}  // namespace dyn::passes
