// Checked arithmetic, evaluation, substitution. Everything walks with its own stack and visits shared parts
// once.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "compiler/dims/dim_node.h"
#include "compiler/dims/dim_numbers.h"

namespace dyn {

std::optional<int64_t> checkedAdd(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_add_overflow(a, b, &r)) return std::nullopt;
  return r;
}
std::optional<int64_t> checkedMul(int64_t a, int64_t b) {
  int64_t r;
  if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
  return r;
}
std::optional<int64_t> checkedFloorDiv(int64_t a, int64_t b) {
  if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
  int64_t q = a / b;
  return a % b != 0 && ((a < 0) != (b < 0)) ? q - 1 : q;
}
std::optional<int64_t> checkedCeilDiv(int64_t a, int64_t b) {
  if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
  int64_t q = a / b;
  return a % b != 0 && ((a < 0) == (b < 0)) ? q + 1 : q;
}
std::optional<int64_t> checkedMod(int64_t a, int64_t b) {
  if (b == 0) return std::nullopt;
  if (b == -1) return 0;
  int64_t r = a % b;
  return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
}

void DimBinding::set(SymbolId id, int64_t value) {
  if (id >= values_.size()) values_.resize(id + 1);
  values_[id] = value;
}
std::optional<int64_t> DimBinding::get(SymbolId id) const {
  return id < values_.size() ? values_[id] : std::nullopt;
}

namespace {

// Flat nodes are cheaper to visit again than to remember.
constexpr uint32_t kRemembered = 2;

// Calls visit(node) for every node under `root`, operands first, each node of some depth once.
// visit returns false to stop.
template <typename Visit>
bool visitOnce(const DimNode* root, Visit visit) {
  std::unordered_set<const DimNode*> done;
  const auto known = [&](const DimNode* node) { return node->depth >= kRemembered && done.count(node) > 0; };
  return visitOperandsFirst(root, known, [&](const DimNode* node) {
    if (!visit(node)) return false;
    if (node->depth >= kRemembered) done.insert(node);
    return true;
  });
}

std::optional<int64_t> applyKind(const DimNode* n, const std::vector<int64_t>& v) {
  switch (n->kind) {
    case DimKind::add:
    case DimKind::mul: {
      std::optional<int64_t> r = v[0];
      for (size_t i = 1; i < v.size() && r; ++i)
        r = n->kind == DimKind::add ? checkedAdd(*r, v[i]) : checkedMul(*r, v[i]);
      return r;
    }
    case DimKind::floorDiv:
      return checkedFloorDiv(v[0], v[1]);
    case DimKind::ceilDiv:
      return checkedCeilDiv(v[0], v[1]);
    case DimKind::mod:
      return checkedMod(v[0], v[1]);
    case DimKind::min:
      return std::min(v[0], v[1]);
    case DimKind::max:
      return std::max(v[0], v[1]);
    default:
      return std::nullopt;
  }
}

bool divides(DimKind kind) {
  return kind == DimKind::floorDiv || kind == DimKind::ceilDiv || kind == DimKind::mod;
}

}  // namespace

Result<int64_t> evaluate(Dim dim, const DimBinding& binding) {
  std::unordered_map<const DimNode*, int64_t> values;
  std::optional<Error> error;
  auto valueOf = [&](const DimNode* n) -> std::optional<int64_t> {
    if (n->kind == DimKind::constant) return n->value;
    if (n->kind == DimKind::symbol) return binding.get(n->symbol);
    return values.at(n);
  };
  std::vector<int64_t> arguments;
  auto visit = [&](const DimNode* n) {
    if (n->kind == DimKind::constant) return true;
    if (n->kind == DimKind::invalid) {
      error =
          makeError(DiagnosticId::dimOverflow, "the size overflowed, or divided by zero, while it was built");
      return false;
    }
    if (n->kind == DimKind::symbol) {
      if (binding.get(n->symbol)) return true;
      error = makeError(DiagnosticId::textName, "dim " + n->context->symbolName(n->symbol) + " has no value");
      return false;
    }
    arguments.clear();
    for (Dim d : n->operands) arguments.push_back(*valueOf(DimBuilder::node(d)));
    auto value = applyKind(n, arguments);
    if (!value) {
      bool domain = divides(n->kind) && arguments[1] == 0;
      error = makeError(
          domain ? DiagnosticId::dimDomain : DiagnosticId::dimOverflow,
          DimBuilder::dim(n).toString() + (domain ? " divides by zero" : " does not fit in 64 bits"));
      return false;
    }
    values[n] = *value;
    return true;
  };
  const DimNode* root = DimBuilder::node(dim);
  if (!visitOnce(root, visit)) return std::move(*error);
  return *valueOf(root);
}

std::optional<int64_t> DimNumbers::value(Dim dim) {
  std::vector<const DimNode*> work{DimBuilder::node(dim)};
  std::vector<int64_t> arguments;
  while (!work.empty()) {
    const DimNode* n = work.back();
    const size_t before = work.size();
    if (!values_.count(n->id))
      for (Dim d : n->operands)
        if (!values_.count(d.id())) work.push_back(DimBuilder::node(d));
    if (work.size() > before) continue;
    work.pop_back();
    auto [entry, fresh] = values_.try_emplace(n->id);
    if (!fresh) continue;
    if (n->kind == DimKind::constant || n->kind == DimKind::symbol) {
      entry->second = n->kind == DimKind::constant ? n->value : valueOf_(n->symbol);
      continue;
    }
    arguments.clear();
    for (Dim d : n->operands)
      if (const std::optional<int64_t>& argument = values_.at(d.id())) arguments.push_back(*argument);
    if (n->kind != DimKind::invalid && arguments.size() == n->operands.size())
      entry->second = applyKind(n, arguments);
  }
  return values_.at(dim.id());
}

Dim substitute(Dim dim, const std::function<Dim(SymbolId)>& replacement) {
  if (dim.isConstant()) return dim;
  if (dim.isSymbol()) {
    Dim value = replacement(dim.symbol());
    return value ? value : dim;
  }
  DimBuilder builder(dim.context());
  std::unordered_map<const DimNode*, Dim> made;  // only nodes that changed
  std::unordered_map<SymbolId, Dim> asked;
  auto after = [&](Dim d) {
    auto found = made.find(DimBuilder::node(d));
    return found == made.end() ? d : found->second;
  };
  auto visit = [&](const DimNode* n) {
    if (n->kind == DimKind::symbol) {
      auto [entry, fresh] = asked.try_emplace(n->symbol);
      if (fresh && (entry->second = replacement(n->symbol))) made[n] = entry->second;
      return true;
    }
    std::vector<Dim> operands;
    operands.reserve(n->operands.size());
    bool changed = false;
    for (Dim d : n->operands) {
      operands.push_back(after(d));
      changed = changed || operands.back() != d;
    }
    if (changed) made[n] = builder.rebuild(n, operands);
    return true;
  };
  visitOnce(DimBuilder::node(dim), visit);
  return after(dim);
}

namespace {

// The walk ends at parts whose symbols are known.
std::vector<SymbolId> manySymbols(const DimNode* root) {
  const auto& impl = DimBuilder::impl(*root->context);
  std::vector<SymbolId> symbols;
  std::vector<const DimNode*> work{root};
  std::unordered_set<const DimNode*> seen{root};
  while (!work.empty()) {
    const DimNode* n = work.back();
    work.pop_back();
    const std::vector<SymbolId>* known = nullptr;
    if (n->symbolSet != kManySymbols) {
      known = &impl.symbolSets[n->symbolSet];
    } else if (auto kept = impl.manySymbols.find(n->id); kept != impl.manySymbols.end()) {
      known = &kept->second;
    }
    if (known) {
      symbols.insert(symbols.end(), known->begin(), known->end());
      continue;
    }
    for (Dim d : n->operands)
      if (seen.insert(DimBuilder::node(d)).second) work.push_back(DimBuilder::node(d));
  }
  std::sort(symbols.begin(), symbols.end());
  symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
  return symbols;
}

}  // namespace

std::vector<SymbolId> symbolsOf(Dim dim) {
  if (dim.isConstant()) return {};
  const DimNode* node = DimBuilder::node(dim);
  auto& impl = DimBuilder::impl(dim.context());
  if (node->symbolSet != kManySymbols) return impl.symbolSets[node->symbolSet];
  if (auto kept = impl.manySymbols.find(node->id); kept != impl.manySymbols.end()) return kept->second;
  std::vector<SymbolId> symbols = manySymbols(node);
  impl.manySymbolsCount += symbols.size();
  if (impl.manySymbolsCount > DimBuilder::kMostKeptSymbols) {
    impl.manySymbols.clear();
    impl.manySymbolsCount = symbols.size();
  }
  impl.manySymbols.emplace(node->id, symbols);
  return symbols;
}

bool hasAnonymous(Dim dim) {
  const std::vector<SymbolId> symbols = symbolsOf(dim);
  return std::any_of(symbols.begin(), symbols.end(),
                     [&](SymbolId symbol) { return dim.context().isAnonymous(symbol); });
}

}  // namespace dyn
