// ValueNames: the names of values, and the value of a name.
//
// A program of a million nodes has a million names: each takes its characters and some twenty bytes. Values
// are numbered densely from 0; "" is no name. Characters of names that were taken away stay until the table
// goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace dyn {

class ValueNames {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  uint32_t add();  // another value, without a name
  uint32_t count() const { return static_cast<uint32_t>(names_.size()); }

  bool has(uint32_t value) const { return value < names_.size() && names_[value] != nullptr; }
  std::string_view of(uint32_t value) const;         // "": none. Lasts as long as the table
  uint32_t find(std::string_view name) const;        // kNone: no value's
  void give(uint32_t value, std::string_view name);  // neither has the other yet; not ""
  void take(uint32_t value);                         // its name, when it has one

 private:
  static constexpr uint32_t kErased = UINT32_MAX - 1;

  size_t placeOf(std::string_view name) const;  // where it stands, or the free place behind those like it
  void grow();
  const char* store(std::string_view name);

  std::vector<const char*> names_;  // of each value: the length in four bytes, then the characters
  std::vector<uint32_t> table_;     // values by the hash of their names; kNone: free
  size_t used_ = 0;                 // places of the table that are not free
  std::vector<std::unique_ptr<char[]>> chunks_;
  char* room_ = nullptr;
  size_t roomBytes_ = 0;
};

}  // namespace dyn
