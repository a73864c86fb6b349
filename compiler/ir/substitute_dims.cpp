// substituteDims of walk.h.
#include <algorithm>

#include "compiler/ir/walk.h"

namespace dyn {
namespace {

// One substitution over many types: each type and symbol is worked out once.
class DimSubstitution {
 public:
  DimSubstitution(IrContext& context, const DimReplacement& replacement)
      : context_(context), replacement_(replacement) {}

  bool touches(const std::vector<SymbolId>& symbols) {
    return std::any_of(symbols.begin(), symbols.end(),
                       [&](SymbolId id) { return static_cast<bool>(replace(id)); });
  }

  Dim dim(Dim old) {
    if (!old || !touches(symbolsOf(old))) return old;
    return substitute(old, [&](SymbolId id) { return replace(id); });
  }

  Shape shape(const Shape& old) {
    Shape result;
    result.reserve(old.size());
    for (Dim d : old) result.push_back(dim(d));
    return result;
  }

  // Parts before wholes, with an explicit stack: types can be nested as deep as a program makes them.
  Type type(Type root) {
    if (!root) return root;
    std::vector<Type> stack{root};
    while (!stack.empty()) {
      const Type now = stack.back();
      if (types_.count(now.id())) {
        stack.pop_back();
        continue;
      }
      if (!touches(symbolsOf(now))) {
        types_.emplace(now.id(), now);
        stack.pop_back();
        continue;
      }
      const size_t before = stack.size();
      for (Type part : now.elements()) pushMissing(&stack, part);
      for (Type part : now.results()) pushMissing(&stack, part);
      if (stack.size() != before) continue;
      types_.emplace(now.id(), rebuilt(now));
      stack.pop_back();
    }
    return types_.at(root.id());
  }

  // Null when nothing changed.
  const Op* op(const Op& old) {
    bool changed = false;
    for (const ValueDef& result : old.results) changed |= type(result.type) != result.type;
    for (const auto& [name, value] : old.attributes.all()) {
      if (const Shape* dims = std::get_if<Shape>(&value)) changed |= shape(*dims) != *dims;
      if (const Type* t = std::get_if<Type>(&value)) changed |= type(*t) != *t;
    }
    if (!changed) return nullptr;
    Op next = old;
    for (ValueDef& result : next.results) result.type = type(result.type);
    for (const auto& [name, value] : old.attributes.all()) {
      if (const Shape* dims = std::get_if<Shape>(&value)) next.attributes.set(name, shape(*dims));
      if (const Type* t = std::get_if<Type>(&value)) next.attributes.set(name, type(*t));
    }
    return context_.own(std::move(next));
  }

  const Function* function(const Function& old) {
    Function next = old;
    bool changed = false;
    auto change = [&](Type& t) {
      const Type after = type(t);
      changed |= after != t;
      t = after;
    };
    for (Parameter& p : next.parameters) change(p.type);
    for (Type& t : next.resultTypes) change(t);
    for (const Op*& o : next.ops) {
      if (const Op* after = op(*o)) {
        o = after;
        changed = true;
      }
    }
    return changed ? context_.own(std::move(next)) : &old;
  }

  std::shared_ptr<const DataType> dataType(const std::shared_ptr<const DataType>& old) {
    DataType next = *old;
    bool changed = false;
    for (DataConstructor& constructor : next.constructors) {
      for (Type& field : constructor.fields) {
        const Type after = type(field);
        changed |= after != field;
        field = after;
      }
    }
    return changed ? std::make_shared<const DataType>(std::move(next)) : old;
  }

 private:
  Dim replace(SymbolId id) {
    const auto found = symbols_.find(id);
    if (found != symbols_.end()) return found->second;
    return symbols_.emplace(id, replacement_(id)).first->second;
  }

  void pushMissing(std::vector<Type>* stack, Type part) {
    if (part && !types_.count(part.id())) stack->push_back(part);
  }

  std::vector<Type> mappedTypes(std::span<const Type> old) {
    std::vector<Type> result;
    for (Type t : old) result.push_back(t ? types_.at(t.id()) : t);
    return result;
  }

  Type rebuilt(Type old) {
    switch (old.kind()) {
      case TypeKind::tensor:
        return context_.tensorType(shape(old.dims()), old.dtype());
      case TypeKind::tuple:
        return context_.tupleType(mappedTypes(old.elements()));
      case TypeKind::list:
        return context_.listType(mappedTypes(old.elements())[0]);
      case TypeKind::optional:
        return context_.optionalType(mappedTypes(old.elements())[0]);
      case TypeKind::function:
        return context_.functionType(mappedTypes(old.elements()), mappedTypes(old.results()));
      case TypeKind::data:
        return old;
    }
    return old;
  }

  IrContext& context_;
  const DimReplacement& replacement_;
  std::unordered_map<SymbolId, Dim> symbols_;
  std::unordered_map<uint32_t, Type> types_;
};

}  // namespace

Type substituteDims(IrContext& context, Type type, const DimReplacement& replacement) {
  return DimSubstitution(context, replacement).type(type);
}

const Op* substituteDims(IrContext& context, const Op& op, const DimReplacement& replacement) {
  const Op* changed = DimSubstitution(context, replacement).op(op);
  return changed ? changed : &op;
}

Module substituteDims(const Module& module, const DimReplacement& replacement) {
  DimSubstitution substitution(*module.context, replacement);
  Result<Module> rewritten = rewriteFunctions(
      module, [&](const Function& f) -> Result<const Function*> { return substitution.function(f); });
  Module result = std::move(*rewritten);  // the change above never fails
  for (auto& type : result.dataTypes) type = substitution.dataType(type);
  return result;
}

}  // namespace dyn
