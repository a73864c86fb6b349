#include "app/session/changes/model_match.h"

#include <algorithm>
#include <deque>
#include <string>
#include <unordered_set>

#include "compiler/ir/op_def.h"
#include "compiler/ir/printer.h"
#include "compiler/ops/op_table.h"

namespace dyn {

namespace {

bool isNumber(const std::string& name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Element type and shape.
std::string tensorKey(const HostTensor& tensor) {
  std::string key(toString(tensor.dtype()));
  for (const int64_t size : tensor.shape()) key += "," + std::to_string(size);
  return key;
}

std::string attributesKey(const IrContext& ir, const Attributes& attributes) {
  std::string key;
  for (const auto& [name, value] : attributes.all()) {
    key += name + "=";
    const auto* tensor = std::get_if<HostTensor>(&value);
    key += tensor ? std::to_string(ir.checksum(*tensor)) + tensorKey(*tensor) : print(ir, value);
    key += ";";
  }
  return key;
}

enum class Strictness : uint8_t { sameAttributes, anyAttributes };
enum class NamesOf : uint8_t { sameOperator, anyOperator };

// One function of each module.
class FunctionMatcher {
 public:
  FunctionMatcher(const Module& before, const Module& after, const Function& first, const Function& second,
                  ModelMatch& match)
      : ir_(*before.context), otherIr_(*after.context), first_(first), second_(second), match_(match) {
    for (const Op* op : first_.ops)
      for (const ValueDef& result : op->results) makers_[result.id] = op;
    for (const Op* op : second_.ops)
      for (const ValueDef& result : op->results) otherMakers_[result.id] = op;
  }

  void matchParameters(const std::vector<std::string>& names, const std::vector<std::string>& otherNames) {
    std::unordered_map<std::string, size_t> byName;
    for (size_t i = 0; i < otherNames.size() && i < second_.parameters.size(); ++i) byName[otherNames[i]] = i;
    std::vector<char> taken(second_.parameters.size());
    std::vector<size_t> open;
    for (size_t i = 0; i < first_.parameters.size(); ++i) {
      const auto found = i < names.size() ? byName.find(names[i]) : byName.end();
      if (found == byName.end()) {
        open.push_back(i);
        continue;
      }
      taken[found->second] = 1;
      link(first_.parameters[i].id, second_.parameters[found->second].id);
    }
    for (const size_t i : open) {
      if (i >= taken.size() || taken[i]) continue;
      link(first_.parameters[i].id, second_.parameters[i].id);
    }
  }

  // The pairs, in the order of the first function; what is left of both goes to the match.
  std::vector<MatchedOps> run() {
    matchNames(NamesOf::sameOperator);
    size_t before = SIZE_MAX;
    for (int round = 0; round < kMostRounds && before != partner_.size(); ++round) {
      before = partner_.size();
      matchStructure(Strictness::sameAttributes);
      matchStructure(Strictness::anyAttributes);
      matchProducers();
    }
    matchNames(NamesOf::anyOperator);
    std::vector<MatchedOps> pairs;
    for (const Op* op : first_.ops) {
      const auto found = partner_.find(op);
      if (found == partner_.end())
        match_.removed.push_back(op);
      else
        pairs.push_back({op, found->second});
    }
    for (const Op* op : second_.ops)
      if (taken_.count(op) == 0) match_.added.push_back(op);
    return pairs;
  }

 private:
  static constexpr int kMostRounds = 8;  // each walks both functions once, and goes on with what it finds

  bool isOpen(const Op* op) const { return partner_.count(op) == 0; }
  void link(ValueId before, ValueId after) { match_.values.emplace(before, after); }
  void pair(const Op* before, const Op* after) {
    partner_[before] = after;
    taken_.insert(after);
    for (size_t i = 0; i < std::min(before->results.size(), after->results.size()); ++i)
      link(before->results[i].id, after->results[i].id);
  }

  void matchNames(NamesOf which) {
    std::unordered_map<std::string, const Op*> byName;
    for (const Op* op : second_.ops)
      if (taken_.count(op) == 0 && !op->results.empty() && otherIr_.hasName(op->results[0].id))
        byName.emplace(otherIr_.valueName(op->results[0].id), op);
    for (const Op* op : first_.ops) {
      if (!isOpen(op) || op->results.empty() || !ir_.hasName(op->results[0].id)) continue;
      const std::string name = ir_.valueName(op->results[0].id);
      const auto found = byName.find(name);
      if (found == byName.end() || taken_.count(found->second) != 0) continue;
      const bool sameOperator = op->def == found->second->def;
      if (sameOperator || (which == NamesOf::anyOperator && !isNumber(name))) pair(op, found->second);
    }
  }

  // Nothing where an operand has no partner.
  std::string keyOf(const IrContext& ir, const Op& op, Strictness strictness, bool ofFirst) const {
    std::string key = std::string(op.def->name) + "(";
    for (ValueId operand : op.operands) {
      if (operand != kNoValue && ofFirst) {
        const auto found = match_.values.find(operand);
        if (found == match_.values.end()) return "";
        operand = found->second;
      }
      key += operand == kNoValue ? "_," : std::to_string(operand) + ",";
    }
    if (op.def == &ops::constantOp && strictness == Strictness::anyAttributes) return "";
    return strictness == Strictness::sameAttributes ? key + ")" + attributesKey(ir, op.attributes) : key;
  }

  void matchStructure(Strictness strictness) {
    std::unordered_map<std::string, std::deque<const Op*>> byKey;
    for (const Op* op : second_.ops) {
      if (taken_.count(op) != 0) continue;
      if (const std::string key = keyOf(otherIr_, *op, strictness, false); !key.empty())
        byKey[key].push_back(op);
    }
    if (byKey.empty()) return;
    for (const Op* op : first_.ops) {
      if (!isOpen(op)) continue;
      const std::string key = keyOf(ir_, *op, strictness, true);
      const auto found = key.empty() ? byKey.end() : byKey.find(key);
      if (found == byKey.end() || found->second.empty()) continue;
      pair(op, found->second.front());
      found->second.pop_front();
    }
  }

  // From what is matched to what makes its operands.
  void matchProducers() {
    const auto producers = [&](ValueId before, ValueId after) {
      const auto maker = makers_.find(before), other = otherMakers_.find(after);
      if (maker == makers_.end() || other == otherMakers_.end()) return;
      const Op& a = *maker->second;
      const Op& b = *other->second;
      if (isOpen(&a) && taken_.count(&b) == 0 && a.def == b.def && a.results.size() == b.results.size())
        pair(&a, &b);
    };
    for (size_t i = 0; i < std::min(first_.results.size(), second_.results.size()); ++i)
      producers(first_.results[i], second_.results[i]);
    for (size_t i = first_.ops.size(); i-- > 0;) {
      const auto found = partner_.find(first_.ops[i]);
      if (found == partner_.end() || found->second->def != first_.ops[i]->def) continue;
      const Op& a = *first_.ops[i];
      const Op& b = *found->second;
      for (size_t k = 0; k < std::min(a.operands.size(), b.operands.size()); ++k)
        if (a.operands[k] != kNoValue && b.operands[k] != kNoValue) producers(a.operands[k], b.operands[k]);
    }
  }

  const IrContext& ir_;
  const IrContext& otherIr_;
  const Function& first_;
  const Function& second_;
  ModelMatch& match_;
  std::unordered_map<ValueId, const Op*> makers_, otherMakers_;
  std::unordered_map<const Op*, const Op*> partner_;
  std::unordered_set<const Op*> taken_;
};

}  // namespace

std::vector<std::string> inputNamesOf(const LoadedModel& model) {
  std::vector<std::string> names;
  for (const ValueInfo& input : model.info().inputs) names.push_back(input.name);
  return names;
}

ModelMatch matchModels(const LoadedModel& firstModel, const LoadedModel& secondModel) {
  const Module& before = firstModel.imported();
  const Module& after = secondModel.imported();
  ModelMatch match;
  struct FunctionPair {
    const Function* before;
    const Function* after;
  };
  std::deque<FunctionPair> open;
  const auto leave = [](const Function& function, std::vector<const Op*>& ops) {
    ops.insert(ops.end(), function.ops.begin(), function.ops.end());
  };
  for (const Function* function : before.functions) {
    if (const Function* other = after.find(function->name))
      open.push_back({function, other});
    else
      leave(*function, match.removed);
  }
  for (const Function* function : after.functions)
    if (!before.find(function->name)) leave(*function, match.added);
  for (; !open.empty(); open.pop_front()) {
    const auto [first, second] = open.front();
    FunctionMatcher matcher(before, after, *first, *second, match);
    const bool isMain = first == before.main();
    if (isMain)
      matcher.matchParameters(inputNamesOf(firstModel), inputNamesOf(secondModel));
    else
      matcher.matchParameters({}, {});
    for (const MatchedOps& pair : matcher.run()) {
      match.ops.push_back(pair);
      const auto& regions = pair.before->regions;
      const auto& others = pair.after->regions;
      for (size_t i = 0; i < std::max(regions.size(), others.size()); ++i) {
        if (i < regions.size() && i < others.size())
          open.push_back({regions[i], others[i]});
        else if (i < regions.size())
          leave(*regions[i], match.removed);
        else
          leave(*others[i], match.added);
      }
    }
  }
  return match;
}

}  // namespace dyn
