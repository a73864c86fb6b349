#include "app/engine/run/run_levels.h"

#include <algorithm>

#include "app/engine/inputs/ragged_port.h"
#include "app/engine/run/run_statistics.h"

namespace dyn {

namespace {

std::vector<int64_t> integersOf(const std::vector<NamedValue>& values, const std::string& name) {
  std::vector<int64_t> integers;
  for (const NamedValue& value : values) {
    if (value.name != name || !value.value.isTensor()) continue;
    const HostTensor& tensor = value.value.tensor();
    for (int64_t i = 0; i < tensor.elementCount(); ++i) integers.push_back(tensor.intAt(i));
  }
  return integers;
}

// The axis of the mask or lengths that is the batch.
int64_t batchOf(const std::vector<NamedValue>& inputs, const std::string& name) {
  for (const NamedValue& input : inputs)
    if (input.name == name && input.value.isTensor() && !input.value.tensor().shape().empty())
      return input.value.tensor().shape()[0];
  return 0;
}

}  // namespace

std::vector<SequenceRows> sequencesOf(const Signature& signature, const std::vector<BatchLengths>& given,
                                      const RunResult& run) {
  std::vector<SequenceRows> all;
  for (const Port& port : signature.inputs) {
    if (port.length.empty()) continue;
    const std::string lengths = lengthsNameOf(port);
    all.push_back({port.info.name, lengths, false, false, integersOf(run.inputs, lengths)});
  }
  for (const Port& port : signature.outputs) {
    if (port.length.empty()) continue;
    const std::string lengths = port.info.name + ".lengths";
    all.push_back({port.info.name, lengths, false, false, integersOf(run.outputs, lengths)});
  }
  const bool ragged = !all.empty();
  for (const BatchLengths& batch : given) {
    if (ragged) break;  // they are those of the ragged inputs
    const auto count =
        std::min<size_t>(batch.lengths.size(), static_cast<size_t>(batchOf(run.inputs, batch.name)));
    all.push_back({batch.name,
                   batch.name,
                   true,
                   !run.keptPositions.has_value(),
                   {batch.lengths.begin(), batch.lengths.begin() + static_cast<ptrdiff_t>(count)}});
  }
  return all;
}

std::shared_ptr<const LevelsView> withSequences(const LevelsView* profiled,
                                                std::vector<SequenceRows> sequences, const RunResult& run) {
  if ((!profiled || profiled->loops.empty()) && sequences.empty()) return nullptr;
  auto view = std::make_shared<LevelsView>(profiled ? *profiled : LevelsView());
  view->sequences = std::move(sequences);
  view->runNs = medianNs(run);
  view->peakBytes = run.peakBytes;
  return view;
}

std::shared_ptr<const LevelsView> withCaches(const LevelsView& view, const MachineDescription& machine) {
  auto with = std::make_shared<LevelsView>(view);
  with->caches = {machine.l1Bytes, machine.l2Bytes, machine.l3Bytes,
                  int64_t{machine.vectorRegisters} * machine.vectorBits / 8};
  return with;
}

}  // namespace dyn
