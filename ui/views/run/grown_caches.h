// The caches of a decoder over its runs: how many positions each run was given, and how many it appended.
#pragma once

#include <QString>
#include <vector>

#include "app/engine/model/model_info.h"
#include "app/engine/run/run_record.h"

namespace dyn::ui {

// Caches of one shape, which grow alike.
//   past_key_0, past_value_0: f32 [batch, 12, past, 64] → present_...: [batch, 12, past + seq, 64]
struct GrownCaches {
  QString name;          // of the first and the last: "past_key_0 … past_value_11"
  int64_t count = 0;     // of caches
  std::string from, to;  // along the axis that grows: "past", "past + seq"
  struct Run {
    int64_t number = 0;
    int64_t before = 0, after = 0;            // positions
    int64_t bytesBefore = 0, bytesAfter = 0;  // of all of them
    std::string sizes;                        // "batch=1, past=16, seq=8"
  };
  std::vector<Run> runs;  // in their order; those whose sizes are known
};

// Of the runs of this model; empty without a run, or where no output continues an input by a longer axis.
std::vector<GrownCaches> grownCaches(const ModelInfo& model, const std::vector<RunRecord>& runs);

}  // namespace dyn::ui
