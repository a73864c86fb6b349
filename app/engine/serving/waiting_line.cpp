#include "app/engine/serving/waiting_line.h"

#include <algorithm>

namespace dyn {

void WaitingLine::arrive(int64_t arrivalNs) {
  const Request request{arrived_++, arrivalNs};
  if (waiting_.size() < most_)
    waiting_.push_back(request);
  else
    ++rejected_;
  longest_ = std::max(longest_, static_cast<int64_t>(waiting_.size()));
}

std::vector<Request> WaitingLine::take(size_t most, const MayJoin& mayJoin) {
  std::vector<Request> taken;
  for (auto next = waiting_.begin(); next != waiting_.end() && taken.size() < most;) {
    if (taken.empty() || mayJoin(taken, *next)) {
      taken.push_back(*next);
      next = waiting_.erase(next);
    } else {
      ++next;
    }
  }
  return taken;
}

}  // namespace dyn
