// Views of runs that were measured: time by place, two runs side by side, and the runs that are kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/engine/run/run_record.h"
#include "app/engine/run/run_statistics.h"
#include "app/session/views/kernel_views.h"

namespace dyn {

// The time of a run by where the model says it is spent: modules by the path of the names, operations, and
// what was launched for them. The gaps between launches are a row of their own.
struct PlaceRow {
  std::string label, place;  // place: of operations and launches
  std::string kind;          // "module", "operation", "launch", "gap"
  int parent = -1;           // parents before children
  int64_t launchesCount = 0, totalNs = 0;
  BoundSum bound;  // above launches: of those launches whose bound holds
  double bytes = 0, operations = 0;
};

struct PlaceTree {
  int64_t runNs = 0;
  std::vector<PlaceRow> rows;
};

// Two runs side by side, the greatest difference first.
struct RunDifference {
  std::string place;
  std::vector<std::string> members;          // as of NodeTime
  std::optional<int64_t> firstNs, secondNs;  // medians
  std::optional<double> ratio;               // second by first
  TimeChange change = TimeChange::unknown;
};

struct RunsView {
  std::string first, second;  // what they are: "run 1: batch=1, seq=16"
  int64_t firstNumber = 0, secondNumber = 0;
  TimeStatistics firstTime, secondTime;
  TimeChange change = TimeChange::unknown;  // of the whole runs
  int64_t firstPeakBytes = 0, secondPeakBytes = 0;
  std::vector<std::string> notes;  // in which else they differ: "threads: 1 and 4"
  std::vector<RunDifference> rows;
};

// The runs that are kept, oldest first.
struct RunList {
  std::vector<RunRecord> rows;
  int64_t forgottenCount = 0;
  std::string file;  // where they were written, or ""
};

}  // namespace dyn
