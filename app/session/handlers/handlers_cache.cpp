// Handler: :cache list, verify and clear.
#include <unistd.h>

#include <algorithm>

#include "app/session/session_state.h"
#include "compiler/support/trusted_folder.h"
#ifdef DYN_HAVE_LLVM
#include "app/session/views/file_views.h"
#include "app/session/views/view.h"
#include "compiler/codegen/object/cache_contents.h"
#endif

namespace dyn {

#ifdef DYN_HAVE_LLVM

namespace {

const char* nameOf(CachedKind kind) {
  switch (kind) {
    case CachedKind::object:
      return "objects";
    case CachedKind::weights:
      return "weights";
    case CachedKind::unfinished:
      return "unfinished";
  }
  return "";
}

void addToCounts(CacheView& view, const CachedFile& file) {
  const auto row = std::find_if(view.rows.begin(), view.rows.end(),
                                [&](const CacheView::Row& known) { return known.kind == nameOf(file.kind); });
  if (row == view.rows.end()) return view.rows.push_back({nameOf(file.kind), 1, file.bytes});
  ++row->filesCount;
  row->bytes += file.bytes;
}

// What another process writes at this moment is no damage.
Status verify(SessionState& state, const std::vector<CachedFile>& files, CacheView& view) {
  double done = 0;
  for (const CachedFile& file : files) {
    if (state.interruption.requested()) return makeError(DiagnosticId::cancelled, "interrupted");
    state.progress("reading the cache", done++ / static_cast<double>(files.size()));
    const bool kept = file.kind == CachedKind::unfinished || isWhole(file);
    if (kept) {
      addToCounts(view, file);
      continue;
    }
    view.damaged.push_back(file.path);
    if (::unlink(file.path.c_str()) != 0 && ::access(file.path.c_str(), F_OK) == 0)
      return makeError(DiagnosticId::fileError, file.path + " is damaged and cannot be removed",
                       {.file = file.path});
  }
  return {};
}

Status clear(const std::vector<CachedFile>& files, CacheView& view) {
  for (const CachedFile& file : files) {
    if (::unlink(file.path.c_str()) != 0 && ::access(file.path.c_str(), F_OK) == 0)
      return makeError(DiagnosticId::fileError, file.path + " cannot be removed", {.file = file.path});
    addToCounts(view, file);
  }
  return {};
}

}  // namespace

Result<View> handle_cache(SessionState& state, const Command& command, Outcome& outcome) {
  const std::string what = command.text("what");
  if (what != "list" && what != "verify" && what != "clear")
    return makeError(DiagnosticId::usageError, "cache " + what + ": there is list, verify and clear");
  CacheView view;
  view.directory = state.now.options.cacheDirectory;
  if (view.directory.empty()) view.directory = "none";
  if (view.directory == "none") return makeView(std::move(view));
  if (::access(view.directory.c_str(), F_OK) == 0) view.refusal = whyNotTrusted(view.directory);
  const std::vector<CachedFile> files = cachedFiles(view.directory);
  if (what == "list")
    for (const CachedFile& file : files) addToCounts(view, file);
  if (what == "verify") {
    view.done = CacheView::Done::verified;
    DYN_CHECK(verify(state, files, view));
  }
  if (what == "clear") {
    view.done = CacheView::Done::cleared;
    DYN_CHECK(clear(files, view));
  }
  if (!view.damaged.empty())
    outcome.error = makeError(DiagnosticId::fileFormat,
                              std::to_string(view.damaged.size()) + " of " + std::to_string(files.size()) +
                                  " files of the cache were damaged, and are removed")
                        .diagnostic();
  return makeView(std::move(view));
}

#else

Result<View> handle_cache(SessionState&, const Command&, Outcome&) {
  return makeError(DiagnosticId::unsupportedFeature,
                   "unsupported: this build has no code generation, and so no cache");
}

#endif

}  // namespace dyn
