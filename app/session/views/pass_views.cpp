#include "app/session/views/pass_views.h"

namespace dyn {

const char* toString(DiffKind kind) {
  switch (kind) {
    case DiffKind::added:
      return "added";
    case DiffKind::removed:
      return "removed";
    case DiffKind::changed:
      return "changed";
  }
  return "?";
}

}  // namespace dyn
