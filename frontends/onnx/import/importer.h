// From an ONNX file to graph IR: the model's nodes as operations of `@main`, its named dims as symbols, its
// weights as constants.
//
//   IrContext ir;
//   DYN_TRY(onnx::ImportResult model, onnx::importModel(ir, "model.onnx"));
//   DYN_TRY(InferredModule typed, inferTypes(model.module));         // results have no types before that
//
// Contract:
//  - Inputs without initializer become parameters of @main, in the file's order and under their names. A
//    dim_param is parsed as an expression of the symbols that stand alone in other inputs ("2*seq + 1"), else
//    it is a symbol of its own; a missing or negative dim is a fresh `?`. The declared types of outputs and
//    inner values are not believed: inference finds them (declared_outputs.h compares).
//  - Weights are not copied where the file has them aligned: constants borrow the mapping and keep it alive.
//  - Every operation has a place: file, and node as "name (OpType, opset N)".
//  - All problems of a model are found in one go (unknown operators, wrong attributes, undefined names,
//    cycles ...), each with its node and what to do. A node that needs a failed one is not reported again.
//  - A map is two values: of an input NAME the parameters NAME.keys [k] and NAME.values [k]; of an output
//    NAME, a map or a list of maps with the same keys, the result NAME [..., k] and, behind all others,
//    NAME.keys [k].
//  - Nodes may stand in any order; model-local functions are expanded in place; If, Loop, Scan become `if`
//    and `loop` with explicit captures. Nothing recurses over the nesting of graphs.
//  - Opsets kOldestOpset..kNewestOpset of the standard's own domain; one row of map_table.cpp serves all
//    versions of an operator.
// Errors: those of the reader (onnxMalformed, fileError ...), onnxInvalid, onnxExternalData, badAttribute,
// badOperands, unsupportedOp, unsupportedDtype, unsupportedFeature.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "frontends/onnx/import/declared_outputs.h"
#include "frontends/onnx/read/onnx_model.h"
#include "frontends/text/operators.h"

namespace dyn::onnx {

inline constexpr int64_t kOldestOpset = 1;
inline constexpr int64_t kNewestOpset = 28;

struct ImportOptions {
  ReadOptions read;
  // false: the first problem is the error, the others are its notes. true: the result lists them all (its
  // module is then empty).
  bool collectProblems = false;
  size_t maxProblems = 1000;
  uint64_t maxNodes = 20'000'000;  // after expanding functions; past it memoryLimit
  // Inputs given once and for all: they become constants. What types depend on (axes, scales) may be an
  // input only so.
  std::map<std::string, HostTensor> fixedInputs;
  // Of inputs whose shape is not in the file; of lists and optionals that of their tensors.
  std::map<std::string, int> inputRanks;
  bool listValues = false;  // ImportResult::values is wanted
  // External data may be reached by symbolic links that stay below this folder; "": by none.
  std::string dataRoot;
  // Operators that the user defines. They come before functions of the model and operators of the standard;
  // of several definitions the first that takes the node's inputs counts.
  std::vector<std::shared_ptr<const text::OperatorFile>> operators;
};

struct ImportResult {
  Module module;
  std::vector<std::string> inputNames, outputNames;  // as written; parameters and results of @main, in order
  // Inputs without a shape in the file or a rank in the options. Where there are any, @main has parameters
  // only (those without type).
  struct OpenInput {
    size_t index = 0;  // among inputNames
    Dtype dtype = Dtype::f32;
    TypeKind kind = TypeKind::tensor;  // list, optional: of such tensors
  };
  std::vector<OpenInput> openInputs;
  // Inputs that an initializer gives a value: no parameters of @main. ImportOptions::fixedInputs may hold
  // another one for them.
  struct DefaultedInput {
    std::string name;
    Type type;
  };
  std::vector<DefaultedInput> defaultedInputs;
  std::vector<DeclaredOutput> declaredOutputs;
  // With listValues: names of the model's graph and what they stand for, but for weights. Several names may
  // stand for one value.
  std::vector<std::pair<std::string, ValueId>> values;
  std::vector<Diagnostic> problems;
  std::vector<Diagnostic> warnings;
  std::vector<SourceLocation> randomNodes;  // those that draw random numbers
  int64_t irVersion = 0;
  int64_t opset = 0;  // of the standard's own domain
  std::string producer;
  // What the file says of its dims (dim_metadata.h): relations, and ranges by name.
  std::string dimRelations;
  std::vector<std::pair<std::string, std::string>> dimRanges;
  std::map<std::string, int64_t>
      opCounts;  // nodes by operator, bodies and functions included; "domain::Op" for other domains
};

Result<ImportResult> importModel(IrContext& ir, const std::string& path, const ImportOptions& options = {});
// External data are not available to such a model.
Result<ImportResult> importModel(IrContext& ir, MappedFile file, const ImportOptions& options = {});

}  // namespace dyn::onnx
