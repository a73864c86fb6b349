// What a file as a whole may not be, whatever its operators mean: one table of rules, each with what it forbids and whether that is an
// error or, where such files are harmless and there are many, a warning.
//
//   FileFaults faults = checkFile(model);        // errors and warnings, each with its place and a note that names its rule
//
// Linear in the size of the file. What needs the names in scope is found while importing; those rules stand in the table too, without
// a function. Forms of single nodes: operator_schemas.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "compiler/support/diagnostic.h"
#include "frontends/onnx/read/onnx_model.h"

namespace dyn::onnx {

// The graphs of a file: the model's own, then the bodies inside of nodes, functions' included.
struct FileGraphs {
  const Model& model;
  std::vector<const GraphProto*> graphs;  // graphs[0] is the model's
};

class FaultList;

struct FileRule {
  std::string_view id;                                     // "opset-twice"
  std::string_view forbids;                                // one line, "a domain is imported in two versions"
  DiagnosticId kind;                                       // onnxInvalid, unsupportedFeature, or warning
  void (*check)(const FileGraphs&, FaultList&) = nullptr;  // null: the importer finds it
};
std::span<const FileRule> fileRules();

struct FileFaults {
  std::vector<Diagnostic> errors, warnings;
};
// Of each rule the first few faults.
FileFaults checkFile(const Model& model);

}  // namespace dyn::onnx
