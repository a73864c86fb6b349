#include "compiler/passes/simplify/scaled_factors.h"

#include <cmath>
#include <optional>

#include "compiler/ops/op_table.h"

namespace dyn::passes {

namespace {

// `value` times a number.
struct Scaled {
  ValueId value = kNoValue;
  const HostTensor* factor = nullptr;
};

std::optional<Scaled> scaledIn(ValueId v, const std::unordered_map<ValueId, Type>& types,
                               const std::unordered_map<ValueId, const Op*>& definitions) {
  const auto made = definitions.find(v);
  if (made == definitions.end() || made->second->def != &ops::mulOp) return std::nullopt;
  for (const size_t side : {size_t{1}, size_t{0}}) {
    const ValueId other = made->second->operands[1 - side];
    const auto number = definitions.find(made->second->operands[side]);
    const auto type = types.find(other);
    if (number == definitions.end() || number->second->def != &ops::constantOp || type == types.end())
      continue;
    const HostTensor* factor = number->second->attributes.tensor("value");
    if (!factor || factor->elementCount() != 1 || !(type->second == made->second->results[0].type)) continue;
    if (factor->dtype() != Dtype::f32 && factor->dtype() != Dtype::f64) continue;
    return Scaled{other, factor};
  }
  return std::nullopt;
}

}  // namespace

const Op* scaledFactors(const Op& product, IrContext& ir, std::unordered_map<ValueId, Type>& types,
                        std::unordered_map<ValueId, const Op*>& definitions, std::vector<const Op*>& ops) {
  if (product.def != &ops::matmulOp) return nullptr;
  const std::optional<Scaled> left = scaledIn(product.operands[0], types, definitions),
                              right = scaledIn(product.operands[1], types, definitions);
  if (!left || !right || left->factor->dtype() != right->factor->dtype()) return nullptr;
  const double factor = left->factor->realAt(0) * right->factor->realAt(0);
  HostTensor number = HostTensor::scalar(left->factor->dtype(), factor);
  if (!std::isnormal(number.realAt(0))) return nullptr;
  const Op* old = definitions.at(product.operands[0]);
  Op constant;
  constant.def = &ops::constantOp;
  constant.place = old->place;
  constant.results = {{ir.newValue(), ir.tensorType(Shape{}, number.dtype())}};
  constant.attributes.set("value", std::move(number));
  Op scaled = *old;
  scaled.operands = {left->value, constant.results[0].id};
  scaled.results = {{ir.newValue(), old->results[0].type}};
  Op changed = product;
  changed.operands = {scaled.results[0].id, right->value};
  for (Op* op : {&constant, &scaled}) {
    const ValueDef result = op->results[0];
    ops.push_back(ir.own(std::move(*op)));
    types[result.id] = result.type;
    definitions[result.id] = ops.back();
  }
  return ir.own(std::move(changed));
}

}  // namespace dyn::passes
