// Requests that come at times of their own, whether or not those before them are answered: an open loop, for
// measurements.
//
//   PoissonArrivals arrivals(200, 10, seed);     // 200 a second, for ten seconds
//   for (; arrivals.next(); arrivals.advance()) use(*arrivals.next());
//
// Times are nanoseconds from the start. Nothing here looks at a clock.
#pragma once

#include <cstdint>
#include <optional>
#include <random>

namespace dyn {

// The gaps between them are exponential: how many come in a second does not depend on how many have come.
class PoissonArrivals {
 public:
  PoissonArrivals(double perSecond, double seconds, uint64_t seed);
  std::optional<int64_t> next() const;  // nothing: the time is over
  void advance();

 private:
  std::mt19937_64 random_;
  std::exponential_distribution<double> gap_;
  double nextSeconds_ = 0, endSeconds_;
};

}  // namespace dyn
