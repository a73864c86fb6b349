// Texts and tables among the numbers of a builtin: a count, then the bytes, four in a number. The compiler
// packs them (compiler/ops/rules/packed_numbers.h); a program may hold anything, so that every read is
// checked.
#pragma once

#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "vm/base/dtype.h"

namespace dyn::vm::kernels {

class PackedNumbers {
 public:
  explicit PackedNumbers(std::span<const int32_t> numbers) : numbers_(numbers) {}

  // False after a read beyond the end, or of something malformed; what was read since is empty.
  bool ok() const { return ok_; }

  int32_t number() {
    if (!ok_ || at_ >= numbers_.size()) {
      ok_ = false;
      return 0;
    }
    return numbers_[at_++];
  }

  // Borrowed from the program.
  std::string_view text() {
    const int32_t bytes = number();
    const size_t words = bytes < 0 ? SIZE_MAX : (static_cast<size_t>(bytes) + 3) / 4;
    if (!ok_ || words > numbers_.size() - at_) {
      ok_ = false;
      return {};
    }
    const auto* begin = reinterpret_cast<const char*>(numbers_.data() + at_);
    at_ += words;
    return {begin, static_cast<size_t>(bytes)};
  }

  struct Table {
    DataType dtype = DataType::i64;
    size_t count = 0;
    std::vector<std::string_view> texts;  // strings
    std::string_view bytes;               // of all other types
    template <typename T>
    T at(size_t i) const {
      T value;
      memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
      return value;
    }
  };

  Table table() {
    Table table;
    const int32_t dtype = number(), count = number();
    if (!ok_ || dtype < 0 || static_cast<uint32_t>(dtype) >= kDataTypeCount || count < 0) {
      ok_ = false;
      return table;
    }
    table.dtype = static_cast<DataType>(dtype);
    if (table.dtype == DataType::string) {
      for (int32_t i = 0; i < count && ok_; ++i) table.texts.push_back(text());
    } else {
      table.bytes = text();
      ok_ = ok_ && table.bytes.size() == static_cast<size_t>(count) * sizeBytes(table.dtype);
    }
    table.count = ok_ ? static_cast<size_t>(count) : 0;
    return table;
  }

 private:
  std::span<const int32_t> numbers_;
  size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace dyn::vm::kernels
