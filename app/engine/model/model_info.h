// Facts about a model, as plain values: its inputs and outputs, where it is from, what is in it. Shapes are
// lists of texts: "59", "seq", "2*seq + 1", "?3".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/support/diagnostic.h"

namespace dyn {

using DimValues = std::map<std::string, int64_t>;
std::string dimValuesText(const DimValues& dims);  // "batch=1, seq=16"

struct ValueInfo {
  std::string name;
  std::string kind;   // "tensor", "list", "optional", "tuple", ...
  std::string dtype;  // of a tensor
  std::vector<std::string> shape;
  std::string type;  // "Tensor[(batch, seq), f32]"
};

enum class ModelKind : uint8_t { none, onnx, text, package };
const char* toString(ModelKind kind);

// What a package says of the time of its runs.
struct LatencyInfo {
  std::string formula;  // "0.41 ms + 12.3 us*batch*seq"
  std::string flops;    // what it calls "flops"; "": it does not
  double spread = 1;    // runs take from 1/spread to spread times the formula
  std::map<std::string, std::pair<int64_t, int64_t>> measured;  // of each dim: the least and the largest size
  int64_t sizesCount = 0, runsCount = 0;
  std::string machine, device;  // where they ran
  int threads = 0;
  std::vector<std::string> elsewhere;  // in which this is another place: "threads: 4 and 1"
  std::string fault;                   // why it cannot be read; then there is nothing else
};

struct ModelInfo {
  ModelKind kind = ModelKind::none;
  std::string path;
  std::string producer;
  int64_t irVersion = 0, opset = 0;  // of ONNX files
  std::vector<ValueInfo> inputs, outputs;
  std::map<std::string, int64_t> ops;  // operations of the model as written (ONNX operators for ONNX files)
  int64_t opsCount = 0;                // operations of the imported module, bodies included
  int64_t functionsCount = 0;
  int64_t weightsCount = 0, weightsBytes = 0;
  int64_t parametersCount = 0;       // elements of the weights
  std::string flops;                 // of :info, as a formula (model_flops.h); "": not known
  std::vector<std::string> symbols;  // named dims of the inputs
  std::vector<Diagnostic> warnings;
  int64_t problemsCount = 0;  // with any, the model can be looked at, and nothing else
  std::optional<LatencyInfo> latency;
  std::string tuning;  // "3 records of FILE": what compilation takes from measurements; "" without any
};

}  // namespace dyn
