#include "app/engine/run/run_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/engine/run/json_fields.h"
#include "compiler/support/atomic_write.h"
#include "compiler/support/mapped_file.h"

namespace dyn {

using RunsJson = nlohmann::ordered_json;

namespace {

constexpr int kRunsSchema = 1;
constexpr size_t kMostRuns = 100'000, kMostPlaceTimes = 1'000'000;
constexpr int64_t kLongestNs = 1'000'000'000'000;  // of a million the sum is a number of 64 bits

int64_t nanosecondsOf(const nlohmann::json& fields, const char* key) {
  return std::clamp<int64_t>(numberOf(fields, key), 0, kLongestNs);
}

void addTime(const TimeStatistics& time, RunsJson& fields) {
  fields["runs_count"] = time.count;
  fields["median_ns"] = time.medianNs;
  fields["spread_ns"] = time.spreadNs ? RunsJson(*time.spreadNs) : RunsJson(nullptr);
}

TimeStatistics timeOf(const nlohmann::json& fields) {
  TimeStatistics time;
  time.count = std::max<int64_t>(0, numberOf(fields, "runs_count"));
  time.medianNs = nanosecondsOf(fields, "median_ns");
  if (const auto spread = fields.find("spread_ns"); spread != fields.end() && spread->is_number_integer())
    time.spreadNs = nanosecondsOf(fields, "spread_ns");
  return time;
}

bool switchOf(const nlohmann::json& fields, const char* key) {
  const auto it = fields.find(key);
  return it != fields.end() && it->is_boolean() && it->get<bool>();
}

PlaceTime placeTimeOf(const nlohmann::json& row) {
  PlaceTime place{textOf(row, "place"), {}, timeOf(row)};
  if (const auto members = row.find("members"); members != row.end() && members->is_array())
    for (const nlohmann::json& member : *members)
      if (member.is_string()) place.members.push_back(member.get<std::string>());
  return place;
}

RunRecord recordOf(const nlohmann::json& row, size_t& placesLeft) {
  RunRecord record;
  record.number = numberOf(row, "number");
  record.command = textOf(row, "command");
  record.model = textOf(row, "model");
  record.modelDigest = textOf(row, "model_digest");
  record.pipeline = textOf(row, "pipeline");
  record.settings = textOf(row, "settings");
  if (const auto dims = row.find("dims"); dims != row.end() && dims->is_object())
    for (const auto& [name, value] : dims->items())
      if (value.is_number_integer()) record.dims[name] = value.get<int64_t>();
  record.inputs = textOf(row, "inputs");
  record.threads = std::max(0, numberOf<int>(row, "threads_count"));
  record.device = textOf(row, "device");
  record.machine = textOf(row, "machine");
  record.time = timeOf(row);
  record.isTimeProfiled = switchOf(row, "time_profiled");
  record.peakBytes = std::max<int64_t>(0, numberOf(row, "peak_bytes"));
  record.from = textOf(row, "from");
  record.isBaseline = switchOf(row, "baseline");
  record.isChecked = switchOf(row, "checked");
  if (const auto places = row.find("places"); places != row.end() && places->is_array())
    for (const nlohmann::json& place : *places) {
      if (!place.is_object() || placesLeft == 0) continue;
      record.places.push_back(placeTimeOf(place));
      --placesLeft;
    }
  return record;
}

}  // namespace

RunsJson toJson(const RunRecord& record, RecordDetail detail) {
  RunsJson dims = RunsJson::object();
  for (const auto& [name, value] : record.dims) dims[name] = value;
  RunsJson row = {{"number", record.number},
                  {"command", record.command},
                  {"model", record.model},
                  {"model_digest", record.modelDigest},
                  {"pipeline", record.pipeline},
                  {"settings", record.settings},
                  {"dims", dims},
                  {"inputs", record.inputs},
                  {"threads_count", record.threads},
                  {"device", record.device},
                  {"machine", record.machine}};
  addTime(record.time, row);
  row["time_profiled"] = record.isTimeProfiled;
  row["peak_bytes"] = record.peakBytes;
  row["from"] = record.from;
  row["baseline"] = record.isBaseline;
  row["checked"] = record.isChecked;
  if (detail == RecordDetail::withoutPlaces) return row;
  RunsJson places = RunsJson::array();
  for (const PlaceTime& place : record.places) {
    RunsJson fields = {{"place", place.place}, {"members", place.members}};
    addTime(place.time, fields);
    places.push_back(std::move(fields));
  }
  row["places"] = std::move(places);
  return row;
}

std::string runsText(const std::vector<RunRecord>& runs) {
  RunsJson rows = RunsJson::array();
  for (const RunRecord& run : runs) rows.push_back(toJson(run, RecordDetail::whole));
  const RunsJson document = {{"schema", kRunsSchema}, {"runs", std::move(rows)}};
  // Names of files may be any bytes.
  return document.dump(1, ' ', false, RunsJson::error_handler_t::replace) + "\n";
}

bool isRunsText(std::string_view text) {
  const std::string_view head = text.substr(0, 100);
  return head.find("\"schema\"") != std::string_view::npos && head.find("\"runs\"") != std::string_view::npos;
}

Result<std::vector<RunRecord>> readRuns(std::string_view text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("runs") || !json["runs"].is_array())
    return makeError(DiagnosticId::fileFormat, "this is no file of runs, as `bench -o` and `:runs -o` write");
  if (const int64_t schema = numberOf(json, "schema"); schema != kRunsSchema)
    return makeError(DiagnosticId::fileFormat, "a file of runs of schema " + std::to_string(schema) +
                                                   "; this version reads schema " +
                                                   std::to_string(kRunsSchema));
  std::vector<RunRecord> runs;
  size_t placesLeft = kMostPlaceTimes;
  for (const nlohmann::json& row : json["runs"])
    if (row.is_object() && runs.size() < kMostRuns) runs.push_back(recordOf(row, placesLeft));
  return runs;
}

Result<std::vector<RunRecord>> readRunsFile(const std::string& path) {
  DYN_TRY(MappedFile file, MappedFile::open(path));
  Result<std::vector<RunRecord>> runs = readRuns(file.bytes());
  if (!runs.ok()) return makeError(runs.error().id, path + ": " + runs.error().message);
  return runs;
}

Status writeRunsFile(const std::string& path, const std::vector<RunRecord>& runs) {
  return writeFileAtomically(path, {runsText(runs)});
}

}  // namespace dyn
