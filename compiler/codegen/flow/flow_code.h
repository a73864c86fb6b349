// Native code of a host program: its bytecode, compiled. What it may call, and how it is called, is
// vm/include/abi/dyn_flow.h; what instructions mean stays in vm/isa/isa.def.
//
//   before   add r3 r1 r2; alloctensor v4 v0 r3 f32 [r1]; jump L9
//   after    sum = r1 + r2, or dyn_flow_arithmetic(...); dyn_flow_alloctensor(flow, 4, 0, sum, 3, {r1}, 1); br L9
//
// Scalar registers become values of the machine's registers; overflow faults with the interpreter's text.
// Cost: about a tenth of a millisecond an instruction of bytecode.
#pragma once

#include <vector>

#include "compiler/codegen/object/engine.h"
#include "vm/isa/program.h"

namespace dyn {

// How the code finds the functions it calls.
enum class FlowCalls : uint8_t {
  table,   // through DynFlow::table: code that is loaded into a running VM
  symbols  // by name: code that is linked with its runtime
};

struct FlowSettings {
  FlowCalls calls = FlowCalls::table;
  uint32_t instructionsPerPiece = 1000;  // of code that is compiled as one function: flow_pieces.h
};

// One job for each part of the program, and one for the table DynFlowProgram. `program` and `machine` must
// live until they are compiled. @init has no native code: it runs once.
std::vector<KernelJob> flowJobs(const vm::Program& program, const MachineDescription& machine,
                                const FlowSettings& settings);

}  // namespace dyn
