// Persistent cache of object files: one folder (cache_folder.h), one file per key. A damaged or foreign file
// means "compile anew", and is counted.
//
//   ObjectCache cache({.directory = "/home/me/.cache/dyn", .maxBytes = 256 << 20});
//   if (auto object = cache.find(key)) ... else cache.store(key, compiled);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/codegen/object/object_compiler.h"

namespace dyn {

struct ObjectCacheSettings {
  std::string directory = "none";  // "none" or empty: off. Made if absent (its parent must exist).
  int64_t maxBytes =
      int64_t{512} << 20;  // of all files together; the least recently used are removed beyond it
};

struct ObjectCacheStatistics {
  int64_t hits = 0;
  int64_t misses = 0;   // including damaged files
  int64_t damaged = 0;  // wrong length, checksum, key or format; the file is removed
  int64_t stored = 0;
  int64_t storeFailures = 0;  // read-only directory, disk full, ...
  int64_t evicted = 0;
};

// Identifies one object: 64 lower-case hexadecimal digits.
struct ObjectKey {
  std::string hex;
};

// The digest of all parts; the parts are delimited, so {"ab","c"} and {"a","bc"} differ.
ObjectKey makeObjectKey(const std::vector<std::string_view>& parts);

// Safe to use from many threads.
class ObjectCache {
 public:
  explicit ObjectCache(ObjectCacheSettings settings);
  ObjectCache(ObjectCache&&) noexcept;
  ObjectCache& operator=(ObjectCache&&) noexcept;
  ~ObjectCache();

  std::optional<ObjectCode> find(const ObjectKey& key);
  void store(const ObjectKey& key, const ObjectCode& object);

  // Is a file of a cache's folder whole?
  static bool isWhole(const std::string& path);
  ObjectCacheStatistics statistics() const;
  bool isOn() const;
  // Why the cache is off although a directory was given; empty when it is on, or off on request.
  const std::string& refusal() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dyn
