#include "app/session/explain/node_source.h"

#include <algorithm>
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

std::vector<NodeSource> framesIn(std::string_view trace) {
  constexpr std::string_view kFile = "File \"", kLine = "\", line ", kIn = ", in ",
                             kComment = ".py:", kCall = ".py(";
  std::vector<NodeSource> frames;
  for (size_t at = trace.find(kFile); at != std::string_view::npos; at = trace.find(kFile, at + 1)) {
    const size_t name = at + kFile.size(), line = trace.find(kLine, name);
    if (line == std::string_view::npos) break;
    NodeSource& frame = frames.emplace_back();
    frame.file = trace.substr(name, line - name);
    frame.line = lineNumberAt(trace.substr(line + kLine.size()));
    const size_t end = std::min(trace.find('\n', line), trace.size());
    if (const size_t in = trace.find(kIn, line); in < end)
      frame.function = trace.substr(in + kIn.size(), end - in - kIn.size());
    if (const std::string_view code = firstLine(trace.substr(std::min(end + 1, trace.size())));
        code.rfind(kFile, 0) != 0)
      frame.code = code;
    if (frame.line <= 0) frames.pop_back();
  }
  if (!frames.empty()) return frames;
  if (const size_t ending = trace.find(kComment); ending != std::string_view::npos) {
    const size_t begin = trace.find_last_of(" \t\n#", ending) + 1;  // of none: the text's begin
    NodeSource frame;
    frame.file = trace.substr(begin, ending + kComment.size() - 1 - begin);
    frame.line = lineNumberAt(trace.substr(ending + kComment.size()));
    if (frame.line > 0) return {frame};
  }
  for (size_t at = trace.find(kCall); at != std::string_view::npos; at = trace.find(kCall, at + 1)) {
    const size_t begin = trace.find_last_of(" \t\n#", at) + 1;
    const size_t end = std::min(trace.find('\n', at), trace.size());
    NodeSource frame;
    frame.file = trace.substr(begin, at + kCall.size() - 1 - begin);
    frame.line = lineNumberAt(trace.substr(at + kCall.size()));
    if (const size_t name = trace.find("): ", at); name < end)
      frame.function = trace.substr(name + 3, end - name - 3);
    if (frame.line > 0) frames.insert(frames.begin(), std::move(frame));
  }
  return frames;
}

NodeSource sourceIn(std::string_view trace) {
  std::vector<NodeSource> frames = framesIn(trace);
  return frames.empty() ? NodeSource() : std::move(frames.back());
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
