#include "app/session/views/view_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "app/engine/run/run_times.h"
#include "app/session/views/change_views_text.h"
#include "app/session/views/check_formats.h"
#include "app/session/views/device_text.h"
#include "app/session/views/generated_text.h"
#include "app/session/views/ir_colors.h"
#include "app/session/views/level_views_text.h"
#include "app/session/views/outputs_text.h"
#include "app/session/views/runs_text.h"
#include "app/session/views/stop_view_text.h"
#include "app/session/views/text_table.h"
#include "compiler/support/excerpt.h"
#include "compiler/support/visible_text.h"

namespace dyn {

namespace {

using Rows = TextRows;

std::string paint(const std::string& text, const char* code, const TextOptions& options) {
  return options.color ? std::string("\033[") + code + "m" + text + "\033[0m" : text;
}

std::string joinedWords(const std::vector<std::string>& parts, const char* separator = ", ") {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : separator) + part;
  return text;
}

std::string joinedWords(const DimValues& dims) {
  std::string text;
  for (const auto& [name, value] : dims)
    text += (text.empty() ? "" : ", ") + name + "=" + std::to_string(value);
  return text;
}

std::string bytesOrDash(std::optional<int64_t> bytes) { return bytes ? bytesText(*bytes) : "-"; }

std::string predictionText(const PredictView& v) {
  std::string text = v.dims.empty() ? "" : "with " + joinedWords(v.dims) + " ";
  if (v.refused.empty())
    text += fmt::format("expected: {}, peak {} ({} bytes)\n", durationText(v.timeNs), bytesText(v.peakBytes),
                        v.peakBytes);
  else
    text += "no run: " + v.refused + "\n";
  for (const RangeFault& fault : v.outside) text += "  " + fault.text + "\n";
  for (const CheckRow& check : v.checks)
    if (check.fails)
      text += fmt::format("  {} fails, {} against {}: {}; :why {} says more\n", check.name, *check.left,
                          *check.right, check.text, check.name);
  for (const ContractionRow& row : v.kernels.contractions)
    text += "  " + contraction::textOf(row.chosen) + " by " + row.by + ": " +
            shortened(joinedWords(row.values), 60) + "\n";
  return text;
}

std::string tensorViewText(const TensorView& v) {
  std::string shape;
  for (const int64_t size : v.shape) shape += (shape.empty() ? "" : ", ") + std::to_string(size);
  std::string text = fmt::format("{}: {} [{}], {}, {}\n", visibleLine(v.name), v.dtype, shape,
                                 bytesText(v.sizeBytes), v.from);
  if (v.least)
    text += fmt::format("min {:.6g}, max {:.6g}, mean {:.6g}, deviation {:.6g}\n", *v.least, *v.largest,
                        *v.mean, *v.deviation);
  text += fmt::format("{} elements, {} zero, {} NaN, {} infinite\n", v.elementsCount, v.zeroCount, v.nanCount,
                      v.infinityCount);
  static constexpr const char* kBlocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const int64_t most = v.histogram.empty() ? 0 : *std::max_element(v.histogram.begin(), v.histogram.end());
  for (const int64_t count : v.histogram)
    text += kBlocks[count == 0 ? 0 : 1 + 7 * (count - 1) / std::max<int64_t>(1, most)];
  if (!v.histogram.empty()) text += "\n";
  text += v.text + "\n";
  if (!v.file.empty()) text += "written to " + v.file + "\n";
  return text;
}

struct TextWriter {
  const TextOptions& options;

  std::string operator()(std::monostate) const { return ""; }

  // A line of words.
  std::string sentence(const std::string& words) const {
    return wrapped(words, options.fitted ? static_cast<size_t>(options.width) : 0, 2) + "\n";
  }

  std::string operator()(const Shared<ModelInfo>& v) const {
    std::string text = v->path;
    if (v->kind == ModelKind::onnx)
      text += fmt::format("  ONNX, IR version {}, opset {}", v->irVersion, v->opset);
    if (v->kind == ModelKind::text) text += "  text module";
    if (v->kind == ModelKind::package) text += "  package";
    if (!v->producer.empty()) text += ", by " + visibleLine(v->producer);
    text += "\n";
    text += portsText("input", v->inputs) + portsText("output", v->outputs);
    if (!v->symbols.empty()) text += "  dims    " + visibleLine(joinedWords(v->symbols)) + "\n";
    if (v->problemsCount > 0)
      text += fmt::format("  {} {}: it can be looked at (:graph), and not run; :check lists {}\n",
                          v->problemsCount, v->problemsCount == 1 ? "problem" : "problems",
                          v->problemsCount == 1 ? "it" : "them");
    else if (v->kind != ModelKind::package)
      text += fmt::format("  {} operations in {} {}, {} constants of {}\n", v->opsCount, v->functionsCount,
                          v->functionsCount == 1 ? "function" : "functions", v->weightsCount,
                          bytesText(v->weightsBytes));
    std::vector<std::pair<int64_t, std::string>> ops;
    for (const auto& [name, count] : v->ops) ops.emplace_back(-count, name);
    std::sort(ops.begin(), ops.end());
    std::string list;
    for (const auto& [count, name] : ops)
      list += (list.empty() ? "" : ", ") + name + (count == -1 ? "" : " x" + std::to_string(-count));
    if (!list.empty()) text += sentence("  " + list);
    return text;
  }

  std::string operator()(const Shared<GraphView>& v) const {
    return fmt::format("step {} ({}): {} nodes, {} edges, {} groups\n", v->step, v->stepName, v->nodes.size(),
                       v->edges.size(), v->groups.size());
  }

  std::string operator()(const Shared<IrText>& v) const {
    if (!v->file.empty()) return "wrote " + v->file + "\n";
    std::string text = v->text;
    if (!text.empty() && text.back() != '\n') text += '\n';
    return options.color ? colored(text) : text;
  }

  std::string operator()(const Shared<LinkedLines>& v) const {
    constexpr size_t kMostLines = 12;
    std::string text = fmt::format("{} {}: {}\n", toString(v->level), v->line.line, v->line.text);
    for (const LinkedLines::Level& level : v->levels) {
      text += fmt::format("{}{}\n", toString(level.level), level.lines.empty() ? ": nothing" : "");
      const size_t shown = options.full ? level.lines.size() : std::min(level.lines.size(), kMostLines);
      for (size_t i = 0; i < shown; ++i)
        text += fmt::format("  {:>6}  {}\n", level.lines[i].line, level.lines[i].text);
      if (shown < level.lines.size())
        text += fmt::format("          ... and {} more lines\n", level.lines.size() - shown);
    }
    return text;
  }

  std::string operator()(const Shared<StopView>& v) const {
    if (v->ended)
      return v->why + "\n" + (v->result ? toText(View(Shared<RunResult>(v->result)), options) : "");
    return stopText(*v, options);
  }

  std::string operator()(const Shared<BreakpointTable>& v) const {
    std::string text;
    for (const BreakpointTable::Row& row : v->rows)
      text += fmt::format(
          "{}  {}  {}{}\n", row.number, row.what, row.where,
          row.hits == 0 ? "" : fmt::format("  hit {} {}", row.hits, row.hits == 1 ? "time" : "times"));
    for (const std::string& name : v->watched) text += "watched  " + name + "\n";
    return text.empty() ? "no breakpoints\n" : text;
  }

  std::string operator()(const Shared<PassList>& v) const {
    Rows rows;
    for (const PassRow& row : v->rows) {
      std::vector<std::string> counters;
      for (const auto& [name, value] : row.counters) counters.push_back(name + "=" + std::to_string(value));
      rows.push_back({(v->current == row.index ? "> " : "  ") + std::to_string(row.index), row.name,
                      row.failed    ? "failed"
                      : row.changed ? "changed"
                                    : "-",
                      durationText(row.timeNs), std::to_string(row.opsBefore), std::to_string(row.opsAfter),
                      std::to_string(row.solverSteps), joinedWords(counters)});
    }
    std::string text =
        textTable({"  #", "pass", "", ">time", ">ops", ">after", ">solver", "counters"}, rows, options);
    for (const PassRow& row : v->rows)
      for (size_t i = 0; i < row.remarks.size(); ++i) {
        if (i == 5) {
          text += fmt::format("  {}: ... {} more\n", row.name, row.remarks.size() - i);
          break;
        }
        text += "  " + row.name + ": " + row.remarks[i] + "\n";
      }
    return text;
  }

  std::string operator()(const Shared<DiffView>& v) const {
    std::string text =
        paint(fmt::format("{} -> {}: {} added, {} removed, {} changed, {} the same\n", v->fromName, v->toName,
                          v->addedCount, v->removedCount, v->changedCount, v->unchangedCount),
              "1", options);
    std::string function;
    int lines = 0;
    for (size_t i = 0; i < v->lines.size(); ++i) {
      const DiffLine& line = v->lines[i];
      if (options.mostLines > 0 && !options.full && lines >= options.mostLines) {
        text += fmt::format("... {} more; :set full on shows all\n", v->lines.size() - i);
        break;
      }
      if (line.function != function && !line.function.empty()) {
        function = line.function;
        text += "@" + function + "\n";
      }
      // Of an operation that only got types the new line says it all.
      const bool typesOnly = line.what == std::vector<std::string>{"types"};
      if (!line.before.empty() && !typesOnly)
        text += paint("- " + line.before, "31", options) + "\n", ++lines;
      if (!line.after.empty())
        text += paint((typesOnly ? "~ " : "+ ") + line.after, typesOnly ? "33" : "32", options) + "\n",
            ++lines;
    }
    return text;
  }

  std::string operator()(const Shared<BisectView>& v) const {
    Rows rows;
    for (const BisectRow& row : v->rows)
      rows.push_back({std::to_string(row.step), row.name, row.by, row.verdict, row.difference});
    std::string text = textTable({">#", "step", "evaluated by", "results", ""}, rows, options);
    if (!v->first) return text + "no step changes a result\n";
    const std::string what = v->inCompilation ? "the fault is in lowering or code generation"
                                              : fmt::format("the first wrong pass is {} (step {})",
                                                            v->first->name, v->first->step);
    text += paint(what, "1", options) + "\n";
    if (v->reduced.empty()) return text;
    text += fmt::format("reduced to {} of {} operations{}\n", v->reducedOpsCount, v->opsCount,
                        v->reducedFile.empty() ? "" : ", written to " + v->reducedFile);
    if (v->reducedFile.empty()) text += v->reduced;
    for (const auto& [name, file] : v->reducedInputs) text += "  %" + name + " in " + file + "\n";
    if (!v->again.empty()) text += "to see it again: " + v->again + "\n";
    return text;
  }

  std::string operator()(const Shared<DimsTable>& v) const {
    if (v->rows.empty()) return "all shapes are fixed\n";
    Rows rows;
    for (const DimRow& row : v->rows) {
      std::string range =
          (row.low ? std::to_string(*row.low) : "") + ".." + (row.high ? std::to_string(*row.high) : "");
      if (row.multiple > 1) range += " x" + std::to_string(row.multiple);
      rows.push_back({row.symbol, range, std::to_string(row.usesCount), row.origin});
    }
    std::string text = textTable({"dim", "range", ">uses", "where it comes from"}, rows, options);
    std::set<std::string> shown;  // a fact about two symbols stands at both
    for (const DimRow& row : v->rows)
      for (const std::string& fact : row.facts)
        if (shown.insert(fact).second) text += "  " + fact + "\n";
    for (const std::string& check : v->checks) text += "  " + check + "\n";
    return text;
  }

  std::string operator()(const Shared<WhyView>& v) const {
    std::string text = v->question + " " + paint(v->answer, "1", options) + "\n";
    for (const std::string& line : v->lines) text += "  " + line + "\n";
    for (const std::string& step : v->chain) text += "  " + step + "\n";
    for (const std::string& fact : v->facts) text += "  because " + fact + "\n";
    for (const std::string& fact : v->known) text += "  known: " + fact + "\n";
    if (!v->counterexample.empty())
      text += "  not for " + joinedWords(v->counterexample) +
              (v->shapes.empty() ? "" : ": inputs " + joinedWords(v->shapes)) + "\n";
    if (!v->guard.empty())
      text += "  the cheapest guard that would make them equal: " + v->guard +
              (v->weakestGuard.empty() ? "" : "; the weakest: " + v->weakestGuard) + "\n";
    for (const std::string& check : v->checks) text += "  checked at run time: " + check + "\n";
    return text;
  }

  // The arenas and buffers of @main; nothing where the size of one is not known.
  static std::optional<int64_t> plannedBytes(const PlanView& v) {
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
  static std::string peakText(const PlanView& v) {
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

  std::string operator()(const Shared<PlanView>& v) const {
    std::string text;
    for (const PlanArena& arena : v->arenas)
      text +=
          sentence(fmt::format("arena of @{}: {} bytes{}, {} slots", arena.function, arena.bytes,
                               arena.sizeBytes ? " = " + bytesText(*arena.sizeBytes) : "", arena.slotsCount));
    Rows rows;
    for (const PlanBuffer& b : v->buffers)
      rows.push_back({b.name, "@" + b.function, b.pooled ? "pool" : b.offset, b.bytes,
                      bytesOrDash(b.sizeBytes), fmt::format("{}..{}", b.begin, b.end)});
    if (!rows.empty()) text += textTable({"buffer", "in", "offset", "bytes", ">size", "life"}, rows, options);
    text += sentence("at most " + v->peak + " bytes, constants " + bytesText(v->constantsBytes));
    if (v->copiesCount > 0)
      text += fmt::format("{} {} of {} bytes because readers take no strides, see :kernels\n", v->copiesCount,
                          v->copiesCount == 1 ? "copy" : "copies", v->copied);
    if (!v->dims.empty()) text += "with " + joinedWords(v->dims) + ": ";
    if (v->predictedPeakBytes) text += peakText(*v);
    if (!v->dims.empty() && !v->predictedPeakBytes)
      text +=
          "the peak is not known from these dims alone" + (v->whyNoPeak.empty() ? "" : ": " + v->whyNoPeak);
    if (v->predictedPeakBytes || !v->dims.empty()) text += "\n";
    return text;
  }

  std::string operator()(const Shared<LimitView>& v) const {
    Rows rows;
    for (const LimitRow& row : v->rows)
      rows.push_back({row.symbol, row.largest ? std::to_string(*row.largest) : "none",
                      row.peakBytes ? std::to_string(*row.peakBytes) : "-", joinedWords(row.others),
                      row.end});
    return fmt::format("within {} ({} bytes)\n", bytesText(v->limitBytes), v->limitBytes) +
           textTable({"dim", ">largest", ">peak bytes", "with", "why not more"}, rows, options);
  }

  std::string explained(const KernelTable& v, const char* timeTitle) const {
    Rows rows;
    for (const KernelRow& k : v.rows)
      if (!k.bound.empty())
        rows.push_back({k.kind, shortened(k.name, 36), std::to_string(k.launchesCount),
                        durationText(k.totalNs), fmt::format("{:.1f}%", k.share * 100),
                        bytesText(static_cast<int64_t>(k.movedBytes)),
                        fmt::format("{:.3g}", (k.operations + k.calls) * 1e-6), k.bound,
                        fmt::format("{:.0f}%", boundFraction(k) * 100), k.dims, nodeOf(k.site)});
    return textTable({"kind", "name", ">launches", std::string(">") + timeTitle, ">share", ">moved", ">Mop",
                      "bound by", ">of it", "sizes", "at"},
                     rows, options) +
           v.limits + "\n";
  }

  std::string operator()(const Shared<PredictView>& v) const {
    std::string text = predictionText(*v);
    if (!v->refused.empty()) return text;
    return text + explained(v->kernels, "expected");
  }

  std::string operator()(const Shared<SweepView>& v) const {
    TextRows rows;
    for (const SweepPoint& p : v->points)
      rows.push_back({std::to_string(p.value), p.timeNs ? durationText(*p.timeNs) : "-",
                      bytesOrDash(p.peakBytes),
                      p.band >= 0 ? v->bands[static_cast<size_t>(p.band)].versions : p.refused});
    for (const MeasuredRun& run : v->measured)
      rows.push_back({std::to_string(run.dims.at(v->symbol)), durationText(run.timeNs),
                      bytesText(run.peakBytes), "measured"});
    return (v->others.empty() ? "" : "with " + joinedWords(v->others) + "\n") +
           textTable({v->symbol, ">time", ">peak", "versions"}, rows, options);
  }

  std::string operator()(const Shared<TensorView>& v) const { return tensorViewText(*v); }

  std::string operator()(const Shared<PlaceTree>& v) const {
    TextRows rows;
    std::vector<int> depths;
    for (const PlaceRow& row : v->rows) {
      depths.push_back(row.parent < 0 ? 0 : depths[static_cast<size_t>(row.parent)] + 1);
      const double ns = static_cast<double>(row.totalNs);
      rows.push_back({std::string(2 * static_cast<size_t>(depths.back()), ' ') + shortened(row.label, 44),
                      row.kind, std::to_string(row.launchesCount), durationText(row.totalNs),
                      v->runNs > 0 ? fmt::format("{:.1f}%", 100 * ns / static_cast<double>(v->runNs)) : "-",
                      ns > 0 && row.bytes > 0 ? fmt::format("{:.1f}", row.bytes / ns) : "-",
                      ns > 0 && row.operations > 0 ? fmt::format("{:.1f}", row.operations / ns) : "-"});
    }
    return textTable({"place", "", ">launches", ">time", ">share", ">GB/s", ">GFLOP/s"}, rows, options);
  }

  std::string operator()(const Shared<LevelsView>& v) const { return levelsText(*v, options); }

  std::string operator()(const Shared<RunsView>& v) const { return comparisonText(*v, options); }
  std::string operator()(const Shared<RunList>& v) const { return runListText(*v, options); }

  // The chosen one first, the others by what they take; `mark` stands beside the chosen one.
  static void addCandidates(Rows& rows, std::vector<std::string> head, std::vector<VersionTimes> all,
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
    const auto timeText = [](const std::optional<double>& ns) {
      return ns ? durationText(static_cast<int64_t>(*ns)) : "-";
    };
    constexpr size_t kMostShown = 5;
    for (size_t i = 0; i < all.size() && i < kMostShown; ++i) {
      std::vector<std::string> row = head;
      row.insert(row.end(), {textOf(all[i].version), timeText(all[i].predictedNs),
                             timeText(all[i].measuredNs), all[i].version == chosen ? mark : ""});
      rows.push_back(std::move(row));
      for (std::string& cell : head) cell.clear();
    }
    if (all.size() <= kMostShown) return;
    head.insert(head.end(), {fmt::format("{} more", all.size() - kMostShown), "", "", ""});
    rows.push_back(std::move(head));
  }

  static bool isSeveral(const contraction::Version& version) {
    const auto* dispatch = std::get_if<contraction::Dispatch>(&version);
    return dispatch && dispatch->pieces.size() > 1;
  }

  static std::string sizesText(const std::vector<int64_t>& sizes) {
    std::string text;
    for (int64_t size : sizes) text += (text.empty() ? "" : "x") + std::to_string(size);
    return text.empty() ? "-" : text;
  }

  std::string contractionsText(const std::vector<ContractionRow>& all) const {
    if (all.empty()) return "";
    Rows rows;
    for (const ContractionRow& c : all) {
      std::string mark = "chosen by " + (c.by == "measured" ? "measurement" : c.by);
      if (isSeveral(c.dispatch)) mark += ": " + textOf(c.dispatch);
      if (!c.measuredSizes.empty() && c.measuredSizes != c.sizes)
        mark += " (measured at " + sizesText(c.measuredSizes) + ")";
      addCandidates(rows, {c.key, std::to_string(c.values.size()), sizesText(c.sizes)}, c.candidates,
                    c.chosen, mark);
    }
    return "\n" + textTable({"contraction", ">uses", "input", "version", ">predicted", ">measured", ""}, rows,
                            options);
  }

  std::string copiesText(const std::vector<CopyRow>& all) const {
    if (all.empty()) return "";
    Rows rows;
    for (const CopyRow& copy : all)
      for (const CopyRow::Refusal& refusal : copy.refusals) {
        const bool first = &refusal == &copy.refusals.front();
        rows.push_back({first ? copy.value : "", first ? "@" + copy.function : "", first ? copy.bytes : "",
                        first ? bytesOrDash(copy.sizeBytes) : "", refusal.by, refusal.why});
      }
    return "\n" + textTable({"copy", "in", "bytes", ">size", "because", "which"}, rows, options);
  }

  std::string operator()(const Shared<TuneView>& v) const {
    Rows rows;
    for (const TuneRow& row : v->rows) {
      std::vector<std::string> head = {row.key, std::to_string(row.sitesCount),
                                       std::to_string(row.shapesCount), row.state};
      if (row.candidates.empty()) {
        head.insert(head.end(), {textOf(row.chosen), "", "", ""});
        rows.push_back(std::move(head));
        continue;
      }
      if (isSeveral(row.chosen)) {
        head.insert(head.end(),
                    {textOf(row.chosen), "",
                     row.chosenNs ? durationText(static_cast<int64_t>(*row.chosenNs)) : "-", "chosen"});
        rows.push_back(head);
        for (std::string& cell : head) cell.clear();
        head.resize(4);
      }
      addCandidates(rows, head, row.candidates, row.chosen, "chosen");
    }
    std::string text = rows.empty() ? "no contractions with constant weights\n"
                                    : textTable({"contraction", ">uses", ">shapes", "state", "version",
                                                 ">predicted", ">measured", ""},
                                                rows, options);
    text += fmt::format("{} measured, {} kept", v->measuredCount, v->keptCount);
    if (v->trialsCount > 0) text += fmt::format(", {} trials", v->trialsCount);
    if (v->leftCount > 0) text += fmt::format(", {} left for another time", v->leftCount);
    if (v->skippedCount > 0) text += fmt::format(", {} with nothing to measure", v->skippedCount);
    text += fmt::format("\nrecords: {}\nfor {} thread{} on {}\n", v->file, v->threads,
                        v->threads == 1 ? "" : "s", v->cpu);
    return text;
  }

  std::string operator()(const Shared<KernelTable>& v) const {
    if (v->rows.empty()) return "no kernels\n";
    Rows rows;
    if (!v->profiled) {
      for (const KernelRow& k : v->rows)
        rows.push_back({k.index >= 0 ? std::to_string(k.index) : "", k.kind, k.name, k.description});
      return textTable({">#", "kind", "name", "what"}, rows, options) + contractionsText(v->contractions) +
             copiesText(v->copies);
    }
    if (v->explained) return explained(*v, "time");
    // Loading constants is a row each in the profile, and nothing to look at one by one.
    KernelRow constants;
    constants.kind = "constant";
    size_t constantsCount = 0;
    auto add = [&](const KernelRow& k) {
      const bool moves = k.kind == "kernel" || k.kind == "builtin" || k.kind == "copy";
      rows.push_back(
          {k.kind, shortened(k.name, 44), std::to_string(k.launchesCount), durationText(k.totalNs),
           fmt::format("{:.1f}%", k.share * 100),
           moves && k.bytes && k.totalNs
               ? fmt::format("{:.1f}", static_cast<double>(k.bytes) / static_cast<double>(k.totalNs))
               : "",
           nodeOf(k.place)});
    };
    for (const KernelRow& k : v->rows) {
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

  std::string operator()(const Shared<RunResult>& v) const {
    std::string text;
    if (!v->bench) text += outputsText(*v, options);
    if (!v->runsNs.empty() && (v->bench || v->runsNs.size() > 1)) {
      RunTimes all;
      for (const int64_t ns : v->runsNs) all.add(ns);
      text += countText(all.count(), "run");
      if (v->warmupCount > 0) text += fmt::format(" after {} to warm up", v->warmupCount);
      if (all.count() == 1)
        text += ": " + durationText(all.leastNs());
      else
        text += fmt::format(": min {}, {}, p95 {}", durationText(all.leastNs()),
                            statisticsText(statisticsOf(all)), durationText(all.percentileNs(0.95)));
      text += fmt::format("; CPU {} a run\n", durationText(v->cpuNs / all.count()));
      text += fmt::format("peak {}, {} kernel launches, {} system allocations in the last run\n",
                          bytesText(v->peakBytes), v->launchesCount, v->allocationsCount);
    }
    for (const auto& [name, difference] : v->differences)
      text += name +
              (difference.empty() ? ": as recorded" : ": differs from what is recorded: " + difference) +
              "\n";
    if (v->profile) text += (*this)(v->profile);
    if (!v->launches.empty()) text += countsText(sumByKernel(v->launches), options);
    if (!v->profileFile.empty()) text += "trace written to " + v->profileFile + "\n";
    return text;
  }

  std::string operator()(const Shared<BenchResult>& v) const {
    Rows rows;
    auto add = [&](const BenchRow& row, const std::string& name) {
      rows.push_back({name, std::to_string(row.runsCount), durationText(row.minNs), durationText(row.p50Ns),
                      durationText(row.p90Ns), durationText(row.p99Ns),
                      row.gflops ? fmt::format("{:.2f}", *row.gflops) : "-",
                      row.gigabytesPerSecond ? fmt::format("{:.2f}", *row.gigabytesPerSecond) : "-"});
    };
    for (const BenchRow& row : v->rows) add(row, row.dims.empty() ? "(fixed)" : joinedWords(row.dims));
    if (v->rows.size() > 1) add(v->overall, "all");
    std::string text =
        textTable({"shape", ">runs", ">min", ">p50", ">p90", ">p99", ">GFLOP/s", ">GB/s"}, rows, options);
    if (!v->file.empty()) text += "runs written to " + v->file + "\n";
    return v->baselineFile.empty() ? text : text + baselineText(*v, options);
  }

  std::string operator()(const Shared<ServeResult>& v) const {
    std::string text = fmt::format("{} requests in {} s, {:.1f} answered a second", v->requestsCount,
                                   v->seconds, v->throughputPerSecond);
    if (v->rejectedCount > 0) text += fmt::format("; {} were rejected: the queue was full", v->rejectedCount);
    text += fmt::format("\nwaiting and running: p50 {}, p90 {}, p99 {}\n", durationText(v->p50Ns),
                        durationText(v->p90Ns), durationText(v->p99Ns));
    text += fmt::format("{} runs, p50 {}, busy {:.0f} % of the time; at most {} waited\n", v->runsCount,
                        durationText(v->runP50Ns), 100 * v->busyShare, v->longestLineCount);
    if (!v->batching) return text;
    if (v->batch.empty()) return text + v->comparedText + "\n";
    const double each =
        v->runsCount == 0 ? 0 : static_cast<double>(v->completedCount) / static_cast<double>(v->runsCount);
    return text + fmt::format("joined along {}{}: {:.1f} requests in a run{}\n", v->batch,
                              v->sequence.empty() ? ", of equal sizes"
                                                  : ", of different " + v->sequence + " by " + v->lengths,
                              each, v->comparedText.empty() ? "" : "; " + v->comparedText);
  }

  std::string operator()(const Shared<CacheView>& v) const {
    if (v->directory == "none") return "there is no cache: --cache-dir DIR names one\n";
    std::string text = v->directory + "\n";
    if (!v->refusal.empty()) text += "  not used: " + v->refusal + "\n";
    int64_t bytes = 0;
    for (const CacheView::Row& row : v->rows) {
      bytes += row.bytes;
      text += fmt::format("  {:<10} {:>6}  {}\n", row.kind, row.filesCount, bytesText(row.bytes));
    }
    if (v->done == CacheView::Done::cleared) return text + fmt::format("removed {}\n", bytesText(bytes));
    for (const std::string& file : v->damaged) text += "  damaged, removed: " + file + "\n";
    if (v->done == CacheView::Done::verified && v->damaged.empty()) text += "  all files are whole\n";
    return text;
  }

  std::string operator()(const Shared<CompileResult>& v) const {
    std::string text = fmt::format("{} kernels, {} compiled now; passes {}, lowering {}, code {}\n",
                                   v->kernelsCount, v->kernelsCompiledCount, durationText(v->passesNs),
                                   durationText(v->lowerNs), durationText(v->compileNs));
    if (!v->file.empty()) text += fmt::format("wrote {} ({})\n", v->file, bytesText(v->fileBytes));
    return text;
  }

  std::string operator()(const Shared<ExportResult>& v) const {
    std::string text;
    for (const ExportResult::File& file : v->files)
      text += fmt::format("wrote {} ({})\n", file.path, bytesText(file.bytes));
    text += fmt::format("for {}: weights {}, runtime, code and tables {}\n", v->target,
                        bytesText(v->weightsBytes), bytesText(v->runtimeBytes));
    return text;
  }

  std::string operator()(const Shared<SaveResult>& v) const {
    std::string text;
    for (const ExportResult::File& file : v->files)
      text += fmt::format("wrote {} ({})\n", file.path, bytesText(file.bytes));
    std::string sets;
    for (const auto& [domain, version] : v->opsets)
      sets += fmt::format("{}{} {}", sets.empty() ? "" : ", ", domain.empty() ? "opset" : domain, version);
    const std::string which = v->step ? fmt::format("after {} (step {})", v->stepName, *v->step)
                                      : "simplified, after " + v->stepName;
    text += fmt::format("the graph {}: {} nodes, {}\n", which, v->nodesCount, sets);
    for (const SaveResult::PassedOver& step : v->passedOver)
      text += fmt::format("not after {}: {}\n", step.step, step.reason);
    for (const auto& [op, count] : v->leftOut)
      text += fmt::format("left out: {} x {} (:ops {}), ONNX has no such check\n", count, op, op);
    return text;
  }

  std::string operator()(const Shared<InferResult>& v) const {
    std::string text = fmt::format("wrote {} ({})\n", v->file.path, bytesText(v->file.bytes));
    text += fmt::format(
        "{} of {} values have a type; their dims: {} numbers, {} formulas, {} known only in a run\n",
        v->typedCount, v->valuesCount, v->numberDimsCount, v->formulaDimsCount, v->unknownDimsCount);
    for (const std::string& name : v->untyped) text += "no type: " + name + "\n";
    return text;
  }

  std::string operator()(const Shared<GenerateResult>& v) const { return generatedText(*v); }

  std::string operator()(const Shared<GeneraliseResult>& v) const {
    std::string text;
    if (v->file) text += fmt::format("wrote {} ({})\n", v->file->path, bytesText(v->file->bytes));
    text += fmt::format("{} {}\n", v->changes.size(), v->changes.size() == 1 ? "change" : "changes");
    for (const auto& change : v->changes) {
      text +=
          fmt::format("  {}\n    {}{}: {}\n", visibleLine(change.place), change.doubtful ? "perhaps: " : "",
                      visibleLine(change.what), visibleLine(change.why));
    }
    for (const auto& refused : v->refused)
      text += fmt::format("not opened: {}: {}\n", visibleLine(refused.place), visibleLine(refused.why));
    for (const auto& [name, most] : v->limits) text += fmt::format("{} is at most {}\n", name, most);
    if (v->file)
      text += fmt::format("at {} the results are equal {}\n", joinedWords(v->sizes),
                          v->sameBits ? "bit by bit" : "but for rounding");
    for (const auto& trial : v->trials)
      text += fmt::format("at {} it {}\n", joinedWords(trial.sizes),
                          trial.failure.empty() ? "runs" : "does not run: " + visibleLine(trial.failure));
    return text;
  }

  std::string operator()(const Shared<ModelDifference>& v) const { return differenceText(*v, options); }
  std::string operator()(const Shared<ValueComparison>& v) const { return comparisonText(*v, options); }
  std::string operator()(const Shared<ExtractResult>& v) const { return extractText(*v); }
  std::string operator()(const Shared<QuantiseResult>& v) const { return quantiseText(*v, options); }
  std::string operator()(const Shared<CertificateView>& v) const { return certificateText(*v, options); }

  std::string operator()(const Shared<ReportResult>& v) const {
    std::string text = fmt::format("wrote {} ({}): {} passes, {} kernels\n", v->file.path,
                                   bytesText(v->file.bytes), v->passesCount, v->kernelsCount);
    if (!v->whyNoRun.empty()) text += "without a run: " + v->whyNoRun + "\n";
    return text;
  }

  std::string operator()(const Shared<VerifyResult>& v) const {
    return v->name + ": " + toString(v->status) + (v->reason.empty() ? "" : ": " + v->reason) + "\n";
  }

  std::string operator()(const Shared<EvalResult>& v) const {
    if (v->quiet) return "";
    std::string text;
    for (const NamedValue& value : v->values)
      text += (value.name.empty() ? "" : paint(visibleLine(value.name), "1", options) + " = ") +
              toText(value.value, value.type, options) + "\n";
    return text;
  }

  std::string operator()(const Shared<TypeView>& v) const { return v->type + "\n"; }

  std::string operator()(const Shared<VariableTable>& v) const {
    if (v->rows.empty()) return "nothing is bound; x = random(f32, [2, 3]) binds x\n";
    Rows rows;
    for (const auto& row : v->rows)
      rows.push_back({row.name, row.type, row.sizeBytes ? bytesText(row.sizeBytes) : ""});
    return textTable({"name", "type", ">size"}, rows, options);
  }

  std::string operator()(const Shared<SettingTable>& v) const {
    Rows rows;
    for (const auto& row : v->rows) rows.push_back({row.name, row.value, row.from, row.help});
    return textTable({"setting", "value", "from", ""}, rows, options);
  }

  static std::string sizesText(const ProblemList& list) {
    const SizeCheck& sizes = *list.sizes;
    std::string assumed;
    for (const std::string& one : sizes.assumed) assumed += (assumed.empty() ? "" : ", ") + one;
    if (sizes.findings.empty())
      return fmt::format("proved: it runs for all sizes with {}\n",
                         assumed.empty() ? "no size left open" : visibleLine(assumed));
    std::string text = assumed.empty() ? "" : fmt::format("for all sizes with {}:\n", visibleLine(assumed));
    for (const SizeFinding& finding : sizes.findings) {
      const std::string node = finding.diagnostic.place.node.str();
      text += "  " + visibleLine(finding.diagnostic.message) + "\n";
      if (!node.empty()) text += "    node " + visibleLine(node) + "\n";
      for (const std::string& note : finding.diagnostic.notes) text += "    " + visibleLine(note) + "\n";
      if (const auto source = list.sources.find(node); source != list.sources.end())
        text += fmt::format("    exported from {}:{}  {}\n", visibleLine(source->second.file),
                            source->second.line, visibleLine(source->second.code));
    }
    if (sizes.furtherCount > 0)
      text += fmt::format("  {} further checks are not looked at\n", sizes.furtherCount);
    return text;
  }

  std::string operator()(const Shared<ProblemList>& v) const {
    const auto counted = [](size_t count, const char* what) {
      return fmt::format("{} {}{}", count == 0 ? "no" : std::to_string(count), what, count == 1 ? "" : "s");
    };
    if (v->format == ProblemFormat::sarif) return sarifText(*v);
    if (v->format == ProblemFormat::github) return githubText(*v);
    std::string text;
    if (v->sizes) text = sizesText(*v);
    text += counted(v->problems.size(), "problem");
    if (!v->warnings.empty()) text += ", " + counted(v->warnings.size(), "warning");
    text += "\n";
    for (const Diagnostic& warning : v->warnings) text += toText(warning, options);
    for (const auto& [op, count] : v->unsupportedOps)
      text += fmt::format("  not supported yet: {} ({} {})\n", visibleLine(op), count,
                          count == 1 ? "node" : "nodes");
    return text;
  }

  std::string operator()(const Shared<TextView>& v) const {
    if (v->hang < 0 || !options.fitted) return v->text;
    std::string text;
    for (size_t begin = 0; begin < v->text.size();) {
      const size_t end = std::min(v->text.find('\n', begin), v->text.size());
      text += wrapped(v->text.substr(begin, end - begin), static_cast<size_t>(options.width),
                      static_cast<size_t>(v->hang)) +
              "\n";
      begin = end + 1;
    }
    return text;
  }

  std::string operator()(const Shared<DeviceCountTable>& v) const { return countsText(*v, options); }
  std::string operator()(const Shared<WarpView>& v) const { return warpText(*v); }
  std::string operator()(const Shared<PlacementView>& v) const { return placementText(*v, options); }

  std::string operator()(const Shared<NodeList>& v) const {
    Rows rows;
    std::string uses;
    for (const NodeList::Row& row : v->rows) {
      rows.push_back({std::to_string(row.index), row.op, "%" + row.name, row.type, nodeOf(row.place)});
      if (row.id == v->firstUse) uses += "first used by %" + row.name + "\n";
      if (row.id == v->lastUse && v->lastUse != v->firstUse) uses += "last used by %" + row.name + "\n";
    }
    return v->title + " (after " + v->stepName + ")\n" +
           (rows.empty() ? "" : textTable({">#", "operator", "value", "type", "place"}, rows, options)) +
           uses;
  }
};

}  // namespace

std::string toText(const View& view, const TextOptions& options) {
  return visibleText(std::visit(TextWriter{options}, view),
                     options.color ? ColorCodes::kept : ColorCodes::escaped);
}

std::string toText(const Diagnostic& diagnostic, const TextOptions& options) {
  const char* kind = diagnostic.severity == Severity::error     ? "error"
                     : diagnostic.severity == Severity::warning ? "warning"
                                                                : "note";
  std::string text;
  const std::string place = diagnostic.place.toString();
  // Messages about a file begin with its name already.
  const bool named = diagnostic.message.compare(0, place.size() + 2, place + ": ") == 0;
  if (!place.empty() && !named) text += paint(visibleLine(place) + ": ", "1", options);
  text += paint(fmt::format("{}[{}]", kind, diagnosticRow(diagnostic.id).code),
                diagnostic.severity == Severity::error ? "1;31" : "1;35", options);
  text += ": " + visibleLine(diagnostic.message) + "\n";
  for (const std::string& note : diagnostic.notes) {
    const std::string body =
        isExcerpt(note) ? visibleText(note, ColorCodes::escaped) : "note: " + visibleLine(note);
    text += "  ";
    for (char c : body) text += c == '\n' ? std::string("\n  ") : std::string(1, c);
    text += "\n";
  }
  return text;
}

std::string countText(int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string durationText(int64_t timeNs) {
  const double t = static_cast<double>(timeNs);
  if (timeNs < 1000) return fmt::format("{} ns", timeNs);
  if (timeNs < 1000'000) return fmt::format("{:.1f} us", t / 1e3);
  if (timeNs < 1000'000'000) return fmt::format("{:.2f} ms", t / 1e6);
  return fmt::format("{:.2f} s", t / 1e9);
}

void applySettings(const SettingTable& table, TextOptions& options) {
  for (const SettingTable::Row& row : table.rows) {
    if (row.name == "precision") options.precision = std::atoi(row.value.c_str());
    if (row.name == "edge-items") options.edgeItems = std::atoi(row.value.c_str());
    if (row.name == "full") options.full = row.value == "on";
  }
}

std::string nodeOf(const std::string& place) {
  const size_t node = place.rfind("node ");
  if (node == std::string::npos) return place;
  const std::string name = place.substr(node + 5);
  return name.substr(0, name.find(" ("));
}

}  // namespace dyn
