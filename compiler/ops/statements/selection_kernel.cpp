#include "compiler/ops/statements/selection_kernel.h"

#include <algorithm>
#include <iterator>

#include "compiler/ops/op_table.h"
#include "compiler/ops/statements/selection_rows.h"

namespace dyn {

using loop::Buffer;
using loop::Expr;

namespace {

const SelectionRow kSelectionRows[] = {
    {&ops::nonzeroOp, makeNonzero, 2},
    {&ops::compressOp, makeCompress, 2, 2},
    {&ops::uniqueOp, makeUnique, 3},
    {&ops::non_max_suppressionOp, makeNonMaxSuppression, 5, 2},
};

const SelectionRow* selectionRowOf(const OpDef& def) {
  const auto* row = std::find_if(std::begin(kSelectionRows), std::end(kSelectionRows),
                                 [&](const SelectionRow& candidate) { return candidate.def == &def; });
  return row == std::end(kSelectionRows) ? nullptr : row;
}

StatementRequest named(const StatementRequest& request, const std::string& what) {
  StatementRequest own = request;
  if (what.empty()) return own;
  own.name += "." + what;
  own.description += ", " + what;
  return own;
}

}  // namespace

bool hasSelectionKernels(const OpDef& def) { return selectionRowOf(def) != nullptr; }

int64_t selectionKernelCount(const OpDef& def) { return selectionRowOf(def)->kernels; }

size_t selectedOperands(const OpDef& def) { return selectionRowOf(def)->selected; }

std::string selectionRefusal(std::span<const Type> operandTypes) {
  return operandTypes[0].rank() == 0 ? "a single element" : "";
}

Result<SelectionKernels> makeSelectionKernels(const StatementRequest& request) {
  return selectionRowOf(*request.op.def)->make(request);
}

StepWriter::StepWriter(const StatementRequest& request, SelectionKernels& all, const std::string& what)
    : request_(named(request, what)), all_(all), writer_(request_), counts_(!what.empty()) {}

const Buffer* StepWriter::read(size_t memory) {
  made_.reads.push_back(memory);
  const SelectionKernels::Memory& m = all_.memories[memory];
  return writer_.given(m.name, m.dtype, m.shape);
}

const Buffer* StepWriter::written(size_t memory) {
  made_.writes.push_back(memory);
  const SelectionKernels::Memory& m = all_.memories[memory];
  return writer_.memory(m.name, m.dtype, m.shape);
}

Status StepWriter::finish(Dim steps) {
  DYN_TRY(made_.kernel, writer_.finish(steps));
  if (counts_)
    all_.counting.push_back(std::move(made_));
  else
    all_.writing = std::move(made_);
  return {};
}

size_t addMemory(SelectionKernels& all, const std::string& name, Dtype dtype, Shape shape) {
  all.memories.push_back({name, dtype, std::move(shape)});
  return all.memories.size() - 1;
}

Result<size_t> addSums(const StatementRequest& request, SelectionKernels& all, Dim length,
                       const std::function<ElementOfStep(StepWriter& step)>& element) {
  const size_t sums = addMemory(all, "counts", Dtype::i64, {length});
  all.total = addMemory(all, "total", Dtype::i64, {request.dims.constant(1)});
  StepWriter step(request, all, "counts");
  StatementWriter& w = step.writer();
  w.units({});
  const ElementOfStep elementAt = element(step);
  const Buffer *to = step.written(sums), *total = step.written(all.total), *cell = w.cell("acc", Dtype::i64);
  const std::vector<Expr> one = {w.integer(0)};
  w.add(loop::store(cell, one, w.integer(0)));
  const Expr extent = w.dim(length), k = w.counter("k", extent), held = w.loops().load(cell, one);
  w.add(loop::loopOver(
      k, extent, loop::LoopKind::serial,
      loop::block({loop::store(cell, one, held + elementAt(w, k)), loop::store(to, {k}, held)})));
  w.add(loop::store(total, one, held));
  DYN_CHECK(step.finish(length * 2));
  return sums;
}

loop::StmtRef whereThere(StatementWriter& w, Expr place, Dim count, std::vector<loop::StmtRef> stores) {
  return loop::branch(w.integer(0) <= place && place < w.dim(count), loop::block(std::move(stores)));
}

}  // namespace dyn
