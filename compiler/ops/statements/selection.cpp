// nonzero, compress: an element's place in the result is how many are kept up to it.
#include "compiler/ops/statements/selection_rows.h"

namespace dyn {

using loop::Buffer;
using loop::Expr;
using loop::StmtRef;

namespace {

// How many of the elements [0, length) of an operand are not 0, up to each.
Result<size_t> addFlagSums(const StatementRequest& request, SelectionKernels& all, int operand, Dim length) {
  return addSums(request, all, length, [&](StepWriter& step) -> ElementOfStep {
    const Buffer* from = step.writer().input(operand, {length});
    return [from](StatementWriter& w, Expr at) {
      return w.loops().cast(w.loops().cast(w.loops().load(from, {at}), Dtype::boolean), Dtype::i64);
    };
  });
}

}  // namespace

Result<SelectionKernels> makeNonzero(const StatementRequest& request) {
  const Type x = request.operandTypes[0];
  SelectionKernels made;
  const Dim length = elementCount(request.dims, x.dims());
  made.count = request.op.results[0].type.dims()[1];
  DYN_TRY(size_t sums, addFlagSums(request, made, 0, length));
  made.memories[sums].shape = x.dims();
  StepWriter step(request, made);
  StatementWriter& w = step.writer();
  const std::vector<Expr> at = w.units(x.dims());
  const Buffer *from = w.input(0, x.dims()), *counts = step.read(sums),
               *out = w.output(0, request.op.results[0].type.dims());
  std::vector<StmtRef> found, stores;
  const Expr to = w.named(found, "to", w.loops().load(counts, at) - 1);
  for (size_t axis = 0; axis < at.size(); ++axis)
    stores.push_back(loop::store(out, {w.integer(static_cast<int64_t>(axis)), to}, at[axis]));
  found.push_back(whereThere(w, to, made.count, std::move(stores)));
  w.add(
      loop::branch(w.loops().cast(w.loops().load(from, at), Dtype::boolean), loop::block(std::move(found))));
  DYN_CHECK(step.finish(length * (x.rank() + 1)));
  return made;
}

Result<SelectionKernels> makeCompress(const StatementRequest& request) {
  const Type x = request.operandTypes[0];
  const Dim one = request.dims.constant(1);
  SelectionKernels made;
  const Dim length = request.operandTypes[1].dims()[0];
  Shape parts = {one, elementCount(request.dims, x.dims()), one};
  made.count = request.op.results[0].type.dims()[0];
  if (request.op.attributes.has("axis")) {
    const int64_t given = request.op.attributes.integer("axis");
    const auto axis = x.dims().begin() + (given < 0 ? given + x.rank() : given);
    parts = {elementCount(request.dims, Shape(x.dims().begin(), axis)), *axis,
             elementCount(request.dims, Shape(axis + 1, x.dims().end()))};
    made.count = request.op.results[0].type.dims()[static_cast<size_t>(axis - x.dims().begin())];
  }
  DYN_TRY(size_t sums, addFlagSums(request, made, 1, length));
  StepWriter step(request, made);
  StatementWriter& w = step.writer();
  const std::vector<Expr> at = w.units(parts);
  const Buffer *from = w.input(0, parts), *flags = w.input(1, {length}), *counts = step.read(sums),
               *out = w.output(0, {parts[0], made.count, parts[2]});
  std::vector<StmtRef> found;
  const Expr to = w.named(found, "to", w.loops().load(counts, {at[1]}) - 1);
  found.push_back(
      whereThere(w, to, made.count, {loop::store(out, {at[0], to, at[2]}, w.loops().load(from, at))}));
  StmtRef chosen = loop::branch(w.loops().load(flags, {at[1]}), loop::block(std::move(found)));
  // There may be fewer conditions than slices.
  if (request.facts.equal(length, parts[1]) != Answer::yes)
    chosen = loop::branch(at[1] < w.dim(length), loop::block({std::move(chosen)}));
  w.add(std::move(chosen));
  DYN_CHECK(step.finish(elementCount(request.dims, x.dims()) * 2));
  return made;
}

}  // namespace dyn
