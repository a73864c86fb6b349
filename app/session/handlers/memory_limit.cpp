#include "app/session/handlers/memory_limit.h"

#include <algorithm>

namespace dyn {

namespace {

using Shapes = std::vector<std::vector<int64_t>>;

std::string dimsText(const DimValues& dims) {
  std::string text;
  for (const auto& [name, value] : dims)
    text += (text.empty() ? " with " : ", ") + name + " = " + std::to_string(value);
  return text;
}

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
  const uint64_t limit = state.now.options.memoryLimitBytes;
  if (limit == 0) return {};
  Shapes shapes;
  for (const Value& value : prepared.inputs.values) {
    if (!value.isTensor()) return {};
    shapes.push_back(value.tensor().shape());
  }
  const auto peakOf = [&](Runner& runner) {
    return runner.predictPeak(shapes, Runner::Warmth::first, state.interruption);
  };
  // A little of the limit is the pool's own: the ends of its chunks.
  const auto room = static_cast<int64_t>(std::min<uint64_t>(limit - limit / 64, INT64_MAX));
  const Result<int64_t> peak = peakOf(*prepared.runner);
  if (!peak.ok() || *peak <= room) return {};
  Error refused =
      makeError(DiagnosticId::memoryLimit, "the run would need " + std::to_string(*peak) + " bytes" +
                                               dimsText(prepared.inputs.dims) + ", the limit is " +
                                               std::to_string(limit))
          .note(":limit " + std::to_string(limit) + " says what would fit, :plan what takes the room");
  const bool mayFit = static_cast<uint64_t>(*peak) <= limit;
  const LoadedModel& model = *prepared.model;
  const bool again = model.hasModule() && !model.request().path.empty() && model.request().path != "-" &&
                     model.request().fixedInputs.empty();
  if (!again) return mayFit ? Status() : Status(std::move(refused));
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
    const Result<int64_t> smallPeak = peakOf(*small->runner);
    if (!smallPeak.ok()) continue;
    if (*smallPeak > room) {
      if (fresh || small->dims == prepared.inputs.dims)
        refused.diagnostic.notes.push_back("with values made again instead of kept it would need " +
                                           std::to_string(*smallPeak) + " bytes");
      continue;
    }
    state.log("values are made again instead of kept: " + std::to_string(*smallPeak) + " bytes instead of " +
              std::to_string(*peak));
    prepared.model = small->model.get();
    prepared.runner = small->runner.get();
    return {};
  }
  return mayFit ? Status() : Status(std::move(refused));
}

}  // namespace dyn
