// Requests to a model that wait in a line of limited length, whoever sends them.
//
//   WaitingLine line(1000);
//   line.arrive(now);                                         // rejected where the line is full
//   std::vector<Request> together = line.take(8, mayJoin);    // the first, and of the others who fit to it
//
// Times are nanoseconds from the start. Nothing here looks at a clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

namespace dyn {

struct Request {
  int64_t number = 0;  // 0, 1, ... as they came, the rejected ones too
  int64_t arrivalNs = 0;
};

class WaitingLine {
 public:
  explicit WaitingLine(size_t mostWaiting) : most_(mostWaiting) {}

  void arrive(int64_t arrivalNs);
  bool empty() const { return waiting_.empty(); }
  // The first, and at most `most` - 1 behind it who may join those taken so far. The others keep their
  // places.
  using MayJoin = std::function<bool(const std::vector<Request>& taken, const Request& next)>;
  std::vector<Request> take(size_t most, const MayJoin& mayJoin);

  int64_t arrivedCount() const { return arrived_; }
  int64_t rejectedCount() const { return rejected_; }
  int64_t longestCount() const { return longest_; }

 private:
  size_t most_;
  std::deque<Request> waiting_;
  int64_t arrived_ = 0, rejected_ = 0, longest_ = 0;
};

}  // namespace dyn
