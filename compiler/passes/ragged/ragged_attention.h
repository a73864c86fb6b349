// Attention within each sequence of a ragged tensor, as programs write it.
//
//   %s = matmul(%q, %k)          q (b, h, len[b], d), k (b, h, d, len[b]); or without heads; queries may be of
//                                another length, (b, h, more[b], d)
//   %t = mul(%s, c)              any products with, and divisions by, numbers
//   %u = where(%seen, %t, fill)  perhaps: seen holds where the key is not behind the query; fill: -10^4 or less
//   or   where(%some, %t, fill)  a mask of the keys, bool (b, 1, 1, len[b]), or add(%t, %bias), f32 (b, 1, 1, len[b])
//   %p = softmax(%u)
//   %z = matmul(%p, %v)          v (b, h, len[b], e)
//
// `seen` compares two ranges over the positions: less_equal of keys and queries, or the same said otherwise.
// All steps between the first product and the last are of (.., len[b], len[b]) elements, which rows cannot
// hold: they become one operation, packed_attention, or are refused.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/passes/ragged/ragged_rows.h"

namespace dyn::passes {

struct RaggedAttention {
  ValueId q = kNoValue, k = kNoValue, v = kNoValue;
  bool transposedK = false;  // k is (b, h, len[b], d)
  double scale = 1;
  double fill = 0;
  bool causal = false;
  ValueId bias = kNoValue, allowed = kNoValue;  // of the keys: (b, 1.., len[b])
  bool allowedIsNot = false;                    // where `allowed` does not hold
  Dim length, queries;                          // of keys, and of queries
  std::vector<const Op*> steps;                 // what it is made of, but the last product; and the mask
};

class RaggedAttentionSearch {
 public:
  RaggedAttentionSearch(const InferredModule& inferred, const RaggedRows& rows);
  // Of the product that makes the result; nullopt where it is no attention.
  std::optional<RaggedAttention> of(const Op& product) const;

 private:
  const Op* maker(ValueId v) const;
  std::optional<double> numberOf(ValueId v) const;
  bool stepBack(const Op& op, RaggedAttention* site, ValueId* scores) const;
  bool stepOverMask(const Op& op, RaggedAttention* site, ValueId* scores) const;
  bool isOfKeys(ValueId v, int rank, Dim length, Dtype dtype) const;
  bool isCausal(ValueId seen, RaggedAttention* site, bool* keysSeen) const;
  std::optional<int> axisOfRange(ValueId v, Dim length) const;

  const RaggedRows& rows_;
  std::unordered_map<ValueId, const Op*> makers_;
};

}  // namespace dyn::passes
