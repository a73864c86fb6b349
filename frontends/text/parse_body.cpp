// Statements and bodies. Bodies nest on a stack of our own, so nesting is limited by memory only.
#include "compiler/dims/ragged_dim.h"
#include "frontends/text/parser_state.h"

namespace dyn::text {

void Parser::setType(ValueId id, Type type) {
  if (id >= types_.size()) types_.resize(std::max<size_t>(context_.valueCount(), id + 1));
  types_[id] = type;
  if (type.isTensor()) dtypes_[id] = type.dtype();
}

Status Parser::defineName(const NamedResult& name, ValueId id) {
  if (name.name.empty()) return {};
  const auto [entry, isNew] = frame().scope.emplace(name.name, std::pair{id, name.offset});
  if (isNew) return {};
  Error e =
      error(DiagnosticId::textName, "'" + name.name + "' is defined twice in this function", name.offset);
  return std::move(e).note("the first time at " + source_.place(entry->second.second).toString());
}

Status Parser::parameters(Frame* frame) {
  DYN_CHECK(expectSymbol("(", "before the parameters"));
  while (!isSymbol(")")) {
    const Token& token = peek();
    if (token.kind != TokenKind::value && token.kind != TokenKind::name) return expected("a parameter");
    NamedResult name{std::string(text(token)), token.offset};
    ++at_;
    if (token.kind == TokenKind::value) {
      DYN_TRY(name.name, unquoted(source_, token));
    }
    if (name.name == "_" && token.kind == TokenKind::name) name.name.clear();
    Parameter parameter;
    parameter.id = context_.newValue(name.name);
    if (takeSymbol(":")) {
      DYN_TRY(parameter.type, type());
    }
    setType(parameter.id, parameter.type);
    const auto [entry, isNew] = frame->scope.emplace(name.name, std::pair{parameter.id, name.offset});
    if (!isNew && !name.name.empty()) {
      return error(DiagnosticId::textName, "the parameter '" + name.name + "' is given twice", name.offset);
    }
    frame->function.parameters.push_back(parameter);
    if (!takeSymbol(",")) break;
  }
  return expectSymbol(")", "after the parameters");
}

// The lengths that ragged parameters of @main name and that are no parameters become ones, behind the others:
// (%x: Tensor[(b, len[b]), f32]) is (%x: Tensor[(b, len[b]), f32], %len: Tensor[(b), i64]).
void Parser::addLengths(Frame* frame) {
  std::vector<Dim> ragged;
  for (const Parameter& parameter : frame->function.parameters)
    if (parameter.type.isTensor())
      for (Dim dim : parameter.type.dims())
        for (Dim symbol : raggedSymbols(dim)) ragged.push_back(symbol);
  for (Dim symbol : ragged) {
    const RaggedDim dim = *raggedDim(symbol);
    if (frame->scope.count(dim.lengths) != 0) continue;
    Parameter lengths;
    lengths.id = context_.newValue(dim.lengths);
    lengths.type = context_.tensorType(Shape{dim.batch}, Dtype::i64);
    setType(lengths.id, lengths.type);
    frame->scope.emplace(dim.lengths, std::pair{lengths.id, tokens_[at_].offset});
    frame->function.parameters.push_back(lengths);
  }
}

// (parameters) -> (types) {
Status Parser::signature(Frame* frame) {
  DYN_CHECK(parameters(frame));
  frame->scope.erase("");
  if (frame->function.name == "main") addLengths(frame);
  if (takeSymbol("->")) {
    frame->typesWritten = true;
    if (isSymbol("(")) {
      DYN_TRY(frame->function.resultTypes, typeList(0));
    } else {
      DYN_TRY(Type single, typeOrNone(0));
      frame->function.resultTypes = {single};
    }
  }
  return expectSymbol("{", "before the body");
}

Result<const Function*> Parser::bodies(Frame root) {
  finished_ = nullptr;
  stack_.clear();
  stack_.push_back(std::move(root));
  while (!stack_.empty()) DYN_CHECK(step());
  return finished_;
}

Status Parser::step() {
  if (!frame().waiting) return statement();
  if (atBody(frame().statement)) return beginBody();
  frame().waiting = false;
  Op op = std::move(frame().statement);
  if (!frame().constructors.empty()) op.attributes.set("constructors", std::move(frame().constructors));
  frame().constructors.clear();
  return finishStatement(std::move(op), std::move(frame().names), frame().named);
}

Status Parser::statement() {
  if (takeName("return")) return returnValues(std::nullopt);
  if (isSymbol("}") || peek().kind == TokenKind::end) {
    return syntax(environment_ && stack_.size() == 1 ? "an expression is expected"
                                                     : "a body ends with 'return', here it is missing");
  }
  std::vector<NamedResult> names;
  const bool named = atNamedResults();
  if (named) {
    DYN_TRY(names, namedResults());
  }
  if (isName("fn") && isSymbol("(", 1)) return beginClosure(std::move(names), named);
  const bool literalParenthesis = isSymbol("(");
  const bool inverts = isName("not") && !isValueName("not");
  const bool call = !literalParenthesis && !atTensor() && !isName("_") && !inverts &&
                    (isSymbol("@") || (peek().kind == TokenKind::name && isSymbol("(", 1)));
  if (call) return statementCall(std::move(names), named);
  return statementExpression(std::move(names), named, std::nullopt);
}

// `%a, b, _ =`: names and commas up to an equals sign.
bool Parser::atNamedResults() const {
  for (size_t i = 0;; i += 2) {
    const TokenKind kind = peek(i).kind;
    if (kind != TokenKind::value && kind != TokenKind::name) return false;
    if (isSymbol("=", i + 1)) return true;
    if (!isSymbol(",", i + 1)) return false;
  }
}

Result<std::vector<NamedResult>> Parser::namedResults() {
  std::vector<NamedResult> names;
  for (;;) {
    const Token& token = peek();
    NamedResult name{std::string(text(token)), token.offset};
    ++at_;
    if (token.kind == TokenKind::value) {
      DYN_TRY(name.name, unquoted(source_, token));
    } else if (name.name == "_") {
      name.name.clear();
    }
    names.push_back(std::move(name));
    if (takeSymbol("=")) return names;
    ++at_;  // the comma
  }
}

Status Parser::statementCall(std::vector<NamedResult> names, bool named) {
  const uint32_t offset = peek().offset;
  DYN_TRY(Op op, callHead(0));
  if (atBody(op)) {
    Frame& f = frame();
    f.waiting = true;
    f.bodyName = context_.uniqueFunctionName(topName_ + "." + std::string(op.def->name));
    f.statement = std::move(op);
    f.names = std::move(names);
    f.named = named;
    return {};
  }
  const bool infixFollows = atInfix();
  const bool single = op.def->results == 1 || op.def->results < 0;
  if (infixFollows && single) {
    DYN_TRY(Operand first, emit(std::move(op), offset, 1));
    return statementExpression(std::move(names), named, std::move(first));
  }
  return finishStatement(std::move(op), std::move(names), named);
}

// The call (its bodies are read) gets its results, their names and types.
Status Parser::finishStatement(Op op, std::vector<NamedResult> names, bool named) {
  const auto declared = op.def->results;
  if (named && declared >= 0 && static_cast<size_t>(declared) != names.size()) {
    return error(DiagnosticId::badOperands,
                 "'" + std::string(op.def->name) + "' gives " + std::to_string(declared) +
                     (declared == 1 ? " result, not " : " results, not ") + std::to_string(names.size()),
                 names[0].offset);
  }
  std::vector<Type> types;
  bool typed = false;
  if (takeSymbol(":")) {
    typed = true;
    const size_t wanted = named ? names.size() : declared >= 0 ? static_cast<size_t>(declared) : 1;
    const uint32_t offset = peek().offset;
    if (wanted == 1) {
      DYN_TRY(Type single, type());
      types = {single};
    } else {
      DYN_TRY(types, typeList(0));
    }
    if (types.size() != wanted) {
      return error(
          DiagnosticId::badOperands,
          "here are " + std::to_string(types.size()) + " types for " + std::to_string(wanted) + " results",
          offset);
    }
  }
  size_t count = names.size();
  const bool returned = !named && (atBodyEnd() || isSymbol(","));
  if (!named) count = declared >= 0 ? static_cast<size_t>(declared) : (returned || typed) ? 1 : 0;
  for (size_t i = 0; i < count; ++i) {
    const ValueId id = context_.newValue(named ? names[i].name : std::string());
    op.results.push_back({id, typed ? types[i] : Type()});
    setType(id, op.results[i].type);
    if (named) DYN_CHECK(defineName(names[i], id));
  }
  guessDtype(op);
  std::vector<ValueId> results;
  for (const ValueDef& result : op.results) results.push_back(result.id);
  frame().ops.push_back(std::move(op));
  if (!returned) return {};
  if (results.empty()) return expected("'return'");
  if (results.size() == 1) {
    Operand only;
    only.id = results[0];
    only.op = static_cast<int64_t>(frame().ops.size()) - 1;
    return returnValues(std::move(only));
  }
  if (isSymbol(",")) return syntax("a call with several results cannot be one value of several");
  frame().function.results = std::move(results);
  return endBody();
}

Status Parser::statementExpression(std::vector<NamedResult> names, bool named, std::optional<Operand> first) {
  const uint32_t offset = first ? first->offset : peek().offset;
  if (first) {
    DYN_TRY(first, indexed(std::move(*first), 0));
  }
  DYN_TRY(Operand value, binary(0, std::move(first), 0));
  if (!named) {
    if (atBodyEnd() || isSymbol(",")) return returnValues(std::move(value));
    if (value.op >= 0 && !isSymbol(":")) return {};  // computed and not used
    return error(DiagnosticId::textSyntax, "this value is not used: give it a name, 'h = ...'", offset);
  }
  if (names.size() != 1)
    return error(DiagnosticId::badOperands, "an expression gives one result", names[0].offset);
  if (value.literal) {
    value.op = static_cast<int64_t>(frame().ops.size());
    DYN_TRY(value.id, valueOf(value));
  }
  if (value.op >= 0) context_.setValueName(value.id, names[0].name);
  if (isSymbol(":")) {
    if (value.op < 0)
      return syntax("only a new value can be given a type; this is another name of a value that has one");
    ++at_;
    DYN_TRY(Type given, type());
    frame().ops[static_cast<size_t>(value.op)].results[0].type = given;
    setType(value.id, given);
  }
  return defineName(names[0], value.id);
}

bool Parser::atBody(const Op& op) const {
  const std::string_view name = op.def->name;
  if (name == "if") return isName("then") || isName("else");
  if (name == "loop") return isName("body");
  if (name == "match") return isName("case");
  return (isName("region") || isName("body")) && isSymbol("(", 1);
}

Status Parser::beginBody() {
  Frame& outer = frame();
  const size_t number = outer.statement.regions.size();
  Frame inner;
  inner.function.place = source_.place(peek().offset);
  std::string label(text(peek()));
  if (outer.statement.def->name == "if" && label != (number == 0 ? "then" : "else")) {
    return expected(number == 0 ? "'then'" : "':' or the end of the statement");
  }
  ++at_;
  if (label == "case") {
    DYN_TRY(label, expectName("a constructor"));
    outer.constructors.push_back(label);
  } else if (label == "region") {
    label += std::to_string(number);
  }
  inner.function.name = outer.bodyName + "." + label;
  DYN_CHECK(signature(&inner));
  guessParameters(outer.statement, inner.function.parameters);
  stack_.push_back(std::move(inner));
  return {};
}

// Parameters of the bodies of `if` and `loop` most likely have the types of the operands that they stand for.
void Parser::guessParameters(const Op& statement, const std::vector<Parameter>& parameters) {
  const bool isLoop = statement.def->name == "loop";
  if (!isLoop && statement.def->name != "if") return;
  // Operands before them: the condition of `if`; of `loop` the trips too, whose place the iteration takes.
  for (size_t i = 0; i < parameters.size() && i + 1 < statement.operands.size(); ++i) {
    const auto known = dtypes_.find(statement.operands[i + 1]);
    if (isLoop && i == 0) {
      dtypes_.emplace(parameters[i].id, Dtype::i64);
    } else if (known != dtypes_.end()) {
      dtypes_.emplace(parameters[i].id, Dtype(known->second));
    }
  }
}

// The values behind `return`, or a bare expression that ends the body; `first` is read already.
Status Parser::returnValues(std::optional<Operand> first) {
  auto add = [&](const Operand& value) -> Status {
    frame().resultNames.push_back(nameWritten(value));
    DYN_TRY(ValueId id, valueOf(value));
    frame().function.results.push_back(id);
    return {};
  };
  if (first) DYN_CHECK(add(*first));
  bool more = first ? takeSymbol(",") : !atBodyEnd();
  while (more) {
    DYN_TRY(Operand value, expression(0));
    DYN_CHECK(add(value));
    more = takeSymbol(",");
  }
  return endBody();
}

// The name that an operand is, "" where it is more than a name.
std::string Parser::nameWritten(const Operand& value) const {
  if (value.literal || value.op >= 0) return "";
  const auto token = std::lower_bound(tokens_.begin(), tokens_.end(), value.offset,
                                      [](const Token& t, uint32_t offset) { return t.offset < offset; });
  if (token == tokens_.end() || token->offset != value.offset) return "";
  if (token->kind == TokenKind::name) return std::string(text(*token));
  if (token->kind != TokenKind::value) return "";
  Result<std::string> name = unquoted(source_, *token);
  return name.ok() ? *std::move(name) : "";
}

// What @main returns is called as `return` has it, also where a body inside has used the name before, or it
// is another name of the value. Inputs keep theirs.
void Parser::nameResults(const Frame& main) {
  const std::vector<ValueId>& results = main.function.results;
  std::unordered_set<ValueId> fixed;
  for (const Parameter& parameter : main.function.parameters) fixed.insert(parameter.id);
  for (size_t i = 0; i < results.size() && i < main.resultNames.size(); ++i) {
    const std::string& name = main.resultNames[i];
    if (name.empty() || !fixed.insert(results[i]).second || context_.valueName(results[i]) == name) continue;
    const ValueId holder = context_.findValue(name);
    if (holder != kNoValue && fixed.count(holder)) continue;
    if (holder != kNoValue) context_.setValueName(holder, "");
    context_.setValueName(results[i], name);
    if (holder != kNoValue) context_.setValueName(holder, name);
  }
}

Status Parser::endBody() {
  const bool prompt = environment_ && stack_.size() == 1;
  if (prompt) {
    takeSymbol(";");
    if (peek().kind != TokenKind::end) return expected("the end of the expression");
  } else {
    DYN_CHECK(expectSymbol("}", "after the values returned"));
  }
  Frame done = std::move(frame());
  stack_.pop_back();
  if (stack_.empty() && !prompt && done.function.name == "main") nameResults(done);
  if (!done.typesWritten) {
    for (ValueId id : done.function.results) done.function.resultTypes.push_back(typeOf(id));
  } else if (done.function.resultTypes.size() != done.function.results.size()) {
    return error(DiagnosticId::badOperands,
                 "the function declares " + std::to_string(done.function.resultTypes.size()) +
                     " results and returns " + std::to_string(done.function.results.size()),
                 tokens_[at_ - 1].offset);
  }
  done.function.ops.reserve(done.ops.size());
  for (Op& op : done.ops) done.function.ops.push_back(context_.own(std::move(op)));
  if (done.captures) {
    done.function.parameters.insert(done.function.parameters.begin(), done.captured.begin(),
                                    done.captured.end());
    frame().statement.attributes.set("callee", done.function.name);
    frame().statement.operands = std::move(done.capturedFrom);
    closures_.push_back(context_.own(std::move(done.function)));
    return {};
  }
  const Function* owned = context_.own(std::move(done.function));
  if (stack_.empty()) {
    finished_ = owned;
  } else {
    frame().statement.regions.push_back(owned);
  }
  return {};
}

}  // namespace dyn::text
