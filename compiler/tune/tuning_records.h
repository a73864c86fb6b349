// What was measured of contractions on this CPU.
//
// Each candidate was measured at each shape, or its time is expected from where it was. Weights sum to 1;
// shapes of earlier tunings that are not likely any more stay, with weight 0. Records are advice: whatever
// they say, results stay the same up to rounding.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ops/contraction/contraction_version.h"

namespace dyn {

struct TunedShape {
  std::vector<int64_t> sizes;  // of the operand that is no weight
  double weight = 1;
  bool operator==(const TunedShape&) const = default;
};
struct TunedCandidate {
  contraction::Version version;
  std::vector<double> timesNs;  // one for each shape
  std::vector<bool> expected;   // not measured there, but expected from other shapes; empty: all are measured
  bool isMeasured(size_t shape) const { return expected.empty() || !expected[shape]; }
  bool operator==(const TunedCandidate&) const = default;
};
struct TunedOperation {
  std::string key;  // compiler/passes/layout/contraction_versions.h
  int threads = 1;
  contraction::Version chosen;
  std::vector<TunedShape> shapes;
  std::vector<TunedCandidate> candidates;  // Automatic first

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

}  // namespace dyn
