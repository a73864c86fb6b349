// A module of the graph IR as an ONNX model, where ONNX can say it: for Netron, onnxruntime and others.
//
//   DYN_TRY(onnx::SavedModel saved, onnx::toOnnx(step.after, {.inputNames = ..., .graphName = "bert"}));
//   DYN_TRY(onnx::SavedFiles files, onnx::writeOnnxFiles(saved, "bert.onnx"));
//
// Contract:
//  - Every operation becomes what its row of write_table.h says. Kernels (fused, into) are written as the
//    operations in them, calls as the functions they call, packed weights as they were before; `if` and
//    `loop` become If and Loop. Checks are left out (`leftOut` counts them).
//  - Symbols and expressions of dims become dim_params, a `?` stays open. Computed sizes (dims_value)
//    become constants where a reshape can say them so, else nodes that read them off shapes.
//  - Constants become initialisers, one for the same bytes; nodes keep the names of the nodes they came from.
//  - Operator sets: 21, ai.onnx.ml 4, or the first later ones that have all operators, attributes and element
//    types. Same module, same bytes.
// Errors: unsupportedFeature with the first of what ONNX cannot say, naming operator, value and node; the
// others are its notes. fileError.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/support/result.h"
#include "frontends/onnx/write/model_parts.h"

namespace dyn::onnx {

// Weights go to a file beside the model where they are more than this together.
inline constexpr uint64_t kExternalFromBytes = uint64_t{1} << 30;

struct SaveOptions {
  std::vector<std::string> inputNames, outputNames;  // of @main; none: its values' own
  std::string graphName = "main";
  std::vector<std::pair<std::string, std::string>> metadata;
  std::string dimRelations;  // dim_metadata.h; ranges and multiples are written from the facts of the module
  // The same values with their types, for a module before inference; null: none.
  const Module* typed = nullptr;
};

// The model but for its weights, which are the module's.
struct SavedModel {
  std::vector<Initializer> weights;
  std::string head, graph;  // fields of ModelProto; fields of GraphProto but for initialisers
  int64_t nodeCount = 0;
  uint64_t weightsBytes = 0;
  std::map<std::string, int64_t> opsets;   // by domain
  std::map<std::string, int64_t> leftOut;  // operations that nothing was written for, by operator
};
Result<SavedModel> toOnnx(const Module& module, const SaveOptions& options);

enum class WeightsPlace : uint8_t { bySize, inside, outside };
struct SavedFiles {
  std::vector<std::pair<std::string, int64_t>> files;  // path and bytes
};
// Writes `path`, and path + ".data" for weights outside. Each is there as a whole or not at all.
Result<SavedFiles> writeOnnxFiles(const SavedModel& model, const std::string& path,
                                  WeightsPlace place = WeightsPlace::bySize);

}  // namespace dyn::onnx
