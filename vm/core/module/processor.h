// Whether code runs on the processor of this process. What code needs is written as packages name it: the
// architecture, for x86-64 the level and what goes beyond it (vm/shared/dyn_processor_features.def), for
// 64-bit ARM what goes beyond Armv8.0 (dyn_arm_features.def):
//
//   "x86_64", "x86_64:v2", "x86_64:v4+vnni+bf16", "aarch64", "aarch64:fp16+dotprod"
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "vm/shared/dyn_processor.h"

namespace dyn::vm {

extern const std::string_view kArchitecture;  // of this process

// How many features the code takes of this processor, or -1 where it does not run here.
int32_t codeFitness(std::string_view needs);
// What this processor lacks for it: "avx512f, avx512bw"; "" where it runs.
std::string lackingFor(std::string_view needs);

}  // namespace dyn::vm
