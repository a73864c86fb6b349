#include "compiler/passes/view_places.h"

namespace dyn {

namespace {

constexpr int64_t kMostContents = 64;

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
  if (tensor->elementCount() > kMostContents || !isInteger(tensor->dtype())) return std::nullopt;
  Contents contents;
  for (int64_t i = 0; i < tensor->elementCount(); ++i)
    contents.push_back(ir_.dims().constant(tensor->intAt(i)));
  return contents;
}

std::optional<StridedPlace> ViewPlaces::placeOf(const Op& op, std::span<const Type> types, int result,
                                                const StridedPlace& operand, PathFacts::Place here) {
  if (!op.def->viewRule) return std::nullopt;
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

}  // namespace dyn
