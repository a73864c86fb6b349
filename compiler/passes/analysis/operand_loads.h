// OperandLoads: which elements of its operands an element of an operation reads. The operator's definition in
// loops is asked with operands that lie in memory: each load in the answer is one element read.
//
//   OperandLoads context(op, types, inferred);
//   Result<Expr> element = definition.lower(context, 0, index);
//   // walk the expression: a load's buffer is operand context.operandOf(buffer), its operands are the place
#pragma once

#include <unordered_set>
#include <vector>

#include "compiler/infer/infer.h"
#include "compiler/loop/builder/lower_context.h"

namespace dyn::passes {

class OperandLoads : public loop::LowerContext {
 public:
  // `types`: of the operands, null where one is left out.
  OperandLoads(const Op& op, std::vector<Type> types, const InferredModule& inferred);

  const Op& op() const override { return op_; }
  loop::LoopContext& loops() override { return loops_; }
  const DimSolver& solver() const override { return inferred_.module.context->facts(); }
  Type operandType(int i) const override { return types_[static_cast<size_t>(i)]; }
  Result<loop::Expr> read(int i, std::span<const loop::Expr> index) override;
  Result<loop::Expr> contents(int i, int64_t k) override;
  loop::Expr checked(loop::Expr condition, loop::Expr value, const loop::Check& check) override {
    return loops_.checked(condition, check.code, value);
  }
  size_t operandOf(const loop::Buffer* buffer) const;
  // A variable for each axis of the type, with its bounds.
  std::vector<loop::Expr> indexOf(Type type);

 private:
  const Op& op_;
  std::vector<Type> types_;
  const InferredModule& inferred_;
  loop::LoopContext loops_;
  std::vector<const loop::Buffer*> buffers_;
};

// The operands of which an element of some result is computed. Others only say what shape the results have.
std::unordered_set<size_t> loadedOperands(const Op& op, const std::vector<Type>& types,
                                          const InferredModule& inferred);

// Is `e` this index, or as broadcasting writes it: select(extent == 1, 0, index), the same where index <
// extent?
bool isElementOf(loop::Expr e, loop::Expr index, Dim extent);

// The same expression without loops of one iteration: sum(k < 1, x[i + k]) is x[i].
loop::Expr withoutSingleIterations(loop::Expr e);

}  // namespace dyn::passes
