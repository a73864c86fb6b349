#include "app/session/answers/why_ragged.h"

#include <algorithm>
#include <unordered_map>

#include "app/session/answers/step_counter.h"
#include "app/session/views/why_views.h"

namespace dyn {

namespace {

bool isMadeIn(const Function& function, ValueId value) {
  return std::any_of(function.ops.begin(), function.ops.end(), [&](const Op* op) {
    return std::any_of(op->results.begin(), op->results.end(),
                       [&](const ValueDef& result) { return result.id == value; });
  });
}

// One line for each reason why values are padded: that of the last value with it, as those that it is made
// of follow.
std::vector<std::string> withoutRepeats(const std::vector<std::string>& remarks) {
  std::vector<std::string> lines;
  std::vector<int> more;
  std::unordered_map<std::string, size_t> places;
  for (const std::string& remark : remarks) {
    const size_t reason = remark.rfind("padded: %", 0) == 0 ? remark.find(": ", 9) : std::string::npos;
    const std::string key = reason == std::string::npos ? remark : remark.substr(reason);
    const auto [place, fresh] = places.try_emplace(key, lines.size());
    if (fresh) {
      lines.push_back(remark);
      more.push_back(0);
    } else {
      lines[place->second] = remark;
      ++more[place->second];
    }
  }
  for (size_t i = 0; i < lines.size(); ++i)
    if (more[i] > 0) lines[i] += "; and " + std::to_string(more[i]) + " that it is made of";
  return lines;
}

// "2 attentions, "
std::string counted(int64_t count, const std::string& what) {
  return count == 0 ? "" : std::to_string(count) + " " + what + (count == 1 ? ", " : "s, ");
}

}  // namespace

Result<WhyView> whyRagged(const Trace& trace, const std::string& value) {
  const TraceStep* step = trace.find("pack_sequences");
  if (!step || !step->after.context)
    return makeError(DiagnosticId::usageError,
                     "padding was not analysed: the pass pack_sequences did not run")
        .note("--passes=-pack_sequences leaves it out, and so do programs for a device");
  WhyView view;
  const int64_t attentions = counterOf(*step, "attentions"), recurrences = counterOf(*step, "recurrences");
  const bool any = attentions + recurrences > 0;
  if (value.empty()) {
    view.question = "computed without padding?";
    view.answer = any ? counted(attentions, "attention") + counted(recurrences, "recurrence") +
                            "and what is computed position by position"
                      : "no";
    view.lines = withoutRepeats(step->remarks);
    if (view.lines.empty() && !any)
      view.lines.push_back("there is no attention under a mask, and no recurrence with lengths");
    return view;
  }
  const std::string name = value.front() == '%' ? value.substr(1) : value;
  const ValueId id = step->before.context->findValue(name);
  if (id == kNoValue) return makeError(DiagnosticId::textName, "there is no value '" + name + "'");
  view.question = "is %" + name + " computed without padding?";
  for (const std::string& remark : step->remarks)
    if (remark.find("%" + name + ":") != std::string::npos) view.lines.push_back(remark);
  const bool before = isMadeIn(*step->before.main(), id), after = isMadeIn(*step->after.main(), id);
  view.answer = before && !after && any ? "yes" : "no";
  if (view.lines.empty() && after)
    view.lines.push_back("it has no axes of batch and sequence, or is the mask");
  return view;
}

}  // namespace dyn
