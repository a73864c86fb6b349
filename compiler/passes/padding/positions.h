// Positions of a padded batch: values [.., b, .., s, ..] with an axis of the batch and one of the sequence,
// or with both in one: [.., b * s, ..].
// Which operations compute a result at a position from that position alone, and which positions do others
// read? What a position needs of others decides what may be left out (pass `pack_sequences`).
//
//   y[b, s, j] = sum(k, x[b, s, k] * w[k, j])     position by position
//   y[b, j] = x[b, 0, j]                          reads position 0 of each sequence
//   y[b, j] = sum(s, x[b, s, j])                  reads all of them
//
// It is read off the operators' definitions in loops, as in batch_independence.h.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/infer/infer.h"

namespace dyn::passes {

struct PositionAxes {
  int batch = 0, sequence = 0;  // the same where both are one axis
  bool joined() const { return batch == sequence; }
  bool operator==(const PositionAxes&) const = default;
};

class Positions {
 public:
  // `batch`: a symbol; `sequence`: another, or what is computed from other symbols.
  Positions(const InferredModule& inferred, Dim batch, Dim sequence);

  Dim batch() const { return batch_; }
  Dim sequence() const { return sequence_; }
  bool isBatch(Dim d) const { return is(d, batch_); }
  bool isSequence(Dim d) const { return is(d, sequence_); }
  bool isBoth(Dim d) const;  // batch * sequence
  // Does it depend on either?
  bool mentions(Dim d) const;
  // One axis of each, or one of both, and no other dim that depends on them.
  std::optional<PositionAxes> axesOf(Type type) const;
  // The axis of the sequence of a value that is the same for all of a batch; nullopt: it is no such value.
  // Its size may also be one that is at most the sequence: min(512, s), which is s wherever it is not 1.
  std::optional<int> sequenceAxisOf(Type type) const;
  // "" where each result at a position is computed from that position of the operands; else what it reads.
  const std::string& whyNotByPosition(const Op& op);
  // Operands that only say what shape the result has, and hold sizes of the batch: to be made anew where that
  // is another. Of an operation that computes position by position.
  std::vector<size_t> shapeOperands(const Op& op) const;
  // Of an operation that reads of its operand only the sizes: its result, where that is known.
  std::optional<Shape> sizesOf(const Op& op) const;
  // The positions that the operation reads of each sequence of operand `operand`; nullopt: all, or no
  // telling.
  std::optional<std::vector<int64_t>> positionsRead(const Op& op, size_t operand) const;

  Type typeOf(ValueId v) const { return types_.at(v); }
  std::string nameOf(const Op& op) const;

 private:
  bool is(Dim d, Dim symbol) const;
  Dim canonical(Dim d) const { return inferred_.module.context->facts().canonical(d); }
  std::string byView(const Op& op) const;
  std::string byLoads(const Op& op, size_t result, const PositionAxes& axes) const;
  std::string explain(const Op& op) const;
  bool makesSizes(const Op& op) const;
  std::vector<Type> typesOf(const Op& op) const;

  const InferredModule& inferred_;
  IrContext& ir_;
  Dim batch_, sequence_;
  std::vector<SymbolId> symbols_;  // of both
  std::unordered_map<ValueId, Type> types_;
  std::unordered_map<const Op*, std::string> whyNot_;
};

}  // namespace dyn::passes
