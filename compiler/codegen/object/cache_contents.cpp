#include "compiler/codegen/object/cache_contents.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "compiler/codegen/object/object_cache.h"
#include "compiler/codegen/object/weight_cache.h"

namespace dyn {

namespace fs = std::filesystem;

std::vector<CachedFile> cachedFiles(const std::string& directory) {
  constexpr std::pair<const char*, CachedKind> kEndings[] = {{".dynobj", CachedKind::object},
                                                             {".dynweights", CachedKind::weights},
                                                             {".dyntmp", CachedKind::unfinished}};
  std::vector<CachedFile> files;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string ending = it->path().extension().string();
    for (const auto& [known, kind] : kEndings) {
      std::error_code ignored;
      if (ending != known || !it->is_regular_file(ignored)) continue;
      files.push_back({it->path().string(), kind, static_cast<int64_t>(it->file_size(ignored))});
    }
  }
  std::sort(files.begin(), files.end(),
            [](const CachedFile& a, const CachedFile& b) { return a.path < b.path; });
  return files;
}

bool isWhole(const CachedFile& file) {
  if (file.kind == CachedKind::object) return ObjectCache::isWhole(file.path);
  return file.kind == CachedKind::weights && WeightCache::isWhole(file.path);
}

}  // namespace dyn
