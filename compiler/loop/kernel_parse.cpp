// Reads the text form of kernels. Recursive descent with a limit on nesting; an expression ends with its line
// unless a bracket is open or the line ends in an operator.
#include <charconv>
#include <cstdlib>
#include <limits>
#include <map>

#include "compiler/loop/expr_node.h"
#include "compiler/loop/kernel.h"

namespace dyn::loop {

namespace {

constexpr int kMaxNesting = 100;
constexpr int kUnaryCount = static_cast<int>(UnaryOp::isInf) + 1;
constexpr int kBinaryCount = static_cast<int>(BinaryOp::shiftRight) + 1;
constexpr int kNoOperation = -1;

// Number of the operation with this name: unary ones first, then binary ones.
int operationOf(std::string_view name) {
  for (int k = 0; k < kUnaryCount; ++k)
    if (name == toString(static_cast<UnaryOp>(k))) return k;
  for (int k = 0; k < kBinaryCount; ++k)
    if (name == toString(static_cast<BinaryOp>(k))) return kUnaryCount + k;
  return kNoOperation;
}

class KernelParser {
 public:
  KernelParser(DimContext& dims, std::string_view text)
      : text_(text), context_(std::make_shared<LoopContext>(dims)), c_(*context_) {}

  Result<Kernel> run() {
    Kernel kernel;
    kernel.context = context_;
    DYN_CHECK(parseHeader(kernel));
    DYN_CHECK(parseDeclarations(kernel));
    DYN_TRY(kernel.body, parseBlock());
    DYN_CHECK(expect("}"));
    skipSpace();
    if (at_ != text_.size()) return fail("text after the kernel's closing brace");
    return kernel;
  }

 private:
  // ---- characters and words ----
  void skipSpace() {
    while (at_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
        ++at_;
      } else if (text_.substr(at_, 2) == "//") {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else {
        break;
      }
    }
  }
  bool newlineAhead() const {
    for (size_t i = at_; i < text_.size() && std::isspace(static_cast<unsigned char>(text_[i])); ++i)
      if (text_[i] == '\n') return true;
    return text_.substr(at_, 2) == "//";
  }
  static bool wordChar(char ch) {
    return std::isalnum(static_cast<unsigned char>(ch)) || ch == '_' || ch == '$';
  }

  Error failAt(size_t at, std::string message, DiagnosticId id = DiagnosticId::textSyntax) const {
    uint32_t line = 1, column = 1;
    for (size_t i = 0; i < at && i < text_.size(); ++i) {
      ++column;
      if (text_[i] == '\n') {
        ++line;
        column = 1;
      }
    }
    return makeError(id, std::move(message), {.line = line, .column = column});
  }
  Error fail(std::string message, DiagnosticId id = DiagnosticId::textSyntax) const {
    return failAt(at_, std::move(message), id);
  }

  bool peek(std::string_view token) {
    skipSpace();
    if (text_.substr(at_, token.size()) != token) return false;
    return !wordChar(token.back()) || at_ + token.size() >= text_.size() ||
           !wordChar(text_[at_ + token.size()]);
  }
  bool accept(std::string_view token) {
    if (!peek(token)) return false;
    at_ += token.size();
    return true;
  }
  Status expect(std::string_view token) {
    if (accept(token)) return {};
    return fail("expected `" + std::string(token) + "`");
  }
  std::string peekWord() {
    skipSpace();
    size_t end = at_;
    while (end < text_.size() && wordChar(text_[end])) ++end;
    if (end == at_ || std::isdigit(static_cast<unsigned char>(text_[at_]))) return "";
    return std::string(text_.substr(at_, end - at_));
  }
  Result<std::string> word() {
    std::string w = peekWord();
    if (w.empty()) return fail("expected a name");
    at_ += w.size();
    return w;
  }
  // The text up to the bracket that closes the one just read.
  Result<std::string_view> untilClose(char open, char close) {
    const size_t start = at_;
    for (int depth = 1; at_ < text_.size(); ++at_) {
      if (text_[at_] == open) ++depth;
      if (text_[at_] == close && --depth == 0) return text_.substr(start, at_++ - start);
    }
    return failAt(start, std::string("no `") + close + "` closes this bracket");
  }
  Result<Dim> dimText(std::string_view text, size_t at) {
    auto parsed = parseDim(c_.dims(), text);
    if (!parsed.ok()) return failAt(at, "not a dim: " + parsed.error().message);
    return *parsed;
  }
  Result<int64_t> signedInteger() {
    skipSpace();
    int64_t value = 0;
    const auto [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (code != std::errc()) return fail("expected an integer");
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }
  Result<Dtype> dtype() {
    const size_t at = at_;
    DYN_TRY(std::string name, word());
    if (auto d = parseDtype(name)) return *d;
    return failAt(at, "unknown element type `" + name + "`", DiagnosticId::textName);
  }
  Result<std::string> newName() {
    skipSpace();
    const size_t at = at_;
    DYN_TRY(std::string name, word());
    if (isReservedWord(name)) return failAt(at, "`" + name + "` is a word of the language");
    if (variables_.contains(name) || buffers_.contains(name) || functions_.contains(name))
      return failAt(at, "`" + name + "` is defined twice", DiagnosticId::textName);
    return name;
  }

  // ---- header ----
  struct Deferred {
    const Buffer* buffer;
    size_t at;
  };

  // A type whose shape is read later, when the functions are known: `f32[...]`.
  Result<const Buffer*> bufferDeclaration(BufferRole role) {
    DYN_TRY(std::string name, newName());
    DYN_CHECK(expect(":"));
    DYN_TRY(Dtype type, dtype());
    DYN_CHECK(expect("["));
    const size_t at = at_;
    DYN_TRY(std::string_view shape, untilClose('[', ']'));
    size_t rank = shape.find_first_not_of(" \t\n") == std::string_view::npos ? 0 : 1;
    int depth = 0;
    for (char ch : shape) {
      depth += ch == '(' || ch == '[' ? 1 : ch == ')' || ch == ']' ? -1 : 0;
      if (ch == ',' && depth == 0) ++rank;
    }
    const Buffer* buffer = c_.buffer(name, type, std::vector<Expr>(rank, c_.integer(0)), role);
    buffers_[name] = buffer;
    deferred_.push_back({buffer, at});
    return buffer;
  }

  Status parseHeader(Kernel& kernel) {
    DYN_CHECK(expect("kernel"));
    DYN_CHECK(expect("@"));
    DYN_TRY(kernel.name, word());
    DYN_CHECK(expect("("));
    while (!accept(")")) {
      if (!kernel.buffers.empty()) DYN_CHECK(expect(","));
      const bool out = accept("out");
      if (!out) DYN_CHECK(expect("in"));
      DYN_TRY(const Buffer* b, bufferDeclaration(out ? BufferRole::output : BufferRole::input));
      kernel.buffers.push_back(b);
    }
    DYN_CHECK(expect("scalars"));
    DYN_CHECK(expect("("));
    const size_t scalarsAt = at_;
    DYN_TRY(std::string_view scalars, untilClose('(', ')'));
    while (scalars.find_first_not_of(' ') != std::string_view::npos) {
      const size_t end = scalars.find(';');
      DYN_TRY(Dim d, dimText(scalars.substr(0, end), scalarsAt));
      kernel.scalars.push_back(d);
      scalars = end == std::string_view::npos ? std::string_view() : scalars.substr(end + 1);
    }
    DYN_CHECK(expect("units"));
    DYN_TRY(std::string unit, newName());
    kernel.unit = define(unit, Dtype::i64);
    DYN_CHECK(expect("<"));
    unitAt_ = at_;
    while (at_ < text_.size() && text_[at_] != '{' && peekWord() != "steps" && peekWord() != "about") {
      const std::string w = peekWord();
      if (at_ < text_.size() && text_[at_] != '{') at_ += w.empty() ? 1 : w.size();
    }
    if (accept("steps")) {
      DYN_CHECK(expect("("));
      const size_t at = at_;
      DYN_TRY(std::string_view steps, untilClose('(', ')'));
      DYN_TRY(kernel.stepsPerKernel, dimText(steps, at));
    }
    if (accept("about")) {
      DYN_CHECK(expect("\""));
      while (at_ < text_.size() && text_[at_] != '"') {
        if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
          ++at_;
          kernel.description += text_[at_] == 'n' ? '\n' : text_[at_];
        } else {
          kernel.description += text_[at_];
        }
        ++at_;
      }
      DYN_CHECK(expect("\""));
    }
    return expect("{");
  }

  Status parseFunction(Kernel& kernel) {
    UninterpretedFunction f;
    DYN_TRY(f.name, newName());
    DYN_CHECK(expect("("));
    DYN_TRY(int64_t arity, signedInteger());
    if (arity < 0 || arity > 8) return fail("a function has 0 to 8 parameters");
    f.arity = static_cast<int>(arity);
    DYN_CHECK(expect(")"));
    DYN_CHECK(expect("="));
    if (accept("dim")) {
      DYN_CHECK(expect("("));
      const size_t at = at_;
      DYN_TRY(std::string_view text, untilClose('(', ')'));
      DYN_TRY(f.dim, dimText(text, at));
      if (f.arity != 0) return fail("a function backed by a dim has no parameters");
    } else {
      f.backing = accept("array") ? FunctionBacking::array : FunctionBacking::pointerArray;
      if (f.backing == FunctionBacking::pointerArray) DYN_CHECK(expect("pointers"));
      DYN_TRY(std::string name, word());
      if (!buffers_.contains(name)) return fail("unknown buffer `" + name + "`", DiagnosticId::textName);
      f.array = buffers_[name];
    }
    while (!newlineAhead()) {
      if (accept("low")) {
        DYN_TRY(f.facts.low, sum(0));
      } else if (accept("high")) {
        DYN_TRY(f.facts.high, sum(0));
      } else if (accept("monotone")) {
        f.facts.monotone = true;
      } else if (accept("injective")) {
        f.facts.injective = true;
      } else if (accept("multiple")) {
        DYN_TRY(f.facts.multipleOf, signedInteger());
      } else if (peek("inverse") || peek("prefixSum")) {
        const bool inverse = accept("inverse");
        if (!inverse) accept("prefixSum");
        DYN_TRY(std::string name, word());
        if (!functions_.contains(name))
          return fail("unknown function `" + name + "`", DiagnosticId::textName);
        (inverse ? f.facts.inverseOf : f.facts.prefixSumOf) = functions_[name];
      } else {
        return fail("expected a fact of the function");
      }
    }
    const std::string name = f.name;
    const UninterpretedFunction* made = c_.function(std::move(f));
    functions_[name] = made;
    kernel.functions.push_back(made);
    return {};
  }

  Status parseDeclarations(Kernel& kernel) {
    while (accept("function")) DYN_CHECK(parseFunction(kernel));
    while (accept("scratch")) {
      DYN_TRY(const Buffer* b, bufferDeclaration(BufferRole::scratch));
      kernel.scratch.push_back(b);
    }
    const size_t body = at_;
    for (const Deferred& d : deferred_) {
      at_ = d.at;
      for (size_t axis = 0; axis < d.buffer->shape.size(); ++axis) {
        if (axis > 0) DYN_CHECK(expect(","));
        DYN_TRY(Expr extent, indexExpr());
        c_.setShape(d.buffer, axis, extent);
      }
      DYN_CHECK(expect("]"));
    }
    at_ = unitAt_;
    DYN_TRY(kernel.unitCount, indexExpr());
    at_ = body;
    return {};
  }

  // ---- statements ----
  Expr define(const std::string& name, Dtype type) {
    Expr v = c_.namedVariable(name, type);
    variables_[name] = v;
    return v;
  }
  Result<Expr> typed(Dtype type) {
    skipSpace();
    const size_t at = at_;
    DYN_TRY(Expr e, expression());
    if (e.dtype() != type)
      return failAt(at,
                    "expected " + std::string(dyn::toString(type)) + ", this is " +
                        std::string(dyn::toString(e.dtype())),
                    DiagnosticId::dtypeMismatch);
    return e;
  }
  Result<Expr> indexExpr() {
    skipSpace();
    const size_t at = at_;
    DYN_TRY(Expr e, sum(0));
    if (e.dtype() != Dtype::i64)
      return failAt(at, "extents and indices are i64", DiagnosticId::dtypeMismatch);
    return e;
  }
  Result<std::vector<Expr>> indices() {
    std::vector<Expr> list;
    while (!accept("]")) {
      if (!list.empty()) DYN_CHECK(expect(","));
      DYN_TRY(Expr e, indexExpr());
      list.push_back(e);
    }
    return list;
  }
  LoopKind loopKind() {
    return accept("vector")   ? LoopKind::vector
           : accept("unroll") ? LoopKind::unroll
           : accept("tile")   ? LoopKind::tile
                              : LoopKind::serial;
  }

  Result<StmtRef> parseBlock() {
    if (++nesting_ > kMaxNesting) return fail("nested too deeply");
    std::vector<StmtRef> children;
    while (!peek("}")) {
      if (at_ >= text_.size()) return fail("expected `}`");
      DYN_TRY(StmtRef s, statement());
      children.push_back(std::move(s));
    }
    --nesting_;
    return block(std::move(children));
  }

  Result<StmtRef> statement() {
    if (accept("let")) {
      DYN_TRY(std::string name, newName());
      DYN_CHECK(expect(":"));
      DYN_TRY(Dtype type, dtype());
      DYN_CHECK(expect("="));
      DYN_TRY(Expr value, typed(type));
      return let(define(name, type), value);
    }
    if (accept("for")) {
      DYN_TRY(std::string name, newName());
      DYN_CHECK(expect("<"));
      DYN_TRY(Expr extent, indexExpr());
      const LoopKind kind = loopKind();
      DYN_CHECK(expect("{"));
      Expr v = define(name, Dtype::i64);
      DYN_TRY(StmtRef body, parseBlock());
      DYN_CHECK(expect("}"));
      return loopOver(v, extent, kind, std::move(body));
    }
    if (accept("if")) {
      DYN_TRY(Expr condition, typed(Dtype::boolean));
      DYN_CHECK(expect("{"));
      DYN_TRY(StmtRef body, parseBlock());
      DYN_CHECK(expect("}"));
      return branch(condition, std::move(body));
    }
    if (accept("check")) {
      DYN_TRY(Expr condition, typed(Dtype::boolean));
      DYN_CHECK(expect("fault"));
      DYN_TRY(int64_t fault, signedInteger());
      if (fault < 0 || fault > std::numeric_limits<int32_t>::max())
        return fail("a fault code is a small number");
      Expr subject;
      if (accept("of")) {
        DYN_TRY(subject, typed(Dtype::i64));
      }
      return check(condition, static_cast<int32_t>(fault), subject);
    }
    if (accept("accumulate")) return parseAccumulate();
    DYN_TRY(std::string name, word());
    if (!buffers_.contains(name))
      return failAt(at_ - name.size(), "unknown buffer `" + name + "`", DiagnosticId::textName);
    const Buffer* buffer = buffers_[name];
    DYN_CHECK(expect("["));
    const size_t at = at_;
    DYN_TRY(std::vector<Expr> index, indices());
    if (index.size() != buffer->shape.size())
      return failAt(at, "`" + name + "` has " + std::to_string(buffer->shape.size()) + " axes",
                    DiagnosticId::rankMismatch);
    DYN_CHECK(expect("="));
    DYN_TRY(Expr value, typed(buffer->dtype));
    return store(buffer, std::move(index), value);
  }

  Result<StmtRef> parseAccumulate() {
    DYN_TRY(std::string name, newName());
    DYN_CHECK(expect(":"));
    DYN_TRY(Dtype type, dtype());
    DYN_CHECK(expect("="));
    DYN_TRY(std::string opName, word());
    int op = 0;
    constexpr int kReduceOps = static_cast<int>(ReduceOp::logicalOr) + 1;
    while (op < kReduceOps && opName != toString(static_cast<ReduceOp>(op))) ++op;
    if (op == kReduceOps) return failAt(at_ - opName.size(), "unknown reduction `" + opName + "`");
    DYN_CHECK(expect("over"));
    std::vector<Expr> variables, extents;
    do {
      DYN_TRY(std::string v, newName());
      DYN_CHECK(expect("<"));
      DYN_TRY(Expr extent, indexExpr());
      extents.push_back(extent);
      variables.push_back(define(v, Dtype::i64));
    } while (accept(","));
    const LoopKind kind = loopKind();
    DYN_CHECK(expect("{"));
    if (++nesting_ > kMaxNesting) return fail("nested too deeply");
    std::vector<StmtRef> inner;
    while (peek("let") || peek("accumulate") || peek("check")) {
      DYN_TRY(StmtRef s, statement());
      inner.push_back(std::move(s));
    }
    --nesting_;
    DYN_TRY(Expr value, typed(type));
    DYN_CHECK(expect("}"));
    return accumulate(define(name, type), static_cast<ReduceOp>(op), std::move(variables), std::move(extents),
                      kind, inner.empty() ? nullptr : block(std::move(inner)), value);
  }

  // ---- expressions: or < and < comparison < sum < product < unary < primary ----
  bool acceptInfix(std::string_view op) {
    if (brackets_ == 0 && newlineAhead()) return false;
    if (op == "<" && peek("<=")) return false;
    return accept(op);
  }
  Result<Expr> combine(BinaryOp op, Expr a, Expr b, size_t at) {
    if (const char* wrong = misuseOf(op, a.dtype(), b.dtype()))
      return failAt(at,
                    std::string(wrong) + ": " + std::string(dyn::toString(a.dtype())) + " and " +
                        std::string(dyn::toString(b.dtype())),
                    DiagnosticId::dtypeMismatch);
    return c_.binary(op, a, b);
  }
  Result<Expr> expression(int depth = 0) {
    if (depth > kMaxNesting) return fail("nested too deeply");
    DYN_TRY(Expr a, conjunction(depth));
    for (size_t at = at_; acceptInfix("||"); at = at_) {
      DYN_TRY(Expr b, conjunction(depth));
      DYN_TRY(a, combine(BinaryOp::logicalOr, a, b, at));
    }
    return a;
  }
  Result<Expr> conjunction(int depth) {
    DYN_TRY(Expr a, comparison(depth));
    for (size_t at = at_; acceptInfix("&&"); at = at_) {
      DYN_TRY(Expr b, comparison(depth));
      DYN_TRY(a, combine(BinaryOp::logicalAnd, a, b, at));
    }
    return a;
  }
  Result<Expr> comparison(int depth) {
    DYN_TRY(Expr a, sum(depth));
    const size_t at = at_;
    if (acceptInfix("==")) {
      DYN_TRY(Expr b, sum(depth));
      return combine(BinaryOp::equal, a, b, at);
    }
    if (acceptInfix("!=")) {
      DYN_TRY(Expr b, sum(depth));
      return combine(BinaryOp::notEqual, a, b, at);
    }
    if (acceptInfix("<=")) {
      DYN_TRY(Expr b, sum(depth));
      return combine(BinaryOp::lessEqual, a, b, at);
    }
    if (acceptInfix("<")) {
      DYN_TRY(Expr b, sum(depth));
      return combine(BinaryOp::less, a, b, at);
    }
    return a;
  }
  Result<Expr> sum(int depth) {
    DYN_TRY(Expr a, product(depth));
    while (true) {
      const size_t at = at_;
      const bool plus = acceptInfix("+");
      if (!plus && !acceptInfix("-")) return a;
      DYN_TRY(Expr b, product(depth));
      DYN_TRY(a, combine(plus ? BinaryOp::add : BinaryOp::sub, a, b, at));
    }
  }
  Result<Expr> product(int depth) {
    DYN_TRY(Expr a, prefix(depth));
    while (true) {
      const size_t at = at_;
      const bool times = acceptInfix("*");
      if (!times && !acceptInfix("/")) return a;
      DYN_TRY(Expr b, prefix(depth));
      DYN_TRY(a, combine(times ? BinaryOp::mul : BinaryOp::div, a, b, at));
    }
  }
  Result<Expr> prefix(int depth) {
    if (depth > kMaxNesting) return fail("nested too deeply");
    skipSpace();
    const size_t at = at_;
    if (accept("-")) {
      if (at_ < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[at_])) || peek("inf")))
        return literal(true);
      DYN_TRY(Expr a, prefix(depth + 1));
      return apply(UnaryOp::neg, a, at);
    }
    if (!peek("!=") && accept("!")) {
      DYN_TRY(Expr a, prefix(depth + 1));
      return apply(UnaryOp::logicalNot, a, at);
    }
    return primary(depth);
  }
  Result<Expr> apply(UnaryOp op, Expr a, size_t at) {
    if (const char* wrong = misuseOf(op, a.dtype())) return failAt(at, wrong, DiagnosticId::dtypeMismatch);
    return c_.unary(op, a);
  }

  Result<Expr> literal(bool negative) {
    skipSpace();
    const size_t start = at_;
    bool isRealText = false;
    if (accept("inf") || accept("nan")) {
      isRealText = true;
    } else {
      while (at_ < text_.size()) {
        const char ch = text_[at_];
        if (ch == '.' || ch == 'e' || ch == 'E') {
          isRealText = true;
          if (ch != '.' && at_ + 2 < text_.size() && (text_[at_ + 1] == '-' || text_[at_ + 1] == '+')) ++at_;
        } else if (!std::isdigit(static_cast<unsigned char>(ch))) {
          break;
        }
        ++at_;
      }
    }
    const std::string digits = (negative ? "-" : "") + std::string(text_.substr(start, at_ - start));
    Dtype type = isRealText ? Dtype::f32 : Dtype::i64;
    if (at_ < text_.size() && text_[at_] == ':') {
      ++at_;
      DYN_TRY(type, dtype());
    }
    if (isRealText) {
      if (!isReal(type))
        return failAt(start, "a real literal needs a real type", DiagnosticId::dtypeMismatch);
      return c_.real(std::strtod(digits.c_str(), nullptr), type);
    }
    if (!isInteger(type))
      return failAt(start, "an integer literal needs an integer type", DiagnosticId::dtypeMismatch);
    int64_t value = 0;
    uint64_t natural = 0;
    const char* end = digits.data() + digits.size();
    if (std::from_chars(digits.data(), end, value).ec == std::errc()) return c_.integer(value, type);
    if (type == Dtype::u64 && std::from_chars(digits.data(), end, natural).ec == std::errc())
      return c_.integer(static_cast<int64_t>(natural), type);
    return failAt(start, "the integer does not fit in 64 bits");
  }

  Result<std::vector<Expr>> arguments(int depth, size_t count) {
    const size_t at = at_;
    DYN_CHECK(expect("("));
    ++brackets_;
    std::vector<Expr> list;
    while (!accept(")")) {
      if (!list.empty()) DYN_CHECK(expect(","));
      DYN_TRY(Expr e, expression(depth + 1));
      list.push_back(e);
    }
    --brackets_;
    if (list.size() != count) return failAt(at, "expected " + std::to_string(count) + " arguments");
    return list;
  }

  Result<Expr> primary(int depth) {
    skipSpace();
    const size_t at = at_;
    if (accept("(")) {
      ++brackets_;
      DYN_TRY(Expr e, expression(depth + 1));
      --brackets_;
      DYN_CHECK(expect(")"));
      return e;
    }
    if (at_ < text_.size() &&
        (std::isdigit(static_cast<unsigned char>(text_[at_])) || peek("inf") || peek("nan")))
      return literal(false);
    DYN_TRY(std::string name, word());
    if (name == "true" || name == "false") return c_.boolean(name == "true");
    if (name == "dim") {
      DYN_CHECK(expect("("));
      DYN_TRY(std::string_view text, untilClose('(', ')'));
      DYN_TRY(Dim d, dimText(text, at));
      return c_.dim(d);
    }
    if (name == "select") {
      DYN_TRY(std::vector<Expr> a, arguments(depth, 3));
      if (a[0].dtype() != Dtype::boolean || a[1].dtype() != a[2].dtype())
        return failAt(at, "select takes a boolean and two values of one dtype", DiagnosticId::dtypeMismatch);
      return c_.select(a[0], a[1], a[2]);
    }
    if (auto type = parseDtype(name)) {
      DYN_TRY(std::vector<Expr> a, arguments(depth, 1));
      if (!isNumeric(*type)) return failAt(at, "kernels compute with numbers", DiagnosticId::dtypeMismatch);
      return c_.cast(a[0], *type);
    }
    const int operation = operationOf(name);
    if (operation != kNoOperation) {
      const size_t count = operation < kUnaryCount ? 1 : 2;
      DYN_TRY(std::vector<Expr> a, arguments(depth, count));
      if (count == 1) return apply(static_cast<UnaryOp>(operation), a[0], at);
      return combine(static_cast<BinaryOp>(operation - kUnaryCount), a[0], a[1], at);
    }
    if (auto f = functions_.find(name); f != functions_.end()) {
      DYN_TRY(std::vector<Expr> a, arguments(depth, static_cast<size_t>(f->second->arity)));
      for (Expr e : a)
        if (e.dtype() != Dtype::i64)
          return failAt(at, "arguments of functions are i64", DiagnosticId::dtypeMismatch);
      return c_.call(f->second, std::move(a));
    }
    if (auto b = buffers_.find(name); b != buffers_.end()) {
      DYN_CHECK(expect("["));
      ++brackets_;
      if (++nesting_ > kMaxNesting) return fail("nested too deeply");
      DYN_TRY(std::vector<Expr> index, indices());
      --nesting_;
      --brackets_;
      if (index.size() != b->second->shape.size())
        return failAt(at, "`" + name + "` has " + std::to_string(b->second->shape.size()) + " axes",
                      DiagnosticId::rankMismatch);
      return c_.load(b->second, std::move(index));
    }
    if (auto v = variables_.find(name); v != variables_.end()) return v->second;
    if (!isPlainName(name) || (at_ < text_.size() && (text_[at_] == '(' || text_[at_] == '[')))
      return failAt(at, "unknown name `" + name + "`", DiagnosticId::textName);
    return c_.dim(c_.dims().symbol(name));
  }

  std::string_view text_;
  size_t at_ = 0;
  std::shared_ptr<LoopContext> context_;
  LoopContext& c_;
  std::map<std::string, Expr> variables_;
  std::map<std::string, const Buffer*> buffers_;
  std::map<std::string, const UninterpretedFunction*> functions_;
  std::vector<Deferred> deferred_;
  size_t unitAt_ = 0;
  int nesting_ = 0, brackets_ = 0;
};

}  // namespace

Result<Kernel> parseKernel(DimContext& dims, std::string_view text) { return KernelParser(dims, text).run(); }

}  // namespace dyn::loop
