// Operations on ragged tensors that run for each sequence by itself, in groups: what such an operation makes
// of two axes of positions (scores of queries and keys) never leaves its group.
//
//   %s = matmul(%q, %k)     (b, len[b], more[b])      one group: rows go in, rows come out
//   %p = softmax(%s)
//   %z = matmul(%p, %v)     (b, len[b], 64)
//
// A group is convex: what depends on one of its operations and is needed by another belongs to it.
#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/passes/ragged/ragged_rows.h"

namespace dyn::passes {

class RaggedRegions {
 public:
  // `ops`: those that matter, in their order; `apart`: those that begin a group; `isSizes`: operations that
  // read no elements.
  RaggedRegions(const RaggedRows& rows, std::vector<const Op*> ops,
                const std::unordered_set<const Op*>& apart, const std::function<bool(const Op&)>& isSizes);

  // The group of an operation; null: none.
  const std::vector<const Op*>* of(const Op& op) const;
  bool isLast(const Op& op) const { return of(op) && of(op)->back() == &op; }

 private:
  static constexpr int kNone = -1;

  void findNeighbours(const std::function<bool(const Op&)>& isSizes);
  bool join(size_t a, size_t b);
  bool joinScores();
  bool fillIn();
  size_t root(size_t i) const;

  const RaggedRows& rows_;
  const std::vector<const Op*> ops_;
  std::vector<std::vector<size_t>> readers_, makers_;  // of an operation's results, of its operands
  std::vector<int> group_;                             // of each operation: a member of it, itself at the end
  std::unordered_map<const Op*, std::vector<const Op*>> regions_;  // by their last operation
  std::unordered_map<const Op*, const Op*> last_;
};

}  // namespace dyn::passes
