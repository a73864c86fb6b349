// The units of a nest's kernel: elements of outer axes, and blocks of others, counted as one.
//
//   units {i < n, b < ceildiv(m, 64)}:   let b = mod(u, ceildiv(m, 64))   let i = floordiv(u, ceildiv(m, 64))
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/kernel/nest_axes.h"
#include "compiler/kernel/nest_scopes.h"

namespace dyn {

// What builds a nest's loops counts their units by it.
class NestUnits {
 protected:
  using IndexValues = std::unordered_map<uint32_t, loop::Expr>;  // of index variables, by id

  struct UnitAxis {
    loop::Expr variable;
    Dim extent;
  };
  // The part of an axis that a unit has: [first, first + count), of which what lies behind the axis is not
  // there; all of it where `first` is null.
  struct UnitPart {
    loop::Expr first;
    int64_t count = 0;
  };

  NestUnits(NestAxes axes, loop::LoopContext& loops)
      : loops_(loops), dims_(loops.dims()), axes_(std::move(axes)) {}

  std::vector<UnitAxis> unitAxes(const std::vector<size_t>& axes) const;
  // All but the innermost and `other`.
  std::vector<UnitAxis> outerAxesBut(size_t other) const;

  // Index variables of `axes` from the unit, the last one fastest; with one axis the unit is its variable.
  // The emitter counts them (unit_counter.cpp), where they are the first statements.
  IndexValues indexFromUnit(loop::Expr unit, const std::vector<UnitAxis>& axes, NestScope& scope);
  // Makes an element of `axes` a unit, and returns how many there are.
  Dim makeUnits(loop::Kernel& kernel, const std::vector<UnitAxis>& axes, NestScope& scope,
                IndexValues& values);

  // Blocks of `size` of an axis of `extent`, as the last of `units`. Returns the variable of the block.
  loop::Expr blocksOf(Dim extent, int64_t size, std::vector<UnitAxis>& units);
  // An axis in blocks of `size`: the block becomes the last of `units`. Returns the variable inside a block,
  // and how many elements the block has.
  std::pair<loop::Expr, loop::Expr> inBlocks(size_t axis, int64_t size, std::vector<UnitAxis>& units,
                                             IndexValues& values);
  // An axis of `extent` in parts of `count`, as the last of `units`.
  UnitPart partOfUnit(loop::Kernel& kernel, std::vector<UnitAxis>& units, Dim extent, int64_t count);

  loop::Expr renamed(loop::Expr root, const IndexValues& values);

  loop::LoopContext& loops_;
  DimContext& dims_;
  NestAxes axes_;
};

}  // namespace dyn
