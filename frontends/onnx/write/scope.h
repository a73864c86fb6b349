// What the values of a function stand for in the graph that is being written, and which tensors show its
// dims.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/ir/module.h"
#include "frontends/onnx/write/messages.h"

namespace dyn::onnx {

// What a value stands for. Constants and dims get a tensor where one reads them.
struct Bound {
  enum class Kind : uint8_t { tensor, constant, dims, packed, tuple };
  Kind kind = Kind::tensor;
  std::string name;           // of a tensor, list or optional; of dims once they have a tensor
  const Op* op = nullptr;     // of the others: the operation that makes it
  std::vector<Bound> fields;  // of a tuple; of what is packed: the weights before
};

// Axis `place` of a tensor, or its element number `place`.
struct DimSource {
  enum class Kind : uint8_t { axis, element };
  Kind kind = Kind::axis;
  std::string tensor;
  int64_t place = 0;
  int rank = 0;
  Dtype dtype = Dtype::i64;
};

struct Scope {
  Scope* outer = nullptr;  // of a body, whose nodes see what is around; null: none
  GraphMessage* graph = nullptr;
  std::unordered_map<ValueId, Bound> values;
  std::unordered_map<uint32_t, DimSource> dims;          // by Dim::id
  std::unordered_map<uint32_t, std::string> dimTensors;  // by Dim::id: [1] i64, already there

  const Bound* find(ValueId id) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer)
      if (const auto found = scope->values.find(id); found != scope->values.end()) return &found->second;
    return nullptr;
  }
  const DimSource* sourceOf(Dim dim) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer)
      if (const auto found = scope->dims.find(dim.id()); found != scope->dims.end()) return &found->second;
    return nullptr;
  }
  const std::string* tensorOf(Dim dim) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer)
      if (const auto found = scope->dimTensors.find(dim.id()); found != scope->dimTensors.end())
        return &found->second;
    return nullptr;
  }
  // A tensor of this type shows its dims from here on.
  void learnDims(const std::string& tensor, Type type) {
    if (!type || !type.isTensor()) return;
    for (size_t axis = 0; axis < type.dims().size(); ++axis) {
      const Dim dim = type.dims()[axis];
      if (dim.isConstant() || dim.isInvalid() || sourceOf(dim) != nullptr) continue;
      dims.emplace(dim.id(), DimSource{DimSource::Kind::axis, tensor, static_cast<int64_t>(axis), type.rank(),
                                       Dtype::i64});
    }
  }
};

}  // namespace dyn::onnx
