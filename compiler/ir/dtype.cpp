#include "compiler/ir/dtype.h"

#include <iterator>

#include "vm/shared/dyn_narrow_real.h"

namespace dyn {
namespace {

struct DtypeRow {
  std::string_view text;
  int bits;
  DtypeClass cls;
  int32_t onnx;
};

constexpr DtypeRow kRows[] = {
#define DYN_DTYPE(name, text, bits, cls, onnx) {text, bits, DtypeClass::cls, onnx},
#include "vm/include/abi/dyn_dtype.def"
#undef DYN_DTYPE
};

const DtypeRow& rowOf(Dtype dtype) { return kRows[static_cast<size_t>(dtype)]; }

}  // namespace

std::string_view toString(Dtype dtype) { return rowOf(dtype).text; }

std::optional<Dtype> parseDtype(std::string_view text) {
  for (int i = 0; i < dtypeCount(); ++i) {
    if (kRows[i].text == text) return static_cast<Dtype>(i);
  }
  return std::nullopt;
}

std::optional<Dtype> dtypeFromOnnx(int32_t onnxType) {
  for (int i = 0; i < dtypeCount(); ++i) {
    if (kRows[i].onnx == onnxType) return static_cast<Dtype>(i);
  }
  return std::nullopt;
}

int32_t onnxCode(Dtype dtype) { return rowOf(dtype).onnx; }
int64_t storageBytes(Dtype dtype) { return rowOf(dtype).bits / 8; }
DtypeClass dtypeClass(Dtype dtype) { return rowOf(dtype).cls; }
int dtypeCount() { return static_cast<int>(std::size(kRows)); }

double decodeReal(Dtype dtype, uint64_t bits) { return narrow::decodeReal(dtype, bits); }
uint64_t encodeReal(Dtype dtype, double value, bool saturate) {
  return narrow::encodeReal(dtype, value, saturate);
}
uint64_t encodeScale(double value, ScaleRounding rounding, bool saturate) {
  return narrow::encodeScale(value, static_cast<narrow::ScaleRounding>(rounding), saturate);
}

}  // namespace dyn
