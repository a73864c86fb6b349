// Which files a command reads: none of what it writes may be one of them. MappedFile notes what it opens, and
// writeFileAtomically refuses to replace what was noted (usageError), also under another name, by a symbolic
// or a hard link. So no new command can destroy its input.
//
//   ReadFiles read;
//   ReadFilesScope scope(read);                        // of this thread, while it lives
//   DYN_TRY(MappedFile model, MappedFile::open("m.onnx"));
//   writeFileAtomically("link-to-m.onnx", bytes);      // refused
//
// Scopes nest: an inner one notes in its own list and in those around it, and what any of them holds is
// refused; a command within a command (of a script) has a scope of its own. A scope belongs to its thread;
// without one nothing is noted and nothing refused (caches, programs of the build).
#pragma once

#include <map>
#include <string>
#include <utility>

#include "compiler/support/result.h"

namespace dyn {

class ReadFiles {
 public:
  // A file that is there and regular; nothing else can be written over.
  void note(const std::string& path);
  void note(uint64_t device, uint64_t inode, const std::string& name) { files_[{device, inode}] = name; }
  void add(const ReadFiles& more) { files_.insert(more.files_.begin(), more.files_.end()); }
  // Error usageError where `path` is one of them.
  Status mayWrite(const std::string& path) const;

 private:
  std::map<std::pair<uint64_t, uint64_t>, std::string> files_;  // device and inode → the name it was read by
};

class ReadFilesScope {
 public:
  enum class Nesting : bool { within, alone };
  explicit ReadFilesScope(ReadFiles& files, Nesting nesting = Nesting::within);
  ~ReadFilesScope();
  ReadFilesScope(const ReadFilesScope&) = delete;
  ReadFilesScope& operator=(const ReadFilesScope&) = delete;

  ReadFiles& files() const { return files_; }
  ReadFilesScope* outer() const { return outer_; }

 private:
  ReadFiles& files_;
  ReadFilesScope* outer_;  // null: none, or alone
  ReadFilesScope* before_;
};

// In all scopes of this thread.
void noteRead(const std::string& path);
void noteRead(uint64_t device, uint64_t inode, const std::string& name);
// Error usageError where a file that was noted in one of them would be written over.
Status mayWrite(const std::string& path);

}  // namespace dyn
