#include "compiler/ir/diff.h"

#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/walk.h"

namespace dyn {
namespace {

bool sameResults(const std::vector<ValueDef>& a, const std::vector<ValueDef>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].id != b[i].id || a[i].type != b[i].type) return false;
  }
  return true;
}

ChangedOp compare(const Op& before, const Op& after) {
  return {.before = &before,
          .after = &after,
          .operatorChanged = before.def != after.def,
          .operandsChanged = before.operands != after.operands,
          .attributesChanged = !(before.attributes == after.attributes),
          .typesChanged = !sameResults(before.results, after.results),
          .regionsChanged = before.regions != after.regions};
}

void diffOps(const Module& before, const Module& after, ModuleDiff* diff) {
  std::unordered_set<const Op*> oldOps, newOps;
  std::unordered_map<ValueId, const Op*> oldByValue, newByValue;
  forEachOp(before, [&](const Function&, const Op& op) {
    oldOps.insert(&op);
    if (!op.results.empty()) oldByValue.emplace(op.results[0].id, &op);
  });
  forEachOp(after, [&](const Function&, const Op& op) {
    newOps.insert(&op);
    if (!op.results.empty()) newByValue.emplace(op.results[0].id, &op);
  });
  forEachOp(after, [&](const Function&, const Op& op) {
    if (oldOps.count(&op)) {
      ++diff->unchangedCount;
      return;
    }
    const auto old = op.results.empty() ? oldByValue.end() : oldByValue.find(op.results[0].id);
    if (old == oldByValue.end()) {
      diff->added.push_back(&op);
    } else {
      diff->changed.push_back(compare(*old->second, op));
    }
  });
  forEachOp(before, [&](const Function&, const Op& op) {
    if (newOps.count(&op)) return;
    if (op.results.empty() || !newByValue.count(op.results[0].id)) diff->removed.push_back(&op);
  });
}

void diffFunctions(const Module& before, const Module& after, ModuleDiff* diff) {
  std::unordered_map<std::string_view, const Function*> oldByName, newByName;
  const auto oldVisits = functionsOf(before), newVisits = functionsOf(after);
  for (const FunctionVisit& visit : oldVisits) oldByName.emplace(visit.function->name, visit.function);
  for (const FunctionVisit& visit : newVisits) newByName.emplace(visit.function->name, visit.function);
  for (const FunctionVisit& visit : newVisits) {
    const auto old = oldByName.find(visit.function->name);
    if (old == oldByName.end()) {
      diff->addedFunctions.push_back(visit.function);
    } else if (old->second != visit.function) {
      diff->changedFunctions.push_back(visit.function);
    }
  }
  for (const FunctionVisit& visit : oldVisits) {
    if (!newByName.count(visit.function->name)) diff->removedFunctions.push_back(visit.function);
  }
}

}  // namespace

ModuleDiff diffModules(const Module& before, const Module& after) {
  ModuleDiff diff;
  if (before == after) {
    diff.unchangedCount = countOps(after);
    return diff;
  }
  diffOps(before, after, &diff);
  diffFunctions(before, after, &diff);
  return diff;
}

}  // namespace dyn
