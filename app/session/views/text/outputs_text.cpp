#include "app/session/views/text/outputs_text.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "app/session/views/name_families.h"
#include "compiler/support/visible_text.h"

namespace dyn {

namespace {

constexpr size_t kFewOutputs = 6;              // whose elements are shown, however large they are
constexpr int64_t kSmall = 200;                // elements
constexpr int64_t kSearchedUpTo = 50'000'000;  // elements

struct Range {
  double least = INFINITY, most = -INFINITY;
  int64_t nanCount = 0;
};

// Nothing: of no numbers, or of too many.
std::optional<Range> outputRange(const HostTensor& tensor) {
  const DtypeClass kind = dtypeClass(tensor.dtype());
  if (kind == DtypeClass::text || kind == DtypeClass::complex || kind == DtypeClass::boolean)
    return std::nullopt;
  if (tensor.elementCount() > kSearchedUpTo || tensor.elementCount() == 0) return std::nullopt;
  Range range;
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    const double value = tensor.realAt(i);
    range.nanCount += std::isnan(value);
    range.least = std::fmin(range.least, value);
    range.most = std::fmax(range.most, value);
  }
  return range;
}

std::string outputShapeText(const HostTensor& tensor) {
  std::string text = std::string(toString(tensor.dtype())) + "[";
  for (size_t i = 0; i < tensor.shape().size(); ++i)
    text += (i > 0 ? ", " : "") + std::to_string(tensor.shape()[i]);
  return text + "]";
}

// "12 x f32[1, 4], -0.5 to 3.25, 2 NaN"
std::string outputSummary(const std::vector<const HostTensor*>& tensors) {
  std::string text = tensors.size() > 1 ? fmt::format("{} x ", tensors.size()) : "";
  text += outputShapeText(*tensors.front());
  Range all;
  for (const HostTensor* tensor : tensors) {
    const std::optional<Range> range = outputRange(*tensor);
    if (!range) return text;
    all.least = std::fmin(all.least, range->least);
    all.most = std::fmax(all.most, range->most);
    all.nanCount += range->nanCount;
  }
  if (all.least <= all.most) text += fmt::format(", {:.6g} to {:.6g}", all.least, all.most);
  if (all.nanCount > 0) text += fmt::format(", {} NaN", all.nanCount);
  return text;
}

}  // namespace

std::string outputsText(const RunResult& run, const TextOptions& options) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const NamedValue& output : run.outputs) rows.emplace_back(output.name, output.type);
  std::vector<NameFamily> families;
  if (options.full || rows.size() <= kFewOutputs)
    for (size_t i = 0; i < rows.size(); ++i) families.push_back({rows[i].first, {i}});
  else
    families = nameFamilies(rows);
  std::string text;
  for (const NameFamily& family : families) {
    const std::string title = visibleLine(family.title);
    text += (options.color ? "\033[1m" + title + "\033[0m" : title) + " = ";
    std::vector<const HostTensor*> tensors;
    for (const size_t i : family.members)
      if (run.outputs[i].value.isTensor()) tensors.push_back(&run.outputs[i].value.tensor());
    const NamedValue& first = run.outputs[family.members.front()];
    const bool isLarge = rows.size() > kFewOutputs && !options.full && !tensors.empty() &&
                         tensors.front()->elementCount() > kSmall;
    if (tensors.size() == family.members.size() && (tensors.size() > 1 || isLarge))
      text += outputSummary(tensors) + "\n";
    else if (family.members.size() > 1)
      text += fmt::format("{} x {}\n", family.members.size(), first.type);
    else
      text += toText(first.value, first.type, options) + "\n";
    if (first.file.empty()) continue;
    text += "  written to " + first.file;
    if (family.members.size() > 1) text += " ... " + run.outputs[family.members.back()].file;
    text += "\n";
  }
  return text;
}

std::string portsText(const char* what, const std::vector<ValueInfo>& ports) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const ValueInfo& port : ports) rows.emplace_back(port.name, port.type);
  std::string text;
  for (const NameFamily& family : nameFamilies(rows)) {
    const std::string& type = rows[family.members.front()].second;
    text += fmt::format("  {:<7} {}{}{}", what, visibleLine(family.title), type.empty() ? "" : ": ", type);
    text += family.members.size() > 1 ? fmt::format("  ({} of them)\n", family.members.size()) : "\n";
  }
  return text;
}

}  // namespace dyn
