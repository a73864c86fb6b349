#include "compiler/codegen/object/object_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "compiler/codegen/object/cache_folder.h"
#include "compiler/support/file_handle.h"
#include "llvm/ADT/StringExtras.h"

namespace dyn {
namespace {

constexpr std::string_view kObjectMagic =
    "dynobj 1";  // format of the files; a change of it makes old files damaged
constexpr std::string_view kObjectSuffix = ".dynobj";
constexpr size_t kObjectDigestBytes = 32;

void appendLength(std::string& out, uint64_t length) {
  for (int i = 0; i < 8; ++i) out += static_cast<char>(length >> (8 * i));
}

// magic, key, length of the object (8 bytes), checksum of key and object, object
std::string fileHeader(const ObjectKey& key, const std::string& object) {
  std::string header(kObjectMagic);
  header += key.hex;
  appendLength(header, object.size());
  header += digestOf(key.hex + object);
  return header;
}

// All of a file that is no link and no pipe somebody put there.
bool readFile(const std::string& path, std::string& bytes, bool& found) {
  const FileHandle handle(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  found = handle.valid();
  struct stat info;
  if (!found || ::fstat(handle.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_size < 0) return false;
  bytes.resize(static_cast<size_t>(info.st_size));
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::read(handle.get(), bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

// False: it is not what was stored under this key.
bool takeObject(const ObjectKey& key, const std::string& bytes, ObjectCode& object) {
  const size_t headerBytes = kObjectMagic.size() + key.hex.size() + 8 + kObjectDigestBytes;
  if (bytes.size() < headerBytes) return false;
  object.bytes = bytes.substr(headerBytes);
  return std::string_view(bytes).substr(0, headerBytes) == fileHeader(key, object.bytes);
}

}  // namespace

struct ObjectCache::State {
  explicit State(const ObjectCacheSettings& settings)
      : folder(settings.directory, kObjectSuffix, settings.maxBytes) {}

  CacheFolder folder;
  std::atomic<int64_t> hits{0}, misses{0}, damaged{0}, stored{0}, storeFailures{0};
};

ObjectKey makeObjectKey(const std::vector<std::string_view>& parts) {
  std::string all;
  for (std::string_view part : parts) {
    appendLength(all, part.size());
    all += part;
  }
  return {llvm::toHex(digestOf(all), /*LowerCase=*/true)};
}

ObjectCache::ObjectCache(ObjectCacheSettings settings) : state_(std::make_unique<State>(settings)) {}
ObjectCache::ObjectCache(ObjectCache&&) noexcept = default;
ObjectCache& ObjectCache::operator=(ObjectCache&&) noexcept = default;
ObjectCache::~ObjectCache() = default;

std::optional<ObjectCode> ObjectCache::find(const ObjectKey& key) {
  if (!state_->folder.on()) return std::nullopt;
  std::string bytes;
  bool found = false;
  const bool good = readFile(state_->folder.path(key.hex), bytes, found);
  if (!found) {
    state_->misses++;
    return std::nullopt;
  }
  ObjectCode object;
  if (!good || !takeObject(key, bytes, object)) {
    state_->misses++;
    state_->damaged++;
    state_->folder.remove(key.hex);
    return std::nullopt;
  }
  state_->folder.touch(key.hex);
  state_->hits++;
  return object;
}

void ObjectCache::store(const ObjectKey& key, const ObjectCode& object) {
  if (!state_->folder.on()) return;
  const bool stored = state_->folder.write(key.hex, {fileHeader(key, object.bytes), object.bytes});
  ++(stored ? state_->stored : state_->storeFailures);
}

bool ObjectCache::isWhole(const std::string& path) {
  std::string bytes, name = path.substr(path.rfind('/') + 1);
  bool found = false;
  ObjectCode object;
  return name.size() > kObjectSuffix.size() && readFile(path, bytes, found) &&
         takeObject({name.substr(0, name.size() - kObjectSuffix.size())}, bytes, object);
}

ObjectCacheStatistics ObjectCache::statistics() const {
  const State& s = *state_;
  return {s.hits, s.misses, s.damaged, s.stored, s.storeFailures, s.folder.evicted()};
}

bool ObjectCache::isOn() const { return state_->folder.on(); }

const std::string& ObjectCache::refusal() const { return state_->folder.refusal(); }

}  // namespace dyn
