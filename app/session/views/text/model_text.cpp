#include <fmt/format.h>

#include <algorithm>

#include "app/engine/model/model_info.h"
#include "app/session/views/text/outputs_text.h"
#include "app/session/views/text/text_parts.h"
#include "app/session/views/text/view_cases.h"
#include "app/session/views/view_text.h"
#include "compiler/support/visible_text.h"

namespace dyn {

namespace {

std::string latencyText(const LatencyInfo& latency, const TextOptions& options) {
  if (!latency.fault.empty())
    return sentence("  its formula of the time cannot be read: " + visibleLine(latency.fault), options);
  std::string text = sentence("  time = " + visibleLine(latency.formula), options);
  if (!latency.flops.empty()) text += sentence("  flops = " + visibleLine(latency.flops), options);
  std::string measured;
  for (const auto& [dim, sizes] : latency.measured)
    measured += fmt::format("{}{} = {}..{}", measured.empty() ? "" : ", ", visibleLine(dim), sizes.first,
                            sizes.second);
  text +=
      sentence(fmt::format("  from {:.2f} to {:.2f} times as long; {} at {} sizes, {}, on {}, {}, {}",
                           1 / latency.spread, latency.spread,
                           latency.runsCount == 1 ? "1 run" : fmt::format("{} runs", latency.runsCount),
                           latency.sizesCount, measured.empty() ? "fixed" : measured,
                           latency.machine.empty() ? "an unknown processor" : visibleLine(latency.machine),
                           visibleLine(latency.device),
                           latency.threads == 1 ? "1 thread" : fmt::format("{} threads", latency.threads)),
               options);
  for (const std::string& difference : latency.elsewhere)
    text += sentence("  it does not count here: " + visibleLine(difference), options);
  return text;
}

}  // namespace

std::string viewText(const ModelInfo& view, const TextOptions& options) {
  std::string text = view.path;
  if (view.kind == ModelKind::onnx)
    text += fmt::format("  ONNX, IR version {}, opset {}", view.irVersion, view.opset);
  if (view.kind == ModelKind::text) text += "  text module";
  if (view.kind == ModelKind::package) text += "  package";
  if (!view.producer.empty()) text += ", by " + visibleLine(view.producer);
  text += "\n";
  text += portsText("input", view.inputs) + portsText("output", view.outputs);
  if (!view.symbols.empty()) text += "  dims    " + visibleLine(joinedWords(view.symbols)) + "\n";
  if (view.problemsCount > 0)
    text += fmt::format("  {} {}: it can be looked at (:graph), and not run; :check lists {}\n",
                        view.problemsCount, view.problemsCount == 1 ? "problem" : "problems",
                        view.problemsCount == 1 ? "it" : "them");
  else if (view.kind != ModelKind::package)
    text += fmt::format("  {} operations in {} {}, {} constants of {}\n", view.opsCount, view.functionsCount,
                        view.functionsCount == 1 ? "function" : "functions", view.weightsCount,
                        bytesText(view.weightsBytes));
  if (view.latency) text += latencyText(*view.latency, options);
  std::vector<std::pair<int64_t, std::string>> ops;
  for (const auto& [name, count] : view.ops) ops.emplace_back(-count, name);
  std::sort(ops.begin(), ops.end());
  std::string list;
  for (const auto& [count, name] : ops)
    list += (list.empty() ? "" : ", ") + name + (count == -1 ? "" : " x" + std::to_string(-count));
  if (!list.empty()) text += sentence("  " + list, options);
  return text;
}

}  // namespace dyn
