// Views of measurements: times by shape, and requests that are served.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/engine/model/model_info.h"
#include "app/engine/run/run_statistics.h"

namespace dyn {

struct BenchRow {
  DimValues dims;
  int64_t runsCount = 0;
  int64_t minNs = 0, p50Ns = 0, p90Ns = 0, p99Ns = 0, meanNs = 0;
  std::optional<double> gflops, gigabytesPerSecond;
  std::optional<int64_t> spreadNs;
  int64_t peakBytes = 0;
  std::optional<TimeStatistics> baseline;  // of the same sizes, where a baseline has them
  TimeChange change = TimeChange::unknown;
};

struct BenchResult {
  std::vector<BenchRow> rows;
  BenchRow overall;
  std::string file;                        // where the runs were written, or ""
  std::string baselineFile;                // "": they were compared with none
  std::vector<std::string> baselineNotes;  // in which else than time they differ from it
  int64_t loadNs = 0, compileNs = 0, kernelsCompiledCount = 0;
};

// Requests that came at times of their own, and how long each waited for its answer.
// Of requests at one mean rate.
struct LoadPoint {
  double perSecond = 0, throughputPerSecond = 0;
  int64_t p50Ns = 0, p99Ns = 0;  // 0: none was answered
  int64_t rejectedCount = 0;
};

struct ServeResult {
  double perSecond = 0, seconds = 0;  // as asked for
  bool batching = false;
  std::string batch, sequence, lengths;  // joined along; of different lengths, as this input says; or ""
  std::string comparedText;              // "8 requests at once, as each alone", where they were compared
  int64_t requestsCount = 0, completedCount = 0, rejectedCount = 0, runsCount = 0, longestLineCount = 0;
  int64_t p50Ns = 0, p90Ns = 0, p99Ns = 0, meanNs = 0;  // from its arrival to its answer
  int64_t runP50Ns = 0;                                 // of a run, with putting together and taking apart
  double throughputPerSecond = 0, busyShare = 0;
  int64_t deadlineNs = 0;                         // from its arrival on, of each request; 0: they have none
  int64_t lateCount = 0;                          // of those completed
  int64_t expiredCount = 0, infeasibleCount = 0;  // did not start in time; refused when they arrived
  std::string admissionText;  // what refuses them; "" where none is refused by its deadline
  int64_t loadNs = 0, compileNs = 0, kernelsCompiledCount = 0;
  std::string plotFile;                 // "" when none was written; the rest is of it
  std::vector<LoadPoint> loads, alone;  // by rising rate; the same one by one, where requests are joined

  int64_t inTimeCount() const { return completedCount - lateCount; }
};

}  // namespace dyn
