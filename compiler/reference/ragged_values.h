// The reference evaluation of functions with ragged parameters: sequence by sequence, each by itself, as if
// it were a batch of one. Nothing is laid behind each other and no operation is rewritten, so that it is an
// oracle for what pass `ragged` makes.
//
// Values at the borders are those of compiled programs: a ragged one (b, len[b], c...) is its rows [n, c...],
// each sequence's behind those of the one before; the parameter `%len` holds the lengths [b]. A result with
// several axes of lengths, (b, h, len[b], more[b]), is its elements in that order.
#pragma once

#include "compiler/reference/reference_interpreter.h"

namespace dyn {

// Has the function a parameter with a dim such as `len[b]`?
bool hasRaggedParameters(const Function& function);

// Errors: inputMismatch where lengths are negative or do not sum up to the rows; unsupportedFeature where a
// result is one for each sequence and its type does not say so.
Result<std::vector<Value>> interpretRagged(const Module& module, const Function& function,
                                           std::vector<Value> inputs, const InterpreterOptions& options);

// With one length for all, where there are ragged dims: that of the one sequence.
Result<std::vector<Value>> interpretOnce(const Module& module, const Function& function,
                                         std::vector<Value> inputs, const InterpreterOptions& options);

}  // namespace dyn
