// cumsum, cumprod.
//
//   acc[0] = 0.0
//   for k < n {
//     acc[0] = acc[0] + x[u, k]
//     y[u, k] = acc[0]
//   }
#include "compiler/ops/op_table.h"
#include "compiler/ops/statements/statement_rows.h"
#include "compiler/ops/statements/statement_writer.h"

namespace dyn {

using loop::Buffer;
using loop::Expr;

// Sums of halves are kept in f32, as the host's.
Result<StatementKernel> makeRunning(const StatementRequest& request) {
  StatementWriter w(request);
  const Type x = request.operandTypes[0];
  const bool isProduct = request.op.def == &ops::cumprodOp;
  const bool exclusive = request.op.attributes.integer("exclusive", 0) != 0;
  const bool reverse = request.op.attributes.integer("reverse", 0) != 0;
  const std::optional<Contents> known = request.contents(1);
  std::optional<int64_t> given;
  if (x.rank() == 1) given = 0;
  if (!given && known && known->size() == 1 && known->front()) given = known->front().constant();
  if (!given)
    return makeError(DiagnosticId::unsupportedFeature, "unsupported: an axis that is not a constant",
                     request.op.place);
  const size_t axis = static_cast<size_t>(*given < 0 ? *given + x.rank() : *given);
  const Dtype sum = isHalf(x.dtype()) ? Dtype::f32 : x.dtype();

  Shape rows = x.dims();
  const Dim length = rows[axis];
  rows[axis] = request.dims.constant(1);
  std::vector<Expr> at = w.units(rows);
  const Buffer *from = w.input(0, x.dims()), *to = w.output(0, x.dims()), *cell = w.cell("acc", sum);
  const std::vector<Expr> one = {w.integer(0)};
  w.add(loop::store(cell, one, w.loops().number(isProduct ? 1 : 0, sum)));
  const Expr extent = w.dim(length), k = w.counter("k", extent);
  at[axis] = reverse ? extent - k - 1 : k;
  const Expr element = w.loops().cast(w.loops().load(from, at), sum), held = w.loops().load(cell, one);
  const loop::StmtRef fold = loop::store(cell, one, isProduct ? held * element : held + element);
  const loop::StmtRef put = loop::store(to, at, w.loops().cast(held, x.dtype()));
  const bool last = !exclusive;
  w.add(loop::loopOver(k, extent, loop::LoopKind::serial,
                       loop::block(last ? std::vector{fold, put} : std::vector{put, fold})));
  return w.finish(elementCount(request.dims, x.dims()) * 2);
}

}  // namespace dyn
