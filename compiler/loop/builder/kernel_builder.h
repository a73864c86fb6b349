// Builds the loop nest of a kernel from pull definitions: for each output, a function that gives its element
// at an index.
//
//   KernelDefinition d{.name = "softmax", .context = c, .inputs = {x}, .iterationSpace = {n, m}, .outputs = {{"y", Dtype::f32, {n, m}, element}}};
//   DYN_TRY(Kernel kernel, buildKernel(d, solver));
//
// Establishes (see region_emitter.h for where expressions go):
//  - adjacent axes that every access walks together, in buffers of provably equal sizes, become one axis: an
//    elementwise kernel is one linear loop over its element count, whatever its rank. Buffers are re-declared
//    with the fused axes, in the same order;
//  - axes that reductions depend on come outside of those they do not, so that no reduction is computed
//    twice;
//  - units (what threads share out) are the outer axes, as far as no reduction is repeated, and blocks of the
//    innermost axis where it may be long; the innermost loop is `vector` unless it holds reductions.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/loop/kernel.h"

namespace dyn::loop {

struct OutputDefinition {
  std::string name;
  Dtype dtype = Dtype::f32;
  Shape shape;  // of the iteration space, or provably of the same element count
  // One i64 expression per axis of `shape`, in range.
  std::function<Result<Expr>(std::span<const Expr> index)> element;
};

struct KernelDefinition {
  std::string name;
  std::string description;
  std::shared_ptr<LoopContext> context;
  std::vector<const Buffer*> inputs;  // declareBuffer(); in the order of the kernel's parameters
  std::vector<const UninterpretedFunction*> functions;
  Shape iterationSpace;
  std::vector<OutputDefinition> outputs;
};

struct KernelBuildOptions {
  int64_t blockElements = 4096;  // elements of the innermost axis per unit, where each costs little
  int64_t blockReductions = 64;  // the same where each element is a reduction
};

// An input buffer with symbolic shape, dims in the solver's canonical form.
const Buffer* declareBuffer(LoopContext& context, const DimSolver& solver, std::string name, Dtype dtype,
                            const Shape& shape, BufferRole role = BufferRole::input);

// Errors: those of the definitions; unsupportedFeature when an output's shape fits the iteration space in no
// provable way.
Result<Kernel> buildKernel(const KernelDefinition& definition, const DimSolver& solver,
                           const KernelBuildOptions& options = {});

}  // namespace dyn::loop
