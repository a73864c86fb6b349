#include "app/engine/model/file_digest.h"

#include <cstdio>

#include "compiler/ir/checksum.h"
#include "compiler/support/mapped_file.h"

namespace dyn {

FileDigest::FileDigest(std::string path) : path_(std::move(path)) {
  if (::stat(path_.c_str(), &there_) != 0) text_ = "";
}

const std::string& FileDigest::text() {
  if (text_) return *text_;
  text_ = "";
  struct stat now {};
  const bool isSame = ::stat(path_.c_str(), &now) == 0 && now.st_dev == there_.st_dev &&
                      now.st_ino == there_.st_ino && now.st_size == there_.st_size &&
                      now.st_mtim.tv_sec == there_.st_mtim.tv_sec &&
                      now.st_mtim.tv_nsec == there_.st_mtim.tv_nsec;
  if (!isSame) return *text_;
  const Result<MappedFile> file = MappedFile::open(path_);
  if (!file.ok()) return *text_;
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08x", crc32(file->bytes().data(), file->bytes().size()));
  text_ = digits;
  return *text_;
}

}  // namespace dyn
