#include "frontends/text/parser.h"

#include "compiler/dims/dim_order.h"
#include "compiler/ir/walk.h"
#include "compiler/support/suggestion.h"
#include "frontends/text/parser_state.h"

namespace dyn::text {

Status Parser::start() {
  DYN_TRY(tokens_, tokenize(source_));
  return {};
}

bool Parser::isSymbol(std::string_view symbol, size_t ahead) const {
  const Token& token = peek(ahead);
  return token.kind == TokenKind::symbol && text(token) == symbol;
}

bool Parser::isName(std::string_view name, size_t ahead) const {
  const Token& token = peek(ahead);
  return token.kind == TokenKind::name && text(token) == name;
}

bool Parser::takeSymbol(std::string_view symbol) {
  if (!isSymbol(symbol)) return false;
  ++at_;
  return true;
}

bool Parser::takeName(std::string_view name) {
  if (!isName(name)) return false;
  ++at_;
  return true;
}

std::string Parser::shown(const Token& token) const {
  if (token.kind == TokenKind::end) return "the end of the text";
  std::string_view written = text(token);
  if (written.size() > 40) return "'" + std::string(written.substr(0, 37)) + "...'";
  return "'" + std::string(written) + "'";
}

Error Parser::expected(std::string_view what) const {
  return syntax(std::string(what) + " is expected, not " + shown(peek()));
}

Status Parser::expectSymbol(std::string_view symbol, std::string_view after) {
  if (takeSymbol(symbol)) return {};
  return syntax("'" + std::string(symbol) + "' is expected " + std::string(after) + ", not " + shown(peek()));
}

Result<std::string> Parser::expectName(std::string_view what) {
  const Token& token = peek();
  if (token.kind == TokenKind::name) {
    ++at_;
    return std::string(text(token));
  }
  if (token.kind != TokenKind::string) return expected(what);
  ++at_;
  return unquoted(source_, token);
}

Result<int64_t> Parser::expectInteger(std::string_view what) {
  const size_t before = at_;
  const bool negative = takeSymbol("-");
  if (peek().kind != TokenKind::number) {
    at_ = before;
    return expected(what);
  }
  DYN_TRY(int64_t value, integerOf(static_cast<uint32_t>(at_), negative, Dtype::i64));
  ++at_;
  return value;
}

Error Parser::unknown(std::string_view noun, std::string_view name, std::vector<std::string_view> known,
                      uint32_t offset) const {
  std::string message = "unknown " + std::string(noun) + " '" + std::string(name) + "'";
  // Looking through very many names takes long; there the hint is not worth it.
  const std::string near = known.size() <= 20000 ? suggestion(name, known) : "";
  if (!near.empty()) message += ", did you mean '" + near + "'?";
  return error(DiagnosticId::textName, std::move(message), offset);
}

// dim seq in 1..512 multiple 8 likely 17, 64 because "..."   dim a == b   dim a*b == product c   dim a <= b
Status Parser::fact() {
  const uint32_t offset = peek().offset;
  ++at_;
  auto dimHere = [&]() -> Result<Dim> {
    size_t end = at_;
    for (; tokens_[end].kind != TokenKind::end; ++end) {
      const std::string_view t = text(tokens_[end]);
      const bool word = tokens_[end].kind == TokenKind::name && end > at_;
      if (t == "==" || t == "<=" || t == ">=" || (end > at_ && tokens_[end].startsLine)) break;
      if (word && (t == "in" || t == "multiple" || t == "likely" || t == "because")) break;
    }
    return dimUpTo(end);
  };
  DYN_TRY(Dim dim, dimHere());
  struct Said {
    FactKind kind;
    Dim other;  // of a range: the dim that this one is compared with
    std::optional<int64_t> low, high;
    int64_t multiple = 1;
    std::vector<int64_t> likely;
    bool greater = false;  // this one is the greater of the two
  };
  std::vector<Said> said;
  Reason reason{"stated in the text", source_.place(offset)};
  while (!peek().startsLine && peek().kind != TokenKind::end) {
    if (takeSymbol("==")) {
      const bool product = takeName("product");
      DYN_TRY(Dim other, dimHere());
      said.push_back({product ? FactKind::equalProduct : FactKind::equal, other});
    } else if (isSymbol("<=") || isSymbol(">=")) {
      Said order{FactKind::range, Dim()};
      order.greater = isSymbol(">=");
      ++at_;
      DYN_TRY(order.other, dimHere());
      said.push_back(order);
    } else if (takeName("in")) {
      Said range{FactKind::range, Dim()};
      if (!isSymbol("..")) {
        DYN_TRY(range.low, expectInteger("the lower bound"));
      }
      DYN_CHECK(expectSymbol("..", "between the bounds"));
      if (!peek().startsLine && (peek().kind == TokenKind::number || isSymbol("-"))) {
        DYN_TRY(range.high, expectInteger("the upper bound"));
      }
      said.push_back(range);
    } else if (takeName("multiple")) {
      const uint32_t number = peek().offset;
      Said multiple{FactKind::multipleOf, Dim()};
      DYN_TRY(multiple.multiple, expectInteger("a number"));
      if (multiple.multiple < 1)
        return error(DiagnosticId::textSyntax, "a dim is a multiple of 1 or more", number);
      said.push_back(multiple);
    } else if (takeName("likely")) {
      Said likely{FactKind::likely, Dim()};
      do {
        DYN_TRY(int64_t value, expectInteger("a likely value"));
        likely.likely.push_back(value);
      } while (takeSymbol(","));
      said.push_back(likely);
    } else if (takeName("because")) {
      if (peek().kind != TokenKind::string) return expected("a reason in quotes");
      DYN_TRY(reason.text, unquoted(source_, peek()));
      ++at_;
    } else {
      return expected("'in', 'multiple', 'likely', 'because', '==', '<=' or '>='");
    }
  }
  if (said.empty()) return expected("'in', 'multiple', 'likely', '==', '<=' or '>='");
  DimSolver& solver = context_.facts();
  for (Said& s : said) {
    Status status;
    switch (s.kind) {
      case FactKind::equal:
        status = solver.addEqual(dim, s.other, reason);
        break;
      case FactKind::equalProduct:
        status = solver.addEqualProduct(dim, s.other, reason);
        break;
      case FactKind::range:
        status = !s.other    ? solver.addRange(dim, s.low, s.high, reason)
                 : s.greater ? addLessEqual(solver, s.other, dim, reason)
                             : addLessEqual(solver, dim, s.other, reason);
        break;
      case FactKind::multipleOf:
        status = solver.addMultipleOf(dim, s.multiple, reason);
        break;
      case FactKind::likely:
        solver.addLikely(dim, std::move(s.likely), reason);
        break;
    }
    if (status.ok()) continue;
    Error e = error(status.error().id, status.error().message, offset);
    for (const std::string& note : status.error().notes) e.diagnostic().notes.push_back(note);
    return e;
  }
  return {};
}

// fn @name(parameters) -> (types) { ... }
Result<const Function*> Parser::function() {
  Frame root;
  root.function.place = source_.place(peek().offset);
  ++at_;  // fn
  takeSymbol("@");
  DYN_TRY(root.function.name, expectName("the name of the function"));
  topName_ = root.function.name;
  DYN_CHECK(signature(&root));
  return bodies(std::move(root));
}

// type Tree { Leaf(Tensor[(300), f32]), Node(Tree, Tree) }
Result<DataType> Parser::dataType() {
  ++at_;  // type
  const uint32_t name = peek().offset;
  DataType type;
  DYN_TRY(type.name, expectName("the name of the type"));
  if (parseDtype(type.name)) {
    return error(DiagnosticId::textName, "'" + type.name + "' is an element type", name);
  }
  DYN_CHECK(expectSymbol("{", "before the constructors"));
  while (!isSymbol("}")) {
    DataConstructor constructor;
    const uint32_t offset = peek().offset;
    DYN_TRY(constructor.name, expectName("a constructor"));
    for (const DataConstructor& other : type.constructors) {
      if (other.name != constructor.name) continue;
      return error(DiagnosticId::textName, "the constructor " + other.name + " is given twice", offset);
    }
    if (isSymbol("(")) {
      DYN_TRY(constructor.fields, typeList(0));
    }
    type.constructors.push_back(std::move(constructor));
    if (!takeSymbol(",")) break;
  }
  DYN_CHECK(expectSymbol("}", "after the constructors"));
  return type;
}

// weights "bert.onnx"
Status Parser::weightsLine() {
  ++at_;  // weights
  const uint32_t offset = peek().offset;
  if (peek().kind != TokenKind::string) return expected("the name of a file in quotes");
  DYN_TRY(std::string file, unquoted(source_, peek()));
  ++at_;
  if (!options_.readWeights)
    return error(DiagnosticId::unsupportedFeature, "unsupported: here no files of weights are read", offset);
  Result<std::map<std::string, HostTensor>> read = options_.readWeights(file);
  if (!read.ok()) {
    Error wrong = error(read.error().id, read.error().message, offset);
    for (const std::string& note : read.error().notes) wrong.diagnostic().notes.push_back(note);
    return wrong;
  }
  for (auto& [name, tensor] : *read) {
    if (!weights_.emplace(name, std::move(tensor)).second)
      return error(DiagnosticId::textName, "two files have a weight \"" + name + "\"", offset);
  }
  return {};
}

Result<Module> Parser::module(Operators operators) {
  Module module;
  module.context = &context_;
  std::unordered_map<std::string, uint32_t> functionPlaces, typePlaces;
  while (peek().kind != TokenKind::end) {
    if (isName("fn")) {
      const uint32_t name = peek(isSymbol("@", 1) ? 2 : 1).offset;
      DYN_TRY(const Function* next, function());
      const auto [entry, isNew] = functionPlaces.emplace(next->name, name);
      if (!isNew) {
        return error(DiagnosticId::textName, "there are two functions @" + next->name, name)
            .note("the first at " + source_.place(entry->second).toString());
      }
      const bool first = next->name == "main";
      module.functions.insert(first ? module.functions.begin() : module.functions.end(), next);
      module.functions.insert(module.functions.end(), closures_.begin(), closures_.end());
      closures_.clear();
    } else if (isName("dim")) {
      DYN_CHECK(fact());
    } else if (isName("type")) {
      const uint32_t name = peek(1).offset;
      DYN_TRY(DataType type, dataType());
      if (!typePlaces.emplace(type.name, name).second) {
        return error(DiagnosticId::textName, "there are two types " + type.name, name);
      }
      knowConstructors(type);
      module.dataTypes.push_back(std::make_shared<const DataType>(std::move(type)));
    } else if (isName("weights")) {
      DYN_CHECK(weightsLine());
    } else if (isName("operator") && operators == Operators::skipped) {
      DYN_CHECK(skipBody());
    } else if (isName("operator")) {
      return error(
          DiagnosticId::unsupportedFeature,
          "unsupported: a module defines no operators; --ops FILE takes a file of them for ONNX models",
          peek().offset);
    } else {
      return expected("'fn', 'type', 'dim' or 'weights'");
    }
  }
  DYN_CHECK(checkTypeNames(module));
  return module;
}

void Parser::knowConstructors(const DataType& type) {
  for (const DataConstructor& constructor : type.constructors) {
    const auto [entry, isNew] = typeOfConstructor_.emplace(constructor.name, type.name);
    if (!isNew) entry->second.clear();
  }
}

Status Parser::checkTypeNames(const Module& module) {
  std::vector<std::string_view> known{"Tensor", "List", "Optional", "fn"};
  for (const auto& type : module.dataTypes) known.push_back(type->name);
  for (const auto& [name, offset] : usedTypes_) {
    if (!module.findData(name)) return unknown("type", name, known, offset);
  }
  return {};
}

Status Parser::atEnd() {
  if (peek().kind == TokenKind::end) return {};
  return expected("the end of the text");
}

Result<ParsedExpression> Parser::expressionModule(const Environment& environment) {
  environment_ = &environment;
  Frame root;
  root.function.name = "main";
  root.function.place = source_.place(0);
  topName_ = "main";
  if (environment.library) {
    for (const auto& type : environment.library->dataTypes) knowConstructors(*type);
  }
  DYN_TRY(const Function* main, bodies(std::move(root)));
  ParsedExpression result;
  result.module.context = &context_;
  result.module.functions.push_back(main);
  result.module.functions.insert(result.module.functions.end(), closures_.begin(), closures_.end());
  if (environment.library) addLibrary(result.module);
  DYN_CHECK(checkTypeNames(result.module));
  result.parameters = std::move(usedNames_);
  return result;
}

// Its @main, under another name, where no function of it calls it.
void Parser::addLibrary(Module& module) {
  const Module& library = *environment_->library;
  bool called = false;
  forEachOp(library, [&](const Function&, const Op& op) {
    called = called || (op.attributes.has("callee") && op.attributes.string("callee") == "main");
  });
  for (const Function* f : library.functions) {
    if (f->name != "main") {
      module.functions.push_back(f);
    } else if (!called) {
      Function renamed = *f;
      renamed.name = kLibraryMain;
      module.functions.push_back(context_.own(std::move(renamed)));
    }
  }
  module.dataTypes = library.dataTypes;
}

Result<Type> Parser::wholeType(const Module* library) {
  DYN_TRY(Type result, type());
  DYN_CHECK(atEnd());
  static const Module kNone;
  DYN_CHECK(checkTypeNames(library ? *library : kNone));
  return result;
}

Result<HostTensor> Parser::wholeTensor() {
  HostTensor result;
  if (atTensor()) {
    DYN_TRY(result, tensor());
  } else {
    if (!atLiteral()) return expected("a tensor or a literal");
    DYN_TRY(Literal read, literal());
    DYN_TRY(result, tensorOf(read, naturalDtype(read), read.shape));
  }
  DYN_CHECK(atEnd());
  return result;
}

Result<Module> parseModule(IrContext& context, std::string_view text, const ParseOptions& options) {
  Parser parser(context, text, options);
  DYN_CHECK(parser.start());
  return parser.module();
}

Environment Environment::of(std::map<std::string, Type> values) {
  Environment environment;
  const auto shared = std::make_shared<const std::map<std::string, Type>>(std::move(values));
  environment.typeOf = [shared](const std::string& name) {
    const auto found = shared->find(name);
    return found == shared->end() ? Type() : found->second;
  };
  environment.names = [shared] {
    std::vector<std::string> names;
    for (const auto& [name, type] : *shared) names.push_back(name);
    return names;
  };
  return environment;
}

Result<ParsedExpression> parseExpression(IrContext& context, std::string_view text,
                                         const Environment& environment, const ParseOptions& options) {
  Parser parser(context, text, options);
  DYN_CHECK(parser.start());
  return parser.expressionModule(environment);
}

Result<Type> parseType(IrContext& context, std::string_view text, const Module* library) {
  const ParseOptions options;
  Parser parser(context, text, options);
  DYN_CHECK(parser.start());
  return parser.wholeType(library);
}

Result<HostTensor> parseTensor(std::string_view text) {
  IrContext context;
  const ParseOptions options;
  Parser parser(context, text, options);
  DYN_CHECK(parser.start());
  return parser.wholeTensor();
}

}  // namespace dyn::text
