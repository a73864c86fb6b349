#include "compiler/ir/type.h"

#include "compiler/ir/type_node.h"

namespace dyn {

TypeKind Type::kind() const { return node_->kind; }
const Shape& Type::dims() const { return node_->dims; }
Dtype Type::dtype() const { return node_->dtype; }
std::span<const Type> Type::elements() const { return node_->elements; }
std::span<const Type> Type::results() const { return node_->results; }
std::string_view Type::dataName() const { return node_->dataName; }
uint32_t Type::id() const { return node_->id; }

namespace {

// A piece of text or a type still to be written; the stack holds them last first.
struct Piece {
  std::string_view text;
  Type type;
};

void pushList(std::vector<Piece>* stack, std::span<const Type> types) {
  for (size_t i = types.size(); i-- > 0;) {
    stack->push_back({{}, types[i]});
    if (i) stack->push_back({", ", {}});
  }
}

}  // namespace

std::string Type::toString() const {
  std::string text;
  std::vector<Piece> stack{{{}, *this}};
  while (!stack.empty()) {
    const Piece piece = stack.back();
    stack.pop_back();
    if (!piece.text.empty()) {
      text += piece.text;
      continue;
    }
    const Type type = piece.type;
    if (!type) {
      text += "(no type)";
      continue;
    }
    switch (type.kind()) {
      case TypeKind::tensor:
        text +=
            "Tensor[" + dyn::toString(type.dims()) + ", " + std::string(dyn::toString(type.dtype())) + "]";
        break;
      case TypeKind::tuple:
        text += "(";
        stack.push_back({type.elements().size() == 1 ? ",)" : ")", {}});
        pushList(&stack, type.elements());
        break;
      case TypeKind::list:
      case TypeKind::optional:
        text += type.kind() == TypeKind::list ? "List[" : "Optional[";
        stack.push_back({"]", {}});
        stack.push_back({{}, type.element()});
        break;
      case TypeKind::function:
        text += "fn(";
        stack.push_back({")", {}});
        pushList(&stack, type.results());
        stack.push_back({") -> (", {}});
        pushList(&stack, type.elements());
        break;
      case TypeKind::data:
        text += type.dataName();
        break;
    }
  }
  return text;
}

std::vector<SymbolId> symbolsOf(Type type) { return type ? type.node_->symbols : std::vector<SymbolId>{}; }

}  // namespace dyn
