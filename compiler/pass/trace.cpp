#include "compiler/pass/trace.h"

#include <cstdlib>

#include "compiler/pass/former_names.h"

namespace dyn {

const char* toString(StepKind kind) {
  switch (kind) {
    case StepKind::import:
      return "import";
    case StepKind::pass:
      return "pass";
    case StepKind::lowering:
      return "lowering";
  }
  return "?";
}

const TraceStep* Trace::find(std::string_view nameOrIndex) const {
  const bool number =
      !nameOrIndex.empty() && nameOrIndex.find_first_not_of("0123456789") == std::string_view::npos;
  if (number) {
    const size_t index = std::strtoull(std::string(nameOrIndex).c_str(), nullptr, 10);
    return index < steps.size() ? &steps[index] : nullptr;
  }
  const std::string_view name = currentPassName(nameOrIndex);
  for (auto step = steps.rbegin(); step != steps.rend(); ++step)
    if (step->name == name) return &*step;
  return nullptr;
}

}  // namespace dyn
