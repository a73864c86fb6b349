#include "compiler/passes/simplify/scaled_factors.h"

#include <cmath>
#include <optional>

#include "compiler/ops/op_table.h"

namespace dyn::passes {

namespace {

// `value` times a number, a tensor of one element.
struct Scaled {
  ValueId value = kNoValue, number = kNoValue;
};

bool isNumber(Type type) {
  return type.isTensor() && (type.dtype() == Dtype::f32 || type.dtype() == Dtype::f64) &&
         (type.rank() == 0 || (type.rank() == 1 && type.dims()[0].isConstant(1)));
}

std::optional<Scaled> scaledIn(ValueId v, const std::unordered_map<ValueId, Type>& types,
                               const std::unordered_map<ValueId, const Op*>& definitions) {
  const auto made = definitions.find(v);
  if (made == definitions.end() || made->second->def != &ops::mulOp) return std::nullopt;
  for (const size_t side : {size_t{1}, size_t{0}}) {
    const ValueId value = made->second->operands[1 - side], number = made->second->operands[side];
    const auto type = types.find(value), numberType = types.find(number);
    if (type != types.end() && numberType != types.end() && isNumber(numberType->second) &&
        type->second == made->second->results[0].type)
      return Scaled{value, number};
  }
  return std::nullopt;
}

const HostTensor* constantOf(ValueId v, const std::unordered_map<ValueId, const Op*>& definitions) {
  const auto made = definitions.find(v);
  return made != definitions.end() && made->second->def == &ops::constantOp
             ? made->second->attributes.tensor("value")
             : nullptr;
}

}  // namespace

const Op* scaledFactors(const Op& product, IrContext& ir, std::unordered_map<ValueId, Type>& types,
                        std::unordered_map<ValueId, const Op*>& definitions, std::vector<const Op*>& ops) {
  if (product.def != &ops::matmulOp) return nullptr;
  const std::optional<Scaled> left = scaledIn(product.operands[0], types, definitions),
                              right = scaledIn(product.operands[1], types, definitions);
  if (!left || !right) return nullptr;
  const Type one = types.at(left->number), other = types.at(right->number);
  const Op* old = definitions.at(product.operands[0]);
  Op number;
  number.place = old->place;
  const HostTensor *c = constantOf(left->number, definitions), *d = constantOf(right->number, definitions);
  if (c && d) {
    HostTensor value = HostTensor::scalar(one.dtype(), c->realAt(0) * d->realAt(0));
    if (!std::isnormal(value.realAt(0))) return nullptr;
    number.def = &ops::constantOp;
    number.results = {{ir.newValue(), ir.tensorType(Shape{}, one.dtype())}};
    number.attributes.set("value", std::move(value));
  } else {
    number.def = &ops::mulOp;
    number.operands = {left->number, right->number};
    number.results = {{ir.newValue(), one.rank() < other.rank() ? other : one}};
  }
  Op scaled = *old;
  scaled.operands = {left->value, number.results[0].id};
  scaled.results = {{ir.newValue(), old->results[0].type}};
  Op changed = product;
  changed.operands = {scaled.results[0].id, right->value};
  for (Op* op : {&number, &scaled}) {
    const ValueDef result = op->results[0];
    ops.push_back(ir.own(std::move(*op)));
    types[result.id] = result.type;
    definitions[result.id] = ops.back();
  }
  return ir.own(std::move(changed));
}

}  // namespace dyn::passes
