// OpDef: the row of one operator. Everything about an operator stands here and in its family file
// (compiler/ops).
//
// The shape rule is written ONCE, as `infer`, over symbolic dims, and read three ways:
//  - type inference calls it with symbolic dims and known contents;
//  - the run-time shape program evaluates the dims it produced (fresh `?` symbols are read off the computed
//    value or its operands);
//  - every `require` that the solver cannot prove becomes one explicit run-time check with the operator's
//    place and the reason.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/builtin_use.h"
#include "compiler/ir/module.h"
#include "compiler/ir/op_traits.h"
#include "compiler/ir/preconditions.h"
#include "compiler/ir/view_rule.h"

namespace dyn {

namespace loop {
class LowerContext;  // compiler/loop/builder/lower_context.h
class Expr;
}  // namespace loop

// Known contents of a small integer (or bool) tensor as symbolic dims, row-major: what makes Shape → Gather →
// Concat → Reshape a dim expression. Null Dim = this element is not known.
using Contents = std::vector<Dim>;

class InferContext {
 public:
  virtual ~InferContext() = default;
  virtual const Op& op() const = 0;
  virtual IrContext& ir() const = 0;
  virtual const Module& module() const = 0;
  virtual DimSolver& solver() const = 0;

  int operandCount() const { return static_cast<int>(op().operands.size()); }
  bool hasOperand(int i) const { return i < operandCount() && op().operands[i] != kNoValue; }
  virtual Type operandType(int i) const = 0;  // precondition: hasOperand(i)
  // Contents of operand i when (partly) known; nullopt when nothing is known or it is no small integer tensor
  // (≤ 1024 elements).
  virtual std::optional<Contents> operandContents(int i) const = 0;
  // The constant behind operand i, if it is one.
  virtual const HostTensor* operandConstant(int i) const = 0;
  const Attributes& attributes() const { return op().attributes; }

  // Demands a == b (a <= b). Provably wrong: an error shapeMismatch naming both. Provable: nothing. Else: one
  // run-time check, and the solver learns the fact. `what` names the demand: "inner dims of matmul".
  virtual Status requireEqual(Dim a, Dim b, std::string_view what) = 0;
  virtual Status requireLessEqual(Dim a, Dim b, std::string_view what) = 0;
  // The broadcast of two dims (NumPy): equal → that; one is 1 → the other; unknown → the provable part with a
  // residual check.
  virtual Result<Dim> broadcast(Dim a, Dim b, std::string_view what) = 0;
  // A fresh `?` for a size that depends on values; `reason` is shown to the user ("NonZero counts the
  // non-zero elements").
  virtual Dim fresh(std::string_view reason) = 0;
  // A fresh `?` that is the value of element `index` of the integer operand i (read at run time when needed).
  virtual Dim freshFromOperand(int i, int64_t index, std::string_view reason) = 0;

  virtual void setResult(int i, Type type) = 0;
  virtual void setResultContents(int i, Contents contents) = 0;
  // Type of result j of region r (regions are inferred by the driver before the op that holds them, given
  // parameter types).
  virtual Status inferRegion(int region, std::span<const Type> parameters, std::vector<Type>* results) = 0;

  Error error(DiagnosticId id, std::string message) const;  // with the operation's place and name
};

// Reference evaluation: simple, slow, independent of code generation.
class EvalContext {
 public:
  virtual ~EvalContext() = default;
  virtual const Op& op() const = 0;
  int operandCount() const { return static_cast<int>(op().operands.size()); }
  bool hasOperand(int i) const { return i < operandCount() && op().operands[i] != kNoValue; }
  virtual const HostTensor& operand(int i) const = 0;
  virtual void setResult(int i, HostTensor tensor) = 0;
  virtual Type resultType(
      int i) const = 0;  // with the symbolic type; concrete shape is for the evaluation to find
  // The value of a symbolic dim in this run (attributes may hold dims).
  virtual Result<int64_t> dimValue(Dim dim) const = 0;
  const Attributes& attributes() const { return op().attributes; }
  Error error(DiagnosticId id, std::string message) const;
};

struct AttributeSpec {
  std::string_view name;
  AttributeKind kind;
  bool required = false;
  std::string_view doc;  // with default: "axis counted from the end if negative; default -1"
  Allowed allowed = {};
};

enum class OpClass : uint8_t {
  elementwise,  // result[i] depends on operands at i (broadcast)
  view,         // index map only: reshape, transpose, slice, broadcast
  injective,    // each result element from one place: gather, concat, pad
  reduction,    // folds axes
  contraction,  // matmul, convolution
  opaque,       // anything else with tensors
  structural,   // control flow, tuples, lists, calls
  check,        // residual checks
};
const char* toString(OpClass c);

// How it runs when compiled.
enum class LoweringKind : uint8_t {
  loops,         // `lower` defines each result element in loop IR
  builtin,       // a hand-written kernel of the VM, named in `builtin`
  structural,    // the host program does it (control flow, tuples, reshape views, shapes)
  notSupported,  // reason in `lowerNote`
};

struct OpDef {
  std::string_view name;     // "reduce_sum"
  std::string_view summary;  // one line
  OpClass cls = OpClass::opaque;
  OpTraits traits = {};
  int minOperands = 0;
  int maxOperands = 0;  // -1: any number
  int results = 1;      // -1: given by the operation
  std::span<const AttributeSpec> attributes;
  bool hasEffects = false;  // may not be removed or moved across others of its kind (checks; random)
  Status (*infer)(InferContext&) = nullptr;
  Status (*evaluate)(EvalContext&) = nullptr;  // null only for structural ops (the interpreter knows them)
  LoweringKind lowering = LoweringKind::notSupported;
  // Element `index` (one i64 expression per result axis) of result `result`.
  Result<loop::Expr> (*lower)(loop::LowerContext&, int result, std::span<const loop::Expr> index) = nullptr;
  // Where the elements of a result lie in the memory of the first operand; null: it is no view.
  ViewRule viewRule = nullptr;
  BuiltinUse builtin;  // LoweringKind::builtin
  // Another row that takes the same call and does the same for some attributes (a library's); null: always
  // that of `builtin`.
  std::string_view (*builtinFor)(const Op&) = nullptr;
  std::string_view builtinOf(const Op& op) const { return builtinFor ? builtinFor(op) : builtin.row; }
  // False: the builtin does not take these ranks or element types, `lower` does. Null: it takes all.
  bool (*builtinTakes)(const Op&, std::span<const Type> operandTypes) = nullptr;
  std::string_view lowerNote;
  // What the elements of operands must be beyond their type. Elementwise operators may leave it out: any
  // elements will do.
  std::span<const OperandRule> operandRules;
  std::string_view doc;      // shapes: "[m, k] x [k, n] -> [m, n]"
  std::string_view example;  // one line of text IR that type-checks (the table test parses and runs it)
};

}  // namespace dyn
