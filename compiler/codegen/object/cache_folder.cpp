#include "compiler/codegen/object/cache_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "compiler/support/trusted_folder.h"
#include "llvm/Support/BLAKE3.h"

namespace dyn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporarySuffix = ".dyntmp";
constexpr auto kStaleTemporary = std::chrono::hours(1);
constexpr size_t kDigestBytes = 32;

bool writeAll(int handle, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(handle, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

}  // namespace

std::string digestOf(std::string_view bytes) {
  llvm::BLAKE3 hash;
  hash.update(llvm::StringRef(bytes.data(), bytes.size()));
  auto result = hash.final<kDigestBytes>();
  return std::string(reinterpret_cast<const char*>(result.data()), result.size());
}

CacheFolder::CacheFolder(std::string directory, std::string_view suffix, int64_t maxBytes)
    : directory_(std::move(directory)), suffix_(suffix), maxBytes_(maxBytes) {
  open();
}

void CacheFolder::open() {
  if (directory_.empty() || directory_ == "none") return;
  auto refuse = [&](const std::string& why) { refusal_ = "object cache " + directory_ + ": " + why; };
  if (::mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST) return refuse(std::strerror(errno));
  if (const std::string why = whyNotTrusted(directory_); !why.empty()) return refuse(why);
  on_ = true;
}

bool CacheFolder::write(const std::string& key, const std::vector<std::string_view>& pieces,
                        WhereThere whereThere) {
  int64_t bytes = 0;
  for (std::string_view piece : pieces) bytes += static_cast<int64_t>(piece.size());
  if (!on_ || bytes > maxBytes_) return false;
  // Of the process: several caches in it may have this folder.
  static std::atomic<uint64_t> temporaryCount{0};
  const std::string temporary = directory_ + "/" + key + "." + std::to_string(::getpid()) + "." +
                                std::to_string(temporaryCount.fetch_add(1)) + std::string(kTemporarySuffix);
  const int handle = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (handle < 0) return false;
  bool good = true;
  for (std::string_view piece : pieces) good = good && writeAll(handle, piece);
  good = ::close(handle) == 0 && good;
  if (good && whereThere == WhereThere::keep) {
    // A link never takes the place of a file. File systems without links replace it.
    const bool isLinked = ::link(temporary.c_str(), path(key).c_str()) == 0;
    if (isLinked || errno == EEXIST) {
      ::unlink(temporary.c_str());
      if (isLinked) keepWithinSize(bytes);
      return true;
    }
  }
  good = good && ::rename(temporary.c_str(), path(key).c_str()) == 0;
  if (!good) ::unlink(temporary.c_str());
  if (good) keepWithinSize(bytes);
  return good;
}

void CacheFolder::touch(const std::string& key) const {
  ::utimensat(AT_FDCWD, path(key).c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

void CacheFolder::remove(const std::string& key) const { ::unlink(path(key).c_str()); }

// Removes the files used longest ago until three quarters of the limit are left, so that this is not done at
// each store.
void CacheFolder::keepWithinSize(int64_t addedBytes) {
  std::lock_guard<std::mutex> hold(sizeLock_);
  if (knownBytes_ >= 0) knownBytes_ += addedBytes;
  if (knownBytes_ >= 0 && knownBytes_ <= maxBytes_) return;
  struct Entry {
    fs::file_time_type used;
    std::string path;
    int64_t bytes;
  };
  std::vector<Entry> entries;
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  knownBytes_ = 0;
  for (fs::directory_iterator it(directory_, error), end; !error && it != end; it.increment(error)) {
    std::string path = it->path().string();
    std::error_code ignored;
    auto used = fs::last_write_time(path, ignored);
    if (path.ends_with(kTemporarySuffix) && now - used > kStaleTemporary) ::unlink(path.c_str());
    if (!path.ends_with(suffix_)) continue;
    auto bytes = static_cast<int64_t>(fs::file_size(path, ignored));
    if (ignored) continue;  // removed by another process meanwhile
    knownBytes_ += bytes;
    entries.push_back({used, std::move(path), bytes});
  }
  if (knownBytes_ <= maxBytes_) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.used != b.used ? a.used < b.used : a.path < b.path;
  });
  for (const Entry& entry : entries) {
    if (knownBytes_ <= maxBytes_ / 4 * 3) break;
    if (::unlink(entry.path.c_str()) != 0) continue;
    knownBytes_ -= entry.bytes;
    evicted_++;
  }
}

}  // namespace dyn
