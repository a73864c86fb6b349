// Strings of tensors as NumPy keeps them: texts of equal width, filled up with zeros.
#pragma once

#include "compiler/ir/tensor.h"
#include "compiler/support/npy.h"

namespace dyn {

// Of NpyKind::text. `file` is for errors: unsupportedDtype where a string is no UTF-8, or ends with a zero
// byte, which would be lost; memoryLimit where equal widths would take more than kMostTextBytes.
inline constexpr int64_t kMostTextBytes = int64_t{1} << 31;
Result<NpyArray> arrayOfStrings(const HostTensor& strings, const std::string& file);

// UTF-8, of NpyKind::text and bytes. Error fileFormat: what stands there is no letter.
Result<HostTensor> stringsOf(const NpyArray& array, const std::string& file);

}  // namespace dyn
