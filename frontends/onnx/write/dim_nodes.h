// Dims as tensors: the nodes that read them off tensors and compute with them.
//
//   dims(batch, seq, 2*seq + 1)   →   Shape(ids, start 0, end 2), Concat with Add(Mul(2, Shape(ids, 1..2)), 1)
//
// Parts that are there already are used again.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "frontends/onnx/write/model_parts.h"
#include "frontends/onnx/write/scope.h"

namespace dyn::onnx {

class DimNodes {
 public:
  DimNodes(ModelParts& parts, Scope& scope) : parts_(parts), scope_(scope) {}

  // [k] i64; nullopt: `missing()` has no tensor that shows it.
  std::optional<std::string> vector(std::span<const Dim> dims);
  // [] i64
  std::optional<std::string> scalar(Dim dim);
  // The dim that the last failure lacked, as text.
  const std::string& missing() const { return missing_; }

 private:
  std::optional<std::string> element(Dim dim);  // [1] i64
  std::string read(const DimSource& source, int64_t axisCount);
  std::string computed(Dim dim, const std::vector<std::string>& operands);
  std::string emit(std::string_view op, std::vector<std::string> inputs, AttributeMessages attributes = {});
  const DimSource* sourceOf(Dim dim) const;

  ModelParts& parts_;
  Scope& scope_;
  std::string missing_;
};

}  // namespace dyn::onnx
