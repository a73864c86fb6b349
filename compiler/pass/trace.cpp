#include "compiler/pass/trace.h"

#include <cstdlib>

namespace dyn {

const char* toString(StepKind kind) {
  switch (kind) {
    case StepKind::import: return "import";
    case StepKind::pass: return "pass";
    case StepKind::lowering: return "lowering";
  }
  return "?";
}

const TraceStep* Trace::find(std::string_view nameOrIndex) const {
  const bool number = !nameOrIndex.empty() && nameOrIndex.find_first_not_of("0123456789") == std::string_view::npos;
  if (number) {
    const size_t index = std::strtoull(std::string(nameOrIndex).c_str(), nullptr, 10);
    return index < steps.size() ? &steps[index] : nullptr;
  }
  for (auto step = steps.rbegin(); step != steps.rend(); ++step)
    if (step->name == nameOrIndex) return &*step;
  return nullptr;
}

int64_t countOps(const Module& module) {
  int64_t count = 0;
  std::vector<const Function*> work(module.functions.begin(), module.functions.end());
  while (!work.empty()) {
    const Function* function = work.back();
    work.pop_back();
    count += static_cast<int64_t>(function->ops.size());
    for (const Op* op : function->ops) work.insert(work.end(), op->regions.begin(), op->regions.end());
  }
  return count;
}

}  // namespace dyn
