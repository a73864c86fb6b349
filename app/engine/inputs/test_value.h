// Values from ONNX's test data: a file with a TensorProto, SequenceProto or OptionalProto.
#pragma once

#include <string>

#include "app/engine/model/signature.h"
#include "compiler/reference/value.h"

namespace dyn {

// The value of the file, for a port of that type. Errors: those of the file, unsupportedDtype, and
// unsupportedFeature where the build is without the ONNX reader.
Result<Value> readTestValue(const std::string& path, const Port& port);

}  // namespace dyn
