// What was measured of contractions on this CPU: a JSON file beside the object cache, or one of the user's.
//
//   {"schema": 1, "cpu": "znver4 l2=1048576 l3=33554432", "operations": [
//     {"key": "conv f32 w=64x3x7x7 s=2x2 d=1x1 g=1", "threads": 1, "chosen": "direct", "shapes": [{"sizes": [1, 3, 300, 300], "weight": 1}],
//      "candidates": [{"version": "direct", "time_ns": 1200000}]}]}
//
// A candidate's time is the sum over the shapes of weight * time, the weights summing to 1. Records are advice: whatever stands in the file, results
// stay the same up to rounding.
#pragma once

#include <string>
#include <vector>

#include "app/session/session.h"
#include "compiler/support/result.h"

namespace dyn {

struct TunedShape {
  std::vector<int64_t> sizes;  // of the operand that is no weight
  double weight = 1;
};
struct TunedCandidate {
  std::string version;
  double timeNs = 0;
};
struct TunedOperation {
  std::string key;  // compiler/passes/contraction_versions.h
  int threads = 1;
  std::string chosen;
  std::vector<TunedShape> shapes;
  std::vector<TunedCandidate> candidates;
};
struct TuningRecords {
  std::vector<TunedOperation> operations;
  const TunedOperation* find(const std::string& key, int threads) const;
};

// The CPU that this process runs on, as records name it.
std::string tuningCpu();
// "": there is none (no cache, or tuningFile is "none").
std::string tuningFileOf(const SessionOptions& options);
int tuningThreads(const SessionOptions& options);
// No records when there is no such file. Errors: fileError, fileFormat (damaged, another schema, another CPU).
Result<TuningRecords> readTuning(const std::string& path);
// Adds one record to the file, or replaces it; whole or not at all.
Status addTuning(const std::string& path, const TunedOperation& record);

}  // namespace dyn
