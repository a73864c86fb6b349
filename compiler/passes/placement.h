// Where the pass `devices` puts what a module computes, and why; and what users want elsewhere.
//
//   softmax=cpu            every operation softmax, alone or within a kernel, which then goes as a whole
//   /layer.0/MatMul=cpu    an ONNX node
//   scores=cuda            what makes a value; where it can not run there, compilation says why
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/support/result.h"
#include "compiler/target/target.h"

namespace dyn {

struct PlaceRule {
  std::string what;  // an operator, a node or a value
  bool onDevice = false;
  std::string text() const { return what + (onDevice ? "=cuda" : "=cpu"); }
};

// Lines "OP=cpu" and "OP=cuda", later ones before earlier ones about the same. Errors: usageError.
Result<std::vector<PlaceRule>> parsePlaces(const std::string& lines);
std::string joinedPlaces(const std::vector<std::string>& places);
// Is `what` the name of that node? A node's place is its name with, it may be, more about it:
// "/layer.0/MatMul (MatMul, opset 17)".
bool isNode(const std::string& what, const std::string& node);

// An operation as it was placed.
struct PlacedOperation {
  std::vector<std::string> values;  // that it makes, and those made within its kernel
  std::string operation;            // "matmul+add+relu"
  std::string place;                // of the user's model
  std::vector<std::string> nodes;   // of the model that it comes from
  bool onDevice = false;
  std::string reason;
  std::string rule;  // of the user, which decided; "" when none did
};

// What the pass says of each operation of `before`, the module it is given, bodies included.
Result<std::vector<PlacedOperation>> explainPlacement(const Module& before, const Target& target,
                                                      const std::vector<std::string>& places);

}  // namespace dyn
