// Handlers: what the simulated GPU counted, and one warp of a launch that is stepped through.
#include <algorithm>

#include "app/engine/device/device_name.h"
#include "app/engine/device/launch_counts.h"
#include "app/engine/device/simulated_gpu.h"
#include "app/engine/run/run_result.h"
#include "app/session/session_state.h"
#include "app/session/views/view.h"
#include "compiler/loop/kernel.h"

namespace dyn {

namespace {

Result<SimulatedGpu*> simulatedGpu(const SessionState& state) {
  SimulatedGpu* gpu = SimulatedGpu::used();
  if (gpu && isOnSimulator(state.now.options.device)) return gpu;
  return makeError(DiagnosticId::usageError, "nothing runs on the simulated GPU")
      .note(SimulatedGpu::howToUse());
}

// Which kernel of the program "dyn_kernel_3_block" is, and the line of its loop IR.
void addLoopLine(const SessionState& state, WarpView& view) {
  const CompiledModel* compiled = state.now.model ? state.now.model->compiled() : nullptr;
  const int index = kernelOfFunction(view.function);
  if (!compiled || index < 0 || static_cast<size_t>(index) >= compiled->lowered.kernels.size()) return;
  view.name = compiled->lowered.program.kernels[static_cast<size_t>(index)].name;
  if (view.loopLine == 0) return;
  const std::string text = loop::print(compiled->lowered.kernels[static_cast<size_t>(index)]);
  size_t at = 0;
  for (uint32_t line = 1; line < view.loopLine && at != std::string::npos; ++line)
    if ((at = text.find('\n', at)) != std::string::npos) ++at;
  if (at == std::string::npos) return;
  view.loopText = text.substr(at, text.find('\n', at) - at);
  view.loopText.erase(0, std::min(view.loopText.find_first_not_of(' '), view.loopText.size()));
}

Result<View> warpView(const SessionState& state, const SimulatedGpu& gpu, const std::string& registers) {
  DYN_TRY(WarpView view, gpu.stop(registers));
  view.launch = state.warpLaunch;
  addLoopLine(state, view);
  return makeView(std::move(view));
}

// The launch, kept while the model runs once.
Status keepLaunch(SessionState& state, SimulatedGpu& gpu, const Command& command, int64_t number) {
  if (number < 1) return makeError(DiagnosticId::usageError, "launches have numbers from 1 on");
  DYN_TRY(LoadedModel * model, state.model());
  DYN_TRY(CallInputs inputs, callInputs(state, *model, command));
  state.runs.forgetValues();
  DYN_TRY(PreparedRun prepared, state.prepare(std::move(inputs)));
  const int64_t before = gpu.launchCount();
  gpu.keepLaunch(number);
  state.warpLaunch = number;
  RunResult result;
  Status ran = prepared.runner->run(prepared.inputs, RunRequest{}, state.interruption, result);
  const int64_t count = gpu.launchCount() - before;
  if (number > count) {
    DYN_CHECK(std::move(ran));
    return makeError(DiagnosticId::usageError, "the run has " + std::to_string(count) + " launches")
        .note(":counters --launches lists those of the last run");
  }
  // A launch that ends in a fault is what one wants to look at.
  if (!ran.ok()) state.log("the run ended: " + ran.error().message);
  return {};
}

Result<View> stepWarp(SessionState& state, const Command& command, SimulatedGpu::StepBy by) {
  DYN_TRY(SimulatedGpu * gpu, simulatedGpu(state));
  DYN_TRY(const int64_t count, command.integer("count", 1));
  DYN_CHECK(gpu->step(count, by));
  return warpView(state, *gpu, "");
}

}  // namespace

Result<View> handle_counters(SessionState& state, const Command& command, Outcome&) {
  DYN_TRY([[maybe_unused]] const SimulatedGpu* gpu, simulatedGpu(state));
  const Shared<RunResult> run = state.now.model ? state.runs.last(state.now.model) : nullptr;
  if (!run) return makeError(DiagnosticId::usageError, "the model has not run yet").note(":run runs it");
  DeviceCountTable table;
  if (command.has("launches"))
    table = {true, run->launches};
  else
    table = sumByKernel(run->launches);
  return makeView(std::move(table));
}

Result<View> handle_warp(SessionState& state, const Command& command, Outcome&) {
  DYN_TRY(const int64_t block, command.integer("block", 0));
  DYN_TRY(const int64_t warp, command.integer("warp", 0));
  DYN_TRY(SimulatedGpu * gpu, simulatedGpu(state));
  if (command.has("launch")) {
    DYN_TRY(const int64_t launch, command.integer("launch", 1));
    DYN_CHECK(keepLaunch(state, *gpu, command, launch));
  }
  DYN_CHECK(gpu->open(block, warp));
  return warpView(state, *gpu, "");
}

Result<View> handle_stepw(SessionState& state, const Command& command, Outcome&) {
  return stepWarp(state, command, SimulatedGpu::StepBy::instruction);
}
Result<View> handle_nextw(SessionState& state, const Command& command, Outcome&) {
  return stepWarp(state, command, SimulatedGpu::StepBy::line);
}
Result<View> handle_finishw(SessionState& state, const Command& command, Outcome&) {
  return stepWarp(state, command, SimulatedGpu::StepBy::end);
}

Result<View> handle_lanes(SessionState& state, const Command& command, Outcome&) {
  DYN_TRY(const SimulatedGpu* gpu, simulatedGpu(state));
  return warpView(state, *gpu, command.text("register"));
}

Result<View> handle_shared(SessionState& state, const Command& command, Outcome&) {
  DYN_TRY(const SimulatedGpu* gpu, simulatedGpu(state));
  DYN_TRY(const int64_t offset, command.integer("offset", 0));
  DYN_TRY(const int64_t count, command.integer("count", 256));
  DYN_TRY(WarpView view, gpu->stop(""));
  view.registers.clear();
  if (view.sharedBytes == 0) return makeError(DiagnosticId::usageError, "the kernel has no shared memory");
  if (offset < 0 || offset >= view.sharedBytes || count < 1)
    return makeError(DiagnosticId::usageError,
                     "shared memory has bytes 0 to " + std::to_string(view.sharedBytes - 1));
  gpu->readShared(view, offset, count);
  view.launch = state.warpLaunch;
  addLoopLine(state, view);
  return makeView(std::move(view));
}

}  // namespace dyn
