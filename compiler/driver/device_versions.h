// The versions of a product on a GPU: its own forms, which the sizes of a launch choose among, and cuBLASLt.
//
//   deviceVersions(compiled, 5)   // "own (by rule), cublaslt (unavailable: there is no cuBLASLt here (...))"
//                                 // "cublaslt (by policy), own (where its rows do not lie evenly)"
#pragma once

#include <string>

#include "compiler/driver/compile.h"

namespace dyn {

// "": the kernel is no product on a device. Looks for the library.
std::string deviceVersions(const CompiledModel& compiled, size_t kernel);

}  // namespace dyn
