#include "app/session/handlers/stop_text.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "app/engine/run/run_result.h"
#include "app/session/graph/kernel_members.h"
#include "app/session/handlers/expression.h"
#include "app/session/views/stop_views.h"
#include "compiler/support/mapped_file.h"

namespace dyn {

namespace {

bool isWholeNumber(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// By object register. A value has no name where its name is its number.
std::map<int32_t, std::string> namesAt(const LoadedModel& model, const SteppedRun::Stop& stop) {
  std::map<int32_t, std::string> names;
  const auto& functions = model.compiled()->lowered.registerValues;
  const auto function = static_cast<size_t>(stop.functionIndex);
  if (function >= functions.size()) return names;
  for (const RegisterValue& held : functions[function]) {
    if (held.position > stop.position) break;
    std::string name = model.placed().context->valueName(held.value);
    names[held.object] = isWholeNumber(name) ? "" : std::move(name);
  }
  return names;
}

// "v12" → 12; -1: no object register.
int32_t objectOf(const StoppedRegister& held) {
  int32_t index = -1;
  if (held.name.size() > 1 && held.name[0] == 'v')
    std::from_chars(held.name.data() + 1, held.name.data() + held.name.size(), index);
  return index;
}

const SteppedRun* standingRun(const SessionState& state) {
  const bool stands =
      state.debug && state.debug->model() == state.now.model.get() && state.debug->isStopped();
  return stands ? state.debug.get() : nullptr;
}

// "mlp.dyn:3:7" → {"mlp.dyn", 3}; line 0: it is none of a text.
std::pair<std::string, uint32_t> sourceLineOf(const std::string& place) {
  const size_t column = place.rfind(':');
  const size_t line = column == std::string::npos || column == 0 ? column : place.rfind(':', column - 1);
  if (line == std::string::npos || !isWholeNumber(place.substr(column + 1))) return {"", 0};
  const std::string number = place.substr(line + 1, column - line - 1);
  if (!isWholeNumber(number) || number.size() > 9) return {"", 0};
  return {place.substr(0, line), static_cast<uint32_t>(std::stoul(number))};
}

// "model.onnx: byte 7: node /layer/MatMul (MatMul, opset 17)" → "node /layer/MatMul (MatMul)"; "" otherwise
std::string nodeOfPlace(const std::string& place) {
  const size_t node = place.rfind("node ");
  if (node == std::string::npos) return "";
  std::string text = place.substr(node);
  if (const size_t opset = text.rfind(", opset "); opset != std::string::npos)
    text = text.substr(0, opset) + ")";
  return text;
}

std::vector<std::string> linesOfFile(const std::string& path) {
  constexpr size_t kMostBytes = size_t{1} << 24;
  std::vector<std::string> lines;
  const Result<MappedFile> file = MappedFile::open(path);
  if (!file.ok() || file->size() > kMostBytes) return lines;
  const std::string_view text = file->bytes();
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace

void nameRegisters(const LoadedModel& model, const SteppedRun::Stop* before, const SteppedRun::Stop& stop,
                   std::vector<StoppedRegister>& registers) {
  const auto name = [](const std::map<int32_t, std::string>& names, const StoppedRegister& held) {
    const auto found = names.find(objectOf(held));
    return found == names.end() ? std::string() : found->second;
  };
  const std::map<int32_t, std::string> names = namesAt(model, stop);
  std::map<std::string, StoppedRegister> known;
  if (before && before->function == stop.function && before->depth == stop.depth) {
    const std::map<int32_t, std::string> namesBefore = namesAt(model, *before);
    for (StoppedRegister held : before->registers) {
      held.holds = name(namesBefore, held);
      known.emplace(held.name, std::move(held));
    }
  }
  for (StoppedRegister& held : registers) {
    held.holds = name(names, held);
    const auto was = known.find(held.name);
    held.changed = was == known.end() ? held.value != "0" || !held.type.empty()
                                      : was->second.value != held.value || was->second.type != held.type ||
                                            was->second.holds != held.holds;
  }
}

std::vector<StopView::SourceLine> sourceAround(const LoadedModel& model, const std::string& place) {
  constexpr uint32_t kAround = 2;
  std::vector<StopView::SourceLine> shown;
  const auto members = kernelMembers(model.placed());
  const auto found = members.find(place);
  const std::vector<std::string> same = found == members.end() ? std::vector<std::string>() : found->second;
  const auto [path, line] = sourceLineOf(place);
  if (line == 0) {
    for (const std::string& other : same)
      if (other != place && !nodeOfPlace(other).empty())
        shown.push_back({0, nodeOfPlace(other), true, false});
    if (!nodeOfPlace(place).empty()) shown.push_back({0, nodeOfPlace(place), true, true});
    return shown;
  }
  std::vector<uint32_t> marked;
  for (const std::string& other : same)
    if (const auto [file, number] = sourceLineOf(other); file == path) marked.push_back(number);
  const std::vector<std::string> lines = linesOfFile(path);
  for (uint32_t number = 1; number <= lines.size(); ++number) {
    const bool isMarked = std::find(marked.begin(), marked.end(), number) != marked.end();
    const bool isNear = number + kAround >= line && number <= line + kAround;
    if (isNear || isMarked) shown.push_back({number, lines[number - 1], isMarked, number == line});
  }
  return shown;
}

std::optional<BoundValue> stoppedValue(const SessionState& state, const std::string& name) {
  const SteppedRun* run = standingRun(state);
  if (!run || name.empty() || isWholeNumber(name)) return std::nullopt;
  const SteppedRun::Stop& stop = run->lastStop();
  const std::map<int32_t, std::string> names = namesAt(*run->model(), stop);
  for (const StoppedRegister& held : stop.registers) {
    const auto found = names.find(objectOf(held));
    if (found == names.end() || found->second != name || held.type.empty()) continue;
    Result<Value> value = run->objectRegister(found->first);
    if (!value.ok()) continue;
    if (!value->isTensor()) return BoundValue{*value, held.type};
    const HostTensor& tensor = value->tensor();
    if (tensor.dtype() == Dtype::string) return BoundValue{*value, held.type};
    Result<HostTensor> copy = HostTensor::create(tensor.dtype(), tensor.shape());
    if (!copy.ok()) return std::nullopt;
    if (tensor.sizeBytes() > 0)
      std::memcpy(copy->mutableData(), tensor.bytes(), static_cast<size_t>(tensor.sizeBytes()));
    Value own(*std::move(copy));
    std::string type = typeText(own);
    return BoundValue{std::move(own), std::move(type)};
  }
  return std::nullopt;
}

std::vector<std::string> stoppedNames(const SessionState& state) {
  std::vector<std::string> all;
  const SteppedRun* run = standingRun(state);
  if (!run) return all;
  const std::map<int32_t, std::string> names = namesAt(*run->model(), run->lastStop());
  for (const StoppedRegister& held : run->lastStop().registers)
    if (const auto name = names.find(objectOf(held)); name != names.end() && !name->second.empty())
      all.push_back(name->second);
  return all;
}

}  // namespace dyn
