#include "compiler/passes/ragged/ragged_recurrence.h"

#include "compiler/ops/op_table.h"
#include "compiler/passes/padding/packed_recurrence.h"
#include "compiler/passes/ragged/ragged_across.h"

namespace dyn::passes {

bool RaggedRecurrences::isOne(const Op& op) { return op.def == &ops::loopOp; }

Status RaggedRecurrences::emit(const Op& loop) {
  PaddedRecurrence site;
  const IrContext& ir = *inferred_.module.context;
  if (const std::string why = findRaggedRecurrence(inferred_, loop, rows_.batch(), &site); !why.empty())
    return raggedRefusal(ir, loop, why);
  const Dim length = site.steps.empty() ? site.sequence : rows_.axesOf(site.steps[0]).length;
  site.lengths = prelude_.lengths(length);
  const KeptPositions kept{prelude_.rows(length), prelude_.sequence(length), prelude_.position(length)};
  std::vector<ValueId> steps;
  for (ValueId v : site.steps) {
    const RowAxes axes = rows_.axesOf(v);
    steps.push_back(rowsAlongFirst(maker_, packed_.at(v), rows_.typeOf(v), axes, prelude_.rows(axes.length)));
  }
  const std::vector<ValueId> made = recurrenceOfSequences(inferred_, site, kept, steps, ops_);
  const auto carried = static_cast<size_t>(loop.attributes.integer("carried"));
  for (size_t k = 0; k < made.size(); ++k) {
    const ValueDef& result = loop.results[k];
    if (k < carried) {
      maker_.make(ops::identityOp, {made[k]}, {}, result.id);
      continue;
    }
    Shape dims{prelude_.rows(length), inferred_.module.context->dims().constant(1)};  // (len[b], b, ...)
    dims.insert(dims.end(), result.type.dims().begin() + 2, result.type.dims().end());
    packed_[result.id] = maker_.reshape(made[k], std::move(dims));
  }
  return {};
}

}  // namespace dyn::passes
