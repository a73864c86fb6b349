#include "app/session/explain/failed_instances.h"

#include <cstring>

namespace dyn {

namespace {

constexpr int64_t kMostNotes = 10;

// The number of instances: the first dim of a tensor, or the length of a list.
int64_t instanceCount(const Value& value) {
  if (!value.isTensor()) return static_cast<int64_t>(value.parts().size());
  return value.tensor().rank() == 0 ? 0 : value.tensor().shape()[0];
}

// One instance of a value, as a batch of one.
Value onlyInstance(const Value& value, int64_t number) {
  if (!value.isTensor()) return Value::list({value.parts()[static_cast<size_t>(number)]});
  const HostTensor& all = value.tensor();
  std::vector<int64_t> shape = all.shape();
  const int64_t size = shape[0] == 0 ? 0 : all.elementCount() / shape[0];
  shape[0] = 1;
  if (all.dtype() == Dtype::string) {
    const auto first = all.stringValues().begin() + number * size;
    return HostTensor::strings(shape, {first, first + size});
  }
  HostTensor one = *HostTensor::create(all.dtype(), shape);
  if (storageBytes(all.dtype()) > 0 && size > 0)
    std::memcpy(one.mutableData(), all.data() + number * one.sizeBytes(),
                static_cast<size_t>(one.sizeBytes()));
  return one;
}

}  // namespace

Error withFailedInstances(Error error, Runner& runner, const CallInputs& inputs,
                          const std::vector<bool>& instanceInputs, Interruption& interruption) {
  int64_t count = 0, failed = 0;
  for (size_t i = 0; i < inputs.values.size() && count == 0; ++i)
    if (instanceInputs[i]) count = instanceCount(inputs.values[i]);
  std::vector<std::string> notes;
  for (int64_t number = 0; number < count && !interruption.requested(); ++number) {
    CallInputs one = inputs;
    for (size_t i = 0; i < one.values.size(); ++i)
      if (instanceInputs[i]) {
        // Inputs of different numbers of instances are what the error is about.
        if (instanceCount(inputs.values[i]) != count) return error;
        one.values[i] = onlyInstance(inputs.values[i], number);
      }
    RunResult result;
    Status ran = runner.run(one, RunRequest{}, interruption, result);
    if (ran.ok() || ran.error().id == DiagnosticId::cancelled) continue;
    if (++failed <= kMostNotes)
      notes.push_back("instance " + std::to_string(number) + " ends in it: " + ran.error().message);
  }
  for (std::string& note : notes) error.diagnostic().notes.push_back(std::move(note));
  if (failed > kMostNotes)
    error.diagnostic().notes.push_back("and " + std::to_string(failed - kMostNotes) + " more instances");
  if (failed > 0 && failed < count)
    error.diagnostic().notes.push_back("the other " + std::to_string(count - failed) + " of " +
                                       std::to_string(count) + " instances run");
  return error;
}

}  // namespace dyn
