// Tensors of ONNX files as host bytes, and test data files (.pb) with tensors, sequences and optionals.
//
//   DYN_TRY(DecodedTensor weights, decodeTensor(initializer, model.source, &external));
//
// Contract: dims are >= 0 and their product and the size in bytes fit in 63 bits; there is exactly the data
// that dims and element type need, in exactly one of the fields the standard allows for the type. Anything
// else is a diagnostic (onnxInvalid, dimOverflow, onnxExternalData) that names file, byte offset and tensor.
// The bytes are in the run-time storage of vm/include/abi/dyn_dtype.def: row-major, little-endian; int4,
// uint4, int2, uint2 and float4 one element per byte (signed ones sign-extended); float16, bfloat16 and
// float8 as their bits; bool 0 or 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "frontends/onnx/read/external_data.h"
#include "frontends/onnx/read/onnx_model.h"

namespace dyn::onnx {

// The numbers of TensorProto.DataType that code asks for by name.
enum ElementType : int32_t {
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
  kFloat6E2M3 = 27,
  kFloat6E3M2 = 28
};

// Bits of one element at run time (dyn_dtype.def), 0 for types that have no such storage; and in raw_data.
unsigned storageBits(int32_t elementType);
unsigned fileBits(int32_t elementType);
// Bytes of the elements of a tensor that a file holds as raw data.
int64_t fileBytes(const TensorProto& tensor);

struct DecodedTensor {
  std::string name;
  int32_t onnxType = 0;
  std::vector<int64_t> dims;
  int64_t elementCount = 1;
  // Owned or borrowed, kept alive by keepAlive either way. Owned data are aligned to 64 bytes; borrowed data
  // lie in the mapped file at any address: copy them where alignment matters. Null for strings.
  const std::byte* data = nullptr;
  uint64_t sizeBytes = 0;
  std::shared_ptr<const void> keepAlive;
  std::shared_ptr<const MappedFile> file;  // that borrowed data lie in
  bool borrowed = false;
  std::vector<std::string> strings;  // of element type STRING
};

// `external` may be null: then external data are an error.
Result<DecodedTensor> decodeTensor(const TensorProto& tensor, const WireSource& source,
                                   ExternalData* external = nullptr);

// One value of a test data file. The file does not say which message it holds: the model's type tells
// (dataKindOf).
enum class DataKind { tensor, sequence, optional, map };
DataKind dataKindOf(const TypeProto& type);
inline constexpr size_t kMaxDataDepth = 100;

struct DataValue {
  DataKind kind = DataKind::tensor;
  std::string name;
  DecodedTensor tensor;             // of a tensor
  std::vector<DataValue> elements;  // of a sequence; of an optional none or one; of a map its values
  std::vector<int64_t> keys;        // of a map with integer keys
  std::vector<std::string> stringKeys;
};

Result<DataValue> readData(std::shared_ptr<const MappedFile> file, DataKind kind);
Result<DataValue> openData(const std::string& path, DataKind kind);

// The bytes of a TensorProto, with raw_data or string_data; the same input gives the same bytes.
Result<std::string> writeTensorProto(const DecodedTensor& tensor);
// Tensors, sequences and optionals in each other; maps are unsupported.
Result<std::string> writeData(const DataValue& value);

}  // namespace dyn::onnx
