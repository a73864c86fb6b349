// Value: what the reference interpreter computes with: a tensor, tuple, list, optional, data value or function value.
//
// Cheap to copy (parts are shared and never change). Destroying or printing a value a million deep needs no deep C++ stack.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/module.h"

namespace dyn {

enum class ValueKind : uint8_t { none, tensor, tuple, list, optional, data, closure };
const char* toString(ValueKind kind);

class Value {
 public:
  Value() = default;  // none
  Value(HostTensor tensor) : kind_(ValueKind::tensor), tensor_(std::move(tensor)) {}
  static Value tuple(std::vector<Value> fields);
  static Value list(std::vector<Value> elements);
  static Value some(Value value);
  static Value nothing();
  static Value data(std::string constructor, std::vector<Value> fields);
  static Value closure(const Function* function, std::vector<Value> captures);

  ValueKind kind() const { return kind_; }
  bool isTensor() const { return kind_ == ValueKind::tensor; }
  const HostTensor& tensor() const { return tensor_; }  // precondition: isTensor()
  // tuple, list, data: the parts; optional: none or one; closure: the captures.
  std::span<const Value> parts() const;
  const std::string& constructor() const;  // data
  const Function* function() const;        // closure

  std::string toString(int64_t maxElements = 16) const;
  // Same structure and bits.
  bool identical(const Value& other) const;

 private:
  struct Node;
  static Value make(ValueKind kind, std::vector<Value> parts, std::string name, const Function* function);
  ValueKind kind_ = ValueKind::none;
  HostTensor tensor_;
  std::shared_ptr<Node> node_;
};

}  // namespace dyn
