#include "app/engine/model/formula.h"

#include "compiler/dims/dim.h"

namespace dyn {

std::optional<int64_t> formulaValue(std::string_view formula, const DimValues& dims) {
  DimContext context;
  DimBinding binding;
  for (const auto& [name, value] : dims) binding.set(context.symbol(name), value);
  const Result<Dim> dim = parseDim(context, formula);
  if (!dim.ok()) return std::nullopt;
  const Result<int64_t> value = evaluate(*dim, binding);
  return value.ok() ? std::optional(*value) : std::nullopt;
}

}  // namespace dyn
