// Text → Program; see assembler.h for the form.
#include "vm/isa/assembler.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>

#include "vm/base/checked.h"
#include "vm/base/dtype.h"
#include "vm/isa/code_writer.h"

namespace dyn::vm {
namespace {

struct Token {
  enum class Kind : uint8_t { end, newline, word, text, punctuation } kind = Kind::end;
  std::string value;
  uint32_t line = 1, column = 1;
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  bool next(Token& token, std::string& problem) {
    for (;;) {
      if (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r'))
        advance();
      else if (at_ < text_.size() && text_[at_] == ';') {
        while (at_ < text_.size() && text_[at_] != '\n') advance();
      } else
        break;
    }
    token = {Token::Kind::end, "", line_, column_};
    if (at_ >= text_.size()) return true;
    const char c = text_[at_];
    if (c == '\n') {
      token.kind = Token::Kind::newline;
      advance();
      return true;
    }
    if (c == '"') return string(token, problem);
    if (isWord(c)) {
      token.kind = Token::Kind::word;
      while (at_ < text_.size() && isWord(text_[at_])) {
        token.value += text_[at_];
        advance();
      }
      return true;
    }
    token.kind = Token::Kind::punctuation;
    token.value = c;
    advance();
    return true;
  }

 private:
  static bool isWord(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-' || c == '@';
  }
  void advance() {
    if (text_[at_++] == '\n') {
      ++line_;
      column_ = 1;
    } else {
      ++column_;
    }
  }
  bool string(Token& token, std::string& problem) {
    token.kind = Token::Kind::text;
    advance();
    while (at_ < text_.size() && text_[at_] != '"') {
      char c = text_[at_];
      if (c == '\n') break;
      if (c != '\\') {
        token.value += c;
        advance();
        continue;
      }
      advance();
      if (at_ >= text_.size()) break;
      c = text_[at_];
      advance();
      if (c == 'n')
        token.value += '\n';
      else if (c == 'x' && at_ + 1 < text_.size()) {
        unsigned value = 0;
        const char* from = text_.data() + at_;
        if (std::from_chars(from, from + 2, value, 16).ptr != from + 2) {
          problem = "\\x needs two hexadecimal digits";
          return false;
        }
        advance();
        advance();
        token.value += static_cast<char>(value);
      } else
        token.value += c;
    }
    if (at_ >= text_.size() || text_[at_] != '"') {
      problem = "the string does not end";
      return false;
    }
    advance();
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
  uint32_t line_ = 1, column_ = 1;
};

class Parser {
 public:
  Parser(std::string_view text, Program& program) : lexer_(text), program_(program) {}

  Status run() {
    if (take() && parse() && finishFunction() && resolveEntries()) return okStatus();
    program_ = Program();
    return failure(DYN_BAD_PROGRAM, problem_,
                   std::to_string(problemLine_) + ":" + std::to_string(problemColumn_));
  }

 private:
  using Kind = Token::Kind;

  bool fail(const std::string& what) { return failAt(token_, what); }
  bool failAt(const Token& token, const std::string& what) {
    if (problem_.empty()) {
      problem_ = what;
      problemLine_ = token.line;
      problemColumn_ = token.column;
    }
    return false;
  }
  bool take() {
    std::string problem;
    if (lexer_.next(token_, problem)) return true;
    return fail(problem);
  }
  bool is(Kind kind) const { return token_.kind == kind; }
  bool isPunctuation(char c) const { return is(Kind::punctuation) && token_.value[0] == c; }
  bool punctuation(char c) { return isPunctuation(c) ? take() : fail(std::string("'") + c + "' expected"); }
  bool keyword(const char* word) {
    return is(Kind::word) && token_.value == word ? take() : fail(std::string("'") + word + "' expected");
  }
  bool text(std::string& value) {
    if (!is(Kind::text)) return fail("a quoted string is expected");
    value = token_.value;
    return take();
  }
  bool name(std::string& value) {
    if (!is(Kind::text) && !is(Kind::word)) return fail("a name is expected");
    value = token_.value;
    return take();
  }
  bool toNumber(std::string_view digits, int64_t& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc() && end == digits.data() + digits.size()) return true;
    return fail("a number is expected, not '" + std::string(digits) + "'");
  }
  bool number(int64_t& value) {
    return is(Kind::word) ? toNumber(token_.value, value) && take() : fail("a number is expected");
  }
  template <typename T>
  bool natural(T& value) {
    int64_t wide = 0;
    const Token start = token_;
    if (!number(wide)) return false;
    if (wide < 0 || static_cast<uint64_t>(wide) > std::numeric_limits<T>::max())
      return failAt(start, "the number is out of range");
    value = static_cast<T>(wide);
    return true;
  }
  bool dataType(uint8_t& dtype) {
    const int32_t index = is(Kind::word) ? findDataType(token_.value) : -1;
    if (index < 0) return fail("a dtype is expected");
    dtype = static_cast<uint8_t>(index);
    return take();
  }

  bool parse() {
    while (!is(Kind::end)) {
      if (is(Kind::newline)) {
        if (!take()) return false;
        continue;
      }
      if (!is(Kind::word)) return fail("a directive, a label or an instruction is expected");
      afterLabel_ = false;
      if (!statement()) return false;
      if (afterLabel_) continue;
      if (!is(Kind::newline) && !is(Kind::end))
        return fail("the line has something left over: '" + token_.value + "'");
    }
    return true;
  }

  bool statement() {
    const Token head = token_;
    const std::string word = token_.value;
    if (!take()) return false;
    if (isPunctuation(':')) {
      if (!open_) return failAt(head, "a label outside a function");
      const Label label = labelNamed(word);
      if (!boundLabels_.insert({word, true}).second)
        return failAt(head, "label " + word + " is defined twice");
      code_.bind(label);
      afterLabel_ = true;  // an instruction may follow on the same line
      return take();
    }
    if (word == "program") return true;
    if (word == "meta") {
      std::string key, value;
      if (!text(key) || !text(value)) return false;
      program_.metadata.emplace_back(key, value);
      return true;
    }
    if (word == "string") return text(program_.strings.emplace_back());
    if (word == "builtin" && !open_) return name(program_.builtins.emplace_back());
    if (word == "globals") return natural(program_.globalCount);
    if (word == "kernel") return kernel();
    if (word == "constant") return constant();
    if (word == "input") return contract(program_.inputs);
    if (word == "output") return contract(program_.outputs);
    if (word == "function") return function();
    if (word == "main") return entry(main_);
    if (word == "init") return entry(init_);
    if (word == "place") {
      uint32_t string = 0;
      if (!open_) return failAt(head, "place outside a function");
      if (!natural(string)) return false;
      code_.setPlace(string);
      if (!is(Kind::word) || token_.value != "checks") return true;
      int32_t checks = 0;
      if (!take() || !natural(checks)) return false;
      code_.setChecks(checks);
      return true;
    }
    const int32_t opcode = findOpcode(word);
    if (opcode < 0) return failAt(head, "unknown instruction or directive '" + word + "'");
    if (!open_) return failAt(head, "an instruction outside a function");
    return instruction(static_cast<Opcode>(opcode));
  }

  bool kernel() {
    KernelRow& row = program_.kernels.emplace_back();
    return text(row.name) && keyword("symbol") && text(row.symbol) && keyword("buffers") &&
           natural(row.bufferCount) && keyword("outputs") && natural(row.outputCount) && keyword("scalars") &&
           natural(row.scalarCount) && keyword("scratch") && natural(row.scratchBytes) &&
           (!is(Kind::text) || text(row.description));
  }

  bool constant() {
    ConstantRow& row = program_.constants.emplace_back();
    if (!text(row.name) || !dataType(row.dtype) || !punctuation('[')) return false;
    while (!isPunctuation(']')) {
      if (!number(row.shape.emplace_back())) return false;
      if (isPunctuation(',') && !take()) return false;
    }
    const Token start = token_;
    int64_t count = 0, size = 0;
    if (!checkedElementCount(row.shape.data(), static_cast<uint32_t>(row.shape.size()), count) ||
        !checkedMul(count, kDataTypes[row.dtype].sizeBytes, size))
      return failAt(start, "the shape is out of range");
    row.sizeBytes = static_cast<uint64_t>(size);
    return take() && keyword("offset") && natural(row.offset);
  }

  bool dim(ContractDim& dim) {
    if (isPunctuation('?')) {
      dim.text = "?";
      return take();
    }
    if (is(Kind::word)) {
      if (!number(dim.value)) return false;
      return dim.value >= 0 || fail("a dim is a number not below 0, or quoted text");
    }
    if (!text(dim.text)) return false;
    if (!is(Kind::word)) return true;
    const std::string range = token_.value;
    const size_t dots = range.find("..");
    if (dots == std::string::npos) return fail("bounds are low..high or low..high:multiple");
    if (!toNumber(std::string_view(range).substr(0, dots), dim.low) ||
        !toNumber(std::string_view(range).substr(dots + 2), dim.high) || !take())
      return false;
    return !isPunctuation(':') || (take() && number(dim.multiple));
  }

  // Nesting is limited to 32 (program_file.cpp), so this recursion is bounded.
  bool type(ContractType& result, uint32_t depth = 0) {
    static const std::map<std::string, ContractKind> kKinds = {
        {"tensor", ContractKind::tensor},   {"tuple", ContractKind::tuple},
        {"list", ContractKind::list},       {"optional", ContractKind::optional},
        {"closure", ContractKind::closure}, {"data", ContractKind::data}};
    auto found = is(Kind::word) ? kKinds.find(token_.value) : kKinds.end();
    if (found == kKinds.end()) return fail("tensor, tuple, list, optional, closure or data is expected");
    if (depth >= 31) return fail("the type is nested too deep");
    result.kind = found->second;
    if (!take()) return false;
    const bool tensor = result.kind == ContractKind::tensor;
    if (tensor && !dataType(result.dtype)) return false;
    if (!punctuation(tensor ? '[' : '(')) return false;
    const char close = tensor ? ']' : ')';
    while (!isPunctuation(close)) {
      if (!(tensor ? dim(result.dims.emplace_back()) : type(result.elements.emplace_back(), depth + 1)))
        return false;
      if (isPunctuation(',') && !take()) return false;
    }
    return take();
  }

  bool contract(std::vector<ContractValue>& values) {
    ContractValue& value = values.emplace_back();
    return name(value.name) && type(value.type);
  }

  bool function() {
    if (!finishFunction()) return false;
    Function& function = program_.functions.emplace_back();
    open_ = true;
    functionStart_ = token_;
    if (!name(function.name)) return false;
    while (is(Kind::word)) {
      const Token head = token_;
      if (!take()) return false;
      uint32_t* field = head.value == "parameters" ? &function.parameterCount
                        : head.value == "results"  ? &function.resultCount
                        : head.value == "scalars"  ? &function.scalarCount
                        : head.value == "objects"  ? &function.objectCount
                                                   : nullptr;
      if (!field) return failAt(head, "parameters, results, scalars or objects is expected");
      if (!natural(*field)) return false;
    }
    return true;
  }

  bool finishFunction() {
    if (!open_) return true;
    open_ = false;
    for (const auto& [label, token] : labelUses_)
      if (!boundLabels_.count(label)) return failAt(token, "label " + label + " is not defined");
    labels_.clear();
    boundLabels_.clear();
    labelUses_.clear();
    const Status status = code_.finish(program_.functions.back());
    return status.ok() || failAt(functionStart_, status.message);
  }

  bool entry(std::pair<std::string, Token>& entry) {
    entry.second = token_;
    return name(entry.first);
  }
  bool functionIndex(const std::string& word, const Token& token, int32_t& index) {
    if (word.size() > 1 && word[0] == 'f' && word.find_first_not_of("0123456789", 1) == std::string::npos) {
      int64_t value = 0;
      if (!toNumber(std::string_view(word).substr(1), value)) return false;
      index = static_cast<int32_t>(std::clamp<int64_t>(value, 0, INT32_MAX));
      return true;
    }
    for (size_t i = 0; i < program_.functions.size(); ++i) {
      if (program_.functions[i].name != word) continue;
      index = static_cast<int32_t>(i);
      return true;
    }
    return failAt(token, "there is no function " + word);
  }
  bool resolveEntries() {
    if (!main_.first.empty() && !functionIndex(main_.first, main_.second, program_.mainFunction))
      return false;
    return init_.first.empty() || functionIndex(init_.first, init_.second, program_.initFunction);
  }

  Label labelNamed(const std::string& word) {
    auto [at, fresh] = labels_.insert({word, Label{}});
    if (fresh) at->second = code_.newLabel();
    return at->second;
  }

  bool word(OperandKind kind, int32_t& value) {
    if (!is(Kind::word)) return fail("an operand is expected");
    const std::string operand = token_.value;
    if (kind == OperandKind::dataType) {
      value = findDataType(operand);
      return value >= 0 ? take() : fail("'" + operand + "' is not a dtype");
    }
    std::string_view digits = operand;
    if (kind != OperandKind::number) {
      char prefix = static_cast<char>(kind);
      if (kind == OperandKind::scalarRead || kind == OperandKind::scalarWrite) prefix = 'r';
      if (kind == OperandKind::objectRead || kind == OperandKind::objectWrite) prefix = 'v';
      if (digits.size() < 2 || digits[0] != prefix)
        return fail(std::string("an operand like ") + prefix + "0 is expected, not '" + operand + "'");
      digits.remove_prefix(1);
    }
    int64_t wide = 0;
    if (!toNumber(digits, wide)) return false;
    if (wide < INT32_MIN || wide > INT32_MAX) return fail("the number does not fit 32 bits");
    value = static_cast<int32_t>(wide);
    return take();
  }

  bool operand(Operand operand, std::vector<CodeWriter::Argument>& arguments) {
    if (operand.list) {
      std::vector<int32_t> items;
      if (!punctuation('[')) return false;
      while (!isPunctuation(']')) {
        if (!word(operand.kind, items.emplace_back())) return false;
        if (isPunctuation(',') && !take()) return false;
      }
      arguments.emplace_back(OperandList(std::move(items)));
      return take();
    }
    if (operand.kind == OperandKind::immediate) {
      int64_t value = 0;
      if (!number(value)) return false;
      arguments.emplace_back(Immediate{value});
      return true;
    }
    if (operand.kind == OperandKind::label) {
      if (!is(Kind::word)) return fail("a label is expected");
      labelUses_.emplace_back(token_.value, token_);
      arguments.emplace_back(labelNamed(token_.value));
      return take();
    }
    int32_t value = 0;
    if (!word(operand.kind, value)) return false;
    arguments.emplace_back(value);
    return true;
  }

  bool instruction(Opcode opcode) {
    const InstructionRow& instruction = row(opcode);
    std::vector<CodeWriter::Argument> arguments;
    for (uint32_t i = 0; i < instruction.operandCount; ++i)
      if (!operand(instruction.operands[i], arguments)) return false;
    code_.emitArguments(opcode, arguments);
    return true;
  }

  Lexer lexer_;
  Program& program_;
  Token token_;
  std::string problem_;
  uint32_t problemLine_ = 1, problemColumn_ = 1;
  bool open_ = false, afterLabel_ = false;
  Token functionStart_;
  CodeWriter code_;
  std::map<std::string, Label> labels_;
  std::map<std::string, bool> boundLabels_;
  std::vector<std::pair<std::string, Token>> labelUses_;
  std::pair<std::string, Token> main_, init_;
};

}  // namespace

Status parseProgramText(std::string_view text, Program& program) {
  program = Program();
  return Parser(text, program).run();
}

}  // namespace dyn::vm
