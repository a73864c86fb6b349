// topk: each element counts those of its row that come before it, which is its place in the result. No thread
// waits for another, whatever the rows are; of equal elements the first comes first, NaN is above all
// numbers.
//
//   accumulate place: i64 = sum over j < n vector { i64(select(j < e, !(x[u, e] > x[u, j]), x[u, j] > x[u, e])) }
//   if 0 <= place && place < k {
//     values[u, place] = x[u, e]
//     places[u, place] = e
//   }
#include "compiler/ops/statements/statement_rows.h"
#include "compiler/ops/statements/statement_writer.h"

namespace dyn {

using loop::Buffer;
using loop::Expr;

Result<StatementKernel> makeTopk(const StatementRequest& request) {
  StatementWriter w(request);
  const Type x = request.operandTypes[0];
  const int64_t given = request.op.attributes.integer("axis", -1);
  const size_t axis = static_cast<size_t>(given < 0 ? given + x.rank() : given);
  const bool largest = request.op.attributes.integer("largest", 1) != 0;
  const Shape& results = request.op.results[0].type.dims();
  std::vector<Expr> at = w.units(x.dims());
  const Buffer *from = w.input(0, x.dims()), *values = w.output(0, results), *places = w.output(1, results);
  const Dtype compared = isHalf(x.dtype()) ? Dtype::f32 : x.dtype();
  const auto read = [&](const std::vector<Expr>& index) {
    return w.loops().cast(w.loops().load(from, index), compared);
  };
  const auto above = [&](Expr a, Expr b) {
    if (!isReal(compared)) return a > b;
    const auto isNan = [&](Expr e) { return w.loops().unary(loop::UnaryOp::isNan, e); };
    return !isNan(b) && (isNan(a) || a > b);
  };
  std::vector<loop::StmtRef> each;
  const Expr element = w.named(w.body(), "own", read(at)), e = at[axis];
  const Expr length = w.dim(x.dims()[axis]), j = w.counter("j", length);
  std::vector<Expr> there = at;
  there[axis] = j;
  const Expr other = w.named(each, "other", read(there));
  const Expr isAhead = largest ? above(other, element) : above(element, other);
  const Expr isBehind = largest ? above(element, other) : above(other, element);
  const Expr before = select(j < e, !isBehind, isAhead), place = w.loops().variable("place");
  w.add(loop::accumulate(place, loop::ReduceOp::sum, {j}, {length}, loop::LoopKind::vector,
                         loop::block(std::move(each)), w.loops().cast(before, Dtype::i64)));
  std::vector<Expr> to = at;
  to[axis] = place;
  w.add(loop::branch(
      w.integer(0) <= place && place < w.dim(results[axis]),
      loop::block({loop::store(values, to, w.loops().load(from, at)), loop::store(places, to, e)})));
  return w.finish(elementCount(request.dims, x.dims()) * x.dims()[axis]);
}

}  // namespace dyn
