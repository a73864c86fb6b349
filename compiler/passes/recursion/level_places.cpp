#include "compiler/passes/recursion/level_places.h"

#include <string>
#include <utility>

#include "compiler/ops/op_table.h"

namespace dyn::passes {

namespace {

// Element `at` of `numbers`; the first, where there is none.
Dim bound(IrContext& ir, BatchedIterations& b, ValueId numbers, std::string what, ValueId at = kNoValue) {
  const Dim dim = ir.dims().any(std::move(what));
  std::vector<ValueId> operands{numbers};
  if (at != kNoValue) operands.push_back(at);
  b.effect(ops::bind_dimsOp, std::move(operands),
           {{"dims", Shape{dim}}, {"elements", std::vector<int64_t>{0}}});
  return dim;
}

void checkAtMost(BatchedIterations& b, Dim lhs, Dim rhs, std::string what) {
  b.effect(
      ops::checkOp, {},
      {{"lhs", Shape{lhs}}, {"relation", std::string("le")}, {"rhs", Shape{rhs}}, {"what", std::move(what)}});
}

}  // namespace

ValueId placesOfLevel(IrContext& ir, BatchedIterations& b, ValueId starts, ValueId number) {
  const auto start = [&](ValueId level) {
    return b.make(ops::gatherOp, {starts, level}, {{"axis", int64_t{0}}});
  };
  const ValueId first = start(number), behind = start(b.make(ops::addOp, {number, b.integer(1)}));
  const Dim count = bound(ir, b, b.make(ops::subOp, {behind, first}), "the nodes of a level");
  checkAtMost(b, ir.dims().constant(0), count, "a level has nodes");
  const ValueId places = b.make(
      ops::rangeOp, {b.integer(0), b.make(ops::dim_valueOp, {}, {{"value", Shape{count}}}), b.integer(1)});
  return b.make(ops::addOp, {places, first});
}

Dim numberOfIterations(IrContext& ir, BatchedIterations& b, ValueId count) {
  const Dim iterations = bound(ir, b, count, "the rows of a table");
  checkAtMost(b, ir.dims().constant(0), iterations, "a table has rows");
  return iterations;
}

ValueId countsOfLevels(BatchedIterations& b, ValueId starts) {
  const auto part = [&](int64_t first, int64_t behind) {
    return b.make(ops::sliceOp, {starts, b.integers({first}), b.integers({behind}), b.integers({0})});
  };
  return b.make(ops::subOp, {part(1, INT64_MAX), part(0, -1)});
}

LevelPart partOfLevel(IrContext& ir, BatchedIterations& b, const LevelTables& tables, ValueId number,
                      Dim rows) {
  const LevelPart part{bound(ir, b, tables.starts, "where a level begins", number),
                       bound(ir, b, tables.counts, "the nodes of a level", number)};
  const Dim zero = ir.dims().constant(0);
  checkAtMost(b, zero, part.first, "a level begins in its table");
  checkAtMost(b, zero, part.count, "a level has nodes");
  checkAtMost(b, part.first + part.count, rows, "a level ends in its table");
  return part;
}

ValueId rowsOfLevel(BatchedIterations& b, ValueId table, const LevelPart& part) {
  const auto vector = [&](Dim d) { return b.make(ops::dims_valueOp, {}, {{"value", Shape{d}}}); };
  return b.make(ops::sliceOp, {table, vector(part.first), vector(part.first + part.count), b.integers({0})});
}

}  // namespace dyn::passes
