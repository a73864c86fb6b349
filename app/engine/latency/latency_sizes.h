// Which size to measure next, for a formula of the time: ends first, then what is far from all that is
// measured, and more where the formula errs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/engine/latency/latency_model.h"

namespace dyn {

struct SizeRange {
  std::string dim;
  int64_t low = 1, high = 1;  // multiples of `multiple`, both included
  int64_t multiple = 1;
};

class LatencySizes {
 public:
  explicit LatencySizes(const std::vector<SizeRange>& ranges);
  // Nothing when all that are looked at are done. `model`: of what is measured so far, null before the first.
  std::optional<DimValues> next(const LatencyModel* model);

  // A model may take fewer sizes than it says (an image's sides by 32s). Near one that it refused: with one
  // dim, then with all of them, as multiples of 2, 4, ... 32.
  struct Coarser {
    std::map<std::string, int64_t> multiples;
    DimValues dims;
  };
  std::vector<Coarser> coarser(const DimValues& refused) const;
  // From now on only such multiples are asked for; `measured` is one of them.
  void take(const Coarser& measured);

 private:
  std::optional<DimValues> rounded(DimValues dims, const std::map<std::string, int64_t>& multiples) const;
  double distance(const DimValues& a, const DimValues& b) const;

  std::vector<SizeRange> ranges_;
  std::vector<DimValues> candidates_;  // not asked for yet
  std::vector<DimValues> asked_;
  size_t ends_ = 0;  // that stand in front of the candidates
};

}  // namespace dyn
