// Bytes as a file that lies in no folder: what opens files by their path reads them, and nothing is left of
// them when the process ends, however it ends.
//
//   DYN_TRY(MemoryFile file, MemoryFile::make("model.onnx", bytes));
//   MappedFile::open(file.path())->name()             // "model.onnx"
//
// The path is valid in this process and in those that it forks, as long as the object lives. The file is
// sealed: nobody writes to it or makes it shorter. Its bytes are a copy, in memory. Needs /proc.
#pragma once

#include <string>
#include <string_view>

#include "compiler/support/file_handle.h"
#include "compiler/support/result.h"

namespace dyn {

class MemoryFile {
 public:
  // `name` has at most 249 bytes. Error fileError.
  static Result<MemoryFile> make(const std::string& name, std::string_view bytes);
  std::string path() const;

 private:
  explicit MemoryFile(FileHandle handle) : handle_(std::move(handle)) {}
  FileHandle handle_;
};

// What messages call a file: its path, or the name that a MemoryFile was made with.
std::string shownPath(const std::string& path);

}  // namespace dyn
