#include "compiler/ops/op_table.h"
#include "compiler/ops/statements/selection_kernel.h"
#include "compiler/ops/statements/statement_writer.h"

namespace dyn {

using loop::Buffer;
using loop::Expr;
using loop::StmtRef;

namespace {

// How many of flags [0, length) hold up to each, and in all. `flag`: of the operand at a place, a boolean.
Result<StatementKernel> makeCounts(const StatementRequest& request, int operand, Dim length) {
  StatementRequest own = request;
  own.name += ".counts";
  own.description += ", how many";
  StatementWriter w(own);
  w.units({});
  const Buffer *from = w.input(operand, {length}), *counts = w.memory("counts", Dtype::i64, {length}),
               *total = w.memory("total", Dtype::i64, {request.dims.constant(1)}),
               *cell = w.cell("acc", Dtype::i64);
  const std::vector<Expr> one = {w.integer(0)};
  w.add(loop::store(cell, one, w.integer(0)));
  const Expr extent = w.dim(length), k = w.counter("k", extent), held = w.loops().load(cell, one);
  const Expr flag = w.loops().cast(w.loops().load(from, {k}), Dtype::boolean);
  w.add(loop::loopOver(k, extent, loop::LoopKind::serial,
                       loop::block({loop::store(cell, one, held + w.loops().cast(flag, Dtype::i64)),
                                    loop::store(counts, {k}, held)})));
  w.add(loop::store(total, one, held));
  return w.finish(length * 2);
}

// The place in the result of what the count at `k` is of.
Expr placeOf(StatementWriter& w, std::vector<StmtRef>& to, const Buffer* counts, Expr k) {
  return w.named(to, "to", w.loops().load(counts, {k}) - 1);
}
StmtRef whereThere(StatementWriter& w, Expr place, Dim count, std::vector<StmtRef> stores) {
  return loop::branch(w.integer(0) <= place && place < w.dim(count), loop::block(std::move(stores)));
}

Result<SelectionKernels> makeNonzero(const StatementRequest& request) {
  const Type x = request.operandTypes[0];
  SelectionKernels made;
  made.length = elementCount(request.dims, x.dims());
  made.count = request.op.results[0].type.dims()[1];
  DYN_TRY(made.counts, makeCounts(request, 0, made.length));
  StatementWriter w(request);
  const std::vector<Expr> at = w.units(x.dims());
  const Buffer *from = w.input(0, x.dims()), *counts = w.given("counts", Dtype::i64, x.dims()),
               *out = w.output(0, request.op.results[0].type.dims());
  std::vector<StmtRef> found, stores;
  const Expr to = w.named(found, "to", w.loops().load(counts, at) - 1);
  for (size_t axis = 0; axis < at.size(); ++axis)
    stores.push_back(loop::store(out, {w.integer(static_cast<int64_t>(axis)), to}, at[axis]));
  found.push_back(whereThere(w, to, made.count, std::move(stores)));
  w.add(
      loop::branch(w.loops().cast(w.loops().load(from, at), Dtype::boolean), loop::block(std::move(found))));
  DYN_TRY(made.chosen, w.finish(made.length * (x.rank() + 1)));
  return made;
}

Result<SelectionKernels> makeCompress(const StatementRequest& request) {
  const Type x = request.operandTypes[0];
  const Dim one = request.dims.constant(1);
  SelectionKernels made;
  made.length = request.operandTypes[1].dims()[0];
  Shape parts = {one, elementCount(request.dims, x.dims()), one};
  made.count = request.op.results[0].type.dims()[0];
  if (request.op.attributes.has("axis")) {
    const int64_t given = request.op.attributes.integer("axis");
    const auto axis = x.dims().begin() + (given < 0 ? given + x.rank() : given);
    parts = {elementCount(request.dims, Shape(x.dims().begin(), axis)), *axis,
             elementCount(request.dims, Shape(axis + 1, x.dims().end()))};
    made.count = request.op.results[0].type.dims()[static_cast<size_t>(axis - x.dims().begin())];
  }
  DYN_TRY(made.counts, makeCounts(request, 1, made.length));
  StatementWriter w(request);
  const std::vector<Expr> at = w.units(parts);
  const Buffer *from = w.input(0, parts), *flags = w.input(1, {made.length}),
               *counts = w.given("counts", Dtype::i64, {made.length}),
               *out = w.output(0, {parts[0], made.count, parts[2]});
  std::vector<StmtRef> found;
  const Expr to = placeOf(w, found, counts, at[1]);
  found.push_back(
      whereThere(w, to, made.count, {loop::store(out, {at[0], to, at[2]}, w.loops().load(from, at))}));
  StmtRef chosen = loop::branch(w.loops().load(flags, {at[1]}), loop::block(std::move(found)));
  // There may be fewer conditions than slices.
  if (request.facts.equal(made.length, parts[1]) != Answer::yes)
    chosen = loop::branch(at[1] < w.dim(made.length), loop::block({std::move(chosen)}));
  w.add(std::move(chosen));
  DYN_TRY(made.chosen, w.finish(elementCount(request.dims, x.dims()) * 2));
  return made;
}

}  // namespace

bool hasSelectionKernels(const OpDef& def) { return &def == &ops::nonzeroOp || &def == &ops::compressOp; }

Result<SelectionKernels> makeSelectionKernels(const StatementRequest& request) {
  return request.op.def == &ops::nonzeroOp ? makeNonzero(request) : makeCompress(request);
}

}  // namespace dyn
