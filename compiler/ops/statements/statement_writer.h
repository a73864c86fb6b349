// What the kernels of this folder are written with: buffers, units, and what a kernel must say of itself.
#pragma once

#include <string>
#include <vector>

#include "compiler/ops/statements/statement_kernel.h"

namespace dyn {

class StatementWriter {
 public:
  explicit StatementWriter(const StatementRequest& request);

  loop::LoopContext& loops() { return *context_; }
  loop::Expr dim(Dim d) { return context_->dim(d); }
  loop::Expr integer(int64_t value) { return context_->integer(value); }

  // An operand or a result, seen with a shape of as many elements. Inputs in any order, then outputs in
  // theirs.
  const loop::Buffer* input(int operand, const Shape& shape);
  const loop::Buffer* output(int result, const Shape& shape);
  // Memory that is no operand (its number is -1) and no result.
  const loop::Buffer* given(const std::string& name, Dtype dtype, const Shape& shape);
  const loop::Buffer* memory(const std::string& name, Dtype dtype, const Shape& shape);
  // One element of memory of a unit, that carries a value from iteration to iteration.
  const loop::Buffer* cell(const std::string& name, Dtype dtype);

  // The indices of axes of these sizes, the last fastest, of which each place is a unit. Call once, first.
  std::vector<loop::Expr> units(const Shape& extents);
  // The variable of a loop of that many iterations.
  loop::Expr counter(const char* hint, loop::Expr extent);
  void add(loop::StmtRef statement) { body_.push_back(std::move(statement)); }
  std::vector<loop::StmtRef>& body() { return body_; }  // what add() adds to
  // A let, and the variable that stands for it from there on.
  loop::Expr named(std::vector<loop::StmtRef>& to, const char* hint, loop::Expr value);
  loop::StmtRef check(loop::Expr condition, const loop::Check& check);

  // `steps`: of the whole launch, as an estimate.
  Result<StatementKernel> finish(Dim steps);

 private:
  std::vector<loop::Expr> extentsOf(const Shape& shape);

  const StatementRequest& request_;
  std::shared_ptr<loop::LoopContext> context_;
  StatementKernel made_;
  std::vector<const loop::Buffer*> outputs_;
  std::vector<loop::StmtRef> body_;
};

}  // namespace dyn
