#include <cmath>

#include "app/session/views/change_views.h"
#include "app/session/views/json/json_parts.h"
#include "app/session/views/json/view_cases.h"

namespace dyn {

namespace {

Json formulasJson(const std::vector<ModelDifference::FormulaChange>& changes) {
  const auto textOrNull = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  Json list = Json::array();
  for (const auto& change : changes)
    list.push_back({{"of", change.of},
                    {"name", change.name},
                    {"before", textOrNull(change.before)},
                    {"after", textOrNull(change.after)}});
  return list;
}

// JSON has no infinity and no NaN.
Json realJson(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json boundariesJson(const std::vector<ExtractResult::Boundary>& values) {
  Json list = Json::array();
  for (const auto& value : values)
    list.push_back({{"name", value.name},
                    {"type", value.type},
                    {"asked", value.isAsked},
                    {"file", value.file.empty() ? Json(nullptr) : Json(value.file)}});
  return list;
}

}  // namespace

Json viewJson(const ModelDifference& view) {
  Json ops = Json::array(), weights = Json::array(), renamed = Json::object();
  for (const auto& change : view.ops)
    ops.push_back({{"change", change.change},
                   {"op", change.op},
                   {"value", change.value},
                   {"place", change.place},
                   {"what", change.what}});
  for (const auto& change : view.weights) {
    Json item = {{"change", change.change}, {"name", change.name}, {"type", change.type}};
    if (!change.otherType.empty()) {
      item["after_name"] = change.otherName;
      item["after_type"] = change.otherType;
      if (change.type == change.otherType) {
        item["max_abs"] = realJson(change.maxAbs);
        item["relative"] = realJson(change.relative);
      }
    }
    weights.push_back(std::move(item));
  }
  for (const auto& [name, other] : view.renamedDims) renamed[name] = other;
  Json times = Json::array();
  for (const ModelDifference::TimeChange& change : view.times) {
    Json dims = Json::object();
    for (const auto& [name, value] : change.dims) dims[name] = value;
    const auto side = [](const std::string& refused, int64_t ns, int64_t bytes) -> Json {
      if (!refused.empty()) return {{"refused", refused}};
      return {{"time_ns", ns}, {"peak_bytes", bytes}};
    };
    const std::optional<double> ratio = change.ratio();
    times.push_back({{"dims", dims},
                     {"before", side(change.beforeRefused, change.beforeNs, change.beforePeakBytes)},
                     {"after", side(change.afterRefused, change.afterNs, change.afterPeakBytes)},
                     {"ratio", ratio ? Json(*ratio) : Json(nullptr)}});
  }
  return {{"before", view.before},
          {"after", view.after},
          {"times", times},
          {"changed", formulasJson(view.seen)},
          {"inner", formulasJson(view.inner)},
          {"renamed_dims", renamed},
          {"same_formulas_count", view.sameFormulasCount},
          {"ops", ops},
          {"same_ops_count", view.sameOpsCount},
          {"weights", weights},
          {"same_weights_count", view.sameWeightsCount},
          {"renamed_values_count", view.renamedValuesCount}};
}

Json viewJson(const ValueComparison& view) {
  Json values = Json::array(), dims = Json::object();
  for (const auto& [name, value] : view.dims) dims[name] = value;
  for (const ValueError& value : view.values) {
    Json item = {{"name", value.name},
                 {"op", value.op},
                 {"place", value.place},
                 {"shape", value.shape},
                 {"wrong", value.isWrong}};
    if (value.mismatch.empty()) {
      item["max_abs"] = realJson(value.maxAbs);
      item["max_relative"] = realJson(value.maxRelative);
      item["relative"] = realJson(value.relative);
      item["worst_index"] = value.worstIndex;
      item["expected"] = realJson(value.expected);
      item["actual"] = realJson(value.actual);
    } else {
      item["mismatch"] = value.mismatch;
    }
    values.push_back(std::move(item));
  }
  return {{"before", view.before},
          {"after", view.after},
          {"dims", dims},
          {"rtol", view.relativeTolerance},
          {"values", values},
          {"unmatched_count", view.unmatchedCount},
          {"wrong_count", view.wrongCount},
          {"first_wrong", view.firstWrong ? Json(view.values[*view.firstWrong].name) : Json(nullptr)}};
}

Json viewJson(const ExtractResult& view) {
  Json files = Json::array({{{"path", view.file}, {"bytes", view.bytes}}});
  return {{"files", files},
          {"inputs", boundariesJson(view.inputs)},
          {"outputs", boundariesJson(view.outputs)},
          {"nodes_count", view.nodesCount},
          {"model_nodes_count", view.allNodesCount},
          {"weights_bytes", view.weightsBytes},
          {"model_weights_bytes", view.allWeightsBytes},
          {"again", view.again.empty() ? Json(nullptr) : Json(view.again)}};
}

Json viewJson(const QuantiseResult& view) {
  Json weights = Json::array();
  for (const auto& weight : view.weights) {
    Json item = {{"name", weight.name}, {"node", weight.node}, {"op", weight.op}};
    item["bytes_before"] = weight.bytesBefore;
    if (weight.form.empty()) {
      item["stays"] = weight.why;
    } else {
      item["form"] = weight.form;
      item["bytes_after"] = weight.bytesAfter;
      item["relative"] = realJson(weight.relative);
    }
    weights.push_back(std::move(item));
  }
  Json json = {{"files", Json::array({{{"path", view.file}, {"bytes", view.bytesAfter}}})},
               {"bytes_before", view.bytesBefore},
               {"bytes_after", view.bytesAfter},
               {"weights", weights}};
  if (view.runsCount == 0) return json;
  json["runs_count"] = view.runsCount;
  Json& activations = json["activations"] = Json::array();
  for (const auto& value : view.activations)
    activations.push_back({{"name", value.name},
                           {"low", realJson(value.low)},
                           {"high", realJson(value.high)},
                           {"scale", realJson(value.scale)},
                           {"zero_point", value.zero}});
  return json;
}

Json viewJson(const CertificateView& view) {
  Json kinds = Json::object(), open = Json::array();
  for (const auto& kind : view.kinds)
    kinds[kind.name] = {{"shown_count", kind.shownCount}, {"open_count", kind.openCount}};
  for (const auto& each : view.open)
    open.push_back({{"kind", each.kind}, {"place", each.place}, {"what", each.what}});
  return {{"package", view.file},
          {"status", view.status},
          {"why", view.why.empty() ? Json(nullptr) : Json(view.why)},
          {"certificate_bytes", view.certificateBytes},
          {"check_ns", view.checkNs},
          {"obligations", kinds},
          {"open", open},
          {"peak_formulas", view.peak},
          {"launches_count", view.launchesCount},
          {"builtin_calls_count", view.builtinCallsCount},
          {"builtins", view.builtins}};
}

}  // namespace dyn
