#include "compiler/support/read_files.h"

#include <sys/stat.h>

namespace dyn {

namespace {

// The innermost of this thread: who opens a file deep in a reader knows nothing of the command it works for.
thread_local ReadFilesScope* innermost = nullptr;

bool statRegular(const std::string& path, struct stat& info) {
  return !path.empty() && path.find('\0') == std::string::npos && ::stat(path.c_str(), &info) == 0 &&
         S_ISREG(info.st_mode);
}

}  // namespace

void ReadFiles::note(const std::string& path) {
  struct stat info {};
  if (statRegular(path, info)) note(info.st_dev, info.st_ino, path);
}

Status ReadFiles::mayWrite(const std::string& path) const {
  struct stat info {};
  if (files_.empty() || !statRegular(path, info)) return {};
  const auto found = files_.find({info.st_dev, info.st_ino});
  if (found == files_.end()) return {};
  const std::string& name = found->second;
  return makeError(DiagnosticId::usageError,
                   path == name ? path + " is an input of this command: it is not overwritten"
                                : path + " is the same file as " + name +
                                      ", an input of this command: it is not overwritten",
                   SourceLocation{.file = path})
      .note("name another file to be written");
}

ReadFilesScope::ReadFilesScope(ReadFiles& files, Nesting nesting)
    : files_(files), outer_(nesting == Nesting::within ? innermost : nullptr), before_(innermost) {
  innermost = this;
}
ReadFilesScope::~ReadFilesScope() { innermost = before_; }

void noteRead(const std::string& path) {
  for (const ReadFilesScope* scope = innermost; scope; scope = scope->outer()) scope->files().note(path);
}

void noteRead(uint64_t device, uint64_t inode, const std::string& name) {
  for (const ReadFilesScope* scope = innermost; scope; scope = scope->outer())
    scope->files().note(device, inode, name);
}

Status mayWrite(const std::string& path) {
  for (const ReadFilesScope* scope = innermost; scope; scope = scope->outer())
    DYN_CHECK(scope->files().mayWrite(path));
  return {};
}

}  // namespace dyn
