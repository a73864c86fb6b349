#include "app/session/views/view.h"

namespace dyn {

#define DYN_VIEW(kind) struct kind;
#include "app/session/views/views.def"
#undef DYN_VIEW

namespace {

enum class Row : ViewKind {
  empty,
#define DYN_VIEW(kind) kind,
#include "app/session/views/views.def"
#undef DYN_VIEW
};

template <typename T>
struct RowOf;
#define DYN_VIEW(kind)                     \
  template <>                              \
  struct RowOf<kind> {                     \
    static constexpr Row kRow = Row::kind; \
  };
#include "app/session/views/views.def"
#undef DYN_VIEW

}  // namespace

template <typename T>
ViewKind viewKind() {
  return static_cast<ViewKind>(RowOf<T>::kRow);
}

#define DYN_VIEW(kind) template ViewKind viewKind<kind>();
#include "app/session/views/views.def"
#undef DYN_VIEW

}  // namespace dyn
