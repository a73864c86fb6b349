// CRC-32 of a file, as hexadecimal digits. It is read when it is first asked for: a run that is never
// compared does not read all of its model.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

namespace dyn {

class FileDigest {
 public:
  explicit FileDigest(std::string path);
  // "" where the file cannot be read, or is another one than when this was made.
  const std::string& text();

 private:
  std::string path_;
  struct stat there_ {};
  std::optional<std::string> text_;
};

}  // namespace dyn
