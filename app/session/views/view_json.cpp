#include "app/session/views/view_json.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "app/engine/run/run_file.h"
#include "app/session/views/change_views_text.h"
#include "app/session/views/level_views_text.h"
#include "compiler/support/visible_text.h"

namespace dyn {

using Json = nlohmann::ordered_json;

namespace {

// "59" → 59; "2*seq + 1" stays text.
Json dimJson(const std::string& text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && !text.empty()) return value;
  return text;
}

Json shapeJson(const std::vector<std::string>& shape) {
  Json list = Json::array();
  for (const std::string& dim : shape) list.push_back(dimJson(dim));
  return list;
}

Json orNull(std::optional<int64_t> value) { return value ? Json(*value) : Json(nullptr); }

Json portsJson(const std::vector<ValueInfo>& ports) {
  Json list = Json::array();
  for (const ValueInfo& port : ports) {
    Json item = {{"name", port.name}};
    if (port.kind != "tensor" && !port.kind.empty()) item["kind"] = port.kind;
    item["dtype"] = port.dtype;
    item["shape"] = shapeJson(port.shape);
    if (port.kind != "tensor") item["type"] = port.type;
    list.push_back(std::move(item));
  }
  return list;
}

template <typename Map>
Json mapJson(const Map& map) {
  Json object = Json::object();
  for (const auto& [name, value] : map) object[name] = value;
  return object;
}

Json valueJson(const NamedValue& value) {
  Json item = {{"name", value.name}};
  if (value.value.isTensor()) {
    item["dtype"] = std::string(toString(value.value.tensor().dtype()));
    item["shape"] = value.value.tensor().shape();
  } else {
    item["kind"] = toString(value.value.kind());
    item["type"] = value.type;
    item["items_count"] = value.value.parts().size();
  }
  item["file"] = value.file.empty() ? Json(nullptr) : Json(value.file);
  if (!value.partFiles.empty()) item["part_files"] = value.partFiles;
  return item;
}

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

Json diagnosticsJson(const std::vector<Diagnostic>& diagnostics) {
  Json list = Json::array();
  for (const Diagnostic& d : diagnostics) list.push_back(toJson(d));
  return list;
}

Json timeJson(const TimeStatistics& time) {
  return {{"runs_count", time.count}, {"median_ns", time.medianNs}, {"spread_ns", orNull(time.spreadNs)}};
}

Json benchRow(const BenchRow& row) {
  Json item = {{"dims", mapJson(row.dims)},  {"runs_count", row.runsCount},
               {"min_ns", row.minNs},        {"p50_ns", row.p50Ns},
               {"p90_ns", row.p90Ns},        {"p99_ns", row.p99Ns},
               {"mean_ns", row.meanNs},      {"spread_ns", orNull(row.spreadNs)},
               {"peak_bytes", row.peakBytes}};
  item["gflops"] = row.gflops ? Json(*row.gflops) : Json(nullptr);
  item["gigabytes_per_second"] = row.gigabytesPerSecond ? Json(*row.gigabytesPerSecond) : Json(nullptr);
  if (row.baseline) {
    item["baseline"] = timeJson(*row.baseline);
    item["change"] = toString(row.change);
  }
  return item;
}

Json treeJson(const std::vector<WhyStep>& tree) {
  Json list = Json::array();
  for (const WhyStep& step : tree)
    list.push_back({{"text", step.text}, {"depth", step.depth}, {"folded", step.folded}});
  return list;
}

Json checksJson(const std::vector<CheckRow>& checks) {
  Json list = Json::array();
  for (const CheckRow& check : checks)
    list.push_back({{"name", check.name},
                    {"text", check.text},
                    {"left", orNull(check.left)},
                    {"right", orNull(check.right)},
                    {"fails", check.fails}});
  return list;
}

Json orNull(std::optional<double> value) { return value ? Json(*value) : Json(nullptr); }

struct JsonWriter {
  Json operator()(std::monostate) const { return Json::object(); }

  Json operator()(const Shared<ModelInfo>& v) const {
    Json json = {{"kind", toString(v->kind)}, {"path", v->path}};
    if (!v->producer.empty()) json["producer"] = v->producer;
    if (v->kind == ModelKind::onnx) {
      json["ir_version"] = v->irVersion;
      json["opset"] = v->opset;
    }
    json["inputs"] = portsJson(v->inputs);
    json["outputs"] = portsJson(v->outputs);
    json["ops"] = mapJson(v->ops);
    json["ops_count"] = v->opsCount;
    json["functions_count"] = v->functionsCount;
    json["weights_count"] = v->weightsCount;
    json["weights_bytes"] = v->weightsBytes;
    json["parameters_count"] = v->parametersCount;
    if (!v->flops.empty()) json["flops"] = v->flops;
    json["warnings"] = diagnosticsJson(v->warnings);
    if (v->problemsCount > 0) json["problems_count"] = v->problemsCount;
    return json;
  }

  Json operator()(const Shared<GraphView>& v) const {
    Json nodes = Json::array(), edges = Json::array(), groups = Json::array();
    for (const GraphNode& n : v->nodes) {
      Json outputs = Json::array();
      for (const GraphPort& p : n.outputs) outputs.push_back({{"name", p.name}, {"type", p.type}});
      nodes.push_back({{"id", n.id},
                       {"kind", toString(n.kind)},
                       {"op", n.op},
                       {"label", n.label},
                       {"name", n.name},
                       {"place", n.place},
                       {"group", n.group},
                       {"outputs", outputs}});
      if (!n.device.empty()) nodes.back()["device"] = n.device;
    }
    for (const GraphEdge& e : v->edges)
      edges.push_back({{"from", e.from},
                       {"from_port", e.fromPort},
                       {"to", e.to},
                       {"to_port", e.toPort},
                       {"name", e.name},
                       {"type", e.type}});
    for (const GraphGroup& g : v->groups)
      groups.push_back(
          {{"path", g.path}, {"label", g.label}, {"kind", toString(g.kind)}, {"parent", g.parent}});
    return {{"step", v->step},
            {"step_name", v->stepName},
            {"nodes", nodes},
            {"edges", edges},
            {"groups", groups}};
  }

  Json operator()(const Shared<IrText>& v) const {
    Json ir = {{"level", toString(v->level)}, {"title", v->title}, {"text", v->text}};
    if (!v->file.empty()) ir["file"] = v->file;
    for (const LineOrigin& origin : v->origins)
      ir["origins"].push_back({{"line", origin.line},
                               {"last_line", origin.lastLine},
                               {"places", origin.places},
                               {"kernels", origin.kernels},
                               {"loop_line", origin.loopLine}});
    if (!v->kernelPlaces.empty()) ir["kernel_places"] = v->kernelPlaces;
    return {{"ir", ir}};
  }

  Json operator()(const Shared<LinkedLines>& v) const {
    Json levels = Json::array();
    for (const LinkedLines::Level& level : v->levels) {
      Json lines = Json::array();
      for (const LinkedLines::Line& line : level.lines)
        lines.push_back({{"line", line.line}, {"text", line.text}});
      levels.push_back({{"level", toString(level.level)}, {"lines", lines}});
    }
    return {
        {"level", toString(v->level)}, {"line", v->line.line}, {"text", v->line.text}, {"levels", levels}};
  }

  Json operator()(const Shared<StopView>& v) const {
    Json registers = Json::array();
    for (const StopView::Register& held : v->registers)
      registers.push_back({{"name", held.name},
                           {"value", held.value},
                           {"type", held.type},
                           {"dims", held.dims},
                           {"holds", held.holds},
                           {"changed", held.changed}});
    Json source = Json::array();
    for (const StopView::SourceLine& line : v->source)
      source.push_back({{"line", line.number},
                        {"text", line.text},
                        {"here", line.here},
                        {"same_kernel", line.sameKernel}});
    Json stop = {{"ended", v->ended},
                 {"why", v->why},
                 {"function", v->function},
                 {"place", v->place},
                 {"instruction", v->instruction},
                 {"position", v->position},
                 {"line", v->line},
                 {"depth", v->depth},
                 {"registers", registers},
                 {"source", source}};
    if (v->result) stop["result"] = (*this)(v->result);
    return {{"stop", stop}};
  }

  Json operator()(const Shared<BreakpointTable>& v) const {
    Json rows = Json::array();
    for (const BreakpointTable::Row& row : v->rows)
      rows.push_back({{"number", row.number},
                      {"what", row.what},
                      {"where", row.where},
                      {"hits", row.hits},
                      {"lines", row.lines}});
    return {{"breakpoints", rows}, {"watched", v->watched}};
  }

  Json operator()(const Shared<PassList>& v) const {
    Json list = Json::array();
    for (const PassRow& row : v->rows) {
      Json item = {{"name", row.name},
                   {"kind", row.kind},
                   {"time_ns", row.timeNs},
                   {"changed", row.changed},
                   {"ops_count", row.opsAfter},
                   {"ops_before_count", row.opsBefore},
                   {"solver_steps", row.solverSteps},
                   {"counters", mapJson(row.counters)},
                   {"remarks", row.remarks}};
      if (row.dearestSteps > 0)
        item["most_solver_steps"] = {{"op", row.dearestOp}, {"solver_steps", row.dearestSteps}};
      if (row.failed) item["problems"] = diagnosticsJson(row.diagnostics);
      list.push_back(std::move(item));
    }
    return {{"passes", list}, {"pipeline", v->pipeline}};
  }

  Json operator()(const Shared<DiffView>& v) const {
    Json lines = Json::array();
    for (const DiffLine& line : v->lines)
      lines.push_back({{"kind", toString(line.kind)},
                       {"before", line.before},
                       {"after", line.after},
                       {"what", line.what},
                       {"function", line.function}});
    return {{"from", v->fromName},
            {"to", v->toName},
            {"added_count", v->addedCount},
            {"removed_count", v->removedCount},
            {"changed_count", v->changedCount},
            {"unchanged_count", v->unchangedCount},
            {"lines", lines}};
  }

  Json operator()(const Shared<BisectView>& v) const {
    auto rowJson = [](const BisectRow& row) {
      return Json{{"index", row.step},
                  {"name", row.name},
                  {"by", row.by},
                  {"verdict", row.verdict},
                  {"difference", row.difference}};
    };
    Json steps = Json::array(), inputs = Json::array();
    for (const BisectRow& row : v->rows) steps.push_back(rowJson(row));
    for (const auto& [name, file] : v->reducedInputs) inputs.push_back({{"name", name}, {"file", file}});
    Json json = {{"steps", steps}, {"first_wrong", v->first ? rowJson(*v->first) : Json(nullptr)}};
    if (v->first) json["in_compilation"] = v->inCompilation;
    if (!v->reduced.empty())
      json["reduced"] = {{"ops_count", v->reducedOpsCount},
                         {"of_ops_count", v->opsCount},
                         {"file", v->reducedFile.empty() ? Json(nullptr) : Json(v->reducedFile)},
                         {"inputs", inputs},
                         {"again", v->again},
                         {"text", v->reduced}};
    return json;
  }

  Json operator()(const Shared<DimsTable>& v) const {
    Json list = Json::array();
    for (const DimRow& row : v->rows)
      list.push_back({{"symbol", row.symbol},
                      {"origin", row.origin},
                      {"facts", row.facts},
                      {"low", orNull(row.low)},
                      {"high", orNull(row.high)},
                      {"multiple", row.multiple},
                      {"likely", row.likely},
                      {"uses_count", row.usesCount},
                      {"uses", row.uses}});
    return {{"dims", list}, {"checks", v->checks}};
  }

  Json operator()(const Shared<WhyView>& v) const {
    return {{"why",
             {{"question", v->question},
              {"answer", v->answer},
              {"lines", v->lines},
              {"chain", v->chain},
              {"tree", treeJson(v->tree)},
              {"facts", v->facts},
              {"known", v->known},
              {"checks", v->checks},
              {"counterexample", mapJson(v->counterexample)},
              {"shapes", v->shapes},
              {"guard", v->guard.empty() ? Json(nullptr) : Json(v->guard)},
              {"weakest_guard", v->weakestGuard.empty() ? Json(nullptr) : Json(v->weakestGuard)}}}};
  }

  Json operator()(const Shared<PlanView>& v) const {
    Json arenas = Json::array(), buffers = Json::array();
    for (const PlanArena& a : v->arenas)
      arenas.push_back({{"function", a.function},
                        {"size", a.bytes},
                        {"size_bytes", orNull(a.sizeBytes)},
                        {"slots_count", a.slotsCount}});
    for (const PlanBuffer& b : v->buffers) {
      Json item = {{"name", b.name},
                   {"function", b.function},
                   {"dtype", b.dtype},
                   {"shape", shapeJson(b.shape)},
                   {"pooled", b.pooled}};
      item["offset"] = b.pooled ? Json(nullptr) : dimJson(b.offset);
      item["offset_bytes"] = orNull(b.offsetBytes);
      item["size"] = dimJson(b.bytes);
      item["size_bytes"] = orNull(b.sizeBytes);
      item["slot"] = b.slot;
      item["begin"] = b.begin;
      item["end"] = b.end;
      buffers.push_back(std::move(item));
    }
    Json plan = {{"dims", mapJson(v->dims)},
                 {"arenas", arenas},
                 {"buffers", buffers},
                 {"peak", dimJson(v->peak)},
                 {"predicted_peak_bytes", orNull(v->predictedPeakBytes)},
                 {"constants_bytes", v->constantsBytes}};
    plan["copies_count"] = v->copiesCount;
    plan["copied"] = dimJson(v->copied);
    plan["copied_bytes"] = orNull(v->copiedBytes);
    if (!v->whyNoPeak.empty()) plan["why_no_peak"] = v->whyNoPeak;
    return {{"plan", plan}};
  }

  Json operator()(const Shared<LimitView>& v) const {
    Json rows = Json::array();
    for (const LimitRow& row : v->rows)
      rows.push_back({{"symbol", row.symbol},
                      {"largest", orNull(row.largest)},
                      {"peak_bytes", orNull(row.peakBytes)},
                      {"others", mapJson(row.others)},
                      {"end", row.end}});
    return {{"limit", {{"limit_bytes", v->limitBytes}, {"dims", mapJson(v->dims)}, {"largest", rows}}}};
  }

  Json operator()(const Shared<KernelTable>& v) const {
    Json list = Json::array();
    for (const KernelRow& k : v->rows) {
      Json item = {{"name", k.name}, {"kind", k.kind}};
      if (!v->profiled) {
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
        item["bound_fraction"] = boundFraction(k);
        item["dims"] = k.dims;
      }
      list.push_back(std::move(item));
    }
    Json fields = {{"kernels", list}};
    if (v->profiled) return fields;
    Json contractions = Json::array();
    for (const ContractionRow& c : v->contractions)
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
    for (const CopyRow& copy : v->copies) {
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

  static Json candidatesJson(const std::vector<VersionTimes>& all) {
    Json list = Json::array();
    auto orNothing = [](std::optional<double> ns) {
      return ns ? Json(static_cast<int64_t>(*ns)) : Json(nullptr);
    };
    for (const VersionTimes& c : all)
      list.push_back({{"version", textOf(c.version)},
                      {"predicted_ns", orNothing(c.predictedNs)},
                      {"measured_ns", orNothing(c.measuredNs)}});
    return list;
  }

  Json operator()(const Shared<TuneView>& v) const {
    Json rows = Json::array();
    for (const TuneRow& row : v->rows)
      rows.push_back({{"key", row.key},
                      {"state", row.state},
                      {"chosen", textOf(row.chosen)},
                      {"sites_count", row.sitesCount},
                      {"shapes_count", row.shapesCount},
                      {"candidates", candidatesJson(row.candidates)}});
    return {{"file", v->file},
            {"cpu", v->cpu},
            {"threads", v->threads},
            {"operations", rows},
            {"measured_count", v->measuredCount},
            {"kept_count", v->keptCount},
            {"left_count", v->leftCount},
            {"skipped_count", v->skippedCount},
            {"trials_count", v->trialsCount}};
  }

  Json operator()(const Shared<RunResult>& v) const {
    Json outputs = Json::array(), runs = Json::array();
    for (const NamedValue& output : v->outputs) {
      outputs.push_back(valueJson(output));
      if (Json maps = mapsJson(output, v->outputs); !maps.is_null()) outputs.back()["maps"] = std::move(maps);
    }
    for (int64_t ns : v->runsNs) runs.push_back({{"ns", ns}});
    Json json = {{"dims", mapJson(v->dims)},
                 {"outputs", outputs},
                 {"random_inputs", v->randomInputs},
                 {"load_ns", v->loadNs},
                 {"compile_ns", v->compileNs},
                 {"kernels_count", v->kernelsCount},
                 {"kernels_compiled_count", v->kernelsCompiledCount},
                 {"kernels_compiled_after_load_count", v->kernelsCompiledAfterLoadCount},
                 {"runs", runs},
                 {"warmup_count", v->warmupCount},
                 {"peak_bytes", v->peakBytes},
                 {"predicted_peak_bytes", orNull(v->predictedPeakBytes)},
                 {"allocations_count", v->allocationsCount},
                 {"launches_count", v->launchesCount}};
    if (!v->whyNoPrediction.empty()) json["why_no_prediction"] = v->whyNoPrediction;
    if (v->keptPositions) json["kept_positions_count"] = *v->keptPositions;
    if (v->profile) json["kernels"] = (*this)(v->profile)["kernels"];
    if (v->levels) json["levels"] = levelsJson(*v->levels);
    if (!v->launches.empty()) json["device_counters"] = countsJson(sumByKernel(v->launches));
    if (!v->profileFile.empty()) json["profile_file"] = v->profileFile;
    if (!v->differences.empty()) {
      Json list = Json::array();
      for (const auto& [name, difference] : v->differences)
        list.push_back({{"name", name}, {"equal", difference.empty()}, {"difference", difference}});
      json["recorded"] = list;
    }
    return json;
  }

  Json operator()(const Shared<PredictView>& v) const {
    Json kernels = Json::array();
    for (const KernelRow& k : v->kernels.rows)
      kernels.push_back({{"name", k.name},
                         {"kind", k.kind},
                         {"place", k.place},
                         {"launches_count", k.launchesCount},
                         {"expected_ns", k.totalNs},
                         {"moved_bytes", k.movedBytes},
                         {"operations_count", k.operations},
                         {"bound", k.bound},
                         {"dims", k.dims}});
    return {{"prediction",
             {{"dims", mapJson(v->dims)},
              {"refused", v->refused.empty() ? Json(nullptr) : Json(v->refused)},
              {"checks", checksJson(v->checks)},
              {"time_ns", v->timeNs},
              {"peak_bytes", v->peakBytes},
              {"limits", v->kernels.limits},
              {"kernels", kernels}}}};
  }

  Json operator()(const Shared<SweepView>& v) const {
    Json points = Json::array(), bands = Json::array(), measured = Json::array();
    for (const SweepPoint& p : v->points)
      points.push_back({{"value", p.value},
                        {"time_ns", orNull(p.timeNs)},
                        {"peak_bytes", orNull(p.peakBytes)},
                        {"refused", p.refused.empty() ? Json(nullptr) : Json(p.refused)}});
    for (const SweepBand& band : v->bands)
      bands.push_back({{"from", band.from}, {"to", band.to}, {"versions", band.versions}});
    for (const MeasuredRun& run : v->measured)
      measured.push_back(
          {{"dims", mapJson(run.dims)}, {"time_ns", run.timeNs}, {"peak_bytes", run.peakBytes}});
    return {{"sweep",
             {{"symbol", v->symbol},
              {"others", mapJson(v->others)},
              {"points", points},
              {"bands", bands},
              {"measured", measured}}}};
  }

  Json operator()(const Shared<TensorView>& v) const {
    Json picture;
    if (!v->pictureAxes.empty())
      picture = {{"axes", v->pictureAxes},         {"rows", v->pictureRows},  {"columns", v->pictureColumns},
                 {"channels", v->pictureChannels}, {"black", v->pictureFrom}, {"white", v->pictureTo}};
    return {{"tensor",
             {{"name", v->name},
              {"dtype", v->dtype},
              {"shape", v->shape},
              {"from", v->from},
              {"size_bytes", v->sizeBytes},
              {"nan_count", v->nanCount},
              {"infinity_count", v->infinityCount},
              {"zero_count", v->zeroCount},
              {"min", orNull(v->least)},
              {"max", orNull(v->largest)},
              {"mean", orNull(v->mean)},
              {"deviation", orNull(v->deviation)},
              {"histogram", v->histogram},
              {"picture", std::move(picture)},
              {"file", v->file.empty() ? Json(nullptr) : Json(v->file)}}}};
  }

  Json operator()(const Shared<PlaceTree>& v) const {
    Json rows = Json::array();
    for (const PlaceRow& row : v->rows)
      rows.push_back({{"label", row.label},
                      {"kind", row.kind},
                      {"place", row.place},
                      {"parent", row.parent},
                      {"launches_count", row.launchesCount},
                      {"total_ns", row.totalNs},
                      {"bound_ns", row.boundNs},
                      {"bytes", row.bytes},
                      {"operations_count", row.operations}});
    return {{"run_ns", v->runNs}, {"places", rows}};
  }

  Json operator()(const Shared<LevelsView>& v) const { return levelsJson(*v); }

  Json operator()(const Shared<RunsView>& v) const {
    Json rows = Json::array();
    for (const RunDifference& row : v->rows)
      rows.push_back({{"place", row.place},
                      {"first_ns", orNull(row.firstNs)},
                      {"second_ns", orNull(row.secondNs)},
                      {"ratio", orNull(row.ratio)},
                      {"change", toString(row.change)}});
    return {{"first", v->first},
            {"second", v->second},
            {"first_number", v->firstNumber},
            {"second_number", v->secondNumber},
            {"first_time", timeJson(v->firstTime)},
            {"second_time", timeJson(v->secondTime)},
            {"change", toString(v->change)},
            {"first_peak_bytes", v->firstPeakBytes},
            {"second_peak_bytes", v->secondPeakBytes},
            {"notes", v->notes},
            {"places", rows}};
  }

  Json operator()(const Shared<RunList>& v) const {
    Json rows = Json::array();
    for (const RunRecord& record : v->rows) rows.push_back(toJson(record, RecordDetail::withoutPlaces));
    Json json = {{"runs", rows}, {"forgotten_count", v->forgottenCount}};
    if (!v->file.empty()) json["file"] = v->file;
    return json;
  }

  Json operator()(const Shared<BenchResult>& v) const {
    Json shapes = Json::array();
    for (const BenchRow& row : v->rows) shapes.push_back(benchRow(row));
    Json json = {{"shapes", shapes},
                 {"overall", benchRow(v->overall)},
                 {"load_ns", v->loadNs},
                 {"compile_ns", v->compileNs},
                 {"kernels_compiled_count", v->kernelsCompiledCount}};
    if (!v->file.empty()) json["file"] = v->file;
    if (!v->baselineFile.empty()) {
      json["baseline_file"] = v->baselineFile;
      json["baseline_notes"] = v->baselineNotes;
    }
    return json;
  }

  Json operator()(const Shared<ServeResult>& v) const {
    Json batching = nullptr;
    if (v->batching)
      batching = {{"dim", v->batch.empty() ? Json(nullptr) : Json(v->batch)},
                  {"sequence", v->sequence.empty() ? Json(nullptr) : Json(v->sequence)},
                  {"lengths", v->lengths.empty() ? Json(nullptr) : Json(v->lengths)},
                  {"compared", v->comparedText}};
    return {{"rate_per_s", v->perSecond},
            {"seconds", v->seconds},
            {"batching", batching},
            {"requests_count", v->requestsCount},
            {"completed_count", v->completedCount},
            {"rejected_count", v->rejectedCount},
            {"runs_count", v->runsCount},
            {"longest_line_count", v->longestLineCount},
            {"p50_ns", v->p50Ns},
            {"p90_ns", v->p90Ns},
            {"p99_ns", v->p99Ns},
            {"mean_ns", v->meanNs},
            {"run_p50_ns", v->runP50Ns},
            {"throughput_per_s", v->throughputPerSecond},
            {"busy_share", v->busyShare},
            {"load_ns", v->loadNs},
            {"compile_ns", v->compileNs},
            {"kernels_compiled_count", v->kernelsCompiledCount}};
  }

  Json operator()(const Shared<CacheView>& v) const {
    Json kinds = Json::array();
    for (const CacheView::Row& row : v->rows)
      kinds.push_back({{"kind", row.kind}, {"files_count", row.filesCount}, {"bytes", row.bytes}});
    Json json = {{"directory", v->directory == "none" ? Json(nullptr) : Json(v->directory)},
                 {"refusal", v->refusal.empty() ? Json(nullptr) : Json(v->refusal)},
                 {v->done == CacheView::Done::cleared ? "removed" : "files", kinds}};
    if (v->done == CacheView::Done::verified) json["damaged"] = v->damaged;
    return json;
  }

  Json operator()(const Shared<CompileResult>& v) const {
    return {{"file", v->file.empty() ? Json(nullptr) : Json(v->file)},
            {"file_bytes", v->fileBytes},
            {"passes_ns", v->passesNs},
            {"lower_ns", v->lowerNs},
            {"compile_ns", v->compileNs},
            {"kernels_count", v->kernelsCount},
            {"kernels_compiled_count", v->kernelsCompiledCount},
            {"constants_bytes", v->constantsBytes}};
  }

  Json operator()(const Shared<ExportResult>& v) const {
    Json files = Json::array();
    for (const ExportResult::File& file : v->files)
      files.push_back({{"path", file.path}, {"bytes", file.bytes}});
    return {{"kind", v->kind},
            {"files", files},
            {"target", v->target},
            {"ram_bound_bytes", orNull(v->ramBoundBytes)},
            {"weights_bytes", v->weightsBytes},
            {"runtime_bytes", v->runtimeBytes},
            {"entry_points", v->entryPoints}};
  }

  Json operator()(const Shared<SaveResult>& v) const {
    Json files = Json::array(), passedOver = Json::array();
    for (const ExportResult::File& file : v->files)
      files.push_back({{"path", file.path}, {"bytes", file.bytes}});
    for (const SaveResult::PassedOver& step : v->passedOver)
      passedOver.push_back({{"pass", step.step}, {"reason", step.reason}});
    return {{"files", files},
            {"step", orNull(v->step)},
            {"pass", v->stepName},
            {"nodes_count", v->nodesCount},
            {"weights_bytes", v->weightsBytes},
            {"opsets", v->opsets},
            {"left_out", v->leftOut},
            {"passed_over", passedOver}};
  }

  Json operator()(const Shared<InferResult>& v) const {
    return {{"files", Json::array({{{"path", v->file.path}, {"bytes", v->file.bytes}}})},
            {"values_count", v->valuesCount},
            {"typed_count", v->typedCount},
            {"dims",
             {{"numbers_count", v->numberDimsCount},
              {"formulas_count", v->formulaDimsCount},
              {"unknown_count", v->unknownDimsCount}}},
            {"untyped", v->untyped}};
  }

  Json operator()(const Shared<GenerateResult>& v) const {
    Json sequences = Json::array();
    for (const GeneratedText& sequence : v->sequences) {
      Json item = {{"prompt", sequence.prompt}, {"prompt_ids", sequence.promptIds},
                   {"ids", sequence.ids},       {"text", sequence.text},
                   {"end", sequence.end},       {"first_token_ns", sequence.firstTokenNs}};
      if (!sequence.stop.empty()) item["stop"] = sequence.stop;
      sequences.push_back(std::move(item));
    }
    return {{"sequences", std::move(sequences)},
            {"caches", v->caches},
            {"new_tokens_count", v->newTokensCount},
            {"steps_count", v->stepsCount},
            {"rows_count", v->rowsCount},
            {"first_token_ns", v->firstTokenNs},
            {"total_ns", v->totalNs}};
  }

  Json operator()(const Shared<GeneraliseResult>& v) const {
    Json files = Json::array(), changes = Json::array(), refused = Json::array(), trials = Json::array();
    if (v->file) files.push_back({{"path", v->file->path}, {"bytes", v->file->bytes}});
    for (const auto& change : v->changes)
      changes.push_back({{"place", change.place},
                         {"op", change.op},
                         {"what", change.what},
                         {"why", change.why},
                         {"doubtful", change.doubtful}});
    for (const auto& one : v->refused)
      refused.push_back({{"place", one.place}, {"op", one.op}, {"why", one.why}});
    for (const auto& trial : v->trials)
      trials.push_back(
          {{"dims", mapJson(trial.sizes)}, {"runs", trial.failure.empty()}, {"failure", trial.failure}});
    return {{"files", files},
            {"changes", changes},
            {"refused", refused},
            {"example", mapJson(v->sizes)},
            {"same_bits", v->file ? Json(v->sameBits) : Json(nullptr)},
            {"limits", mapJson(v->limits)},
            {"trials", trials}};
  }

  Json operator()(const Shared<ModelDifference>& v) const { return differenceJson(*v); }
  Json operator()(const Shared<ValueComparison>& v) const { return comparisonJson(*v); }
  Json operator()(const Shared<ExtractResult>& v) const { return extractJson(*v); }
  Json operator()(const Shared<QuantiseResult>& v) const { return quantiseJson(*v); }
  Json operator()(const Shared<CertificateView>& v) const { return certificateJson(*v); }

  Json operator()(const Shared<ReportResult>& v) const {
    return {{"files", Json::array({{{"path", v->file.path}, {"bytes", v->file.bytes}}})},
            {"passes_count", v->passesCount},
            {"kernels_count", v->kernelsCount},
            {"dims", mapJson(v->dims)},
            {"no_run", v->whyNoRun.empty() ? Json(nullptr) : Json(v->whyNoRun)}};
  }

  Json operator()(const Shared<VerifyResult>& v) const {
    return {{"name", v->name}, {"status", toString(v->status)},      {"reason", v->reason}, {"op", v->op},
            {"id", v->code},   {"data_sets_count", v->dataSetsCount}};
  }

  Json operator()(const Shared<EvalResult>& v) const {
    Json values = Json::array();
    for (const NamedValue& value : v->values) {
      Json item = valueJson(value);
      item["text"] = value.value.toString(64);
      values.push_back(std::move(item));
    }
    return {{"values", values}};
  }

  Json operator()(const Shared<TypeView>& v) const {
    return {{"expression", v->expression}, {"type", v->type}};
  }

  Json operator()(const Shared<VariableTable>& v) const {
    Json list = Json::array();
    for (const auto& row : v->rows)
      list.push_back({{"name", row.name}, {"type", row.type}, {"size_bytes", row.sizeBytes}});
    return {{"values", list}};
  }

  Json operator()(const Shared<SettingTable>& v) const {
    Json list = Json::array();
    for (const auto& row : v->rows)
      list.push_back({{"name", row.name},
                      {"value", row.value},
                      {"from", row.from},
                      {"section", row.section},
                      {"option", row.option},
                      {"help", row.help}});
    return {{"settings", list}};
  }

  Json operator()(const Shared<ProblemList>& v) const {
    Json json = {{"problems", diagnosticsJson(v->problems)},
                 {"problems_count", v->problems.size()},
                 {"warnings", diagnosticsJson(v->warnings)},
                 {"warnings_count", v->warnings.size()},
                 {"unsupported_ops", mapJson(v->unsupportedOps)}};
    if (!v->sizes) return json;
    Json findings = Json::array();
    for (const SizeFinding& finding : v->sizes->findings) {
      Json one = toJson(finding.diagnostic);
      one["proved_to_fail"] = finding.diagnostic.severity == Severity::error;
      one["demand"] = finding.demand;
      one["op"] = finding.diagnostic.op;
      one["sizes"] = mapJson(finding.sizes);
      const auto source = v->sources.find(finding.diagnostic.place.node.str());
      if (source != v->sources.end())
        one["source"] = {
            {"file", source->second.file}, {"line", source->second.line}, {"code", source->second.code}};
      findings.push_back(std::move(one));
    }
    json["assumed"] = v->sizes->assumed;
    json["findings"] = std::move(findings);
    json["checks_count"] = v->sizes->checksCount;
    json["proved_count"] = v->sizes->provedCount;
    json["further_count"] = v->sizes->furtherCount;
    return json;
  }

  Json operator()(const Shared<TextView>& v) const { return {{"text", v->text}}; }

  static Json countsJson(const DeviceCounts& row, bool ofLaunch) {
    Json json = {{"function", row.function}, {"kernel", row.name}, {"index", row.index}};
    if (ofLaunch) {
      json["launch"] = row.launch;
      json["grid"] = row.grid;
      json["block"] = row.threads;
    } else {
      json["launches_count"] = row.launchesCount;
    }
    json["warp_instructions_count"] = row.instructions;
    json["lane_instructions_count"] = row.laneInstructions;
    json["active_lanes"] = row.activeLanes();
    json["global_requests_count"] = row.globalRequests;
    json["global_sectors_count"] = row.globalSectors;
    json["sectors_per_request"] = row.sectorsPerRequest();
    json["shared_requests_count"] = row.sharedRequests;
    json["shared_ways_count"] = row.sharedWays;
    json["shared_ways_per_request"] = row.waysPerRequest();
    json["branches_count"] = row.branches;
    json["divergent_branches_count"] = row.divergentBranches;
    json["barriers_count"] = row.barriers;
    json["atomics_count"] = row.atomics;
    return json;
  }

  static Json countsJson(const DeviceCountTable& table) {
    Json rows = Json::array();
    for (const DeviceCounts& row : table.rows) rows.push_back(countsJson(row, table.byLaunch));
    return rows;
  }

  Json operator()(const Shared<DeviceCountTable>& v) const {
    return {{v->byLaunch ? "device_launches" : "device_counters", countsJson(*v)}};
  }

  Json operator()(const Shared<WarpView>& v) const {
    Json registers = Json::array();
    for (const WarpView::Register& held : v->registers)
      registers.push_back({{"name", held.name}, {"bits", held.bits}, {"lanes", held.lanes}});
    Json warp = {{"launch", v->launch},
                 {"function", v->function},
                 {"kernel", v->name},
                 {"grid", v->grid},
                 {"threads", v->threads},
                 {"block", v->block},
                 {"warp", v->warp},
                 {"warps_count", v->warpsCount},
                 {"active", v->active},
                 {"exists", v->exists},
                 {"ended", v->ended},
                 {"waiting", v->parked},
                 {"line", v->line},
                 {"instruction", v->instruction},
                 {"loop_line", v->loopLine},
                 {"loop_text", v->loopText},
                 {"instructions_count", v->instructions},
                 {"barriers_count", v->barriers},
                 {"fault", v->fault},
                 {"registers", registers}};
    if (!v->shared.empty())
      warp["shared"] = {{"offset", v->sharedOffset}, {"bytes", v->shared}, {"written", v->sharedWritten}};
    return {{"warp", warp}};
  }

  Json operator()(const Shared<PlacementView>& v) const {
    Json rows = Json::array();
    for (const PlacementView::Row& row : v->rows)
      rows.push_back({{"values", row.values},
                      {"operation", row.operation},
                      {"place", row.place},
                      {"device", row.onDevice ? "cuda" : "cpu"},
                      {"reason", row.reason},
                      {"rule", row.rule}});
    return {{"placement", rows}, {"place_rules", v->rules}, {"device_copies_count", v->copiesCount}};
  }

  Json operator()(const Shared<NodeList>& v) const {
    Json rows = Json::array();
    for (const NodeList::Row& row : v->rows)
      rows.push_back({{"id", row.id},
                      {"index", row.index},
                      {"op", row.op},
                      {"name", row.name},
                      {"type", row.type},
                      {"place", row.place}});
    Json json = {{"step", v->step}, {"step_name", v->stepName}, {"title", v->title}, {"operations", rows}};
    if (v->firstUse != kNoNode) json["first_use"] = v->firstUse;
    if (v->lastUse != kNoNode) json["last_use"] = v->lastUse;
    return json;
  }
};

}  // namespace

Json toJson(const View& view) { return std::visit(JsonWriter{}, view); }

Json toJson(const Diagnostic& diagnostic) {
  Json json = {{"id", std::string(diagnosticRow(diagnostic.id).code)},
               {"name", std::string(diagnosticRow(diagnostic.id).name)},
               {"message", diagnostic.message},
               {"place", diagnostic.place.toString()},
               {"notes", diagnostic.notes}};
  if (!diagnostic.op.empty()) json["op"] = diagnostic.op;
  return json;
}

std::string jsonText(const Json& document) {
  return visibleJson(document.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace dyn
