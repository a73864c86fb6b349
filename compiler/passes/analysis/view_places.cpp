#include "compiler/passes/analysis/view_places.h"

#include <algorithm>
#include <unordered_set>

namespace dyn {

namespace {

constexpr int64_t kMostPlaceContents = 64;
// A part of a split lies behind the sum of those before it: one of very many parts is not looked for.
constexpr size_t kMostParts = 64;

}  // namespace

void ViewPlaces::note(const Op& op) {
  if (op.def->traits.contentsKnown) known_[op.results[0].id] = &op;
}

void ViewPlaces::standsFor(ValueId parameter, ValueId outer) {
  if (auto known = known_.find(outer); known != known_.end()) known_.emplace(parameter, known->second);
}

std::optional<Contents> ViewPlaces::contentsOf(ValueId value) const {
  auto known = known_.find(value);
  if (known == known_.end()) return std::nullopt;
  const HostTensor* tensor = known->second->attributes.tensor("value");
  if (!tensor) return known->second->attributes.dims("value");
  if (tensor->elementCount() > kMostPlaceContents || !isInteger(tensor->dtype())) return std::nullopt;
  Contents contents;
  for (int64_t i = 0; i < tensor->elementCount(); ++i)
    contents.push_back(ir_.dims().constant(tensor->intAt(i)));
  return contents;
}

std::optional<StridedPlace> ViewPlaces::placeOf(const Op& op, std::span<const Type> types, int result,
                                                const StridedPlace& operand, PathFacts::Place here) {
  if (!op.def->viewRule || op.results.size() > kMostParts) return std::nullopt;
  const ViewContext context{op,
                            types,
                            operand,
                            ir_.dims(),
                            [&](Dim a, Dim b) { return facts_.equal(a, b, here); },
                            [&](Dim a, Dim b) { return facts_.lessEqual(a, b, here); },
                            [&](int index) -> std::optional<Contents> {
                              const auto k = static_cast<size_t>(index);
                              return k < op.operands.size() ? contentsOf(op.operands[k]) : std::nullopt;
                            }};
  return op.def->viewRule(context, result);
}

std::unordered_map<ValueId, View> ViewPlaces::viewsIn(const Function& kernel,
                                                      std::span<const ValueId> operands,
                                                      PathFacts::Place here) {
  std::unordered_map<ValueId, Type> types;
  std::unordered_map<ValueId, View> views;
  for (size_t k = 0; k < kernel.parameters.size(); ++k) {
    const Parameter& p = kernel.parameters[k];
    types[p.id] = p.type;
    if (p.type.isTensor()) views[p.id] = {operands[k], densePlace(ir_.dims(), p.type.dims())};
    standsFor(p.id, operands[k]);
  }
  for (const Op* op : kernel.ops) {
    note(*op);
    for (const ValueDef& r : op->results) types[r.id] = r.type;
    if (!op->def->viewRule || views.count(op->operands[0]) == 0) continue;
    const View of = views.at(op->operands[0]);
    std::vector<Type> operandTypes;
    for (ValueId v : op->operands) operandTypes.push_back(v == kNoValue ? Type() : types.at(v));
    for (size_t r = 0; r < op->results.size(); ++r)
      if (auto place = placeOf(*op, operandTypes, static_cast<int>(r), of.place, here))
        views[op->results[r].id] = {of.base, std::move(*place)};
  }
  return views;
}

bool sizesAreThere(Type type, const StridedPlace& place, Type base,
                   const std::unordered_set<SymbolId>& fromTheStart) {
  const std::vector<SymbolId> symbols = symbolsOf(base);
  const std::unordered_set<SymbolId> there(symbols.begin(), symbols.end());
  const auto known = [&](Dim d) {
    const std::vector<SymbolId> used = symbolsOf(d);
    return std::all_of(used.begin(), used.end(),
                       [&](SymbolId s) { return there.count(s) != 0 || fromTheStart.count(s) != 0; });
  };
  return std::all_of(type.dims().begin(), type.dims().end(), known) && known(place.offset) &&
         std::all_of(place.strides.begin(), place.strides.end(), known);
}

}  // namespace dyn
