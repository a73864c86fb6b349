// Builds a protobuf message field by field, in the order of the calls.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace dyn::onnx {

class WireWriter {
 public:
  void varint(uint32_t field, uint64_t value) {
    raw(uint64_t{field} << 3);
    raw(value);
  }
  void bytes(uint32_t field, std::string_view content) {
    raw(uint64_t{field} << 3 | 2);
    raw(content.size());
    out_ += content;
  }
  void real(uint32_t field, float value) {
    raw(uint64_t{field} << 3 | 5);
    char bits[4];
    std::memcpy(bits, &value, 4);
    out_.append(bits, 4);
  }
  // The tag and the length of a field whose `size` bytes follow elsewhere.
  void head(uint32_t field, uint64_t size) {
    raw(uint64_t{field} << 3 | 2);
    raw(size);
  }
  const std::string& str() const { return out_; }
  std::string take() { return std::move(out_); }

 private:
  void raw(uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }
  std::string out_;
};

}  // namespace dyn::onnx
