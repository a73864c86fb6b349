// Rows of ragged tensors: which operations compute each row, a position of a sequence, from that row alone?
//
//   x (b, len[b], 64)    rows: an axis of the batch and one of positions
//   i (len[b])           alone: of each sequence the same but for how many there are
//   c (b, 1, 64)         of the batch: an element for each sequence
//   s (b, h, len[b], len[b])   other: nothing that rows laid behind each other could hold
//
//   y[b, s, j] = sum(k, x[b, s, k] * w[k, j])     row by row
//   y[b, s, j] = x[b, s, j] + c[b, 0, j]          row by row, with the element of its sequence
//   y[b, j] = sum(s, x[b, s, j])                  reads all of a sequence
//
// It is read off the operators' definitions in loops, as in positions.h. Unlike there, lengths are
// expressions (`len[b] + 1`), and the place of a position may not be used otherwise.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/dims/ragged_dim.h"
#include "compiler/infer/infer.h"

namespace dyn::passes {

enum class RaggedKind : uint8_t { plain, ofBatch, rows, alone, other };

struct RowAxes {
  RaggedKind kind = RaggedKind::plain;
  int batch = -1, position = -1;  // axes; -1: there is none
  bool isFlat =
      false;   // of kind `other`: it has a batch and lengths of it, so that a sequence is so many elements
  Dim length;  // of the axis of positions
  bool isRagged() const { return kind != RaggedKind::plain && kind != RaggedKind::ofBatch; }
};

// Batch and positions first, where there are both; the other axes in their order.
std::vector<int64_t> rowsFirst(Type type, const RowAxes& axes);
// The sizes of these other axes.
Shape behindRows(Type type, const RowAxes& axes);

class RaggedRows {
 public:
  // `batch`: the symbol of the batch, as types have it. What it is given outlives it.
  RaggedRows(const InferredModule& inferred, Dim batch);

  Dim batch() const { return batch_; }
  Type typeOf(ValueId v) const { return v == kNoValue ? Type() : types_.at(v); }
  RowAxes axesOf(Type type) const;
  RowAxes axesOf(ValueId v) const { return axesOf(typeOf(v)); }
  // How many elements a sequence has: `2*len[b]*more[b]` of (b, 2, len[b], more[b]).
  Dim elementsOfSequence(Type type) const;
  // Is any operand, result or attribute ragged?
  bool isRaggedOp(const Op& op) const;
  // "" where each row of the results is computed from that row of the operands; else what it reads.
  std::string whyNotByRow(const Op& op) const;
  // Operands that only say what shape the result has, and hold sizes of batch or sequence.
  std::vector<size_t> shapeOperands(const Op& op) const;
  // The shape with its positions laid behind each other: 1 for the batch and `rows` for `length`. Nullopt
  // where it has other sizes of them.
  std::optional<Shape> shapeOfRows(const Shape& dims, Dim length, Dim rows) const;
  // Known elements of small integer values; null: absent, or not all are known.
  const Contents* contentsOf(ValueId v) const;
  bool mentions(Dim d) const;  // batch or lengths
  // Has it lengths of this batch? Those of others are sizes as any.
  bool hasLengths(Dim d) const;

 private:
  std::string byView(const Op& op) const;
  std::string byLoads(const Op& op, size_t result) const;
  std::vector<Type> typesOf(const Op& op) const;
  Dim canonical(Dim d) const;

  const InferredModule& inferred_;
  IrContext& ir_;
  Dim batch_;
  std::unordered_map<ValueId, Type> types_;
};

}  // namespace dyn::passes
