#include "app/engine/run/device_counts.h"

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

namespace dyn {

namespace {

using ByKernel = std::map<int, std::vector<const DeviceCounts*>>;

ByKernel launchesByKernel(const RunResult& run) {
  ByKernel kernels;
  for (const DeviceCounts& launch : run.launches) kernels[launch.index].push_back(&launch);
  return kernels;
}

// tell(event, launch) for each event of a kernel that was launched as often as it has events.
template <typename Event, typename IndexOf, typename Tell>
void matched(const std::vector<Event*>& events, const ByKernel& kernels, IndexOf&& indexOf, Tell&& tell) {
  std::map<int, std::vector<Event*>> byKernel;
  for (Event* event : events) byKernel[indexOf(*event)].push_back(event);
  for (const auto& [index, of] : byKernel) {
    const auto launches = kernels.find(index);
    if (launches == kernels.end() || launches->second.size() != of.size()) continue;
    for (size_t i = 0; i < of.size(); ++i) tell(*of[i], *launches->second[i]);
  }
}

}  // namespace

void nameLaunches(const std::vector<std::string>& names, RunResult& run) {
  for (DeviceCounts& launch : run.launches)
    if (launch.index >= 0 && static_cast<size_t>(launch.index) < names.size())
      launch.name = names[static_cast<size_t>(launch.index)];
}

void countsOnTimeline(RunResult& run) {
  std::vector<TimelineEvent*> events;
  for (TimelineEvent& event : run.timeline)
    if (event.kind == "kernel") events.push_back(&event);
  matched(
      events, launchesByKernel(run), [](const TimelineEvent& event) { return event.index; },
      [](TimelineEvent& event, const DeviceCounts& launch) {
        event.counts = std::make_shared<const DeviceCounts>(launch);
      });
}

std::string withCounts(const std::string& trace, const RunResult& run) {
  if (run.launches.empty()) return trace;
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(trace, nullptr, false);
  if (!json.is_object() || !json.contains("traceEvents") || !json["traceEvents"].is_array()) return trace;
  std::vector<nlohmann::ordered_json*> events;
  for (nlohmann::ordered_json& event : json["traceEvents"])
    if (event.is_object() && event.value("cat", "") == "kernel" && event.contains("args") &&
        event["args"].is_object())
      events.push_back(&event);
  matched(
      events, launchesByKernel(run),
      [](const nlohmann::ordered_json& event) { return event["args"].value("index", -1); },
      [](nlohmann::ordered_json& event, const DeviceCounts& launch) {
        nlohmann::ordered_json& arguments = event["args"];
        arguments["device_function"] = launch.function;
        arguments["grid"] = launch.grid;
        arguments["block"] = launch.threads;
        arguments["warp_instructions"] = launch.instructions;
        arguments["active_lanes"] = launch.activeLanes();
        arguments["global_requests"] = launch.globalRequests;
        arguments["sectors_per_request"] = launch.sectorsPerRequest();
        arguments["shared_requests"] = launch.sharedRequests;
        arguments["shared_ways_per_request"] = launch.waysPerRequest();
        arguments["branches"] = launch.branches;
        arguments["divergent_branches"] = launch.divergentBranches;
        arguments["barriers"] = launch.barriers;
        arguments["atomics"] = launch.atomics;
      });
  return json.dump();
}

}  // namespace dyn
