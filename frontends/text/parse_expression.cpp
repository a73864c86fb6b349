// Expressions: infix operators, calls, names and literals. Each call becomes an operation of the current
// body.
#include "frontends/text/familiar_names.h"
#include "frontends/text/parser_state.h"

namespace dyn::text {
namespace {

struct Infix {
  std::string_view symbol;
  std::string_view op;
  int precedence;
};
constexpr int kOr = 0, kAnd = 1, kCompares = 2, kSums = 3, kProducts = 4, kPowers = 5;
constexpr Infix kInfix[] = {{"or", "logical_or", kOr},   {"and", "logical_and", kAnd},
                            {"<", "less", kCompares},    {"<=", "less_equal", kCompares},
                            {">", "greater", kCompares}, {">=", "greater_equal", kCompares},
                            {"==", "equal", kCompares},  {"!=", "equal", kCompares},  // and turned around
                            {"+", "add", kSums},         {"-", "sub", kSums},
                            {"*", "mul", kProducts},     {"/", "div", kProducts},
                            {"//", "", kProducts},  // several operations: parse_arithmetic.cpp
                            {"%", "", kProducts},        {"@", "matmul", kProducts},
                            {"**", "pow", kPowers}};

const Infix* infixNamed(std::string_view symbol) {
  for (const Infix& infix : kInfix)
    if (infix.symbol == symbol) return &infix;
  return nullptr;
}

}  // namespace

// What stands here, as an operator between two values; null: it is none.
const std::string_view* Parser::infixHere() const {
  const Token& token = peek();
  const bool word = token.kind == TokenKind::name;
  if (!word && token.kind != TokenKind::symbol) return nullptr;
  const Infix* found = infixNamed(text(token));
  // `or = ...` on a line of its own is a statement, and `@f(x)` a call, not a product.
  if (found && word && isSymbol("=", 1)) return nullptr;
  if (found && token.startsLine && found->symbol == "@") return nullptr;
  return found ? &found->symbol : nullptr;
}

// Precedence climbing; `first` is an operand that was read already.
Result<Operand> Parser::binary(int least, std::optional<Operand> first, int depth) {
  if (depth > kMaxDepth)
    return syntax("expressions cannot be nested deeper than " + std::to_string(kMaxDepth));
  if (!first) {
    DYN_TRY(Operand read, unary(depth));
    first = std::move(read);
  }
  for (;;) {
    const std::string_view* symbol = infixHere();
    const Infix* found = symbol ? infixNamed(*symbol) : nullptr;
    if (found == nullptr || found->precedence < least) return std::move(*first);
    const uint32_t offset = peek().offset;
    ++at_;
    // Powers are read from the right: a ** b ** c is a ** (b ** c).
    const int next = found->precedence == kPowers ? kPowers : found->precedence + 1;
    DYN_TRY(Operand right, binary(next, std::nullopt, depth + 1));
    DYN_TRY(first, joined(found->symbol, {std::move(*first), std::move(right)}, offset));
  }
}

Result<Operand> Parser::joined(std::string_view symbol, std::vector<Operand> operands, uint32_t offset) {
  const Infix& found = *infixNamed(symbol);
  if (found.op.empty()) return quotient(symbol, std::move(operands), offset);
  DYN_TRY(Operand made, infix(found.op, std::move(operands), offset));
  if (found.precedence <= kCompares) dtypes_[made.id] = Dtype::boolean;
  if (symbol != "!=") return made;
  DYN_TRY(Operand other, infix("logical_not", {std::move(made)}, offset));
  dtypes_[other.id] = Dtype::boolean;
  return other;
}

bool Parser::atInfix() const { return infixHere() != nullptr || atIndex(); }

Result<Operand> Parser::unary(int depth) {
  if (depth > kMaxDepth)
    return syntax("expressions cannot be nested deeper than " + std::to_string(kMaxDepth));
  const bool bang = isSymbol("!");
  const bool inverts = bang || (isName("not") && !isValueName("not"));
  const bool literal = atLiteral() && !isSymbol("**", 2);  // -2 ** 2 is -(2 ** 2)
  if (!inverts && (!isSymbol("-") || literal)) return primary(depth);
  const uint32_t offset = peek().offset;
  ++at_;
  // `not` binds less tightly than comparisons, `!` as tightly as a minus.
  const bool wide = inverts && !bang;
  DYN_TRY(Operand operand, binary(wide ? kCompares : kPowers, std::nullopt, depth + 1));
  DYN_TRY(Operand made, infix(inverts ? "logical_not" : "neg", {std::move(operand)}, offset));
  if (inverts) dtypes_[made.id] = Dtype::boolean;
  return made;
}

Result<Operand> Parser::primary(int depth) {
  DYN_TRY(Operand value, withoutIndex(depth));
  return indexed(std::move(value), depth);
}

Result<Operand> Parser::withoutIndex(int depth) {
  if (const size_t* value = valueOfAttribute(); value && !isSymbol("(", 1))
    return atValue(*value, [&] { return withoutIndex(depth); });
  Operand result;
  result.offset = peek().offset;
  if (atTensor()) {
    DYN_TRY(HostTensor constant, tensor());
    result.op = static_cast<int64_t>(frame().ops.size());
    DYN_TRY(result.id, addConstant(std::move(constant), result.offset));
    return result;
  }
  if (atLiteral()) {
    DYN_TRY(Literal read, literal());
    result.literal = std::make_shared<const Literal>(std::move(read));
    return result;
  }
  if (takeSymbol("(")) {
    DYN_TRY(Operand inner, expression(depth + 1));
    DYN_CHECK(expectSymbol(")", "to end the parenthesis"));
    return inner;
  }
  if (isSymbol("@") && !isSymbol("(", 2)) {
    ++at_;
    Op function;
    function.place = source_.place(result.offset);
    DYN_TRY(std::string callee, expectName("the name of a function"));
    DYN_TRY(function.def, findOp("closure", result.offset));
    function.attributes.set("callee", calleeNamed(std::move(callee)));
    return emit(std::move(function), result.offset, 1);
  }
  if (isSymbol("@") || (peek().kind == TokenKind::name && isSymbol("(", 1))) return callExpression(depth);
  if (isName("return") || (isName("_") && !isLastValue())) return expected("a value");
  if (peek().kind == TokenKind::value || peek().kind == TokenKind::name) {
    const Token& token = peek();
    ++at_;
    std::string name(text(token));
    if (token.kind == TokenKind::value) {
      DYN_TRY(name, unquoted(source_, token));
    }
    DYN_TRY(result.id, valueNamed(name, token.offset));
    return result;
  }
  return expected("a value");
}

// An expression is a @main itself.
std::string Parser::calleeNamed(std::string name) const {
  return environment_ && environment_->library && name == "main" ? std::string(kLibraryMain) : name;
}

Result<const OpDef*> Parser::findOp(std::string_view name, uint32_t offset) {
  const auto known = ops_.find(std::string(name));
  if (known != ops_.end()) return known->second;
  const OpDef* def = options_.findOp ? options_.findOp(name) : nullptr;
  if (def == nullptr) {
    const std::string_view ours = ourName(name);
    if (ours.empty()) return unknown("operator", name, options_.opNames, offset);
    return error(
        DiagnosticId::textName,
        "unknown operator '" + std::string(name) + "', it is called '" + std::string(ours) + "' here",
        offset);
  }
  ops_.emplace(name, def);
  return def;
}

// An operator, or a constructor declared above: Leaf(x) is construct(x) {constructor = "Leaf", type =
// "Tree"}.
Status Parser::operatorNamed(Op* op, std::string_view name, uint32_t offset) {
  const auto constructor = typeOfConstructor_.find(std::string(name));
  const bool constructs = constructor != typeOfConstructor_.end() && !constructor->second.empty() &&
                          !(options_.findOp && options_.findOp(name));
  DYN_TRY(op->def, findOp(constructs ? "construct" : name, offset));
  if (!constructs) return {};
  op->attributes.set("type", constructor->second);
  op->attributes.set("constructor", std::string(name));
  return {};
}

bool Parser::isFunctionOfLibrary(std::string_view name) const {
  return environment_ && environment_->library && environment_->library->find(name) &&
         !typeOfConstructor_.count(std::string(name));
}

// len(a), and casts: f32(a).
Result<Op> Parser::wordCall(std::string_view name, Op op, int depth, uint32_t offset) {
  const std::optional<Dtype> to = parseDtype(name);
  DYN_TRY(op.def, findOp(to ? "cast" : "shape", offset));
  DYN_CHECK(arguments(&op, depth));
  if (!to) return lengthOf(std::move(op), offset);
  if (op.operands.size() != 1)
    return error(DiagnosticId::badOperands, std::string(name) + "(...) casts one value", offset);
  op.attributes.set("to", *to);
  return op;
}

// cast(a, i64): the element type among the operands.
bool Parser::atElementType(const Op& op) const {
  if (op.def->name != "cast" || peek().kind != TokenKind::name || op.attributes.has("to")) return false;
  return parseDtype(text(peek())) && (isSymbol(",", 1) || isSymbol(")", 1)) &&
         !isValueName(std::string(text(peek())));
}

Result<Op> Parser::callHead(int depth) {
  Op op;
  const uint32_t offset = peek().offset;
  op.place = source_.place(offset);
  if (takeSymbol("@")) {
    DYN_TRY(std::string callee, expectName("the name of a function"));
    DYN_TRY(op.def, findOp("call", offset));
    op.attributes.set("callee", calleeNamed(std::move(callee)));
  } else {
    const std::string_view name = text(peek());
    ++at_;
    const bool isOp = options_.findOp && options_.findOp(name);
    if (!isOp && (name == "len" || parseDtype(name)) && !isValueName(std::string(name)) &&
        !isFunctionOfLibrary(name))
      return wordCall(name, std::move(op), depth, offset);
    const bool overList = !isOp && (name == "map" || name == "fold");
    const bool isValue =
        !isOp && !overList && !typeOfConstructor_.count(std::string(name)) && isValueName(std::string(name));
    if (isValue || overList) {
      DYN_TRY(op.def, findOp("invoke", offset));
      DYN_CHECK(arguments(&op, depth));
      if (overList) return listLoop(name, std::move(op), offset);
      DYN_TRY(ValueId function, valueNamed(std::string(name), offset));
      op.operands.insert(op.operands.begin(), function);
      return op;
    }
    if (!isOp && isFunctionOfLibrary(name)) {
      DYN_TRY(op.def, findOp("call", offset));
      op.attributes.set("callee", calleeNamed(std::string(name)));
    } else {
      DYN_CHECK(operatorNamed(&op, name, offset));
    }
  }
  DYN_CHECK(arguments(&op, depth));
  if (isSymbol("{")) {
    ++at_;
    while (!isSymbol("}")) {
      DYN_CHECK(attribute(*op.def, &op.attributes));
      if (!takeSymbol(",")) break;
    }
    DYN_CHECK(expectSymbol("}", "after the attributes"));
  }
  const bool bodiesFollow = atBody(op);  // the constructors of a match are those of its cases
  if (op.operands.size() == 1 && (op.def->name == "max" || op.def->name == "min"))
    return error(DiagnosticId::badOperands,
                 std::string(op.def->name) +
                     " takes two values, element by element; over all elements it is " + "reduce_" +
                     std::string(op.def->name) + "(a)",
                 offset);
  for (const AttributeSpec& spec : op.def->attributes)
    if (spec.required && !bodiesFollow && !op.attributes.has(spec.name))
      return error(DiagnosticId::badAttribute,
                   std::string(op.def->name) + " needs the attribute '" + std::string(spec.name) + "'",
                   offset);
  return op;
}

// `_` is the last value of the prompt.
bool Parser::isLastValue() const { return environment_ && stack_.size() == 1 && environment_->typeOf("_"); }

// `_` as an operand: none where it may be left out, else the last value.
bool Parser::isLeftOut(const Op& op, size_t place) const {
  if (!isLastValue()) return true;
  const std::string_view name = op.def->name;
  return name != "call" && name != "invoke" && static_cast<int>(place) >= op.def->minOperands;
}

Status Parser::arguments(Op* op, int depth) {
  DYN_CHECK(expectSymbol("(", "before the operands"));
  std::vector<Operand> operands;
  while (!isSymbol(")")) {
    if ((peek().kind == TokenKind::name || peek().kind == TokenKind::string) && isSymbol("=", 1)) {
      DYN_CHECK(attribute(*op->def, &op->attributes));
    } else if (atElementType(*op)) {
      DYN_TRY(const Dtype to, dtype());
      op->attributes.set("to", to);
    } else if (isName("_") && (isSymbol(",", 1) || isSymbol(")", 1)) && isLeftOut(*op, operands.size())) {
      Operand none;
      none.leftOut = true;
      none.offset = peek().offset;
      operands.push_back(std::move(none));
      ++at_;
    } else {
      DYN_TRY(Operand operand, expression(depth + 1));
      operands.push_back(std::move(operand));
    }
    if (!takeSymbol(",")) break;
  }
  DYN_CHECK(expectSymbol(")", "after the operands"));
  return setOperands(op, std::move(operands));
}

Result<Operand> Parser::callExpression(int depth) {
  const uint32_t offset = peek().offset;
  DYN_TRY(Op op, callHead(depth));
  if (atBody(op)) {
    return error(DiagnosticId::textSyntax,
                 "'" + std::string(op.def->name) +
                     "' with bodies stands in a statement of its own: name its result first",
                 offset);
  }
  if (op.def->results >= 0 && op.def->results != 1) {
    return error(DiagnosticId::badOperands,
                 "'" + std::string(op.def->name) + "' gives " + std::to_string(op.def->results) +
                     " results: name them in a statement of its own",
                 offset);
  }
  return emit(std::move(op), offset, 1);
}

Result<Operand> Parser::infix(std::string_view name, std::vector<Operand> operands, uint32_t offset) {
  Op op;
  op.place = source_.place(offset);
  DYN_TRY(op.def, findOp(name, offset));
  DYN_CHECK(setOperands(&op, std::move(operands)));
  return emit(std::move(op), offset, 1);
}

Result<Operand> Parser::emit(Op op, uint32_t offset, size_t results) {
  for (size_t i = 0; i < results; ++i) op.results.push_back({context_.newValue(), Type()});
  guessDtype(op);
  Operand made;
  made.id = op.results.empty() ? kNoValue : op.results[0].id;
  made.offset = offset;
  made.op = static_cast<int64_t>(frame().ops.size());
  frame().ops.push_back(std::move(op));
  return made;
}

// Literals take the dtype of their neighbours where the operator mixes its operands element by element;
// indices and sizes stay i64.
Status Parser::setOperands(Op* op, std::vector<Operand> operands) {
  const bool mixes = op->def->cls == OpClass::elementwise || op->def->cls == OpClass::contraction;
  std::optional<Dtype> numeric, real;
  for (const Operand& operand : operands) {
    const auto known = operand.literal ? dtypes_.end() : dtypes_.find(operand.id);
    if (known == dtypes_.end() || known->second == Dtype::boolean) continue;
    if (!numeric) numeric = known->second;
    if (!real && isReal(known->second)) real = known->second;
  }
  // 1 beside 0.5 is a real too.
  for (const Operand& operand : operands) {
    if (operand.literal && operand.literal->kind == Literal::Kind::real && !numeric) numeric = Dtype::f32;
  }
  for (const Operand& operand : operands) {
    if (operand.leftOut) {
      op->operands.push_back(kNoValue);
      continue;
    }
    if (!operand.literal) {
      op->operands.push_back(operand.id);
      continue;
    }
    std::optional<Dtype> wanted;
    if (operand.literal->kind == Literal::Kind::real) wanted = real;
    if (operand.literal->kind == Literal::Kind::integer && mixes) wanted = numeric;
    DYN_TRY(ValueId id, constantOf(*operand.literal, wanted, operand.offset));
    op->operands.push_back(id);
  }
  return {};
}

Result<ValueId> Parser::valueOf(const Operand& operand) {
  if (!operand.literal) return operand.id;
  return constantOf(*operand.literal, std::nullopt, operand.offset);
}

Result<ValueId> Parser::constantOf(const Literal& literal, std::optional<Dtype> wanted, uint32_t offset) {
  DYN_TRY(HostTensor value, tensorOf(literal, wanted.value_or(naturalDtype(literal)), literal.shape));
  return addConstant(std::move(value), offset);
}

Result<ValueId> Parser::addConstant(HostTensor tensor, uint32_t offset) {
  Op op;
  op.place = source_.place(offset);
  DYN_TRY(op.def, findOp("constant", offset));
  const Dtype dtype = tensor.dtype();
  const Type type = context_.tensorType(std::span<const int64_t>(tensor.shape()), dtype);
  op.attributes.set("value", std::move(tensor));
  DYN_TRY(Operand made, emit(std::move(op), offset, 1));
  frame().ops.back().results[0].type = type;
  setType(made.id, type);
  return made.id;
}

// The dtype a result most likely has, for the literals beside it; type inference decides what it is.
void Parser::guessDtype(const Op& op) {
  if (op.def->name == "if" || op.def->name == "loop") {
    // What a body returns; that of a loop first whether to go on.
    const size_t before = op.def->name == "loop" ? 1 : 0;
    for (size_t i = 0; i != op.results.size(); ++i)
      for (const Function* body : op.regions) {
        const auto known =
            before + i < body->results.size() ? dtypes_.find(body->results[before + i]) : dtypes_.end();
        if (known != dtypes_.end()) dtypes_.emplace(op.results[i].id, Dtype(known->second));
      }
    return;
  }
  std::optional<Dtype> guess;
  if (op.attributes.has("to")) guess = op.attributes.dtype("to");
  if (!guess && op.def->cls != OpClass::opaque && op.def->cls != OpClass::structural) {
    for (ValueId operand : op.operands) {
      const auto known = dtypes_.find(operand);
      if (known == dtypes_.end() || known->second == Dtype::boolean) continue;
      guess = known->second;
      break;
    }
  }
  if (!guess) return;
  for (const ValueDef& result : op.results) dtypes_.emplace(result.id, *guess);
}

// What the name stands for at the prompt, as a parameter of the expression.
std::optional<ValueId> Parser::valueOfPrompt(const std::string& name, uint32_t offset) {
  if (!environment_) return std::nullopt;
  const Type type = environment_->typeOf(name);
  if (!type) return std::nullopt;
  Frame& outermost = stack_.front();
  const ValueId id = context_.newValue(name);
  outermost.function.parameters.push_back({id, type});
  outermost.scope.emplace(name, std::pair{id, offset});
  usedNames_.push_back(name);
  setType(id, type);
  return id;
}

Result<ValueId> Parser::valueNamed(const std::string& name, uint32_t offset) {
  const auto found = frame().scope.find(name);
  if (found != frame().scope.end()) return found->second.first;
  if (stack_.size() == 1) {
    if (const std::optional<ValueId> bound = valueOfPrompt(name, offset)) return *bound;
  }
  if (frame().captures) {
    DYN_TRY(const std::optional<ValueId> inside, captured(name, offset));
    if (inside) return *inside;
  }
  const size_t outerFrames = std::min<size_t>(stack_.size() - 1, 64);
  for (size_t i = 1; i <= outerFrames; ++i) {
    if (!stack_[stack_.size() - 1 - i].scope.count(name)) continue;
    return error(
        DiagnosticId::textName,
        "'" + name +
            "' belongs to the function around this body: pass it as an operand, it becomes a parameter here",
        offset);
  }
  std::vector<std::string_view> known;
  for (const auto& entry : frame().scope) known.push_back(entry.first);
  std::vector<std::string> ofPrompt;
  if (environment_ && stack_.size() == 1) ofPrompt = environment_->names();
  known.insert(known.end(), ofPrompt.begin(), ofPrompt.end());
  std::sort(known.begin(), known.end());
  return unknown("value", name, std::move(known), offset);
}

}  // namespace dyn::text
