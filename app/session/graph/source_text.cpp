#include "app/session/graph/source_text.h"

#include <algorithm>

#include "app/session/graph/onnx_source.h"
#include "compiler/ir/walk.h"
#include "compiler/support/mapped_file.h"

namespace dyn {

namespace {

constexpr size_t kMostSourceBytes = size_t{1} << 26;

// The first step has what was read, the last one what passes made of it: both name places.
template <typename Visit>
void eachTracedOp(const LoadedModel& model, const Visit& visit) {
  const std::vector<TraceStep>& steps = model.trace().steps;
  if (steps.empty()) return forEachOp(model.imported(), visit);
  forEachOp(steps.front().after, visit);
  if (steps.size() > 1) forEachOp(model.placed(), visit);
}

void addPlaceOnce(std::vector<std::string>& places, std::string place) {
  if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(std::move(place));
}

KnownNodes knownNodes(const LoadedModel& model) {
  KnownNodes known;
  eachTracedOp(model, [&](const Function&, const Op& op) {
    if (op.place.known()) addPlaceOnce(known.places[op.place.byteOffset], op.place.toString());
  });
  if (!model.problems().empty()) return known;
  const Module& typed = model.typed();
  forEachOp(typed, [&](const Function&, const Op& op) {
    if (!op.place.known()) return;
    for (const ValueDef& result : op.results)
      known.types.emplace(std::pair(op.place.byteOffset, typed.context->valueName(result.id)),
                          result.type.toString());
  });
  return known;
}

// How many brackets a line opens that it does not close; those of bodies do not count, strings and comments
// neither.
int openBrackets(std::string_view line) {
  int open = 0;
  bool quoted = false;
  for (size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (quoted && c == '\\') ++at;
    if (c == '"' && (at == 0 || !quoted || line[at] == '"')) quoted = !quoted;
    if (quoted) continue;
    if (c == '#' || line.substr(at, 2) == "//") break;
    open += c == '(' || c == '[';
    open -= c == ')' || c == ']';
  }
  return open;
}

Result<IrText> textSource(const LoadedModel& model) {
  const std::string& path = model.info().path;
  DYN_TRY(const MappedFile file, MappedFile::open(model.request().path));
  if (file.size() > kMostSourceBytes)
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: " + path + " is too large to be shown as text");
  std::map<uint32_t, std::vector<std::string>> places;
  eachTracedOp(model, [&](const Function&, const Op& op) {
    if (op.place.line > 0) addPlaceOnce(places[op.place.line], op.place.toString());
  });
  IrText text;
  text.text = file.bytes();
  if (!text.text.empty() && text.text.back() != '\n') text.text += '\n';
  uint32_t line = 0;
  int open = 0;  // brackets of the statement that a line begins
  for (size_t begin = 0; begin < text.text.size();) {
    const size_t end = text.text.find('\n', begin);
    ++line;
    const bool goesOn = open > 0 && !text.origins.empty();
    if (const auto found = places.find(line); found != places.end())
      text.origins.push_back({line, line, found->second, {}, false, 0});
    else if (goesOn)
      text.origins.back().lastLine = line;
    if (goesOn || places.count(line) > 0)
      open = std::max(0, open + openBrackets(std::string_view(text.text).substr(begin, end - begin)));
    begin = end + 1;
  }
  return text;
}

}  // namespace

Result<IrText> modelSource(const LoadedModel& model) {
  const std::string& path = model.request().path;
  if (!model.hasModule())
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: a package does not hold the text that it was compiled from");
  if (path.empty() || path == "-")
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: the model came from no file whose text could be shown");
  Result<IrText> text =
      model.kind() == ModelKind::onnx ? onnxSource(path, knownNodes(model)) : textSource(model);
  if (!text.ok()) return text;
  text->level = IrLevel::source;
  text->title = model.info().path;
  return text;
}

}  // namespace dyn
