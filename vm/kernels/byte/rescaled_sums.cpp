#include "vm/kernels/byte/rescaled_sums.h"

#include <algorithm>
#include <cmath>

#include "vm/kernels/byte/byte_gemm.h"

namespace dyn::vm::kernels {

namespace {

constexpr const char* kName = "conv_packed";

// What bytes of that type are at least and at most, less their zero point.
struct ByteBounds {
  float least, most;

  ByteBounds(DataType dtype, float zero)
      : least((dtype == DataType::i8 ? -128.0F : 0.0F) - zero),
        most((dtype == DataType::i8 ? 127.0F : 255.0F) - zero) {}
};

bool isZeroPoint(float x) { return std::abs(x) <= 255 && std::nearbyint(x) == x; }

}  // namespace

Status RescaledSums::read(const FlatCall& call, int32_t form, size_t first, int64_t filters,
                          RescaledSums& made) {
  if (form == 0) return okStatus();
  const auto wanted = ByteRescaleForm::of(form);
  const TensorView* y = call.result(0);
  if (!ByteRescaleForm::isKnown(form) || !isByte(y->dtype()))
    return failure(DYN_BAD_PROGRAM, "sums do not become " + describe(y) + " in that form");
  size_t next = first;
  const auto argument = [&](DataType dtype, int64_t most, const char* what, const TensorView*& to) -> Status {
    to = next < call.argumentCount ? call.argument(next) : nullptr;
    if (!to || to->dtype() != dtype || (to->elements != 1 && to->elements != most))
      return badArgument(kName, next, what, to);
    ++next;
    return okStatus();
  };
  const TensorView* zero = nullptr;
  if (wanted.bias)
    if (Status s = argument(DataType::i32, filters, "a bias of i32", made.bias_); !s.ok()) return s;
  if (Status s = argument(DataType::f32, filters, "scales of f32", made.scales_); !s.ok()) return s;
  if (wanted.zero)
    if (Status s = argument(DataType::f32, 1, "a zero point of f32", zero); !s.ok()) return s;
  made.argumentCount_ = next - first;
  const float place = zero ? *zero->as<float>() : 0;
  if (!isZeroPoint(place))
    return failure(DYN_BAD_INPUT, "the zero point of a result in bytes is a whole number of eight bits");
  const ByteBounds bounds(y->dtype(), place);
  made.zero_ = static_cast<int32_t>(place);
  made.least_ = bounds.least;
  made.low_ = wanted.relu ? std::min(std::max(bounds.least, 0.0F), bounds.most) : bounds.least;
  made.high_ = bounds.most;
  return wanted.shortcut ? made.readShortcut(call, next) : okStatus();
}

void RescaledSums::copyBiases(int64_t filter, int64_t count, int32_t* to) const {
  if (bias_ && bias_->elements > 1)
    std::copy_n(bias_->as<int32_t>() + filter, count, to);
  else
    std::fill_n(to, count, bias(filter));
}
void RescaledSums::copyScales(int64_t filter, int64_t count, float* to) const {
  if (scales_->elements > 1)
    std::copy_n(scales_->as<float>() + filter, count, to);
  else
    std::fill_n(to, count, scale(filter));
}
bool RescaledSums::saturatesBy(const float* scales, int64_t count) const {
  int64_t others = 0;
  for (int64_t i = 0; i < count; ++i) others += std::abs(scales[i]) < 1 ? 0 : 1;  // NaN as well
  return others == 0 && low_ == least_;
}

Status RescaledSums::readShortcut(const FlatCall& call, size_t first) {
  const auto argument = [&](size_t i) { return i < call.argumentCount ? call.argument(i) : nullptr; };
  const TensorView *y = call.result(0), *bytes = argument(first), *numbers = argument(first + 1);
  if (!bytes || !isByte(bytes->dtype()) || bytes->elements != y->elements)
    return badArgument(kName, first, "bytes for each of the result's", bytes);
  if (!numbers || numbers->dtype() != DataType::f32 || numbers->elements != ByteRescaleForm::kShortcutNumbers)
    return badArgument(kName, first + 1, "the five numbers of a shortcut", numbers);
  argumentCount_ += 2;
  const float* n = numbers->as<float>();
  const float zero = n[4];
  if (!std::all_of(n, n + 4, [](float x) { return std::abs(x) <= ByteShortcut::kMost; }) ||
      !isZeroPoint(zero))
    return failure(DYN_BAD_INPUT, "the numbers of a shortcut are small, its zero point one of eight bits");
  const ByteBounds bounds(y->dtype(), zero);
  shortcut_ = {bytes->as<uint8_t>(),
               static_cast<uint8_t>(bytes->dtype() == DataType::i8 ? 0x80 : 0),
               n[0],
               n[1],
               n[2],
               std::clamp(std::nearbyint(n[3]), bounds.least, bounds.most),
               bounds.most,
               static_cast<int32_t>(zero)};
  return okStatus();
}

}  // namespace dyn::vm::kernels
