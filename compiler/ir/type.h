// Types: tensors of static rank with symbolic dims, tuples, lists, optionals, functions, algebraic data
// types.
//
// A Type is a handle to an interned, immutable node: equal types are the same pointer (dims compare by
// canonical Dim).
//   Tensor[(batch, seq, 768), f32]   Tensor[(), i64]   (Tensor[(n), f32], Tensor[(n), i64])   List[Tensor[(?1), f32]]
//   Optional[T]   fn(T1, T2) -> (T3)   Tree
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/dims/dim.h"
#include "compiler/ir/dtype.h"

namespace dyn {

class IrContext;
struct TypeNode;

enum class TypeKind : uint8_t { tensor, tuple, list, optional, function, data };

class Type {
 public:
  Type() = default;  // null
  explicit operator bool() const { return node_ != nullptr; }
  bool operator==(const Type& other) const { return node_ == other.node_; }
  bool operator!=(const Type& other) const { return node_ != other.node_; }

  TypeKind kind() const;
  bool isTensor() const { return node_ && kind() == TypeKind::tensor; }
  // tensor
  const Shape& dims() const;
  Dtype dtype() const;
  int rank() const { return static_cast<int>(dims().size()); }
  // tuple: fields; list/optional: one element; function: parameters
  std::span<const Type> elements() const;
  Type element() const { return elements()[0]; }
  // function
  std::span<const Type> results() const;
  // data: the name of the algebraic data type (declared in the module)
  std::string_view dataName() const;

  std::string toString() const;
  uint32_t id() const;  // dense, deterministic within its context

 private:
  friend class IrContext;
  friend std::vector<SymbolId> symbolsOf(Type type);
  explicit Type(const TypeNode* node) : node_(node) {}
  const TypeNode* node_ = nullptr;
};

// Symbols appearing anywhere in the type, ascending, without repeats.
std::vector<SymbolId> symbolsOf(Type type);

}  // namespace dyn
