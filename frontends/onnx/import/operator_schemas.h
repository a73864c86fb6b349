// What the ONNX standard says of the form of a node, by operator and operator set: how many inputs and
// outputs it has, and which attributes of which types (operator_schemas.def). Operators of other domains have
// no schema here: their rows of map_table.cpp say what they read.
//
//   if (std::optional<Diagnostic> fault = formFault(node, "", 17)) report(*fault);
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "compiler/support/diagnostic.h"
#include "frontends/onnx/read/onnx_model.h"

namespace dyn::onnx {

struct OperatorSchema {
  std::string_view domain, name;
  int64_t since = 1;
  int minInputs = 0, maxInputs = 0, minOutputs = 0, maxOutputs = 0;  // -1: any number
  std::string_view attributes;                                       // "axis:i blocksize:i!"
  bool deprecated = false;
};

// Sorted by domain, name and version.
std::span<const OperatorSchema> operatorSchemas();
// All versions of an operator, oldest first; empty: not of the standard.
std::span<const OperatorSchema> schemasOf(std::string_view domain, std::string_view name);
// The schema that holds in this version of its domain; null: none.
const OperatorSchema* schemaOf(std::string_view domain, std::string_view name, int64_t version);

// What is wrong with a node's form, the first fault: an operator newer than the operator set, wrong numbers
// of inputs or outputs, an attribute that is unknown, of another type, or missing. An attribute that refers
// to one of a function has the type that the reference says, and counts as given.
std::optional<Diagnostic> formFault(const NodeProto& node, std::string_view domain, int64_t version);
// Of any node, calls of functions too: attributes without a name or with the name of another.
std::optional<Diagnostic> attributeNameFault(const NodeProto& node);
// The standard has the operator in a later version only, but onnxruntime has it in all, and its optimiser
// writes it whatever the model imports: the version that such a node is taken as. A reason to warn. nullopt:
// not such an operator, or not too early.
std::optional<int64_t> takenEarlyAs(std::string_view domain, std::string_view name, int64_t version);
// The operator goes out of use in this version: a reason to warn, as runtimes still take it.
bool isDeprecated(std::string_view domain, std::string_view name, int64_t version);

}  // namespace dyn::onnx
