#include "vm/kernels/byte/rescaled_sums.h"

#include <algorithm>
#include <cmath>

#include "vm/kernels/byte/byte_gemm.h"

namespace dyn::vm::kernels {

Status RescaledSums::read(const FlatCall& call, int32_t form, size_t first, int64_t filters,
                          RescaledSums& made) {
  if (form == 0) return okStatus();
  const char* name = "conv_packed";
  const auto wanted = ByteRescaleForm::of(form);
  const TensorView* y = call.result(0);
  if (!ByteRescaleForm::isKnown(form) || !isByte(y->dtype()))
    return failure(DYN_BAD_PROGRAM, "sums do not become " + describe(y) + " in that form");
  size_t next = first;
  const auto argument = [&](DataType dtype, int64_t most, const char* what, const TensorView*& to) -> Status {
    to = next < call.argumentCount ? call.argument(next) : nullptr;
    if (!to || to->dtype() != dtype || (to->elements != 1 && to->elements != most))
      return badArgument(name, next, what, to);
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
  if (!(std::abs(place) <= 255) || std::nearbyint(place) != place)
    return failure(DYN_BAD_INPUT, "the zero point of a result in bytes is a whole number of eight bits");
  const bool isSigned = y->dtype() == DataType::i8;
  const float least = (isSigned ? -128.0F : 0.0F) - place, most = (isSigned ? 127.0F : 255.0F) - place;
  made.zero_ = static_cast<int32_t>(place);
  made.low_ = wanted.relu ? std::min(std::max(least, 0.0F), most) : least;
  made.high_ = most;
  return okStatus();
}

}  // namespace dyn::vm::kernels
