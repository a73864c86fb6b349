// What a pass did: the difference of two modules of one context, by pointers and value ids.
//
// An operation is known by its first result (its value keeps its id through the passes), one without results
// by its pointer. Linear time; nothing is compared in depth but the pairs whose pointers differ.
#pragma once

#include <vector>

#include "compiler/ir/module.h"

namespace dyn {

struct ChangedOp {
  const Op* before = nullptr;
  const Op* after = nullptr;
  // What differs; all false: only the source place, or a remade copy that is the same.
  bool operatorChanged = false;
  bool operandsChanged = false;
  bool attributesChanged = false;
  bool typesChanged = false;
  bool regionsChanged = false;  // a body was remade (its own operations are in the diff too)
};

struct ModuleDiff {
  std::vector<const Op*> added;                 // in the order of `after`
  std::vector<const Op*> removed;               // in the order of `before`
  std::vector<ChangedOp> changed;               // in the order of `after`
  uint64_t unchangedCount = 0;                  // the same pointer in both
  std::vector<const Function*> addedFunctions;  // by name, bodies too
  std::vector<const Function*> removedFunctions;
  std::vector<const Function*>
      changedFunctions;  // of `after`: parameters, results or the list of operations differ
  bool empty() const {
    return added.empty() && removed.empty() && changed.empty() && addedFunctions.empty() &&
           removedFunctions.empty() && changedFunctions.empty();
  }
};

ModuleDiff diffModules(const Module& before, const Module& after);

}  // namespace dyn
