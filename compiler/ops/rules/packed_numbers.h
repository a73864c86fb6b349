// Texts and tables among the numbers of a builtin, as vm/kernels/packed_numbers.h reads them: a count, then
// the bytes, four in a number.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/ir/tensor.h"

namespace dyn {

void packText(std::vector<int32_t>* numbers, std::string_view text);
// The element type, the number of elements, then each string as a text, or all elements as one text of bytes.
std::vector<int32_t> packedTensor(const HostTensor& tensor);

}  // namespace dyn
