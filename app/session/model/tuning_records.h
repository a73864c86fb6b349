// What was measured of contractions on this CPU: a JSON file beside the object cache, or one of the user's.
//
//   {"schema": 1, "cpu": "znver4 l2=1048576 l3=33554432", "operations": [
//     {"key": "conv f32 w=64x3x7x7 s=2x2 d=1x1 g=1", "threads": 1, "chosen": "direct", "shapes": [{"sizes": [1, 3, 300, 300], "weight": 1}],
//      "candidates": [{"version": "auto", "times_ns": [1400000]}, {"version": "direct", "times_ns": [1200000]}]}]}
//
// Each candidate was measured at each shape, or its time is expected from where it was: then the candidate has "expected", a true for each such shape. Weights sum to 1; shapes of earlier tunings that are not likely any more stay, with weight 0. Records are
// advice: whatever stands in the file, results stay the same up to rounding.
#pragma once

#include <string>
#include <vector>

#include "app/session/session.h"
#include "compiler/support/result.h"

namespace dyn {

struct TunedShape {
  std::vector<int64_t> sizes;  // of the operand that is no weight
  double weight = 1;
  bool operator==(const TunedShape&) const = default;
};
struct TunedCandidate {
  std::string version;
  std::vector<double> timesNs;  // one for each shape
  std::vector<bool> expected;   // not measured there, but expected from other shapes; empty: all are measured
  bool isMeasured(size_t shape) const { return expected.empty() || !expected[shape]; }
  bool operator==(const TunedCandidate&) const = default;
};
struct TunedOperation {
  std::string key;  // compiler/passes/contraction_versions.h
  int threads = 1;
  std::string chosen;
  std::vector<TunedShape> shapes;
  std::vector<TunedCandidate> candidates;  // "auto" first

  bool operator==(const TunedOperation&) const = default;
  double weightedNs(const TunedCandidate& candidate) const;
  const TunedShape* shapeOf(const std::vector<int64_t>& sizes) const;  // null: not measured
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
