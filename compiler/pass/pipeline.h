// Pipeline: the list of passes as data, with a text form: `infer,fold,fuse{max=8},bufferize,plan`.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/pass/pass.h"
#include "compiler/pass/trace.h"

namespace dyn {

struct PipelineItem {
  const PassDef* pass = nullptr;
  PassOptions options;
};
using Pipeline = std::vector<PipelineItem>;

// The row of that name, present or former (former_names.h). Null: there is no such pass.
const PassDef* findPass(std::span<const PassDef> table, std::string_view name);
// Puts `item` where the table has it among the others; where the pass stands already, it takes the options.
void addPass(Pipeline& pipeline, PipelineItem item, std::span<const PassDef> table);

// Text to pipeline. `text` is either a whole list (`fold,dce`), or edits of `standard`: `-fuse` leaves a pass
// out, `+pack_sequences` adds one at its place in the table, `+fuse{max=4}` sets options. Commas separate the
// edits. Leaving out a pass also leaves out the passes that require what it provides. Errors: usageError for
// an unknown pass, for leaving out a required one, and those of checkOrder.
Result<Pipeline> parsePipeline(std::string_view text, std::span<const PassDef> table,
                               const Pipeline& standard);
// Each pass finds the properties it needs, and none it must come before. Error usageError, with a sentence:
// "pass 'attention' requires groups, which no pass before it provides".
Status checkOrder(const Pipeline& pipeline, std::span<const PassDef> table);
std::string toString(const Pipeline& pipeline);

struct PipelineRun {
  Target target;  // where the program will run
  const std::atomic<bool>* cancelled = nullptr;
  // Called after each pass; an error stops the pipeline (the verifier in debug and test builds).
  std::function<Status(const Module&, const PassDef&)> afterEach;
};

// Runs the passes in order and appends a step each to `trace`. On failure the failed step stands in the trace
// with its diagnostics, and `module` keeps the last good snapshot in trace.steps.
Result<Module> runPipeline(const Module& module, const Pipeline& pipeline, Trace& trace,
                           const PipelineRun& options = {});

}  // namespace dyn
