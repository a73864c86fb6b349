#include "app/session/answers/why_many.h"

#include "app/session/answers/step_counter.h"
#include "app/session/views/why_views.h"

namespace dyn {

Result<WhyView> whyMany(const TraceStep& step) {
  if (step.name.empty())
    return makeError(DiagnosticId::usageError, "this is a program of one instance")
        .note("--many all, or :set many all, makes it one of many");
  WhyView view;
  view.question = "what do many instances compute together?";
  view.answer = std::to_string(counterOf(step, "joined")) + " operations over all instances, " +
                std::to_string(counterOf(step, "shared")) + " once for all, " +
                std::to_string(counterOf(step, "alone")) + " for each by itself";
  const int64_t branches = counterOf(step, "parted_branches"),
                loops = counterOf(step, "loops_of_active_instances");
  if (branches > 0) view.lines.push_back("branches that part the instances: " + std::to_string(branches));
  if (loops > 0) view.lines.push_back("loops over the instances that still go on: " + std::to_string(loops));
  view.lines.insert(view.lines.end(), step.remarks.begin(), step.remarks.end());
  return view;
}

}  // namespace dyn
