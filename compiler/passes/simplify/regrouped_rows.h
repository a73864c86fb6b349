// Attention between whose products the batches are regrouped: heads in groups that share a key, or batches
// and heads as one axis. The regrouping goes behind what works row by row, where it meets its opposite.
//
//   before  %s = matmul(%q, %k)       [b, h, 1, m, n]      %t = reshape(%s)   [b, h, m, n]
//           %p = softmax(%t)                               %u = reshape(%p)   [b, h, 1, m, n]
//           %z = matmul(%u, %v)
//   after   %s = matmul(%q2, %k2)     [b, h, m, n]         %p = softmax(%s)
//           %y = matmul(%p, %v2)      [b, h, m, d]         %z = reshape(%y)
// with %q2, %k2 and %v2 reshaped, which is free. Where a product repeats its keys it stays as it is:
//   before  %t = reshape(%s)          %a = add(%t, %mask) with %mask [b, 1, m, n]
//   after   %b = add(%s, %mask2) with %mask2 [b, 1, 1, m, n]             %a = reshape(%b)
// A product of an operand that was repeated, head by head, is one of the groups that share a head: what is
// repeated is never made.
//   before  %e = expand(%k)           [b, g, r, n, d] of [b, g, 1, n, d]      %f = reshape(%e)   [b, h, n, d]
//           %s = matmul(%q, transpose(%f))   [b, h, m, n], h = g r
//   after   %t = matmul(%q2, transposed %k)  [b, g, r, m, n] with %q2 [b, g, r, m, d]       %s = reshape(%t)
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/ir/module.h"

namespace dyn::passes {

class RegroupedRows {
 public:
  using Types = std::unordered_map<ValueId, Type>;
  using Definitions = std::unordered_map<ValueId, const Op*>;

  // Whether what is repeated for each head stays, for who looks for attention as it is written.
  enum class Repeats : uint8_t { kept, shared };

  // Of one function, whose operations are shown in their order. `equal`: are they the same size here?
  RegroupedRows(IrContext& ir, const Function& function, Types& types, Definitions& definitions,
                std::function<bool(Dim, Dim)> equal, Repeats repeats);

  // Puts what is needed before it at the end of `ops` and hands on what takes the place of `op`, or null.
  const Op* of(const Op& op, std::vector<const Op*>& ops);

 private:
  struct View;
  const Op* product(const Op& reshape, const View& view, std::vector<const Op*>& ops);
  const Op* rowsBehind(const Op& op, std::vector<const Op*>& ops);
  const Op* productBehind(const Op& op, std::vector<const Op*>& ops);
  const Op* productOfExpanded(const Op& op);
  const Op* productOfRepeated(const Op& op, std::vector<const Op*>& ops);
  const Op* transposeBehind(const Op& op, std::vector<const Op*>& ops);
  struct Repeated;
  std::optional<Repeated> repeatedIn(ValueId v) const;

  const Op* transposeOfRegrouped(const Op& view, std::vector<const Op*>& ops);
  static bool isTranspose(const Op* op);
  static Op withOperand(const Op& product, size_t side, ValueId v, bool isTransposed);
  const Op* madeBy(ValueId v) const;
  bool equalEnds(const Shape& a, const Shape& b, size_t count) const;
  bool isOf(ValueId v, const Shape& shape) const;
  bool equalBatches(const Shape& a, const Shape& b) const;
  ValueId viewed(ValueId v, const Shape& shape, const SourceLocation& place, std::vector<const Op*>& ops);
  const Op* reshapeOf(ValueId v, const Op& like, std::vector<const Op*>& ops);
  const Op* noted(Op op);
  void noteNew(std::vector<const Op*>& ops, size_t from);

  IrContext& ir_;
  Types& types_;
  Definitions& definitions_;
  std::function<bool(Dim, Dim)> equal_;
  Repeats repeats_;
  std::unordered_map<ValueId, int> uses_;
  std::unordered_set<ValueId> scores_;  // reshapes of products of two values, and what was made of them
  // Products of groups and what was made of them row by row: the axis that was two.
  std::unordered_map<ValueId, size_t> joined_;
  std::unordered_set<ValueId> weights_;  // what a softmax made, and what was made of that
};

}  // namespace dyn::passes
