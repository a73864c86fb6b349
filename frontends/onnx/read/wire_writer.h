// Builds a protobuf message field by field, in the order of the calls.
#pragma once

#include <cstdint>
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
