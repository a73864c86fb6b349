// Views of devices: what runs where. What the simulated GPU counts is app/engine/device/launch_counts.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/engine/device/launch_counts.h"

namespace dyn {

// What runs on the GPU and what beside it, and why.
struct PlacementView {
  struct Row {
    std::vector<std::string> values;  // that it makes, and those made within its kernel
    std::string operation;            // "matmul+add+relu"
    std::string place;                // of the model
    bool onDevice = false;
    std::string reason;
    std::string rule;  // of the user, which decided; "" when none did
  };
  bool isWhole = true;               // all operations, not one that was asked for
  std::string host = "cpu", device;  // "cuda"
  std::vector<std::string> rules;
  std::vector<Row> rows;
  int64_t copiesCount = 0;  // in the program
};

}  // namespace dyn
