#include "app/session/explain/node_source.h"

#include <charconv>

#ifdef DYN_HAVE_ONNX
#include "app/session/views/problem_views.h"
#include "frontends/onnx/read/onnx_model.h"
#endif

namespace dyn {
namespace {

int64_t lineNumberAt(std::string_view text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string_view firstLine(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  const size_t begin = text.find_first_not_of(" \t");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
}

}  // namespace

NodeSource sourceIn(std::string_view trace) {
  constexpr std::string_view kFile = "File \"", kLine = "\", line ", kEnding = ".py:";
  NodeSource found;
  for (size_t at = trace.find(kFile); at != std::string_view::npos; at = trace.find(kFile, at + 1)) {
    const size_t name = at + kFile.size(), line = trace.find(kLine, name);
    if (line == std::string_view::npos) break;
    found.file = trace.substr(name, line - name);
    found.line = lineNumberAt(trace.substr(line + kLine.size()));
    const size_t end = trace.find('\n', line);
    found.code = end == std::string_view::npos ? "" : std::string(firstLine(trace.substr(end + 1)));
  }
  if (found.line > 0) return found;
  const size_t ending = trace.find(kEnding);
  if (ending == std::string_view::npos) return {};
  const size_t begin = trace.find_last_of(" \t\n#", ending) + 1;  // of none: the text's begin
  found.file = trace.substr(begin, ending + kEnding.size() - 1 - begin);
  found.line = lineNumberAt(trace.substr(ending + kEnding.size()));
  return found.line > 0 ? found : NodeSource();
}

std::map<std::string, NodeSource> sourcesOf([[maybe_unused]] const std::string& path,
                                            [[maybe_unused]] const std::vector<Diagnostic>& diagnostics) {
  std::map<std::string, NodeSource> sources;
#ifdef DYN_HAVE_ONNX
  if (diagnostics.empty()) return sources;
  const Result<onnx::Model> model = onnx::openModel(path);
  if (!model.ok()) return sources;
  int64_t opset = 0;
  for (const onnx::OperatorSetId& id : model->opsetImports)
    if (id.domain.empty()) opset = id.version;
  std::map<std::string, const onnx::NodeProto*> nodes;
  for (const onnx::NodeProto& node : model->graph->nodes) nodes.emplace(onnx::placeName(node, opset), &node);
  for (const Diagnostic& diagnostic : diagnostics) {
    const std::string name = diagnostic.place.node.str();
    const auto node = nodes.find(name);
    if (node == nodes.end()) continue;
    NodeSource source = sourceIn(node->second->docString());
    for (const onnx::StringPair& entry : node->second->metadata())
      if (entry.key == "pkg.torch.onnx.stack_trace") source = sourceIn(entry.value);
    if (source.line > 0) sources[name] = std::move(source);
  }
#endif
  return sources;
}

}  // namespace dyn
