// The operators of selection_kernel.h, one a family, and what their steps are written with.
#pragma once

#include <functional>

#include "compiler/ops/statements/selection_kernel.h"
#include "compiler/ops/statements/statement_writer.h"

namespace dyn {

struct SelectionRow {
  const OpDef* def;
  Result<SelectionKernels> (*make)(const StatementRequest& request);
  int64_t kernels;
  size_t selected = 1;  // selectedOperands()
};

Result<SelectionKernels> makeNonzero(const StatementRequest& request);
Result<SelectionKernels> makeCompress(const StatementRequest& request);
Result<SelectionKernels> makeUnique(const StatementRequest& request);
Result<SelectionKernels> makeNonMaxSuppression(const StatementRequest& request);

// One kernel of several, which find their memory by its number.
class StepWriter {
 public:
  // `what` follows the operation in the kernel's name and description; empty: the one that writes results.
  StepWriter(const StatementRequest& request, SelectionKernels& all, const std::string& what = "");
  StatementWriter& writer() { return writer_; }
  const loop::Buffer* read(size_t memory);
  const loop::Buffer* written(size_t memory);
  // Behind the kernels that count, or as the one that writes.
  Status finish(Dim steps);

 private:
  StatementRequest request_;
  SelectionKernels& all_;
  SelectionStep made_;
  StatementWriter writer_;
  const bool counts_;
};

size_t addMemory(SelectionKernels& all, const std::string& name, Dtype dtype, Shape shape);

// A step with one unit: of what `element` gives of [0, length), the sums up to each and including it; returns
// the memory of them, [length] i64, and makes all of them the total.
using ElementOfStep = std::function<loop::Expr(StatementWriter& writer, loop::Expr at)>;
Result<size_t> addSums(const StatementRequest& request, SelectionKernels& all, Dim length,
                       const std::function<ElementOfStep(StepWriter& step)>& element);

// The stores, where `place` is one of the `count` of the result.
loop::StmtRef whereThere(StatementWriter& w, loop::Expr place, Dim count, std::vector<loop::StmtRef> stores);

}  // namespace dyn
