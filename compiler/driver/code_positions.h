// Where the instructions of a function of the program begin, in the order of its listing.
#pragma once

#include <cstdint>
#include <vector>

namespace dyn {

std::vector<uint32_t> codePositions(const std::vector<int32_t>& code);

}  // namespace dyn
