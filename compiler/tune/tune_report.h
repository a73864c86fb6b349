// What a tuning did, operation by operation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ops/contraction/contraction_version.h"

namespace dyn {

struct VersionTimes {
  contraction::Version version;
  std::optional<double> predictedNs, measuredNs;
};

struct TuneRow {
  std::string key, state;
  contraction::Version chosen;
  int64_t sitesCount = 0, shapesCount = 0;
  std::optional<double> chosenNs;  // times: weighted means over the likely shapes
  std::vector<VersionTimes> candidates;
};

struct TuneReport {
  int threads = 1;
  std::vector<TuneRow> rows;
  int64_t measuredCount = 0, keptCount = 0, leftCount = 0, skippedCount = 0;
  int64_t trialsCount = 0;  // measurements made: of one version at one shape each
};

}  // namespace dyn
