// Attention under a mask of keys, as exporters write it, and what its mask is made of.
//
//   %s = matmul(%q, %k)          q [b, h, s, d], k [b, h, d, s], or the other way with transpose_b
//   %t = mul(%s, %scale)         any products with, and divisions by, constants
//   %u = add(%t, %bias)          bias of the keys: [b, 1, 1, s], or expanded from that
//   or   where(%mask, %t, %fill) fill: a constant of -10^4 or less
//   %p = softmax(%u)             perhaps where(is_nan(%p), 0, %p), or where(max(%bias) == -infinity, 0, %p)
//   %z = matmul(%p, %v)          v [b, h, s, e]
//
// Beside the mask of keys there may be a causal one, which hides keys behind the query, and a bias [h, s, s]
// that is the same for all of the batch (relative positions, ALiBi), each added or chosen apart, or in one
// sum or choice with the mask.
//
// So may there be any other choice by places of query and key in one with the mask, as that of keys near by.
//
// A mask may hide queries as well as keys, the same positions of both: where(mask[i] * mask[j], scores,
// fill).
//
// Each query may see its own key whatever the mask says of it (XLNet): then the mask is added as it is, too,
// by places of query and key.
//
// Any other bias of the scores, [b, h or 1, s or 1, s or 1], may be added too: what is read of it at the
// places of query and key is its element there.
//
// Queries may be of other positions than keys and values (of a decoder): then what counts is that hidden
// keys and values are not seen.
//
// Where scores are no such product (capped by a tanh, scaled behind a bias), they are taken as they are, as
// such a bias, without queries and keys.
//
// That bias and mask do not depend on the head or the query is proved where their shape does not show it:
// their element is written in elements of the inputs (definitions in loops, composed), and neither index is
// left in it. A mask is causal where an element [i, j] with j = i + 1 + t is hidden whatever t, and one with
// i = j + t does not depend on t.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/infer/infer.h"

namespace dyn::passes {

struct MaskedAttention {
  const Op* product = nullptr;  // makes the result
  const Op* scores = nullptr;   // the product of queries and keys
  const Op* softmax = nullptr;
  ValueId q = kNoValue, k = kNoValue, v = kNoValue;  // no q and k: the scores are among `own`
  bool keysAsQueries = false;                        // k is [b, h, s, d]
  double scale = 1;
  ValueId bias = kNoValue;     // added to the scores: [b, *, *, s]
  ValueId allowed = kNoValue;  // bool [b, *, *, s]: where a score counts; elsewhere it is `fill`
  bool allowedIsNot = false;   // where `allowed` does not hold
  double fill = 0;
  bool nanAsZero = false;
  bool causal = false;  // keys behind the query do not count; bias and allowed are those of the last query
  // Which keys count depends on where query and key are, too, the same for all of the batch, and a query sees
  // its own key: bias and allowed of a key are those of the query at its place.
  bool window = false;
  // Added to the scores: [.., h or 1, s or 1, s or 1], the same for all of a batch, also where it has its
  // axis.
  ValueId table = kNoValue;
  // Hides queries as well as keys: `allowed` is [b, *, s, s], and that of a position stands on the diagonal.
  // A query that is hidden sees no key, which makes them all the same.
  bool pairs = false;
  // A query sees its own key, whatever `bias` says of that to others; the bias is among `own`, too.
  bool seesItself = false;
  // Added to the scores, each of its own for each sequence: [b, h or 1, s or 1, s or 1].
  std::vector<ValueId> own;
  Dim heads;            // of the queries; keys and values may have one for all
  Dim batch, sequence;  // a symbol, and one or what is computed from others
  Dim queries;          // how many there are, as many as keys but in `others`
  std::string mask;     // the same text: the same mask
  std::string keys;     // the same text: the same keys are hidden; "": not known
};

struct AttentionSearch {
  std::vector<MaskedAttention> found;
  std::vector<MaskedAttention> others;  // of other queries, under a mask of keys alone
  std::vector<std::string> refusals;  // "softmax %p: no mask of its keys": attentions that are none of these
};

// A score to which this or less is added is that of a key which is not there.
inline constexpr double kMaskedBias = -9999;

AttentionSearch findMaskedAttention(const InferredModule& inferred);

}  // namespace dyn::passes
