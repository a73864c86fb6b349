// Requests that come at times of their own, whether or not those before them are answered: an open loop, for
// measurements.
//
//   PoissonArrivals arrivals(200, 10, 1, seed);  // 200 a second, for ten seconds, one by one
//   for (; arrivals.next(); arrivals.advance()) use(*arrivals.next());
//
// Times are nanoseconds from the start. Nothing here looks at a clock.
#pragma once

#include <cstdint>
#include <optional>
#include <random>

namespace dyn {

// The gaps between bursts of `burst` requests are exponential: how many come in a second does not depend on
// how many have come.
class PoissonArrivals {
 public:
  PoissonArrivals(double perSecond, double seconds, int64_t burst, uint64_t seed);
  std::optional<int64_t> next() const;  // nothing: the time is over
  void advance();

 private:
  std::mt19937_64 random_;
  std::exponential_distribution<double> gap_;
  int64_t burst_, left_ = 0;  // of the burst that arrives now
  double nextSeconds_ = 0, endSeconds_;
};

}  // namespace dyn
