// Recurrences along the positions of ragged tensors: loops of as many steps as a sequence has positions
// (padded_recurrence.h). A step is computed of the sequences that still run, the longest first
// (packed_recurrence.h).
#pragma once

#include <string>
#include <unordered_map>

#include "compiler/passes/ragged/ragged_prelude.h"
#include "compiler/passes/ragged/ragged_rows.h"

namespace dyn::passes {

class RaggedRecurrences {
 public:
  // `packed`: rows of values, as (1, rows, ...), which gets those of what a loop stacks. `ops` are those that
  // `maker` makes. What it is given outlives it.
  RaggedRecurrences(const InferredModule& inferred, const RaggedRows& rows, OpMaker& maker,
                    RaggedPrelude& prelude, std::unordered_map<ValueId, ValueId>& packed,
                    std::vector<const Op*>& ops)
      : inferred_(inferred), rows_(rows), maker_(maker), prelude_(prelude), packed_(packed), ops_(ops) {}

  static bool isOne(const Op& op);
  // Final states are found under their own ids.
  Status emit(const Op& loop);

 private:
  const InferredModule& inferred_;
  const RaggedRows& rows_;
  OpMaker& maker_;
  RaggedPrelude& prelude_;
  std::unordered_map<ValueId, ValueId>& packed_;
  std::vector<const Op*>& ops_;
};

}  // namespace dyn::passes
