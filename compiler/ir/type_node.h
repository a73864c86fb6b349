// The interned node behind a Type: only type.cpp and the IrContext that owns the nodes look inside.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/type.h"

namespace dyn {

struct TypeNode {
  TypeKind kind = TypeKind::tensor;
  uint32_t id = 0;
  Dtype dtype = Dtype::f32;
  Shape dims;
  std::vector<Type> elements;
  std::vector<Type> results;
  std::string dataName;
  std::vector<SymbolId> symbols;  // of everything below, ascending: a type may share parts many times over
};

}  // namespace dyn
