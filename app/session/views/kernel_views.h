// Views of kernels beside KernelTable (app/engine/run/run_result.h): how near a kernel is to its bound, and
// what tuning measured.
#pragma once

#include <optional>
#include <string>

#include "app/engine/run/run_result.h"
#include "compiler/tune/tune_report.h"

namespace dyn {

// The least time that the machine's limits allow, over the time that it took. Nothing does better than its
// bound: where the times say so, the bound does not hold (its data was in a nearer cache than the bound
// assumes), and there is no figure.
struct BoundShare {
  std::optional<double> value;  // at most 1; null: no bound or no time is known, or the bound does not hold
  bool isBeyond = false;        // it took less than its bound
};
BoundShare boundShare(int64_t boundNs, int64_t totalNs);

// The same of several: of those alone whose bound holds.
struct BoundSum {
  int64_t boundNs = 0, boundedNs = 0;  // their bounds, and the time they took
  int64_t beyondCount = 0;             // those left out, as they took less than their bound
  void add(int64_t boundNs, int64_t totalNs);
  void add(const BoundSum& other);
  BoundShare share() const;
};

struct TuneView : TuneReport {
  std::string file, cpu;
};

}  // namespace dyn
