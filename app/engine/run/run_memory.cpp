#include "app/engine/run/run_memory.h"

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

MemoryLimits MemoryLimits::of(const EngineOptions& options) {
  return {options.memoryLimitBytes,
          options.deviceLimitBytes > 0 ? options.deviceLimitBytes : options.memoryLimitBytes};
}

std::optional<LimitExcess> beyondLimit(Runner& runner, const CallInputs& inputs, const MemoryLimits& limits,
                                       Interruption& interruption) {
  if (limits.hostBytes == 0 && limits.deviceBytes == 0) return std::nullopt;
  const auto shapes = shapesOf(inputs);
  if (!shapes) return std::nullopt;
  const Result<int64_t> all = runner.predictPeak(*shapes, Runner::Warmth::first, interruption);
  if (!all.ok()) return std::nullopt;
  const int64_t onDevice = runner.predictedDeviceBytes();
  struct Part {
    int64_t bytes;
    uint64_t limitBytes;
    bool onDevice;
  };
  for (const Part& part :
       {Part{*all - onDevice, limits.hostBytes, false}, Part{onDevice, limits.deviceBytes, true}}) {
    // A little of the limit is the pool's own: the ends of its chunks.
    const auto room =
        static_cast<int64_t>(std::min<uint64_t>(part.limitBytes - part.limitBytes / 64, INT64_MAX));
    if (part.limitBytes == 0 || part.bytes <= room) continue;
    const std::string where = part.onDevice ? " on the device" : onDevice > 0 ? " of the host" : "";
    return LimitExcess{
        part.bytes, part.limitBytes, part.onDevice, static_cast<uint64_t>(part.bytes) <= part.limitBytes,
        makeError(DiagnosticId::memoryLimit, "the run would need " + std::to_string(part.bytes) + " bytes" +
                                                 where + dimsText(inputs.dims) + ", the limit is " +
                                                 std::to_string(part.limitBytes))};
  }
  return std::nullopt;
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
