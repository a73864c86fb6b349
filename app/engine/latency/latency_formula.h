// LatencyFormula: the time of a run as a formula of its dims, with an interval. latency_model.h makes one of
// runs, latency_lines.h reads the one that a package has.
//
//   formula.formula()                         → "0.41 ms + 12.3 us*batch*seq + 3.1 us*max(0, batch*seq - 64)"
//   formula.at({{"batch", 1}, {"seq", 128}})  → 5.1 ms, from 4.8 ms to 5.5 ms
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/engine/model/model_info.h"

namespace dyn {

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

// What a formula is by: runs of a file or of a session, or those that a package names.
enum class LatencySource : uint8_t { runs, package };
inline const char* toString(LatencySource source) {
  return source == LatencySource::package ? "package" : "runs";
}

struct LatencyFormula {
  double baseNs = 0;
  std::vector<LatencyTerm> terms;
  // Runs take from 1/spread to spread times the formula: what held for nearly all sizes when each was left
  // out of the fit and asked for.
  double spread = 1;
  struct Sizes {
    int64_t least = 0, most = 0;
  };
  std::map<std::string, Sizes> measured;  // of each dim

  // Nothing where a dim has no value. Any thread.
  std::optional<Latency> at(const DimValues& dims) const;
  // Of these dims the first that was not measured at such a size, as a sentence; "": none.
  std::string outside(const DimValues& dims) const;
  std::string formula() const;
  // The quantity that formula() calls "flops", as it is too long to be read; "": none.
  std::string flops() const;
};

}  // namespace dyn
