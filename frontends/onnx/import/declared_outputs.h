// What the file says of the types of its outputs, against what inference finds. Another element type is an
// error: a reader would take the bytes for something else. A wrong shape is a warning: files with one are
// common and run everywhere.
//
//   for (Diagnostic& warning : wrongOutputs(result.declaredOutputs, *typed.main(), ir.facts())) show(warning);
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/support/diagnostic.h"
#include "frontends/onnx/read/onnx_model.h"

namespace dyn::onnx {

struct DeclaredOutput {
  std::string name;
  SourceLocation place;
  std::optional<Dtype> dtype;  // of a tensor
  bool hasShape = false;
  std::vector<std::optional<int64_t>> dims;  // as written, may be negative; nullopt: named or not given
};

DeclaredOutput declaredOutput(const ValueInfoProto& output, SourceLocation place);

// One error or warning for each output whose declaration is wrong. `main` has result types; outputs are its
// results, in order.
std::vector<Diagnostic> wrongOutputs(const std::vector<DeclaredOutput>& outputs, const Function& main,
                                     const DimSolver& facts);

}  // namespace dyn::onnx
