// Groups of a graph view: made once for each path, and those that the names of operations say: the operation
// "/encoder/layer.0/MatMul" stands in encoder, then layer.0.
#pragma once

#include <map>
#include <string>

#include "app/session/views/graph_views.h"
#include "app/session/views/node_id.h"

namespace dyn {

class ScopeGroups {
 public:
  explicit ScopeGroups(GraphView& view) : view_(view) {}

  // The group of that path, made where it is new.
  int group(const std::string& path, const std::string& label, GroupKind kind, int parent, NodeId owner);
  // The innermost scope of an operation's name inside `around` (-1: at the top); `around` where it has none.
  int scopeOf(const std::string& name, int around);

 private:
  GraphView& view_;
  std::map<std::string, int> groups_;
};

}  // namespace dyn
