// Which graph node an operation is: the same number at every step that keeps the operation.
#pragma once

#include <map>
#include <unordered_map>
#include <utility>

#include "app/session/views/node_id.h"
#include "compiler/ir/module.h"

namespace dyn {

class NodeIds {
 public:
  explicit NodeIds(const Module& module);
  NodeId of(const Op& op) const;  // kNoNode for an operation of another module
  // A parameter of a function, and a result of one.
  static NodeId ofValue(ValueId value) { return NodeId{value} * 2; }
  // Of what makes a value before memory is placed: `op`, which is null for a parameter.
  static NodeId ofMaker(const Op* op, ValueId value) {
    return ofValue(op && !op->results.empty() ? op->results[0].id : value);
  }
  static NodeId ofResult(uint32_t function, size_t index) {
    return (NodeId{1} << 62) | (NodeId{function} << 32) | index;
  }

 private:
  std::unordered_map<const Op*, NodeId> ids_;
};

}  // namespace dyn
