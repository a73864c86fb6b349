// What an exported executable says of its model: inputs, outputs, what is known of the dims, memory.
#pragma once

#include <nlohmann/json.hpp>

#include "app/engine/run/runner.h"

namespace dyn {

struct Description {
  nlohmann::ordered_json fields;
  std::string text;
};

// `dims`: the sizes of a call, for the memory it would take; none are needed. Errors: as of such a call.
Result<Description> describe(dyn_module* module, const Signature& signature,
                             const std::vector<std::string>& dims, const EngineOptions& options,
                             Interruption& interruption);

}  // namespace dyn
