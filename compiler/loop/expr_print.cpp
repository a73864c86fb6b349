// Text of expressions; kernel_parse.cpp reads it back.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <unordered_set>

#include "compiler/loop/expr_node.h"

namespace dyn::loop {

namespace {

constexpr size_t kMaxText = size_t{1} << 20;  // a tree print of a shared graph may explode

#define X(name, kind) #name,
constexpr const char* kUnaryNames[] = {DYN_LOOP_UNARY(X)};
#undef X
#define X(name) #name,
constexpr const char* kBinaryNames[] = {DYN_LOOP_BINARY(X)};
constexpr const char* kReduceNames[] = {DYN_LOOP_REDUCE(X)};
#undef X

struct Infix {
  const char* text;
  int precedence;
};

// Null text: printed as a call.
Infix infixOf(BinaryOp op) {
  switch (op) {
    case BinaryOp::logicalOr:
      return {" || ", 1};
    case BinaryOp::logicalAnd:
      return {" && ", 2};
    case BinaryOp::equal:
      return {" == ", 3};
    case BinaryOp::notEqual:
      return {" != ", 3};
    case BinaryOp::less:
      return {" < ", 3};
    case BinaryOp::lessEqual:
      return {" <= ", 3};
    case BinaryOp::add:
      return {" + ", 4};
    case BinaryOp::sub:
      return {" - ", 4};
    case BinaryOp::mul:
      return {" * ", 5};
    case BinaryOp::div:
      return {" / ", 5};
    default:
      return {nullptr, 7};
  }
}

std::string realText(double value, Dtype dtype) {
  std::string text;
  if (std::isnan(value)) {
    text = "nan";
  } else if (std::isinf(value)) {
    text = value < 0 ? "-inf" : "inf";
  } else {
    std::array<char, 64> buffer;
    const auto end =
        dtype == Dtype::f64
            ? std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr
            : std::to_chars(buffer.data(), buffer.data() + buffer.size(), static_cast<float>(value)).ptr;
    text.assign(buffer.data(), end);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
  }
  return dtype == Dtype::f32 ? text : text + ":" + std::string(dyn::toString(dtype));
}

std::string leafText(Expr e, const std::set<std::string, std::less<>>& taken) {
  switch (e.kind()) {
    case ExprKind::intConstant:
      if (e.dtype() == Dtype::boolean) return e.intValue() ? "true" : "false";
      if (e.dtype() == Dtype::i64) return std::to_string(e.intValue());
      return (e.dtype() == Dtype::u64 ? std::to_string(static_cast<uint64_t>(e.intValue()))
                                      : std::to_string(e.intValue())) +
             ":" + std::string(dyn::toString(e.dtype()));
    case ExprKind::realConstant:
      return realText(e.realValue(), e.dtype());
    case ExprKind::variable:
      return e.name();
    case ExprKind::dim: {
      const std::string text = e.dimValue().toString();
      return e.dimValue().isSymbol() && isPlainName(text) && !taken.contains(text) ? text
                                                                                   : "dim(" + text + ")";
    }
    default:
      return "";
  }
}

}  // namespace

bool isFunction(UnaryOp op) {
  enum class Kind { plain, function };
#define X(name, kind) Kind::kind,
  static constexpr Kind kKinds[] = {DYN_LOOP_UNARY(X)};
#undef X
  return kKinds[static_cast<int>(op)] == Kind::function;
}
const char* toString(UnaryOp op) { return kUnaryNames[static_cast<int>(op)]; }
const char* toString(BinaryOp op) { return kBinaryNames[static_cast<int>(op)]; }
const char* toString(ReduceOp op) { return kReduceNames[static_cast<int>(op)]; }

namespace {

std::unordered_set<std::string_view> reservedWords() {
  static constexpr std::string_view kWords[] = {
      "kernel",   "in",        "out",        "scalars", "units",     "steps",  "scratch",
      "function", "let",       "accumulate", "over",    "for",       "vector", "unroll",
      "if",       "check",     "fault",      "select",  "dim",       "true",   "false",
      "inf",      "nan",       "about",      "array",   "pointers",  "low",    "high",
      "monotone", "injective", "multiple",   "inverse", "prefixSum", "reduce", "checked"};
  std::unordered_set<std::string_view> words(std::begin(kWords), std::end(kWords));
  words.insert(std::begin(kUnaryNames), std::end(kUnaryNames));
  words.insert(std::begin(kBinaryNames), std::end(kBinaryNames));
  words.insert(std::begin(kReduceNames), std::end(kReduceNames));
  for (int dtype = 0; dtype < dtypeCount(); ++dtype) words.insert(toString(static_cast<Dtype>(dtype)));
  return words;
}

}  // namespace

bool isReservedWord(std::string_view word) {
  static const std::unordered_set<std::string_view> words = reservedWords();
  return words.contains(word);
}

bool isPlainName(std::string_view name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) || isReservedWord(name)) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
}

std::string Expr::toString() const {
  if (!node_) return "(null)";
  const std::set<std::string, std::less<>>& taken = node_->context->impl_->names;
  struct Item {
    Expr expr;  // null: only the text
    int precedence = 0;
    std::string text;
  };
  std::string out;
  std::vector<Item> stack{{*this}};
  // Pieces are pushed last first.
  const auto list = [&](const std::string& open, std::span<const Expr> items, const std::string& close) {
    stack.push_back({{}, 0, close});
    for (size_t i = items.size(); i-- > 0;) {
      stack.push_back({items[i]});
      if (i > 0) stack.push_back({{}, 0, ", "});
    }
    stack.push_back({{}, 0, open});
  };
  while (!stack.empty() && out.size() < kMaxText) {
    const Item item = std::move(stack.back());
    stack.pop_back();
    const Expr e = item.expr;
    if (e.isNull()) {
      out += item.text;
      continue;
    }
    switch (e.kind()) {
      case ExprKind::load:
        list(e.buffer()->name + "[", e.operands(), "]");
        break;
      case ExprKind::call:
        list(e.function()->name + "(", e.operands(), ")");
        break;
      case ExprKind::unary:
        if (e.unaryOp() == UnaryOp::neg || e.unaryOp() == UnaryOp::logicalNot) {
          stack.push_back({e.operands()[0], 6});
          out += e.unaryOp() == UnaryOp::neg ? "-" : "!";
        } else {
          list(std::string(loop::toString(e.unaryOp())) + "(", e.operands(), ")");
        }
        break;
      case ExprKind::binary: {
        const Infix infix = infixOf(e.binaryOp());
        if (!infix.text) {
          list(std::string(loop::toString(e.binaryOp())) + "(", e.operands(), ")");
          break;
        }
        const bool parentheses = infix.precedence < item.precedence;
        const int left = infix.precedence == 3 ? 4 : infix.precedence;
        if (parentheses) stack.push_back({{}, 0, ")"});
        stack.push_back({e.operands()[1], infix.precedence + 1});
        stack.push_back({{}, 0, infix.text});
        stack.push_back({e.operands()[0], left});
        if (parentheses) out += "(";
        break;
      }
      case ExprKind::select:
        list("select(", e.operands(), ")");
        break;
      case ExprKind::cast:
        list(std::string(dyn::toString(e.dtype())) + "(", e.operands(), ")");
        break;
      case ExprKind::checked:
        list("checked<" + std::to_string(e.fault()) + ">(", e.operands(), ")");
        break;
      case ExprKind::reduce: {
        stack.push_back({{}, 0, ")"});
        stack.push_back({e.operands().back()});
        stack.push_back({{}, 0, ": "});
        for (size_t i = e.reduceVariables().size(); i-- > 0;) {
          stack.push_back({e.operands()[i], 4});
          stack.push_back({{}, 0, (i > 0 ? ", " : "") + e.reduceVariables()[i].name() + " < "});
        }
        stack.push_back({{}, 0, std::string("reduce(") + loop::toString(e.reduceOp()) + " over "});
        break;
      }
      default:
        out += leafText(e, taken);
    }
  }
  return stack.empty() ? out : out + "...";
}

}  // namespace dyn::loop
