#include "compiler/codegen/object/weight_cache.h"

#include <sys/statvfs.h>

#include "compiler/codegen/object/object_cache.h"

// Set by the build: a digest of the sources of the runtime's kernels, so that weights packed by others are
// not read.
#ifndef DYN_KERNELS_FINGERPRINT
#error "the build must define DYN_KERNELS_FINGERPRINT"
#endif

namespace dyn {
namespace {

constexpr std::string_view kMagic = "dynweights 1\n";
constexpr size_t kPageBytes = 4096;

// magic, key, length of the weights; filled up to a page
std::string firstPage(const std::string& key, size_t size) {
  std::string page(kMagic);
  page += key + "\n" + std::to_string(size) + "\n";
  page.resize(kPageBytes);
  return page;
}

// Weights are copies of what is there anyway: they leave three quarters of the free room to others.
bool hasRoom(const std::string& directory, size_t bytes) {
  struct statvfs info;
  if (::statvfs(directory.c_str(), &info) != 0) return false;
  return bytes / 4096 < static_cast<uint64_t>(info.f_bavail) * info.f_frsize / 4096 / 4;
}

}  // namespace

WeightCache::WeightCache(const WeightCacheSettings& settings)
    : folder_(settings.directory, ".dynweights", settings.maxBytes) {}

std::string WeightCache::keyOf(const std::vector<std::string>& parts, const std::string& source) {
  std::vector<std::string_view> all = {"weights", DYN_KERNELS_FINGERPRINT, source};
  all.insert(all.end(), parts.begin(), parts.end());
  return makeObjectKey(all).hex;
}

std::optional<MappedFile> WeightCache::find(const std::string& key) {
  if (!folder_.on()) return std::nullopt;
  Result<MappedFile> file = MappedFile::open(folder_.path(key), SymlinkPolicy::refuse);
  if (!file.ok()) return std::nullopt;
  if (file->size() < kPageBytes ||
      file->bytes().substr(0, kPageBytes) != firstPage(key, file->size() - kPageBytes)) {
    folder_.remove(key);
    return std::nullopt;
  }
  folder_.touch(key);
  return std::move(file).value();
}

std::optional<MappedFile> WeightCache::store(const std::string& key, std::string_view bytes) {
  if (!folder_.on() || !hasRoom(folder_.directory(), bytes.size())) return std::nullopt;
  if (!folder_.write(key, {firstPage(key, bytes.size()), bytes})) return std::nullopt;
  return find(key);
}

std::string_view WeightCache::bytesOf(const MappedFile& file) { return file.bytes().substr(kPageBytes); }

}  // namespace dyn
