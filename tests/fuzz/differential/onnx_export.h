// A typed module as an ONNX model, for another runtime to run.
#pragma once

#include <string>

#include "compiler/ir/module.h"

namespace dyn::differential {

// The bytes of a model of opset 18, whose inputs and outputs are named input_0, ... and output_0, ....
// Functions are written out where they are called. Error unsupportedFeature: ONNX has no such operation (data
// types, recursion, function values).
Result<std::string> toOnnx(const Module& module);

}  // namespace dyn::differential
