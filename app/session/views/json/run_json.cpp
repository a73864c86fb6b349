#include <algorithm>

#include "app/engine/run/run_file.h"
#include "app/engine/run/run_result.h"
#include "app/session/views/json/json_parts.h"
#include "app/session/views/json/view_cases.h"
#include "app/session/views/run_views.h"

namespace dyn {

namespace {

// Where an output NAME has another one NAME.keys [k] beside its [k] or [n, k] values, it is a map or a list
// of maps (frontends/onnx/import/importer.h): {key: value} for each row. Null: it is no map.
constexpr int64_t kMostMapRows = 1000;

Json mapsJson(const NamedValue& values, const std::vector<NamedValue>& all) {
  if (!values.value.isTensor()) return nullptr;
  const HostTensor& tensor = values.value.tensor();
  const auto keysOf = [&](const NamedValue& other) {
    return other.name == values.name + ".keys" && other.value.isTensor() && other.value.tensor().rank() == 1;
  };
  const auto found = std::find_if(all.begin(), all.end(), keysOf);
  if (found == all.end() || tensor.rank() < 1 || tensor.rank() > 2) return nullptr;
  const HostTensor& keys = found->value.tensor();
  const int64_t width = keys.elementCount(), rows = tensor.rank() == 1 ? 1 : tensor.shape()[0];
  if (tensor.shape().back() != width) return nullptr;
  const auto keyText = [&](int64_t k) {
    return keys.dtype() == Dtype::string ? keys.stringValues()[static_cast<size_t>(k)]
                                         : std::to_string(keys.intAt(k));
  };
  const auto element = [&](int64_t i) -> Json {
    if (tensor.dtype() == Dtype::string) return tensor.stringValues()[static_cast<size_t>(i)];
    if (isReal(tensor.dtype())) return tensor.realAt(i);
    return tensor.intAt(i);
  };
  Json list = Json::array();
  for (int64_t row = 0; row < std::min(rows, kMostMapRows); ++row) {
    Json map = Json::object();
    for (int64_t k = 0; k < width; ++k) map[keyText(k)] = element(row * width + k);
    list.push_back(std::move(map));
  }
  return list;
}

Json timeLimitJson(const RunTimeLimit& limit) {
  Json predicted = nullptr;
  if (limit.predicted)
    predicted = {
        {"time_ns", limit.predicted->ns},
        {"low_ns", limit.predicted->lowNs},
        {"high_ns", limit.predicted->highNs},
        {"formula_by", limit.predicted->by},
        {"outside", limit.predicted->outside.empty() ? Json(nullptr) : Json(limit.predicted->outside)}};
  return {{"limit_ns", limit.limitNs},
          {"predicted", predicted},
          {"why_not_predicted", limit.whyNotPredicted.empty() ? Json(nullptr) : Json(limit.whyNotPredicted)},
          {"longest_ns", limit.longestNs},
          {"beyond_count", limit.beyondCount}};
}

}  // namespace

Json viewJson(const RunResult& view) {
  Json outputs = Json::array(), runs = Json::array();
  for (const NamedValue& output : view.outputs) {
    outputs.push_back(valueJson(output));
    if (Json maps = mapsJson(output, view.outputs); !maps.is_null()) outputs.back()["maps"] = std::move(maps);
  }
  for (int64_t ns : view.runsNs) runs.push_back({{"ns", ns}});
  Json json = {{"dims", mapJson(view.dims)},
               {"outputs", outputs},
               {"random_inputs", view.randomInputs},
               {"load_ns", view.loadNs},
               {"compile_ns", view.compileNs},
               {"kernels_count", view.kernelsCount},
               {"kernels_compiled_count", view.kernelsCompiledCount},
               {"kernels_compiled_after_load_count", view.kernelsCompiledAfterLoadCount},
               {"runs", runs},
               {"warmup_count", view.warmupCount},
               {"peak_bytes", view.peakBytes},
               {"predicted_peak_bytes", orNull(view.predictedPeakBytes)},
               {"allocations_count", view.allocationsCount},
               {"launches_count", view.launchesCount}};
  if (!view.whyNoPrediction.empty()) json["why_no_prediction"] = view.whyNoPrediction;
  if (view.keptPositions) json["kept_positions_count"] = *view.keptPositions;
  if (view.profile) json["kernels"] = viewJson(*view.profile)["kernels"];
  if (view.levels) json["levels"] = viewJson(*view.levels);
  if (!view.launches.empty()) json["device_counters"] = countsJson(sumByKernel(view.launches));
  if (view.timeLimit) json["time_limit"] = timeLimitJson(*view.timeLimit);
  if (!view.profileFile.empty()) json["profile_file"] = view.profileFile;
  if (!view.differences.empty()) {
    Json list = Json::array();
    for (const auto& [name, difference] : view.differences)
      list.push_back({{"name", name}, {"equal", difference.empty()}, {"difference", difference}});
    json["recorded"] = list;
  }
  return json;
}

Json viewJson(const PlaceTree& view) {
  Json rows = Json::array();
  for (const PlaceRow& row : view.rows)
    rows.push_back({{"label", row.label},
                    {"kind", row.kind},
                    {"place", row.place},
                    {"parent", row.parent},
                    {"launches_count", row.launchesCount},
                    {"total_ns", row.totalNs},
                    {"bound_ns", row.bound.boundNs},
                    {"bound_fraction", orNull(row.bound.share().value)},
                    {"bytes", row.bytes},
                    {"operations_count", row.operations}});
  return {{"run_ns", view.runNs}, {"places", rows}};
}

Json viewJson(const RunsView& view) {
  Json rows = Json::array();
  for (const RunDifference& row : view.rows)
    rows.push_back({{"place", row.place},
                    {"first_ns", orNull(row.firstNs)},
                    {"second_ns", orNull(row.secondNs)},
                    {"ratio", orNull(row.ratio)},
                    {"change", toString(row.change)}});
  return {{"first", view.first},
          {"second", view.second},
          {"first_number", view.firstNumber},
          {"second_number", view.secondNumber},
          {"first_time", timeJson(view.firstTime)},
          {"second_time", timeJson(view.secondTime)},
          {"change", toString(view.change)},
          {"first_peak_bytes", view.firstPeakBytes},
          {"second_peak_bytes", view.secondPeakBytes},
          {"notes", view.notes},
          {"places", rows}};
}

Json viewJson(const RunList& view) {
  Json rows = Json::array();
  for (const RunRecord& record : view.rows) rows.push_back(toJson(record, RecordDetail::withoutPlaces));
  Json json = {{"runs", rows}, {"forgotten_count", view.forgottenCount}};
  if (!view.file.empty()) json["file"] = view.file;
  return json;
}

}  // namespace dyn
