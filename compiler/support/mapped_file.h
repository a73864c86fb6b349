// The bytes of a regular file, mapped read-only: models and weights are used where they lie, without a copy.
//
//   DYN_TRY(MappedFile file, MappedFile::open("model.onnx"));
//   std::string_view bytes = file.bytes();
//
// The view lives as long as the object (moving keeps the addresses). Another process that truncates the file
// while it is mapped makes reads of the lost pages fault: the files must not be changed in place while they
// are in use (replacing them by rename, as atomic_write.h does, is fine).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/support/file_handle.h"
#include "compiler/support/result.h"

namespace dyn {

enum class SymlinkPolicy { follow, refuse };

class MappedFile {
 public:
  // Refuses folders, pipes and devices (without blocking on them). Its name is shownPath(path).
  static Result<MappedFile> open(const std::string& path, SymlinkPolicy policy = SymlinkPolicy::follow);
  // Maps an already open regular file; `name` is used in diagnostics. The descriptor is closed.
  static Result<MappedFile> fromHandle(FileHandle handle, std::string name);
  // Owns bytes that lie in memory: tests, prompts, generated models.
  static MappedFile fromBytes(std::string bytes, std::string name);
  // Reads a stream (standard input: descriptor 0) to its end, at most limitBytes. The descriptor stays open.
  static Result<MappedFile> fromStream(int descriptor, std::string name, uint64_t limitBytes);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::string_view bytes() const { return {data_, size_}; }
  uint64_t size() const { return size_; }
  const std::string& name() const { return name_; }
  // The caller has copied this part of bytes(): its pages need not stay in memory (they are read again when
  // someone looks after all).
  void forget(std::string_view part) const;

 private:
  MappedFile() = default;
  void release();

  std::string name_;
  const char* data_ = "";
  size_t size_ = 0;
  void* mapping_ = nullptr;  // of mmap, or
  char* memory_ = nullptr;   // of new[], or neither for no bytes
};

}  // namespace dyn
