// The most memory that any run of a model takes, where each of its dims has a bound.
#pragma once

#include <optional>
#include <string>

#include "app/engine/run/runner.h"

namespace dyn {

struct RamBound {
  std::optional<int64_t> bytes;
  std::string why;  // there is none: "dim seq has no bound"
};

// Proved by trying: every combination of sizes that the model allows is run dry with blocks laid out as in
// memory of a caller (dyn_options.lay_out). Without a bound where a dim has none, where there are too many
// combinations, or where memory depends on values. Error cancelled.
Result<RamBound> ramBound(dyn_module* module, const Signature& signature, const Interruption& interruption);

}  // namespace dyn
