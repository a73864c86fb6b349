#include "app/session/graph/graph_after.h"

#include <algorithm>

#include "app/engine/model/loaded_model.h"
#include "app/session/graph/trace_views.h"

namespace dyn {

namespace {

// Of one that was still to come (again), what an earlier one left is not what was asked for.
bool isThere(const LoadedModel& model, const std::string& pass) {
  const TraceStep* step = model.trace().find(pass);
  if (!step || !step->diagnostics.empty()) return false;
  const Result<Pipeline> pipeline = pipelineOf(model.compileOptions());
  if (!pipeline.ok()) return false;
  const auto planned = std::count_if(pipeline->begin(), pipeline->end(),
                                     [&](const PipelineItem& item) { return item.pass->name == pass; });
  const auto ran = std::count_if(model.trace().steps.begin(), model.trace().steps.end(),
                                 [&](const TraceStep& made) { return made.name == pass; });
  return ran >= planned;
}

}  // namespace

Result<const TraceStep*> graphAfter(LoadedModel& model, const std::string& pass) {
  Status passes = model.ensurePasses();
  if (!passes.ok() && !isThere(model, pass)) return passes.takeError();
  return findStep(model.trace(), pass);
}

}  // namespace dyn
