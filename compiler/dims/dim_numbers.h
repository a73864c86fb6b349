// Dims in numbers, and in short.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "compiler/dims/dim.h"

namespace dyn {

// The values of many dims where every symbol has one value that stays: what the dims share is computed once.
// A chain of a thousand sizes, each made of the one before, is a thousand steps and not their square.
class DimNumbers {
 public:
  explicit DimNumbers(std::function<int64_t(SymbolId)> valueOf) : valueOf_(std::move(valueOf)) {}
  // Null: it does not fit into 64 bits, or divides by zero.
  std::optional<int64_t> value(Dim dim);

 private:
  std::function<int64_t(SymbolId)> valueOf_;
  std::unordered_map<uint32_t, std::optional<int64_t>> values_;  // by id
};

// Dim::toString, cut with "..." after `mostBytes`.
std::string shortText(Dim dim, size_t mostBytes);

}  // namespace dyn
