// Sizes of inputs near those of a run, for which the checks of a model hold: by their formulas, without a
// run.
//
//   NearestSizes nearest(typed, {{"batch", 2}, {"seq", 600}});
//   nearest.find(symbols, 3)[0]     batch=2, seq=512 at distance 88
//
// Distance: the sum of the differences over all dims. What facts say of the dims holds for all that is found.
#pragma once

#include <set>
#include <vector>

#include "app/session/answers/run_checks.h"
#include "app/session/answers/size_check.h"

namespace dyn {

class NearestSizes {
 public:
  NearestSizes(const Module& typed, const DimValues& now);

  struct Candidate {
    DimValues sizes;
    int64_t distance = 0;
  };
  using Accepts = std::function<bool(const DimBinding&)>;
  // The nearest that are accepted, with other values for these symbols; at most `most`, by distance.
  std::vector<Candidate> find(const std::set<SymbolId>& symbols, const Accepts& accepts, size_t most) const;
  // Do all checks hold whose sides have values? Of bodies that may not run none is looked at.
  bool allHold(const DimBinding& sizes) const;
  // The check of that operation that fails in the run; null: its formula does not say so.
  const RunCheck* failing(const Op* op) const;
  // The symbols of the check's sides; empty where one of them is not of the inputs.
  std::set<SymbolId> symbolsOfInputs(const RunCheck& check) const;
  std::set<SymbolId> symbolsOfInputs() const;
  const DimBinding& now() const { return now_; }

 private:
  bool isAllowed(const DimBinding& sizes) const;

  std::vector<NamedSize> sizes_;  // that have a value in the run
  DimBinding now_;
  std::vector<Fact> facts_;  // of inputs alone
  std::vector<RunCheck> checks_;
};

}  // namespace dyn
