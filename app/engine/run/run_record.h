// RunRecord: what is kept of a run to be listed and compared later, in this session or another: what ran,
// on what, how long, and the times of its operations. It holds no values and no timeline.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/engine/model/model_info.h"
#include "app/engine/run/run_statistics.h"

namespace dyn {

// The time of what was launched at one place, in one run.
struct PlaceTime {
  std::string place;
  std::vector<std::string> members;  // as of NodeTime
  TimeStatistics time;               // over the profiled repetitions
};

class FileDigest;

struct RunRecord {
  int64_t number = 0;       // of the session's runs, from 1
  std::string command;      // "run", "time", "profile", "bench"; "": a trace, of which it is not known
  std::string model;        // path
  std::string modelDigest;  // CRC-32 of the model's file; "": not known, or not read yet
  std::shared_ptr<FileDigest> modelFile;  // that is still to be read for it
  std::string pipeline;                   // the edits that made the program; "": the standard one
  std::string settings;  // of compilation and memory, those that are not the default: "math=bf16"
  DimValues dims;
  std::string inputs;  // "random (seed 0)", "x=@x.npy, others random (seed 0)"
  int threads = 0;
  std::string device;   // "cpu"
  std::string machine;  // its processor
  TimeStatistics time;
  bool isTimeProfiled = false;  // it includes the cost of profiling
  int64_t peakBytes = 0;
  std::vector<PlaceTime> places;  // of a profiled run
  std::string from;               // the file that it was read from; "": it ran in this session
  bool isBaseline = false, isChecked = false;
};

// "batch=1, seq=16"; "fixed shapes" without dims.
std::string sizesText(const RunRecord& record);

// A line for each thing besides the time in which they are not equal: "threads: 1 and 4".
enum class Sameness : uint8_t { comparable, all };
// Of `comparable` only machine, device and threads count: times of others say nothing about the program.
std::vector<std::string> differencesOf(const RunRecord& first, const RunRecord& second, Sameness which);

}  // namespace dyn
