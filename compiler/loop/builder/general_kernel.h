// GeneralKernel: a kernel with its sizes left open, so that the layers of a model that differ in the number
// of channels alone have one code.
//
//   kernel @relu(in x: f32[floordiv(h, 2), 96], out y: ...)     and one of floordiv(h, 4) and 144 are both
//   kernel @relu(in x: f32[scalar.1, 16*size.0], out y: ...)    with size.0 = 6, and 9
//
// Open are the extents of loops from 16 on, other sizes of buffers from 4 on, what the number of a unit with
// loops in it is taken apart by, the size that a mean is divided by, what is added to an index from 16 on,
// where the rows of a fused Concat begin, and what a scalar of the launch is made of; divisors in other
// indices are not, nor are tables of 256 bytes, which registers may hold. A loop over a multiple of 16 (8, 4,
// 2) stays one, as code for whole vectors asks for it.
// Scalars stand in the order of their use, those without use are left out, so that it does not matter what
// the sizes of a program are called.
// What it computes is the same to the bit: the original is the general kernel at its sizes.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "compiler/loop/kernel.h"

namespace dyn::loop {

struct GivenScalar {
  size_t place = 0;      // among the original's
  int64_t multiple = 1;  // it is divided by, which leaves no rest
  bool operator==(const GivenScalar&) const = default;
};

struct GeneralKernel {
  std::shared_ptr<DimContext> dims;  // of `kernel`
  Kernel kernel;
  std::vector<GivenScalar> given;  // its first scalars, made of the original's
  std::vector<int64_t> sizes;      // its last scalars, which launches do not give
};

// Null where the kernel calls functions. Where nothing is left open it is the original, with its scalars in
// the order of their use. Linear in the kernel's nodes.
std::optional<GeneralKernel> generalOf(const Kernel& kernel);

}  // namespace dyn::loop
