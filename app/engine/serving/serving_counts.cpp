#include "app/engine/serving/serving_counts.h"

#include <cstdio>

namespace dyn {

namespace {

std::string secondsText(int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", static_cast<double>(ns) / 1e9);
  return text;
}

void addHead(std::string& text, const char* name, const char* type, const char* help) {
  text += std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
}

void addNumber(std::string& text, const std::string& name, int64_t value) {
  text += name + " " + std::to_string(value) + "\n";
}

void addTimes(std::string& text, const std::string& name, const RunTimes& times) {
  for (const auto& [label, share] : {std::pair("0.5", 0.5), std::pair("0.99", 0.99)})
    text += name + "{quantile=\"" + label + "\"} " + secondsText(times.percentileNs(share)) + "\n";
  text += name + "_sum " + secondsText(times.meanNs() * times.count()) + "\n";
  addNumber(text, name + "_count", times.count());
}

}  // namespace

void ServingCounts::addRun(size_t requests, int64_t ns) {
  ++runs;
  ranRequests += static_cast<int64_t>(requests);
  if (requests > 1) ++joinedRuns;
  size_t size = 0;
  while (size + 1 < kSizeClasses && (size_t{1} << size) < requests) ++size;
  ++sizes[size];
  busyNs += ns;
  runTimes.add(ns);
}

std::string prometheusText(const ServingCounts& counts) {
  std::string text;
  addHead(text, "dyn_requests_total", "counter", "Requests that were answered, by the kind of the answer.");
  constexpr std::array<const char*, kAnswerKinds> kKinds = {
      "results", "failed", "cancelled", "expired", "queue_full", "memory_refused", "shut_down", "infeasible"};
  for (size_t kind = 0; kind < kKinds.size(); ++kind)
    addNumber(text, std::string("dyn_requests_total{answer=\"") + kKinds[kind] + "\"}", counts.answers[kind]);
  addHead(text, "dyn_queue_length", "gauge", "Requests that wait.");
  addNumber(text, "dyn_queue_length", counts.queued);
  addHead(text, "dyn_queue_length_max", "gauge", "Most requests that have waited at once.");
  addNumber(text, "dyn_queue_length_max", counts.longestQueue);
  addHead(text, "dyn_requests_running", "gauge", "Requests that run.");
  addNumber(text, "dyn_requests_running", counts.running);
  addHead(text, "dyn_memory_reserved_bytes", "gauge", "Predicted peak of the runs under way, with a limit.");
  addNumber(text, "dyn_memory_reserved_bytes", counts.reservedBytes);
  addHead(text, "dyn_batch_size", "histogram", "Requests in a run.");
  int64_t sum = 0;
  for (size_t size = 0; size + 1 < ServingCounts::kSizeClasses; ++size) {
    sum += counts.sizes[size];
    addNumber(text, "dyn_batch_size_bucket{le=\"" + std::to_string(1 << size) + "\"}", sum);
  }
  addNumber(text, "dyn_batch_size_bucket{le=\"+Inf\"}", counts.runs);
  addNumber(text, "dyn_batch_size_sum", counts.ranRequests);
  addNumber(text, "dyn_batch_size_count", counts.runs);
  addHead(text, "dyn_request_seconds", "summary", "From the arrival of a request that ran to its answer.");
  addTimes(text, "dyn_request_seconds", counts.latencies);
  addHead(text, "dyn_run_seconds", "summary", "Time of a run.");
  addTimes(text, "dyn_run_seconds", counts.runTimes);
  return text;
}

}  // namespace dyn
