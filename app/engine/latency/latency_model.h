// LatencyModel: the time of a run as a formula of its dims, fitted to runs on one machine, with the
// interval that held for sizes that the fit had not seen.
//
//   DYN_TRY(LatencyModel model, fitLatency({"batch*seq", "batch*seq*seq"}, samples));
//   model.formula()                         → "0.41 ms + 12.3 us*batch*seq + 3.1 us*max(0, batch*seq - 64)"
//   model.at({{"batch", 1}, {"seq", 128}})  → 5.1 ms, from 4.8 ms to 5.5 ms
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/engine/model/model_info.h"
#include "app/engine/run/run_statistics.h"
#include "compiler/support/result.h"

namespace dyn {

// Runs with the same dims. Of several measurements the shorter one counts: what comes between makes times
// longer.
struct LatencySample {
  DimValues dims;
  TimeStatistics time;
};

// So many nanoseconds for each unit of a quantity between two of its values. Never negative, as a larger
// run is taken to be no faster.
struct LatencyTerm {
  std::string quantity;      // a formula over dims: "batch*seq"
  double from = 0;           // counted above this value
  std::optional<double> to;  // and below this one
  double ns = 0;
};

struct Latency {
  double ns = 0, lowNs = 0, highNs = 0;
  std::string outside;  // "seq = 600 is above 512, the largest measured": then the interval is a guess
};

struct LatencyModel {
  double baseNs = 0;
  std::vector<LatencyTerm> terms;
  std::string flops;  // the quantity that formula() calls "flops", as it is too long to be read; "": none
  // Runs take from 1/spread to spread times the formula: what held for nearly all sizes when each was left
  // out of the fit and asked for.
  double spread = 1;
  std::vector<LatencySample> samples;  // one for each size, in order of their times
  std::vector<double> leftOut;         // what the formula of all others gives for each, in nanoseconds

  // Nothing where a dim has no value.
  std::optional<Latency> at(const DimValues& dims) const;
  std::string formula() const;
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
