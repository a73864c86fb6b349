#include "app/session/views/graph_views.h"

namespace dyn {

const char* toString(NodeKind kind) {
  switch (kind) {
    case NodeKind::operation:
      return "operation";
    case NodeKind::input:
      return "input";
    case NodeKind::output:
      return "output";
    case NodeKind::constant:
      return "constant";
  }
  return "?";
}

const char* toString(GroupKind kind) {
  switch (kind) {
    case GroupKind::scope:
      return "scope";
    case GroupKind::region:
      return "region";
    case GroupKind::function:
      return "function";
    case GroupKind::repeat:
      return "repeat";
    case GroupKind::block:
      return "block";
    case GroupKind::part:
      return "part";
  }
  return "?";
}

}  // namespace dyn
