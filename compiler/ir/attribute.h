// Attributes of operations: named constant values, kept sorted by name.
//
// A copy shares the values until one of the two changes, so that the same operation after each pass has one
// list of them. Pointers to values last until set() or erase().
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler/dims/dim.h"
#include "compiler/ir/dtype.h"
#include "compiler/ir/tensor.h"
#include "compiler/ir/type.h"

namespace dyn {

// int64 · double · string · lists of them · dtype · symbolic dims · a constant tensor · a type.
// Text: 3 · 0.5 · "text" · [1, 2] · [0.5] · ["a"] · f32 · dims(2*n, 3) · tensor literal or constant reference
// · type
using AttributeValue = std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                                    std::vector<std::string>, Dtype, Shape, HostTensor, Type>;

enum class AttributeKind : uint8_t {
  integer,
  real,
  string,
  integers,
  reals,
  strings,
  dtype,
  dims,
  tensor,
  type
};
const char* toString(AttributeKind kind);
AttributeKind kindOf(const AttributeValue& value);
// Same kind and bits: reals by their bits (a NaN equals itself), tensors by HostTensor::identical.
bool identical(const AttributeValue& a, const AttributeValue& b);

class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<const std::string, AttributeValue>> values);

  bool has(std::string_view name) const { return find(name) != nullptr; }
  void set(std::string name, AttributeValue value);
  void erase(std::string_view name);
  const AttributeValue* find(std::string_view name) const;
  // The value, or the fallback when absent or of another kind (the verifier has checked kinds against the
  // operator's row).
  int64_t integer(std::string_view name, int64_t fallback = 0) const;
  double real(std::string_view name, double fallback = 0) const;
  std::string string(std::string_view name, std::string fallback = "") const;
  std::vector<int64_t> integers(std::string_view name) const;
  std::vector<double> reals(std::string_view name) const;
  std::vector<std::string> strings(std::string_view name) const;
  Dtype dtype(std::string_view name, Dtype fallback = Dtype::f32) const;
  Shape dims(std::string_view name) const;
  const HostTensor* tensor(std::string_view name) const;
  Type type(std::string_view name) const;

  using Values = std::map<std::string, AttributeValue, std::less<>>;
  const Values& all() const;
  bool sharesWith(const Attributes& other) const { return values_ == other.values_; }
  bool operator==(const Attributes& other) const;  // tensors compare by identical()

 private:
  // To be changed: of this object alone.
  Values& own();

  std::shared_ptr<Values> values_;  // null: none
};

}  // namespace dyn
