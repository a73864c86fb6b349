// Which operations compute element n of a batch from element n of their operands alone: those that may run
// over a part of the batch at a time.
//
//   BatchRows rows(module, batch);
//   rows.note(*op);                    // each operation of the function, in order
//   rows.kindOf(type)                  // own: [batch, ...]; none: nothing in it depends on the batch
//   rows.whyNot(*op)                   // "" or why it must see the whole batch
//
// The batch is the first axis. Groups are asked operation by operation. What has the batch along another
// axis, control flow, and what has effects count as seeing the whole.
#pragma once

#include <string>
#include <unordered_map>

#include "compiler/infer/infer.h"

namespace dyn::passes {

class BatchRows {
 public:
  enum class Kind : uint8_t {
    none,   // the same for every batch
    own,    // [batch, ...], one element of the first axis for each of the batch
    other,  // depends on the batch in another way
  };

  BatchRows(const Module& module, SymbolId batch);

  void note(const Function& function);  // its parameters
  void note(const Op& op);
  Kind kindOf(Type type) const;
  Kind kindOf(ValueId value) const { return kindOf(types_.at(value)); }
  Type typeOf(ValueId value) const { return types_.at(value); }
  // Does it read something of the batch?
  bool readsRows(const Op& op) const;
  std::string whyNot(const Op& op);

 private:
  std::string whyNotGroup(const Op& group);
  std::string whyNotAlone(const Op& op);
  std::string whyNotStrided(const Op& op) const;
  bool aboutBatch(const Op& op) const;
  bool known(ValueId value) const { return value == kNoValue || types_.count(value) != 0; }

  InferredModule inferred_;  // with contents alone
  SymbolId batch_;
  Dim extent_;
  std::unordered_map<ValueId, Type> types_;
};

}  // namespace dyn::passes
