#include "app/session/views/kernel_views.h"

#include <algorithm>

namespace dyn {

std::optional<double> boundFraction(const KernelRow& row) {
  constexpr double kRounding = 1.005;
  if (row.totalNs <= 0) return 0;
  const double fraction = static_cast<double>(row.boundNs) / static_cast<double>(row.totalNs);
  return fraction > kRounding ? std::nullopt : std::optional(std::min(fraction, 1.0));
}

}  // namespace dyn
