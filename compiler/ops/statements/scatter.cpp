// scatter_elements, scatter_nd: a unit has kPiece elements of the result along the axis that indices go into.
//
//   for t < min(64, n - first) vector { y[first + t, s] = data[first + t, s] }
//   for k < count {
//     let at: i64 = select(i[k] < 0, i[k] + n, i[k])
//     check 0 <= at && at < n fault 1
//     if first <= at && at < first + 64 { y[at, s] = y[at, s] + updates[k, s] }
//   }
#include "compiler/ops/rules/index_rules.h"
#include "compiler/ops/statements/statement_rows.h"
#include "compiler/ops/statements/statement_writer.h"
#include "vm/include/abi/dyn_kernel.h"

namespace dyn {

using loop::Buffer;
using loop::Expr;
using loop::StmtRef;

namespace {

// Fewer would look at all indices more often, more would leave threads without work.
constexpr int64_t kPiece = 64;

// As the host's, also for zeros of both signs: of equal elements the update is taken.
Expr combinedValue(loop::LoopContext& c, const std::string& how, Expr old, Expr update) {
  if (how == "add") return old + update;
  if (how == "mul") return old * update;
  if (how == "none") return update;
  if (!isReal(old.dtype())) return how == "min" ? min(old, update) : max(old, update);
  const Expr keeps = how == "min" ? old < update : old > update;
  return select(c.unary(loop::UnaryOp::isNan, old) || keeps, old, update);
}

class Scatter {
 public:
  Scatter(StatementWriter& writer, const StatementRequest& request)
      : w(writer), how_(request.op.attributes.string("reduction", "none")) {}

  // The piece as it was.
  void copyPiece(const Buffer* data, const Buffer* out, std::vector<Expr> at, size_t axis, Expr piece,
                 Expr size) {
    first_ = piece * kPiece;
    const Expr count = min(w.integer(kPiece), size - first_), t = w.counter("t", count);
    at[axis] = first_ + t;
    w.add(loop::loopOver(t, count, loop::LoopKind::vector, loop::store(out, at, w.loops().load(data, at))));
  }
  // An index from the end if negative, checked.
  Expr place(std::vector<StmtRef>& iteration, Expr given, Expr size, const std::string& bound) {
    const Expr index =
        w.named(iteration, "given", given.dtype() == Dtype::i64 ? given : w.loops().cast(given, Dtype::i64));
    const Expr at = w.named(iteration, "at", select(index < w.integer(0), index + size, index));
    iteration.push_back(
        w.check(w.integer(0) <= at && at < size, {DYN_KERNEL_INDEX_OUT_OF_RANGE, index, "index", bound}));
    return at;
  }
  // What is written at `to` along the axis, where this unit has it.
  StmtRef write(const Buffer* out, std::vector<Expr> at, size_t axis, Expr to, Expr update) {
    at[axis] = to;
    std::vector<StmtRef> inside;
    const Expr old = how_ == "none" ? Expr() : w.named(inside, "old", w.loops().load(out, at));
    inside.push_back(loop::store(out, at, combinedValue(w.loops(), how_, old, update)));
    return loop::branch(first_ <= to && to < first_ + kPiece, loop::block(std::move(inside)));
  }

 private:
  StatementWriter& w;
  const std::string how_;
  Expr first_;
};

// Of nothing there is one piece as well: the indices are looked at, of which none is in range.
Dim scatterPieces(Dim size) {
  DimContext& dims = size.context();
  return max(ceilDiv(size, dims.constant(kPiece)), dims.constant(1));
}

}  // namespace

Result<StatementKernel> makeScatterElements(const StatementRequest& request) {
  StatementWriter w(request);
  Scatter scatter(w, request);
  const Type data = request.operandTypes[0], indices = request.operandTypes[1];
  const int64_t given = request.op.attributes.integer("axis", 0);
  const size_t axis = static_cast<size_t>(given < 0 ? given + data.rank() : given);
  Shape pieces = data.dims();
  const Dim size = pieces[axis];
  pieces[axis] = scatterPieces(size);
  std::vector<Expr> at = w.units(pieces);
  const Buffer *from = w.input(0, data.dims()), *places = w.input(1, indices.dims()),
               *updates = w.input(2, indices.dims()), *out = w.output(0, data.dims());
  const Expr piece = at[axis];
  scatter.copyPiece(from, out, at, axis, piece, w.dim(size));

  const Expr count = w.dim(indices.dims()[axis]), k = w.counter("k", count);
  std::vector<Expr> of = at;
  of[axis] = k;
  std::vector<StmtRef> iteration;
  const Expr to = scatter.place(iteration, w.loops().load(places, of), w.dim(size), axisText(data, axis));
  iteration.push_back(scatter.write(out, at, axis, to, w.loops().load(updates, of)));
  StmtRef walk = loop::loopOver(k, count, loop::LoopKind::serial, loop::block(std::move(iteration)));
  // The other axes of the indices may be shorter.
  Expr inside;
  for (size_t i = 0; i < at.size(); ++i) {
    if (i == axis || request.facts.equal(data.dims()[i], indices.dims()[i]) == Answer::yes) continue;
    const Expr one = at[i] < w.dim(indices.dims()[i]);
    inside = inside.isNull() ? one : inside && one;
  }
  w.add(inside.isNull() ? walk : loop::branch(inside, loop::block({walk})));
  const Dim iterations = elementCount(request.dims, pieces) * indices.dims()[axis];
  return w.finish(elementCount(request.dims, data.dims()) + iterations);
}

Result<StatementKernel> makeScatterNd(const StatementRequest& request) {
  StatementWriter w(request);
  Scatter scatter(w, request);
  const Type data = request.operandTypes[0], indices = request.operandTypes[1];
  const std::optional<int64_t> depth = request.facts.canonical(indices.dims().back()).constant();
  if (!depth)
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: the last dim of the indices is not known", request.op.place);
  const auto split = data.dims().begin() + *depth;
  const Dim targets = elementCount(request.dims, Shape(data.dims().begin(), split)),
            slice = elementCount(request.dims, Shape(split, data.dims().end())),
            rows = elementCount(request.dims, Shape(indices.dims().begin(), indices.dims().end() - 1));
  const Dim coordinates = request.dims.constant(*depth);
  // Indices are looked at where they choose slices of nothing, too.
  const Dim one = request.dims.constant(1);
  const bool sliceMayBeEmpty = request.facts.lessEqual(one, slice) != Answer::yes;
  const Shape pieces = {scatterPieces(targets), sliceMayBeEmpty ? max(slice, one) : slice};
  const std::vector<Expr> at = w.units(pieces);
  const Buffer *from = w.input(0, {targets, slice}), *places = w.input(1, {rows, coordinates}),
               *updates = w.input(2, {rows, slice}), *out = w.output(0, {targets, slice});
  scatter.copyPiece(from, out, at, 0, at[0], w.dim(sliceMayBeEmpty ? targets * min(slice, one) : targets));

  const Expr count = w.dim(rows), k = w.counter("k", count);
  std::vector<StmtRef> iteration;
  Expr to = w.integer(0);
  for (size_t c = 0; c < static_cast<size_t>(*depth); ++c) {
    const Expr size = w.dim(data.dims()[c]);
    const Expr given = w.loops().load(places, {k, w.integer(static_cast<int64_t>(c))});
    to = to * size + scatter.place(iteration, given, size, axisText(data, c));
  }
  if (*depth > 1) to = w.named(iteration, "to", to);
  const StmtRef write = scatter.write(out, at, 0, to, w.loops().load(updates, {k, at[1]}));
  iteration.push_back(sliceMayBeEmpty ? loop::branch(at[1] < w.dim(slice), loop::block({write})) : write);
  w.add(loop::loopOver(k, count, loop::LoopKind::serial, loop::block(std::move(iteration))));
  return w.finish(elementCount(request.dims, data.dims()) + elementCount(request.dims, pieces) * rows);
}

}  // namespace dyn
