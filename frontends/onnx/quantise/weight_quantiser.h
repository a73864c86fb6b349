// Constant f32 weights of MatMul and Gemm in few bits; no data is needed.
//
//   4 bits   y = MatMul(x, w)    becomes  y = MatMulNBits(x, numbers, scales)     (com.microsoft)
//   8 bits   w                   becomes  w = DequantizeLinear(numbers, scales)   (ai.onnx, from version 13)
//
// 4 bits: blocks of numbers along k share a scale: their element of the largest magnitude becomes -8, so a
// weight is (number - 8) * scale. 8 bits: a column shares a scale, its largest magnitude becomes 127.
// Rounding is to nearest, halves to even.
#pragma once

#include <string>
#include <vector>

#include "frontends/onnx/write/file_pieces.h"
#include "frontends/onnx/write/shape_writer.h"

namespace dyn::onnx {

struct QuantiseOptions {
  int64_t bits = 4;      // 4 or 8
  int64_t block = 32;    // of 4 bits
  std::string dataRoot;  // as in ImportOptions
};

struct QuantisedWeight {
  std::string name, node, op, form;  // form "": it stays, and `why` says so
  std::string why;
  int64_t bytesBefore = 0, bytesAfter = 0;
  double relative = 0;  // norm of the error over the norm of the weight
};

// A value whose elements became u8: (number - zero) * scale stands for them.
struct QuantisedActivation {
  std::string name;
  double low = 0, high = 0;  // of its elements, as they were measured
  float scale = 1;
  uint8_t zero = 0;
};

struct QuantisedModel {
  FilePieces file;
  std::vector<QuantisedWeight> weights;          // of two axes and more, in the order of the file
  std::vector<QuantisedActivation> activations;  // none where weights alone were quantised
  int64_t externalBytesBefore = 0, externalBytesAfter = 0;
};

// `types` of values of the graph. Errors: those of the weights' data; unsupportedFeature where the operator
// set has no DequantizeLinear for columns.
Result<QuantisedModel> quantiseWeights(const Model& model, const QuantiseOptions& options,
                                       const TypesByName& types);

}  // namespace dyn::onnx
