#include "compiler/ir/check_text.h"

namespace dyn {

namespace {

// What `whole` is at most, if `least` is the smaller of it and that; null: it is something else.
Dim otherOfMin(Dim least, Dim whole) {
  if (least.kind() != DimKind::min) return Dim();
  const std::span<const Dim> parts = least.operands();
  return parts[0] == whole ? parts[1] : parts[1] == whole ? parts[0] : Dim();
}

}  // namespace

std::string checkText(std::string_view relation, Dim lhs, Dim rhs,
                      const std::function<std::string(Dim)>& textOf) {
  if (relation != "le") {
    for (const auto& [least, whole] : {std::pair(lhs, rhs), std::pair(rhs, lhs)}) {
      const Dim most = otherOfMin(least, whole);
      // Beside 1 the smaller one may also be what broadcasts.
      if (most && (relation == "eq" || most.constant().value_or(0) > 1))
        return textOf(whole) + " must be at most " + textOf(most);
    }
  }
  if (relation == "broadcast")
    return textOf(lhs) + " and " + textOf(rhs) + " must be equal, or one of them 1";
  return textOf(lhs) + (relation == "le" ? " must be at most " : " must equal ") + textOf(rhs);
}

}  // namespace dyn
