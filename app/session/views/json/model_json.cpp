#include "app/engine/model/model_info.h"
#include "app/session/views/json/json_parts.h"
#include "app/session/views/json/view_cases.h"
#include "app/session/views/view_json.h"

namespace dyn {

namespace {

Json portsJson(const std::vector<ValueInfo>& ports) {
  Json list = Json::array();
  for (const ValueInfo& port : ports) {
    Json item = {{"name", port.name}};
    if (port.kind != "tensor" && !port.kind.empty()) item["kind"] = port.kind;
    // Until inference has run, nothing is known of an output that its file does not describe.
    const bool isKnown = !port.kind.empty();
    item["dtype"] = isKnown ? Json(port.dtype) : Json();
    item["shape"] = isKnown ? shapeJson(port.shape) : Json();
    if (isKnown && port.kind != "tensor") item["type"] = port.type;
    list.push_back(std::move(item));
  }
  return list;
}

Json latencyJson(const LatencyInfo& latency) {
  if (!latency.fault.empty()) return {{"fault", latency.fault}};
  Json measured = Json::object();
  for (const auto& [dim, sizes] : latency.measured) measured[dim] = {sizes.first, sizes.second};
  return {{"formula", latency.formula},
          {"flops", latency.flops.empty() ? Json(nullptr) : Json(latency.flops)},
          {"spread", latency.spread},
          {"measured", measured},
          {"sizes_count", latency.sizesCount},
          {"runs_count", latency.runsCount},
          {"machine", latency.machine},
          {"device", latency.device},
          {"threads_count", latency.threads},
          {"elsewhere", latency.elsewhere}};
}

}  // namespace

Json viewJson(const ModelInfo& view) {
  Json json = {{"kind", toString(view.kind)}, {"path", view.path}};
  if (!view.producer.empty()) json["producer"] = view.producer;
  if (view.kind == ModelKind::onnx) {
    json["ir_version"] = view.irVersion;
    json["opset"] = view.opset;
  }
  json["inputs"] = portsJson(view.inputs);
  json["outputs"] = portsJson(view.outputs);
  json["ops"] = mapJson(view.ops);
  json["ops_count"] = view.opsCount;
  json["functions_count"] = view.functionsCount;
  json["weights_count"] = view.weightsCount;
  json["weights_bytes"] = view.weightsBytes;
  json["parameters_count"] = view.parametersCount;
  if (!view.flops.empty()) json["flops"] = view.flops;
  if (view.latency) json["latency"] = latencyJson(*view.latency);
  json["warnings"] = diagnosticsJson(view.warnings);
  if (view.problemsCount > 0) json["problems_count"] = view.problemsCount;
  return json;
}

}  // namespace dyn
