// ScratchProgram: a copy of a model's program for questions and expressions. What they make (symbols, values,
// types, facts) stays in the copy, and the copy is made anew when much has gathered there: the model itself
// is the same after a million of them.
#pragma once

#include <cstdint>
#include <memory>

#include "app/engine/model/dim_origins.h"
#include "compiler/ir/fork.h"

namespace dyn {

struct ScratchCopy {
  std::shared_ptr<IrContext> ir;
  Module module;  // prints like the original
  // Where its dims come from; worked out when it is first asked for.
  DimOrigins& origins();

 private:
  std::unique_ptr<DimOrigins> origins_;
};

class ScratchProgram {
 public:
  // `original` and its context outlive this.
  explicit ScratchProgram(Module original) : original_(std::move(original)) {}
  // The copy for one more question, with all facts that the original has by now. Valid until the next call;
  // `ir` as long as someone shares it.
  ScratchCopy& copy();

 private:
  bool worn() const;
  void takeFacts();

  Module original_;
  std::unique_ptr<ScratchCopy> copy_;
  std::unique_ptr<IrFork> fork_;  // into copy_
  size_t factsCount_ = 0;         // of the original, that the copy has
  int64_t questionsCount_ = 0;
  uint32_t symbolsCount_ = 0, valuesCount_ = 0;  // of the copy when it was fresh
};

}  // namespace dyn
