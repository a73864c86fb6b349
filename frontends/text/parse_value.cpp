// Dims, types, tensors and attributes.
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/ir/checksum.h"
#include "compiler/ir/tensor_text.h"
#include "frontends/text/parser_state.h"

namespace dyn::text {

Result<Dim> Parser::dimUpTo(size_t endToken) {
  if (endToken <= at_) return expected("a dim");
  const uint32_t begin = peek().offset;
  const Token& last = tokens_[endToken - 1];
  const std::string written(source_.text().substr(begin, last.offset + last.length - begin));
  const auto known = dims_.find(written);
  if (known != dims_.end()) {
    at_ = endToken;
    return known->second;
  }
  bool fresh = false;  // a bare `?` is another dim each time
  for (size_t i = at_; i < endToken; ++i) {
    const Token& next = tokens_[i + 1];
    const bool numbered = next.kind == TokenKind::number && next.offset == tokens_[i].offset + 1;
    fresh |= text(tokens_[i]) == "?" && !numbered;
  }
  Result<Dim> dim = parseDim(context_.dims(), written);
  if (!dim.ok()) {
    const uint32_t column = std::max(dim.error().place.column, 1u) - 1;
    std::string message = dim.error().message;
    const size_t prefix = message.rfind("dim text, column", 0) == 0 ? message.find(": ") : std::string::npos;
    if (prefix != std::string::npos) message = "in this dim: " + message.substr(prefix + 2);
    return error(dim.error().id, std::move(message), begin + column);
  }
  // Bodies of operators become parts of the model's function, where the name may mean another size.
  if (inOperator_)
    for (const SymbolId symbol : symbolsOf(*dim))
      if (!context_.dims().isAnonymous(symbol))
        return error(DiagnosticId::unsupportedFeature,
                     "unsupported: a named size in the body of an operator: write ?, or call a function (fn)",
                     begin);
  if (!fresh) dims_.emplace(written, *dim);
  at_ = endToken;
  return *dim;
}

Result<Shape> Parser::shape() {
  DYN_CHECK(expectSymbol("(", "before the dims"));
  Shape dims;
  while (!isSymbol(")")) {
    size_t end = at_;
    for (int depth = 0; tokens_[end].kind != TokenKind::end; ++end) {
      const std::string_view t = text(tokens_[end]);
      if (depth == 0 && (t == "," || t == ")")) break;
      if (t == "(") ++depth;
      if (t == ")") --depth;
    }
    DYN_TRY(Dim dim, dimUpTo(end));
    dims.push_back(dim);
    if (!takeSymbol(",")) break;
  }
  DYN_CHECK(expectSymbol(")", "after the dims"));
  return dims;
}

Result<Dtype> Parser::dtype() {
  const std::optional<Dtype> found =
      peek().kind == TokenKind::name ? parseDtype(text(peek())) : std::optional<Dtype>();
  if (!found) {
    std::vector<std::string_view> known;
    for (int i = 0; i < dtypeCount(); ++i) known.push_back(toString(static_cast<Dtype>(i)));
    if (peek().kind != TokenKind::name) return expected("an element type");
    return unknown("element type", text(peek()), std::move(known), peek().offset);
  }
  ++at_;
  return *found;
}

Result<Type> Parser::type(int depth) {
  if (depth > kMaxDepth) return syntax("types cannot be nested deeper than " + std::to_string(kMaxDepth));
  if (takeName("Tensor")) {
    DYN_CHECK(expectSymbol("[", "after Tensor"));
    DYN_TRY(Shape dims, shape());
    DYN_CHECK(expectSymbol(",", "between dims and element type"));
    DYN_TRY(Dtype element, dtype());
    DYN_CHECK(expectSymbol("]", "after the element type"));
    return context_.tensorType(std::move(dims), element);
  }
  const bool list = isName("List") && isSymbol("[", 1);
  if (list || (isName("Optional") && isSymbol("[", 1))) {
    at_ += 2;
    DYN_TRY(Type element, type(depth + 1));
    DYN_CHECK(expectSymbol("]", "after the type of the element"));
    return list ? context_.listType(element) : context_.optionalType(element);
  }
  if (isName("fn") && isSymbol("(", 1)) {
    ++at_;
    DYN_TRY(std::vector<Type> parameters, typeList(depth + 1));
    DYN_CHECK(expectSymbol("->", "after the types of the parameters"));
    DYN_TRY(std::vector<Type> results, typeList(depth + 1));
    return context_.functionType(std::move(parameters), std::move(results));
  }
  if (isSymbol("(")) {
    DYN_TRY(std::vector<Type> fields, typeList(depth + 1));
    return context_.tupleType(std::move(fields));
  }
  if (peek().kind != TokenKind::name && peek().kind != TokenKind::string) return expected("a type");
  const uint32_t offset = peek().offset;
  if (isName("_")) return expected("a type");
  DYN_TRY(std::string name, expectName("a type"));
  if (seenTypes_.insert(name).second) usedTypes_.emplace_back(name, offset);
  return context_.dataType(name);
}

Result<Type> Parser::typeOrNone(int depth) {
  if (takeName("_")) return Type();
  return type(depth);
}

// (T1, T2), (T1,), (); `_` for a type not known yet.
Result<std::vector<Type>> Parser::typeList(int depth) {
  DYN_CHECK(expectSymbol("(", "before a list of types"));
  std::vector<Type> types;
  while (!isSymbol(")")) {
    DYN_TRY(Type next, typeOrNone(depth));
    types.push_back(next);
    if (!takeSymbol(",")) break;
  }
  DYN_CHECK(expectSymbol(")", "after the types"));
  return types;
}

bool Parser::atTensor() const {
  return peek().kind == TokenKind::name && isSymbol("[", 1) && parseDtype(text(peek())).has_value();
}

Result<HostTensor> Parser::tensor() {
  const uint32_t offset = peek().offset;
  DYN_TRY(Dtype element, dtype());
  DYN_CHECK(expectSymbol("[", "after the element type"));
  std::vector<int64_t> shape;
  while (!isSymbol("]")) {
    DYN_TRY(int64_t extent, expectInteger("a size"));
    if (extent < 0)
      return error(DiagnosticId::textSyntax, "a size cannot be negative", tokens_[at_ - 1].offset);
    shape.push_back(extent);
    if (!takeSymbol(",")) break;
  }
  DYN_CHECK(expectSymbol("]", "after the sizes"));
  if (isSymbol("<")) return weight(element, shape, offset);
  if (!atLiteral()) return expected("the elements of the tensor");
  DYN_TRY(Literal elements, literal());
  return tensorOf(elements, element, shape);
}

Result<HostTensor> Parser::weight(Dtype dtype, const std::vector<int64_t>& shape, uint32_t offset) {
  DYN_CHECK(expectSymbol("<", "before a reference to a weight"));
  if (!takeName("weight")) return expected("'weight'");
  const uint32_t nameOffset = peek().offset;
  DYN_TRY(std::string name, expectName("the name of the weight"));
  std::optional<uint64_t> checksum;
  if (takeSymbol(",")) {
    if (!takeName("crc32")) return expected("'crc32'");
    std::optional<uint64_t> bits;
    if (peek().kind != TokenKind::number) return expected("a checksum");
    DYN_TRY(double ignored, realOf(static_cast<uint32_t>(at_), false, Dtype::f32, &bits));
    (void)ignored;
    if (!bits) return expected("a checksum like 0x1a2b3c4d");
    checksum = bits;
    ++at_;
  }
  DYN_CHECK(expectSymbol(">", "after the weight"));
  const std::map<std::string, HostTensor>& weights = options_.weights ? *options_.weights : weights_;
  if (weights.empty()) {
    return error(DiagnosticId::textName,
                 "the weight \"" + name + "\" is not at hand: the text was given without weights",
                 nameOffset);
  }
  const auto found = weights.find(name);
  if (found == weights.end()) {
    std::vector<std::string_view> known;
    for (const auto& entry : weights) known.push_back(entry.first);
    return unknown("weight", name, std::move(known), nameOffset);
  }
  const HostTensor& tensor = found->second;
  if (tensor.dtype() != dtype || tensor.shape() != shape) {
    return error(DiagnosticId::typeMismatch, "the weight \"" + name + "\" at hand is " + tensorHead(tensor),
                 offset);
  }
  if (checksum && *checksum != crc32(tensor)) {
    return error(DiagnosticId::textSyntax,
                 "the weight \"" + name + "\" at hand has other contents (checksum differs)", nameOffset);
  }
  return tensor;
}

bool Parser::atLiteral() const {
  const Token& t = peek();
  if (t.kind == TokenKind::number || t.kind == TokenKind::string) return true;
  if (t.kind == TokenKind::name) {
    const std::string_view name = text(t);
    return name == "true" || name == "false" || name == "nan" || name == "inf";
  }
  if (text(t) == "[") return true;
  if (text(t) == "-") return peek(1).kind == TokenKind::number || isName("inf", 1) || isName("nan", 1);
  // A complex number: (1, -2)
  if (text(t) != "(") return false;
  size_t i = 1;
  if (isSymbol("-", i)) ++i;
  return (peek(i).kind == TokenKind::number || isName("nan", i) || isName("inf", i)) && isSymbol(",", i + 1);
}

// A bare element, or nested brackets with the same number of items at each level. Reads without recursion:
// lists may be long and deep.
Result<Literal> Parser::literal() {
  Literal result;
  if (!isSymbol("[")) {
    DYN_TRY(Element single, element(&result));
    result.elements.push_back(single);
    return result;
  }
  std::vector<int64_t> open;     // items read so far in each open bracket
  std::vector<int64_t> extents;  // of each level, -1 = not known yet
  size_t leafLevel = 0;          // depth of the elements, 0 = none seen yet
  do {
    const uint32_t offset = peek().offset;
    if (takeSymbol("[")) {
      if (leafLevel != 0 && open.size() >= leafLevel)
        return error(DiagnosticId::textSyntax, "this list mixes elements and lists", offset);
      if (open.size() >= static_cast<size_t>(kMaxDepth))
        return error(DiagnosticId::textSyntax,
                     "lists cannot be nested deeper than " + std::to_string(kMaxDepth), offset);
      if (!open.empty()) ++open.back();
      open.push_back(0);
      if (extents.size() < open.size()) extents.push_back(-1);
      if (!isSymbol("]")) continue;
    } else {
      DYN_TRY(Element next, element(&result));
      if (leafLevel == 0) leafLevel = open.size();
      if (leafLevel != open.size())
        return error(DiagnosticId::textSyntax, "this list mixes elements and lists", offset);
      result.elements.push_back(next);
      ++open.back();
    }
    // Behind an item: a comma, or the ends of lists.
    while (!open.empty()) {
      if (takeSymbol(",") && !isSymbol("]")) break;
      const uint32_t end = peek().offset;
      DYN_CHECK(expectSymbol("]", "to end the list"));
      int64_t& extent = extents[open.size() - 1];
      if (extent < 0) extent = open.back();
      if (extent != open.back()) {
        return error(DiagnosticId::textSyntax,
                     "this list has " + std::to_string(open.back()) + " items, the one before it " +
                         std::to_string(extent),
                     end);
      }
      open.pop_back();
    }
  } while (!open.empty());
  if (leafLevel != 0 && extents.size() > leafLevel) return syntax("this list mixes elements and lists");
  result.shape = std::move(extents);
  return result;
}

Status Parser::elementNumber(Element* into, bool imaginary, Literal* literal) {
  bool& negative = imaginary ? into->imaginaryNegative : into->negative;
  negative = takeSymbol("-");
  const Token& t = peek();
  const std::string_view written = text(t);
  const bool special = t.kind == TokenKind::name && (written == "nan" || written == "inf");
  if (t.kind != TokenKind::number && !special) return expected("a number");
  (imaginary ? into->imaginary : into->token) = static_cast<uint32_t>(at_);
  const bool hex = written.substr(0, 2) == "0x" || written.substr(0, 2) == "0X";
  const bool real = special || (!hex && written.find_first_of(".eE") != std::string_view::npos);
  if (real && literal->kind == Literal::Kind::integer) literal->kind = Literal::Kind::real;
  ++at_;
  return {};
}

Result<Element> Parser::element(Literal* into) {
  Element element;
  const bool first = into->elements.empty();
  auto become = [&](Literal::Kind kind) -> Status {
    if (!first && into->kind != kind) return syntax("this list mixes elements of different kinds");
    into->kind = kind;
    return {};
  };
  const Token& t = peek();
  if (t.kind == TokenKind::string || isName("true") || isName("false")) {
    DYN_CHECK(become(t.kind == TokenKind::string ? Literal::Kind::string : Literal::Kind::boolean));
    element.token = static_cast<uint32_t>(at_++);
    return element;
  }
  if (takeSymbol("(")) {
    DYN_CHECK(become(Literal::Kind::complex));
    DYN_CHECK(elementNumber(&element, false, into));
    DYN_CHECK(expectSymbol(",", "between the real and the imaginary part"));
    DYN_CHECK(elementNumber(&element, true, into));
    DYN_CHECK(expectSymbol(")", "after the imaginary part"));
    return element;
  }
  if (!first && into->kind != Literal::Kind::integer && into->kind != Literal::Kind::real) {
    return syntax("this list mixes elements of different kinds");
  }
  DYN_CHECK(elementNumber(&element, false, into));
  return element;
}

Dtype Parser::naturalDtype(const Literal& literal) {
  switch (literal.kind) {
    case Literal::Kind::integer:
      return Dtype::i64;
    case Literal::Kind::real:
      return Dtype::f32;
    case Literal::Kind::boolean:
      return Dtype::boolean;
    case Literal::Kind::string:
      return Dtype::string;
    case Literal::Kind::complex:
      return Dtype::c64;
  }
  return Dtype::f32;
}

// The elements may be written flat, or nested as the shape says.
Result<HostTensor> Parser::tensorOf(const Literal& literal, Dtype dtype, const std::vector<int64_t>& shape) {
  const uint32_t offset =
      literal.elements.empty() ? tokens_[at_ - 1].offset : tokens_[literal.elements[0].token].offset;
  bool empty = false;
  for (int64_t extent : shape) empty |= extent == 0;
  std::optional<int64_t> count = empty ? 0 : 1;
  for (int64_t extent : shape) count = count && !empty ? checkedMul(*count, extent) : count;
  const auto given = static_cast<int64_t>(literal.elements.size());
  if (!count || *count != given) {
    return error(DiagnosticId::textSyntax,
                 "the tensor's shape wants " + (count ? std::to_string(*count) : "more than 2^63") +
                     " elements, here are " + std::to_string(given),
                 offset);
  }
  if (!empty && literal.shape.size() > 1 && literal.shape != shape) {
    return error(DiagnosticId::textSyntax, "the elements are nested otherwise than the tensor's shape says",
                 offset);
  }
  if (!empty && literal.shape.empty() != shape.empty()) {
    return error(
        DiagnosticId::textSyntax,
        shape.empty() ? "a tensor without axes takes a bare element" : "the elements stand in brackets",
        offset);
  }
  Result<HostTensor> tensor = HostTensor::create(dtype, shape);
  if (!tensor.ok()) return error(tensor.error().id, tensor.error().message, offset);
  for (int64_t i = 0; i < given; ++i)
    DYN_CHECK(setElement(&*tensor, i, literal.elements[static_cast<size_t>(i)]));
  return std::move(*tensor);
}

Status Parser::setElement(HostTensor* tensor, int64_t flat, const Element& element) {
  const Token& t = tokens_[element.token];
  const Dtype dtype = tensor->dtype();
  auto wrong = [&] {
    return error(DiagnosticId::typeMismatch,
                 "'" + std::string(text(t)) + "' is not an element of " + std::string(toString(dtype)),
                 t.offset);
  };
  const bool isBoolean = t.kind == TokenKind::name && (text(t) == "true" || text(t) == "false");
  switch (dtypeClass(dtype)) {
    case DtypeClass::text: {
      if (t.kind != TokenKind::string) return wrong();
      DYN_TRY(std::string value, unquoted(source_, t));
      tensor->mutableStringValues()[static_cast<size_t>(flat)] = std::move(value);
      return {};
    }
    case DtypeClass::boolean:
      if (!isBoolean && text(t) != "0" && text(t) != "1") return wrong();
      tensor->setInt(flat, text(t) == "true" || text(t) == "1");
      return {};
    case DtypeClass::integer:
    case DtypeClass::natural: {
      if (t.kind != TokenKind::number || element.imaginary) return wrong();
      DYN_TRY(int64_t value, integerOf(element.token, element.negative, dtype));
      tensor->setInt(flat, value);
      return {};
    }
    case DtypeClass::real: {
      if (t.kind == TokenKind::string || isBoolean || element.imaginary) return wrong();
      std::optional<uint64_t> bits;
      DYN_TRY(double value, realOf(element.token, element.negative, dtype, &bits));
      if (!bits) {
        tensor->setReal(flat, value);
        return {};
      }
      const auto bytes = static_cast<size_t>(storageBytes(dtype));
      if (bytes < 8 && *bits >> (8 * bytes) != 0) return wrong();
      std::memcpy(tensor->mutableData() + flat * static_cast<int64_t>(bytes), &*bits, bytes);
      return {};
    }
    case DtypeClass::complex: {
      if (t.kind == TokenKind::string || isBoolean) return wrong();
      const Dtype part = dtype == Dtype::c64 ? Dtype::f32 : Dtype::f64;
      std::optional<uint64_t> bits;
      DYN_TRY(double real, realOf(element.token, element.negative, part, &bits));
      double imaginary = 0;
      if (element.imaginary) {
        DYN_TRY(double value, realOf(element.imaginary, element.imaginaryNegative, part, &bits));
        imaginary = value;
      }
      if (part == Dtype::f32) {
        tensor->mutableAs<float>()[2 * flat] = static_cast<float>(real);
        tensor->mutableAs<float>()[2 * flat + 1] = static_cast<float>(imaginary);
      } else {
        tensor->mutableAs<double>()[2 * flat] = real;
        tensor->mutableAs<double>()[2 * flat + 1] = imaginary;
      }
      return {};
    }
  }
  return wrong();
}

namespace {

std::string withoutSeparators(std::string_view number) {  // 1_000
  std::string digits(number);
  std::erase(digits, '_');
  return digits;
}

}  // namespace

Result<int64_t> Parser::integerOf(uint32_t token, bool negative, Dtype dtype) const {
  const Token& t = tokens_[token];
  const std::string written = withoutSeparators(text(t));
  std::string_view digits = written;
  int base = 10;
  if (digits.substr(0, 2) == "0x" || digits.substr(0, 2) == "0X") {
    digits.remove_prefix(2);
    base = 16;
  }
  uint64_t magnitude = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, base);
  if (parsed.ptr != digits.data() + digits.size() && parsed.ec == std::errc()) {
    return error(DiagnosticId::textSyntax, "an integer is expected, not " + std::string(text(t)), t.offset);
  }
  // What the dtype holds: 0 .. high, or -high-1 .. high.
  static constexpr std::pair<Dtype, int> kBits[] = {
      {Dtype::u64, 64}, {Dtype::u32, 32}, {Dtype::u16, 16}, {Dtype::u8, 8}, {Dtype::u4, 4}, {Dtype::u2, 2},
      {Dtype::i64, 63}, {Dtype::i32, 31}, {Dtype::i16, 15}, {Dtype::i8, 7}, {Dtype::i4, 3}, {Dtype::i2, 1}};
  uint64_t high = INT64_MAX;
  for (const auto& [kind, bits] : kBits) {
    if (kind == dtype) high = bits == 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1;
  }
  const uint64_t limit = !negative ? high : isSigned(dtype) ? high + 1 : 0;
  if (parsed.ec != std::errc() || magnitude > limit) {
    return error(
        DiagnosticId::typeMismatch,
        (negative ? "-" : "") + std::string(text(t)) + " does not fit in " + std::string(toString(dtype)),
        t.offset);
  }
  return static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
}

// `bits` is set instead for 0x...: the storage bits of the element.
Result<double> Parser::realOf(uint32_t token, bool negative, Dtype dtype,
                              std::optional<uint64_t>* bits) const {
  const Token& t = tokens_[token];
  const std::string written = withoutSeparators(text(t));
  const char* end = written.data() + written.size();
  double value = 0;
  if (written == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (written == "inf") {
    value = std::numeric_limits<double>::infinity();
  } else if (written.starts_with("0x") || written.starts_with("0X")) {
    uint64_t raw = 0;
    const auto parsed = std::from_chars(written.data() + 2, end, raw, 16);
    if (parsed.ec != std::errc() || parsed.ptr != end)
      return error(DiagnosticId::textSyntax, "these are more than 64 bits", t.offset);
    if (bits) *bits = raw;
    return 0.0;
  } else {
    std::from_chars_result parsed{};
    // f32: rounded once, from the decimal. f8e8m0 rounds up: the short decimal of a power of two must first
    // be that power again.
    if (dtype == Dtype::f32 || dtype == Dtype::f8e8m0) {
      float single = 0;
      parsed = std::from_chars(written.data(), end, single);
      value = single;
    } else {
      parsed = std::from_chars(written.data(), end, value);
    }
    if (parsed.ec == std::errc::result_out_of_range) {
      // Too large or too small for the type; the exponent's sign tells which.
      const bool tiny =
          written.find("e-") != std::string_view::npos || written.find("E-") != std::string_view::npos;
      if (!tiny)
        return error(
            DiagnosticId::typeMismatch,
            written + " does not fit in " + std::string(toString(dtype)) + ": infinity is written inf",
            t.offset);
      value = 0;
    } else if (parsed.ec != std::errc() || parsed.ptr != end) {
      return error(DiagnosticId::textSyntax, "a number is expected, not " + written, t.offset);
    }
  }
  return negative ? -value : value;
}

Result<AttributeValue> Parser::attributeList(std::optional<AttributeKind> wanted) {
  const uint32_t offset = peek().offset;
  DYN_TRY(Literal list, literal());
  if (list.shape.size() != 1)
    return error(DiagnosticId::textSyntax,
                 "an attribute's list cannot be nested: write a tensor, f32[2, 2] [[1, 2], [3, 4]]", offset);
  const bool asReals = list.kind == Literal::Kind::real ||
                       (list.kind == Literal::Kind::integer && wanted == AttributeKind::reals);
  if (list.kind == Literal::Kind::string || (list.elements.empty() && wanted == AttributeKind::strings)) {
    std::vector<std::string> values;
    for (const Element& e : list.elements) {
      DYN_TRY(std::string value, unquoted(source_, tokens_[e.token]));
      values.push_back(std::move(value));
    }
    return AttributeValue(std::move(values));
  }
  if (asReals) {
    std::vector<double> values;
    for (const Element& e : list.elements) {
      DYN_TRY(double value, realOf(e.token, e.negative, Dtype::f64, nullptr));
      values.push_back(value);
    }
    return AttributeValue(std::move(values));
  }
  if (list.kind != Literal::Kind::integer)
    return error(DiagnosticId::textSyntax, "an attribute's list holds integers, reals or strings", offset);
  std::vector<int64_t> values;
  for (const Element& e : list.elements) {
    DYN_TRY(int64_t value, integerOf(e.token, e.negative, Dtype::i64));
    values.push_back(value);
  }
  return AttributeValue(std::move(values));
}

Result<AttributeValue> Parser::attributeValue(std::optional<AttributeKind> wanted) {
  if (const size_t* value = valueOfAttribute())
    return atValue(*value, [&] { return attributeValue(wanted); });
  if (isSymbol("[")) return attributeList(wanted);
  for (auto [word, kind] :
       {std::pair{"reals", AttributeKind::reals}, std::pair{"strings", AttributeKind::strings}}) {
    if (!isName(word) || !isSymbol("[", 1)) continue;
    ++at_;
    return attributeList(kind);
  }
  if (isName("dims") && isSymbol("(", 1)) {
    ++at_;
    DYN_TRY(Shape dims, shape());
    return AttributeValue(std::move(dims));
  }
  if (atTensor()) {
    DYN_TRY(HostTensor value, tensor());
    return AttributeValue(std::move(value));
  }
  if (peek().kind == TokenKind::string && wanted != AttributeKind::type) {
    DYN_TRY(std::string value, unquoted(source_, peek()));
    ++at_;
    return AttributeValue(std::move(value));
  }
  if (isName("true") || isName("false")) return AttributeValue(int64_t{text(tokens_[at_++]) == "true"});
  if (atLiteral() && !isSymbol("(") && peek().kind != TokenKind::string) {
    Literal number;
    DYN_TRY(Element e, element(&number));
    if (number.kind == Literal::Kind::real || wanted == AttributeKind::real) {
      DYN_TRY(double value, realOf(e.token, e.negative, Dtype::f64, nullptr));
      return AttributeValue(value);
    }
    DYN_TRY(int64_t value, integerOf(e.token, e.negative, Dtype::i64));
    return AttributeValue(value);
  }
  if (peek().kind == TokenKind::name) {
    if (const auto element = parseDtype(text(peek()))) {
      ++at_;
      return AttributeValue(*element);
    }
  }
  const bool typeAhead = peek().kind == TokenKind::name || peek().kind == TokenKind::string || isSymbol("(");
  if (!typeAhead) return expected("the value of an attribute");
  DYN_TRY(Type value, typeOrNone(0));
  return AttributeValue(value);
}

Status Parser::attribute(const OpDef& def, Attributes* into) {
  const uint32_t offset = peek().offset;
  DYN_TRY(std::string name, expectName("the name of an attribute"));
  const AttributeSpec* spec = nullptr;
  std::vector<std::string_view> known;
  for (const AttributeSpec& s : def.attributes) {
    known.push_back(s.name);
    if (s.name == name) spec = &s;
  }
  if (spec == nullptr) {
    Error e = unknown("attribute of " + std::string(def.name), name, std::move(known), offset);
    e.diagnostic().id = DiagnosticId::badAttribute;
    return e;
  }
  if (into->has(name))
    return error(DiagnosticId::badAttribute, "the attribute '" + name + "' is given twice", offset);
  DYN_CHECK(expectSymbol("=", "after the attribute's name"));
  const uint32_t valueOffset = peek().offset;
  DYN_TRY(AttributeValue value, attributeValue(spec->kind));
  if (kindOf(value) != spec->kind)
    return error(DiagnosticId::badAttribute,
                 "attribute '" + name + "' of " + std::string(def.name) + " is of kind " +
                     toString(kindOf(value)) + ", not " + toString(spec->kind),
                 valueOffset);
  into->set(std::move(name), std::move(value));
  return {};
}

}  // namespace dyn::text
