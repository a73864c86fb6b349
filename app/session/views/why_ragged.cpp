#include "app/session/views/why_ragged.h"

#include <algorithm>

namespace dyn {

namespace {

bool isMadeIn(const Function& function, ValueId value) {
  return std::any_of(function.ops.begin(), function.ops.end(), [&](const Op* op) {
    return std::any_of(op->results.begin(), op->results.end(),
                       [&](const ValueDef& result) { return result.id == value; });
  });
}

}  // namespace

Result<WhyView> whyRagged(const Trace& trace, const std::string& value) {
  const TraceStep* step = trace.find("unpad");
  if (!step || !step->after.context)
    return makeError(DiagnosticId::usageError, "nothing is known of padding: the pass unpad did not run")
        .note("it is left out by --passes -unpad, and for a program that runs on a device");
  WhyView view;
  const auto count = step->counters.find("attentions");
  const int64_t attentions = count == step->counters.end() ? 0 : count->second;
  if (value.empty()) {
    view.question = "computed without padding?";
    view.answer = attentions == 0 ? "no"
                  : attentions == 1
                      ? "1 attention, and what is computed position by position"
                      : std::to_string(attentions) + " attentions, and what is computed position by position";
    view.lines = step->remarks;
    if (view.lines.empty() && attentions == 0) view.lines.push_back("there is no attention under a mask");
    return view;
  }
  const std::string name = value.front() == '%' ? value.substr(1) : value;
  const ValueId id = step->before.context->findValue(name);
  if (id == kNoValue) return makeError(DiagnosticId::textName, "there is no value '" + name + "'");
  view.question = "is %" + name + " computed without padding?";
  for (const std::string& remark : step->remarks)
    if (remark.find("%" + name + ":") != std::string::npos) view.lines.push_back(remark);
  const bool before = isMadeIn(*step->before.main(), id), after = isMadeIn(*step->after.main(), id);
  view.answer = before && !after && attentions > 0 ? "yes" : "no";
  if (view.lines.empty() && after)
    view.lines.push_back("it has no axes of batch and sequence, or is the mask");
  return view;
}

}  // namespace dyn
