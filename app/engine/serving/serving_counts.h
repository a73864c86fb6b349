// What a server has done so far, and the same as text of Prometheus.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "app/engine/run/run_times.h"
#include "app/engine/serving/served_model.h"

namespace dyn {

struct ServingCounts {
  int64_t submitted = 0;  // the refused ones too
  std::array<int64_t, kAnswerKinds>
      answers{};  // by AnswerKind; their sum is `submitted` once all are answered
  int64_t queued = 0, longestQueue = 0, running = 0;  // requests
  int64_t runs = 0, joinedRuns = 0, ranRequests = 0, busyNs = 0;
  static constexpr size_t kSizeClasses = 8;
  std::array<int64_t, kSizeClasses> sizes{};  // runs of up to 1, 2, 4, ..., 64 requests, and of more
  int64_t reservedBytes = 0;                  // by runs under way, where memory has a limit
  RunTimes latencies;                         // of requests that ran, from arrival to answer
  RunTimes runTimes;

  int64_t count(AnswerKind kind) const { return answers[static_cast<size_t>(kind)]; }
  void addRun(size_t requests, int64_t ns);
};

// The text exposition format, version 0.0.4.
std::string prometheusText(const ServingCounts& counts);

}  // namespace dyn
