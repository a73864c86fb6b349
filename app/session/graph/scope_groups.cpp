#include "app/session/graph/scope_groups.h"

#include "app/session/views/graph_views.h"
#include "app/session/views/node_id.h"

namespace dyn {

int ScopeGroups::group(const std::string& path, const std::string& label, GroupKind kind, int parent,
                       NodeId owner) {
  auto [it, isNew] = groups_.emplace(path, static_cast<int>(view_.groups.size()));
  if (isNew) view_.groups.push_back({path, label, kind, parent, owner});
  return it->second;
}

int ScopeGroups::scopeOf(const std::string& name, int around) {
  if (name.find('/') == std::string::npos) return around;
  std::string path = around < 0 ? "" : view_.groups[static_cast<size_t>(around)].path + ":";
  int scope = around;
  size_t at = 0, depth = 0;
  constexpr size_t kDeepest = 64;
  while (depth++ < kDeepest) {
    const size_t slash = name.find('/', at);
    if (slash == std::string::npos) break;
    const std::string part = name.substr(at, slash - at);
    at = slash + 1;
    if (part.empty()) continue;
    path += (path.empty() || path.back() == ':' ? "" : "/") + part;
    scope = group(path, part, GroupKind::scope, scope, kNoNode);
  }
  return scope;
}

}  // namespace dyn
