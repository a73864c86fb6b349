// Which values of a padded batch are needed only at the positions that are kept? The readers of each value
// are asked, from the results of the program backwards.
//
//   return %y [b, s, d]                       all positions of it (under the policy `zero`: those kept)
//   %c = slice(%y, position 0)                those kept, if position 0 is
//   %z = layer_norm(%y)                       as many as of %z: position by position
//   %m = reduce_sum(%y, axis s)               all
//   return mul(%y, %mask)                     those kept, and where %mask is not 0: the others are 0
//   return transpose(%y of an LSTM)           those kept, likewise
//   max(where(%mask, %y, -1e9), axis s)       those where %mask holds
//   attention of other queries to %y          those kept, and all of a sequence that has none
//   packed attention + a bias [b, h, s, s]    those kept of what the bias is made of (pair_values.h)
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "compiler/passes/padding/masked_attention.h"
#include "compiler/passes/padding/padded_recurrence.h"
#include "compiler/passes/padding/positions.h"

namespace dyn::passes {

// At positions that the mask leaves out results are what they are with padding, or 0.
enum class PaddedResults : uint8_t { unseen, zero };

enum class PositionNeed : uint8_t { none, kept, all };

// What knows of the mask, by the operation that makes the result; all under one mask.
struct MaskedSites {
  std::unordered_map<const Op*, MaskedAttention> attentions;
  std::unordered_map<const Op*, PaddedRecurrence> recurrences;
  std::unordered_set<const Op*> reversals;  // of what recurrences stack
  std::unordered_set<const Op*> pairs;      // what biases of attention by pairs of positions are made by
  // Products of other queries with keys, and of what they see with values: their second operands, where no
  // position is seen that the mask hides, but of a sequence whose mask holds nowhere.
  std::unordered_set<const Op*> keyReaders;

  bool isRecurrence(const Op& op) const { return recurrences.count(&op) != 0 || reversals.count(&op) != 0; }
  bool has(const Op& op) const { return attentions.count(&op) != 0 || isRecurrence(op); }
};

// These values and what they are made of, but for what is read of sizes.
std::unordered_set<ValueId> makersOf(const Function& function, const std::vector<ValueId>& values);

class PositionNeeds {
 public:
  // What it is given outlives it.
  PositionNeeds(const InferredModule& inferred, Positions& positions, const MaskedSites& sites,
                PaddedResults policy);

  PositionNeed of(ValueId v) const;
  // Is it computed at the kept positions alone?
  bool isPacked(const Op& op) const;
  bool isPacked(ValueId v) const;
  // Does the program make it 0 at all positions that are left out?
  bool isZeroed(ValueId v);
  // What the program multiplies by: positions where it is not 0 are kept, too.
  const std::set<ValueId>& factors() const { return factors_; }
  // Positions that are read whatever the mask says.
  const std::set<int64_t>& seen() const { return seen_; }
  // Is a sequence read whose mask holds nowhere, or a position whatever the mask says?
  bool readsUnmasked() const { return readsEmpty_ || !seen_.empty(); }
  // Of values by position that are needed whole: who needs them.
  const std::map<ValueId, std::string>& reasons() const { return reasons_; }

 private:
  bool canPack(const Op& op) const;
  bool makesZero(const Op& op);
  bool isZeroFactor(ValueId v);
  bool isTaken(ValueId factor);
  bool isChosenByMask(const Op& where, size_t i);
  ValueId beforeExpansion(ValueId v) const;
  bool isOfMask(ValueId v) const;
  std::set<ValueId> inputsOf(std::vector<ValueId> values) const;
  void keptIsEnough(ValueId v);
  void all(ValueId v, const std::string& why);
  void pairsAreEnough(ValueId v);
  void visit(const Op& op);
  void visitPacked(const Op& op);
  void visitOperand(const Op& op, size_t i);

  const InferredModule& inferred_;
  const Function& main_;
  Positions& positions_;
  const MaskedSites& sites_;
  const PaddedResults policy_;
  std::unordered_set<ValueId> ofMask_;
  std::unordered_map<ValueId, bool> zeroed_;
  std::unordered_map<ValueId, const Op*> madeBy_;
  std::unordered_map<ValueId, PositionNeed> needs_;
  std::unordered_set<ValueId> whole_;  // needed at all positions, not at pairs of those kept alone
  std::set<int64_t> seen_;
  bool readsEmpty_ = false;
  std::set<ValueId> factors_;
  std::map<ValueId, std::string> reasons_;
};

}  // namespace dyn::passes
