#include "app/engine/serving/joining_costs.h"

#include <algorithm>

namespace dyn {

namespace {

constexpr int64_t kEnough = 3;           // runs of a kind before they decide
constexpr int64_t kAlonePerTrial = 64;   // requests alone for each one that is joined to try
constexpr int64_t kJoinedPerTrial = 64;  // requests joined before one runs alone to try
constexpr int64_t kAlonePerTime = 8;     // of many runs alone, one is remembered: they are short
constexpr double kGain = 0.95;  // joined runs take less than this share of the time, or are not worth it

}  // namespace

void JoiningCosts::Times::add(double ns) {
  nsPerPosition[static_cast<size_t>(count++) % nsPerPosition.size()] = ns;
}

double JoiningCosts::Times::median() const {
  std::array<double, 9> sorted = nsPerPosition;
  const auto end = sorted.begin() + std::min<int64_t>(count, static_cast<int64_t>(sorted.size()));
  const auto middle = sorted.begin() + (end - sorted.begin()) / 2;
  std::nth_element(sorted.begin(), middle, end);
  return *middle;
}

size_t JoiningCosts::classOf(size_t waiting) {
  size_t size = 0;
  while (size + 1 < kClasses && (size_t{2} << size) < waiting) ++size;
  return size;
}

bool JoiningCosts::join(size_t waiting) {
  if (waiting < 2) return false;
  if (alone_.count < kEnough) return false;
  const Times& joined = joined_[classOf(waiting)];
  if (joined.count < kEnough) return true;
  if (joined.median() <= kGain * alone_.median()) return joinedSinceTrial_ < kJoinedPerTrial;
  return aloneSinceTrial_ >= kAlonePerTrial * static_cast<int64_t>(waiting);
}

void JoiningCosts::ranAlone(int64_t positions, int64_t ns) {
  const bool isTrial = joinedSinceTrial_ > 0;
  if (isTrial || alone_.count < kEnough || aloneSinceTrial_ % kAlonePerTime == 0)
    alone_.add(static_cast<double>(ns) / static_cast<double>(std::max<int64_t>(positions, 1)));
  ++aloneSinceTrial_;
  joinedSinceTrial_ = 0;
}

void JoiningCosts::ranJoined(size_t waiting, int64_t requests, int64_t positions, int64_t ns) {
  latestJoined_ = static_cast<double>(ns) / static_cast<double>(std::max<int64_t>(positions, 1));
  joined_[classOf(waiting)].add(latestJoined_);
  joinedSinceTrial_ += requests;
  aloneSinceTrial_ = 0;
}

}  // namespace dyn
