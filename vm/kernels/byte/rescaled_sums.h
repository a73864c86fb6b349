// How a call of conv_packed makes bytes of its sums (vm/shared/dyn_byte_rescale.h).
#pragma once

#include "vm/kernels/byte/byte_kernel.h"
#include "vm/kernels/conv/convolution.h"
#include "vm/shared/dyn_byte_rescale.h"

namespace dyn::vm::kernels {

class RescaledSums {
 public:
  // `form`: the number of the call's way, 0 where it does not; its arguments stand from `first` on.
  static Status read(const FlatCall& call, int32_t form, size_t first, int64_t filters, RescaledSums& made);

  explicit operator bool() const { return scales_ != nullptr; }
  size_t argumentCount() const { return argumentCount_; }
  int32_t bias(int64_t filter) const { return bias_ ? bias_->as<int32_t>()[at(bias_, filter)] : 0; }
  float scale(int64_t filter) const { return scales_->as<float>()[at(scales_, filter)]; }
  // Those of `count` filters from `filter` on.
  void copyBiases(int64_t filter, int64_t count, int32_t* to) const;
  void copyScales(int64_t filter, int64_t count, float* to) const;
  // ByteRescale::saturates with these scales.
  bool saturatesBy(const float* scales, int64_t count) const;
  bool hasShortcut() const { return shortcut_.bytes != nullptr; }
  // For columns whose sums and scales begin there, and a tile whose first element is the result's element
  // `at`.
  ByteRescale of(const int32_t* first, const float* scales, int64_t at, bool saturates = false) const {
    ByteRescale rescale{first, scales, low_, high_, zero_, saturates, shortcut_};
    if (hasShortcut()) rescale.shortcut.bytes += at;
    return rescale;
  }

 private:
  Status readShortcut(const FlatCall& call, size_t first);
  static int64_t at(const TensorView* of, int64_t filter) { return of->elements > 1 ? filter : 0; }

  const TensorView *bias_ = nullptr, *scales_ = nullptr;
  size_t argumentCount_ = 0;
  float least_ = 0, low_ = 0, high_ = 0;
  int32_t zero_ = 0;
  ByteShortcut shortcut_;
};

}  // namespace dyn::vm::kernels
