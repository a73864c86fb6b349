#include "compiler/lower/byte_rescale.h"

#include <algorithm>
#include <cmath>

#include "compiler/lower/byte_shortcut.h"
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
    // The kernels of single channels have no shortcuts.
    if ((*product)->attributes.integer("group", 1) == 1) addShortcut(found, result, zero);
    return found;
  }

 private:
  // The only one that reads the value; null: absent, or several.
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

  // dequantize_linear(%bytes) + dequantize_linear(%other), quantised to `result`: the bytes then are those of
  // the sum.
  void addShortcut(ByteRescale& found, Dtype result, ValueId zero) {
    const auto boundsOf = [](Dtype dtype) { return dtype == Dtype::i8 ? -128 : 0; };
    ByteSum sum;
    sum.zeroOfSums = zero == kNoValue ? 0 : static_cast<int32_t>(constantOf_(zero)->realAt(0));
    sum.least = boundsOf(result) - sum.zeroOfSums;
    sum.most = sum.least + 255;
    if (found.form.relu) sum.least = std::clamp(0, sum.least, sum.most);
    const Op* own = user();
    if (!own || !readScaled(*own, ops::dequantize_linearOp, sum.own) || own->operands[0] != at_) return;
    at_ = own->results[0].id;
    const Op* add = user();
    if (!add || add->def != &ops::addOp) return;
    const Op* other = producer(add->operands[add->operands[0] == at_ ? 1 : 0]);
    if (!other || !readScaled(*other, ops::dequantize_linearOp, sum.other)) return;
    const auto bytes = std::find_if(body_.parameters.begin(), body_.parameters.end(),
                                    [&](const Parameter& p) { return p.id == other->operands[0]; });
    if (bytes == body_.parameters.end() || bytes->type.dims() != add->results[0].type.dims()) return;
    if (bytes->type.dtype() != Dtype::u8 && bytes->type.dtype() != Dtype::i8) return;
    sum.otherIsSigned = bytes->type.dtype() == Dtype::i8;
    at_ = add->results[0].id;
    sum.relu = step(ops::reluOp, Dtype::f32);
    const Op* quantised = user();
    if (!quantised || !readScaled(*quantised, ops::quantize_linearOp, sum.result) ||
        quantised->operands[0] != at_ || quantised->results[0].type.dtype() != result)
      return;
    sum.resultIsSigned = result == Dtype::i8;
    const std::optional<ByteSumLine> line = lineOf(sum);
    if (!line) return;
    found.form.shortcut = true;
    found.operands.push_back(bytes->id);
    found.shortcut = *HostTensor::create(Dtype::f32, {ByteRescaleForm::kShortcutNumbers});
    int64_t i = 0;
    for (const float number : {line->factor, line->other, line->constant, static_cast<float>(sum.low()),
                               static_cast<float>(sum.result.zero)})
      found.shortcut->setReal(i++, number);
    found.bytes = quantised->results[0].id;
  }

  // The scale and the zero point of such an operation on f32, where both are single constants.
  bool readScaled(const Op& op, const OpDef& def, ByteSum::Scaled& to) const {
    if (op.def != &def || op.operands.size() < 2) return false;
    const HostTensor* scale = constantOf_(op.operands[1]);
    if (!scale || scale->dtype() != Dtype::f32 || scale->elementCount() != 1) return false;
    to.scale = static_cast<float>(scale->realAt(0));
    if (op.operands.size() < 3 || op.operands[2] == kNoValue) return true;
    const HostTensor* zero = constantOf_(op.operands[2]);
    if (!zero || zero->elementCount() != 1) return false;
    to.zero = static_cast<int32_t>(zero->intAt(0));
    return true;
  }
  const Op* producer(ValueId v) const {
    const auto found = std::find_if(body_.ops.begin(), body_.ops.end(),
                                    [&](const Op* op) { return op->results[0].id == v; });
    return found == body_.ops.end() ? nullptr : *found;
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
