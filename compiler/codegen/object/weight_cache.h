// Persistent cache of weights as programs read them: packed for a machine, aligned. One folder
// (cache_folder.h), one file per key: a page that says what it is, then the bytes from a page on, so that
// they are mapped, read where they lie, and shared by all processes and programs that want the same.
//
//   WeightCache cache({.directory = "/home/me/.cache/dyn"});
//   const std::string key = cache.keyOf({"gemmpack 1", panels, "f32[768,768]"}, origin);
//   std::optional<MappedFile> file = cache.find(key);
//   if (!file) file = cache.store(key, pack(weights));
//   WeightCache::bytesOf(*file);
//
// To map a file only its length and its first page are looked at, so that nothing is read before it is
// needed. The first page holds a sum of the rest: checkLater() has it compared beside the first run
// (weight_check.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/codegen/object/cache_folder.h"
#include "compiler/codegen/object/weight_check.h"
#include "compiler/support/mapped_file.h"

namespace dyn {

struct WeightCacheSettings {
  std::string directory = "none";       // "none" or empty: off. Made if absent (its parent must exist).
  int64_t maxBytes = int64_t{4} << 30;  // of all its files; the least recently used are removed beyond it
};

// Safe to use from many threads.
class WeightCache {
 public:
  explicit WeightCache(const WeightCacheSettings& settings);

  bool on() const { return folder_.on(); }
  // Of what is made of `source` (a name or a digest of the raw bytes) in the way that `parts` say; also of
  // the sources of the code that packs.
  static std::string keyOf(const std::vector<std::string>& parts, const std::string& source);
  std::optional<MappedFile> find(const std::string& key);
  // None where it cannot be kept.
  std::optional<MappedFile> store(const std::string& key, std::string_view bytes);
  // A file that find() gave.
  static void checkLater(const MappedFile& file, WeightCheck& check);
  // Is a file of a cache's folder whole? Reads all of it.
  static bool isWhole(const std::string& path);
  // What was stored, at a multiple of the page size.
  static std::string_view bytesOf(const MappedFile& file);

 private:
  CacheFolder folder_;
};

}  // namespace dyn
