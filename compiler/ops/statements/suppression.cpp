// non_max_suppression: what depends on all pairs is found for all of them at once, and the part that goes on
// from box to box is left to one block for each class of each batch, which takes bits together.
//
//   order     the place of a box among those that may be kept: how many come before it, by falling score, of equal
//             ones the first first, NaN last
//   overlaps  bit t of overlaps[b, i, w]: do box i and box 32 * w + t overlap? Of all classes alike
//   choice    for p < candidates { let e = order[b, c, p]
//               if kept < most and removed has no bit of e { chosen[b, c, kept] = e  removed |= overlaps[b, e] } }
//   counts    how many are kept, up to each batch and class
//   write     batch, class and box of each
#include "compiler/ops/statements/selection_rows.h"

namespace dyn {

using loop::Buffer;
using loop::Expr;
using loop::LoopKind;
using loop::ReduceOp;
using loop::StmtRef;

namespace {

constexpr int64_t kBits = 32;  // of a word

struct BoxEdges {
  Expr top, left, bottom, right, area;
};

class Suppression {
 public:
  explicit Suppression(const StatementRequest& request) : request_(request) {
    const Shape& scores = request.operandTypes[1].dims();
    batches_ = scores[0];
    classes_ = scores[1];
    boxes_ = scores[2];
    words_ = ceilDiv(boxes_, request.dims.constant(kBits));
    pairs_ = batches_ * classes_;
    all_.count = request.op.results[0].type.dims()[0];
    order_ = addMemory(all_, "order", Dtype::i64, {batches_, classes_, boxes_});
    overlaps_ = addMemory(all_, "overlaps", Dtype::i32, {batches_, boxes_, words_});
    removed_ = addMemory(all_, "removed", Dtype::i32, {batches_, classes_, words_});
    chosen_ = addMemory(all_, "chosen", Dtype::i64, {batches_, classes_, boxes_});
    kept_ = addMemory(all_, "kept", Dtype::i64, {pairs_});
  }

  Result<SelectionKernels> run() {
    DYN_CHECK(order());
    DYN_CHECK(overlaps());
    DYN_CHECK(choose());
    DYN_TRY(size_t sums, addSums(request_, all_, pairs_, [&](StepWriter& step) -> ElementOfStep {
              const Buffer* kept = step.read(kept_);
              return [kept](StatementWriter& w, Expr at) { return w.loops().load(kept, {at}); };
            }));
    DYN_CHECK(write(sums));
    return std::move(all_);
  }

 private:
  enum Operand : int { kBoxes, kScores, kMost, kOverlap, kScore };

  bool isGiven(int operand) const {
    const size_t i = static_cast<size_t>(operand);
    return i < request_.operandTypes.size() && request_.operandTypes[i];
  }
  // The number that an operand holds; `otherwise`, where it is left out.
  Expr number(StatementWriter& w, std::vector<StmtRef>& to, const char* hint, const Buffer* from,
              Expr otherwise) const {
    return from ? w.named(to, hint, w.loops().load(from, {w.integer(0)})) : otherwise;
  }
  const Buffer* numberOperand(StatementWriter& w, int operand) const {
    return isGiven(operand) ? w.input(operand, {request_.dims.constant(1)}) : nullptr;
  }

  Status order() {
    StepWriter step(request_, all_, "order");
    StatementWriter& w = step.writer();
    const std::vector<Expr> at = w.units({batches_, classes_, boxes_});
    const Buffer *scores = w.input(kScores, {batches_, classes_, boxes_}), *least = numberOperand(w, kScore),
                 *order = step.written(order_);
    const auto isNan = [&](Expr e) { return w.loops().unary(loop::UnaryOp::isNan, e); };
    const auto ahead = [&](Expr a, Expr b) { return !isNan(a) && (isNan(b) || a > b); };
    std::vector<StmtRef> inside, each;
    const Expr own = w.named(w.body(), "own", w.loops().load(scores, at)),
               limit = number(w, w.body(), "limit", least, Expr()), e = at[2];
    // Scores that are not above the limit come before none that is.
    const Expr extent = w.dim(boxes_), j = w.counter("j", extent), place = w.loops().variable("place");
    const Expr other = w.named(each, "other", w.loops().load(scores, {at[0], at[1], j}));
    const Expr before = select(j < e, !ahead(own, other), ahead(other, own));
    inside.push_back(loop::accumulate(place, ReduceOp::sum, {j}, {extent}, LoopKind::vector,
                                      loop::block(std::move(each)), w.loops().cast(before, Dtype::i64)));
    inside.push_back(whereThere(w, place, boxes_, {loop::store(order, {at[0], at[1], place}, e)}));
    StmtRef all = loop::block(std::move(inside));
    w.add(least ? loop::branch(own > limit, std::move(all)) : std::move(all));
    return step.finish(pairs_ * boxes_ * boxes_);
  }

  // As the host's: corners in their order, or from the centre and the sizes.
  BoxEdges edges(StatementWriter& w, std::vector<StmtRef>& to, const Buffer* boxes, Expr batch,
                 Expr box) const {
    Expr b[4];
    for (int64_t k = 0; k < 4; ++k)
      b[k] = w.named(to, "b", w.loops().load(boxes, {batch, box, w.integer(k)}));
    BoxEdges made;
    if (request_.op.attributes.integer("center_point_box", 0) != 0) {
      const Expr two = w.loops().real(2, Dtype::f32);
      const Expr halfWidth = w.named(to, "half", b[2] / two), halfHeight = w.named(to, "half", b[3] / two);
      made = {b[1] - halfHeight, b[0] - halfWidth, b[1] + halfHeight, b[0] + halfWidth, Expr()};
    } else {
      made = {min(b[0], b[2]), min(b[1], b[3]), max(b[0], b[2]), max(b[1], b[3]), Expr()};
    }
    made.top = w.named(to, "top", made.top);
    made.left = w.named(to, "left", made.left);
    made.bottom = w.named(to, "bottom", made.bottom);
    made.right = w.named(to, "right", made.right);
    made.area = w.named(to, "area", (made.bottom - made.top) * (made.right - made.left));
    return made;
  }

  // Boxes without area, and those that are no numbers, overlap nothing.
  Expr overlap(StatementWriter& w, std::vector<StmtRef>& to, const BoxEdges& a, const BoxEdges& b,
               Expr threshold) const {
    const Expr zero = w.loops().real(0, Dtype::f32);
    const Expr height = w.named(to, "height", min(a.bottom, b.bottom) - max(a.top, b.top)),
               width = w.named(to, "width", min(a.right, b.right) - max(a.left, b.left)),
               common = w.named(to, "common", height * width);
    return a.area > zero && b.area > zero && height > zero && width > zero &&
           common / (a.area + b.area - common) > threshold;
  }

  // Neighbours look at the same 32 boxes, each with another one of its own.
  Status overlaps() {
    StepWriter step(request_, all_, "overlaps");
    StatementWriter& w = step.writer();
    const std::vector<Expr> at = w.units({batches_, words_, boxes_});
    const Buffer *boxes = w.input(kBoxes, {batches_, boxes_, request_.dims.constant(4)}),
                 *most = numberOperand(w, kOverlap), *out = step.written(overlaps_);
    std::vector<StmtRef> each;
    const Expr threshold = number(w, w.body(), "threshold", most, w.loops().real(0, Dtype::f32)),
               first = w.named(w.body(), "first", at[1] * kBits);
    const BoxEdges own = edges(w, w.body(), boxes, at[0], at[2]);
    const Expr extent = min(w.integer(kBits), w.dim(boxes_) - first), t = w.counter("t", extent),
               word = w.loops().variable("word", Dtype::i32);
    const BoxEdges other = edges(w, each, boxes, at[0], first + t);
    const Expr both = overlap(w, each, own, other, threshold);
    const Expr bit = w.loops().binary(loop::BinaryOp::shiftLeft, w.loops().integer(1, Dtype::i32),
                                      w.loops().cast(t, Dtype::i32));
    w.add(loop::accumulate(word, ReduceOp::sum, {t}, {extent}, LoopKind::serial, loop::block(std::move(each)),
                           select(both, bit, w.loops().integer(0, Dtype::i32))));
    w.add(loop::store(out, {at[0], at[2], at[1]}, word));
    return step.finish(batches_ * boxes_ * boxes_);
  }

  Status choose() {
    StepWriter step(request_, all_, "choice");
    StatementWriter& w = step.writer();
    const std::vector<Expr> at = w.units({batches_, classes_});
    const Buffer *scores = w.input(kScores, {batches_, classes_, boxes_}),
                 *mostFrom = numberOperand(w, kMost), *least = numberOperand(w, kScore);
    const Buffer *order = step.read(order_), *overlaps = step.read(overlaps_),
                 *removed = step.written(removed_), *chosen = step.written(chosen_),
                 *kept = step.written(kept_);
    const Buffer* cell = w.cell("taken", Dtype::i64);
    const std::vector<Expr> one = {w.integer(0)};
    const Expr words = w.dim(words_), taken = w.loops().load(cell, one);
    const Expr most = number(w, w.body(), "most", mostFrom, w.integer(0)),
               limit = number(w, w.body(), "limit", least, Expr());
    w.add(loop::store(cell, one, w.integer(0)));
    const auto wordAt = [&](Expr word) { return std::vector<Expr>{at[0], at[1], word}; };
    const Expr v = w.counter("v", words);
    w.add(loop::loopOver(v, words, LoopKind::vector,
                         loop::store(removed, wordAt(v), w.loops().integer(0, Dtype::i32))));
    Expr candidates = w.dim(boxes_);
    if (least) {
      const Expr j = w.counter("j", w.dim(boxes_));
      candidates = w.loops().variable("candidates");
      const Expr passes = w.loops().load(scores, {at[0], at[1], j}) > limit;
      w.add(loop::accumulate(candidates, ReduceOp::sum, {j}, {w.dim(boxes_)}, LoopKind::vector,
                             loop::block({}), w.loops().cast(passes, Dtype::i64)));
    }
    // One more is looked at for each that is taken.
    std::vector<StmtRef> look, take;
    const Expr p = w.counter("p", candidates);
    const Expr e = w.named(look, "e", w.loops().load(order, {at[0], at[1], p}));
    const Expr bits = w.named(look, "bits", w.loops().load(removed, wordAt(floorDiv(e, w.integer(kBits)))));
    const Expr own = w.loops().binary(loop::BinaryOp::shiftRight, bits,
                                      w.loops().cast(mod(e, w.integer(kBits)), Dtype::i32));
    const Expr isFree = w.loops().binary(loop::BinaryOp::bitAnd, own, w.loops().integer(1, Dtype::i32)) ==
                        w.loops().integer(0, Dtype::i32);
    take.push_back(loop::store(chosen, {at[0], at[1], taken}, e));
    take.push_back(loop::store(cell, one, taken + 1));
    const Expr u = w.counter("v", words);
    take.push_back(
        loop::loopOver(u, words, LoopKind::vector,
                       loop::store(removed, wordAt(u),
                                   w.loops().binary(loop::BinaryOp::bitOr, w.loops().load(removed, wordAt(u)),
                                                    w.loops().load(overlaps, {at[0], e, u})))));
    look.push_back(loop::branch(isFree, loop::block(std::move(take))));
    w.add(loop::loopOver(p, candidates, LoopKind::serial,
                         loop::block({loop::branch(taken < most, loop::block(std::move(look)))})));
    w.add(loop::store(kept, {at[0] * w.dim(classes_) + at[1]}, taken));
    return step.finish(pairs_ * boxes_ * (words_ + request_.dims.constant(1)));
  }

  Status write(size_t sums) {
    StepWriter step(request_, all_);
    StatementWriter& w = step.writer();
    const std::vector<Expr> at = w.units({batches_, classes_, boxes_});
    const Buffer *kept = step.read(kept_), *counts = step.read(sums), *chosen = step.read(chosen_),
                 *out = w.output(0, {all_.count, request_.dims.constant(3)});
    std::vector<StmtRef> found;
    const Expr pair = w.named(w.body(), "pair", at[0] * w.dim(classes_) + at[1]),
               own = w.named(w.body(), "own", w.loops().load(kept, {pair}));
    const Expr to = w.named(found, "to", w.loops().load(counts, {pair}) - own + at[2]);
    const Expr row[] = {at[0], at[1], w.loops().load(chosen, at)};
    std::vector<StmtRef> stores;
    for (int64_t k = 0; k < 3; ++k) stores.push_back(loop::store(out, {to, w.integer(k)}, row[k]));
    found.push_back(whereThere(w, to, all_.count, std::move(stores)));
    w.add(loop::branch(at[2] < own, loop::block(std::move(found))));
    return step.finish(pairs_ * boxes_);
  }

  const StatementRequest& request_;
  SelectionKernels all_;
  Dim batches_, classes_, boxes_, words_, pairs_;
  size_t order_ = 0, overlaps_ = 0, removed_ = 0, chosen_ = 0, kept_ = 0;
};

}  // namespace

Result<SelectionKernels> makeNonMaxSuppression(const StatementRequest& request) {
  return Suppression(request).run();
}

}  // namespace dyn
