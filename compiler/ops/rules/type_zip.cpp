#include "compiler/ops/rules/type_zip.h"

namespace dyn {

namespace {

struct ZipFrame {
  Type a, b;
  TypePath path;
  size_t next = 0;
  std::vector<Type> built;
};

Error mismatch(DiagnosticId id, std::string_view what, const ZipFrame& frame) {
  std::string place = frame.path.text.empty() ? "" : " at " + frame.path.text;
  return makeError(id, std::string(what) + place + ": " + frame.a.toString() + " vs " + frame.b.toString());
}

std::vector<Type> childrenOf(Type type) {
  std::vector<Type> children(type.elements().begin(), type.elements().end());
  if (type.kind() == TypeKind::function) {
    children.insert(children.end(), type.results().begin(), type.results().end());
  }
  return children;
}

Type rebuild(IrContext& ir, Type like, std::vector<Type> children) {
  switch (like.kind()) {
    case TypeKind::tuple:
      return ir.tupleType(std::move(children));
    case TypeKind::list:
      return ir.listType(children[0]);
    case TypeKind::optional:
      return ir.optionalType(children[0]);
    case TypeKind::function: {
      const size_t parameters = like.elements().size();
      std::vector<Type> results(children.begin() + static_cast<std::ptrdiff_t>(parameters), children.end());
      children.resize(parameters);
      return ir.functionType(std::move(children), std::move(results));
    }
    case TypeKind::tensor:
    case TypeKind::data:
      return like;
  }
  return like;
}

// The empty tuple: as element of a list of which nothing is known but that it is empty.
bool isNothing(Type type) { return type.kind() == TypeKind::tuple && type.elements().empty(); }

TypePath childPath(const TypePath& parent, TypeKind kind, size_t child) {
  TypePath path = parent;
  std::string step;
  if (kind == TypeKind::tuple) step = "field " + std::to_string(child);
  if (kind == TypeKind::list) step = "element";
  if (kind == TypeKind::function) step = "signature";
  if (!step.empty()) path.text += (path.text.empty() ? "" : ", ") + step;
  path.nested = path.nested || kind == TypeKind::list || kind == TypeKind::function;
  return path;
}

}  // namespace

Result<Type> zipTypes(IrContext& ir, Type a, Type b, std::string_view what, const ZipDims& combine) {
  std::vector<ZipFrame> stack;
  stack.push_back({a, b, {}, 0, {}});
  for (;;) {
    ZipFrame& frame = stack.back();
    Type done;
    if (!frame.a || !frame.b)
      return makeError(DiagnosticId::invalidIr, std::string(what) + ": a type is missing");
    if (isNothing(frame.a) || isNothing(frame.b)) {
      done = isNothing(frame.a) ? frame.b : frame.a;
    } else if (frame.a.kind() != frame.b.kind()) {
      return mismatch(DiagnosticId::typeMismatch, what, frame);
    } else if (frame.a.isTensor()) {
      if (frame.a.dtype() != frame.b.dtype()) return mismatch(DiagnosticId::dtypeMismatch, what, frame);
      if (frame.a.rank() != frame.b.rank()) return mismatch(DiagnosticId::rankMismatch, what, frame);
      Shape dims;
      for (int i = 0; i < frame.a.rank(); ++i) {
        TypePath path = frame.path;
        path.text += (path.text.empty() ? "dim " : ", dim ") + std::to_string(i);
        DYN_TRY(Dim dim, combine(frame.a.dims()[i], frame.b.dims()[i], path));
        dims.push_back(dim);
      }
      done = ir.tensorType(std::move(dims), frame.a.dtype());
    } else if (frame.a.kind() == TypeKind::data) {
      if (frame.a != frame.b) return mismatch(DiagnosticId::typeMismatch, what, frame);
      done = frame.a;
    } else {
      std::vector<Type> left = childrenOf(frame.a), right = childrenOf(frame.b);
      if (left.size() != right.size() || frame.a.elements().size() != frame.b.elements().size()) {
        return mismatch(DiagnosticId::typeMismatch, what, frame);
      }
      if (frame.next < left.size()) {
        const size_t child = frame.next++;
        stack.push_back({left[child], right[child], childPath(frame.path, frame.a.kind(), child), 0, {}});
        continue;
      }
      done = rebuild(ir, frame.a, std::move(frame.built));
    }
    stack.pop_back();
    if (stack.empty()) return done;
    stack.back().built.push_back(done);
  }
}

Type mapDims(IrContext& ir, Type type, const std::function<Dim(Dim, const TypePath&)>& replace) {
  if (type.isTensor()) {
    Shape dims = type.dims();
    bool changed = false;
    for (size_t i = 0; i < dims.size(); ++i) {
      const Dim replaced = replace(dims[i], {});
      changed = changed || replaced != dims[i];
      dims[i] = replaced;
    }
    return changed ? ir.tensorType(std::move(dims), type.dtype()) : type;
  }
  // A type zipped with itself cannot mismatch.
  Result<Type> mapped = zipTypes(
      ir, type, type, "", [&](Dim d, Dim, const TypePath& path) -> Result<Dim> { return replace(d, path); });
  return mapped.ok() ? *mapped : type;
}

}  // namespace dyn
