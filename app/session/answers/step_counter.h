// What a pass counted.
#pragma once

#include <string>

#include "compiler/pass/trace.h"

namespace dyn {

// 0 where the pass counts nothing of that name.
inline int64_t counterOf(const TraceStep& step, const std::string& name) {
  const auto found = step.counters.find(name);
  return found == step.counters.end() ? 0 : found->second;
}

}  // namespace dyn
