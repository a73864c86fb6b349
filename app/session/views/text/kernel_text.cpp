#include "app/session/views/text/kernel_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/session/views/kernel_views.h"
#include "app/session/views/text/text_parts.h"
#include "app/session/views/text/view_cases.h"
#include "app/session/views/text_table.h"
#include "app/session/views/view_text.h"
#include "compiler/support/clock.h"

namespace dyn {

namespace {

// The chosen one first, the others by what they take; `mark` stands beside the chosen one.
void addCandidates(TextRows& rows, std::vector<std::string> head, std::vector<VersionTimes> all,
                   const contraction::Version& chosen, const std::string& mark) {
  auto time = [&](const VersionTimes& c) {
    return c.measuredNs ? *c.measuredNs : c.predictedNs ? *c.predictedNs : 0;
  };
  std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
    const bool first = a.version == chosen, second = b.version == chosen;
    if (first != second) return first;
    if (a.measuredNs.has_value() != b.measuredNs.has_value()) return a.measuredNs.has_value();
    return time(a) < time(b);
  });
  const auto timeText = [](const std::optional<double>& ns) { return ns ? durationText(wholeNs(*ns)) : "-"; };
  constexpr size_t kMostShown = 5;
  for (size_t i = 0; i < all.size() && i < kMostShown; ++i) {
    std::vector<std::string> row = head;
    row.insert(row.end(), {textOf(all[i].version), timeText(all[i].predictedNs), timeText(all[i].measuredNs),
                           all[i].version == chosen ? mark : ""});
    rows.push_back(std::move(row));
    for (std::string& cell : head) cell.clear();
  }
  if (all.size() <= kMostShown) return;
  head.insert(head.end(), {fmt::format("{} more", all.size() - kMostShown), "", "", ""});
  rows.push_back(std::move(head));
}

bool isSeveral(const contraction::Version& version) {
  const auto* dispatch = std::get_if<contraction::Dispatch>(&version);
  return dispatch && dispatch->pieces.size() > 1;
}

std::string choiceSizesText(const std::vector<int64_t>& sizes) {
  std::string text;
  for (int64_t size : sizes) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text.empty() ? "-" : text;
}

std::string contractionsText(const std::vector<ContractionRow>& all, const TextOptions& options) {
  if (all.empty()) return "";
  TextRows rows;
  for (const ContractionRow& c : all) {
    std::string mark = "chosen by " + (c.by == "measured" ? "measurement" : c.by);
    if (isSeveral(c.dispatch)) mark += ": " + textOf(c.dispatch);
    if (!c.measuredSizes.empty() && c.measuredSizes != c.sizes)
      mark += " (measured at " + choiceSizesText(c.measuredSizes) + ")";
    addCandidates(rows, {c.key, std::to_string(c.values.size()), choiceSizesText(c.sizes)}, c.candidates,
                  c.chosen, mark);
  }
  return "\n" + textTable({"contraction", ">uses", "input", "version", ">predicted", ">measured", ""}, rows,
                          options);
}

std::string copiesText(const std::vector<CopyRow>& all, const TextOptions& options) {
  if (all.empty()) return "";
  TextRows rows;
  for (const CopyRow& copy : all)
    for (const CopyRow::Refusal& refusal : copy.refusals) {
      const bool first = &refusal == &copy.refusals.front();
      rows.push_back({first ? copy.value : "", first ? "@" + copy.function : "", first ? copy.bytes : "",
                      first ? bytesOrDash(copy.sizeBytes) : "", refusal.by, refusal.why});
    }
  return "\n" + textTable({"copy", "in", "bytes", ">size", "because", "which"}, rows, options);
}

}  // namespace

std::string boundsText(const KernelTable& table, const char* timeTitle, const TextOptions& options) {
  TextRows rows;
  bool isBeyond = false;
  for (const KernelRow& k : table.rows)
    if (!k.bound.empty()) {
      const BoundShare share = boundShare(k.boundNs, k.totalNs);
      isBeyond = isBeyond || share.isBeyond;
      rows.push_back({k.kind, shortened(k.name, 36), std::to_string(k.launchesCount), durationText(k.totalNs),
                      fmt::format("{:.1f}%", k.share * 100), bytesText(static_cast<int64_t>(k.movedBytes)),
                      fmt::format("{:.3g}", (k.operations + k.calls) * 1e-6), k.bound,
                      share.value      ? fmt::format("{:.0f}%", *share.value * 100)
                      : share.isBeyond ? "-"
                                       : "",
                      k.dims, nodeOf(k.site)});
    }
  return textTable({"kind", "name", ">launches", std::string(">") + timeTitle, ">share", ">moved", ">Mop",
                    "bound by", ">of it", "sizes", "at"},
                   rows, options) +
         table.limits + "\n" +
         (isBeyond
              ? sentence("-: it took less than its bound, as its data was in a nearer cache than the bound "
                         "assumes",
                         options)
              : "");
}

std::string viewText(const TuneView& view, const TextOptions& options) {
  TextRows rows;
  for (const TuneRow& row : view.rows) {
    std::vector<std::string> head = {row.key, std::to_string(row.sitesCount), std::to_string(row.shapesCount),
                                     row.state};
    if (row.candidates.empty()) {
      head.insert(head.end(), {textOf(row.chosen), "", "", ""});
      rows.push_back(std::move(head));
      continue;
    }
    if (isSeveral(row.chosen)) {
      head.insert(head.end(), {textOf(row.chosen), "",
                               row.chosenNs ? durationText(wholeNs(*row.chosenNs)) : "-", "chosen"});
      rows.push_back(head);
      for (std::string& cell : head) cell.clear();
      head.resize(4);
    }
    addCandidates(rows, head, row.candidates, row.chosen, "chosen");
  }
  std::string text =
      rows.empty()
          ? "no contractions with constant weights\n"
          : textTable({"contraction", ">uses", ">shapes", "state", "version", ">predicted", ">measured", ""},
                      rows, options);
  text += fmt::format("{} measured, {} kept", view.measuredCount, view.keptCount);
  if (view.trialsCount > 0) text += fmt::format(", {} trials", view.trialsCount);
  if (view.leftCount > 0) text += fmt::format(", {} left for another time", view.leftCount);
  if (view.skippedCount > 0) text += fmt::format(", {} with nothing to measure", view.skippedCount);
  text += fmt::format("\nrecords: {}\nfor {} thread{} on {}\n", view.file, view.threads,
                      view.threads == 1 ? "" : "s", view.cpu);
  return text;
}

std::string viewText(const KernelTable& view, const TextOptions& options) {
  if (view.rows.empty()) return "no kernels\n";
  TextRows rows;
  if (!view.profiled) {
    for (const KernelRow& k : view.rows)
      rows.push_back({k.index >= 0 ? std::to_string(k.index) : "", k.kind, k.name, k.description});
    return textTable({">#", "kind", "name", "what"}, rows, options) +
           contractionsText(view.contractions, options) + copiesText(view.copies, options);
  }
  if (view.explained) return boundsText(view, "time", options);
  // Loading constants is a row each in the profile, and nothing to look at one by one.
  KernelRow constants;
  constants.kind = "constant";
  size_t constantsCount = 0;
  auto add = [&](const KernelRow& k) {
    const bool moves = k.kind == "kernel" || k.kind == "builtin" || k.kind == "copy";
    rows.push_back({k.kind, shortened(k.name, 44), std::to_string(k.launchesCount), durationText(k.totalNs),
                    fmt::format("{:.1f}%", k.share * 100),
                    moves && k.bytes && k.totalNs
                        ? fmt::format("{:.1f}", static_cast<double>(k.bytes) / static_cast<double>(k.totalNs))
                        : "",
                    nodeOf(k.place)});
  };
  for (const KernelRow& k : view.rows) {
    if (k.kind != "constant") {
      add(k);
      continue;
    }
    ++constantsCount;
    constants.launchesCount += k.launchesCount;
    constants.totalNs += k.totalNs;
    constants.share += k.share;
  }
  constants.name = fmt::format("{} constants", constantsCount);
  if (constantsCount > 0) add(constants);
  return textTable({"kind", "name", ">launches", ">time", ">share", ">GB/s", "first at"}, rows, options);
}

}  // namespace dyn
