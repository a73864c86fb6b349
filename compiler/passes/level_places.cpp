#include "compiler/passes/level_places.h"

#include "compiler/ops/op_table.h"

namespace dyn::passes {

ValueId placesOfLevel(IrContext& ir, BatchedTurns& b, ValueId starts, ValueId number) {
  const auto start = [&](ValueId level) {
    return b.make(ops::gatherOp, {starts, level}, {{"axis", int64_t{0}}});
  };
  const ValueId first = start(number), behind = start(b.make(ops::addOp, {number, b.integer(1)}));
  const Dim count = ir.dims().any("the nodes of a level");
  b.effect(ops::bind_dimsOp, {b.make(ops::subOp, {behind, first})},
           {{"dims", Shape{count}}, {"elements", std::vector<int64_t>{0}}});
  b.effect(ops::checkOp, {},
           {{"lhs", Shape{ir.dims().constant(0)}},
            {"relation", std::string("le")},
            {"rhs", Shape{count}},
            {"what", std::string("a level has nodes")}});
  const ValueId places = b.make(
      ops::rangeOp, {b.integer(0), b.make(ops::dim_valueOp, {}, {{"value", Shape{count}}}), b.integer(1)});
  return b.make(ops::addOp, {places, first});
}

}  // namespace dyn::passes
