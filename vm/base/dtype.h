// Element types, from the one table vm/include/abi/dyn_dtype.def.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "vm/include/dynvm.h"

namespace dyn::vm {

enum class DataType : uint8_t {
#define DYN_DTYPE(name, text, bits, kind, onnx) name,
#include "vm/include/abi/dyn_dtype.def"
#undef DYN_DTYPE
};

enum class DataClass : uint8_t { boolean, integer, natural, real, complex, text };

struct DataTypeRow {
  std::string_view text;  // "f32"
  uint32_t sizeBytes;     // of one element in memory
  DataClass dataClass;
};

inline constexpr DataTypeRow kDataTypes[] = {
#define DYN_DTYPE(name, text, bits, kind, onnx) {text, (bits) / 8, DataClass::kind},
#include "vm/include/abi/dyn_dtype.def"
#undef DYN_DTYPE
};
inline constexpr uint32_t kDataTypeCount = sizeof(kDataTypes) / sizeof(kDataTypes[0]);
static_assert(kDataTypeCount == DYN_DTYPE_COUNT, "each has its constant in dynvm.h");

inline constexpr const DataTypeRow& row(DataType type) { return kDataTypes[static_cast<uint32_t>(type)]; }
inline constexpr uint32_t sizeBytes(DataType type) { return row(type).sizeBytes; }
inline constexpr std::string_view text(DataType type) { return row(type).text; }

// Index of the type named "f32", or -1.
inline int32_t findDataType(std::string_view name) {
  for (uint32_t i = 0; i < kDataTypeCount; ++i)
    if (kDataTypes[i].text == name) return static_cast<int32_t>(i);
  return -1;
}

}  // namespace dyn::vm
