// Operations on ragged tensors that look across the positions of a sequence, over its rows.
//
//   %r = range(0, len[b], 1)              the position of each row                            rows
//   %s = reduce_sum(%x, axis 1)           rows scattered by the number of their sequence      (b, ...)
//   %p = softmax(%x) {axis = 1}           exp(x - peak of its sequence) / sum of its sequence   rows
//   %j = concat(%c, %x) {axis = 1}        rows of both, taken sequence by sequence            rows
//   %t = slice(%x, from 1, axis 1)        rows taken from a place of each sequence            rows, or (b, ...)
//   %u = slice(%x, from -1, step -1)      the rows of each sequence from its last to its first   rows
//   %l = gather(%x, -1) {axis = 1}        the last row of each sequence                       (b, ...)
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "compiler/passes/ragged/ragged_prelude.h"
#include "compiler/passes/ragged/ragged_rows.h"

namespace dyn::passes {

// An operation that is not supported, and why.
Error raggedRefusal(const IrContext& ir, const Op& op, const std::string& why);

// `v`, whose axes are those of `type`, as [rows, ...]: the axes behind batch and positions in their order.
ValueId rowsAlongFirst(OpMaker& maker, ValueId v, Type type, const RowAxes& axes, Dim rows);

class AcrossPositions {
 public:
  // `packed`: rows of values, as (1, rows, ...). What it is given outlives it.
  AcrossPositions(IrContext& ir, const RaggedRows& rows, OpMaker& maker, RaggedPrelude& prelude,
                  const std::unordered_map<ValueId, ValueId>& packed)
      : ir_(ir), rows_(rows), maker_(maker), prelude_(prelude), packed_(packed) {}

  struct Made {
    ValueId value = kNoValue;
    bool isRows = true;  // as (1, rows, ...); else it is the result as it is
  };
  // Nullopt: the operation does not look across positions, or is none of these.
  Result<std::optional<Made>> emit(const Op& op);

 private:
  using Rule = Result<std::optional<Made>> (AcrossPositions::*)(const Op&);
  Result<std::optional<Made>> range(const Op& op);
  Result<std::optional<Made>> reduction(const Op& op);
  Result<std::optional<Made>> softmax(const Op& op);
  Result<std::optional<Made>> concat(const Op& op);
  Result<std::optional<Made>> slice(const Op& op);
  Result<std::optional<Made>> gather(const Op& op);
  bool isReversal(const Op& op, Dim count, Dim length) const;

  Error refusal(const Op& op, const std::string& why) const { return raggedRefusal(ir_, op, why); }
  std::optional<std::vector<int64_t>> numbersOf(const Op& op, size_t operand) const;
  bool isAlong(int64_t axis, Type type, const RowAxes& axes) const;
  ValueId rowsInFront(ValueId v);
  ValueId framesInFront(ValueId v, const RowAxes& axes);
  ValueId inPlace(ValueId front, Dim batch, Dim positions, Type type, const RowAxes& axes);
  ValueId rowsInPlace(ValueId front, Type type, const RowAxes& axes);
  struct Segments {
    const char* reduction;
    double start;
  };
  ValueId bySequence(ValueId front, Type type, const RowAxes& axes, const Segments& how);
  ValueId lengthsAs(Type type, const RowAxes& axes);
  ValueId column(ValueId ofSequences);
  ValueId takenFrames(ValueId x, const RowAxes& axes, const std::vector<int64_t>& places);

  IrContext& ir_;
  const RaggedRows& rows_;
  OpMaker& maker_;
  RaggedPrelude& prelude_;
  const std::unordered_map<ValueId, ValueId>& packed_;
};

}  // namespace dyn::passes
