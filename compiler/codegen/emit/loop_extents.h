// Internal to codegen: what is known of the extents of loops when their code is written.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_set>

#include "compiler/loop/expr.h"

namespace dyn {

inline bool mentionsAny(loop::Expr root, const std::unordered_set<uint32_t>& variables) {
  for (const loop::Expr& e : loop::postorder(std::span<const loop::Expr>(&root, 1)))
    if (variables.count(e.id())) return true;
  return false;
}

inline std::optional<int64_t> constantOf(loop::Expr extent) {
  if (extent.kind() == loop::ExprKind::intConstant) return extent.intValue();
  return std::nullopt;
}

// Whether a loop of this step over what lies ahead runs at all; takes what it covers off. A loop that can
// not is not written: LLVM would work on its body before it finds out.
inline bool iterates(std::optional<int64_t>& ahead, int64_t step) {
  if (ahead && *ahead < step) return false;
  if (ahead) *ahead %= step;
  return true;
}

}  // namespace dyn
