// Facts about a run, as plain values: outputs, times, memory, and of a profiled one its kernels and events.
// Sizes and times carry their unit in the name.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/engine/device/launch_counts.h"
#include "app/engine/model/model_info.h"
#include "app/engine/run/level_loops.h"
#include "app/engine/run/run_record.h"
#include "compiler/reference/value.h"
#include "compiler/tune/tune_report.h"

namespace dyn {

struct KernelRow {
  int index = -1;    // of the program's kernels; -1 for hand-written kernels of the runtime
  std::string kind;  // "kernel", "builtin", "copy", "allocation", ...
  std::string name, symbol, description;
  int64_t buffersCount = 0, scalarsCount = 0;
  int64_t launchesCount = 0;  // in the profiled run; 0 without
  int64_t totalNs = 0, minNs = 0, maxNs = 0, bytes = 0;
  double share = 0;   // of the time of all rows
  std::string place;  // first place it was launched at
  std::string site;   // of a contraction: the only place it was launched at; else empty
  // Of an explained or predicted run, over all launches:
  double movedBytes = 0, operations = 0, calls = 0;  // elements read and written; arithmetic; exp and such
  int64_t boundNs =
      0;              // the least time the machine's limits allow; of a prediction the time that is expected
  std::string bound;  // what decides it: "memory", "compute", "overhead"
  std::string dims;   // of the launch that takes longest
};

// A contraction with constant weights: the version it is made with, and those it could be made with.
struct ContractionRow {
  std::string key;                     // of its records
  std::vector<std::string> values;     // the results that are made this way
  contraction::Version dispatch;       // what the program names
  contraction::Version chosen;         // at these sizes
  std::string by;                      // "rule", "cost", "policy" or "measured"
  std::vector<int64_t> sizes;          // of the operand that is no weight; empty where they are not known
  std::vector<int64_t> measuredSizes;  // those measured that are nearest to it; empty: none
  std::vector<VersionTimes> candidates;
};

// A copy that the program makes only because who reads it takes no strides.
struct CopyRow {
  struct Refusal {
    std::string by, why;
  };
  std::string value, function, place;
  std::string bytes;                 // expression, each time the function runs
  std::optional<int64_t> sizeBytes;  // for the given dims
  std::vector<Refusal> refusals;
};

struct KernelTable {
  bool profiled = false;
  bool explained = false;
  std::string limits;  // the machine's, in one line, when explained
  // The roof, when explained: products, and two slopes: of data that lies in memory, and in the last cache.
  double mostGflops = 0, memoryGigabytesPerSecond = 0, cacheGigabytesPerSecond = 0;
  std::vector<KernelRow> rows;
  std::vector<ContractionRow> contractions;
  std::vector<CopyRow> copies;
};

// What was launched at one place.
struct NodeTime {
  std::string place;
  std::vector<std::string>
      members;  // places of all operations that its kernels compute, where there are several
  int64_t totalNs = 0;
};

// A profiled run while it goes on.
struct LiveRun {
  int64_t runsDone = 0, runsCount = 1;  // 0: until the times agree
  bool isWarmup = false;                // what it takes is not measured
  std::optional<double> spreadShare;    // of the times so far
  // Launches of the program that began at least once, of how many.
  int64_t operationsDone = 0, operationsCount = 0;
  std::string place;            // of what runs, or ran last; "": nothing
  int64_t timesHere = 0;        // in all runs so far, this one counted
  bool hasLoops = false;        // some ran more often than others
  std::vector<NodeTime> times;  // by place, in all runs so far
};

// One event of a profiled run, for the timeline; times since the start of the run.
struct TimelineEvent {
  std::string name, kind, place, shapes, kernel, version;
  int64_t beginNs = 0, durationNs = 0, bytes = 0;
  // 1 is the run's own; above it workers, with events of kind "worker" alone, then devices ("device").
  int thread = 1;
  int index = -1;  // of kernels and builtins: their row in the program
  std::vector<int64_t> scalars,
      numbers;               // of a kernel units, steps and its scalars; of a builtin those it is given
  int64_t resultsCount = 0;  // of a builtin: so many of `shapes`, at the front
  // Of an explained run: see KernelRow.
  double movedBytes = 0, operations = 0;
  int64_t boundNs = 0;
  std::shared_ptr<const DeviceCounts> counts;  // of a launch on the simulated GPU
};

struct NamedValue {
  std::string name;
  std::string type;  // of this run: "Tensor[(2, 59), f32]"
  Value value;
  std::string file;                         // where it was written, or ""
  std::vector<std::string> partFiles = {};  // of a list: where its parts were
};

// A run with a limit of its time: what was predicted, and what came.
struct RunTimeLimit {
  int64_t limitNs = 0;
  struct Predicted {
    int64_t ns = 0, lowNs = 0, highNs = 0;
    std::string outside;  // "seq = 600 is above 512, the largest measured": then it is a guess
    std::string by;       // "package", "runs"
  };
  std::optional<Predicted> predicted;
  std::string whyNotPredicted;
  int64_t beyondCount = 0, longestNs = 0;  // of the measured runs: those that took longer
};

struct RunResult {
  DimValues dims;
  std::vector<NamedValue> inputs, outputs;
  std::vector<std::string> randomInputs;  // those nobody gave
  std::vector<int64_t> runsNs;            // warm-up excluded
  int64_t warmupCount = 0;
  int64_t loadNs = 0, compileNs = 0;
  int64_t kernelsCount = 0, kernelsCompiledCount = 0, kernelsCompiledAfterLoadCount = 0;
  int64_t peakBytes = 0;
  std::optional<int64_t> predictedPeakBytes;
  std::string whyNoPrediction;
  std::optional<int64_t> keptPositions;  // of the batch, where the others were left out
  int64_t allocationsCount = 0;          // system allocations in the last run
  int64_t launchesCount = 0;
  int64_t cpuNs = 0;
  std::shared_ptr<const KernelTable> profile;  // of a profiled run
  std::vector<DeviceCounts> launches;          // on the simulated GPU, in order
  std::vector<NodeTime> nodeTimes;
  std::vector<PlaceTime> placeTimes;  // over the profiled repetitions
  bool isTimeProfiled = false;        // runsNs are of profiled runs
  std::vector<TimelineEvent> timeline;
  std::map<int, std::string> lanes;          // names of the timeline's threads: "worker 1", "cuda:0"
  std::shared_ptr<const LevelsView> levels;  // null: there are neither levels of nodes nor sequences
  // Against recorded outputs, where some were given: "" is equal.
  std::vector<std::pair<std::string, std::string>> differences;
  std::string profileFile;
  std::string recalledFrom;  // the file, of a saved run that was not run here and now
  bool bench = false;        // show times, not values
  std::optional<RunTimeLimit> timeLimit;
};

struct MeasuredRun {
  DimValues dims;
  int64_t timeNs = 0, peakBytes = 0;  // the median of the runs
};

// A register of a run that stands still.
struct StoppedRegister {
  std::string name;        // "r3", "v1"
  std::string value;       // "59"; of a tensor its elements
  std::string type;        // of an object
  std::string dims;        // of scalars: the dims of the inputs that have this register
  std::string holds = "";  // the name of the value that an object is, where it has one
  bool changed = false;    // since the stop before
};

}  // namespace dyn
