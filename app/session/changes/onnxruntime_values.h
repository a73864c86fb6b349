// The inner values of an ONNX file as onnxruntime computes them, by the Python that has it: DYN_PYTHON, or
// python3 of the path.
#pragma once

#ifdef DYN_HAVE_ONNX
#include <string>
#include <utility>
#include <vector>

#include "compiler/reference/value.h"
#include "frontends/onnx/write/shape_writer.h"

namespace dyn {

// Of the names given, in their order. Errors: unsupportedFeature without Python, and with what onnxruntime
// says where it does not take the model.
Result<std::vector<Value>> onnxruntimeValues(const std::string& path, const std::vector<std::string>& names,
                                             const onnx::TypesByName& types,
                                             const std::vector<std::pair<std::string, Value>>& inputs);

}  // namespace dyn
#endif
