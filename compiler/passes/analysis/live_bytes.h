// Bytes of the tensors alive while each operation of a function runs, as dims: what passes for memory
// compare.
#pragma once

#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/dims/dim_numbers.h"
#include "compiler/ir/module.h"
#include "compiler/passes/analysis/liveness.h"
#include "compiler/support/result.h"

namespace dyn {

class LiveBytes {
 public:
  // What an operation reads and makes, of values with bytes of their own: a view stands for what it shows.
  struct Touched {
    std::vector<ValueId> reads, makes;
  };

  // `sample`: sizes for which sums are compared in numbers; other symbols have a usual one, within their
  // range.
  explicit LiveBytes(const Module& module, std::map<std::string, int64_t> sample = {})
      : module_(module), sample_(std::move(sample)) {}
  LiveBytes(const LiveBytes&) = delete;
  LiveBytes& operator=(const LiveBytes&) = delete;

  // All below is about this function and, of `sums`, its operations in any order.
  void describe(const Function& function);
  const Touched& of(const Op* op) const { return touched_.at(op); }
  const Liveness& liveness() const { return live_; }
  Dim sizeOf(ValueId root) const { return sizes_.at(root); }
  bool outlives(ValueId root) const { return kept_.count(root) > 0; }

  // While each of the operations runs: its results are there before its operands go.
  std::vector<Dim> sums(const std::vector<const Op*>& ops) const;
  int64_t sampleOf(Dim bytes);
  int64_t peakOf(const std::vector<Dim>& sums);
  // Is every sum at most one that `others` reach, for any dims?
  bool neverWorse(const std::vector<Dim>& sums, const std::vector<Dim>& others);

 private:
  bool atMost(Dim a, Dim b);
  int64_t sampleOfSymbol(SymbolId s) const;

  const Module& module_;
  std::map<std::string, int64_t> sample_;
  Liveness live_;
  std::unordered_map<const Op*, Touched> touched_;
  std::unordered_map<ValueId, Dim> sizes_;
  std::unordered_set<ValueId> kept_;
  std::map<uint32_t, int64_t> samples_;  // by id of a dim
  std::map<std::pair<uint32_t, uint32_t>, bool> atMost_;
  DimNumbers symbolSamples_{[this](SymbolId s) { return sampleOfSymbol(s); }};
};

// "batch:64 seq:128", the form of the option `dims` of passes. Error badAttribute.
Result<std::map<std::string, int64_t>> parseSampleDims(std::string_view text);

}  // namespace dyn
