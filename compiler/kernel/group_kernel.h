// A group of operations (the body of `fused` or `into`) as one kernel: the operators' definitions, composed.
#pragma once

#include <functional>
#include <optional>

#include "compiler/ir/op_def.h"
#include "compiler/kernel/loop_nest.h"
#include "compiler/kernel/versions.h"

namespace dyn {

struct GroupKernelRequest {
  const Function* body = nullptr;  // operations in order; its results are the kernel's outputs
  std::vector<size_t> results;     // which of them, all of one shape; empty: all
  std::span<const ValueId>
      given;  // values of the body that are read from memory although the body computes them (a matmul's)
  const DimSolver* facts = nullptr;
  std::string name, description;
  std::optional<std::pair<Dim, Dim>> columns;  // LoopNest::columns
  bool onDevice = false;                       // LoopNest::onDevice
  // Contents of a parameter when known (shapes, axes): those need no memory.
  std::function<std::optional<Contents>(ValueId)> contents;
};

// What a check of a kernel demands, and where: faults of the kernel have its number (dyn_kernel.h).
struct KernelCheck {
  std::string place, noun, bound;
  bool operator==(const KernelCheck&) const = default;
};

// A long reduction in two launches: into parts, which are memory of their own, and from them.
struct SplitKernels {
  loop::Kernel parts, whole;
  std::vector<ValueId> partsInputs, wholeInputs;  // kNoValue: the parts
  std::vector<VersionGuard> guards;
  Shape partsShape;
  Dtype partsDtype = Dtype::f32;
};

struct GroupKernel {
  loop::Kernel kernel;
  std::vector<ValueId> inputs;      // parameters (or given values) in the order of the kernel's input buffers
  std::vector<KernelCheck> checks;  // by their number, from 1
  std::optional<RowsInLanes> rowsInLanes;      // where it has rows
  std::optional<UnitInnermost> unitInnermost;  // where its innermost axis may have one element
  std::optional<ShortLanes> shortLanes;        // where an axis beside reductions may be short
  std::optional<SplitKernels> split;           // where it is one reduction that may be long
};

// Errors: unsupportedOp when an operation has no definition in loops.
Result<GroupKernel> buildGroupKernel(const GroupKernelRequest& request, DimContext& dims);

}  // namespace dyn
