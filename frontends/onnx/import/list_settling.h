// Gives empty sequences their type.
//
// ONNX says what a new sequence will hold only by element type; the IR wants the rank too. The importer
// writes List[()], which inference accepts wherever a list is wanted; what inference then finds for the
// values that such a list flows into (through loops, branches and insertions) becomes its type. One that
// nothing is ever put into becomes a list of vectors.
//
// The same for a list that comes in from outside, or an optional one, where the model puts elements of
// another rank into it than the file declares: exporters write "a scalar" for "anything". An element that
// such an input brings along has to have the rank of the others, which each run checks.
#pragma once

#include <vector>

#include "compiler/ir/module.h"
#include "compiler/support/result.h"

namespace dyn::onnx {

struct SettledLists {
  Module module;
  std::vector<Diagnostic> warnings;  // declarations that are left out of account
};

// Needs: a module as imported. Without a List[()], and with no declaration that is wrong, the module itself.
Result<SettledLists> settleLists(const Module& module);

}  // namespace dyn::onnx
