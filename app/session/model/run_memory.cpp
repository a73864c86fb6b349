#include "app/session/model/run_memory.h"

#include <algorithm>

namespace dyn {

namespace {

std::string dimsText(const DimValues& dims) {
  std::string text;
  for (const auto& [name, value] : dims)
    text += (text.empty() ? " with " : ", ") + name + " = " + std::to_string(value);
  return text;
}

}  // namespace

std::optional<std::vector<std::vector<int64_t>>> shapesOf(const CallInputs& inputs) {
  std::vector<std::vector<int64_t>> shapes;
  for (const Value& value : inputs.values) {
    if (!value.isTensor()) return std::nullopt;
    shapes.push_back(value.tensor().shape());
  }
  return shapes;
}

std::optional<LimitExcess> beyondLimit(Runner& runner, const CallInputs& inputs, uint64_t limitBytes,
                                       Interruption& interruption) {
  if (limitBytes == 0) return std::nullopt;
  const auto shapes = shapesOf(inputs);
  if (!shapes) return std::nullopt;
  // A little of the limit is the pool's own: the ends of its chunks.
  const auto room = static_cast<int64_t>(std::min<uint64_t>(limitBytes - limitBytes / 64, INT64_MAX));
  const Result<int64_t> peak = runner.predictPeak(*shapes, Runner::Warmth::first, interruption);
  if (!peak.ok() || *peak <= room) return std::nullopt;
  return LimitExcess{*peak, static_cast<uint64_t>(*peak) <= limitBytes,
                     makeError(DiagnosticId::memoryLimit,
                               "the run would need " + std::to_string(*peak) + " bytes" +
                                   dimsText(inputs.dims) + ", the limit is " + std::to_string(limitBytes))};
}

void predictMemory(Runner& runner, const CallInputs& inputs, Runner::Warmth warmth,
                   Interruption& interruption, RunResult& result) {
  const auto shapes = shapesOf(inputs);
  if (!shapes) {
    result.whyNoPrediction = "the memory depends on what is in the lists";
    return;
  }
  Result<int64_t> peak = runner.predictPeak(*shapes, warmth, interruption);
  if (peak.ok())
    result.predictedPeakBytes = *peak;
  else
    result.whyNoPrediction = peak.error().message;
}

}  // namespace dyn
