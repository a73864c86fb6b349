// Pieces of the text form of tensors, shared by toString(HostTensor) and the module printer.
#pragma once

#include <string>
#include <string_view>

#include "compiler/ir/tensor.h"

namespace dyn {

// "f32[2, 3]"
std::string tensorHead(const HostTensor& tensor);
// One element so that it reads back to the same bits: 1.5, nan, 0x7fc1 (a NaN with a payload), true, (1, -2)
// for complex, "text".
void appendElement(std::string* text, const HostTensor& tensor, int64_t flat);
// "[[1, 2, 3], [4, 5, 6]]", a bare element for rank 0, "[]" when empty; beyond maxElements only edge items
// and `…`.
void appendElements(std::string* text, const HostTensor& tensor, int64_t maxElements);
// "text" with \" \\ \n \t \xNN escapes.
void appendQuoted(std::string* text, std::string_view value);

}  // namespace dyn
