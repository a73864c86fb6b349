// Common subexpression elimination.
//   requires: types.  provides: no two equal operations without effects in one function.
//   before  %a = relu(%x) : T  %b = relu(%x) : T  %c = add(%a, %b)      after  %a = relu(%x) : T  %c = add(%a, %a)
// Two operations are merged when row, operands, attributes and result types are the same; a result with a dim
// of its own (`?7`: NonZero) differs by its type and stays. Equal residual checks are merged too: a check
// that passed once passes again. Cost: one forward sweep per function with a hash table.
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/pass/pass.h"

namespace dyn::passes {

namespace {

size_t mix(size_t seed, size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2));
}

size_t hashOf(std::string_view bytes) { return std::hash<std::string_view>()(bytes); }

// Two weights of one size differ nearly everywhere or are the same: of large ones some stretches are enough.
size_t hashOf(const HostTensor& tensor) {
  size_t seed = static_cast<size_t>(tensor.elementCount());
  if (tensor.elementCount() == 0 || tensor.dtype() == Dtype::string) return seed;
  const std::string_view bytes(reinterpret_cast<const char*>(tensor.bytes()),
                               static_cast<size_t>(tensor.sizeBytes()));
  constexpr size_t kWhole = 4096, kStretch = 64, kStretches = 32;
  if (bytes.size() <= kWhole) return mix(seed, hashOf(bytes));
  for (size_t i = 0; i < kStretches; ++i)
    seed = mix(seed, hashOf(bytes.substr((bytes.size() - kStretch) / (kStretches - 1) * i, kStretch)));
  return seed;
}

template <typename T>
size_t hashOf(const std::vector<T>& values) {
  size_t seed = values.size();
  for (const T& value : values) seed = mix(seed, std::hash<T>()(value));
  return seed;
}

// Checks have no operands: they differ in their dims alone.
size_t hashOf(const Shape& dims) {
  size_t seed = dims.size();
  for (Dim d : dims) seed = mix(seed, d ? d.id() + 1 : 0);
  return seed;
}

// Kinds that few operations differ in are left to same().
size_t hashOf(const AttributeValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<size_t>(*integer);
  if (const auto* real = std::get_if<double>(&value)) return std::hash<double>()(*real);
  if (const auto* text = std::get_if<std::string>(&value)) return hashOf(std::string_view(*text));
  if (const auto* integers = std::get_if<std::vector<int64_t>>(&value)) return hashOf(*integers);
  if (const auto* reals = std::get_if<std::vector<double>>(&value)) return hashOf(*reals);
  if (const auto* tensor = std::get_if<HostTensor>(&value)) return hashOf(*tensor);
  if (const auto* dims = std::get_if<Shape>(&value)) return hashOf(*dims);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) return hashOf(*texts);
  return 0;
}

size_t hashOf(const Op& op) {
  size_t seed = std::hash<const void*>()(op.def);
  for (ValueId v : op.operands) seed = mix(seed, v);
  for (const ValueDef& r : op.results) seed = mix(seed, r.type ? r.type.id() + 1 : 0);
  for (const auto& [name, value] : op.attributes.all()) {
    seed = mix(seed, hashOf(std::string_view(name)));
    seed = mix(seed, hashOf(value));
  }
  return seed;
}

bool same(const Op& a, const Op& b) {
  if (a.def != b.def || a.operands != b.operands || a.results.size() != b.results.size()) return false;
  for (size_t i = 0; i < a.results.size(); ++i)
    if (a.results[i].type != b.results[i].type) return false;
  return a.attributes == b.attributes;
}

Result<Module> runCse(const Module& module, PassContext& context) {
  int64_t merged = 0;
  auto sweep = [&](const Function& function) -> Result<const Function*> {
    std::unordered_map<ValueId, ValueId> replacedBy;
    auto current = [&](ValueId v) {
      auto it = replacedBy.find(v);
      return it == replacedBy.end() ? v : it->second;
    };
    std::unordered_multimap<size_t, const Op*> seen;
    std::vector<const Op*> ops;
    bool changed = false;
    for (const Op* original : function.ops) {
      const Op* op = original;
      bool renamed = false;
      for (ValueId v : op->operands) renamed |= current(v) != v;
      if (renamed) {
        Op copy = *op;
        for (ValueId& v : copy.operands) v = current(v);
        op = module.context->own(std::move(copy));
        changed = true;
      }
      const bool mergeable = op->regions.empty() && (!op->def->hasEffects || op->def == &ops::checkOp);
      const Op* earlier = nullptr;
      if (mergeable) {
        const size_t hash = hashOf(*op);
        for (auto [it, end] = seen.equal_range(hash); it != end; ++it)
          if (same(*it->second, *op)) earlier = it->second;
        if (!earlier) seen.emplace(hash, op);
      }
      if (!earlier) {
        ops.push_back(op);
        continue;
      }
      ++merged;
      changed = true;
      for (size_t i = 0; i < op->results.size(); ++i) replacedBy[op->results[i].id] = earlier->results[i].id;
    }
    if (!changed) return &function;
    Function result = function;
    result.ops = std::move(ops);
    for (ValueId& v : result.results) v = current(v);
    return module.context->own(std::move(result));
  };
  DYN_TRY(Module result, rewriteFunctions(module, sweep));
  context.counters["merged_ops"] = merged;
  return result;
}

}  // namespace

PassDef csePass() {
  return {.name = "cse",
          .summary = "merges operations that compute the same values",
          .requiredProperties = Property::types,
          .forbiddenProperties = Property::destinations,
          .options = {},
          .run = runCse};
}

}  // namespace dyn::passes
