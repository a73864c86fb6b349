// Which versions a product is made with, from what was measured at likely shapes: at most so many, each for a
// range of rows, such that together they take the least weighted time. A version more must be worth its
// while.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ops/contraction/contraction_version.h"

namespace dyn {

struct MeasuredVersion {
  contraction::Version version;  // Automatic, a schedule, or a way
  std::vector<double> timesNs;   // one for each shape
};

// Of the time without: below it another version, or one more, is taken.
inline constexpr double kWorthIt = 0.97;

struct VersionCover {
  contraction::Version version;
  double timeNs = 0;      // weighted sum, with these versions
  int versionsCount = 1;  // ranges
};

// `rows` and `weights`: one for each shape, in any order, at least one; `versions`: Automatic first, which is
// taken where nothing else is clearly better.
VersionCover coverVersions(const std::vector<MeasuredVersion>& versions, const std::vector<int64_t>& rows,
                           const std::vector<double>& weights, int mostVersions);

}  // namespace dyn
