// LowerContext: what an operator's lowering sees. The lowering defines the element of a result at an index by
// the elements of its operands;
// when the operator is fused, `read` composes with the producer's definition instead of loading from memory.
//
//   // y = a + b with NumPy broadcast
//   Result<Expr> lowerAdd(LowerContext& c, int, std::span<const Expr> index) {
//     DYN_TRY(Expr a, c.readBroadcast(0, index));
//     DYN_TRY(Expr b, c.readBroadcast(1, index));
//     return a + b;
//   }
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "compiler/ir/module.h"
#include "compiler/loop/expr.h"

namespace dyn::loop {

// What must hold for a result to be computed. Who runs the kernel reads "index 40 is out of range: axis 0 has
// 30 elements", at the operation's place.
struct Check {
  int32_t code = 0;         // DynKernelFault
  Expr subject;             // i64, what is out of range, a part of the condition; null: no single number
  std::string noun, bound;  // "index", "axis 0 has 30 elements"
};

class LowerContext {
 public:
  virtual ~LowerContext() = default;
  virtual const Op& op() const = 0;
  virtual LoopContext& loops() = 0;
  virtual const DimSolver& solver() const = 0;

  int operandCount() const { return static_cast<int>(op().operands.size()); }
  bool hasOperand(int i) const { return i < operandCount() && op().operands[i] != kNoValue; }
  virtual Type operandType(int i) const = 0;
  Type resultType(int i) const { return op().results[i].type; }
  const Attributes& attributes() const { return op().attributes; }

  // Element of operand i. Precondition: one i64 expression per axis, in range whenever the result's element
  // is needed.
  virtual Result<Expr> read(int i, std::span<const Expr> index) = 0;
  // The same for an operand of lower or equal rank whose axes align at the right with `index`, size-1 axes
  // being broadcast.
  Result<Expr> readBroadcast(int i, std::span<const Expr> index);
  // Known contents of a small integer operand (shapes, axes, slice bounds): element k as an i64 expression,
  // from the dims when known, else a load.
  virtual Result<Expr> contents(int i, int64_t k) = 0;

  Expr dim(Dim d) { return loops().dim(d); }
  Expr integer(int64_t v) { return loops().integer(v); }
  Expr number(double v, Dtype dtype) { return loops().number(v, dtype); }
  // sum/min/... of body(k...) over 0 <= k < extent.
  Expr reduce(ReduceOp op, std::span<const Dim> extents,
              const std::function<Expr(std::span<const Expr>)>& body);
  // The kernel stops unless the condition holds for every element computed (gather index in range). Returns
  // `value` for chaining, evaluated after the check.
  virtual Expr checked(Expr condition, Expr value, const Check& check) = 0;
  Error error(DiagnosticId id, std::string message) const;
};

}  // namespace dyn::loop
