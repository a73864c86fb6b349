#include "app/engine/model/tuning_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/engine/model/loaded_model.h"
#include "compiler/passes/layout/contraction_versions.h"
#include "compiler/support/atomic_write.h"
#include "compiler/support/json_nesting.h"
#include "compiler/support/mapped_file.h"

namespace dyn {

using Json = nlohmann::ordered_json;

namespace {

constexpr int kSchema = 1;
constexpr size_t kMostTuningNesting = 8;

Error badFile(const std::string& path, const std::string& why) {
  return makeError(DiagnosticId::fileFormat, "tuning records: " + why, {.file = path});
}

// False: that is no record. `known` becomes false where it names what this build does not know, as records
// of another version of Dyn may.
bool readOperation(const Json& json, TunedOperation& record, bool& known) {
  if (!json.is_object() || !json.contains("key") || !json["key"].is_string() || !json.contains("threads") ||
      !json["threads"].is_number_integer() || !json.contains("chosen") || !json["chosen"].is_string() ||
      !json.contains("candidates") || !json["candidates"].is_array() || !json.contains("shapes") ||
      !json["shapes"].is_array())
    return false;
  record.key = json["key"];
  const std::optional<passes::ContractionKind> kind = passes::kindOfKey(record.key);
  const auto versionIn = [&](const Json& text) {
    const auto version =
        kind ? passes::parseVersion(*kind, text.get_ref<const std::string&>()) : std::nullopt;
    known = known && version;
    return version.value_or(contraction::Automatic{});
  };
  record.chosen = versionIn(json["chosen"]);
  record.threads = json["threads"];
  for (const Json& item : json["candidates"]) {
    if (!item.is_object() || !item.contains("version") || !item["version"].is_string() ||
        !item.contains("times_ns") || !item["times_ns"].is_array() ||
        item["times_ns"].size() != json["shapes"].size())
      return false;
    TunedCandidate candidate{versionIn(item["version"]), {}, {}};
    for (const Json& time : item["times_ns"]) {
      if (!time.is_number()) return false;
      candidate.timesNs.push_back(time);
    }
    if (item.contains("expected")) {
      if (!item["expected"].is_array() || item["expected"].size() != candidate.timesNs.size()) return false;
      for (const Json& expected : item["expected"]) {
        if (!expected.is_boolean()) return false;
        candidate.expected.push_back(expected);
      }
    }
    record.candidates.push_back(std::move(candidate));
  }
  for (const Json& item : json["shapes"]) {
    if (!item.is_object() || !item.contains("sizes") || !item["sizes"].is_array() ||
        !item.contains("weight") || !item["weight"].is_number())
      return false;
    TunedShape shape;
    for (const Json& size : item["sizes"]) {
      if (!size.is_number_integer()) return false;
      shape.sizes.push_back(size);
    }
    shape.weight = item["weight"];
    record.shapes.push_back(std::move(shape));
  }
  return true;
}

Json tuningJson(const TunedOperation& record) {
  Json shapes = Json::array(), candidates = Json::array();
  for (const TunedShape& s : record.shapes) shapes.push_back({{"sizes", s.sizes}, {"weight", s.weight}});
  for (const TunedCandidate& c : record.candidates) {
    candidates.push_back({{"version", textOf(c.version)}, {"times_ns", c.timesNs}});
    if (!c.expected.empty()) candidates.back()["expected"] = c.expected;
  }
  return {{"key", record.key},
          {"threads", record.threads},
          {"chosen", textOf(record.chosen)},
          {"shapes", shapes},
          {"candidates", candidates}};
}

}  // namespace

std::string tuningFileOf(const EngineOptions& options) {
  if (options.tuningFile == "none") return "";
  if (!options.tuningFile.empty()) return options.tuningFile;
  const std::string& folder = options.cacheDirectory;
  return folder.empty() || folder == "none" ? "" : folder + "/tuning.json";
}

Result<TuningRecords> readTuning(const std::string& path) {
  TuningRecords records;
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 && errno == ENOENT) return records;
  DYN_TRY(MappedFile file, MappedFile::open(path));
  const bool isTooDeep = nestsDeeperThan(file.bytes(), kMostTuningNesting);
  const Json json = isTooDeep ? Json() : Json::parse(file.bytes(), nullptr, false);
  if (!json.is_object()) return badFile(path, "the file is not a JSON document of tuning records");
  if (!json.contains("schema") || json["schema"] != kSchema)
    return badFile(path, "the file has another schema");
  if (!json.contains("cpu") || !json["cpu"].is_string()) return badFile(path, "the file names no CPU");
  if (const std::string cpu = json["cpu"]; cpu != tuningCpu())
    return badFile(path, "they were measured on the CPU " + cpu + ", this is " + tuningCpu());
  if (!json.contains("operations") || !json["operations"].is_array())
    return badFile(path, "the file has no operations");
  for (const Json& item : json["operations"]) {
    TunedOperation record;
    bool known = true;
    if (!readOperation(item, record, known)) return badFile(path, "an operation lacks members of a record");
    if (known) records.operations.push_back(std::move(record));
  }
  return records;
}

Status addTuning(const std::string& path, const TunedOperation& record) {
  // Read again: another process may have written since.
  DYN_TRY(TuningRecords records, readTuning(path));
  auto same = std::find_if(
      records.operations.begin(), records.operations.end(),
      [&](const TunedOperation& o) { return o.key == record.key && o.threads == record.threads; });
  if (same == records.operations.end())
    records.operations.push_back(record);
  else
    *same = record;
  Json operations = Json::array();
  for (const TunedOperation& operation : records.operations) operations.push_back(tuningJson(operation));
  const std::string text =
      Json{{"schema", kSchema}, {"cpu", tuningCpu()}, {"operations", operations}}.dump(1) + "\n";
  return updateFileAtomically(path, {text});
}

}  // namespace dyn
