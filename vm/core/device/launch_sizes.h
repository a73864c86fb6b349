// Sizes that a launch decides, as the program's list of kernels writes them: "u/#1*64" is the units divided
// by the kernel's scalar 1, times 64, from left to right.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "vm/include/abi/dyn_device.h"

namespace dyn::vm {

// Takes one such size from the front of the text. 0 for what the launch does not have, and of a text of
// another form.
int64_t takeSize(std::string_view& text, const DynLaunch& launch);
// The parts between separators; of an empty text one empty part.
std::vector<std::string_view> partsOf(std::string_view text, char separator);

}  // namespace dyn::vm
