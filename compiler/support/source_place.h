// Where something came from: a line of a text module, a node of an ONNX file, a prompt.
//
// A place travels with every operation through all rewrites, so that a run-time error of a fused kernel can
// still name the ONNX nodes it was made of. Its texts are shared by all copies.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/support/shared_text.h"

namespace dyn {

struct SourceLocation {
  SharedText file;    // "model.onnx", "lesson.dyn", "<prompt>"; empty = unknown
  SharedText node;    // ONNX node name or operation path, e.g. "/encoder/layer.0/MatMul (MatMul, opset 17)"
  uint32_t line = 0;  // 1-based; 0 = none
  uint32_t column = 0;
  uint64_t byteOffset = 0;  // place in a binary file, when there is no line

  bool known() const { return !file.empty() || !node.empty() || line != 0; }
  // "model.onnx: node /layer.0/MatMul", "lesson.dyn:3:14", or "" when nothing is known.
  std::string toString() const;
};

}  // namespace dyn
