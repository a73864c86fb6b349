// Attention in one kernel: which loop kernels are softmax(score(q k)) v, written without a matrix of scores.
//
//   accumulate top = maximum over j < n { accumulate s = sum over k < 64 { q[i, k] * w[j, k] }  f(s) }
//   accumulate total = sum over j < n { accumulate s ...  exp(f(s) - top) }
//   for e < 64 vector {
//     accumulate z = sum over j < n { accumulate s ...  exp(f(s) - top) * (1.0 / total) * v[j, e] }
//     y[i, e] = z
//   }
//
// f may read the row and the key: masks, causal or not, scales. What is f16 or bf16 in memory has casts
// around it; then the share that weighs a value is rounded, too: f32(f16(exp(f(s) - top) * (1.0 / total))).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/codegen/device/device_products.h"

namespace dyn {

// Head sizes that a block has shared memory for.
inline constexpr int64_t kLargestHead = 128;

struct TiledAttention {
  std::vector<ProductDigit> batch, rows;  // of the unit, slowest first
  std::vector<loop::Expr> unitExtents;
  ProductDigit key, depth, column;                  // j, k, e; the latter two of constant extents
  loop::Expr queryPart, keyPart, valuePart, score;  // q, w, v, f
  loop::Expr product;                               // the variable s of f
  Dtype roundsTo = Dtype::f32;                      // what a share is kept in
  loop::Expr sum;                                   // z
  std::vector<loop::StmtRef> after;                 // what is done with it
};

std::optional<TiledAttention> tiledAttentionOf(const loop::Kernel& kernel);
// "rows,1,1,products" of a launch (device_products.h).
std::string sizesAtLaunch(const loop::Kernel& kernel, const TiledAttention& attention);

}  // namespace dyn
