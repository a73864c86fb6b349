// Where the pass `devices` puts what a module computes, and why. What users want elsewhere: place_rules.h.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/support/result.h"
#include "compiler/target/target.h"

namespace dyn {

// An operation as it was placed.
struct PlacedOperation {
  std::vector<std::string> values;  // that it makes, and those made within its kernel
  std::string operation;            // "matmul+add+relu"
  std::string place;                // of the user's model
  std::vector<std::string> nodes;   // of the model that it comes from
  bool onDevice = false;
  std::string reason;
  std::string rule;  // of the user, which decided; "" when none did
};

// What the pass says of each operation of `before`, the module it is given, bodies included.
Result<std::vector<PlacedOperation>> explainPlacement(const Module& before, const Target& target,
                                                      const std::vector<std::string>& places);

}  // namespace dyn
