// Loop nests from definitions: what each element of an output is, to statements that compute all of them.
//
//   y[i, j] = exp(x[i, j] - max(k) x[i, k]) / sum(k) exp(x[i, k] - max(l) x[i, l])
// becomes
//   units i { accumulate m = max over k vector; accumulate s = sum over k vector; for j vector { y[i, j] = exp(x[i, j] - m) / s } }
//
// - The outer axes are the units, the innermost is a vector loop. A kernel whose every access has the
//   element's own index runs over the elements as one axis, in blocks.
// - A reduction stands in the outermost loop that has all the variables it needs: row-wise softmax and
//   layernorm are one kernel with both dims dynamic. Where a reduction runs along memory inside the innermost
//   axis, that axis belongs to the units too and the reduction is the vector loop.
// - Where reductions go across memory, their lanes stand side by side: the last axis that reductions depend
//   on is the vector loop, in blocks, axes they do not depend on are plain loops inside, and each reduction
//   is done once for all of these:
//     y[i, j] = exp(x[i, j] - max(k) x[k, j])   becomes   units of 64 j { for j vector { accumulate m over k; for i { y[i, j] = exp(x[i, j] - m) } } }
//   Short rows may be done that way too (NestSchedule::rowsInLanes): each lane has a row of its own.
// - Loads that do not change in the inner loop are read before it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "compiler/dims/dim_solver.h"
#include "compiler/loop/kernel.h"

namespace dyn {

struct OutputDefinition {
  std::string name;
  Dtype dtype = Dtype::f32;
  loop::Expr element;  // over the nest's index variables
};

enum class NestSchedule : uint8_t {
  automatic,          // as above
  rowsInLanes,        // the rows of reductions along memory stand side by side
  reductionsInLanes,  // every element is a unit, its reductions are vector loops
  unitInnermost,      // as automatic, for an innermost axis of one element, which is left out
  shortAxisInLanes,   // as automatic, where reductions go across memory: lanes go on from row to row
};

struct LoopNest {
  std::string name, description;
  std::shared_ptr<loop::LoopContext> context;
  std::vector<const loop::Buffer*> inputs;  // candidates; those that nothing reads are left out of the kernel
  Shape space;                              // iteration space: the outputs' shape
  std::vector<loop::Expr> index;            // one variable per axis of `space`
  std::vector<OutputDefinition> outputs;
  // Only these columns of the innermost axis, [first, second): two symbols that become the kernel's last
  // scalars, in this order. The units are then the rows, all outer axes as one: what a matrix product wants
  // of its epilogue.
  std::optional<std::pair<Dim, Dim>> columns;
  NestSchedule schedule = NestSchedule::automatic;
  bool onDevice = false;  // whose threads make elements each by itself: little that they share is kept
};

struct NestKernel {
  loop::Kernel kernel;
  std::vector<size_t> usedInputs;  // positions in LoopNest::inputs, in the order of the kernel's buffers
  // How long the rows are that reductions go along, where rows could stand in lanes instead; null where they
  // could not.
  Dim rowLength;
  // The size of the innermost axis where it is walked across memory and may have one element, which fills no
  // vector; null elsewhere.
  Dim innermostAcross;
  // The size of the axis whose lanes stand side by side where reductions go across memory, if there is one
  // axis outside of it that they depend on too: few elements fill no vector. Null elsewhere.
  Dim laneAxis;
};

Result<NestKernel> buildLoopNest(const LoopNest& nest, const DimSolver& facts);

}  // namespace dyn
