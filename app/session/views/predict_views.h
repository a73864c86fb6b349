// Views of what a run will take before it is run: its checks, time and peak, at one size or along a dim.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

}  // namespace dyn
