#include "compiler/kernel/nest_axes.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/kernel/nest_choice.h"
#include "compiler/loop/builder/axis_fusion.h"

namespace dyn {

using loop::BinaryOp;
using loop::Buffer;
using loop::Expr;
using loop::ExprKind;
using loop::LoopContext;

namespace {

// An innermost axis of fewer elements fills no vector: a division by the constant is better.
constexpr int64_t kShortestInnermost = 16;

bool isWrap(Expr e, Expr variable) {
  return e.kind() == ExprKind::binary && e.dtype() == Dtype::i64 &&
         (e.binaryOp() == BinaryOp::mod || e.binaryOp() == BinaryOp::floorDiv) &&
         e.operands()[0].same(variable);
}

// Is an innermost axis of so many elements one of a few columns, which are made together, in rows that are no
// short ones of a known length?
bool isInterleaved(Dim size, int64_t inner) { return inner <= kShortStride && !size.isConstant(); }

// How many times `part` a divisor is: 1 for the same one, 0 where they are not constants, or no multiple.
int64_t timesOf(Expr divisor, Expr part) {
  if (divisor.same(part)) return 1;
  if (divisor.kind() != ExprKind::intConstant || part.kind() != ExprKind::intConstant) return 0;
  const int64_t whole = divisor.intValue(), own = part.intValue();
  return own > 0 && whole > 0 && whole % own == 0 ? whole / own : 0;
}

// The least divisor of the wraps of the variable, of which all others are multiples; null if there is none.
Expr commonDivisor(const std::vector<Expr>& roots, Expr variable) {
  std::vector<Expr> all;
  for (const Expr& e : loop::postorder(roots))
    if (isWrap(e, variable)) all.push_back(e.operands()[1]);
  for (Expr least : all)
    if (std::all_of(all.begin(), all.end(), [&](Expr other) { return timesOf(other, least) > 0; }))
      return least;
  return {};
}

Dim dimOf(Expr e, DimContext& dims) {
  if (e.kind() == ExprKind::dim) return e.dimValue();
  if (e.kind() == ExprKind::intConstant) return dims.constant(e.intValue());
  return {};
}

// Factors of a product, the coefficient apart.
struct Factors {
  int64_t coefficient = 1;
  std::vector<Dim> atoms;

  explicit Factors(Dim d) {
    if (d.kind() != DimKind::mul) {
      add(d);
      return;
    }
    for (Dim part : d.operands()) add(part);
  }
  void add(Dim d) {
    if (std::optional<int64_t> value = d.constant())
      coefficient *= *value;
    else
      atoms.push_back(d);
  }
};

// size / divisor where the divisor is made of factors of the size, so that it is whole whatever the symbols
// are (also 0); null otherwise. Of a divisor floordiv(size, k) it is k, where k is known to divide the size:
// channels in groups.
Dim quotientOf(Dim size, Dim divisor, const DimSolver& facts, DimContext& dims) {
  if (divisor.kind() == DimKind::floorDiv && divisor.operands()[1].isConstant() &&
      facts.equal(divisor.operands()[0], size) == Answer::yes &&
      facts.equal(mod(size, divisor.operands()[1]), dims.constant(0)) == Answer::yes)
    return divisor.operands()[1];
  Factors whole(size);
  const Factors part(divisor);
  if (part.coefficient <= 0 || whole.coefficient % part.coefficient != 0) return {};
  for (Dim atom : part.atoms) {
    const auto found = std::find(whole.atoms.begin(), whole.atoms.end(), atom);
    if (found == whole.atoms.end()) return {};
    whole.atoms.erase(found);
  }
  Dim quotient = dims.constant(whole.coefficient / part.coefficient);
  for (Dim atom : whole.atoms) quotient = quotient * atom;
  return quotient;
}

}  // namespace

void splitWrappedAxes(NestAxes& axes, const DimSolver& facts, LoopContext& loops) {
  DimContext& dims = loops.dims();
  for (size_t axis = 0; axis < axes.index.size(); ++axis) {
    const Expr variable = axes.index[axis], divisor = commonDivisor(axes.roots, variable);
    if (divisor.isNull()) continue;
    const Dim inner = dimOf(divisor, dims);
    if (!inner) continue;
    const bool innermost = axis + 1 == axes.index.size();
    if (innermost && inner.isConstant() && *inner.constant() < kShortestInnermost &&
        !isInterleaved(axes.space[axis], *inner.constant()))
      continue;
    const Dim outer = quotientOf(facts.canonical(axes.space[axis]), facts.canonical(inner), facts, dims);
    if (!outer || outer.isConstant(1)) continue;
    const Expr q = loops.variable("i"), e = loops.variable("i");
    loops.bound(q, loops.dim(outer));
    loops.bound(e, loops.dim(inner));
    for (Expr& root : axes.roots)
      root = loops.substitute(root, [&](Expr part) {
        if (isWrap(part, variable)) {
          const bool isRest = part.binaryOp() == BinaryOp::mod;
          const int64_t times = timesOf(part.operands()[1], divisor);
          if (times == 1) return isRest ? e : q;
          const Expr by = loops.integer(times);
          return isRest ? mod(q, by) * loops.dim(inner) + e : floorDiv(q, by);
        }
        return part.same(variable) ? q * loops.dim(inner) + e : Expr();
      });
    axes.space[axis] = inner;
    axes.index[axis] = e;
    axes.space.insert(axes.space.begin() + static_cast<std::ptrdiff_t>(axis), outer);
    axes.index.insert(axes.index.begin() + static_cast<std::ptrdiff_t>(axis), q);
    if (commonDivisor(axes.roots, q).isNull())
      ++axis;
    else
      --axis;  // q is taken apart, too
  }
}

void mergeAxes(NestAxes& axes, const DimSolver& facts, LoopContext& loops) {
  if (axes.index.size() < 2) return;
  std::vector<Expr> shape;
  for (Dim d : axes.space) shape.push_back(loops.dim(d));
  // Stands for the outputs, which are made when their axes are known.
  const Buffer* all = loops.buffer("all", Dtype::boolean, shape, loop::BufferRole::output);
  std::vector<loop::Axis> list;
  for (size_t i = 0; i < axes.index.size(); ++i) list.push_back({axes.index[i], axes.space[i]});
  std::vector<loop::PendingStore> stores;
  for (const Expr& root : axes.roots) stores.push_back({all, axes.index, root});
  std::vector<const Buffer*> buffers = axes.inputs;
  buffers.push_back(all);
  loop::fuseAxes(loops, facts, &list, &stores, &buffers);
  if (list.size() == axes.index.size()) return;
  buffers.pop_back();
  axes.inputs = std::move(buffers);
  axes.index.clear();
  axes.space.clear();
  for (const loop::Axis& axis : list) {
    axes.index.push_back(axis.variable);
    axes.space.push_back(axis.extent);
  }
  for (size_t i = 0; i < stores.size(); ++i) axes.roots[i] = stores[i].value;
}

}  // namespace dyn
