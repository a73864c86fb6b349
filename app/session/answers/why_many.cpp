#include "app/session/answers/why_many.h"

#include "app/session/views/why_views.h"

namespace dyn {

Result<WhyView> whyMany(const TraceStep& step) {
  if (step.name.empty())
    return makeError(DiagnosticId::usageError, "this is a program of one instance")
        .note("--many all, or :set many all, makes it one of many");
  const auto counted = [&](const char* what) {
    const auto found = step.counters.find(what);
    return found == step.counters.end() ? int64_t{0} : found->second;
  };
  WhyView view;
  view.question = "what do many instances compute together?";
  view.answer = std::to_string(counted("joined")) + " operations over all instances, " +
                std::to_string(counted("shared")) + " once for all, " + std::to_string(counted("alone")) +
                " for each by itself";
  const int64_t branches = counted("parted_branches"), loops = counted("loops_of_active_instances");
  if (branches > 0) view.lines.push_back("branches that part the instances: " + std::to_string(branches));
  if (loops > 0) view.lines.push_back("loops over the instances that still go on: " + std::to_string(loops));
  view.lines.insert(view.lines.end(), step.remarks.begin(), step.remarks.end());
  return view;
}

}  // namespace dyn
