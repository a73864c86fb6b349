// Machines that are known: the one this process runs on, and presets by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/target/machine.h"

namespace dyn {

// The processor this process runs on. Cache sizes and core count are 0 and 1 where the system does not tell.
Result<MachineDescription> detectHost();

// Names accepted by machinePreset, sorted.
std::vector<std::string> machinePresetNames();
// "x86-64-v1" to "x86-64-v4", "haswell", "skylake-avx512", "znver4", "sapphirerapids", "cortex-a72",
// "neoverse-n1", "rv64gcv": typical sizes, one core.
Result<MachineDescription> machinePreset(std::string_view name);

// Whether code for `machine` may be executed by this process: same architecture, and no instruction set that
// is missing.
bool runsOnThisHost(const MachineDescription& machine);

// What code for the machine needs of a processor, as packages name it (vm/core/module/processor.h):
// "x86_64:v3", "aarch64:fp16+dotprod".
std::string codeNeeds(const MachineDescription& machine);
// The level of x86-64 (1 to 4) whose code runs on the machine, which has Linux; 0: none does.
int32_t processorLevel(const MachineDescription& machine);

}  // namespace dyn
