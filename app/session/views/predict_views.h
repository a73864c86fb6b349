// Views of what a run will take before it is run: its checks, time and peak, at one size or along a dim.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/engine/latency/latency_formula.h"
#include "app/engine/run/run_result.h"
#include "app/session/views/node_id.h"

namespace dyn {

// A test of sizes that the program makes while it runs.
struct CheckRow {
  std::string name;                    // "check0": :why explains it
  std::string text;                    // "k must equal m: matmul at node /out/MatMul"
  std::optional<int64_t> left, right;  // its two sides with these dims
  bool fails = false;
  NodeId node = kNoNode;  // the operation that demands it
};

// A dim that is outside of what the model says of it.
struct RangeFault {
  std::string symbol, text;  // "seq is at most 512: ..."
};

// What a run will take, before it is run.
struct PredictView {
  DimValues dims;
  std::vector<CheckRow> checks;  // those that fail first
  std::vector<RangeFault> outside;
  std::string refused;  // why there is no run with these dims; then no time and no peak
  int64_t timeNs = 0;
  int64_t peakBytes = 0;
  std::string whyNoPeak;  // then the time is that by runs
  // By runs that were measured at other sizes, or by the package's formula; then with the interval.
  struct ByRuns {
    int64_t ns = 0, lowNs = 0, highNs = 0;
    size_t sizesCount = 0;
    std::string outside;  // "seq = 600 is above 512, the largest measured"
    LatencySource source = LatencySource::runs;
  };
  std::optional<ByRuns> byRuns;
  KernelTable kernels;  // boundNs is the expected time
};

// Time and peak along one dim, without running.
struct SweepPoint {
  int64_t value = 0;
  std::optional<int64_t> timeNs, peakBytes;
  int band = -1;        // of SweepView::bands
  std::string refused;  // why there is no run of this size
};

struct SweepBand {  // sizes next to each other that take the same versions
  int64_t from = 0, to = 0;
  std::string versions;
};

struct SweepView {
  std::string symbol;
  DimValues others;
  std::vector<SweepPoint> points;
  std::vector<SweepBand> bands;
  std::vector<MeasuredRun> measured;  // runs so far with the same other dims
};

// A size that was measured, and what the formula says of it that all other sizes give.
struct LatencyRow {
  DimValues dims;
  int64_t runsCount = 0, measuredNs = 0, leftOutNs = 0;
};

struct RefusedSize {
  DimValues dims;
  std::string why;
};

// The time of a run as a formula of the dims, fitted to runs of one machine.
struct LatencyView {
  std::string formula;  // "0.41 ms + 12.3 us*batch*seq + 3.1 us*max(0, batch*seq - 64)"
  std::string flops;    // what it calls "flops"; "": it does not
  double spread = 1;    // runs take from 1/spread to spread times the formula
  std::string machine, device;
  int threads = 0;
  std::vector<LatencyRow> rows;
  size_t insideCount = 0;            // rows whose time is within the spread of what all others give
  std::vector<RefusedSize> refused;  // what the model does not take
  std::vector<std::string> notes;    // why the interval is wide, what the time depends on besides
  std::string file;                  // "": nothing is written
};

}  // namespace dyn
