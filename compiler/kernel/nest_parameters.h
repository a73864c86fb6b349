// The parameters of a nest's kernel: what its statements read of the inputs, the outputs, and the dims of
// both; and how long it takes.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "compiler/kernel/nest_axes.h"
#include "compiler/kernel/nest_scopes.h"

namespace dyn {

// Sets `kernel.buffers`, those of `inputs` that its body reads before `outputs`, and `kernel.scalars`, of
// which the two symbols of `columns` (LoopNest) are the last. Returns the positions of those inputs.
std::vector<size_t> takeParameters(loop::Kernel& kernel, const std::vector<const loop::Buffer*>& inputs,
                                   const std::vector<const loop::Buffer*>& outputs,
                                   const std::optional<std::pair<Dim, Dim>>& columns);

// Elementary steps of a launch of so many units: nodes per element, and nodes per iteration of each
// reduction, coarsely. `innerIterations`: how often what stands in the loop in a unit is done.
Dim stepsOf(const NestAxes& axes, std::span<const NestLowering::Reduction> reductions, Dim units,
            Dim innerIterations);

}  // namespace dyn
