// structuralKey: what a kernel computes, as bytes that two kernels share when one's machine code serves the
// other.
//
// Names of the kernel, its variables, buffers, functions and symbols do not matter: symbols are known by the
// order in which the scalars name them, other dims by what they are made of. So sums over [n, 8] and over
// [m, 8] are one kernel; those over [2*n, 8] and [3*n, 8] are two, since generated code may rely on the form
// of a dim. Every node is written once, however often it is used: linear in the kernel's nodes, and never cut
// short as text is.
#pragma once

#include <optional>
#include <string>

#include "compiler/loop/kernel.h"

namespace dyn::loop {

// For kernels of one program.
std::string structuralKey(const Kernel& kernel);
// For kernels of any program and process: the same bytes. Null where dims are made of so many parts that
// structuralKey tells them by their number in this program; such kernels are one only if their dims are.
std::optional<std::string> lastingKey(const Kernel& kernel);
// Of a general kernel (builder/general_kernel.h), of whose scalars the first `givenCount` are given: one of
// open sizes reads as a scalar what one of known sizes reads as its own size.
std::string generalKeyOf(const std::string& lastingKey, size_t givenCount);

}  // namespace dyn::loop
