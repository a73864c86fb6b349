#include "compiler/kernel/loop_nest.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <numeric>
#include <unordered_map>

#include "compiler/kernel/kept_rows.h"
#include "compiler/kernel/nest_axes.h"
#include "compiler/kernel/nest_segments.h"
#include "compiler/kernel/staged_rows.h"
#include "compiler/loop/access/access_pattern.h"
#include "compiler/loop/kernel_uses.h"

namespace dyn {

using loop::Buffer;
using loop::BufferRole;
using loop::Expr;
using loop::ExprKind;
using loop::LoopKind;
using loop::mentions;
using loop::StmtRef;

namespace {

constexpr int64_t kBlockElements =
    4096;  // a unit of a flat kernel: large enough to pay for handing it to a thread
constexpr int64_t kBlockReductions = 64;  // side by side: a unit of reductions across memory
constexpr int64_t kBlockShortRows =
    1024;  // rows of up to kShortStride elements: they stay in the cache while each element is gone over
constexpr int64_t kBlockTile = 64;  // both sides of a unit of what is read across: a few lines of memory
constexpr int64_t kShortestReduction = 8;  // that is worth a vector
constexpr size_t kWorthSharing = 24;       // operations that elements share, worth walking across memory
constexpr int64_t kBlockSharing = 256;     // elements of a unit that does, along the innermost axis
constexpr int64_t kSharedAtOnce = 32;      // elements of the other axis that share
constexpr int64_t kShortStride =
    4;  // elements between neighbours, up to which reading what lies between is better than a tile

class NestBuilder {
 public:
  NestBuilder(const LoopNest& nest, const DimSolver& facts)
      : nest_(nest), facts_(facts), loops_(*nest.context), dims_(nest.context->dims()) {}

  Result<NestKernel> build() {
    chooseAxes();
    if (!nest_.columns) dropUnitAxes();
    for (size_t axis = 0; axis < index_.size(); ++axis) loops_.bound(index_[axis], loops_.dim(space_[axis]));
    for (const OutputDefinition& output : nest_.outputs) {
      std::vector<Expr> shape;
      for (Dim d : space_) shape.push_back(loops_.dim(d));
      outputs_.push_back(loops_.buffer(output.name, output.dtype, std::move(shape), BufferRole::output));
    }
    return makeKernel();
  }

 private:
  void chooseAxes() {
    NestAxes axes{nest_.space, nest_.index, {}, nest_.inputs};
    for (const OutputDefinition& output : nest_.outputs) axes.roots.push_back(output.element);
    if (nest_.schedule == NestSchedule::unitInnermost) dropInnermost(axes);
    if (!nest_.columns) {
      splitWrappedAxes(axes, facts_, loops_);
      mergeAxes(axes, facts_, loops_);
    }
    roots_ = std::move(axes.roots);
    index_ = std::move(axes.index);
    space_ = std::move(axes.space);
    inputs_ = std::move(axes.inputs);
  }

  void dropInnermost(NestAxes& axes) {
    const Expr unit = axes.index.back();
    for (Expr& root : axes.roots)
      root = loops_.substitute(root, [&](Expr e) { return e.same(unit) ? loops_.integer(0) : Expr(); });
    axes.index.pop_back();
    axes.space.pop_back();
  }

  // Innermost axes of size 1 go, so that the vector loop has something to run over: [n, 1] is computed as
  // [n].
  void dropUnitAxes() {
    for (const Expr& e : loop::postorder(roots_))
      if (e.kind() == ExprKind::reduce) return;
    while (space_.size() > 1 && space_.back().isConstant(1)) {
      const Expr unit = index_.back();
      for (Expr& root : roots_)
        root = loops_.substitute(root, [&](Expr e) { return e.same(unit) ? loops_.integer(0) : Expr(); });
      index_.pop_back();
      space_.pop_back();
    }
  }

  // --- scopes: where statements go, by depth. 0 is the unit; an inner loop and reductions lie deeper.

  struct Scope {
    std::vector<StmtRef> statements;
    size_t depth = 0;
    Scope* parent = nullptr;
    std::unordered_map<uint32_t, Expr>
        replaced;  // reductions, checks and loads already turned into variables here
  };

  // The innermost of `scope` and its parents that binds a variable of `e`.
  Scope* homeOf(Expr e, Scope* scope) {
    size_t depth = 0;
    for (const Expr& part : loop::postorder(std::span<const Expr>(&e, 1))) {
      auto it = depthOf_.find(part.id());
      if (it != depthOf_.end()) depth = std::max(depth, it->second);
    }
    Scope* home = scope;
    while (home->parent && home->depth > depth) home = home->parent;
    return home;
  }

  // Reductions, checks and loads of `root` that are not inside another reduction, operands first; and whether
  // each is always evaluated. A check comes twice: as `check` before anything inside the value it protects,
  // and as itself after that.
  struct Found {
    Expr expr;
    bool always = false;
    bool check = false;
  };
  static std::vector<Found> find(Expr root) {
    enum class Stage : uint8_t { enter, check, leave };
    struct Visit {
      Expr e;
      bool always;
      Stage stage;
    };
    std::vector<Found> found;
    std::unordered_map<uint32_t, bool> seen;  // id → seen unconditionally
    std::unordered_map<uint32_t, size_t> position;
    std::vector<Visit> work{{root, true, Stage::enter}};
    while (!work.empty()) {
      const Visit v = work.back();
      work.pop_back();
      if (v.stage == Stage::check) {
        found.push_back({v.e, v.always, true});
        continue;
      }
      if (v.stage == Stage::leave) {
        const bool wanted =
            v.e.kind() == ExprKind::reduce || v.e.kind() == ExprKind::checked || v.e.kind() == ExprKind::load;
        if (!wanted) continue;
        auto [it, fresh] = position.try_emplace(v.e.id(), found.size());
        if (fresh)
          found.push_back({v.e, v.always, false});
        else
          found[it->second].always |= v.always;
        continue;
      }
      auto [it, fresh] = seen.try_emplace(v.e.id(), v.always);
      if (!fresh && (it->second || !v.always)) continue;
      it->second = v.always;
      work.push_back({v.e, v.always, Stage::leave});
      if (v.e.kind() == ExprKind::reduce) continue;
      for (size_t i = v.e.operands().size(); i-- > 0;) {
        const bool arm = v.e.kind() == ExprKind::select && i > 0;
        work.push_back({v.e.operands()[i], v.always && !arm, Stage::enter});
        if (v.e.kind() == ExprKind::checked && i == 1 && fresh) work.push_back({v.e, v.always, Stage::check});
      }
    }
    return found;
  }

  // `root` with reductions and checks made statements; what remains is evaluated in `scope`.
  Expr lower(Expr root, Scope* scope) {
    for (const Found& item : find(root)) {
      const Expr e = item.expr;
      Scope* home = homeOf(e, scope);
      if (item.check) {
        const Expr condition = apply(e.operands()[0], scope);
        Scope* place = homeOf(condition, scope);
        Expr subject = e.operands().size() > 2 ? apply(e.operands()[2], scope) : Expr();
        // What the condition was simplified to may be known further out than a part of it.
        if (!subject.isNull() && homeOf(subject, scope)->depth > place->depth) subject = {};
        place->statements.push_back(loop::check(condition, e.fault(), subject));
        continue;
      }
      if (replacement(e, scope)) continue;
      if (e.kind() == ExprKind::reduce) {
        home->replaced[e.id()] = accumulate(e, home);
      } else if (e.kind() == ExprKind::checked) {
        scope->replaced[e.id()] = apply(e.operands()[1], scope);
      } else if (item.always && home != scope) {
        // A load that does not change here is read once, further out.
        const Expr load = apply(e, scope);
        const Expr variable = loops_.variable("v", load.dtype());
        home->statements.push_back(loop::let(variable, load));
        depthOf_[variable.id()] = home->depth;
        home->replaced[e.id()] = variable;
      }
    }
    return apply(root, scope);
  }

  Expr replacement(Expr e, const Scope* scope) const {
    for (const Scope* s = scope; s; s = s->parent) {
      auto it = s->replaced.find(e.id());
      if (it != s->replaced.end()) return it->second;
    }
    return {};
  }

  Expr apply(Expr root, const Scope* scope) {
    return loops_.substitute(root, [&](Expr e) { return replacement(e, scope); });
  }

  Expr accumulate(Expr reduction, Scope* home) {
    std::vector<Expr> variables, extents;
    const size_t count = reduction.reduceVariables().size();
    std::unordered_map<uint32_t, Expr> renamed;
    Scope inner;
    inner.parent = home;
    inner.depth = home->depth + 1;
    for (size_t i = 0; i < count; ++i) {
      const Expr fresh = loops_.variable("k");
      renamed[reduction.reduceVariables()[i].id()] = fresh;
      variables.push_back(fresh);
      depthOf_[fresh.id()] = inner.depth;
      extents.push_back(apply(reduction.operands()[i], home));
      loops_.bound(fresh, extents.back());
    }
    Expr body = loops_.rename(reduction.operands()[count], renamed);
    body = lower(body, &inner);
    const Expr result = loops_.variable("r", reduction.dtype());
    depthOf_[result.id()] = home->depth;
    steps_.push_back({home->depth, extents});
    StmtRef children = loop::block(std::move(inner.statements));
    // A reduction inside a vector loop is done by its lanes; the emitter decides from where it stands.
    home->statements.push_back(
        loop::accumulate(result, reduction.reduceOp(), variables, extents, LoopKind::vector, children, body));
    return result;
  }

  // --- the nest

  // Does a reduction over the innermost axis' elements run along memory itself? Then the reduction is the
  // vector loop.
  bool reductionsRunAlongMemory(Expr innermost) const {
    int64_t alongReduction = 0, alongAxis = 0;
    bool areWindows = true;  // of a few elements: they fill no vector
    for (const Expr& e : loop::postorder(roots_)) {
      if (e.kind() != ExprKind::reduce || !mentions(e, innermost)) continue;
      const Expr last = e.reduceVariables().back();
      const std::optional<int64_t> length = constantOf(e.operands()[e.reduceVariables().size() - 1]);
      areWindows = areWindows && length && *length < kShortestReduction;
      for (const Expr& part : loop::postorder(std::span<const Expr>(&e, 1))) {
        if (part.kind() != ExprKind::load || part.operands().empty()) continue;
        if (mentions(part.operands().back(), last)) ++alongReduction;
        if (mentions(part.operands().back(), innermost)) ++alongAxis;
      }
    }
    return alongReduction > alongAxis && !(areWindows && alongAxis > 0);
  }

  static std::optional<int64_t> constantOf(Expr e) {
    if (e.kind() == ExprKind::dim) return e.dimValue().constant();
    return e.kind() == ExprKind::intConstant ? std::optional(e.intValue()) : std::nullopt;
  }

  // The least number of leading axes that some reduction's value depends on, `rank` when there is no
  // reduction. With those alone as units the reduction is done once: instance norm's mean for a channel, not
  // again for each of its rows.
  size_t fewestReductionAxes() const {
    size_t fewest = index_.size();
    for (const Expr& e : loop::postorder(roots_)) {
      if (e.kind() != ExprKind::reduce) continue;
      size_t axes = index_.size();
      while (axes > 0 && !mentions(e, index_[axes - 1])) --axes;
      fewest = std::min(fewest, axes);
    }
    return fewest;
  }

  // The axes that all reductions depend on, where that is the same for all and the innermost is none of them:
  // means of channels over images and positions. With those as units each reduction is done once, wherever
  // they stand.
  std::optional<std::vector<size_t>> axesOfReductions() const {
    std::optional<std::vector<size_t>> common;
    for (const Expr& e : loop::postorder(roots_)) {
      if (e.kind() != ExprKind::reduce) continue;
      std::vector<size_t> axes;
      for (size_t axis = 0; axis < index_.size(); ++axis)
        if (mentions(e, index_[axis])) axes.push_back(axis);
      if (common && *common != axes) return std::nullopt;
      common = std::move(axes);
    }
    if (!common || index_.empty() || (!common->empty() && common->back() + 1 == index_.size()))
      return std::nullopt;
    return common;
  }

  bool hasReductionOver(Expr variable) const {
    for (const Expr& e : loop::postorder(roots_))
      if (e.kind() == ExprKind::reduce && mentions(e, variable)) return true;
    return false;
  }

  // The last axis that some reduction depends on, where all reductions together leave axes free or end at the
  // innermost; rank where there are none.
  size_t lastReductionAxis() const {
    for (size_t axis = index_.size(); axis-- > 0;)
      if (hasReductionOver(index_[axis])) return axis;
    return index_.size();
  }

  struct UnitAxis {
    Expr variable;
    Dim extent;
  };
  std::vector<UnitAxis> unitAxes(const std::vector<size_t>& axes) const {
    std::vector<UnitAxis> list;
    for (size_t axis : axes) list.push_back({index_[axis], space_[axis]});
    return list;
  }

  // Index variables of `axes` from the unit, the last one fastest; with one axis the unit is its variable.
  // The emitter counts them (unit_counter.cpp), where they are the first statements.
  std::unordered_map<uint32_t, Expr> indexFromUnit(Expr unit, const std::vector<UnitAxis>& axes,
                                                   Scope& scope) {
    std::unordered_map<uint32_t, Expr> values;
    Expr rest = unit;
    for (size_t i = axes.size(); i-- > 0;) {
      const Expr variable = axes[i].variable, extent = loops_.dim(axes[i].extent);
      if (axes.size() == 1) {
        values[variable.id()] = unit;
        break;
      }
      scope.statements.push_back(loop::let(variable, i == 0 ? rest : mod(rest, extent)));
      if (i > 0) rest = floorDiv(rest, extent);
    }
    return values;
  }

  Expr renamed(Expr root, const std::unordered_map<uint32_t, Expr>& values) {
    if (values.empty()) return root;
    return loops_.substitute(root, [&](Expr e) {
      auto it = values.find(e.id());
      return it == values.end() ? Expr() : it->second;
    });
  }

  // Reductions side by side: `vectorAxis` in blocks of lanes, what no reduction depends on inside.
  Dim acrossMemory(loop::Kernel& kernel, Scope& unit, size_t vectorAxis) {
    std::vector<size_t> outer, within;
    Dim units = ceilDiv(space_[vectorAxis], dims_.constant(kBlockReductions)),
        reductions = space_[vectorAxis];
    const Dim blocks = units;
    for (size_t axis = 0; axis < index_.size(); ++axis) {
      if (axis == vectorAxis) continue;
      const bool depends = hasReductionOver(index_[axis]);
      (depends ? outer : within).push_back(axis);
      if (!depends) continue;
      units = units * space_[axis];
      reductions = reductions * space_[axis];
    }
    innerTurns_ = reductions;
    loops_.bound(kernel.unit, loops_.dim(units));
    // The blocks are the fastest part of the unit.
    Expr block = kernel.unit, rest = kernel.unit;
    if (!outer.empty()) {
      block = mod(kernel.unit, loops_.dim(blocks));
      rest = floorDiv(kernel.unit, loops_.dim(blocks));
    }
    std::unordered_map<uint32_t, Expr> values;
    if (outer.size() == 1) {
      unit.statements.push_back(loop::let(index_[outer[0]], rest));
    } else {
      values = indexFromUnit(rest, unitAxes(outer), unit);
    }
    const Expr inside = loops_.variable("e"), start = block * kBlockReductions;
    const Expr extent = min(loops_.integer(kBlockReductions), loops_.dim(space_[vectorAxis]) - start);
    values[index_[vectorAxis].id()] = start + inside;
    std::deque<Scope> scopes(1);
    scopes.back().parent = &unit;
    scopes.back().depth = 1;
    depthOf_[inside.id()] = 1;
    for (size_t axis : within) {
      Scope* around = &scopes.back();
      scopes.push_back({});
      scopes.back().parent = around;
      scopes.back().depth = around->depth + 1;
      depthOf_[index_[axis].id()] = around->depth + 1;
    }
    std::vector<Expr> position, roots;
    for (const Expr& v : index_) position.push_back(renamed(v, values));
    for (const Expr& root : roots_) roots.push_back(renamed(root, values));
    std::optional<StagedRows> staged;
    if (nest_.schedule == NestSchedule::rowsInLanes && within.size() <= 1) {
      const Expr along = within.empty() ? Expr() : index_[within[0]];
      staged.emplace(loops_, facts_, RowBlock{inside, extent, along, rowLength_, kBlockReductions});
      if (!staged->stage(roots)) staged.reset();
    }
    for (size_t i = 0; i < roots_.size(); ++i) {
      const Expr value = lower(roots[i], &scopes.back());
      scopes.back().statements.push_back(loop::store(outputs_[i], position, value));
    }
    for (size_t i = within.size(); i-- > 0;) {
      StmtRef nested = loop::loopOver(index_[within[i]], loops_.dim(space_[within[i]]), LoopKind::serial,
                                      loop::block(std::move(scopes[i + 1].statements)));
      scopes[i].statements.push_back(std::move(nested));
    }
    const auto add = [&](const std::vector<StmtRef>& more) {
      unit.statements.insert(unit.statements.end(), more.begin(), more.end());
    };
    if (staged) {
      staged->keep(scopes[0].statements);
      add(staged->before());
    }
    unit.statements.push_back(
        loop::loopOver(inside, extent, LoopKind::vector, loop::block(std::move(scopes[0].statements))));
    if (staged) {
      add(staged->after());
      kernel.scratch = staged->scratch();
    }
    return units;
  }

  // The one extent of all reductions, and of the row where elements of a row share them.
  Dim oneRowLength(size_t vectorAxis) const {
    Dim common;
    const auto same = [&](Dim length) {
      if (!length || (common && facts_.equal(common, length) != Answer::yes)) return false;
      common = length;
      return true;
    };
    for (const Expr& e : loop::postorder(roots_)) {
      if (e.kind() != ExprKind::reduce) continue;
      const Expr extent = e.operands()[0];
      if (e.reduceVariables().size() != 1 ||
          !same(extent.kind() == ExprKind::dim           ? extent.dimValue()
                : extent.kind() == ExprKind::intConstant ? dims_.constant(extent.intValue())
                                                         : Dim()))
        return {};
    }
    for (size_t axis = vectorAxis + 1; axis < space_.size(); ++axis)
      if (!space_[axis].isConstant(1) && !same(space_[axis])) return {};
    return common;
  }

  Result<NestKernel> makeKernel() {
    loop::Kernel kernel;
    kernel.name = nest_.name;
    kernel.description = nest_.description;
    kernel.context = nest_.context;
    kernel.unit = loops_.variable("u");
    Scope unit;
    const size_t rank = index_.size();
    innerTurns_ = elementCount(dims_, space_);
    const bool scalarAxis =
        rank > 0 && !nest_.columns && hasReductionOver(index_.back()) &&
        (nest_.schedule == NestSchedule::reductionsInLanes || reductionsRunAlongMemory(index_.back()));
    const size_t vectorAxis = nest_.columns ? rank : lastReductionAxis();
    const bool across = vectorAxis < rank && vectorAxis + 1 == rank && !scalarAxis;
    NestKernel result;
    if (vectorAxis < rank && !across && vectorAxis + 2 >= rank) result.rowLength = oneRowLength(vectorAxis);
    Dim units;
    if (rank > 1 && !nest_.columns && vectorAxis == rank && axisReadAcross() &&
        space_.back() == nest_.space.back() && !space_.back().isConstant())
      result.innermostAcross = space_.back();
    rowLength_ = result.rowLength;
    if (across || (nest_.schedule == NestSchedule::rowsInLanes && result.rowLength)) {
      units = acrossMemory(kernel, unit, vectorAxis);
    } else {
      units = alongMemory(kernel, unit, scalarAxis);
    }
    kernel.unitCount = loops_.dim(units);
    kernel.body = loop::block(std::move(unit.statements));
    kernel.stepsPerKernel = steps(units);
    chooseBuffers(kernel, result.usedInputs);
    result.kernel = std::move(kernel);
    DYN_CHECK(loop::verify(result.kernel));
    return result;
  }

  // The axis, other than the innermost, along which most of what is read lies in memory.
  std::optional<size_t> axisReadAcross() const {
    std::vector<int> reads(index_.size(), 0);
    const Expr innermost = index_.back();
    for (const Expr& root : roots_)
      for (const Found& item : find(root)) {
        const auto at = item.expr.operands();
        if (item.expr.kind() != ExprKind::load || !item.always || at.size() < 2) continue;
        for (size_t axis = 0; axis + 1 < index_.size(); ++axis)
          if (loop::readsAcross(at, index_[axis], innermost)) ++reads[axis];
      }
    const auto most = std::max_element(reads.begin(), reads.end());
    if (*most == 0) return std::nullopt;
    const size_t axis = static_cast<size_t>(most - reads.begin());
    const std::optional<int64_t> size = space_[axis].constant();
    if (size && *size <= kShortStride) return std::nullopt;
    return axis;
  }

  // An axis, other than the innermost, whose elements share much of what is computed of values read: where an
  // image is sampled, the places are the same for all of its channels. That is then done once for all of
  // them.
  std::optional<size_t> axisOfSharing() const {
    const std::vector<Expr> nodes = loop::postorder(roots_);
    std::optional<size_t> best;
    size_t most = kWorthSharing - 1;
    for (size_t axis = 0; axis + 1 < index_.size(); ++axis) {
      if (space_[axis].isConstant(1)) continue;
      std::unordered_map<uint32_t, bool> ofValues;  // not of this axis, and by something that is read
      std::unordered_map<uint32_t, bool> ofAxis;
      size_t count = 0;
      for (const Expr& e : nodes) {
        bool values = e.kind() == ExprKind::load, depends = e.same(index_[axis]);
        for (const Expr& part : e.operands()) {
          values |= ofValues[part.id()];
          depends |= ofAxis[part.id()];
        }
        ofAxis[e.id()] = depends;
        ofValues[e.id()] = values;
        if (values && !depends) ++count;
      }
      if (count > most) {
        most = count;
        best = axis;
      }
    }
    return best;
  }

  bool hasChecks() const {
    const std::vector<Expr> nodes = loop::postorder(roots_);
    return std::any_of(nodes.begin(), nodes.end(), [](Expr e) { return e.kind() == ExprKind::checked; });
  }

  // Units of a square each: rows of the result, whose elements something that is read has as columns.
  Dim inTiles(loop::Kernel& kernel, Scope& unit, size_t across) {
    std::vector<UnitAxis> axes;
    for (size_t axis = 0; axis + 1 < index_.size(); ++axis)
      if (axis != across) axes.push_back({index_[axis], space_[axis]});
    std::unordered_map<uint32_t, Expr> values;
    const auto blockOf = [&](size_t axis, Expr& inside) {
      const Expr block = loops_.variable("b");
      inside = loops_.variable("e");
      axes.push_back({block, ceilDiv(space_[axis], dims_.constant(kBlockTile))});
      loops_.bound(block, loops_.dim(axes.back().extent));
      const Expr start = block * kBlockTile;
      values[index_[axis].id()] = start + inside;
      return min(loops_.integer(kBlockTile), loops_.dim(space_[axis]) - start);
    };
    Expr row, column;
    const Expr rows = blockOf(across, row), columns = blockOf(index_.size() - 1, column);
    Dim units = dims_.constant(1);
    for (const UnitAxis& axis : axes) units = units * axis.extent;
    loops_.bound(kernel.unit, loops_.dim(units));
    indexFromUnit(kernel.unit, axes, unit);
    Scope inner;
    inner.parent = &unit;
    inner.depth = unit.depth + 1;
    depthOf_[row.id()] = inner.depth;
    depthOf_[column.id()] = inner.depth;
    std::vector<Expr> position;
    for (const Expr& v : index_) position.push_back(renamed(v, values));
    for (size_t i = 0; i < roots_.size(); ++i) {
      const Expr value = lower(renamed(roots_[i], values), &inner);
      inner.statements.push_back(loop::store(outputs_[i], position, value));
    }
    StmtRef nested =
        loop::loopOver(column, columns, LoopKind::vector, loop::block(std::move(inner.statements)));
    unit.statements.push_back(loop::loopOver(row, rows, LoopKind::tile, std::move(nested)));
    return units;
  }

  // The innermost axis in blocks, and in each of its vectors a loop over elements of another axis, which
  // share what does not depend on it.
  Dim sharingWork(loop::Kernel& kernel, Scope& unit, size_t shared) {
    const size_t last = index_.size() - 1;
    std::vector<UnitAxis> axes;
    for (size_t axis = 0; axis < last; ++axis)
      if (axis != shared) axes.push_back({index_[axis], space_[axis]});
    std::unordered_map<uint32_t, Expr> values;
    const auto partOf = [&](size_t axis, int64_t size, Expr& inside) {
      const Expr block = loops_.variable("b");
      inside = loops_.variable("e");
      axes.push_back({block, ceilDiv(space_[axis], dims_.constant(size))});
      loops_.bound(block, loops_.dim(axes.back().extent));
      const Expr start = block * size;
      values[index_[axis].id()] = start + inside;
      return min(loops_.integer(size), loops_.dim(space_[axis]) - start);
    };
    Expr element, lane;
    const Expr elements = partOf(shared, kSharedAtOnce, element), lanes = partOf(last, kBlockSharing, lane);
    Dim units = dims_.constant(1);
    for (const UnitAxis& axis : axes) units = units * axis.extent;
    loops_.bound(kernel.unit, loops_.dim(units));
    indexFromUnit(kernel.unit, axes, unit);
    Scope outer, inner;
    outer.parent = &unit;
    outer.depth = unit.depth + 1;
    depthOf_[lane.id()] = outer.depth;
    inner.parent = &outer;
    inner.depth = outer.depth + 1;
    depthOf_[element.id()] = inner.depth;
    std::vector<Expr> position;
    for (const Expr& v : index_) position.push_back(renamed(v, values));
    for (size_t i = 0; i < roots_.size(); ++i) {
      const Expr value = lower(renamed(roots_[i], values), &inner);
      inner.statements.push_back(loop::store(outputs_[i], position, value));
    }
    outer.statements.push_back(
        loop::loopOver(element, elements, LoopKind::serial, loop::block(std::move(inner.statements))));
    unit.statements.push_back(
        loop::loopOver(lane, lanes, LoopKind::vector, loop::block(std::move(outer.statements))));
    return units;
  }

  // Rows of a few elements, whose number is known: the vector loop goes along an axis outside of them, once
  // for each of their elements.
  Dim inShortRows(loop::Kernel& kernel, Scope& unit, size_t along) {
    const size_t last = index_.size() - 1;
    const int64_t length = *space_[last].constant();
    std::vector<UnitAxis> axes;
    for (size_t axis = 0; axis < last; ++axis)
      if (axis != along) axes.push_back({index_[axis], space_[axis]});
    const Expr block = loops_.variable("b");
    axes.push_back({block, ceilDiv(space_[along], dims_.constant(kBlockShortRows))});
    loops_.bound(block, loops_.dim(axes.back().extent));
    Dim units = dims_.constant(1);
    for (const UnitAxis& axis : axes) units = units * axis.extent;
    loops_.bound(kernel.unit, loops_.dim(units));
    std::unordered_map<uint32_t, Expr> values = indexFromUnit(kernel.unit, axes, unit);
    const Expr from = axes.size() == 1 ? kernel.unit : block, start = from * kBlockShortRows;
    const Expr count = min(loops_.integer(kBlockShortRows), loops_.dim(space_[along]) - start);
    for (int64_t k = 0; k < length; ++k) {
      const Expr inside = loops_.variable("e");
      values[index_[along].id()] = start + inside;
      values[index_[last].id()] = loops_.integer(k);
      Scope inner;
      inner.parent = &unit;
      inner.depth = unit.depth + 1;
      depthOf_[inside.id()] = inner.depth;
      std::vector<Expr> position;
      for (const Expr& v : index_) position.push_back(renamed(v, values));
      for (size_t i = 0; i < roots_.size(); ++i) {
        const Expr value = lower(renamed(roots_[i], values), &inner);
        inner.statements.push_back(loop::store(outputs_[i], position, value));
      }
      unit.statements.push_back(
          loop::loopOver(inside, count, LoopKind::vector, loop::block(std::move(inner.statements))));
    }
    return units;
  }

  // The innermost axis as one loop for each segment; `first` and `count` are of the part of the axis that the
  // unit has.
  void inSegments(const std::vector<NestSegment>& segments, std::unordered_map<uint32_t, Expr> values,
                  Expr first, Expr count, Scope& unit) {
    const Expr index = index_.back();
    const auto clipped = [&](Dim place) {
      const Dim zero = dims_.constant(0), extent = space_.back();
      if (facts_.lessEqual(zero, place) != Answer::yes) place = max(place, zero);
      if (facts_.lessEqual(place, extent) != Answer::yes) place = min(place, extent);
      const Expr at = loops_.dim(place);
      return first.isNull() ? at : max(first, min(at, first + count));
    };
    for (const NestSegment& segment : segments) {
      const Expr begin = clipped(segment.begin), inside = loops_.variable("e");
      values[index.id()] = begin + inside;
      // Nothing moves out of the loop: where there is no turn of it, what it reads need not be there.
      Scope inner;
      inner.depth = unit.depth + 1;
      depthOf_[inside.id()] = inner.depth;
      std::vector<Expr> position;
      for (const Expr& v : index_) position.push_back(renamed(v, values));
      for (size_t i = 0; i < segment.roots.size(); ++i) {
        const Expr value = lower(renamed(segment.roots[i], values), &inner);
        inner.statements.push_back(loop::store(outputs_[i], position, value));
      }
      unit.statements.push_back(loop::loopOver(inside, clipped(segment.end) - begin, LoopKind::vector,
                                               loop::block(std::move(inner.statements))));
    }
  }

  // The outer axes are the units, the innermost is the vector loop, or reductions are.
  Dim alongMemory(loop::Kernel& kernel, Scope& unit, bool scalarAxis) {
    const size_t rank = index_.size();
    const size_t reduced = scalarAxis || nest_.columns ? rank : fewestReductionAxes();
    const bool blocks = rank == 1 && !scalarAxis && !nest_.columns && reduced == rank;
    if (rank > 1 && !scalarAxis && !nest_.columns && reduced == rank) {
      const std::optional<size_t> across = axisReadAcross();
      const int64_t length = space_.back().constant().value_or(0);
      if (length > 1 && length <= kShortStride && !hasChecks())
        return inShortRows(kernel, unit, across.value_or(rank - 2));
      if (across) return inTiles(kernel, unit, *across);
      if (const std::optional<size_t> sharing = axisOfSharing(); sharing && !hasChecks())
        return sharingWork(kernel, unit, *sharing);
    }
    size_t unitCount = blocks || rank == 0 ? 0 : scalarAxis ? rank : std::min(rank - 1, reduced);
    std::vector<size_t> outer(unitCount), between;
    std::iota(outer.begin(), outer.end(), size_t{0});
    if (std::optional<std::vector<size_t>> own = axesOfReductions(); own && reduced < rank) {
      outer = std::move(*own);
      unitCount = outer.size();
    }
    for (size_t axis = 0; axis + 1 < rank; ++axis)
      if (std::find(outer.begin(), outer.end(), axis) == outer.end()) between.push_back(axis);
    Dim units = dims_.constant(1);
    for (size_t axis : outer) units = units * space_[axis];

    std::unordered_map<uint32_t, Expr> values = indexFromUnit(kernel.unit, unitAxes(outer), unit);
    const auto rename = [&](Expr root) { return renamed(root, values); };
    std::vector<Expr> position;
    for (const Expr& v : index_) position.push_back(rename(v));

    if (unitCount == rank) {
      // Every element is a unit of its own (or there is just one).
      loops_.bound(kernel.unit, loops_.dim(units));
      for (size_t i = 0; i < roots_.size(); ++i) {
        const Expr value = lower(rename(roots_[i]), &unit);
        unit.statements.push_back(loop::store(outputs_[i], position, value));
      }
    } else {
      Expr innermost = index_.back(), extent = loops_.dim(space_.back()), inside = innermost;
      if (reduced == rank && !nest_.columns) {
        const std::vector<NestSegment> segments =
            segmentsOf(roots_, innermost, space_.back(), facts_, loops_);
        if (segments.size() > 1) {
          Expr first, count;
          if (blocks) {
            units = ceilDiv(space_[0], dims_.constant(kBlockElements));
            first = kernel.unit * kBlockElements;
            count = min(loops_.integer(kBlockElements), extent - first);
          }
          loops_.bound(kernel.unit, loops_.dim(units));
          inSegments(segments, values, first, count, unit);
          return units;
        }
        if (!segments.empty()) roots_ = segments[0].roots;  // none: an axis without elements
      }
      if (blocks) {
        units = ceilDiv(space_[0], dims_.constant(kBlockElements));
        loops_.bound(kernel.unit, loops_.dim(units));
        const Expr start = kernel.unit * kBlockElements;
        inside = loops_.variable("e");
        extent = min(loops_.integer(kBlockElements), extent - start);
        values[innermost.id()] = start + inside;
        position.back() = rename(innermost);
      } else {
        loops_.bound(kernel.unit, loops_.dim(units));
        if (nest_.columns) {
          const Expr begin = loops_.dim(nest_.columns->first);
          inside = loops_.variable("e");
          extent = loops_.dim(nest_.columns->second) - begin;
          values[innermost.id()] = begin + inside;
          position.back() = rename(innermost);
        }
      }
      // Axes that are neither the units nor the innermost are plain loops.
      std::deque<Scope> scopes;
      Scope* around = &unit;
      for (size_t axis : between) {
        scopes.push_back({});
        scopes.back().parent = around;
        scopes.back().depth = around->depth + 1;
        around = &scopes.back();
        depthOf_[index_[axis].id()] = around->depth;
      }
      Scope inner;
      inner.parent = around;
      inner.depth = around->depth + 1;
      depthOf_[inside.id()] = inner.depth;
      for (size_t i = 0; i < roots_.size(); ++i) {
        const Expr value = lower(rename(roots_[i]), &inner);
        inner.statements.push_back(loop::store(outputs_[i], position, value));
      }
      StmtRef nested =
          loop::loopOver(inside, extent, LoopKind::vector, loop::block(std::move(inner.statements)));
      for (size_t i = between.size(); i-- > 0;) {
        scopes[i].statements.push_back(std::move(nested));
        nested = loop::loopOver(index_[between[i]], loops_.dim(space_[between[i]]), LoopKind::serial,
                                loop::block(std::move(scopes[i].statements)));
      }
      unit.statements.push_back(std::move(nested));
      if (unitCount + 1 == rank) keepRows(loops_, unit.statements);
    }
    return units;
  }

  // Elementary steps of a launch: nodes per element, and nodes per turn of each reduction, coarsely.
  Dim steps(Dim units) const {
    const int64_t nodes = static_cast<int64_t>(loop::postorder(roots_).size());
    const Dim elements = elementCount(dims_, space_);
    Dim total = elements * std::max<int64_t>(1, nodes / 2);
    for (const auto& [depth, extents] : steps_) {
      Dim turns = depth == 0 ? units : depth == 1 ? innerTurns_ : elements;
      for (const Expr& extent : extents) {
        if (extent.kind() == ExprKind::dim) turns = turns * extent.dimValue();
        if (extent.kind() == ExprKind::intConstant) turns = turns * extent.intValue();
        // At most so many: parts of something longer.
        if (extent.kind() == ExprKind::binary && extent.binaryOp() == loop::BinaryOp::min)
          for (const Expr& part : extent.operands())
            if (part.kind() == ExprKind::intConstant) turns = turns * part.intValue();
      }
      total = total + turns * 2;
    }
    return total;
  }

  void chooseBuffers(loop::Kernel& kernel, std::vector<size_t>& used) {
    loop::KernelUses uses(dims_);
    uses.noteBody(kernel);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!uses.isLoaded(inputs_[i])) continue;
      used.push_back(i);
      kernel.buffers.push_back(inputs_[i]);
    }
    kernel.buffers.insert(kernel.buffers.end(), outputs_.begin(), outputs_.end());
    for (const Buffer* buffer : kernel.buffers)
      for (const Expr& extent : buffer->shape) uses.note(extent);
    kernel.scalars = uses.scalars();
    if (!nest_.columns) return;
    const SymbolId first = nest_.columns->first.symbol(), second = nest_.columns->second.symbol();
    std::erase_if(kernel.scalars, [&](Dim d) {
      const auto symbols = symbolsOf(d);
      return std::find(symbols.begin(), symbols.end(), first) != symbols.end() ||
             std::find(symbols.begin(), symbols.end(), second) != symbols.end();
    });
    kernel.scalars.push_back(nest_.columns->first);
    kernel.scalars.push_back(nest_.columns->second);
  }

  const LoopNest& nest_;
  const DimSolver& facts_;
  loop::LoopContext& loops_;
  DimContext& dims_;
  std::vector<Expr> roots_, index_;
  Shape space_;
  std::vector<const Buffer*> inputs_, outputs_;
  std::unordered_map<uint32_t, size_t> depthOf_;  // variable → depth of the scope that binds it
  std::vector<std::pair<size_t, std::vector<Expr>>> steps_;
  Dim innerTurns_;  // how often what stands in the loop in a unit is done
  Dim rowLength_;   // NestKernel::rowLength
};

}  // namespace

Result<NestKernel> buildLoopNest(const LoopNest& nest, const DimSolver& facts) {
  return NestBuilder(nest, facts).build();
}

}  // namespace dyn
