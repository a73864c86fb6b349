// A part of an ONNX file as a model of its own: what leads from some values to others.
//
//   x ─ MatMul ─ h ─ Relu ─ a ─ Add ─ y         partOf(model, {.from = {"h"}, .to = {"y"}}, types)
//                └──────────────┘               takes h, gives y: Relu and Add
//
// The part holds the nodes on a path from `from` to `to`, and those that they need and that follow from
// weights alone. What else they need becomes an input, too; but of shapes and other whole numbers of rank 0
// or 1 the nodes are taken in, up to the sizes that they are read off: so dims stay formulas.
// Names, attributes, weights and metadata stay as they are, but for what speaks of things that the part does
// not have: dims, annotations of other tensors, training. A size that only the values of a run decide is a
// name of its own, `unk_7`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "frontends/onnx/write/file_pieces.h"
#include "frontends/onnx/write/shape_writer.h"

namespace dyn::onnx {

struct PartRequest {
  std::vector<std::string> from, to;  // empty: the inputs, the outputs
  // What holds of the dims of a model with these inputs (dim_metadata.h). None: nothing is said of them.
  std::function<Metadata(const std::vector<std::string>& inputs)> dims = {};
};

struct ModelPart {
  FilePieces file;
  std::vector<std::string> inputs, outputs;
  size_t askedInputsCount = 0;  // the first of `inputs`; the others are needed, too
  int64_t nodesCount = 0, weightsBytes = 0;
};

// `types` of values of the graph. Errors: usageError for names that are not there, and where a value of `to`
// does not follow from `from`; unsupportedFeature for types that ONNX cannot say.
Result<ModelPart> partOf(const Model& model, const PartRequest& request, const TypesByName& types);

// The model with these values of its graph as its outputs. Errors: unsupportedFeature as above.
Result<FilePieces> withOutputs(const Model& model, const std::vector<std::string>& names,
                               const TypesByName& types);

int64_t weightsBytes(const Model& model);

}  // namespace dyn::onnx
