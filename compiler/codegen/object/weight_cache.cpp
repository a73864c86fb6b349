#include "compiler/codegen/object/weight_cache.h"

#include <sys/statvfs.h>

#include <charconv>

#include "compiler/codegen/object/object_cache.h"

// Set by the build: a digest of the sources of the runtime's kernels, so that weights packed by others are
// not read.
#ifndef DYN_KERNELS_FINGERPRINT
#error "the build must define DYN_KERNELS_FINGERPRINT"
#endif

namespace dyn {
namespace {

constexpr std::string_view kWeightMagic = "dynweights 2\n";
constexpr size_t kPageBytes = 4096;

// magic, key, length and sum of the weights; filled up to a page
std::string firstPage(const std::string& key, size_t size, uint64_t sum) {
  std::string page(kWeightMagic);
  page += key + "\n" + std::to_string(size) + "\n" + std::to_string(sum) + "\n";
  page.resize(kPageBytes);
  return page;
}

// The sum that the first page of a file says; nothing where it is no such page, or not that of this file.
std::optional<uint64_t> sumSaid(std::string_view bytes, const std::string& key) {
  if (bytes.size() < kPageBytes) return std::nullopt;
  const std::string begin = firstPage(key, bytes.size() - kPageBytes, 0);
  const size_t at = begin.find('\0') - 2;  // where "0\n" stands
  uint64_t sum = 0;
  const auto [end, fault] = std::from_chars(bytes.data() + at, bytes.data() + at + 20, sum);
  if (fault != std::errc()) return std::nullopt;
  if (bytes.substr(0, kPageBytes) != firstPage(key, bytes.size() - kPageBytes, sum)) return std::nullopt;
  return sum;
}

uint64_t checksumOf(std::string_view bytes) {
  WeightSum sum;
  sum.add(bytes);
  return sum.value();
}

constexpr std::string_view kWeightSuffix = ".dynweights";

// Of a path in a cache's folder.
std::string keyIn(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.size() > kWeightSuffix.size() ? name.substr(0, name.size() - kWeightSuffix.size()) : "";
}

// Weights are copies of what is there anyway: they leave three quarters of the free room to others.
bool hasRoom(const std::string& directory, size_t bytes) {
  struct statvfs info;
  if (::statvfs(directory.c_str(), &info) != 0) return false;
  return bytes / 4096 < static_cast<uint64_t>(info.f_bavail) * info.f_frsize / 4096 / 4;
}

}  // namespace

WeightCache::WeightCache(const WeightCacheSettings& settings)
    : folder_(settings.directory, kWeightSuffix, settings.maxBytes) {}

std::string WeightCache::keyOf(const std::vector<std::string>& parts, const std::string& source) {
  std::vector<std::string_view> all = {"weights", DYN_KERNELS_FINGERPRINT, source};
  all.insert(all.end(), parts.begin(), parts.end());
  return makeObjectKey(all).hex;
}

std::optional<MappedFile> WeightCache::find(const std::string& key) {
  if (!folder_.on()) return std::nullopt;
  Result<MappedFile> file = MappedFile::open(folder_.path(key), SymlinkPolicy::refuse);
  if (!file.ok()) return std::nullopt;
  if (!sumSaid(file->bytes(), key)) {
    folder_.remove(key);
    return std::nullopt;
  }
  folder_.touch(key);
  return std::move(file).value();
}

std::optional<MappedFile> WeightCache::store(const std::string& key, std::string_view bytes) {
  if (!folder_.on() || !hasRoom(folder_.directory(), bytes.size())) return std::nullopt;
  if (!folder_.write(key, {firstPage(key, bytes.size(), checksumOf(bytes)), bytes},
                     CacheFolder::WhereThere::keep))
    return std::nullopt;
  return find(key);
}

void WeightCache::checkLater(const MappedFile& file, WeightCheck& check) {
  if (const std::optional<uint64_t> sum = sumSaid(file.bytes(), keyIn(file.name())))
    check.add(file.name(), kPageBytes, *sum);
}

bool WeightCache::isWhole(const std::string& path) {
  const Result<MappedFile> file = MappedFile::open(path, SymlinkPolicy::refuse);
  if (!file.ok()) return false;
  const std::optional<uint64_t> said = sumSaid(file->bytes(), keyIn(path));
  return said && *said == checksumOf(bytesOf(*file));
}

std::string_view WeightCache::bytesOf(const MappedFile& file) { return file.bytes().substr(kPageBytes); }

}  // namespace dyn
