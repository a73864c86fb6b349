// unique of elements seen flat: each finds the first of its equals, by itself, and those that are their own
// first are the result. No thread waits for another; the work grows with the square of the length. NaN equals
// itself and is above all numbers; of zeros of both signs the first one is kept.
//
//   firsts  first[e] = minimum over j < n { select(x[j] == x[e], j, n) }
//   counts  how many are their own first, up to each
//   write   sorted: the place of x[e] is how many below it are their own first; else counts[first[e]] - 1
//
// Along an axis the same of slices: two are equal where no place differs, and one is below the other where
// the first place at which it is below comes before the first at which it is above.
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
    const Dim one = request.dims.constant(1);
    parts_ = {one, elementCount(request.dims, x_.dims()), one};
    all_.count = request.op.results[0].type.dims()[0];
    bySlices_ = request.op.attributes.has("axis");
    if (bySlices_) {
      const int64_t given = request.op.attributes.integer("axis");
      const auto axis = x_.dims().begin() + (given < 0 ? given + x_.rank() : given);
      parts_ = {elementCount(request.dims, Shape(x_.dims().begin(), axis)), *axis,
                elementCount(request.dims, Shape(axis + 1, x_.dims().end()))};
      all_.count = request.op.results[0].type.dims()[static_cast<size_t>(axis - x_.dims().begin())];
    }
    length_ = parts_[1];
    steps_ = length_ * elementCount(request.dims, x_.dims());
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
    const Buffer *from = w.input(0, seen(length_)), *firsts = step.written(firsts_);
    const Pair pair = pairOf(w, from, e);
    const Expr extent = w.dim(length_);
    const Expr first = overAll(w, "first", ReduceOp::minimum, [&](std::vector<StmtRef>& each, Expr j) {
      return select(same(w, each, pair, j), j, extent);
    });
    w.add(loop::store(firsts, {e}, first));
    return step.finish(steps_);
  }

  Status write() {
    StepWriter step(request_, all_);
    StatementWriter& w = step.writer();
    const size_t results = request_.op.results.size();
    const Expr e = w.units({length_})[0];
    const Buffer *from = w.input(0, seen(length_)), *firsts = step.read(firsts_),
                 *counts = step.read(counts_);
    std::vector<const Buffer*> out = {w.output(0, seen(all_.count))};
    for (size_t r = 1; r < results; ++r)
      out.push_back(w.output(static_cast<int>(r), {r == 2 ? length_ : all_.count}));
    const Pair pair = pairOf(w, from, e);
    const Expr first = w.named(w.body(), "first", w.loops().load(firsts, {e}));
    Expr place = w.loops().load(counts, {first}) - 1;
    if (request_.op.attributes.integer("sorted", 1) != 0)
      place = overAll(w, "place", ReduceOp::sum, [&](std::vector<StmtRef>& each, Expr j) {
        const Expr isBelow = below(w, each, pair, j);
        return w.loops().cast(w.loops().load(firsts, {j}) == j && isBelow, Dtype::i64);
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
    kept.push_back(copied(w, out[0], place, from, e));
    if (results > 1) kept.push_back(loop::store(out[1], {place}, e));
    if (results > 3) kept.push_back(loop::store(out[3], {place}, equals));
    w.add(loop::branch(first == e, loop::block({whereThere(w, place, all_.count, std::move(kept))})));
    return step.finish(steps_);
  }

  // Elements are along one axis, slices between two.
  Shape seen(Dim along) const { return bySlices_ ? Shape{parts_[0], along, parts_[2]} : Shape{along}; }

  // The one that a unit stands for, beside which others are looked at.
  struct Pair {
    const Buffer* from;
    Expr unit, own;  // own: of elements
  };
  Pair pairOf(StatementWriter& w, const Buffer* from, Expr e) const {
    return {from, e, bySlices_ ? Expr() : w.named(w.body(), "own", read(w, from, {e}))};
  }
  Expr same(StatementWriter& w, std::vector<StmtRef>& each, const Pair& pair, Expr j) const {
    if (!bySlices_) return same(w, otherOf(w, each, pair, j), pair.own);
    return firstPlace(w, each, "differs", pair, j, [&](Expr a, Expr b) { return !same(w, a, b); }) >=
           w.dim(parts_[0] * parts_[2]);
  }
  Expr below(StatementWriter& w, std::vector<StmtRef>& each, const Pair& pair, Expr j) const {
    if (!bySlices_) return below(w, otherOf(w, each, pair, j), pair.own);
    const Expr less = firstPlace(w, each, "less", pair, j, [&](Expr a, Expr b) { return below(w, a, b); });
    const Expr more = firstPlace(w, each, "more", pair, j, [&](Expr a, Expr b) { return below(w, b, a); });
    return less < more;
  }
  Expr otherOf(StatementWriter& w, std::vector<StmtRef>& each, const Pair& pair, Expr j) const {
    return w.named(each, "other", read(w, pair.from, {j}));
  }
  // Of slice j beside the unit's: the first place where that is so; as many as there are, or more: nowhere.
  Expr firstPlace(StatementWriter& w, std::vector<StmtRef>& each, const char* name, const Pair& pair, Expr j,
                  const std::function<Expr(Expr other, Expr own)>& isSo) const {
    const Expr outer = w.dim(parts_[0]), inner = w.dim(parts_[2]);
    const Expr o = w.counter("o", outer), i = w.counter("i", inner), made = w.loops().variable(name);
    const Expr found = isSo(read(w, pair.from, {o, j, i}), read(w, pair.from, {o, pair.unit, i}));
    each.push_back(loop::accumulate(made, ReduceOp::minimum, {o, i}, {outer, inner}, LoopKind::serial,
                                    loop::block({}),
                                    select(found, o * inner + i, w.dim(parts_[0] * parts_[2]))));
    return made;
  }
  StmtRef copied(StatementWriter& w, const Buffer* to, Expr place, const Buffer* from, Expr e) const {
    if (!bySlices_) return loop::store(to, {place}, w.loops().load(from, {e}));
    const Expr outer = w.dim(parts_[0]), inner = w.dim(parts_[2]);
    const Expr o = w.counter("o", outer), i = w.counter("i", inner);
    const StmtRef one = loop::store(to, {o, place, i}, w.loops().load(from, {o, e, i}));
    return loop::loopOver(o, outer, LoopKind::serial, loop::loopOver(i, inner, LoopKind::serial, one));
  }

  Expr read(StatementWriter& w, const Buffer* from, std::vector<Expr> at) const {
    return w.loops().cast(w.loops().load(from, std::move(at)), compared_);
  }
  Expr overAll(StatementWriter& w, const char* name, ReduceOp op,
               const std::function<Expr(std::vector<StmtRef>& each, Expr j)>& value) const {
    const Expr extent = w.dim(length_), j = w.counter("j", extent), made = w.loops().variable(name);
    std::vector<StmtRef> each;
    const Expr reduced = value(each, j);
    w.add(loop::accumulate(made, op, {j}, {extent}, LoopKind::vector, loop::block(std::move(each)), reduced));
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
  Shape parts_;            // what is before the axis, along it, and behind; of elements all are along it
  bool bySlices_ = false;  // of more than single elements
  Dim length_, steps_;
  Dtype compared_;
  SelectionKernels all_;
  size_t firsts_ = 0, counts_ = 0;
};

}  // namespace

Result<SelectionKernels> makeUnique(const StatementRequest& request) { return Unique(request).run(); }

}  // namespace dyn
