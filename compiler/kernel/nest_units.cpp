#include "compiler/kernel/nest_units.h"

namespace dyn {

using loop::Expr;

std::vector<NestUnits::UnitAxis> NestUnits::unitAxes(const std::vector<size_t>& axes) const {
  std::vector<UnitAxis> list;
  for (size_t axis : axes) list.push_back({axes_.index[axis], axes_.space[axis]});
  return list;
}

std::vector<NestUnits::UnitAxis> NestUnits::outerAxesBut(size_t other) const {
  std::vector<size_t> axes;
  for (size_t axis = 0; axis + 1 < axes_.index.size(); ++axis)
    if (axis != other) axes.push_back(axis);
  return unitAxes(axes);
}

NestUnits::IndexValues NestUnits::indexFromUnit(Expr unit, const std::vector<UnitAxis>& axes,
                                                NestScope& scope) {
  IndexValues values;
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

Dim NestUnits::makeUnits(loop::Kernel& kernel, const std::vector<UnitAxis>& axes, NestScope& scope,
                         IndexValues& values) {
  Dim units = dims_.constant(1);
  for (const UnitAxis& axis : axes) units = units * axis.extent;
  loops_.bound(kernel.unit, loops_.dim(units));
  values.merge(indexFromUnit(kernel.unit, axes, scope));
  return units;
}

Expr NestUnits::blocksOf(Dim extent, int64_t size, std::vector<UnitAxis>& units) {
  const Expr block = loops_.variable("b");
  units.push_back({block, ceilDiv(extent, dims_.constant(size))});
  loops_.bound(block, loops_.dim(units.back().extent));
  return block;
}

std::pair<Expr, Expr> NestUnits::inBlocks(size_t axis, int64_t size, std::vector<UnitAxis>& units,
                                          IndexValues& values) {
  const Expr start = blocksOf(axes_.space[axis], size, units) * size, inside = loops_.variable("e");
  values[axes_.index[axis].id()] = start + inside;
  return {inside, min(loops_.integer(size), loops_.dim(axes_.space[axis]) - start)};
}

NestUnits::UnitPart NestUnits::partOfUnit(loop::Kernel& kernel, std::vector<UnitAxis>& units, Dim extent,
                                          int64_t count) {
  const Expr block = blocksOf(extent, count, units);
  return {(units.size() == 1 ? kernel.unit : block) * count, count};
}

Expr NestUnits::renamed(Expr root, const IndexValues& values) {
  if (values.empty()) return root;
  return loops_.substitute(root, [&](Expr e) {
    auto it = values.find(e.id());
    return it == values.end() ? Expr() : it->second;
  });
}

}  // namespace dyn
