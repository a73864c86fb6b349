// Loop IR expressions: typed scalars over loop variables, dims, buffer elements and uninterpreted functions.
//
// An Expr is a handle to an interned, immutable node of a LoopContext; structural equality is pointer
// equality. Index arithmetic is i64 and simplified on building (constants, x+0, x*1, x*0, floordiv/mod by 1);
// real arithmetic is never reassociated.
//
//   Expr i = c.variable("i"), x = c.load(a, {i, j});
//   Expr y = select(x > c.real(0, Dtype::f32), x, c.real(0, Dtype::f32));      → "select(a[i, j] > 0, a[i, j], 0)"
//
// Semantics, once for all back ends and the interpreter:
// - Every node has a dtype. Binary operands have the same dtype (no implicit conversion); comparisons give
//   boolean.
// - Integers wrap at their width; floorDiv and mod round toward minus infinity (mod has the divisor's sign);
//   div truncates; rem has the dividend's sign. Integer division by zero in a kernel is a fault
//   DYN_KERNEL_DIVISION_BY_ZERO. Shifts by >= width give 0 (shr of a negative: -1).
// - f16, bf16 and f8 values: each operation computes in f32 (f64 stays f64) and rounds to its dtype.
// - min/max propagate NaN. select evaluates only what it needs where a load could be out of range: loads
//   under a select are guarded.
// - Reductions combine in index order, but an implementation may use several partial accumulators for real
//   sums, fixed by the loop's extent alone (never by threads), so the same shape gives the same bits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/dims/dim.h"
#include "compiler/ir/dtype.h"
#include "compiler/support/result.h"

namespace dyn::loop {

class LoopContext;
struct ExprNode;
struct Buffer;
struct UninterpretedFunction;

enum class ExprKind : uint8_t {
  intConstant,
  realConstant,
  variable,
  dim,
  load,
  call /* of an uninterpreted function */,
  unary,
  binary,
  select,
  cast,
  reduce,   // only before a kernel is built: kernel_builder.h turns it into an `accumulate` statement
  checked,  // likewise: its value, after a `check` statement that demands its condition
};

// X-macro lists give enum, text and arity in one place.
// clang-format off
// Unary operations are plain (an instruction or a few, the same bits in every back end) or functions
// (approximations).
#define DYN_LOOP_UNARY(X)                                                                                  \
  X(neg, plain) X(abs, plain) X(logicalNot, plain) X(bitNot, plain) X(sign, plain) X(floor, plain)         \
  X(ceil, plain) X(round, plain) /* half to even */ X(trunc, plain) X(sqrt, plain)                         \
  X(exp, function) X(log, function) X(sin, function) X(cos, function) X(tan, function) X(asin, function)   \
  X(acos, function) X(atan, function) X(sinh, function) X(cosh, function) X(tanh, function)                \
  X(asinh, function) X(acosh, function) X(atanh, function) X(erf, function) X(expm1, function)             \
  X(log1p, function) X(sigmoid, function) X(isNan, plain) X(isInf, plain)
#define DYN_LOOP_BINARY(X)                                                                                 \
  X(add) X(sub) X(mul) X(div) X(floorDiv) X(mod) X(rem) X(min) X(max) X(pow) X(equal) X(notEqual) X(less)  \
  X(lessEqual) X(logicalAnd) X(logicalOr) X(logicalXor) X(bitAnd) X(bitOr) X(bitXor) X(shiftLeft)          \
  X(shiftRight)
#define DYN_LOOP_REDUCE(X) X(sum) X(product) X(minimum) X(maximum) X(logicalAnd) X(logicalOr)
// clang-format on

enum class UnaryOp : uint8_t {
#define X(name, kind) name,
  DYN_LOOP_UNARY(X)
#undef X
};
enum class BinaryOp : uint8_t {
#define X(name) name,
  DYN_LOOP_BINARY(X)
#undef X
};
enum class ReduceOp : uint8_t {
#define X(name) name,
  DYN_LOOP_REDUCE(X)
#undef X
};
// Is it of the kind `function` in the list?
bool isFunction(UnaryOp op);
const char* toString(UnaryOp op);
const char* toString(BinaryOp op);
const char* toString(ReduceOp op);

class Expr {
 public:
  Expr() = default;
  explicit operator bool() const { return node_ != nullptr; }
  bool isNull() const { return node_ == nullptr; }  // !e and e && f build expressions: test with this
  bool same(const Expr& other) const { return node_ == other.node_; }  // == builds a comparison

  ExprKind kind() const;
  Dtype dtype() const;
  uint32_t id() const;  // dense within the context
  // load: indices; call: arguments; reduce: extents of its variables, then the body; checked: condition,
  // value
  std::span<const Expr> operands() const;
  int64_t intValue() const;                       // intConstant
  double realValue() const;                       // realConstant
  Dim dimValue() const;                           // dim
  const std::string& name() const;                // variable
  const Buffer* buffer() const;                   // load
  const UninterpretedFunction* function() const;  // call
  UnaryOp unaryOp() const;
  BinaryOp binaryOp() const;
  ReduceOp reduceOp() const;
  int32_t fault() const;  // checked
  std::span<const Expr> reduceVariables() const;
  LoopContext& context() const;
  std::string toString() const;

 private:
  friend class LoopContext;
  explicit Expr(const ExprNode* node) : node_(node) {}
  const ExprNode* node_ = nullptr;
};

// Facts an uninterpreted function carries; the prover uses them, nothing else knows what the function
// computes.
struct FunctionFacts {
  Expr low, high;         // value range, inclusive; null = unknown
  bool monotone = false;  // non-decreasing in its (single) argument
  bool injective = false;
  int64_t multipleOf = 1;
  const UninterpretedFunction* inverseOf = nullptr;
  const UninterpretedFunction* prefixSumOf = nullptr;  // f(i) = sum of g(j), j < i
};

enum class FunctionBacking : uint8_t {
  dimExpression,
  array /* an i64/i32 buffer computed by a prelude */,
  pointerArray
};

// A bound or index that is data of the run: a ragged extent s(b), the rows of tree level t, CSR column
// indexes.
struct UninterpretedFunction {
  std::string name;
  int arity = 0;
  FunctionBacking backing = FunctionBacking::dimExpression;
  Dim dim;                        // dimExpression (arity 0)
  const Buffer* array = nullptr;  // array: f(i, ...) = array[i, ...]
  FunctionFacts facts;
};

enum class BufferRole : uint8_t { input, output, scratch };

// A dense row-major array of the kernel: a parameter, or scratch private to a unit.
struct Buffer {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<Expr> shape;
  BufferRole role = BufferRole::input;
};

// Owns expressions, buffers and functions; one per kernel being built.
class LoopContext {
 public:
  explicit LoopContext(DimContext& dims);
  ~LoopContext();
  LoopContext(const LoopContext&) = delete;
  LoopContext& operator=(const LoopContext&) = delete;

  Expr integer(int64_t value, Dtype dtype = Dtype::i64);
  Expr boolean(bool value);
  Expr real(double value, Dtype dtype);
  Expr number(double value, Dtype dtype);  // integer or real constant, as the dtype demands
  Expr variable(const std::string& hint);  // a fresh i64 variable; unique name
  Expr variable(const std::string& hint, Dtype dtype);
  Expr namedVariable(const std::string& name, Dtype dtype);  // parser: exactly this name
  Expr dim(Dim dim);  // its run-time value, i64; constants become integer()
  Expr load(const Buffer* buffer, std::vector<Expr> index);
  Expr call(const UninterpretedFunction* function, std::vector<Expr> arguments);
  Expr unary(UnaryOp op, Expr a);
  Expr binary(BinaryOp op, Expr a, Expr b);
  Expr select(Expr condition, Expr ifTrue, Expr ifFalse);
  Expr cast(Expr a,
            Dtype dtype);  // integers wrap; real → integer truncates, saturates, NaN → 0; to boolean: != 0
  // Combines body over all values 0 <= variables[k] < extents[k]; empty: the operation's neutral element
  // (min: +inf or the largest integer). The variables are renamed to canonical ones, so that two reductions
  // which differ in the names of their variables only are one node.
  Expr reduce(ReduceOp op, std::vector<Expr> variables, std::vector<Expr> extents, Expr body);
  // `value`, whose evaluation needs `condition` to hold; otherwise the kernel stops with `fault`
  // (dyn_kernel.h), which tells `subject`, an i64 part of the condition, where there is one.
  Expr checked(Expr condition, int32_t fault, Expr value, Expr subject = {});

  // States 0 <= variable < extent wherever the variable is used; floorDiv and mod are simplified with it.
  void bound(Expr variable, Expr extent);
  Expr extentOf(Expr variable) const;  // null when not stated

  const Buffer* buffer(std::string name, Dtype dtype, std::vector<Expr> shape, BufferRole role);
  // The same memory with another shape of equal element count; it has the buffer's name and takes its place
  // in a kernel.
  const Buffer* view(const Buffer* buffer, std::vector<Expr> shape);
  // The parser's: a shape may mention functions that are declared after the buffer.
  void setShape(const Buffer* buffer, size_t axis, Expr extent);
  const UninterpretedFunction* function(UninterpretedFunction function);
  DimContext& dims() const;

  // The same operation on other operands (simplified again).
  Expr withOperands(Expr e, std::span<const Expr> operands);
  // Rebuilds `root` with expressions replaced: `replacement` is asked once for each node, from the root down;
  // what it returns takes the node's place as it is, null keeps the node (and goes on to its operands).
  // Iterative.
  Expr substitute(Expr root, const std::function<Expr(Expr)>& replacement);
  // Free variables by id; those that a reduction inside binds anew are its own and stay.
  Expr rename(Expr root, const std::unordered_map<uint32_t, Expr>& names);

 private:
  friend class Expr;
  friend struct ExprSimplifier;
  struct Impl;
  Expr intern(ExprNode node);
  std::unique_ptr<Impl> impl_;
};

// Nodes reachable from `roots`, each once, operands before users, in a deterministic order. Bodies of
// reductions are included.
std::vector<Expr> postorder(std::span<const Expr> roots);

// What a comparison makes: an expression, which is no answer. `if (a == b)` does not compile.
class Condition : public Expr {
 public:
  Condition(Expr e) : Expr(e) {}
  explicit operator bool() const = delete;
};

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);  // div
Expr floorDiv(Expr a, Expr b);
Expr mod(Expr a, Expr b);
Expr min(Expr a, Expr b);
Expr max(Expr a, Expr b);
Condition operator==(Expr a, Expr b);
Condition operator!=(Expr a, Expr b);
Condition operator<(Expr a, Expr b);
Condition operator<=(Expr a, Expr b);
Condition operator>(Expr a, Expr b);
Condition operator>=(Expr a, Expr b);
Condition operator&&(Expr a, Expr b);
Condition operator||(Expr a, Expr b);
Condition operator!(Expr a);
Expr select(Expr condition, Expr ifTrue, Expr ifFalse);
Expr operator+(Expr a, int64_t b);
Expr operator-(Expr a, int64_t b);
Expr operator*(Expr a, int64_t b);

}  // namespace dyn::loop
