// Operations on ragged tensors that nothing computes over all rows: they run for each sequence by itself, in
// a loop over the batch, on tensors of its length.
//
//   before  %y = cumsum(%x, 1)                               %x (b, len[b], 4)
//   after   %rows = loop(b, _, zeros (len.sum, 4), ...) body (%i, %out, ...) {
//             bind_dims(lengths, %i), bind_dims(begins, %i)    n positions, from place f on
//             %one = slice(%x, f, f + n)                       (1, n, 4)
//             %y = cumsum(%one, 1)
//             return true, scatter_nd(%out, f + range(n), %y) }
//
// Nothing is padded. The operations must keep the sequences apart: batch_independence.h proves it.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/passes/ragged/ragged_prelude.h"
#include "compiler/passes/ragged/ragged_rows.h"

namespace dyn::passes {

class RaggedApart {
 public:
  // `packed`: rows of values, as (1, rows, ...); gets those of results, of one with several axes of positions
  // its elements, sequence by sequence, (elements). What it is given outlives it.
  RaggedApart(const InferredModule& inferred, const RaggedRows& rows, OpMaker& maker, RaggedPrelude& prelude,
              std::unordered_map<ValueId, ValueId>& packed)
      : inferred_(inferred),
        ir_(*inferred.module.context),
        rows_(rows),
        maker_(maker),
        prelude_(prelude),
        packed_(packed) {}

  // Operations and what of their results is read by others. `sizes`: values of which only the known elements
  // count. Results with an element for each sequence are found under their own ids. "" or why they can't.
  std::string emit(const std::vector<const Op*>& ops, const std::vector<ValueId>& results,
                   const std::unordered_set<ValueId>& sizes);

 private:
  class Body;
  const Function* functionOf(const std::vector<const Op*>& ops, const std::vector<ValueId>& results,
                             const std::unordered_set<ValueId>& sizes);
  std::string whyMixed(const Function& function) const;

  const InferredModule& inferred_;
  IrContext& ir_;
  const RaggedRows& rows_;
  OpMaker& maker_;
  RaggedPrelude& prelude_;
  std::unordered_map<ValueId, ValueId>& packed_;
};

}  // namespace dyn::passes
