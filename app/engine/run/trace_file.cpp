#include "app/engine/run/trace_file.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "app/engine/run/json_fields.h"
#include "app/engine/run/launch_kind.h"
#include "app/engine/run/place_times.h"
#include "app/engine/run/run_levels.h"

namespace dyn {

namespace {

constexpr size_t kMostTimelineEvents = 100'000, kMostEvents = 2'000'000;

std::vector<int64_t> traceListOf(const nlohmann::json& row, const char* key) {
  std::vector<int64_t> list;
  auto it = row.find(key);
  if (it == row.end() || !it->is_array()) return list;
  for (const nlohmann::json& item : *it)
    if (item.is_number_integer()) list.push_back(item.get<int64_t>());
  return list;
}

// From microseconds; another program's may be anything.
int64_t nanoseconds(const nlohmann::json& event, const char* key, double mostUs) {
  const double us = numberOf<double>(event, key);
  return us >= 0 && us < mostUs ? static_cast<int64_t>(us * 1000) : 0;
}
constexpr double kLatestUs = 4e15;  // some count from 1970 on
constexpr double kLongestUs = 1e9;  // of a million events the sum is a number of 64 bits

TimelineEvent timelineEvent(const nlohmann::json& event) {
  TimelineEvent item;
  item.name = textOf(event, "name");
  item.kind = textOf(event, "cat");
  item.beginNs = nanoseconds(event, "ts", kLatestUs);
  item.durationNs = nanoseconds(event, "dur", kLongestUs);
  item.thread = std::max(1, numberOf<int>(event, "tid"));
  if (auto arguments = event.find("args"); arguments != event.end() && arguments->is_object()) {
    item.place = textOf(*arguments, "place");
    item.shapes = textOf(*arguments, "shapes");
    item.kernel = textOf(*arguments, "kernel");
    item.version = textOf(*arguments, "version");
    item.bytes = numberOf<int64_t>(*arguments, "bytes");
    if (arguments->contains("index")) item.index = numberOf<int>(*arguments, "index");
    item.scalars = traceListOf(*arguments, "scalars");
    item.numbers = traceListOf(*arguments, "numbers");
    item.resultsCount = numberOf<int64_t>(*arguments, "results_count");
  }
  return item;
}

void nameLane(const nlohmann::json& event, std::map<int, std::string>& lanes) {
  constexpr size_t kMostLanes = 4096;
  const auto arguments = event.find("args");
  if (arguments == event.end() || !arguments->is_object() || lanes.size() >= kMostLanes) return;
  lanes[std::max(1, numberOf<int>(event, "tid"))] = textOf(*arguments, "name");
}

// Lists of other lengths than the nodes' are of no use.
LevelLoop levelLoop(const nlohmann::json& row) {
  LevelLoop loop;
  loop.function = textOf(row, "function");
  loop.place = textOf(row, "place");
  loop.oneByOne = textOf(row, "one_by_one");
  if (row.contains("leaves_count")) loop.leaves = numberOf<int64_t>(row, "leaves_count");
  loop.nodes = traceListOf(row, "nodes");
  loop.beginNs = numberOf<int64_t>(row, "begin_ns");
  loop.timesNs = traceListOf(row, "times_ns");
  loop.takenBytes = traceListOf(row, "bytes");
  if (loop.timesNs.size() != loop.nodes.size() || loop.takenBytes.size() != loop.nodes.size()) {
    loop.timesNs.clear();
    loop.takenBytes.clear();
  }
  if (row.contains("weights_bytes")) loop.weightsBytes = numberOf<int64_t>(row, "weights_bytes");
  loop.weightsCount = numberOf<int64_t>(row, "weights_count");
  return loop;
}

}  // namespace

std::string signTrace(const std::string& text, const RunResult& run) {
  if (text.empty() || text[0] != '{') return text;
  nlohmann::json data;
  data["dims"] = nlohmann::json::object();
  for (const auto& [name, value] : run.dims) data["dims"][name] = value;
  data["peak_bytes"] = run.peakBytes;
  if (run.levels) {
    const Caches& caches = run.levels->caches;
    data["l1_bytes"] = caches.l1Bytes;
    data["l2_bytes"] = caches.l2Bytes;
    data["l3_bytes"] = caches.l3Bytes;
    data["register_bytes"] = caches.registerBytes;
  }
  return "{\"otherData\":" + data.dump() + "," + text.substr(1);
}

Result<TraceEvents> readTrace(std::string_view text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  // Some programs write the list alone.
  const nlohmann::json* list = json.is_array() ? &json : nullptr;
  if (json.is_object() && json.contains("traceEvents")) list = &json["traceEvents"];
  if (!list || !list->is_array())
    return makeError(DiagnosticId::fileError, "this is not a Chrome trace: JSON with a list of traceEvents");
  TraceEvents trace;
  trace.isCut = json.is_object() && json.contains("droppedEvents");
  for (const nlohmann::json& event : *list) {
    if (!event.is_object()) continue;
    if (textOf(event, "ph") == "X" && trace.events.size() < kMostEvents)
      trace.events.push_back(timelineEvent(event));
    if (textOf(event, "ph") == "M" && textOf(event, "name") == "thread_name") nameLane(event, trace.lanes);
  }
  if (const auto levels = json.is_object() ? json.find("levels") : json.end();
      levels != json.end() && levels->is_array())
    for (const nlohmann::json& row : *levels)
      if (row.is_object()) trace.levels.push_back(levelLoop(row));
  if (const auto data = json.is_object() ? json.find("otherData") : json.end();
      data != json.end() && data->is_object()) {
    trace.peakBytes = numberOf<int64_t>(*data, "peak_bytes");
    trace.caches = {numberOf<int64_t>(*data, "l1_bytes"), numberOf<int64_t>(*data, "l2_bytes"),
                    numberOf<int64_t>(*data, "l3_bytes"), numberOf<int64_t>(*data, "register_bytes")};
    if (const auto dims = data->find("dims"); dims != data->end() && dims->is_object())
      for (const auto& [name, value] : dims->items())
        if (value.is_number_integer()) trace.dims[name] = value.get<int64_t>();
  }
  return trace;
}

bool holdsOthers(const TimelineEvent& event) {
  return event.kind == "function" || event.kind == "iteration" || event.kind == "worker";
}

void setTimeline(const std::vector<TimelineEvent>& all, RunResult& result) {
  // Of more than are kept the first, whatever the file has them behind.
  std::vector<TimelineEvent> sorted;
  if (all.size() > kMostTimelineEvents) {
    sorted = all;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const TimelineEvent& a, const TimelineEvent& b) { return a.beginNs < b.beginNs; });
  }
  const std::vector<TimelineEvent>& events = sorted.empty() ? all : sorted;
  std::map<std::string, int64_t> byPlace;
  int64_t startNs = INT64_MAX;
  for (const TimelineEvent& event : events) {
    if (!holdsOthers(event) && !event.place.empty()) byPlace[event.place] += event.durationNs;
    if (result.timeline.size() >= kMostTimelineEvents) continue;
    startNs = std::min(startNs, event.beginNs);
    result.timeline.push_back(event);
  }
  for (TimelineEvent& event : result.timeline) event.beginNs -= startNs;
  for (auto& [place, timeNs] : byPlace) result.nodeTimes.push_back({place, {}, timeNs});
}

namespace {

void addEvent(const TimelineEvent& event, KernelRow& row) {
  if (row.launchesCount == 0) {
    row.kind = event.kind;
    row.name = event.name;
    row.place = event.place;
    row.description = event.kernel;
    row.minNs = event.durationNs;
  }
  ++row.launchesCount;
  row.totalNs += event.durationNs;
  row.minNs = std::min(row.minNs, event.durationNs);
  row.maxNs = std::max(row.maxNs, event.durationNs);
  row.bytes += event.bytes;
}

void sortByTime(KernelTable& table) {
  std::stable_sort(table.rows.begin(), table.rows.end(),
                   [](const KernelRow& a, const KernelRow& b) { return a.totalNs > b.totalNs; });
}

}  // namespace

void splitBySite(const std::vector<TimelineEvent>& events, KernelTable& table) {
  std::map<std::string, std::map<std::string, KernelRow>> sites;  // by name, then place
  std::map<std::string, int64_t> counts;
  for (const TimelineEvent& event : events) {
    const std::string site = siteOf(event);
    if (site.empty()) continue;
    KernelRow& row = sites[event.name][site];
    addEvent(event, row);
    row.site = site;
    ++counts[event.name];
  }
  int64_t total = 0;
  for (const KernelRow& row : table.rows) total += row.totalNs;
  std::vector<KernelRow> rows;
  for (KernelRow& row : table.rows) {
    if (row.kind != "builtin" || sites[row.name].size() < 2 || counts[row.name] != row.launchesCount) {
      rows.push_back(std::move(row));
      continue;
    }
    for (auto& [place, part] : sites[row.name]) {
      part.share = total > 0 ? static_cast<double>(part.totalNs) / static_cast<double>(total) : 0;
      rows.push_back(std::move(part));
    }
  }
  table.rows = std::move(rows);
  sortByTime(table);
}

RunResult runOfTrace(const TraceEvents& trace) {
  RunResult result;
  result.dims = trace.dims;
  result.peakBytes = trace.peakBytes;
  result.lanes = trace.lanes;
  setTimeline(trace.events, result);
  std::map<std::pair<std::string, std::string>, KernelRow> rows;  // by kind and name
  int64_t total = 0;
  for (const TimelineEvent& event : trace.events) {
    if (holdsOthers(event)) continue;
    addEvent(event, rows[{event.kind, event.name}]);
    total += event.durationNs;
    result.launchesCount += event.kind == "kernel" || event.kind == "builtin";
  }
  auto profile = std::make_shared<KernelTable>();
  profile->profiled = true;
  for (auto& [key, row] : rows) {
    row.share = total > 0 ? static_cast<double>(row.totalNs) / static_cast<double>(total) : 0;
    result.kernelsCount += row.kind == "kernel";
    profile->rows.push_back(std::move(row));
  }
  sortByTime(*profile);
  splitBySite(trace.events, *profile);
  result.profile = std::move(profile);
  result.runsNs = repetitionTimes(trace);
  result.placeTimes = placeTimes(trace);
  result.isTimeProfiled = true;
  LevelsView levels;
  levels.loops = trace.levels;
  levels.caches = trace.caches;
  result.levels = withSequences(&levels, {}, result);
  return result;
}

}  // namespace dyn
