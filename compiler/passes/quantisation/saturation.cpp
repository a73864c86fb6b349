#include "compiler/passes/quantisation/saturation.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ops/op_table.h"

namespace dyn::passes {

namespace {

// quantize_linear to bytes with one scale and one zero point, both constant.
struct ByteScale {
  float scale = 1;
  int zero = 0, least = 0, most = 0;

  int byteOf(float x) const {
    const float number = std::nearbyint(x / scale) + static_cast<float>(zero);
    return static_cast<int>(std::clamp(number, static_cast<float>(least), static_cast<float>(most)));
  }
};

class BoundRemover {
 public:
  BoundRemover(const Function& function, IrContext& ir) : function_(function), ir_(ir) {
    for (const Op* op : function.ops) {
      for (const ValueDef& r : op->results) definitions_[r.id] = op;
      for (const ValueId v : op->operands) ++uses_[v];
    }
    for (const ValueId v : function.results) ++uses_[v];
  }

  const Function* run() {
    std::vector<const Op*> ops;
    for (const Op* op : function_.ops) {
      const std::vector<const Op*> bounds = idleBounds(*op);
      if (!bounds.empty()) {
        Op changed = *op;
        changed.operands[0] = bounds.back()->operands[0];
        op = ir_.own(std::move(changed));
        idle_.insert(bounds.begin(), bounds.end());
      }
      ops.push_back(op);
    }
    if (idle_.empty()) return &function_;
    Function result = function_;
    result.ops.clear();
    for (const Op* op : ops)
      if (idle_.count(op) == 0) result.ops.push_back(op);
    return ir_.own(std::move(result));
  }

 private:
  const Op* definition(ValueId v) const {
    const auto found = definitions_.find(v);
    return found == definitions_.end() ? nullptr : found->second;
  }
  static ValueId operandOf(const Op& op, size_t i) {
    return i < op.operands.size() ? op.operands[i] : kNoValue;
  }

  // The constant's one element.
  std::optional<double> numberOf(ValueId v) const {
    const Op* op = v == kNoValue ? nullptr : definition(v);
    const HostTensor* value = op && op->def == &ops::constantOp ? op->attributes.tensor("value") : nullptr;
    if (!value || value->elementCount() != 1 || value->dtype() == Dtype::string) return std::nullopt;
    return value->realAt(0);
  }

  std::optional<ByteScale> byteScaleOf(const Op& op) const {
    const Dtype dtype = op.results[0].type.dtype();
    if (dtype != Dtype::u8 && dtype != Dtype::i8) return std::nullopt;
    const std::optional<double> scale = numberOf(op.operands[1]);
    if (!scale || !(*scale > 0) || !std::isfinite(*scale)) return std::nullopt;
    ByteScale form;
    form.scale = static_cast<float>(*scale);
    form.least = dtype == Dtype::u8 ? 0 : -128;
    form.most = dtype == Dtype::u8 ? 255 : 127;
    if (const ValueId zero = operandOf(op, 2); zero != kNoValue) {
      const std::optional<double> number = numberOf(zero);
      if (!number) return std::nullopt;
      form.zero = static_cast<int>(*number);
    }
    return form;
  }

  // The bounds in front of a quantize_linear that its bytes have anyway, the last one first.
  std::vector<const Op*> idleBounds(const Op& op) const {
    std::vector<const Op*> bounds;
    if (op.def != &ops::quantize_linearOp) return bounds;
    const std::optional<ByteScale> bytes = byteScaleOf(op);
    if (!bytes) return bounds;
    ValueId from = op.operands[0];
    for (const Op* bound = definition(from); bound && isIdle(*bound, from, *bytes);
         bound = definition(from)) {
      bounds.push_back(bound);
      from = bound->operands[0];
    }
    return bounds;
  }

  bool isIdle(const Op& bound, ValueId result, const ByteScale& bytes) const {
    if (bound.results.size() != 1 || uses_.at(result) != 1 || bound.results[0].type.dtype() != Dtype::f32)
      return false;
    if (bound.def == &ops::reluOp) return bytes.byteOf(0) == bytes.least;
    if (bound.def != &ops::clipOp) return false;
    const ValueId low = operandOf(bound, 1), high = operandOf(bound, 2);
    const auto isByte = [&](ValueId v, int byte) {
      if (v == kNoValue) return true;
      const std::optional<double> number = numberOf(v);
      return number && !std::isnan(*number) && bytes.byteOf(static_cast<float>(*number)) == byte;
    };
    return isByte(low, bytes.least) && isByte(high, bytes.most);
  }

  const Function& function_;
  IrContext& ir_;
  std::unordered_map<ValueId, const Op*> definitions_;
  std::unordered_map<ValueId, int> uses_;
  std::unordered_set<const Op*> idle_;
};

}  // namespace

const Function* withoutSaturatedBounds(const Function& function, IrContext& ir) {
  return BoundRemover(function, ir).run();
}

}  // namespace dyn::passes
