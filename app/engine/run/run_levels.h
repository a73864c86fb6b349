// What a run computed together, read off it while its inputs are at hand.
#pragma once

#include <memory>
#include <vector>

#include "app/engine/inputs/batch_lengths.h"
#include "app/engine/model/signature.h"
#include "app/engine/run/run_result.h"
#include "compiler/target/machine.h"

namespace dyn {

// The sequences of ragged inputs and outputs, and of batches that `given` (--lengths) pads.
std::vector<SequenceRows> sequencesOf(const Signature& signature, const std::vector<BatchLengths>& given,
                                      const RunResult& run);

// Levels that the run has from its profile, and these. Null: neither.
std::shared_ptr<const LevelsView> withSequences(const LevelsView* profiled,
                                                std::vector<SequenceRows> sequences, const RunResult& run);

// The same with the caches of the machine that ran it.
std::shared_ptr<const LevelsView> withCaches(const LevelsView& view, const MachineDescription& machine);

}  // namespace dyn
