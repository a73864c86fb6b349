// Each kind of view as text, a function for each row of views.def. The texts end in a newline
// unless they are empty. toText makes control characters in them visible.
#pragma once

#include <string>

namespace dyn {

struct TextOptions;
#define DYN_VIEW(kind) \
  struct kind;         \
  std::string viewText(const kind& view, const TextOptions& options);
#include "app/session/views/views.def"
#undef DYN_VIEW

}  // namespace dyn
