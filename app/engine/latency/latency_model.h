// LatencyModel: the time of a run as a formula of its dims, fitted to runs on one machine, with the
// interval that held for sizes that the fit had not seen.
//
//   DYN_TRY(LatencyModel model, fitLatency({"batch*seq", "batch*seq*seq"}, samples));
//   model.formula()                         → "0.41 ms + 12.3 us*batch*seq + 3.1 us*max(0, batch*seq - 64)"
//   model.at({{"batch", 1}, {"seq", 128}})  → 5.1 ms, from 4.8 ms to 5.5 ms
#pragma once

#include <string>
#include <vector>

#include "app/engine/latency/latency_formula.h"
#include "app/engine/run/run_statistics.h"
#include "compiler/support/result.h"

namespace dyn {

// Runs with the same dims. Of several measurements the shorter one counts: what comes between makes times
// longer.
struct LatencySample {
  DimValues dims;
  TimeStatistics time;
};

// A formula with the runs that it was fitted to.
struct LatencyModel : LatencyFormula {
  std::vector<LatencySample> samples;  // one for each size, in order of their times
  std::vector<double> leftOut;         // what the formula of all others gives for each, in nanoseconds

  // How many sizes, left out, were inside of the interval.
  size_t insideCount() const;
};

// The quantities a model's time may depend on, most general first: its dims, their products, the parts of its
// arithmetic (`flops`, a formula; "" is unknown).
std::vector<std::string> latencyQuantities(const std::vector<std::string>& dims, const std::string& flops);

constexpr size_t kLeastLatencySizes = 6;
// Errors: usageError with fewer than kLeastLatencySizes different sizes.
Result<LatencyModel> fitLatency(const std::vector<std::string>& quantities,
                                const std::vector<LatencySample>& samples);

}  // namespace dyn
