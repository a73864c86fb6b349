#include "app/engine/serving/waiting_line.h"

#include <algorithm>

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

void WaitingLine::admitUntil(int64_t nowNs) {
  for (std::optional<int64_t> arrival; (arrival = arrivals_.next()) && *arrival <= nowNs;
       arrivals_.advance()) {
    const Request request{arrived_++, *arrival};
    if (waiting_.size() < most_)
      waiting_.push_back(request);
    else
      ++rejected_;
    longest_ = std::max(longest_, static_cast<int64_t>(waiting_.size()));
  }
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
