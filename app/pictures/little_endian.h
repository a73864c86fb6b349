// Numbers in files whose lowest byte comes first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dyn {

// `count` <= 8 bytes from `at` on; all of them lie in `bytes`.
inline uint64_t littleEndian(std::string_view bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = count; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

}  // namespace dyn
