#include "compiler/passes/analysis/operand_loads.h"

#include <algorithm>
#include <unordered_map>

namespace dyn::passes {

using loop::Expr;
using loop::ExprKind;

OperandLoads::OperandLoads(const Op& op, std::vector<Type> types, const InferredModule& inferred)
    : op_(op), types_(std::move(types)), inferred_(inferred), loops_(inferred.module.context->dims()) {
  for (size_t i = 0; i < types_.size(); ++i) {
    std::vector<Expr> shape;
    if (types_[i] && types_[i].isTensor())
      for (Dim d : types_[i].dims()) shape.push_back(loops_.dim(d));
    const Dtype dtype = types_[i] && types_[i].isTensor() ? types_[i].dtype() : Dtype::f32;
    buffers_.push_back(loops_.buffer("x" + std::to_string(i), dtype, shape, loop::BufferRole::input));
  }
}

Result<Expr> OperandLoads::read(int i, std::span<const Expr> index) {
  const auto known = inferred_.contents.find(op_.operands[static_cast<size_t>(i)]);
  if (known != inferred_.contents.end() && known->second.size() == 1 && known->second[0] &&
      known->second[0].isConstant())
    return loops_.cast(loops_.dim(known->second[0]), operandType(i).dtype());
  return loops_.load(buffers_[static_cast<size_t>(i)], {index.begin(), index.end()});
}

Result<Expr> OperandLoads::contents(int i, int64_t k) {
  const auto known = inferred_.contents.find(op_.operands[static_cast<size_t>(i)]);
  const auto at = static_cast<size_t>(k);
  if (known != inferred_.contents.end() && at < known->second.size() && known->second[at])
    return dim(known->second[at]);
  const Expr index = integer(k);
  DYN_TRY(Expr element, read(i, std::span(&index, operandType(i).rank() > 0 ? 1 : 0)));
  return loops_.cast(element, Dtype::i64);
}

size_t OperandLoads::operandOf(const loop::Buffer* buffer) const {
  return static_cast<size_t>(std::find(buffers_.begin(), buffers_.end(), buffer) - buffers_.begin());
}

std::vector<Expr> OperandLoads::indexOf(Type type) {
  std::vector<Expr> index;
  for (Dim d : type.dims()) {
    index.push_back(loops_.variable("i"));
    loops_.bound(index.back(), dim(d));
  }
  return index;
}

std::unordered_set<size_t> loadedOperands(const Op& op, const std::vector<Type>& types,
                                          const InferredModule& inferred) {
  OperandLoads context(op, types, inferred);
  std::unordered_set<size_t> loaded;
  for (size_t i = 0; i < op.results.size(); ++i) {
    const Result<Expr> element =
        op.def->lower(context, static_cast<int>(i), context.indexOf(op.results[i].type));
    if (!element.ok()) continue;
    for (const Expr& e : loop::postorder(std::span(&*element, 1)))
      if (e.kind() == ExprKind::load) loaded.insert(context.operandOf(e.buffer()));
  }
  return loaded;
}

Expr withoutSingleIterations(Expr root) {
  loop::LoopContext& loops = root.context();
  const auto isOne = [](const Expr& e) { return e.kind() == ExprKind::intConstant && e.intValue() == 1; };
  return loops.substitute(root, [&](Expr now) -> Expr {
    if (now.kind() != ExprKind::reduce) return {};
    const std::span<const Expr> all = now.operands();
    std::vector<Expr> variables, extents;
    std::unordered_map<uint32_t, Expr> single;
    for (size_t k = 0; k + 1 < all.size(); ++k)
      if (isOne(all[k])) {
        single.emplace(now.reduceVariables()[k].id(), loops.integer(0));
      } else {
        variables.push_back(now.reduceVariables()[k]);
        extents.push_back(all[k]);
      }
    if (single.empty()) return {};
    const Expr body = withoutSingleIterations(loops.rename(all.back(), single));
    return variables.empty() ? body : loops.reduce(now.reduceOp(), variables, extents, body);
  });
}

bool isElementOf(Expr e, Expr index, Dim extent) {
  if (e.same(index)) return true;
  if (e.kind() != ExprKind::select || !e.operands()[2].same(index)) return false;
  const Expr one = e.operands()[0], zero = e.operands()[1];
  return zero.kind() == ExprKind::intConstant && zero.intValue() == 0 && one.kind() == ExprKind::binary &&
         one.binaryOp() == loop::BinaryOp::equal && one.operands()[0].kind() == ExprKind::dim &&
         one.operands()[0].dimValue() == extent && one.operands()[1].kind() == ExprKind::intConstant &&
         one.operands()[1].intValue() == 1;
}

}  // namespace dyn::passes
