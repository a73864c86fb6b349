// Where values are used for the last time, and what shares memory with what.
#pragma once

#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/ir/module.h"

namespace dyn {

struct Liveness {
  // Index of the last operation that uses the value, following views; ops.size() for values that outlive the
  // function body (results, and values that flow into structures, calls or results of regions).
  std::unordered_map<ValueId, size_t> lastUse;
  // The value whose bytes a view shows, itself otherwise.
  std::unordered_map<ValueId, ValueId> root;
  ValueId rootOf(ValueId v) const {
    auto it = root.find(v);
    return it == root.end() ? v : it->second;
  }
};

// Liveness of the values defined in `function`, in one sweep. Captures of regions are used where the region's
// operation stands.
Liveness computeLiveness(const Function& function);

// Symbols mentioned by the types and dim attributes of the operation and the parameters of its regions.
void collectOwnSymbols(const Op& op, std::set<SymbolId>& symbols);

}  // namespace dyn
