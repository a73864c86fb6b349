#include "compiler/reference/value.h"

namespace dyn {

struct Value::Node {
  std::vector<Value> parts;
  std::string name;
  const Function* function = nullptr;

  // Takes the parts apart one by one, so that a long chain does not nest destructor calls.
  ~Node() {
    std::vector<Value> waiting = std::move(parts);
    while (!waiting.empty()) {
      Value value = std::move(waiting.back());
      waiting.pop_back();
      if (!value.node_ || value.node_.use_count() != 1) continue;
      for (Value& part : value.node_->parts) waiting.push_back(std::move(part));
      value.node_->parts.clear();
    }
  }
};

const char* toString(ValueKind kind) {
  static constexpr const char* kNames[] = {"none", "tensor", "tuple", "list", "optional", "data", "closure"};
  return kNames[static_cast<size_t>(kind)];
}

Value Value::make(ValueKind kind, std::vector<Value> parts, std::string name, const Function* function) {
  Value value;
  value.kind_ = kind;
  value.node_ = std::make_shared<Node>();
  value.node_->parts = std::move(parts);
  value.node_->name = std::move(name);
  value.node_->function = function;
  return value;
}

Value Value::tuple(std::vector<Value> fields) {
  return make(ValueKind::tuple, std::move(fields), "", nullptr);
}
Value Value::list(std::vector<Value> elements) {
  return make(ValueKind::list, std::move(elements), "", nullptr);
}
Value Value::some(Value value) {
  std::vector<Value> parts;
  parts.push_back(std::move(value));
  return make(ValueKind::optional, std::move(parts), "", nullptr);
}
Value Value::nothing() { return make(ValueKind::optional, {}, "", nullptr); }
Value Value::data(std::string constructor, std::vector<Value> fields) {
  return make(ValueKind::data, std::move(fields), std::move(constructor), nullptr);
}
Value Value::closure(const Function* function, std::vector<Value> captures) {
  return make(ValueKind::closure, std::move(captures), "", function);
}

std::span<const Value> Value::parts() const {
  if (!node_) return {};
  return node_->parts;
}

const std::string& Value::constructor() const { return node_->name; }
const Function* Value::function() const { return node_ ? node_->function : nullptr; }

std::string Value::toString(int64_t maxElements) const {
  // Text or a value still to be written, last first.
  struct Piece {
    std::string text;
    const Value* value = nullptr;
  };
  std::string result;
  std::vector<Piece> stack{{"", this}};
  while (!stack.empty()) {
    Piece piece = std::move(stack.back());
    stack.pop_back();
    if (!piece.value) {
      result += piece.text;
      continue;
    }
    const Value& value = *piece.value;
    std::string open = "(", close = ")";
    switch (value.kind()) {
      case ValueKind::none:
        result += "none";
        continue;
      case ValueKind::tensor:
        result += dyn::toString(value.tensor(), maxElements);
        continue;
      case ValueKind::tuple:
        break;
      case ValueKind::list:
        open = "[", close = "]";
        break;
      case ValueKind::optional:
        open = value.parts().empty() ? "nothing" : "some(";
        close = value.parts().empty() ? "" : ")";
        break;
      case ValueKind::data:
        open = value.constructor() + "(";
        break;
      case ValueKind::closure:
        open = "closure @" + value.function()->name + "(";
        break;
    }
    result += open;
    stack.push_back({close, nullptr});
    for (size_t i = value.parts().size(); i-- > 0;) {
      stack.push_back({"", &value.parts()[i]});
      if (i) stack.push_back({", ", nullptr});
    }
  }
  return result;
}

bool Value::identical(const Value& other) const {
  std::vector<std::pair<const Value*, const Value*>> stack{{this, &other}};
  while (!stack.empty()) {
    const auto [a, b] = stack.back();
    stack.pop_back();
    if (a->kind_ != b->kind_ || a->parts().size() != b->parts().size()) return false;
    if (a->isTensor() && !a->tensor_.identical(b->tensor_)) return false;
    if (a->node_ && (a->node_->name != b->node_->name || a->node_->function != b->node_->function))
      return false;
    for (size_t i = 0; i < a->parts().size(); ++i) stack.emplace_back(&a->parts()[i], &b->parts()[i]);
  }
  return true;
}

}  // namespace dyn
