// View: what a session answers. Windows, shell, batch and tests read the same structs. They are plain
// immutable values: nothing in them points into the compiler's data, so they may be kept and passed between
// threads.
//
// Shapes are lists of texts: "59", "seq", "2*seq + 1", "?3". Sizes and times carry their unit in the name.
//
// The structs are declared with their subjects: graph_views.h, run_views.h, ... and those of the engine in
// app/engine. views.def lists them; no header includes that list, so a new kind of view, or another member of
// one, compiles anew only what reads it. json/ and text/ write them.
//
//   View view = makeView(DimsTable{...});     // session_state.h
//   if (const DimsTable* dims = view.as<DimsTable>()) ...;
#pragma once

#include <memory>
#include <utility>

namespace dyn {

template <typename T>
using Shared = std::shared_ptr<const T>;

// The place in views.def, from 1 on. A struct that has no row there does not link.
using ViewKind = int;
template <typename T>
ViewKind viewKind();

class View {
 public:
  View() = default;  // empty
  template <typename T>
  View(Shared<T> value) : kind_(viewKind<T>()), value_(std::move(value)) {}

  bool isEmpty() const { return kind_ == 0; }
  ViewKind kind() const { return kind_; }
  // Null: it is of another kind.
  template <typename T>
  const T* as() const {
    return kind_ == viewKind<T>() ? static_cast<const T*>(value_.get()) : nullptr;
  }
  template <typename T>
  Shared<T> share() const {
    return kind_ == viewKind<T>() ? std::static_pointer_cast<const T>(value_) : nullptr;
  }

  // The same view with another owner: `replace` takes and gives a Shared<void> of the same address.
  template <typename Replace>
  void replaceOwner(const Replace& replace) {
    if (value_) value_ = replace(std::move(value_));
  }

 private:
  ViewKind kind_ = 0;
  Shared<void> value_;
};

}  // namespace dyn
