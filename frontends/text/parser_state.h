// The parser's insides, one class over several files: parse_value.cpp (dims, types, tensors, attributes),
// parse_expression.cpp, parse_index.cpp, parse_arithmetic.cpp (operators that are several operations),
// parse_body.cpp (statements and bodies), parse_closure.cpp (function values), parse_operator.cpp
// (operators), parser.cpp (modules and the public functions).
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/ir/op_def.h"
#include "frontends/text/lexer.h"
#include "frontends/text/operators.h"
#include "frontends/text/parser.h"

namespace dyn::text {

inline constexpr std::string_view kLibraryMain = "loaded_main";  // @main of a library, beside an expression
inline constexpr int kMaxDepth = 200;  // of expressions, types and lists: these recurse

// One element of a list as written; complex ones have two parts.
struct Element {
  uint32_t token = 0;
  uint32_t imaginary = 0;
  bool negative = false;
  bool imaginaryNegative = false;
};

// A bare number or (nested) list before its dtype is known.
struct Literal {
  std::vector<int64_t> shape;
  std::vector<Element> elements;
  enum class Kind : uint8_t { integer, real, boolean, string, complex } kind = Kind::integer;
};

// A value of an expression: defined already, or a literal that becomes a constant once its neighbours are
// known.
struct Operand {
  ValueId id = kNoValue;
  std::shared_ptr<const Literal> literal;
  uint32_t offset = 0;
  bool leftOut = false;
  // The operation of the current body this expression made, or -1: what a statement names and types.
  int64_t op = -1;
};

// Between the brackets behind a value: one index (no colons), or a part, start:end:step.
struct IndexItem {
  std::optional<Operand> first, end, step;
  int colons = 0;
  bool fromEnd = false;  // it stands behind `...`
  int64_t axis = 0;
  uint32_t offset = 0;
};

struct NamedResult {
  std::string name;  // "" for `_`
  uint32_t offset = 0;
};

// A function or body being read.
struct Frame {
  Function function;
  std::vector<Op> ops;
  std::unordered_map<std::string, std::pair<ValueId, uint32_t>>
      scope;                             // name → value, offset of its definition
  bool typesWritten = false;             // `-> (...)` was there
  std::vector<std::string> resultNames;  // as `return` writes them; "" where it is no name
  // The body of a function value: what it uses of the frames around it becomes its first parameters.
  bool captures = false;
  std::vector<Parameter> captured;
  std::vector<ValueId> capturedFrom;  // of the frame around
  // A statement whose bodies are being read.
  bool waiting = false;
  Op statement;
  std::vector<NamedResult> names;
  bool named = false;  // the statement has `names =`
  std::string bodyName;
  std::vector<std::string> constructors;
};

class Parser {
 public:
  Parser(IrContext& context, std::string_view text, const ParseOptions& options)
      : context_(context), options_(options), source_(options.file, text) {}

  Status start();  // before all else
  enum class Operators : uint8_t { refused, skipped };
  Result<Module> module(Operators operators = Operators::refused);
  Result<ParsedExpression> expressionModule(const Environment& environment);
  Result<Type> wholeType(const Module* library);
  Result<HostTensor> wholeTensor();
  Result<std::vector<OperatorDefinition>> operatorDefinitions();
  Result<OperatorBody> operatorBody(const OperatorDefinition& definition, uint32_t fileEnd,
                                    const std::map<std::string, uint32_t>& values,
                                    std::span<const std::optional<Dtype>> inputs);

 private:
  // tokens (parser.cpp)
  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  std::string_view text(const Token& token) const { return source_.text(token); }
  bool isSymbol(std::string_view symbol, size_t ahead = 0) const;
  bool isName(std::string_view name, size_t ahead = 0) const;
  bool takeSymbol(std::string_view symbol);
  bool takeName(std::string_view name);
  Status expectSymbol(std::string_view symbol, std::string_view after);
  Result<std::string> expectName(std::string_view what);  // a plain or quoted name
  Result<int64_t> expectInteger(std::string_view what);   // with its sign
  std::string shown(const Token& token) const;
  Error error(DiagnosticId id, std::string message, uint32_t offset) const {
    return source_.error(id, std::move(message), offset);
  }
  Error syntax(std::string message) const {
    return error(DiagnosticId::textSyntax, std::move(message), peek().offset);
  }
  Error expected(std::string_view what) const;
  Error unknown(std::string_view noun, std::string_view name, std::vector<std::string_view> known,
                uint32_t offset) const;

  // parse_value.cpp
  Result<Dim> dimUpTo(size_t endToken);  // the tokens [at_, endToken) as one dim
  Result<Shape> shape();
  Result<Type> type(int depth = 0);
  Result<Type> typeOrNone(int depth);  // `_`: null
  Result<std::vector<Type>> typeList(int depth);
  Result<Dtype> dtype();
  bool atTensor() const;  // `f32[`
  Result<HostTensor> tensor();
  Result<HostTensor> weight(Dtype dtype, const std::vector<int64_t>& shape, uint32_t offset);
  bool atLiteral() const;
  Result<Literal> literal();
  Result<Element> element(Literal* into);
  Status elementNumber(Element* into, bool imaginary, Literal* kind);
  Result<HostTensor> tensorOf(const Literal& literal, Dtype dtype, const std::vector<int64_t>& shape);
  Status setElement(HostTensor* tensor, int64_t flat, const Element& element);
  Result<int64_t> integerOf(uint32_t token, bool negative, Dtype dtype) const;
  Result<double> realOf(uint32_t token, bool negative, Dtype dtype, std::optional<uint64_t>* bits) const;
  static Dtype naturalDtype(const Literal& literal);
  Result<AttributeValue> attributeValue(std::optional<AttributeKind> wanted);
  Result<AttributeValue> attributeList(std::optional<AttributeKind> wanted);
  Status attribute(const OpDef& def, Attributes* into);

  // parse_expression.cpp
  Result<Operand> expression(int depth) { return binary(0, std::nullopt, depth); }
  Result<Operand> binary(int least, std::optional<Operand> first, int depth);
  Result<Operand> unary(int depth);
  Result<Operand> primary(int depth);
  Result<Operand> withoutIndex(int depth);
  bool atInfix() const;  // what stands here goes on with the value before it
  const std::string_view* infixHere() const;
  Result<Operand> joined(std::string_view symbol, std::vector<Operand> operands, uint32_t offset);
  // After the operator's name: `(arguments) {attributes}`, not yet in the body.
  Result<Op> callHead(int depth);
  Status arguments(Op* op, int depth);
  bool isLastValue() const;
  bool isLeftOut(const Op& op, size_t place) const;
  bool atElementType(const Op& op) const;
  Result<Op> wordCall(std::string_view name, Op op, int depth, uint32_t offset);
  bool isFunctionOfLibrary(std::string_view name) const;
  Result<Operand> callExpression(int depth);
  Result<Operand> infix(std::string_view symbol, std::vector<Operand> operands, uint32_t offset);
  Status operatorNamed(Op* op, std::string_view name, uint32_t offset);
  std::string calleeNamed(std::string name) const;
  Result<const OpDef*> findOp(std::string_view name, uint32_t offset);
  Result<ValueId> valueNamed(const std::string& name, uint32_t offset);
  std::optional<ValueId> valueOfPrompt(const std::string& name, uint32_t offset);
  Result<Operand> emit(Op op, uint32_t offset, size_t results);
  Status setOperands(Op* op, std::vector<Operand> operands);
  Result<ValueId> constantOf(const Literal& literal, std::optional<Dtype> wanted, uint32_t offset);
  Result<ValueId> addConstant(HostTensor tensor, uint32_t offset);
  Result<ValueId> valueOf(const Operand& operand);
  void guessDtype(const Op& op);

  // parse_index.cpp
  bool atIndex() const;
  Result<Operand> indexed(Operand value, int depth);
  Result<std::vector<IndexItem>> indexItems(int depth);
  Result<Operand> itemsOf(Operand value, std::vector<IndexItem> items);
  bool isOneElement(const Operand& index) const;
  Result<Operand> gatherOf(Operand value, Operand index, int64_t axis, uint32_t offset);
  Result<Operand> partsOf(Operand value, const std::vector<IndexItem>& parts);
  Result<std::optional<int64_t>> numberOf(const std::optional<Operand>& bound, int64_t otherwise) const;
  Result<Operand> numbers(const std::vector<int64_t>& values, uint32_t offset);
  Result<Operand> boundOf(const std::optional<Operand>& bound, std::optional<int64_t> number,
                          uint32_t offset);
  Result<Operand> sliceOf(Operand value, std::vector<Operand> bounds, const std::vector<int64_t>& axes,
                          const std::vector<int64_t>& steps, uint32_t offset);
  Result<Operand> keptOf(Operand value, Operand mask, uint32_t offset);

  // parse_arithmetic.cpp
  std::optional<Dtype> likelyDtype(const Operand& operand) const;
  Result<std::vector<Operand>> besides(std::string_view name, std::vector<Operand> operands, uint32_t offset);
  Result<Operand> quotient(std::string_view symbol, std::vector<Operand> operands, uint32_t offset);
  bool isList(ValueId value) const;
  Result<Op> lengthOf(Op arguments, uint32_t offset);

  // parse_closure.cpp
  Status beginClosure(std::vector<NamedResult> names, bool named);
  bool isValueName(
      const std::string& name) const;  // it stands for a value here, also for one that would be captured
  Result<std::optional<ValueId>> captured(const std::string& name, uint32_t offset);
  Result<Op> listLoop(std::string_view kind, Op arguments, uint32_t offset);

  // parse_body.cpp
  Result<const Function*> bodies(Frame root);
  Status step();
  Status statement();
  bool atNamedResults() const;
  Result<std::vector<NamedResult>> namedResults();
  Status statementCall(std::vector<NamedResult> names, bool named);
  Status statementExpression(std::vector<NamedResult> names, bool named, std::optional<Operand> first);
  bool atBody(const Op& op) const;
  Status beginBody();
  void guessParameters(const Op& statement, const std::vector<Parameter>& parameters);
  Status finishStatement(Op op, std::vector<NamedResult> names, bool named);
  Status defineName(const NamedResult& name, ValueId id);
  Status parameters(Frame* frame);
  void addLengths(Frame* frame);
  Status signature(Frame* frame);
  bool atBodyEnd() const { return isSymbol("}") || peek().kind == TokenKind::end; }
  Status returnValues(std::optional<Operand> first);
  Status endBody();
  std::string nameWritten(const Operand& value) const;
  void nameResults(const Frame& main);
  void setType(ValueId id, Type type);
  Type typeOf(ValueId id) const { return id < types_.size() ? types_[id] : Type(); }
  Frame& frame() { return stack_.back(); }

  // parse_operator.cpp
  Result<OperatorDefinition> operatorSignature();
  Result<OperatorAttribute> operatorAttribute(std::string name);
  const size_t* valueOfAttribute() const;
  // `read` at the place of the value of the attribute whose name stands here, then on behind the name.
  template <typename Read>
  auto atValue(size_t value, Read&& read) {
    const size_t behind = at_ + 1;
    at_ = value;
    auto result = read();
    at_ = behind;
    return result;
  }
  Status skipBody();

  // parser.cpp
  Status fact();
  Result<DataType> dataType();
  Status weightsLine();
  Result<const Function*> function();
  void addLibrary(Module& module);
  void knowConstructors(const DataType& type);
  Status checkTypeNames(const Module& module);
  Status atEnd();

  IrContext& context_;
  const ParseOptions& options_;
  Source source_;
  std::vector<Token> tokens_;
  size_t at_ = 0;

  std::vector<Frame> stack_;
  const Function* finished_ = nullptr;
  std::vector<const Function*> closures_;      // bodies of function values, functions of the module
  std::string topName_;                        // of the function being read
  const Environment* environment_ = nullptr;   // expressions only
  std::vector<std::string> usedNames_;         // of the environment
  std::map<std::string, HostTensor> weights_;  // of the lines `weights`
  std::unordered_map<std::string, size_t>
      attributeTokens_;                        // of the operator being read: where the value begins
  bool inOperator_ = false;                    // a body of one is being read
  std::vector<Type> types_;                    // by value
  std::unordered_map<ValueId, Dtype> dtypes_;  // by value: known, or likely
  std::unordered_map<std::string, Dim> dims_;  // by text
  std::unordered_map<std::string, const OpDef*> ops_;
  std::vector<std::pair<std::string, uint32_t>>
      usedTypes_;  // data types to be declared, offset of the first use
  std::unordered_map<std::string, std::string> typeOfConstructor_;  // "" = of several types
  std::unordered_set<std::string> seenTypes_;
};

}  // namespace dyn::text
