#include "app/session/views/kernel_views.h"

#include <algorithm>

namespace dyn {

BoundShare boundShare(int64_t boundNs, int64_t totalNs) {
  constexpr double kRounding = 1.005;  // it still reads as 100 %
  if (boundNs <= 0 || totalNs <= 0) return {};
  const double share = static_cast<double>(boundNs) / static_cast<double>(totalNs);
  if (share > kRounding) return {.isBeyond = true};
  return {.value = std::min(share, 1.0)};
}

void BoundSum::add(int64_t bound, int64_t total) {
  const BoundShare one = boundShare(bound, total);
  beyondCount += one.isBeyond;
  if (!one.value) return;
  boundNs += bound;
  boundedNs += total;
}

void BoundSum::add(const BoundSum& other) {
  boundNs += other.boundNs;
  boundedNs += other.boundedNs;
  beyondCount += other.beyondCount;
}

BoundShare BoundSum::share() const {
  BoundShare share = boundShare(boundNs, boundedNs);
  share.isBeyond = !share.value && beyondCount > 0;
  return share;
}

}  // namespace dyn
