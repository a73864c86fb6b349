#include "compiler/passes/analysis/value_numbers.h"

#include "compiler/ir/op_def.h"
#include "compiler/ir/printer.h"

namespace dyn::passes {

namespace {

constexpr int64_t kSmallBytes = 4096;  // constants that are compared by their elements

}  // namespace

ValueNumbers::ValueNumbers(const InferredModule& inferred)
    : inferred_(inferred), ir_(*inferred.module.context) {
  for (const Parameter& p : inferred.module.main()->parameters) numberOf(p.id);
  for (const Op* op : inferred.module.main()->ops) add(*op);
}

void ValueNumbers::add(const Op& op) {
  if (!op.regions.empty() || op.def->hasEffects || op.results.empty()) return;
  std::string key = knownSizes(op);
  if (!key.empty()) {
    const auto [same, fresh] = made_.try_emplace(key, op.results[0].id);
    if (!fresh) numbers_[op.results[0].id] = numberOf(same->second);
    return;
  }
  key = std::string(op.def->name);
  for (ValueId v : op.operands) key += " " + std::to_string((*this)(v));
  for (const auto& [name, value] : op.attributes.all()) {
    const HostTensor* tensor = std::get_if<HostTensor>(&value);
    if (tensor && tensor->sizeBytes() > kSmallBytes) return;
    PrintOptions whole;
    whole.maxInlineElements = -1;
    key += " " + name + "=" + print(ir_, value, whole);
  }
  for (size_t i = 0; i < op.results.size(); ++i) {
    const auto [same, fresh] = made_.try_emplace(key + " " + std::to_string(i), op.results[i].id);
    if (!fresh) numbers_[op.results[i].id] = numberOf(same->second);
  }
}

std::string ValueNumbers::knownSizes(const Op& op) const {
  const auto known = inferred_.contents.find(op.results[0].id);
  if (!op.def->traits.readsShape || op.results.size() != 1 || known == inferred_.contents.end()) return "";
  std::string key = "sizes " + op.results[0].type.toString();
  for (Dim d : known->second) {
    if (!d) return "";
    key += " " + std::to_string(ir_.facts().canonical(d).id());  // its text may be long
  }
  return key;
}

}  // namespace dyn::passes
