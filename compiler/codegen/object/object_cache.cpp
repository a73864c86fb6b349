#include "compiler/codegen/object/object_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <system_error>

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"

namespace dyn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic =
    "dynobj 1";  // format of the files; a change of it makes old files damaged
constexpr std::string_view kSuffix = ".dynobj";
constexpr std::string_view kTemporarySuffix = ".dyntmp";
constexpr auto kStaleTemporary = std::chrono::hours(1);
constexpr size_t kDigestBytes = 32;

std::string digest(std::string_view bytes) {
  llvm::BLAKE3 hash;
  hash.update(llvm::StringRef(bytes.data(), bytes.size()));
  auto result = hash.final<kDigestBytes>();
  return std::string(reinterpret_cast<const char*>(result.data()), result.size());
}

void appendLength(std::string& out, uint64_t length) {
  for (int i = 0; i < 8; ++i) out += static_cast<char>(length >> (8 * i));
}

// magic, key, length of the object (8 bytes), checksum of key and object, object
std::string fileHeader(const ObjectKey& key, const std::string& object) {
  std::string header(kMagic);
  header += key.hex;
  appendLength(header, object.size());
  header += digest(key.hex + object);
  return header;
}

// Owns a file descriptor.
class File {
 public:
  File(const std::string& path, int flags, mode_t mode = 0)
      : handle_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {}
  ~File() { close(); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  bool open() const { return handle_ >= 0; }
  int handle() const { return handle_; }
  bool close() {
    int handle = std::exchange(handle_, -1);
    return handle < 0 || ::close(handle) == 0;
  }
  bool write(std::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t n = ::write(handle_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }
  bool read(std::string& bytes) {
    struct stat info;
    if (::fstat(handle_, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size < 0) return false;
    bytes.resize(static_cast<size_t>(info.st_size));
    size_t done = 0;
    while (done < bytes.size()) {
      ssize_t n = ::read(handle_, bytes.data() + done, bytes.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      done += static_cast<size_t>(n);
    }
    return true;
  }

 private:
  int handle_;
};

}  // namespace

struct ObjectCache::State {
  ObjectCacheSettings settings;
  bool on = false;
  std::string refusal;
  std::atomic<int64_t> hits{0}, misses{0}, damaged{0}, stored{0}, storeFailures{0}, evicted{0};
  std::atomic<uint64_t> temporaryCount{0};
  std::mutex sizeLock;
  int64_t knownBytes =
      -1;  // of all files; -1 = not counted yet. Other processes' files are seen at the next count.

  void open();
  std::string path(const ObjectKey& key) const {
    return settings.directory + "/" + key.hex + std::string(kSuffix);
  }
  bool write(const ObjectKey& key, const ObjectCode& object);
  void keepWithinSize(int64_t addedBytes);
};

ObjectKey makeObjectKey(const std::vector<std::string_view>& parts) {
  std::string all;
  for (std::string_view part : parts) {
    appendLength(all, part.size());
    all += part;
  }
  return {llvm::toHex(digest(all), /*LowerCase=*/true)};
}

void ObjectCache::State::open() {
  if (settings.directory.empty() || settings.directory == "none") return;
  auto refuse = [&](const std::string& why) { refusal = "object cache " + settings.directory + ": " + why; };
  if (::mkdir(settings.directory.c_str(), 0700) != 0 && errno != EEXIST) return refuse(std::strerror(errno));
  struct stat info;
  if (::stat(settings.directory.c_str(), &info) != 0) return refuse(std::strerror(errno));
  if (!S_ISDIR(info.st_mode)) return refuse("not a directory");
  if (info.st_uid != ::geteuid() && info.st_uid != 0) return refuse("belongs to another user");
  if (info.st_mode & S_IWOTH) return refuse("everybody may write to it");
  on = true;
}

bool ObjectCache::State::write(const ObjectKey& key, const ObjectCode& object) {
  std::string temporary = settings.directory + "/" + key.hex + "." + std::to_string(::getpid()) + "." +
                          std::to_string(temporaryCount.fetch_add(1)) + std::string(kTemporarySuffix);
  File file(temporary, O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (!file.open()) return false;
  bool good = file.write(fileHeader(key, object.bytes)) && file.write(object.bytes);
  good = file.close() && good;
  good = good && ::rename(temporary.c_str(), path(key).c_str()) == 0;
  if (!good) ::unlink(temporary.c_str());
  return good;
}

// Removes the files used longest ago until three quarters of the limit are left, so that this is not done at
// each store.
void ObjectCache::State::keepWithinSize(int64_t addedBytes) {
  std::lock_guard<std::mutex> hold(sizeLock);
  if (knownBytes >= 0) knownBytes += addedBytes;
  if (knownBytes >= 0 && knownBytes <= settings.maxBytes) return;
  struct Entry {
    fs::file_time_type used;
    std::string path;
    int64_t bytes;
  };
  std::vector<Entry> entries;
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  knownBytes = 0;
  for (fs::directory_iterator it(settings.directory, error), end; !error && it != end; it.increment(error)) {
    std::string path = it->path().string();
    std::error_code ignored;
    auto used = fs::last_write_time(path, ignored);
    if (path.ends_with(kTemporarySuffix) && now - used > kStaleTemporary) ::unlink(path.c_str());
    if (!path.ends_with(kSuffix)) continue;
    auto bytes = static_cast<int64_t>(fs::file_size(path, ignored));
    if (ignored) continue;  // removed by another process meanwhile
    knownBytes += bytes;
    entries.push_back({used, std::move(path), bytes});
  }
  if (knownBytes <= settings.maxBytes) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.used != b.used ? a.used < b.used : a.path < b.path;
  });
  for (const Entry& entry : entries) {
    if (knownBytes <= settings.maxBytes / 4 * 3) break;
    if (::unlink(entry.path.c_str()) != 0) continue;
    knownBytes -= entry.bytes;
    evicted++;
  }
}

ObjectCache::ObjectCache(ObjectCacheSettings settings) : state_(std::make_unique<State>()) {
  state_->settings = std::move(settings);
  state_->open();
}
ObjectCache::ObjectCache(ObjectCache&&) noexcept = default;
ObjectCache& ObjectCache::operator=(ObjectCache&&) noexcept = default;
ObjectCache::~ObjectCache() = default;

std::optional<ObjectCode> ObjectCache::find(const ObjectKey& key) {
  if (!state_->on) return std::nullopt;
  const std::string path = state_->path(key);
  // Not following links or waiting on a pipe somebody put there.
  File file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file.open()) {
    state_->misses++;
    return std::nullopt;
  }
  std::string bytes;
  const size_t headerBytes = kMagic.size() + key.hex.size() + 8 + kDigestBytes;
  bool good = file.read(bytes) && bytes.size() >= headerBytes;
  ObjectCode object;
  if (good) {
    object.bytes = bytes.substr(headerBytes);
    good = std::string_view(bytes).substr(0, headerBytes) == fileHeader(key, object.bytes);
  }
  if (!good) {
    state_->misses++;
    state_->damaged++;
    ::unlink(path.c_str());
    return std::nullopt;
  }
  ::futimens(file.handle(), nullptr);  // "used now"; a read-only directory keeps its old order
  state_->hits++;
  return object;
}

void ObjectCache::store(const ObjectKey& key, const ObjectCode& object) {
  if (!state_->on) return;
  if (static_cast<int64_t>(object.bytes.size()) > state_->settings.maxBytes || !state_->write(key, object)) {
    state_->storeFailures++;
    return;
  }
  state_->stored++;
  state_->keepWithinSize(static_cast<int64_t>(object.bytes.size()));
}

ObjectCacheStatistics ObjectCache::statistics() const {
  const State& s = *state_;
  return {s.hits, s.misses, s.damaged, s.stored, s.storeFailures, s.evicted};
}

bool ObjectCache::isOn() const { return state_->on; }

const std::string& ObjectCache::refusal() const { return state_->refusal; }

}  // namespace dyn
