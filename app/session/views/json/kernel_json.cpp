#include "app/session/views/json/json_parts.h"
#include "app/session/views/json/view_cases.h"
#include "app/session/views/kernel_views.h"
#include "compiler/support/clock.h"

namespace dyn {

namespace {

Json candidatesJson(const std::vector<VersionTimes>& all) {
  Json list = Json::array();
  auto orNothing = [](std::optional<double> ns) { return ns ? Json(wholeNs(*ns)) : Json(nullptr); };
  for (const VersionTimes& c : all)
    list.push_back({{"version", textOf(c.version)},
                    {"predicted_ns", orNothing(c.predictedNs)},
                    {"measured_ns", orNothing(c.measuredNs)}});
  return list;
}

}  // namespace

Json viewJson(const KernelTable& view) {
  Json list = Json::array();
  for (const KernelRow& k : view.rows) {
    Json item = {{"name", k.name}, {"kind", k.kind}};
    if (!view.profiled) {
      item["symbol"] = k.symbol;
      item["description"] = k.description;
      item["buffers_count"] = k.buffersCount;
    } else {
      item["description"] = k.description;
      item["place"] = k.place;
      item["launches_count"] = k.launchesCount;
      item["total_ns"] = k.totalNs;
      item["min_ns"] = k.minNs;
      item["max_ns"] = k.maxNs;
      item["bytes"] = k.bytes;
      item["share"] = k.share;
    }
    if (!k.bound.empty()) {
      item["moved_bytes"] = k.movedBytes;
      item["operations_count"] = k.operations;
      item["calls_count"] = k.calls;
      item["bound"] = k.bound;
      item["bound_ns"] = k.boundNs;
      item["bound_fraction"] = orNull(boundShare(k.boundNs, k.totalNs).value);
      item["dims"] = k.dims;
    }
    list.push_back(std::move(item));
  }
  Json fields = {{"kernels", list}};
  if (view.profiled) return fields;
  Json contractions = Json::array();
  for (const ContractionRow& c : view.contractions)
    contractions.push_back({{"key", c.key},
                            {"values", c.values},
                            {"dispatch", textOf(c.dispatch)},
                            {"chosen", textOf(c.chosen)},
                            {"by", c.by},
                            {"sizes", c.sizes},
                            {"measured_sizes", c.measuredSizes},
                            {"candidates", candidatesJson(c.candidates)}});
  fields["contractions"] = std::move(contractions);
  Json copies = Json::array();
  for (const CopyRow& copy : view.copies) {
    Json refusals = Json::array();
    for (const CopyRow::Refusal& refusal : copy.refusals)
      refusals.push_back({{"by", refusal.by}, {"why", refusal.why}});
    copies.push_back({{"value", copy.value},
                      {"function", copy.function},
                      {"place", copy.place},
                      {"size", dimJson(copy.bytes)},
                      {"size_bytes", orNull(copy.sizeBytes)},
                      {"refused_by", refusals}});
  }
  fields["copies"] = std::move(copies);
  return fields;
}

Json viewJson(const TuneView& view) {
  Json rows = Json::array();
  for (const TuneRow& row : view.rows)
    rows.push_back({{"key", row.key},
                    {"state", row.state},
                    {"chosen", textOf(row.chosen)},
                    {"sites_count", row.sitesCount},
                    {"shapes_count", row.shapesCount},
                    {"candidates", candidatesJson(row.candidates)}});
  return {{"file", view.file},
          {"cpu", view.cpu},
          {"threads", view.threads},
          {"operations", rows},
          {"measured_count", view.measuredCount},
          {"kept_count", view.keptCount},
          {"left_count", view.leftCount},
          {"skipped_count", view.skippedCount},
          {"trials_count", view.trialsCount}};
}

}  // namespace dyn
