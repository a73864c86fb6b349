#include "compiler/kernel/loop_nest.h"

#include <algorithm>
#include <deque>
#include <numeric>

#include "compiler/kernel/kept_rows.h"
#include "compiler/kernel/nest_choice.h"
#include "compiler/kernel/nest_parameters.h"
#include "compiler/kernel/nest_runs.h"
#include "compiler/kernel/nest_scopes.h"
#include "compiler/kernel/nest_segments.h"
#include "compiler/kernel/nest_units.h"
#include "compiler/kernel/staged_rows.h"

namespace dyn {

using loop::Buffer;
using loop::BufferRole;
using loop::Expr;
using loop::ExprKind;
using loop::LoopKind;
using loop::StmtRef;

namespace {

// Elements of a unit:
constexpr int64_t kBlockElements = 4096;   // of a flat kernel: enough to pay for handing it to a thread
constexpr int64_t kBlockReductions = 64;   // reductions side by side, across memory
constexpr int64_t kRowsTogether = 16;      // of an axis outside of them, where they are few
constexpr int64_t kBlockShortRows = 1024;  // rows of up to kShortStride elements: all stay in the cache
constexpr int64_t kBlockRows = 64;         // rows that lie behind each other, of no known length
constexpr int64_t kBlockTile = 64;         // both sides of what is read across: a few lines of memory
constexpr size_t kMostTogether = 96;       // nodes of the elements of a short axis that one loop makes
constexpr int64_t kBlockSharing = 256;     // along the innermost axis, where elements share work,
constexpr int64_t kSharedAtOnce = 32;      // and along the axis whose elements share it
constexpr int64_t kBlockKept = 1024;       // along the innermost axis, where rows read what they share
constexpr size_t kMostKept = 2;            // in so many rows of scratch memory

class NestBuilder : private NestUnits {
 public:
  NestBuilder(const LoopNest& nest, const DimSolver& facts)
      : NestUnits({nest.space, nest.index, {}, nest.inputs}, *nest.context),
        nest_(nest),
        facts_(facts),
        lowering_(loops_) {}

  Result<NestKernel> build() {
    chooseAxes();
    for (size_t axis = 0; axis < axes_.index.size(); ++axis)
      loops_.bound(axes_.index[axis], loops_.dim(axes_.space[axis]));
    for (const OutputDefinition& output : nest_.outputs) {
      std::vector<Expr> shape;
      for (Dim d : axes_.space) shape.push_back(loops_.dim(d));
      if (runs_) mergeLast(shape, loops_.dim(axes_.space.back()));
      outputs_.push_back(loops_.buffer(output.name, output.dtype, std::move(shape), BufferRole::output));
    }
    return makeKernel();
  }

 private:
  void chooseAxes() {
    for (const OutputDefinition& output : nest_.outputs) axes_.roots.push_back(output.element);
    if (nest_.schedule == NestSchedule::unitInnermost) dropInnermost();
    if (nest_.columns) return;
    splitWrappedAxes(axes_, facts_, loops_);
    mergeAxes(axes_, facts_, loops_);
    dropUnitAxes();
    chooseRuns();
  }

  // Axes outside of the innermost one that all is read along as it lies join it.
  void chooseRuns() {
    while (std::optional<std::vector<NestRun>> runs = takeRuns(axes_, facts_, loops_)) {
      if (!std::all_of(runs->begin(), runs->end(), [](const NestRun& run) { return run.isRun; })) {
        runs_ = std::move(runs);
        return;
      }
      segments_ = joinRuns(axes_, *runs, loops_);
      if (segments_.size() > 1) return;
    }
  }

  // Of runs the last two axes are one in the outputs.
  static void mergeLast(std::vector<Expr>& list, Expr inner) {
    list.pop_back();
    list.back() = list.back() * inner;
  }

  // Leaves the innermost axis out, which has one element.
  void dropInnermost() {
    const Expr unit = axes_.index.back();
    for (Expr& root : axes_.roots)
      root = loops_.substitute(root, [&](Expr e) { return e.same(unit) ? loops_.integer(0) : Expr(); });
    axes_.index.pop_back();
    axes_.space.pop_back();
  }

  // Innermost axes of size 1 go, so that the vector loop has something to run over: [n, 1] is computed as
  // [n].
  void dropUnitAxes() {
    for (const Expr& e : loop::postorder(axes_.roots))
      if (e.kind() == ExprKind::reduce) return;
    while (axes_.space.size() > 1 && axes_.space.back().isConstant(1)) dropInnermost();
  }

  // Stores an element of each output, whose definitions are `roots`, where the index has `values`.
  void storeElements(const std::vector<Expr>& roots, const IndexValues& values, NestScope& scope) {
    for (size_t i = 0; i < roots.size(); ++i) storeElement(i, roots[i], values, scope);
  }
  void storeElement(size_t output, Expr root, const IndexValues& values, NestScope& scope) {
    std::vector<Expr> position;
    for (const Expr& v : axes_.index) position.push_back(renamed(v, values));
    if (runs_) {
      const Expr lane = position.back();
      mergeLast(position, loops_.dim(axes_.space.back()));
      position.back() = position.back() + lane;
    }
    const Expr value = lowering_.lower(renamed(root, values), scope);
    scope.statements.push_back(loop::store(outputs_[output], position, value));
  }

  // A vector loop that in each iteration stores the elements of each output at all places of a short axis:
  // what lies between the lanes there is read, or written, by the same iteration (interleaving_emitter.cpp).
  StmtRef loopOfShortAxis(Expr variable, Expr extent, size_t shortAxis, IndexValues values, NestScope inner) {
    lowering_.bind(variable, inner);
    for (size_t i = 0; i < axes_.roots.size(); ++i)
      for (int64_t k = 0; k < *axes_.space[shortAxis].constant(); ++k) {
        values[axes_.index[shortAxis].id()] = loops_.integer(k);
        storeElement(i, axes_.roots[i], values, inner);
      }
    return loop::loopOver(variable, extent, LoopKind::vector, loop::block(std::move(inner.statements)));
  }
  // Is the code of all places of a short axis little enough for one loop?
  bool fitsTogether(size_t shortAxis) const {
    const auto places = static_cast<size_t>(axes_.space[shortAxis].constant().value_or(INT32_MAX));
    return places * loop::postorder(axes_.roots).size() <= kMostTogether;
  }

  // A loop of `extent` iterations that stores an element of each output in each.
  StmtRef storingLoop(Expr variable, Expr extent, const std::vector<Expr>& roots, const IndexValues& values,
                      NestScope inner) {
    lowering_.bind(variable, inner);
    storeElements(roots, values, inner);
    return loop::loopOver(variable, extent, LoopKind::vector, loop::block(std::move(inner.statements)));
  }

  // --- schedules

  // Reductions side by side: `vectorAxis` in blocks of lanes, what no reduction depends on inside.
  Dim acrossMemory(loop::Kernel& kernel, NestScope& unit, size_t vectorAxis) {
    std::vector<size_t> outer, within;
    IndexValues values;
    Dim units = ceilDiv(axes_.space[vectorAxis], dims_.constant(kBlockReductions)),
        reductions = axes_.space[vectorAxis];
    const Dim blocks = units;
    for (size_t axis = 0; axis < axes_.index.size(); ++axis) {
      if (axis == vectorAxis) continue;
      const bool depends = hasReductionOver(axes_, axes_.index[axis]);
      if (!depends && axes_.space[axis].isConstant(1)) {
        values[axes_.index[axis].id()] = loops_.integer(0);  // a loop would keep vectors from going together
        continue;
      }
      (depends ? outer : within).push_back(axis);
      if (!depends) continue;
      units = units * axes_.space[axis];
      reductions = reductions * axes_.space[axis];
    }
    innerIterations_ = reductions;
    const bool together = nest_.schedule == NestSchedule::shortAxisInLanes;  // both axes as one
    if (together) units = ceilDiv(axes_.space[outer[0]], dims_.constant(kRowsTogether));
    loops_.bound(kernel.unit, loops_.dim(units));
    // The blocks are the fastest part of the unit.
    Expr block = kernel.unit, rest = kernel.unit;
    if (!outer.empty() && !together) {
      block = mod(kernel.unit, loops_.dim(blocks));
      rest = floorDiv(kernel.unit, loops_.dim(blocks));
    }
    if (outer.size() == 1 && !together) {
      unit.statements.push_back(loop::let(axes_.index[outer[0]], rest));
    } else if (!together) {
      values.merge(indexFromUnit(rest, unitAxes(outer), unit));
    }
    const Expr inside = loops_.variable("e"), length = loops_.dim(axes_.space[vectorAxis]),
               start = block * (together ? kRowsTogether : kBlockReductions);
    Expr extent = min(loops_.integer(kBlockReductions), length - start);
    if (together) {
      extent = min(loops_.integer(kRowsTogether), loops_.dim(axes_.space[outer[0]]) - start) * length;
    } else {
      values[axes_.index[vectorAxis].id()] = start + inside;
    }
    std::deque<NestScope> scopes = {NestScope::inside(unit)};
    lowering_.bind(inside, scopes.back());
    for (size_t axis : together ? std::vector{outer[0], vectorAxis} : std::vector<size_t>()) {
      const Expr place = axis == vectorAxis ? mod(inside, length) : start + floorDiv(inside, length);
      lowering_.bind(axes_.index[axis], scopes.back());
      scopes.back().statements.push_back(loop::let(axes_.index[axis], place));
    }
    for (size_t axis : within) {
      scopes.push_back(NestScope::inside(scopes.back()));
      lowering_.bind(axes_.index[axis], scopes.back());
    }
    std::vector<Expr> roots;
    for (const Expr& root : axes_.roots) roots.push_back(renamed(root, values));
    std::optional<StagedRows> staged;
    if (nest_.schedule == NestSchedule::rowsInLanes && within.size() <= 1) {
      const Expr along = within.empty() ? Expr() : axes_.index[within[0]];
      staged.emplace(loops_, facts_, RowBlock{inside, extent, along, rowLength_, kBlockReductions});
      if (!staged->stage(roots)) staged.reset();
    }
    storeElements(roots, values, scopes.back());
    for (size_t i = within.size(); i-- > 0;) {
      StmtRef nested = loop::loopOver(axes_.index[within[i]], loops_.dim(axes_.space[within[i]]),
                                      LoopKind::serial, loop::block(std::move(scopes[i + 1].statements)));
      scopes[i].statements.push_back(std::move(nested));
    }
    const auto add = [&](const std::vector<StmtRef>& more) {
      unit.statements.insert(unit.statements.end(), more.begin(), more.end());
    };
    if (staged) {
      staged->keep(scopes[0].statements);
      add(staged->before());
    }
    StmtRef lanes =
        loop::loopOver(inside, extent, LoopKind::vector, loop::block(std::move(scopes[0].statements)));
    // The test is what the certificate knows of a divisor.
    unit.statements.push_back(together ? loop::branch(loops_.integer(0) < length, std::move(lanes)) : lanes);
    if (staged) {
      add(staged->after());
      kernel.scratch = staged->scratch();
    }
    return units;
  }

  Result<NestKernel> makeKernel() {
    loop::Kernel kernel;
    kernel.name = nest_.name;
    kernel.description = nest_.description;
    kernel.context = nest_.context;
    kernel.unit = loops_.variable("u");
    NestScope unit;
    const size_t rank = axes_.index.size();
    innerIterations_ = elementCount(dims_, axes_.space);
    const bool scalarAxis =
        rank > 0 && !nest_.columns && hasReductionOver(axes_, axes_.index.back()) &&
        (nest_.schedule == NestSchedule::reductionsInLanes || reductionsRunAlongMemory(axes_));
    const size_t vectorAxis = nest_.columns ? rank : lastReductionAxis(axes_);
    const bool across = vectorAxis < rank && vectorAxis + 1 == rank && !scalarAxis;
    NestKernel result;
    if (vectorAxis < rank && !across && vectorAxis + 2 >= rank)
      result.rowLength = oneRowLength(axes_, vectorAxis, facts_, dims_);
    Dim units;
    if (rank > 1 && !nest_.columns && vectorAxis == rank && axisReadAcross(axes_) &&
        axes_.space.back() == nest_.space.back() && !axes_.space.back().isConstant())
      result.innermostAcross = axes_.space.back();
    rowLength_ = result.rowLength;
    if (across && outerReductionAxes(axes_, vectorAxis) == 1) result.laneAxis = axes_.space[vectorAxis];
    if (across || (nest_.schedule == NestSchedule::rowsInLanes && result.rowLength)) {
      units = acrossMemory(kernel, unit, vectorAxis);
    } else {
      units = alongMemory(kernel, unit, scalarAxis);
    }
    kernel.unitCount = loops_.dim(units);
    kernel.body = loop::block(std::move(unit.statements));
    kernel.stepsPerKernel = stepsOf(axes_, lowering_.reductions(), units, innerIterations_);
    result.usedInputs = takeParameters(kernel, axes_.inputs, outputs_, nest_.columns);
    result.kernel = std::move(kernel);
    DYN_CHECK(loop::verify(result.kernel));
    return result;
  }

  // Units of a square each: rows of the result, whose elements something that is read has as columns.
  Dim inTiles(loop::Kernel& kernel, NestScope& unit, size_t across) {
    std::vector<UnitAxis> axes = outerAxesBut(across);
    IndexValues values;
    const auto [row, rows] = inBlocks(across, kBlockTile, axes, values);
    const auto [column, columns] = inBlocks(axes_.index.size() - 1, kBlockTile, axes, values);
    const Dim units = makeUnits(kernel, axes, unit, values);
    NestScope inner = NestScope::inside(unit);
    lowering_.bind(row, inner);
    StmtRef nested = storingLoop(column, columns, axes_.roots, values, std::move(inner));
    unit.statements.push_back(loop::loopOver(row, rows, LoopKind::tile, std::move(nested)));
    return units;
  }

  // The innermost axis in blocks, and in each of its vectors a loop over elements of another axis, which
  // share what does not depend on it; or the other way round, where little that is slow is all they share.
  Dim sharingWork(loop::Kernel& kernel, NestScope& unit, NestSharing sharing) {
    std::vector<UnitAxis> axes = outerAxesBut(sharing.axis);
    IndexValues values;
    const auto [element, elements] = inBlocks(sharing.axis, kSharedAtOnce, axes, values);
    const std::vector<Expr> slow =
        slowPartsShared(axes_.roots, axes_.index[sharing.axis], axes_.index.back());
    const bool keeps = sharing.isSlow && !slow.empty() && slow.size() <= kMostKept;
    const auto [lane, lanes] =
        inBlocks(axes_.index.size() - 1, keeps ? kBlockKept : kBlockSharing, axes, values);
    const Dim units = makeUnits(kernel, axes, unit, values);
    if (keeps) {
      std::vector<Expr> roots = axes_.roots;
      keepShared(kernel, unit, slow, {lane, lanes}, values, roots);
      NestScope row = NestScope::inside(unit);
      lowering_.bind(element, row);
      row.statements.push_back(storingLoop(lane, lanes, roots, values, NestScope::inside(row)));
      unit.statements.push_back(
          loop::loopOver(element, elements, LoopKind::serial, loop::block(std::move(row.statements))));
      return units;
    }
    NestScope outer = NestScope::inside(unit), inner = NestScope::inside(outer);
    lowering_.bind(lane, outer);
    lowering_.bind(element, inner);
    storeElements(axes_.roots, values, inner);
    outer.statements.push_back(
        loop::loopOver(element, elements, LoopKind::serial, loop::block(std::move(inner.statements))));
    unit.statements.push_back(
        loop::loopOver(lane, lanes, LoopKind::vector, loop::block(std::move(outer.statements))));
    return units;
  }

  // `parts`, a number for each lane, are computed once, into scratch memory that `roots` read then.
  void keepShared(loop::Kernel& kernel, NestScope& unit, const std::vector<Expr>& parts,
                  const std::pair<Expr, Expr>& lanes, const IndexValues& values, std::vector<Expr>& roots) {
    for (const Expr& part : parts) {
      kernel.scratch.push_back(loops_.buffer("t" + std::to_string(kernel.scratch.size()), part.dtype(),
                                             {loops_.integer(kBlockKept)}, BufferRole::scratch));
      const Buffer* kept = kernel.scratch.back();
      const Expr own = loops_.variable("e");
      NestScope filling = NestScope::inside(unit);
      lowering_.bind(own, filling);
      const Expr value = loops_.substitute(renamed(part, values),
                                           [&](Expr e) { return e.same(lanes.first) ? own : Expr(); });
      filling.statements.push_back(loop::store(kept, {own}, lowering_.lower(value, filling)));
      unit.statements.push_back(
          loop::loopOver(own, lanes.second, LoopKind::vector, loop::block(std::move(filling.statements))));
      for (Expr& root : roots)
        root = loops_.substitute(
            root, [&](Expr e) { return e.same(part) ? loops_.load(kept, {lanes.first}) : Expr(); });
    }
  }

  // What a unit has of an axis, of which a block of kBlockShortRows is the last of the units' `axes`.
  struct UnitBlock {
    Dim units;
    Expr start, count;
  };
  UnitBlock blockOfUnit(loop::Kernel& kernel, NestScope& unit, size_t axis, std::vector<UnitAxis> axes,
                        IndexValues& values) {
    const UnitPart part = partOfUnit(kernel, axes, axes_.space[axis], kBlockShortRows);
    const Dim units = makeUnits(kernel, axes, unit, values);
    return {units, part.first, min(loops_.integer(part.count), loops_.dim(axes_.space[axis]) - part.first)};
  }

  // Rows of a few elements, whose number is known: the vector loop goes along an axis outside of them, once
  // for each of their elements.
  Dim inShortRows(loop::Kernel& kernel, NestScope& unit, size_t along) {
    const size_t last = axes_.index.size() - 1;
    const int64_t length = *axes_.space[last].constant();
    IndexValues values;
    const auto [units, start, count] = blockOfUnit(kernel, unit, along, outerAxesBut(along), values);
    if (along + 1 == last && fitsTogether(last)) {
      const Expr inside = loops_.variable("e");
      values[axes_.index[along].id()] = start + inside;
      unit.statements.push_back(loopOfShortAxis(inside, count, last, values, NestScope::inside(unit)));
      return units;
    }
    for (int64_t k = 0; k < length; ++k) {
      const Expr inside = loops_.variable("e");
      values[axes_.index[along].id()] = start + inside;
      values[axes_.index[last].id()] = loops_.integer(k);
      unit.statements.push_back(storingLoop(inside, count, axes_.roots, values, NestScope::inside(unit)));
    }
    return units;
  }

  // The innermost axis in blocks, and all places of a short axis outside of it in each iteration.
  Dim besideShortAxis(loop::Kernel& kernel, NestScope& unit, size_t shortAxis) {
    IndexValues values;
    const size_t last = axes_.index.size() - 1;
    const auto [units, start, count] = blockOfUnit(kernel, unit, last, outerAxesBut(shortAxis), values);
    const Expr inside = loops_.variable("e");
    values[axes_.index[last].id()] = start + inside;
    unit.statements.push_back(loopOfShortAxis(inside, count, shortAxis, values, NestScope::inside(unit)));
    return units;
  }

  struct Stretch {
    Expr begin, length;  // no elements where the length is negative
  };
  // What the part has of a segment of an axis of `extent`.
  Stretch stretchOf(const NestSegment& segment, Dim extent, const UnitPart& part) {
    const Dim zero = dims_.constant(0);
    const auto onAxis = [&](Dim place) {
      if (facts_.lessEqual(zero, place) != Answer::yes) place = max(place, zero);
      if (facts_.lessEqual(place, extent) != Answer::yes) place = min(place, extent);
      return loops_.dim(place);
    };
    Expr begin = onAxis(segment.begin), end = onAxis(segment.end);
    if (!part.first.isNull()) {
      begin = segment.begin.isConstant(0) ? part.first : max(begin, part.first);
      end = min(end, part.first + part.count);
    }
    return {begin, end - begin};
  }

  // The innermost axis as one loop for each segment.
  void inSegments(const std::vector<NestSegment>& segments, IndexValues values, const UnitPart& part,
                  NestScope& unit) {
    for (const NestSegment& segment : segments) {
      const auto [begin, length] = stretchOf(segment, axes_.space.back(), part);
      const Expr inside = loops_.variable("e");
      values[axes_.index.back().id()] = begin + inside;
      // Nothing moves out of the loop: where there is no iteration of it, what it reads need not be there.
      NestScope inner;
      inner.depth = unit.depth + 1;
      unit.statements.push_back(storingLoop(inside, length, segment.roots, values, std::move(inner)));
    }
  }

  // The outer axes and blocks of rows are the units: each run is one vector loop, other rows have one each.
  // Short rows of images are a unit all together.
  Dim inRuns(loop::Kernel& kernel, NestScope& unit) {
    const size_t rank = axes_.index.size();
    const Expr row = axes_.index[rank - 2], lane = axes_.index[rank - 1];
    const Dim rows = axes_.space[rank - 2], width = axes_.space[rank - 1];
    std::vector<UnitAxis> axes = outerAxesBut(rank - 2);
    IndexValues values;
    UnitPart part;
    if (!width.isConstant() || axes.size() < 2)
      part = partOfUnit(
          kernel, axes, rows,
          width.isConstant() ? std::max<int64_t>(kBlockElements / *width.constant(), 1) : kBlockRows);
    const Dim units = makeUnits(kernel, axes, unit, values);
    for (const auto& [segment, isRun] : *runs_) {
      const auto [begin, length] = stretchOf(segment, rows, part);
      NestScope outer, inner;  // nothing moves out of the loops, as of segments
      outer.depth = unit.depth + 1, inner.depth = unit.depth + 2;
      const Expr t = loops_.variable("r"), e = loops_.variable("e");
      values[row.id()] = isRun ? begin : begin + t, values[lane.id()] = e;
      lowering_.bind(t, outer);
      const Expr lanes = isRun ? length * loops_.dim(width) : loops_.dim(width);
      StmtRef nested = storingLoop(e, lanes, segment.roots, values, std::move(inner));
      unit.statements.push_back(
          isRun ? std::move(nested)
                : loop::loopOver(t, length, LoopKind::serial, loop::block({std::move(nested)})));
    }
    return units;
  }

  // The outer axes and blocks of the joined one are the units.
  Dim inJoinedRows(loop::Kernel& kernel, NestScope& unit) {
    const Dim extent = axes_.space.back();
    std::vector<UnitAxis> axes = outerAxesBut(axes_.index.size() - 1);
    IndexValues values;
    UnitPart part;
    if (axes.empty() || extent.constant().value_or(INT64_MAX) > kBlockElements)
      part = partOfUnit(kernel, axes, extent, kBlockElements);
    const Dim units = makeUnits(kernel, axes, unit, values);
    inSegments(segments_, values, part, unit);
    return units;
  }

  // The outer axes are the units, the innermost is the vector loop, or reductions are.
  Dim alongMemory(loop::Kernel& kernel, NestScope& unit, bool scalarAxis) {
    if (runs_) return inRuns(kernel, unit);
    if (!segments_.empty()) return inJoinedRows(kernel, unit);
    const size_t rank = axes_.index.size();
    const size_t reduced = scalarAxis || nest_.columns ? rank : fewestReductionAxes(axes_);
    const bool blocks = rank == 1 && !scalarAxis && !nest_.columns && reduced == rank;
    if (rank > 1 && !scalarAxis && !nest_.columns && reduced == rank) {
      const std::optional<size_t> across = axisReadAcross(axes_);
      const int64_t length = axes_.space.back().constant().value_or(0);
      if (length > 1 && length <= kShortStride && !hasChecks(axes_))
        return inShortRows(kernel, unit, across.value_or(rank - 2));
      if (across) return inTiles(kernel, unit, *across);
      if (const std::optional<size_t> between = axisReadBetween(axes_);
          between && fitsTogether(*between) && !hasChecks(axes_))
        return besideShortAxis(kernel, unit, *between);
      if (const std::optional<NestSharing> sharing = axisOfSharing(axes_);
          sharing && !(sharing->isSlow && nest_.onDevice) && !hasChecks(axes_))
        return sharingWork(kernel, unit, *sharing);
    }
    size_t unitCount = blocks || rank == 0 ? 0 : scalarAxis ? rank : std::min(rank - 1, reduced);
    std::vector<size_t> outer(unitCount), between;
    std::iota(outer.begin(), outer.end(), size_t{0});
    if (std::optional<std::vector<size_t>> own = axesOfReductions(axes_); own && reduced < rank) {
      outer = std::move(*own);
      unitCount = outer.size();
    }
    for (size_t axis = 0; axis + 1 < rank; ++axis)
      if (std::find(outer.begin(), outer.end(), axis) == outer.end()) between.push_back(axis);
    Dim units = dims_.constant(1);
    for (size_t axis : outer) units = units * axes_.space[axis];
    IndexValues values = indexFromUnit(kernel.unit, unitAxes(outer), unit);

    if (unitCount == rank) {
      // Every element is a unit of its own (or there is just one).
      loops_.bound(kernel.unit, loops_.dim(units));
      storeElements(axes_.roots, values, unit);
      return units;
    }
    const Expr innermost = axes_.index.back();
    Expr extent = loops_.dim(axes_.space.back()), inside = innermost;
    if (reduced == rank && !nest_.columns) {
      const std::vector<NestSegment> segments =
          segmentsOf(axes_.roots, innermost, axes_.space.back(), facts_, loops_);
      if (segments.size() > 1) {
        UnitPart part;
        if (blocks) {
          units = ceilDiv(axes_.space[0], dims_.constant(kBlockElements));
          part = {kernel.unit * kBlockElements, kBlockElements};
        }
        loops_.bound(kernel.unit, loops_.dim(units));
        inSegments(segments, values, part, unit);
        return units;
      }
      if (!segments.empty()) axes_.roots = segments[0].roots;  // none: an axis without elements
    }
    if (blocks) units = ceilDiv(axes_.space[0], dims_.constant(kBlockElements));
    loops_.bound(kernel.unit, loops_.dim(units));
    if (blocks) {
      const Expr start = kernel.unit * kBlockElements;
      inside = loops_.variable("e");
      extent = min(loops_.integer(kBlockElements), extent - start);
      values[innermost.id()] = start + inside;
    } else if (nest_.columns) {
      const Expr begin = loops_.dim(nest_.columns->first);
      inside = loops_.variable("e");
      extent = loops_.dim(nest_.columns->second) - begin;
      values[innermost.id()] = begin + inside;
    }
    // Axes that are neither the units nor the innermost are plain loops.
    std::deque<NestScope> scopes;
    NestScope* around = &unit;
    for (size_t axis : between) {
      scopes.push_back(NestScope::inside(*around));
      around = &scopes.back();
      lowering_.bind(axes_.index[axis], *around);
    }
    StmtRef nested = storingLoop(inside, extent, axes_.roots, values, NestScope::inside(*around));
    for (size_t i = between.size(); i-- > 0;) {
      scopes[i].statements.push_back(std::move(nested));
      nested = loop::loopOver(axes_.index[between[i]], loops_.dim(axes_.space[between[i]]), LoopKind::serial,
                              loop::block(std::move(scopes[i].statements)));
    }
    unit.statements.push_back(std::move(nested));
    if (unitCount + 1 == rank) keepRows(loops_, unit.statements);
    return units;
  }

  const LoopNest& nest_;
  const DimSolver& facts_;
  std::optional<std::vector<NestRun>> runs_;  // of the last two axes
  std::vector<NestSegment> segments_;         // of the last axis, which two were joined to
  std::vector<const Buffer*> outputs_;
  NestLowering lowering_;
  Dim innerIterations_;  // how often what stands in the loop in a unit is done
  Dim rowLength_;        // NestKernel::rowLength
};

}  // namespace

Result<NestKernel> buildLoopNest(const LoopNest& nest, const DimSolver& facts) {
  return NestBuilder(nest, facts).build();
}

}  // namespace dyn
