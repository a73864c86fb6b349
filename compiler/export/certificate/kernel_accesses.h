// What a kernel accesses, written for a certificate: its loops, guards and index expressions, over its
// scalars (vm/certificate/accesses.h is the reader).
#pragma once

#include <string>

#include "compiler/loop/kernel.h"

namespace dyn {

// `1` and the statement, or `0` for a kernel whose guards are too many to be told apart.
std::string writeAccesses(const loop::Kernel& kernel);

}  // namespace dyn
