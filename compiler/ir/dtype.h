// Element types, generated from the table the VM shares (vm/include/abi/dyn_dtype.def); numeric values are
// those of files.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dyn {

enum class Dtype : uint8_t {
#define DYN_DTYPE(name, text, bits, cls, onnx) name,
#include "vm/include/abi/dyn_dtype.def"
#undef DYN_DTYPE
};

enum class DtypeClass : uint8_t { boolean, integer, natural, real, complex, text };

std::string_view toString(Dtype dtype);  // "f32"
std::optional<Dtype> parseDtype(std::string_view text);
std::optional<Dtype> dtypeFromOnnx(
    int32_t onnxType);  // TensorProto.DataType; nullopt for undefined or unknown codes
int32_t onnxCode(Dtype dtype);
int64_t storageBytes(Dtype dtype);  // bytes of one element at run time; sub-byte types take 1
DtypeClass dtypeClass(Dtype dtype);
inline bool isReal(Dtype d) { return dtypeClass(d) == DtypeClass::real; }
inline bool isInteger(Dtype d) {
  return dtypeClass(d) == DtypeClass::integer || dtypeClass(d) == DtypeClass::natural;
}
inline bool isHalf(Dtype d) { return d == Dtype::f16 || d == Dtype::bf16; }
inline bool isSigned(Dtype d) { return dtypeClass(d) == DtypeClass::integer; }
int dtypeCount();

// Conversions of one storage element between the narrow real types and double (round to nearest even;
// saturation as ONNX Cast with saturate=1 when `saturate`).
double decodeReal(Dtype dtype, uint64_t bits);
uint64_t encodeReal(Dtype dtype, double value, bool saturate = true);

// f8e8m0 holds powers of two, so Cast names a rounding (its round_mode): up = away from zero (encodeReal's),
// down = toward zero, nearest = ties up. The sign is dropped; zero and what is too small become 2^-127.
enum class ScaleRounding : uint8_t { up, down, nearest };
uint64_t encodeScale(double value, ScaleRounding rounding, bool saturate = true);

}  // namespace dyn
