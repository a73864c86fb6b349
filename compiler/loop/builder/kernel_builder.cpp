#include "compiler/loop/builder/kernel_builder.h"

#include <algorithm>
#include <set>

#include "compiler/loop/builder/axis_fusion.h"
#include "compiler/loop/builder/region_emitter.h"
#include "compiler/loop/simplify.h"

namespace dyn::loop {

namespace {

std::vector<Expr> shapeExprs(LoopContext& c, const DimSolver& solver, const Shape& shape) {
  std::vector<Expr> list;
  for (Dim d : shape) list.push_back(c.dim(solver.canonical(d)));
  return list;
}

class Builder {
 public:
  Builder(const KernelDefinition& d, const DimSolver& solver, const KernelBuildOptions& options)
      : d_(d), c_(*d.context), solver_(solver), options_(options), emitter_(c_, &solver) {}

  Result<Kernel> run() {
    kernel_.name = d_.name;
    kernel_.context = d_.context;
    kernel_.description = d_.description;
    kernel_.functions = d_.functions;
    kernel_.buffers = d_.inputs;
    DYN_CHECK(define());
    fuseAxes(c_, solver_, &axes_, &stores_, &kernel_.buffers);
    chooseOrder();
    DYN_CHECK(emit());
    kernel_ = simplify(kernel_);
    collectScalars();
    kernel_.stepsPerKernel = steps();
    return std::move(kernel_);
  }

 private:
  // ---- what is computed ----
  Status define() {
    std::vector<Expr> index;
    static constexpr const char* kHints[] = {"i", "j", "l", "p", "q"};
    Shape space;
    for (size_t a = 0; a < d_.iterationSpace.size(); ++a) {
      const Dim extent = solver_.canonical(d_.iterationSpace[a]);
      space.push_back(extent);
      if (extent.isConstant(1)) {
        index.push_back(c_.integer(0));
        continue;
      }
      const Expr v = c_.variable(kHints[std::min<size_t>(a, 4)]);
      c_.bound(v, c_.dim(extent));
      axes_.push_back({v, extent});
      index.push_back(v);
    }
    for (const OutputDefinition& out : d_.outputs) {
      const bool same = solver_.equalShapes(out.shape, d_.iterationSpace) == Answer::yes;
      if (!same && solver_.equalElementCount(out.shape, d_.iterationSpace) != Answer::yes)
        return makeError(DiagnosticId::unsupportedFeature,
                         "output `" + out.name + "` of shape " + dyn::toString(out.shape) +
                             " does not fit the iteration space " + dyn::toString(d_.iterationSpace));
      // Another shape of the same element count is the same memory: it is stored in the shape of the
      // iteration space.
      const Buffer* buffer =
          c_.buffer(out.name, out.dtype, shapeExprs(c_, solver_, space), BufferRole::output);
      kernel_.buffers.push_back(buffer);
      DYN_TRY(Expr value, out.element(same ? index : reshaped(index, space, out.shape)));
      if (value.dtype() != out.dtype)
        return makeError(DiagnosticId::internalError, "the definition of `" + out.name + "` gives " +
                                                          std::string(dyn::toString(value.dtype())) +
                                                          " for " + std::string(dyn::toString(out.dtype)));
      stores_.push_back({buffer, index, value});
    }
    return {};
  }

  // The index in `to` of the element at `index` in `from`.
  std::vector<Expr> reshaped(const std::vector<Expr>& index, const Shape& from, const Shape& to) {
    Expr linear = c_.integer(0);
    for (size_t a = 0; a < from.size(); ++a) linear = linear * c_.dim(from[a]) + index[a];
    std::vector<Expr> out(to.size());
    Dim inner = c_.dims().constant(1);
    for (size_t a = to.size(); a-- > 0;) {
      const Dim extent = solver_.canonical(to[a]);
      const Expr rest = floorDiv(linear, c_.dim(inner));
      out[a] = a == 0 ? rest : mod(rest, c_.dim(extent));
      inner = inner * extent;
    }
    return out;
  }

  // ---- the nest ----
  // For every reduction the axes it depends on.
  std::vector<std::vector<bool>> reductionAxes() const {
    std::vector<Expr> roots;
    for (const PendingStore& s : stores_) roots.push_back(s.value);
    std::unordered_map<uint32_t, std::vector<bool>> uses;
    std::vector<std::vector<bool>> list;
    for (Expr e : postorder(roots)) {
      std::vector<bool>& own = uses[e.id()];
      own.assign(axes_.size(), false);
      for (size_t a = 0; a < axes_.size(); ++a) own[a] = axes_[a].variable.same(e);
      for (Expr o : e.operands())
        for (size_t a = 0; a < axes_.size(); ++a) own[a] = own[a] || uses[o.id()][a];
      if (e.kind() == ExprKind::reduce) list.push_back(own);
    }
    return list;
  }

  void chooseOrder() {
    const auto reductions = reductionAxes();
    std::vector<size_t> order(axes_.size());
    for (size_t a = 0; a < order.size(); ++a) order[a] = a;
    const auto count = [&](size_t a) {
      return std::count_if(reductions.begin(), reductions.end(), [&](const auto& r) { return r[a]; });
    };
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return count(a) > count(b); });
    std::vector<Axis> sorted;
    for (size_t a : order) sorted.push_back(axes_[a]);
    // Position of the innermost axis each reduction depends on; reductions over all of them are made per
    // element.
    const int last = static_cast<int>(axes_.size()) - 1;
    unitAxes_ = last < 0 ? 0 : last;
    for (const auto& r : reductions) {
      int deepest = -1;
      for (int k = 0; k <= last; ++k)
        if (r[order[static_cast<size_t>(k)]]) deepest = k;
      if (deepest == last && last >= 0)
        reducesPerElement_ = true;
      else
        sharedReduction_ = true;
      if (deepest < last) unitAxes_ = std::min(unitAxes_, deepest + 1);
    }
    axes_ = std::move(sorted);
  }

  Status emit() {
    kernel_.unit = c_.variable("u");
    const size_t rank = axes_.size();
    const auto units = static_cast<size_t>(unitAxes_);
    // A rank-1 kernel of reductions: a unit per element. No loop inside.
    const bool elementUnits = rank == 1 && reducesPerElement_ && !sharedReduction_;
    const int64_t block = reducesPerElement_ ? options_.blockReductions : options_.blockElements;
    bool blocks = rank > 0 && !sharedReduction_ && !elementUnits;
    if (blocks) blocks = solver_.lessEqual(axes_.back().extent, c_.dims().constant(block)) != Answer::yes;

    Dim outer = c_.dims().constant(1);
    for (size_t a = 0; a < (elementUnits ? 1 : units); ++a) outer = outer * axes_[a].extent;
    const Dim blockCount =
        blocks ? ceilDiv(axes_.back().extent, c_.dims().constant(block)) : c_.dims().constant(1);
    total_ = outer;
    const Dim count = outer * blockCount;
    kernel_.unitCount = c_.dim(count);

    emitter_.openScope();
    Expr rest = kernel_.unit;
    std::unordered_map<uint32_t, Expr> replaced;
    const size_t decoded = elementUnits ? 1 : units;
    if (!blocks && decoded == 1) {
      replaced[axes_[0].variable.id()] = kernel_.unit;
      emitter_.bind(kernel_.unit, kernel_.unitCount);
    } else {
      emitter_.bind(kernel_.unit, kernel_.unitCount);
      Expr blockIndex = c_.integer(0);
      if (blocks) {
        blockIndex = decoded == 0 ? rest : rowLet("block", mod(rest, c_.dim(blockCount)));
        if (decoded > 0) rest = floorDiv(rest, c_.dim(blockCount));
        blockStart_ = rowLet("start", blockIndex * block);
      }
      for (size_t a = decoded; a-- > 0;) {
        const Expr extent = c_.dim(axes_[a].extent);
        emitter_.bindLet(axes_[a].variable, a == 0 ? rest : mod(rest, extent));
        if (a > 0) rest = floorDiv(rest, extent);
      }
    }
    // Loops of the remaining axes.
    struct Loop {
      Expr variable, extent;
    };
    std::vector<Loop> loops;
    for (size_t a = decoded; a < rank; ++a) {
      const Expr extent = c_.dim(axes_[a].extent);
      emitter_.openScope();
      if (blocks && a + 1 == rank) {
        const Expr v = c_.variable("e");
        const Expr size = min(c_.integer(block), extent - blockStart_);
        emitter_.bind(v, size);
        replaced[axes_[a].variable.id()] = blockStart_ + v;
        loops.push_back({v, size});
      } else {
        emitter_.bind(axes_[a].variable, extent);
        loops.push_back({axes_[a].variable, extent});
      }
    }
    for (PendingStore& s : stores_) {
      const auto swap = [&](Expr e) {
        auto found = replaced.find(e.id());
        return found == replaced.end() ? Expr() : found->second;
      };
      s.value = c_.substitute(s.value, swap);
      for (Expr& e : s.index) e = c_.substitute(e, swap);
    }
    std::vector<Expr> values;
    for (const PendingStore& s : stores_) values.push_back(s.value);
    DYN_TRY(std::vector<Expr> emitted, emitter_.emit(values));
    for (size_t k = 0; k < stores_.size(); ++k)
      emitter_.append(store(stores_[k].buffer, stores_[k].index, emitted[k]));
    for (size_t k = loops.size(); k-- > 0;) {
      const bool innermost = k + 1 == loops.size();
      StmtRef body = emitter_.closeScope();
      const bool holdsReduction =
          std::any_of(body->children.begin(), body->children.end(),
                      [](const StmtRef& s) { return s->kind == StmtKind::accumulate; });
      emitter_.append(loopOver(loops[k].variable, loops[k].extent,
                               innermost && !holdsReduction ? LoopKind::vector : LoopKind::serial,
                               std::move(body)));
      if (innermost) lastLoop_ = loops[k].variable;
    }
    kernel_.body = emitter_.closeScope();
    if (blocks) blockedTotal_ = outer * axes_.back().extent;
    return {};
  }

  Expr rowLet(const char* hint, Expr value) {
    if (value.kind() == ExprKind::intConstant || value.kind() == ExprKind::variable) return value;
    const Expr v = c_.variable(hint);
    emitter_.bindLet(v, value);
    return v;
  }

  // ---- what the kernel needs from its caller ----
  template <class F>
  void eachExpression(F visit) const {
    std::vector<const Stmt*> stack{kernel_.body.get()};
    while (!stack.empty()) {
      const Stmt& s = *stack.back();
      stack.pop_back();
      for (Expr e : expressionsOf(s)) visit(e);
      for (const StmtRef& child : s.children) stack.push_back(child.get());
    }
    visit(kernel_.unitCount);
    for (const Buffer* b : kernel_.buffers)
      for (Expr e : b->shape) visit(e);
  }

  void collectScalars() {
    std::vector<Expr> roots;
    eachExpression([&](Expr e) { roots.push_back(e); });
    std::set<uint32_t> seen;
    std::vector<Dim> dims;
    const auto add = [&](Dim d) {
      if (seen.insert(d.id()).second) dims.push_back(d);
    };
    for (Expr e : postorder(roots)) {
      if (e.kind() == ExprKind::dim) add(e.dimValue());
      if (e.kind() == ExprKind::call && e.function()->backing == FunctionBacking::dimExpression)
        add(e.function()->dim);
    }
    std::sort(dims.begin(), dims.end(), [](Dim a, Dim b) {
      return std::pair(!a.isSymbol(), a.id()) < std::pair(!b.isSymbol(), b.id());
    });
    kernel_.scalars = std::move(dims);
  }

  // Elementary steps of the launch: operations of each statement times how often it runs.
  Dim steps() const {
    DimContext& dims = c_.dims();
    const auto cost = [](const Stmt& s) {
      int64_t sum = s.kind == StmtKind::store || s.kind == StmtKind::accumulate ? 1 : 0;
      for (Expr e : postorder(expressionsOf(s))) {
        if (e.kind() == ExprKind::load) sum += 1;
        if (e.kind() == ExprKind::unary) sum += e.unaryOp() > UnaryOp::sqrt ? 8 : 1;
        if (e.kind() == ExprKind::binary) sum += e.binaryOp() == BinaryOp::pow ? 16 : 1;
        if (e.kind() == ExprKind::select || e.kind() == ExprKind::cast || e.kind() == ExprKind::call)
          sum += 1;
      }
      return sum;
    };
    const auto extentDim = [&](Expr e) -> Dim {
      if (e.kind() == ExprKind::dim) return e.dimValue();
      if (e.kind() == ExprKind::intConstant) return dims.constant(e.intValue());
      if (e.kind() == ExprKind::call && e.function()->facts.high &&
          e.function()->facts.high.kind() == ExprKind::dim)
        return e.function()->facts.high.dimValue();
      return dims.constant(64);  // data of the run
    };
    Dim total = dims.constant(0);
    std::vector<std::pair<const Stmt*, Dim>> stack{{kernel_.body.get(), extentDim(kernel_.unitCount)}};
    while (!stack.empty()) {
      auto [s, times] = stack.back();
      stack.pop_back();
      if (s->kind == StmtKind::loop)
        times = blockedTotal_ && s->variable.same(lastLoop_) ? blockedTotal_ : times * extentDim(s->extent);
      if (s->kind == StmtKind::accumulate)
        for (Expr e : s->extents) times = times * extentDim(e);
      total = total + times * cost(*s);
      for (const StmtRef& child : s->children) stack.push_back({child.get(), times});
    }
    return total.isInvalid() ? Dim() : total;
  }

  const KernelDefinition& d_;
  LoopContext& c_;
  const DimSolver& solver_;
  const KernelBuildOptions& options_;
  RegionEmitter emitter_;
  Kernel kernel_;
  std::vector<Axis> axes_;
  std::vector<PendingStore> stores_;
  int unitAxes_ = 0;
  bool reducesPerElement_ = false, sharedReduction_ = false;
  Expr blockStart_, lastLoop_;
  Dim total_, blockedTotal_;
};

}  // namespace

const Buffer* declareBuffer(LoopContext& context, const DimSolver& solver, std::string name, Dtype dtype,
                            const Shape& shape, BufferRole role) {
  return context.buffer(std::move(name), dtype, shapeExprs(context, solver, shape), role);
}

Result<Kernel> buildKernel(const KernelDefinition& definition, const DimSolver& solver,
                           const KernelBuildOptions& options) {
  return Builder(definition, solver, options).run();
}

}  // namespace dyn::loop
