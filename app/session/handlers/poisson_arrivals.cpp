#include "app/session/handlers/poisson_arrivals.h"

namespace dyn {

PoissonArrivals::PoissonArrivals(double perSecond, double seconds, uint64_t seed)
    : random_(seed), gap_(perSecond), endSeconds_(seconds) {
  advance();
}

std::optional<int64_t> PoissonArrivals::next() const {
  if (!(nextSeconds_ < endSeconds_)) return std::nullopt;
  return static_cast<int64_t>(nextSeconds_ * 1e9);
}

void PoissonArrivals::advance() { nextSeconds_ += gap_(random_); }

}  // namespace dyn
