// Recursive descent over dim text, at most kMaxNesting deep.
//
//   sum     := product (('+' | '-') product)*
//   product := unary (('*' | '/' | '//' | '%') unary)*
//   unary   := ('-' | '+') unary | power
//   power   := primary ('**' integer)?
//   primary := number | name ('[' name ']')? | '?' digits? | function '(' sum (',' sum)* ')' | '(' sum ')' | '<invalid>'
// A value is a fraction while it is read, so that floor(h/2 + 1) means what it says.
#include <numeric>

#include "compiler/dims/dim_node.h"

namespace dyn {
namespace {

constexpr size_t kMaxParsedText = 64 * 1024 + 8;
constexpr int kMaxNesting = 200;
constexpr int64_t kMaxExponent = 16;

struct Value {
  DimPoly top;
  DimPoly bottom;  // empty: 1
  bool fraction() const { return !bottom.terms.empty() || bottom.bad; }
};

struct Function {
  std::string_view name;  // lower case
  size_t least, most;     // arguments
  enum { floor, ceil, floorDiv, ceilDiv, mod, min, max, group } what;
};
constexpr Function kFunctions[] = {
    {"floor", 1, 1, Function::floor},       {"floortoint", 1, 1, Function::floor},
    {"ceil", 1, 1, Function::ceil},         {"ceiling", 1, 1, Function::ceil},
    {"ceiltoint", 1, 1, Function::ceil},    {"floordiv", 2, 2, Function::floorDiv},
    {"cleandiv", 2, 2, Function::floorDiv}, {"ceildiv", 2, 2, Function::ceilDiv},
    {"mod", 2, 2, Function::mod},           {"pythonmod", 2, 2, Function::mod},
    {"min", 1, SIZE_MAX, Function::min},    {"max", 1, SIZE_MAX, Function::max},
    {"group", 1, 1, Function::group},
};

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

class Parser {
 public:
  Parser(DimContext& context, std::string_view text) : context_(context), builder_(context), text_(text) {}

  Result<Dim> parse() {
    if (text_.size() > kMaxParsedText) return fail("the text is longer than 64 KiB");
    skipSpace();
    if (atEnd()) return fail("a dim is expected");
    DYN_TRY(Value value, sum(0));
    skipSpace();
    if (!atEnd()) return fail(std::string("unexpected ") + quoted(text_[at_]));
    at_ = 0;
    return whole(value);
  }

 private:
  bool atEnd() const { return at_ >= text_.size(); }
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void skipSpace() {
    while (!atEnd() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }
  bool take(char c) {
    skipSpace();
    if (peek() != c || atEnd()) return false;
    ++at_;
    return true;
  }
  static std::string quoted(char c) {
    static const char* hex = "0123456789abcdef";
    if (c >= 0x20 && c < 0x7f) return std::string("'") + c + "'";
    auto u = static_cast<unsigned char>(c);
    return std::string("byte 0x") + hex[u >> 4] + hex[u & 15];
  }
  Error fail(std::string message) const {
    SourceLocation place;
    place.line = 1;
    place.column = static_cast<uint32_t>(at_ + 1);
    return makeError(DiagnosticId::textSyntax,
                     "dim text, column " + std::to_string(at_ + 1) + ": " + std::move(message), place);
  }

  DimPoly constant(int64_t value) { return DimBuilder::poly(context_.constant(value)); }
  DimPoly bottomOf(const Value& v) { return v.fraction() ? v.bottom : constant(1); }

  // Divides out a constant denominator where that is exact.
  Value reduced(Value v) {
    if (v.top.bad || v.bottom.bad || v.bottom.terms.size() != 1) return v;
    Dim bottom = builder_.build(v.bottom);
    if (!bottom.constant() || *bottom.constant() == 0 || *bottom.constant() == INT64_MIN) return v;
    int64_t common = *bottom.constant();
    for (const DimTerm& t : v.top.terms) {
      if (t.coefficient == INT64_MIN) return v;
      common = std::gcd(common, t.coefficient);
    }
    if (*bottom.constant() < 0) common = -common;
    for (DimTerm& t : v.top.terms) t.coefficient /= common;
    int64_t left = *bottom.constant() / common;
    v.bottom = left == 1 ? DimPoly{} : constant(left);
    return v;
  }

  Result<Dim> whole(const Value& value) {
    if (value.fraction()) return fail("'/' leaves a fraction here: write floor(a/b), ceiling(a/b) or a//b");
    Dim d = builder_.build(value.top);
    if (d.isInvalid() && !sawInvalid_) return fail("a number does not fit in 64 bits, or a division by zero");
    return d;
  }

  Value plus(const Value& a, const Value& b, int64_t sign) {
    if (!a.fraction() && !b.fraction()) return {builder_.add(a.top, b.top, sign), {}};
    DimPoly x = bottomOf(a), y = bottomOf(b);
    return reduced({builder_.add(builder_.multiply(a.top, y), builder_.multiply(b.top, x), sign),
                    builder_.multiply(x, y)});
  }
  Value times(const Value& a, const Value& b) {
    if (!a.fraction() && !b.fraction()) return {builder_.multiply(a.top, b.top), {}};
    return reduced({builder_.multiply(a.top, b.top), builder_.multiply(bottomOf(a), bottomOf(b))});
  }
  Value over(const Value& a, const Value& b) {
    DimPoly bottom = builder_.multiply(bottomOf(a), b.top);
    if (bottom.terms.empty()) bottom = DimPoly::failed();
    return reduced({builder_.multiply(a.top, bottomOf(b)), std::move(bottom)});
  }
  Value rounded(const Value& v, bool up) {
    if (!v.fraction()) return v;
    Dim top = builder_.build(v.top), bottom = builder_.build(v.bottom);
    return {DimBuilder::poly(up ? builder_.ceilDiv(top, bottom) : builder_.floorDiv(top, bottom)), {}};
  }

  Result<Value> sum(int depth) {
    if (depth > kMaxNesting) return fail("nested deeper than " + std::to_string(kMaxNesting));
    DYN_TRY(Value value, product(depth));
    for (;;) {
      int64_t sign = take('+') ? 1 : take('-') ? -1 : 0;
      if (sign == 0) return value;
      DYN_TRY(Value right, product(depth));
      value = plus(value, right, sign);
    }
  }

  Result<Value> product(int depth) {
    DYN_TRY(Value value, unary(depth));
    for (;;) {
      if (take('*')) {
        DYN_TRY(Value right, unary(depth));
        value = times(value, right);
      } else if (take('/')) {
        bool floors = peek() == '/' && take('/');
        DYN_TRY(Value right, unary(depth));
        value = floors ? rounded(over(value, right), false) : over(value, right);
      } else if (take('%')) {
        DYN_TRY(Value right, unary(depth));
        DYN_TRY(Dim a, whole(value));
        DYN_TRY(Dim b, whole(right));
        value = {DimBuilder::poly(builder_.mod(a, b)), {}};
      } else {
        return value;
      }
    }
  }

  Result<Value> unary(int depth) {
    int64_t sign = 1;
    for (;;) {
      if (take('-'))
        sign = -sign;
      else if (!take('+'))
        break;
    }
    DYN_TRY(Value value, power(depth));
    if (sign < 0) value.top = builder_.scale(value.top, -1);
    return value;
  }

  Result<Value> power(int depth) {
    DYN_TRY(Value base, primary(depth));
    skipSpace();
    if (peek() != '*' || peek(1) != '*') return base;
    at_ += 2;
    skipSpace();
    if (!digit(peek())) return fail("an exponent must be a number from 0 to 16");
    int64_t exponent = 0;
    while (digit(peek()) && exponent <= kMaxExponent) exponent = exponent * 10 + (text_[at_++] - '0');
    if (exponent > kMaxExponent) return fail("an exponent must be a number from 0 to 16");
    if (digit(peek()) || peek() == '.') return fail("an exponent must be a number from 0 to 16");
    Value result{constant(1), {}};
    for (int64_t i = 0; i < exponent; ++i) result = times(result, base);
    skipSpace();
    if (peek() == '*' && peek(1) == '*') return fail("'**' cannot be chained, use parentheses");
    return result;
  }

  Result<Value> number() {
    int64_t top = 0, bottom = 1;
    bool point = false;
    for (; digit(peek()) || (peek() == '.' && !point); ++at_) {
      if (peek() == '.') {
        point = true;
        continue;
      }
      auto ten = checkedMul(top, 10);
      auto next = ten ? checkedAdd(*ten, text_[at_] - '0') : std::nullopt;
      auto scale = point ? checkedMul(bottom, 10) : bottom;
      if (!next || !scale) return fail("a number does not fit in 64 bits");
      top = *next;
      bottom = *scale;
    }
    if (letter(peek()) || peek() == '.') return fail("a name cannot start with a digit");
    Value value{constant(top), {}};
    if (bottom != 1) value.bottom = constant(bottom);
    return reduced(std::move(value));
  }

  Result<Value> primary(int depth) {
    skipSpace();
    char c = peek();
    if (digit(c)) return number();
    if (c == '?') return anonymous();
    if (take('(')) {
      DYN_TRY(Value value, sum(depth + 1));
      if (!take(')')) return fail("')' is expected");
      return value;
    }
    if (text_.substr(at_, 9) == "<invalid>") {
      at_ += 9;
      sawInvalid_ = true;
      return Value{DimPoly::failed(), {}};
    }
    if (!letter(c))
      return fail(atEnd() ? "the text ends where a dim is expected" : "unexpected " + quoted(c));
    size_t begin = at_;
    while (letter(peek()) || digit(peek()) || peek() == '.') ++at_;
    std::string_view name = text_.substr(begin, at_ - begin);
    skipSpace();
    if (peek() == '(') return call(name, begin, depth);
    if (take('[')) return lengthOf(name);
    return Value{DimBuilder::poly(context_.symbol(name)), {}};
  }

  // `len[b]`: behind the bracket.
  Result<Value> lengthOf(std::string_view lengths) {
    skipSpace();
    const size_t begin = at_;
    if (!letter(peek())) return fail("the brackets hold the symbol of the batch: len[b]");
    while (letter(peek()) || digit(peek()) || peek() == '.') ++at_;
    const std::string_view batch = text_.substr(begin, at_ - begin);
    if (!take(']')) return fail("']' is expected");
    return Value{DimBuilder::poly(context_.symbol(std::string(lengths) + "[" + std::string(batch) + "]")),
                 {}};
  }

  Result<Value> anonymous() {
    ++at_;
    if (!digit(peek())) return Value{DimBuilder::poly(context_.any("written as ?")), {}};
    uint64_t number = 0;
    for (; digit(peek()); ++at_) {
      if (number > (UINT64_MAX - 9) / 10) return fail("a number does not fit in 64 bits");
      number = number * 10 + static_cast<uint64_t>(text_[at_] - '0');
    }
    if (letter(peek())) return fail("a name cannot start with '?'");
    return Value{DimBuilder::poly(builder_.anonymous(number)), {}};
  }

  Result<Value> call(std::string_view name, size_t begin, int depth) {
    const Function* function = nullptr;
    std::string key = lower(name);
    for (const Function& f : kFunctions)
      if (f.name == key) function = &f;
    if (!function) {
      at_ = begin;
      return fail("'" + std::string(name) +
                  "' is not a function of dims; known: floor, ceiling, floordiv, ceildiv, mod, min, max");
    }
    take('(');
    std::vector<Value> arguments;
    do {
      DYN_TRY(Value argument, sum(depth + 1));
      arguments.push_back(std::move(argument));
    } while (take(','));
    if (!take(')')) return fail("')' or ',' is expected");
    if (arguments.size() < function->least || arguments.size() > function->most) {
      at_ = begin;
      return fail("'" + std::string(name) + "' takes " + std::to_string(function->least) +
                  " argument(s), not " + std::to_string(arguments.size()));
    }
    if (function->what == Function::floor || function->what == Function::ceil)
      return rounded(arguments[0], function->what == Function::ceil);
    std::vector<Dim> dims;
    for (const Value& v : arguments) {
      DYN_TRY(Dim d, whole(v));
      dims.push_back(d);
    }
    Dim result = dims[0];
    switch (function->what) {
      case Function::floorDiv:
        result = builder_.floorDiv(dims[0], dims[1]);
        break;
      case Function::ceilDiv:
        result = builder_.ceilDiv(dims[0], dims[1]);
        break;
      case Function::mod:
        result = builder_.mod(dims[0], dims[1]);
        break;
      case Function::group:
        return Value{DimBuilder::grouped(result), {}};
      default:
        for (size_t i = 1; i < dims.size(); ++i)
          result =
              builder_.choose(function->what == Function::min ? DimKind::min : DimKind::max, result, dims[i]);
    }
    return Value{DimBuilder::poly(result), {}};
  }

  DimContext& context_;
  DimBuilder builder_;
  std::string_view text_;
  size_t at_ = 0;
  bool sawInvalid_ = false;
};

}  // namespace

Result<Dim> parseDim(DimContext& context, std::string_view text) { return Parser(context, text).parse(); }

}  // namespace dyn
