// Views of dims: the table of symbols, and why a dim is what it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/engine/model/model_info.h"
#include "app/session/views/node_id.h"

namespace dyn {

struct DimRow {
  std::string symbol;
  std::string
      origin;  // why it exists: "dim 1 of input input_ids", "NonZero counts the non-zero elements at ..."
  std::string title;  // "boxes kept": of a size that only a run knows; "": it has none
  std::vector<std::string> facts;
  std::optional<int64_t> low, high;
  int64_t multiple = 1;
  std::vector<int64_t> likely;
  int64_t usesCount = 0;
  std::vector<std::string> uses;  // "input_ids.1": the first few values that have it in their type
};

struct DimsTable {
  std::vector<DimRow> rows;
  std::vector<std::string> checks;  // "check0: k must equal m: ...": what :why check0 explains
};

// One step of a chain. Steps that only hand the dim on stand folded in one.
struct WhyStep {
  std::string text;
  int depth = 0;                     // below the step that it explains
  NodeId node = kNoNode;             // the operation that makes the value
  std::string ask;                   // what :why asks about this step alone: "h.1"
  std::string keptBy;                // "add": the operator that only hands the dim on; "" of other steps
  std::vector<WhyStep> folded = {};  // the steps behind "through 38 operations that keep it"
};

struct WhyView {
  std::string question;  // "is y.1 = x.0?"
  std::string answer;    // "yes", "no", "unknown", or the dim itself
  std::vector<std::string> lines;
  std::vector<std::string> chain;   // of a value's dim, step by step back to its origins
  std::vector<WhyStep> tree;        // the same as a tree, before its children each step
  std::vector<std::string> facts;   // the proof of a yes or no: none of them can be left out
  std::vector<std::string> known;   // what else is known of the symbols
  std::vector<std::string> checks;  // run-time checks that rest on it
  DimValues counterexample;
  std::vector<std::string> shapes;  // of the inputs, for the counterexample: "x: [2, 3]"
  std::string
      guard;  // the cheapest test under which the two would be equal; "" when none is needed or none can
  std::string weakestGuard;  // the one that holds exactly when they are equal, where that is another
};

}  // namespace dyn
