#include <fmt/format.h>

#include "app/session/views/memory_views.h"
#include "app/session/views/text/text_parts.h"
#include "app/session/views/text/view_cases.h"
#include "app/session/views/text_table.h"
#include "app/session/views/view_text.h"

namespace dyn {

namespace {

// The arenas and buffers of @main; nothing where the size of one is not known.
std::optional<int64_t> plannedBytes(const PlanView& v) {
  std::optional<int64_t> sum = 0;
  const auto add = [&](std::optional<int64_t> bytes) {
    sum = sum && bytes ? std::optional(*sum + *bytes) : std::nullopt;
  };
  for (const PlanArena& arena : v.arenas)
    if (arena.function == "main") add(arena.sizeBytes);
  for (const PlanBuffer& buffer : v.buffers)
    if (buffer.function == "main" && buffer.pooled) add(buffer.sizeBytes);
  return sum;
}

// What the peak is made of: what is planned, and what no line of the plan has.
std::string peakText(const PlanView& v) {
  const int64_t peak = *v.predictedPeakBytes;
  const std::optional<int64_t> known = plannedBytes(v);
  const int64_t planned = known.value_or(0);
  const std::string text = fmt::format("peak {} ({} bytes)", bytesText(peak), peak);
  if (!known || planned > peak) return text;
  return text + fmt::format(
                    ": {} planned, {} for registers of the host code, headers of tensors and "
                    "scratch memory of kernels",
                    bytesText(planned), bytesText(peak - planned));
}

}  // namespace

std::string viewText(const PlanView& view, const TextOptions& options) {
  // With sizes: numbers, the peak first. Without: formulas.
  const bool hasSizes = !view.dims.empty();
  std::string text;
  if (hasSizes)
    text +=
        sentence("with " + dimValuesText(view.dims) + ": " +
                     (view.predictedPeakBytes ? peakText(view)
                                              : "the peak is not known from these dims alone" +
                                                    (view.whyNoPeak.empty() ? "" : ": " + view.whyNoPeak)),
                 options);
  for (const PlanArena& arena : view.arenas) {
    const std::string slots =
                          fmt::format("{} {}", arena.slotsCount, arena.slotsCount == 1 ? "slot" : "slots"),
                      name = "arena of @" + arena.function + ": ";
    const std::string line = arena.sizeBytes ? fmt::format("{}{} in {} = {} bytes", name,
                                                           bytesText(*arena.sizeBytes), slots, arena.bytes)
                                             : fmt::format("{}{} bytes, {}", name, arena.bytes, slots);
    text += sentence(line, options);
  }
  TextRows rows;
  for (const PlanBuffer& b : view.buffers) {
    const std::string offset = b.pooled ? "pool" : b.offsetBytes ? std::to_string(*b.offsetBytes) : b.offset;
    const std::string life = fmt::format("{}..{}", b.begin, b.end);
    rows.push_back({b.name, "@" + b.function, offset, bytesOrDash(b.sizeBytes), life, b.bytes});
  }
  // Offsets without sizes are formulas.
  if (!rows.empty())
    text +=
        textTable({"buffer", "in", hasSizes ? ">offset" : "offset", ">size", "life", "bytes"}, rows, options);
  text += sentence("at most " + view.peak + " bytes, constants " + bytesText(view.constantsBytes), options);
  if (view.copiesCount > 0)
    text += fmt::format("{} {} of {} bytes because readers take no strides, see :kernels\n", view.copiesCount,
                        view.copiesCount == 1 ? "copy" : "copies", view.copied);
  if (!hasSizes && view.predictedPeakBytes) text += peakText(view) + "\n";
  return text;
}

std::string viewText(const LimitView& view, const TextOptions& options) {
  const bool isTime = view.limitNs > 0;
  TextRows rows;
  for (const LimitRow& row : view.rows)
    rows.push_back({row.symbol, row.largest ? std::to_string(*row.largest) : "none",
                    row.peakBytes ? std::to_string(*row.peakBytes)
                    : row.timeNs  ? durationText(*row.timeNs)
                                  : "-",
                    dimValuesText(row.others), row.end});
  if (isTime)
    return sentence("within " + durationText(view.limitNs) +
                        (view.source == LatencySource::package ? ", by the package's formula: "
                                                               : ", by measured runs: ") +
                        view.formula,
                    options) +
           (view.outside.empty() ? "" : sentence("a guess: " + view.outside, options)) +
           textTable({"dim", ">largest", ">at most", "with", "why not more"}, rows, options);
  return fmt::format("within {} ({} bytes)\n", bytesText(view.limitBytes), view.limitBytes) +
         textTable({"dim", ">largest", ">peak bytes", "with", "why not more"}, rows, options);
}

}  // namespace dyn
