// The most memory that any run takes in the freestanding runtime.
//
// Proved by trying: every combination of sizes that the model allows is run dry by the runtime itself, on
// the host program's native code; where a branch or the end of a loop depends on values both ways are gone,
// and of a size that depends on values every number that it can be is tried. Without a bound where a size has
// none, where there are too many sizes or ways, or where a value itself is a size.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "compiler/export/freestanding_program.h"

namespace dyn {

struct FreestandingBound {
  std::optional<uint64_t> bytes;
  std::string why;  // there is none: "dim seq has no bound"
};

// At these sizes alone, in the order of vm::callSizes.
Result<FreestandingBound> freestandingBoundAt(const FreestandingLoaded& loaded,
                                              const std::vector<int64_t>& sizes);
Result<FreestandingBound> freestandingBound(const FreestandingLoaded& loaded,
                                            const std::atomic<bool>* cancelled = nullptr);

}  // namespace dyn
