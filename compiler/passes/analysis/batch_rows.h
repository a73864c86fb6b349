// Which operations compute element n of a batch from element n of their operands alone: those that may run
// over a part of the batch at a time.
//
//   BatchRows rows(module, batch);     // a symbol, or a number
//   rows.note(*op);                    // each operation of the function, in order
//   rows.kindOf(value)                 // own: [batch, ...]; none: nothing in it depends on the batch
//   rows.whyNot(*op)                   // "" or why it must see the whole batch
//
// The batch is the first axis. Groups are asked operation by operation. What has the batch along another
// axis, control flow, and what has effects count as seeing the whole. Where the batch is a number, other
// sizes may be the same one: own is what operations that may run so have made of a parameter.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "compiler/infer/infer.h"

namespace dyn::passes {

class BatchRows {
 public:
  enum class Kind : uint8_t {
    none,   // the same for every batch
    own,    // [batch, ...], one element of the first axis for each of the batch
    other,  // depends on the batch in another way
  };

  BatchRows(const Module& module, Dim batch) : batch_(batch) { inferred_.module = module; }

  void note(const Function& function);  // its parameters
  void note(const Op& op);
  Kind kindOf(ValueId value) const;
  Type typeOf(ValueId value) const { return types_.at(value); }
  // Does it read something of the batch?
  bool readsRows(const Op& op) const;
  std::string whyNot(const Op& op);

 private:
  enum class Stands : uint8_t { alone, inGroup };
  std::string whyNotGroup(const Op& group);
  std::string whyNotAlone(const Op& op, Stands stands);
  std::string whyNotLoads(const Op& op, const std::vector<Type>& types) const;
  std::string whyNotStrided(const Op& op) const;
  bool aboutBatch(const Op& op) const;
  bool isBatch(Dim d) const;  // is it, or made of it?
  bool anyIsBatch(const Shape& sizes) const;
  bool holdsBatch(ValueId v) const;  // among its known elements
  bool known(ValueId value) const { return value == kNoValue || types_.count(value) != 0; }

  InferredModule inferred_;  // with contents alone
  Dim batch_;
  std::unordered_map<ValueId, Type> types_;
  std::unordered_set<ValueId> own_;  // where the batch is a number
};

}  // namespace dyn::passes
