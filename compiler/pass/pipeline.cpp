#include "compiler/pass/pipeline.h"

#include <algorithm>

#include "compiler/dims/solver_work.h"
#include "compiler/ir/walk.h"
#include "compiler/pass/former_names.h"
#include "compiler/support/clock.h"

namespace dyn {

namespace {

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

// Splits at commas outside braces.
std::vector<std::string_view> splitItems(std::string_view text) {
  std::vector<std::string_view> items;
  size_t start = 0;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '{') ++depth;
    if (i < text.size() && text[i] == '}') --depth;
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      std::string_view item = trim(text.substr(start, i - start));
      if (!item.empty()) items.push_back(item);
      start = i + 1;
    }
  }
  return items;
}

Result<PipelineItem> parseItem(std::string_view text, std::span<const PassDef> table) {
  const size_t brace = text.find('{');
  const std::string_view name = trim(text.substr(0, brace));
  PipelineItem item;
  item.pass = findPass(table, name);
  if (!item.pass) {
    std::string known;
    for (const PassDef& row : table) known += (known.empty() ? "" : ", ") + std::string(row.name);
    return makeError(DiagnosticId::usageError, "unknown pass '" + std::string(name) + "'")
        .note("passes: " + known);
  }
  if (brace == std::string_view::npos) return item;
  if (text.back() != '}')
    return makeError(DiagnosticId::textSyntax, "missing '}' in '" + std::string(text) + "'");
  for (std::string_view option : splitItems(text.substr(brace + 1, text.size() - brace - 2))) {
    const size_t equals = option.find('=');
    const std::string_view key = trim(option.substr(0, equals));
    const bool known = std::any_of(item.pass->options.begin(), item.pass->options.end(),
                                   [&](const PassOptionSpec& spec) { return spec.name == key; });
    if (!known)
      return makeError(DiagnosticId::badAttribute,
                       "pass '" + std::string(name) + "' has no option '" + std::string(key) + "'");
    item.options[std::string(key)] =
        equals == std::string_view::npos ? "true" : std::string(trim(option.substr(equals + 1)));
  }
  return item;
}

constexpr Property kProperties[kPropertiesCount] = {Property::types, Property::groups, Property::destinations,
                                                    Property::arenas};

Properties providedBy(const Pipeline& pipeline) {
  Properties all;
  for (const PipelineItem& item : pipeline) all.add(item.pass->providedProperties);
  return all;
}

bool requiresAnyOf(const PassDef& pass, Properties given, Properties wanted) {
  return std::any_of(std::begin(kProperties), std::end(kProperties), [&](Property property) {
    return given.contains(property) && !wanted.contains(property) &&
           pass.requiredProperties.contains(property);
  });
}

// Passes that can do nothing once another is left out: without `fuse` there are no groups for `attention`.
void leaveOutNeedy(Pipeline& pipeline, const Pipeline& standard) {
  const Properties before = providedBy(standard), now = providedBy(pipeline);
  pipeline.erase(
      std::remove_if(pipeline.begin(), pipeline.end(),
                     [&](const PipelineItem& item) { return requiresAnyOf(*item.pass, before, now); }),
      pipeline.end());
}

std::string passThatProvides(Property property, std::span<const PassDef> table) {
  for (const PassDef& row : table)
    if (row.providedProperties.contains(property)) return std::string(row.name);
  return "";
}

// Where the table has the pass of that name.
size_t placeOf(std::string_view name, std::span<const PassDef> table) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const PassDef& row) { return row.name == name; });
  return static_cast<size_t>(found - table.begin());
}

}  // namespace

const PassDef* findPass(std::span<const PassDef> table, std::string_view name) {
  const size_t place = placeOf(currentPassName(name), table);
  return place < table.size() ? &table[place] : nullptr;
}

void addPass(Pipeline& pipeline, PipelineItem item, std::span<const PassDef> table) {
  for (PipelineItem& other : pipeline)
    if (other.pass->name == item.pass->name) {
      other.options = std::move(item.options);
      return;
    }
  const size_t place = placeOf(item.pass->name, table);
  const auto next = std::find_if(pipeline.begin(), pipeline.end(), [&](const PipelineItem& other) {
    return placeOf(other.pass->name, table) > place;
  });
  pipeline.insert(next, std::move(item));
}

Status checkOrder(const Pipeline& pipeline, std::span<const PassDef> table) {
  Properties now;
  for (const PipelineItem& item : pipeline) {
    const std::string name = "pass '" + std::string(item.pass->name) + "'";
    for (Property property : kProperties) {
      const std::string other = passThatProvides(property, table);
      if (item.pass->requiredProperties.contains(property) && !now.contains(property))
        return makeError(DiagnosticId::usageError,
                         name + " requires " + toString(property) + ", which no pass before it provides")
            .note("put " + other + " before it");
      if (item.pass->forbiddenProperties.contains(property) && now.contains(property))
        return makeError(DiagnosticId::usageError, name + " comes too late: there are " + toString(property) +
                                                       " already, since " + other)
            .note("put it before " + other);
    }
    now.add(item.pass->providedProperties);
  }
  return {};
}

Result<Pipeline> parsePipeline(std::string_view text, std::span<const PassDef> table,
                               const Pipeline& standard) {
  const std::vector<std::string_view> items = splitItems(text);
  const bool edits =
      std::any_of(items.begin(), items.end(), [](std::string_view s) { return s[0] == '-' || s[0] == '+'; });
  if (items.empty()) return standard;
  if (!edits) {
    Pipeline list;
    for (std::string_view item : items) {
      DYN_TRY(PipelineItem parsed, parseItem(item, table));
      list.push_back(std::move(parsed));
    }
    DYN_CHECK(checkOrder(list, table));
    return list;
  }
  Pipeline result = standard;
  for (std::string_view item : items) {
    const bool leaveOut = item[0] == '-';
    if (item[0] != '-' && item[0] != '+')
      return makeError(
          DiagnosticId::usageError,
          "a list of passes is either whole or made of -PASS and +PASS: '" + std::string(item) + "'");
    DYN_TRY(PipelineItem parsed, parseItem(trim(item.substr(1)), table));
    if (leaveOut && parsed.pass->required)
      return makeError(DiagnosticId::usageError,
                       "pass '" + std::string(parsed.pass->name) + "' cannot be left out: lowering needs it");
    if (leaveOut)
      std::erase_if(result, [&](const PipelineItem& other) { return other.pass->name == parsed.pass->name; });
    else
      addPass(result, std::move(parsed), table);
  }
  leaveOutNeedy(result, standard);
  DYN_CHECK(checkOrder(result, table));
  return result;
}

std::string toString(const Pipeline& pipeline) {
  std::string text;
  for (const PipelineItem& item : pipeline) {
    if (!text.empty()) text += ",";
    text += item.pass->name;
    if (item.options.empty()) continue;
    text += "{";
    bool first = true;
    for (const auto& [key, value] : item.options) {
      text += (first ? "" : ",") + key + "=" + value;
      first = false;
    }
    text += "}";
  }
  return text;
}

Result<Module> runPipeline(const Module& module, const Pipeline& pipeline, Trace& trace,
                           const PipelineRun& options) {
  Module current = module;
  for (const PipelineItem& item : pipeline) {
    PassContext context;
    context.options = item.options;
    context.target = options.target;
    context.cancelled = options.cancelled;
    TraceStep step;
    step.index = static_cast<int>(trace.steps.size());
    step.name = item.pass->name;
    step.before = current;
    step.opsBefore = static_cast<int64_t>(countOps(current));
    DimContext& dims = current.context->dims();
    const uint64_t stepsBefore = solverSteps(dims);
    takeDearest(dims);
    const int64_t start = steadyNs();
    Result<Module> result = context.isCancelled()
                                ? Result<Module>(makeError(DiagnosticId::cancelled, "interrupted"))
                                : item.pass->run(current, context);
    step.timeNs = steadyNs() - start;
    step.solverSteps = solverSteps(dims) - stepsBefore;
    DearestWork dearest = takeDearest(dims);
    step.dearestOp = std::move(dearest.asker);
    step.dearestSteps = dearest.steps;
    if (result.ok() && options.afterEach) {
      Status checked = options.afterEach(*result, *item.pass);
      if (!checked.ok())
        result = checked.takeError().note("found after pass '" + std::string(item.pass->name) + "'");
    }
    step.counters = std::move(context.counters);
    step.remarks = std::move(context.remarks);
    step.after = result.ok() ? *result : current;
    step.changed = !(step.after == step.before);
    step.opsAfter = static_cast<int64_t>(countOps(step.after));
    if (!result.ok()) step.diagnostics.push_back(result.error());
    trace.steps.push_back(std::move(step));
    if (!result.ok()) return result.takeError();
    current = *std::move(result);
  }
  return current;
}

}  // namespace dyn
