// Gives empty sequences their type.
//
// ONNX says what a new sequence will hold only by element type; the IR wants the rank too. The importer writes List[()], which inference
// accepts wherever a list is wanted; what inference then finds for the values that such a list flows into (through loops, branches and
// insertions) becomes its type. One that nothing is ever put into becomes a list of vectors.
#pragma once

#include "compiler/ir/module.h"
#include "compiler/support/result.h"

namespace dyn::onnx {

// Needs: a module as imported. Without a List[()] the module itself.
Result<Module> settleLists(const Module& module);

}  // namespace dyn::onnx
