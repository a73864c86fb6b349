#include "app/engine/serving/poisson_arrivals.h"

namespace dyn {

PoissonArrivals::PoissonArrivals(double perSecond, double seconds, int64_t burst, uint64_t seed)
    : random_(seed), gap_(perSecond / static_cast<double>(burst)), burst_(burst), endSeconds_(seconds) {
  advance();
}

std::optional<int64_t> PoissonArrivals::next() const {
  if (!(nextSeconds_ < endSeconds_)) return std::nullopt;
  return static_cast<int64_t>(nextSeconds_ * 1e9);
}

void PoissonArrivals::advance() {
  if (left_-- > 0) return;
  left_ = burst_ - 1;
  nextSeconds_ += gap_(random_);
}

}  // namespace dyn
