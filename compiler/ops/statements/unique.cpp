// unique of elements seen flat: each finds the first of its equals, by itself, and those that are their own
// first are the result. No thread waits for another; the work grows with the square of the length. NaN equals
// itself and is above all numbers; of zeros of both signs the first one is kept.
//
//   firsts  first[e] = minimum over j < n { select(x[j] == x[e], j, n) }
//   counts  how many are their own first, up to each
//   write   sorted: the place of x[e] is how many below it are their own first; else counts[first[e]] - 1
#include "compiler/ops/statements/selection_rows.h"

namespace dyn {

using loop::Buffer;
using loop::Expr;
using loop::LoopKind;
using loop::ReduceOp;
using loop::StmtRef;

namespace {

class Unique {
 public:
  explicit Unique(const StatementRequest& request) : request_(request), x_(request.operandTypes[0]) {
    length_ = elementCount(request.dims, x_.dims());
    all_.count = request.op.results[0].type.dims()[0];
    compared_ = isHalf(x_.dtype()) ? Dtype::f32 : x_.dtype() == Dtype::boolean ? Dtype::u8 : x_.dtype();
  }

  Result<SelectionKernels> run() {
    DYN_CHECK(findFirsts());
    DYN_TRY(counts_, addSums(request_, all_, length_, [&](StepWriter& step) -> ElementOfStep {
              const Buffer* firsts = step.read(firsts_);
              return [firsts](StatementWriter& w, Expr at) {
                return w.loops().cast(w.loops().load(firsts, {at}) == at, Dtype::i64);
              };
            }));
    DYN_CHECK(write());
    return std::move(all_);
  }

 private:
  Status findFirsts() {
    firsts_ = addMemory(all_, "firsts", Dtype::i64, {length_});
    StepWriter step(request_, all_, "firsts");
    StatementWriter& w = step.writer();
    const Expr e = w.units({length_})[0];
    const Buffer *from = w.input(0, {length_}), *firsts = step.written(firsts_);
    const Expr own = ownOf(w, from, e), extent = w.dim(length_);
    const Expr first = overAll(w, "first", ReduceOp::minimum, from,
                               [&](Expr j, Expr other) { return select(same(w, other, own), j, extent); });
    w.add(loop::store(firsts, {e}, first));
    return step.finish(length_ * length_);
  }

  Status write() {
    StepWriter step(request_, all_);
    StatementWriter& w = step.writer();
    const size_t results = request_.op.results.size();
    const Expr e = w.units({length_})[0];
    const Buffer *from = w.input(0, {length_}), *firsts = step.read(firsts_), *counts = step.read(counts_);
    std::vector<const Buffer*> out;
    for (size_t r = 0; r < results; ++r)
      out.push_back(w.output(static_cast<int>(r), {r == 2 ? length_ : all_.count}));
    const Expr own = ownOf(w, from, e);
    const Expr first = w.named(w.body(), "first", w.loops().load(firsts, {e}));
    Expr place = w.loops().load(counts, {first}) - 1;
    if (request_.op.attributes.integer("sorted", 1) != 0)
      place = overAll(w, "place", ReduceOp::sum, from, [&](Expr j, Expr other) {
        return w.loops().cast(w.loops().load(firsts, {j}) == j && below(w, other, own), Dtype::i64);
      });
    place = w.named(w.body(), "to", place);
    if (results > 2) w.add(loop::store(out[2], {e}, place));
    std::vector<StmtRef> kept;
    Expr equals;
    if (results > 3) {
      const Expr j = w.counter("j", w.dim(length_));
      equals = w.loops().variable("equals");
      kept.push_back(loop::accumulate(equals, ReduceOp::sum, {j}, {w.dim(length_)}, LoopKind::vector,
                                      loop::block({}),
                                      w.loops().cast(w.loops().load(firsts, {j}) == e, Dtype::i64)));
    }
    kept.push_back(loop::store(out[0], {place}, w.loops().load(from, {e})));
    if (results > 1) kept.push_back(loop::store(out[1], {place}, e));
    if (results > 3) kept.push_back(loop::store(out[3], {place}, equals));
    w.add(loop::branch(first == e, loop::block({whereThere(w, place, all_.count, std::move(kept))})));
    return step.finish(length_ * length_);
  }

  Expr read(StatementWriter& w, const Buffer* from, Expr at) const {
    return w.loops().cast(w.loops().load(from, {at}), compared_);
  }
  Expr ownOf(StatementWriter& w, const Buffer* from, Expr e) const {
    return w.named(w.body(), "own", read(w, from, e));
  }
  Expr overAll(StatementWriter& w, const char* name, ReduceOp op, const Buffer* from,
               const std::function<Expr(Expr j, Expr other)>& value) const {
    const Expr extent = w.dim(length_), j = w.counter("j", extent), made = w.loops().variable(name);
    std::vector<StmtRef> each;
    const Expr other = w.named(each, "other", read(w, from, j));
    w.add(loop::accumulate(made, op, {j}, {extent}, LoopKind::vector, loop::block(std::move(each)),
                           value(j, other)));
    return made;
  }
  bool hasNan() const { return isReal(compared_); }
  static Expr isNan(StatementWriter& w, Expr e) { return w.loops().unary(loop::UnaryOp::isNan, e); }
  Expr same(StatementWriter& w, Expr a, Expr b) const {
    return hasNan() ? a == b || (isNan(w, a) && isNan(w, b)) : a == b;
  }
  Expr below(StatementWriter& w, Expr a, Expr b) const {
    return hasNan() ? !isNan(w, a) && (isNan(w, b) || a < b) : a < b;
  }

  const StatementRequest& request_;
  const Type x_;
  Dim length_;
  Dtype compared_;
  SelectionKernels all_;
  size_t firsts_ = 0, counts_ = 0;
};

}  // namespace

Result<SelectionKernels> makeUnique(const StatementRequest& request) { return Unique(request).run(); }

}  // namespace dyn
