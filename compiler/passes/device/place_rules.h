// What users want on another side than the pass `devices` would choose.
//
//   softmax=cpu            every operation softmax, alone or within a kernel, which then goes as a whole
//   /layer.0/MatMul=cpu    an ONNX node
//   scores=cuda            what makes a value; where it cannot run there, compilation says why
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/passes/device/placement.h"
#include "compiler/support/result.h"
#include "compiler/target/device_kind.h"

namespace dyn {

struct PlaceRule {
  std::string what;  // an operator, a node or a value
  DeviceKind device = {};
  bool onDevice() const { return !isHost(device); }
  std::string text() const { return what + "=" + toString(device); }
};

// Lines "OP=cpu" and "OP=cuda", later ones before earlier ones about the same. Errors: usageError.
Result<std::vector<PlaceRule>> parsePlaces(const std::string& lines);
std::string joinedPlaces(const std::vector<std::string>& places);
// Is `what` the name of that node? A node's place is its name with, it may be, more about it:
// "/layer.0/MatMul (MatMul, opset 17)".
bool isNode(const std::string& what, const std::string& node);

// The rules of one compilation, and which of them have met something.
class PlaceRules {
 public:
  // `ir` outlives it: names of values.
  PlaceRules(const IrContext& ir, std::vector<PlaceRule> rules)
      : ir_(ir), rules_(std::move(rules)), met_(rules_.size()) {}

  // The last rule about the operation, or about one within its kernel; null: absent.
  const PlaceRule* ruleOf(const Op& op);
  // A rule that has met none of the operations that were placed is a mistake of its writer: usageError.
  Status allMet(std::span<const PlacedOperation> placed) const;

 private:
  bool concerns(const std::string& what, const Op& op) const;

  const IrContext& ir_;
  std::vector<PlaceRule> rules_;
  std::vector<bool> met_;  // by rule
};

}  // namespace dyn
