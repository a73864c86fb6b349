// What native code of a host program and the bytecode it was made of have in common (dyn_flow.h).
#pragma once

#include "vm/isa/program.h"

namespace dyn::vm {

// FNV-1a over all functions' code and their counts of registers.
inline uint64_t flowDigest(const Program& program) {
  uint64_t digest = 14695981039346656037u;
  const auto add = [&](uint64_t word) { digest = (digest ^ word) * 1099511628211u; };
  for (const Function& function : program.functions) {
    for (uint64_t word : {uint64_t{function.scalarCount}, uint64_t{function.objectCount},
                          uint64_t{function.parameterCount}, uint64_t{function.code.size()}})
      add(word);
    for (int32_t word : function.code) add(static_cast<uint32_t>(word));
  }
  return digest;
}

}  // namespace dyn::vm
