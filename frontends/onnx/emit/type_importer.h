// Types of the file as types of the IR: named dims become symbols.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>

#include "compiler/ir/module.h"
#include "frontends/onnx/read/onnx_model.h"

namespace dyn::onnx {

class TypeImporter {
 public:
  explicit TypeImporter(IrContext& ir) : ir_(ir) {}

  // Remembers the names that are a dim on their own: only those may occur in expressions of other dims ("2*seq + 1"); a text such as
  // "batch-size" is else a name.
  void learnNames(const TypeProto& type);
  // `what` is for reasons and errors: "input x". `rank` is that of a type without shape; its dims are unknown then.
  Result<Type> import(const TypeProto& type, const std::string& what, std::optional<int> rank = {});

 private:
  Dim dimOf(const Dimension& dimension, const std::string& what);

  IrContext& ir_;
  std::unordered_set<std::string> plainNames_;
};

}  // namespace dyn::onnx
