// Loads a shared object that lies in memory: object code of packages, that needs nothing but a few functions
// of the C library. Not by the system's dynamic linker: that believes what it is given, and a statically
// linked program has none. Here every place is checked before it is read, so what is damaged ends in an
// error.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "vm/base/status.h"

namespace dyn::vm {

class LoadedObject {
 public:
  // Of functions that are not known here, by name; null: absent.
  using Resolver = void* (*)(const char* name);
  // The bytes are copied. Errors: badProgram for what is no such object or is damaged, unsupported where it
  // wants a function that is not here, or is to be initialised.
  static Status load(const void* bytes, uint64_t sizeBytes, std::unique_ptr<LoadedObject>& object,
                     Resolver otherwise = nullptr);
  ~LoadedObject();
  LoadedObject(const LoadedObject&) = delete;
  LoadedObject& operator=(const LoadedObject&) = delete;

  void* find(const std::string& symbol) const;      // null: absent
  void* findCode(const std::string& symbol) const;  // null, too, where it is no code
  // What the object's own tables point at: rows that may be read there; code that may be called.
  template <typename Row>
  bool holds(const Row* rows, uint64_t count = 1) const {
    return reinterpret_cast<uintptr_t>(rows) % alignof(Row) == 0 && isReadable(rows, count * sizeof(Row));
  }
  bool isCode(const void* at) const;

 private:
  bool isReadable(const void* at, uint64_t bytes) const;
  struct Range {
    uint64_t begin, end;
  };
  LoadedObject() = default;
  char* base_ = nullptr;
  uint64_t sizeBytes_ = 0;
  std::vector<Range> readable_, code_;
  std::unordered_map<std::string, void*> symbols_;
};

}  // namespace dyn::vm
