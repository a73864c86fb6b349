// The formula of the time of runs as lines of a text, in the metadata of a package: what was measured, where.
//
//   latency\t1                                  the version of the lines
//   base\t410000                                nanoseconds
//   term\t12300\t0\t64\tbatch*seq             nanoseconds a unit, from, to ("": no end), quantity
//   spread\t1.08
//   sizes\tseq\t1\t256                         of each dim: the least and the largest that was measured
//   counts\t24\t72                             sizes, runs
//   threads\t4
//   device\tcpu
//   machine\tAMD EPYC 9R14                      the processor
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/engine/latency/latency_formula.h"
#include "compiler/support/result.h"

namespace dyn {

// Where runs are measured: a formula says nothing about another place.
struct LatencyPlace {
  std::string machine;  // its processor
  std::string device;   // "cpu"
  int threads = 0;

  bool operator==(const LatencyPlace&) const = default;
  // "AMD EPYC 9R14, cpu, 4 threads"
  std::string toString() const;
};

struct PlacedLatency {
  LatencyFormula formula;
  LatencyPlace place;
  int64_t sizesCount = 0, runsCount = 0;
};

inline constexpr std::string_view kLatencyKey = "latency";  // of a package's metadata

std::string latencyLines(const PlacedLatency& latency);
// Of a text from anywhere. Errors: badPackage for a line that is wrong, of another version, or missing.
Result<PlacedLatency> readLatencyLines(std::string_view text);

}  // namespace dyn
