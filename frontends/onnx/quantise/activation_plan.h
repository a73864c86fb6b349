// Which values of a graph become bytes, and which nodes read them.
//
// Convolutions, MatMul and Gemm with a constant weight are products that read bytes. What lies between two
// products becomes bytes where a convolution is in front of it and a product behind it: moved elements,
// pools, joined values; functions of elements are computed in f32 from bytes to bytes, a chain of them as
// one. All else stays f32: a normalisation over the elements of a row, for one, and what only it reads.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "frontends/onnx/quantise/graph_uses.h"
#include "frontends/onnx/write/shape_writer.h"

namespace dyn::onnx {

// A constant of the file, as a node reads it.
struct FileConstant {
  const TensorProto* tensor = nullptr;  // null: it is none
  bool isTransposed = false;            // of a matrix, by a node between
};

struct PlannedProduct {
  const NodeProto* node = nullptr;
  FileConstant weight, bias;  // bias: none where the node has none
  size_t channels = 0;        // the axis of `weight.tensor` that has a scale for each element
  std::string why;            // "": it reads bytes; else why it stays
};

struct PlannedValue {
  std::string name;
  const NodeProto* maker = nullptr;  // null: an input of the model
  std::vector<ValueReader> readers;  // that read bytes
  std::string likeValue;  // it has the scale of this value, whose elements are all that it holds; or ""
};

struct ActivationPlan {
  std::vector<PlannedProduct> products;  // all Conv, ConvTranspose, MatMul and Gemm, in the order of the file
  std::vector<PlannedValue> values;      // a value behind the one that it is like
};

// `types` of values of the graph. `excluded`: nodes that stay, by their names or those of
// their weights.
ActivationPlan planActivations(const Model& model, const GraphUses& uses, const TypesByName& types,
                               const std::set<std::string, std::less<>>& excluded);

}  // namespace dyn::onnx
