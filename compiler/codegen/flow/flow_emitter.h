// Internal to codegen (LLVM types): one piece of a function of bytecode as one LLVM function.
#pragma once

#include <string>

#include "compiler/codegen/flow/flow_code.h"
#include "compiler/codegen/flow/flow_pieces.h"
#include "compiler/codegen/llvm/llvm_module.h"

namespace dyn {

// "dyn_flow_code_3_1203"
std::string flowPieceSymbol(const FlowPiece& piece);

// Adds the function flowPieceSymbol(piece) to the module.
void emitFlowPiece(KernelModule& module, const vm::Program& program, const FlowFunction& function,
                   const FlowPiece& piece, FlowCalls calls);

}  // namespace dyn
