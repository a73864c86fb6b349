// structuralKey: what a kernel computes, as bytes that two kernels share when one's machine code serves the
// other.
//
// Names of the kernel, its variables, buffers, functions and symbols do not matter, nor how its scalars are
// computed by whoever calls it: dims are numbered by the place of their scalar, others by their structure
// above those. So sums over [n, 8] and over [m, 8] are one kernel. Every node is written once, however often
// it is used: linear in the kernel's nodes, and never cut short as text is.
//   kernel @a(in x: f32[n], out y: f32[n]) scalars (n) ...  and  kernel @b(in p: f32[k*j], out q: f32[k*j]) scalars (k*j) ...  have one key
#pragma once

#include <string>

#include "compiler/loop/kernel.h"

namespace dyn::loop {

std::string structuralKey(const Kernel& kernel);

}  // namespace dyn::loop
