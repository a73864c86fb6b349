// Values of @main by what they are made of: two of one number are equal.
//
//   %a = cast(%mask) {to = f32}   %b = cast(%mask) {to = f32}      one number
//
// Sizes are the same whatever they are read from. Constants count as equal where they are small and hold the
// same; what has a body or effects is equal to itself alone.
#pragma once

#include <string>
#include <unordered_map>

#include "compiler/infer/infer.h"

namespace dyn::passes {

class ValueNumbers {
 public:
  // It outlives this.
  explicit ValueNumbers(const InferredModule& inferred);

  int operator()(ValueId v) { return v == kNoValue ? -1 : numberOf(v); }

 private:
  int numberOf(ValueId v) {
    return numbers_.try_emplace(v, static_cast<int>(numbers_.size()) + 1).first->second;
  }
  void add(const Op& op);
  std::string knownSizes(const Op& op) const;

  const InferredModule& inferred_;
  IrContext& ir_;
  std::unordered_map<ValueId, int> numbers_;
  std::unordered_map<std::string, ValueId> made_;
};

}  // namespace dyn::passes
