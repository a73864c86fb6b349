// Numbers as ByteReader of vm/certificate reads them: 7 bits a byte, the lowest first.
#pragma once

#include <cstdint>
#include <string>

namespace dyn {

class ByteWriter {
 public:
  void number(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
    bytes.push_back(static_cast<char>(value));
  }
  void signedNumber(int64_t value) {
    number(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
  }
  void fixed(uint64_t value) {
    for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
  }
  std::string bytes;
};

}  // namespace dyn
