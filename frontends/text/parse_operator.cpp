// Definitions of operators (operators.h). An attribute's value always stands in the text: behind the file's
// end where a node gives one, so that places in the file stay what they are.
#include <charconv>
#include <cmath>

#include "compiler/ir/tensor_text.h"
#include "frontends/text/operators.h"
#include "frontends/text/parser_state.h"

namespace dyn::text {
namespace {

constexpr std::pair<std::string_view, AttributeKind> kKinds[] = {
    {"int", AttributeKind::integer},   {"float", AttributeKind::real},   {"string", AttributeKind::string},
    {"ints", AttributeKind::integers}, {"floats", AttributeKind::reals}, {"strings", AttributeKind::strings},
    {"dtype", AttributeKind::dtype},   {"tensor", AttributeKind::tensor}};

std::string written(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value);
  std::string text(digits, end.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string written(int64_t value) { return std::to_string(value); }
std::string written(const std::string& value) {
  std::string text;
  appendQuoted(&text, value);
  return text;
}

template <typename T>
std::string written(const std::vector<T>& values) {
  std::string text = "[";
  for (const T& value : values) text += (text.size() > 1 ? ", " : "") + written(value);
  return text + "]";
}

// The value as the text has it; a tensor is a weight of the attribute's name.
std::string valueText(const OperatorAttribute& attribute, const AttributeValue& value) {
  switch (attribute.kind) {
    case AttributeKind::integer:
      return written(std::get<int64_t>(value));
    case AttributeKind::real:
      return written(std::get<double>(value));
    case AttributeKind::string:
      return written(std::get<std::string>(value));
    case AttributeKind::integers:
      return written(std::get<std::vector<int64_t>>(value));
    case AttributeKind::reals:
      return written(std::get<std::vector<double>>(value));
    case AttributeKind::strings:
      return written(std::get<std::vector<std::string>>(value));
    case AttributeKind::dtype:
      return std::string(toString(std::get<Dtype>(value)));
    default:
      break;
  }
  const HostTensor& tensor = std::get<HostTensor>(value);
  return tensorHead(tensor) + " <weight " + written(attribute.name) + ">";
}

AttributeValue exampleOf(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::integer:
      return int64_t{0};
    case AttributeKind::real:
      return 0.5;
    case AttributeKind::string:
      return std::string("a");
    case AttributeKind::integers:
      return std::vector<int64_t>{0};
    case AttributeKind::reals:
      return std::vector<double>{0.5};
    case AttributeKind::strings:
      return std::vector<std::string>{"a"};
    case AttributeKind::dtype:
      return Dtype::f32;
    default:
      return HostTensor::scalar(Dtype::f32, 0);
  }
}

// com.acme::Swish → Swish: what bodies inside of it are called.
std::string plainName(std::string_view name) {
  const size_t colon = name.rfind(':');
  return std::string(colon == std::string_view::npos ? name : name.substr(colon + 1));
}

}  // namespace

// operator "com.acme::Swish"(x, bias?, beta: float = 1.0) {: what stands before the body.
Result<OperatorDefinition> Parser::operatorSignature() {
  OperatorDefinition definition;
  definition.begin = peek().offset;
  definition.place = source_.place(peek().offset);
  ++at_;  // operator
  DYN_TRY(definition.name, expectName("the name of the operator, as in \"com.acme::Swish\","));
  DYN_CHECK(expectSymbol("(", "before the parameters"));
  std::unordered_set<std::string> names;
  attributeTokens_.clear();
  while (!isSymbol(")")) {
    const uint32_t offset = peek().offset;
    if (peek().kind != TokenKind::name) return expected("a parameter");
    std::string name(text(tokens_[at_++]));
    if (!names.insert(name).second)
      return error(DiagnosticId::textName, "the parameter '" + name + "' is given twice", offset);
    if (takeSymbol(":")) {
      DYN_TRY(OperatorAttribute attribute, operatorAttribute(std::move(name)));
      definition.attributes.push_back(std::move(attribute));
    } else {
      definition.inputs.push_back({std::move(name), takeSymbol("?")});
    }
    if (!takeSymbol(",")) break;
  }
  DYN_CHECK(expectSymbol(")", "after the parameters"));
  return definition;
}

// float = 1.0   int == 2
Result<OperatorAttribute> Parser::operatorAttribute(std::string name) {
  OperatorAttribute attribute;
  const uint32_t offset = peek().offset;
  const std::string_view kind = text(peek());
  std::vector<std::string_view> known;
  bool found = false;
  for (const auto& [word, value] : kKinds) {
    known.push_back(word);
    if (word != kind) continue;
    attribute.kind = value;
    found = true;
  }
  if (isName("Tensor"))
    return syntax("an input of an operator has no type: it takes that of the model's value");
  if (!found) return unknown("kind of attribute", kind, std::move(known), offset);
  ++at_;
  const bool demanded = takeSymbol("==");
  attribute.required = !demanded && !takeSymbol("=");
  if (!attribute.required) {
    const size_t value = at_;
    DYN_TRY(AttributeValue read, attributeValue(attribute.kind));
    if (kindOf(read) != attribute.kind)
      return error(
          DiagnosticId::badAttribute,
          "the attribute '" + name + "' is of kind " + std::string(kind) + ", not " + toString(kindOf(read)),
          tokens_[value].offset);
    attributeTokens_.emplace(name, value);
    if (demanded) attribute.demanded = std::move(read);
  }
  attribute.name = std::move(name);
  return attribute;
}

// What the name that stands here is as an attribute of the operator: the token at which its value begins.
const size_t* Parser::valueOfAttribute() const {
  if (attributeTokens_.empty() || peek().kind != TokenKind::name) return nullptr;
  const auto found = attributeTokens_.find(std::string(text(peek())));
  if (found == attributeTokens_.end()) return nullptr;
  const bool hidden = !stack_.empty() && stack_.back().scope.count(found->first) != 0;
  return hidden ? nullptr : &found->second;
}

// To behind the next body.
Status Parser::skipBody() {
  while (!isSymbol("{") && peek().kind != TokenKind::end) ++at_;
  for (int depth = 0; peek().kind != TokenKind::end;) {
    if (isSymbol("{")) ++depth;
    if (isSymbol("}")) --depth;
    ++at_;
    if (depth == 0) return {};
  }
  return expected("'}'");
}

Result<std::vector<OperatorDefinition>> Parser::operatorDefinitions() {
  std::vector<OperatorDefinition> definitions;
  while (peek().kind != TokenKind::end) {
    if (isName("operator")) {
      DYN_TRY(OperatorDefinition definition, operatorSignature());
      if (!isSymbol("{")) return expected("'{' before the body");
      definitions.push_back(std::move(definition));
      DYN_CHECK(skipBody());
    } else if (isName("fn")) {
      DYN_CHECK(skipBody());
    } else if (isName("type")) {
      DYN_TRY([[maybe_unused]] const DataType ignored, dataType());
    } else {
      return expected("'operator', 'fn' or 'type'");
    }
  }
  return definitions;
}

// `values`: where those begin that a node gives, behind the end of the file.
Result<OperatorBody> Parser::operatorBody(const OperatorDefinition& definition, uint32_t fileEnd,
                                          const std::map<std::string, uint32_t>& values,
                                          std::span<const std::optional<Dtype>> inputs) {
  OperatorBody body;
  while (peek().kind != TokenKind::end && peek().offset < fileEnd) {
    if (isName("type")) {
      DYN_TRY(const DataType type, dataType());
      knowConstructors(type);
    } else if (isName("operator") && peek().offset == definition.begin) {
      DYN_TRY([[maybe_unused]] const OperatorDefinition again, operatorSignature());
      for (const auto& [name, offset] : values) {
        const auto token = std::lower_bound(tokens_.begin(), tokens_.end(), offset,
                                            [](const Token& t, uint32_t place) { return t.offset < place; });
        attributeTokens_[name] = static_cast<size_t>(token - tokens_.begin());
      }
      Frame root;
      root.function.place = definition.place;
      topName_ = root.function.name = context_.uniqueFunctionName(plainName(definition.name));
      for (size_t i = 0; i != definition.inputs.size(); ++i) {
        const OperatorInput& input = definition.inputs[i];
        const ValueId id = context_.newValue();
        if (i < inputs.size() && inputs[i]) dtypes_[id] = *inputs[i];
        root.function.parameters.push_back({id, Type()});
        root.scope.emplace(input.name, std::pair{id, definition.begin});
      }
      DYN_CHECK(expectSymbol("{", "before the body"));
      inOperator_ = true;
      DYN_TRY(body.function, bodies(std::move(root)));
      inOperator_ = false;
      body.closures = std::move(closures_);
      attributeTokens_.clear();
    } else {
      DYN_CHECK(skipBody());
    }
  }
  return body;
}

bool OperatorDefinition::takes(const std::vector<bool>& given) const {
  if (given.size() > inputs.size()) return false;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].optional && (i >= given.size() || !given[i])) return false;
  return true;
}

Result<OperatorFile> OperatorFile::parse(std::string text, ParseOptions options) {
  OperatorFile file(std::move(text), std::move(options));
  IrContext context;
  Parser parser(context, file.text_, file.options_);
  DYN_CHECK(parser.start());
  DYN_TRY(file.definitions_, parser.operatorDefinitions());
  DYN_CHECK(file.check());
  return file;
}

Status OperatorFile::check() {
  IrContext context;
  DYN_TRY([[maybe_unused]] const Module beside, functions(context));
  for (OperatorDefinition& definition : definitions_) {
    OperatorAttributes examples;
    for (const OperatorAttribute& attribute : definition.attributes)
      if (attribute.required) examples.emplace(attribute.name, exampleOf(attribute.kind));
    DYN_TRY(const OperatorBody body, expand(context, definition, examples));
    definition.results = body.function->results.size();
  }
  return {};
}

bool OperatorFile::defines(std::string_view name) const {
  for (const OperatorDefinition& definition : definitions_)
    if (definition.name == name) return true;
  return false;
}

Result<OperatorBody> OperatorFile::expand(IrContext& context, const OperatorDefinition& definition,
                                          const OperatorAttributes& attributes,
                                          std::span<const std::optional<Dtype>> inputs) const {
  std::string text = text_;
  std::map<std::string, uint32_t> values;
  std::map<std::string, HostTensor> tensors;
  for (const OperatorAttribute& attribute : definition.attributes) {
    const auto given = attributes.find(attribute.name);
    if (given == attributes.end()) continue;
    text += '\n';
    values.emplace(attribute.name, static_cast<uint32_t>(text.size()));
    text += valueText(attribute, given->second);
    if (const HostTensor* tensor = std::get_if<HostTensor>(&given->second))
      tensors.emplace(attribute.name, *tensor);
  }
  ParseOptions options = options_;
  options.weights = &tensors;
  Parser parser(context, text, options);
  DYN_CHECK(parser.start());
  return parser.operatorBody(definition, static_cast<uint32_t>(text_.size()), values, inputs);
}

Result<Module> OperatorFile::functions(IrContext& context) const {
  Parser parser(context, text_, options_);
  DYN_CHECK(parser.start());
  return parser.module(Parser::Operators::skipped);
}

}  // namespace dyn::text
