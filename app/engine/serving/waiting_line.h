// Requests to a model that come at times of their own, whether or not those before them are answered (an open
// loop), and wait in a line of limited length.
//
//   WaitingLine line(PoissonArrivals(200, 10, seed), 1000);   // 200 a second, for ten seconds
//   line.admitUntil(now);                                     // those who found the line full are rejected
//   std::vector<Request> together = line.take(8, mayJoin);    // the first, and of the others who fit to it
//
// Times are nanoseconds from the start. Nothing here looks at a clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <vector>

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

struct Request {
  int64_t number = 0;  // 0, 1, ... as they came, the rejected ones too
  int64_t arrivalNs = 0;
};

class WaitingLine {
 public:
  WaitingLine(PoissonArrivals arrivals, size_t mostWaiting) : arrivals_(arrivals), most_(mostWaiting) {}

  void admitUntil(int64_t nowNs);
  std::optional<int64_t> nextArrivalNs() const { return arrivals_.next(); }
  bool empty() const { return waiting_.empty(); }
  // The first, and at most `most` - 1 behind it who may join those taken so far. The others keep their
  // places.
  using MayJoin = std::function<bool(const std::vector<Request>& taken, const Request& next)>;
  std::vector<Request> take(size_t most, const MayJoin& mayJoin);

  int64_t arrivedCount() const { return arrived_; }
  int64_t rejectedCount() const { return rejected_; }
  int64_t longestCount() const { return longest_; }

 private:
  PoissonArrivals arrivals_;
  size_t most_;
  std::deque<Request> waiting_;
  int64_t arrived_ = 0, rejected_ = 0, longest_ = 0;
};

}  // namespace dyn
