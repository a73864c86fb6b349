#include "compiler/lower/byte_rescale.h"

#include <algorithm>
#include <cmath>

#include "compiler/ops/op_table.h"

namespace dyn {

namespace {

// Follows values of one use each, from the sums on.
class RescaleMatcher {
 public:
  RescaleMatcher(const Function& body, const std::function<const HostTensor*(ValueId)>& constantOf)
      : body_(body), constantOf_(constantOf) {}

  std::optional<ByteRescale> match() {
    const auto product = std::find_if(body_.ops.begin(), body_.ops.end(),
                                      [](const Op* op) { return op->def == &ops::conv_integer_packedOp; });
    if (product == body_.ops.end()) return std::nullopt;
    // What follows the bytes works in their place.
    const Dtype result = body_.resultTypes.size() == 1 ? body_.resultTypes[0].dtype() : Dtype::f32;
    if (result != Dtype::u8 && result != Dtype::i8) return std::nullopt;
    const int64_t filters = (*product)->attributes.dims("weights")[0].constant().value_or(0);
    at_ = (*product)->results[0].id;
    ByteRescale found;
    const ValueId bias = stepWith(ops::addOp, Dtype::i32, filters);
    found.form.bias = bias != kNoValue;
    if (!step(ops::castOp, Dtype::f32)) return std::nullopt;
    const ValueId scale = stepWith(ops::mulOp, Dtype::f32, filters);
    if (scale == kNoValue) return std::nullopt;
    found.form.relu = step(ops::reluOp, Dtype::f32);
    if (!step(ops::roundOp, Dtype::f32)) return std::nullopt;
    const ValueId zero = stepWith(ops::addOp, Dtype::f32, 1);
    if (zero != kNoValue && !isZeroPoint(zero)) return std::nullopt;
    found.form.zero = zero != kNoValue;
    if (!step(ops::castOp, result)) return std::nullopt;
    found.bytes = at_;
    for (ValueId v : {bias, scale, zero})
      if (v != kNoValue) found.operands.push_back(v);
    return found;
  }

 private:
  // The only one that reads the value; null: there is none, or several.
  const Op* user() const {
    const Op* found = nullptr;
    if (std::count(body_.results.begin(), body_.results.end(), at_) > 0) return nullptr;
    for (const Op* op : body_.ops)
      for (ValueId v : op->operands) {
        if (v != at_) continue;
        if (found) return nullptr;
        found = op;
      }
    return found;
  }

  // On to the result of its user, where that is such an operation.
  bool step(const OpDef& def, Dtype dtype) {
    const Op* op = user();
    if (!op || op->def != &def || op->results[0].type.dtype() != dtype || op->operands.size() != 1)
      return false;
    at_ = op->results[0].id;
    return true;
  }

  // The same with a second operand, which is returned: a parameter of `count` elements, or of one.
  ValueId stepWith(const OpDef& def, Dtype dtype, int64_t count) {
    const Op* op = user();
    if (!op || op->def != &def || op->results[0].type.dtype() != dtype) return kNoValue;
    const ValueId other = op->operands[op->operands[0] == at_ ? 1 : 0];
    const auto parameter = std::find_if(body_.parameters.begin(), body_.parameters.end(),
                                        [&](const Parameter& p) { return p.id == other; });
    if (parameter == body_.parameters.end()) return kNoValue;
    // Along the channels, which stand last.
    const Shape& dims = parameter->type.dims();
    for (size_t i = 0; i < dims.size(); ++i)
      if (!dims[i].isConstant(1) && !(i + 1 == dims.size() && dims[i].isConstant(count))) return kNoValue;
    at_ = op->results[0].id;
    return other;
  }

  bool isZeroPoint(ValueId v) const {
    constexpr double kMost = 255;
    const HostTensor* value = constantOf_(v);
    return value && value->elementCount() == 1 && std::abs(value->realAt(0)) <= kMost &&
           std::nearbyint(value->realAt(0)) == value->realAt(0);
  }

  const Function& body_;
  const std::function<const HostTensor*(ValueId)>& constantOf_;
  ValueId at_ = kNoValue;
};

}  // namespace

std::optional<ByteRescale> byteRescaleOf(const Function& body,
                                         const std::function<const HostTensor*(ValueId)>& constantOf) {
  return RescaleMatcher(body, constantOf).match();
}

}  // namespace dyn
