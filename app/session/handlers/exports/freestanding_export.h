// What exports over the freestanding runtime share: libraries without heap, and images.
#pragma once

#include <string>

#include "compiler/export/freestanding_bound.h"
#include "compiler/target/target.h"

namespace dyn {

// The file of the runtime of that kind ("dynimage") for the processor of the target.
std::string runtimeFile(const char* kind, const Target& target);
// Error unsupportedFeature where the memory has no bound.
Result<uint64_t> bytesOrUnsupported(const FreestandingBound& bound);

}  // namespace dyn
