// The LLVM IR of a kernel that is given as text, for a processor.
#pragma once

#include <string>

namespace dyn::test {

// `machine`: a preset, such as "x86-64-v3". A text that is no kernel fails the test.
std::string kernelIr(const std::string& machine, const std::string& kernel);

}  // namespace dyn::test
