// Rebuilding one type, or walking two types side by side, dim by dim. Iterative: types may nest as deep as a user likes.
#pragma once

#include <functional>
#include <string>

#include "compiler/ir/module.h"

namespace dyn {

// Where the walk stands: "dim 0", "field 1, dim 0"; `nested`: inside a list, data or function type, where each value has its own dims.
struct TypePath {
  std::string text;
  bool nested = false;
};

// The empty tuple fits everything and gives way to it: List[()] is the type of a list that is empty, whatever it will hold.
using ZipDims = std::function<Result<Dim>(Dim a, Dim b, const TypePath& path)>;
// The type built from combining each dim of `a` with that of `b` at the same place. Errors typeMismatch, dtypeMismatch or
// rankMismatch when the two differ in anything else; `what` begins their message: "the branches of if".
Result<Type> zipTypes(IrContext& ir, Type a, Type b, std::string_view what, const ZipDims& combine);

// The type with each dim replaced.
Type mapDims(IrContext& ir, Type type, const std::function<Dim(Dim, const TypePath&)>& replace);

}  // namespace dyn
