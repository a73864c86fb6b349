// Rates: an amount over a time, checked against what the machine can do at most. What is beyond that is no
// measurement: the time was too short to tell, or less was done than counted.
//
//   const Rate rate = Rate::of(bytes, timeNs, bound.gigabytesPerSecond);
//   rate.perNs();  // GB/s; nothing if absent
#pragma once

#include <cmath>
#include <limits>
#include <optional>

namespace dyn {

// What no run exceeds; of machines whose bound is not known nothing is beyond it.
struct MachineBound {
  double gflops = std::numeric_limits<double>::infinity();
  double gigabytesPerSecond = std::numeric_limits<double>::infinity();
};

class Rate {
 public:
  Rate() = default;  // not measured
  static Rate of(double amount, double timeNs, double mostPerNs) {
    Rate rate;
    if (!(amount > 0) || !(timeNs >= 0) || !std::isfinite(amount)) return rate;
    rate.beyond_ = amount > mostPerNs * timeNs;
    if (!rate.beyond_ && timeNs > 0) rate.perNs_ = amount / timeNs;
    return rate;
  }
  std::optional<double> perNs() const { return perNs_; }
  bool isBeyond() const { return beyond_; }

 private:
  std::optional<double> perNs_;
  bool beyond_ = false;
};

}  // namespace dyn
