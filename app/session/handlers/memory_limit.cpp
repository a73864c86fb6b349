#include "app/session/handlers/memory_limit.h"

#include "app/engine/model/model_info.h"
#include "app/engine/run/run_memory.h"
#include "app/engine/run/valid_positions.h"

namespace dyn {

namespace {

// Made anew for other dims than before: what takes most differs.
Result<SmallProgram> smallProgram(SessionState& state, const LoadedModel& model, const DimValues& dims) {
  SmallProgram small;
  small.dims = dims;
  LoadRequest request = model.request();
  request.smallFor = dims;
  DYN_TRY(small.model, LoadedModel::load(request, state.now.options, state.interruption.flag()));
  DYN_CHECK(small.model->ensurePasses());
  const TraceStep* step = small.model->trace().find("rematerialise");
  const auto made = step ? step->counters.find("values_made_again") : decltype(step->counters.end())();
  if (!step || made == step->counters.end() || made->second == 0) return small;
  DYN_TRY(Runner runner, makeRunner(*small.model, state.now.options));
  small.runner = std::make_unique<Runner>(std::move(runner));
  return small;
}

}  // namespace

Status keepWithinLimit(SessionState& state, PreparedRun& prepared) {
  const MemoryLimits limits = MemoryLimits::of(state.now.options);
  std::optional<LimitExcess> excess =
      beyondLimit(*prepared.runner, prepared.inputs, limits, state.interruption);
  if (!excess) return {};
  Error refused = std::move(excess->refused)
                      .note(":limit " + std::to_string(excess->limitBytes) +
                            " says what would fit, :plan what takes the room");
  const bool mayFit = excess->mayFit;
  const LoadedModel& model = *prepared.model;
  const bool again = model.hasModule() && !model.request().path.empty() && model.request().path != "-" &&
                     model.request().fixedInputs.empty();
  if (!again) return mayFit ? Status() : Status(std::move(refused));
  const auto shapes = *shapesOf(prepared.inputs);
  std::shared_ptr<SmallProgram>& small = state.now.small;
  for (bool fresh : {false, true}) {
    if (fresh) {
      if (small && small->dims == prepared.inputs.dims) break;
      state.progress("compiling " + model.info().path + " to take less memory");
      DYN_TRY(SmallProgram made, smallProgram(state, model, prepared.inputs.dims));
      small = std::make_shared<SmallProgram>(std::move(made));
      if (small->runner)
        prepared.kernelsCompiledCount += small->model->compiled()->statistics.kernelsCompiledCount;
    }
    if (!small || !small->runner) continue;
    (void)setValidPositions(*small->model, prepared.inputs, *small->runner);
    const Result<int64_t> smallPeak =
        small->runner->predictPeak(shapes, Runner::Warmth::first, state.interruption);
    if (!smallPeak.ok()) continue;
    const int64_t onDevice = small->runner->predictedDeviceBytes();
    const std::string smallBytes = std::to_string(excess->onDevice ? onDevice : *smallPeak - onDevice);
    if (beyondLimit(*small->runner, prepared.inputs, limits, state.interruption)) {
      if (fresh || small->dims == prepared.inputs.dims)
        refused.diagnostic().notes.push_back("with values made again instead of kept it would need " +
                                             smallBytes + " bytes");
      continue;
    }
    state.log("values are made again instead of kept: " + smallBytes + " bytes instead of " +
              std::to_string(excess->peakBytes));
    prepared.model = small->model.get();
    prepared.runner = small->runner.get();
    return {};
  }
  return mayFit ? Status() : Status(std::move(refused));
}

}  // namespace dyn
