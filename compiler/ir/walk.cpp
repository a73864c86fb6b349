#include "compiler/ir/walk.h"

#include <algorithm>
#include <unordered_set>

namespace dyn {
namespace {

std::vector<FunctionVisit> visitsFrom(std::vector<FunctionVisit> stack) {
  std::vector<FunctionVisit> order;
  std::unordered_set<const Function*> seen;
  std::reverse(stack.begin(), stack.end());
  while (!stack.empty()) {
    const FunctionVisit visit = stack.back();
    stack.pop_back();
    if (visit.function == nullptr || !seen.insert(visit.function).second) continue;
    order.push_back(visit);
    const size_t begin = stack.size();
    for (const Op* op : visit.function->ops) {
      for (size_t r = 0; r < op->regions.size(); ++r) {
        stack.push_back({op->regions[r], op, visit.function, static_cast<uint32_t>(r), visit.depth + 1});
      }
    }
    std::reverse(stack.begin() + static_cast<ptrdiff_t>(begin), stack.end());
  }
  return order;
}

using FunctionMap = std::unordered_map<const Function*, const Function*>;

const Function* mapped(const FunctionMap& map, const Function* function) {
  const auto found = map.find(function);
  return found == map.end() ? function : found->second;
}

// `function` with the bodies of its operations replaced; the same pointer when none was.
const Function* withRegions(IrContext& context, const Function& function, const FunctionMap& replaced) {
  Function copy;
  bool changed = false;
  for (size_t i = 0; i < function.ops.size(); ++i) {
    const Op* op = function.ops[i];
    const bool hit = std::any_of(op->regions.begin(), op->regions.end(),
                                 [&](const Function* region) { return mapped(replaced, region) != region; });
    if (!hit) continue;
    if (!changed) copy = function;
    changed = true;
    Op next = *op;
    for (const Function*& region : next.regions) region = mapped(replaced, region);
    copy.ops[i] = context.own(std::move(next));
  }
  return changed ? context.own(std::move(copy)) : &function;
}

ValueId follow(const ValueMap& map, ValueId id) {
  // A chain has at most as many links as the map: a cycle ends there.
  for (size_t steps = 0; steps <= map.size(); ++steps) {
    const auto found = map.find(id);
    if (found == map.end() || found->second == id) return id;
    id = found->second;
  }
  return id;
}

bool replaceAll(std::span<ValueId> ids, const ValueMap& map) {
  bool changed = false;
  for (ValueId& id : ids) {
    const ValueId next = follow(map, id);
    changed |= next != id;
    id = next;
  }
  return changed;
}

}  // namespace

std::vector<FunctionVisit> functionsOf(const Module& module) {
  std::vector<FunctionVisit> roots;
  for (const Function* function : module.functions) roots.push_back({function});
  return visitsFrom(std::move(roots));
}

std::vector<FunctionVisit> functionsOf(const Function& function) { return visitsFrom({{&function}}); }

uint64_t countOps(const Module& module) {
  uint64_t count = 0;
  for (const FunctionVisit& visit : functionsOf(module)) count += visit.function->ops.size();
  return count;
}

Uses::Uses(const Module& module) {
  const size_t count = module.context ? module.context->valueCount() : 0;
  definitions_.resize(count);
  first_.assign(count + 1, 0);
  const std::vector<FunctionVisit> functions = functionsOf(module);
  auto forEachUse = [&](auto&& visit) {
    for (const FunctionVisit& f : functions) {
      for (const Op* op : f.function->ops) {
        for (uint32_t i = 0; i < op->operands.size(); ++i) {
          if (op->operands[i] < count) visit(op->operands[i], Use{f.function, op, i});
        }
      }
      for (uint32_t i = 0; i < f.function->results.size(); ++i) {
        if (f.function->results[i] < count) visit(f.function->results[i], Use{f.function, nullptr, i});
      }
    }
  };
  for (const FunctionVisit& f : functions) {
    for (uint32_t i = 0; i < f.function->parameters.size(); ++i) {
      const Parameter& p = f.function->parameters[i];
      if (p.id < count) definitions_[p.id] = {f.function, nullptr, i, p.type};
    }
    for (const Op* op : f.function->ops) {
      for (uint32_t i = 0; i < op->results.size(); ++i) {
        if (op->results[i].id < count)
          definitions_[op->results[i].id] = {f.function, op, i, op->results[i].type};
      }
    }
  }
  forEachUse([&](ValueId id, const Use&) { ++first_[id + 1]; });
  for (size_t i = 0; i < count; ++i) first_[i + 1] += first_[i];
  uses_.resize(first_[count]);
  std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
  forEachUse([&](ValueId id, const Use& use) { uses_[next[id]++] = use; });
}

std::span<const Use> Uses::of(ValueId id) const {
  if (id >= definitions_.size()) return {};
  return std::span<const Use>(uses_).subspan(first_[id], first_[id + 1] - first_[id]);
}

const Definition& Uses::definition(ValueId id) const {
  static const Definition kNone;
  return id < definitions_.size() ? definitions_[id] : kNone;
}

Module withMain(const Module& module, const Function* main) {
  Module changed = module;
  std::replace(changed.functions.begin(), changed.functions.end(), module.main(), main);
  return changed;
}

Result<Module> rewriteFunctions(const Module& module, const FunctionChange& change) {
  const std::vector<FunctionVisit> visits = functionsOf(module);
  FunctionMap replaced;
  for (size_t i = visits.size(); i-- > 0;) {
    const Function* before = visits[i].function;
    const Function* inner = withRegions(*module.context, *before, replaced);
    DYN_TRY(const Function* after, change(*inner));
    if (after != before) replaced.emplace(before, after);
  }
  Module result = module;
  for (const Function*& function : result.functions) function = mapped(replaced, function);
  return result;
}

const Function* replaceValues(IrContext& context, const Function& function, const ValueMap& replacement) {
  Function copy = function;
  bool changed = replaceAll(copy.results, replacement);
  for (const Op*& op : copy.ops) {
    const bool hit = std::any_of(op->operands.begin(), op->operands.end(),
                                 [&](ValueId id) { return replacement.count(id) != 0; });
    if (!hit) continue;
    Op next = *op;
    if (!replaceAll(next.operands, replacement)) continue;
    op = context.own(std::move(next));
    changed = true;
  }
  return changed ? context.own(std::move(copy)) : &function;
}

const Function* cloneWithNewIds(IrContext& context, const Function& function, std::string_view newName,
                                ValueMap* renamed) {
  const std::vector<FunctionVisit> visits = functionsOf(function);
  ValueMap map;
  auto rename = [&](ValueId old) {
    const ValueId id = context.newValue(context.hasName(old) ? context.valueName(old) : std::string());
    map.emplace(old, id);
    return id;
  };
  for (const FunctionVisit& visit : visits) {
    for (const Parameter& p : visit.function->parameters) rename(p.id);
    for (const Op* op : visit.function->ops) {
      for (const ValueDef& result : op->results) rename(result.id);
    }
  }
  auto newId = [&](ValueId old) {
    const auto found = map.find(old);
    return found == map.end() ? old : found->second;
  };
  FunctionMap replaced;
  for (size_t i = visits.size(); i-- > 0;) {
    Function copy = *visits[i].function;
    copy.name = i == 0 ? std::string(newName) : context.uniqueFunctionName(copy.name + ".");
    for (Parameter& p : copy.parameters) p.id = newId(p.id);
    for (const Op*& op : copy.ops) {
      Op next = *op;
      for (ValueId& operand : next.operands) operand = newId(operand);
      for (ValueDef& result : next.results) result.id = newId(result.id);
      for (const Function*& region : next.regions) region = mapped(replaced, region);
      op = context.own(std::move(next));
    }
    for (ValueId& result : copy.results) result = newId(result);
    replaced.emplace(visits[i].function, context.own(std::move(copy)));
  }
  if (renamed) *renamed = std::move(map);
  return mapped(replaced, &function);
}

}  // namespace dyn
