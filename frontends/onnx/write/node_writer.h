// What the writing of one operation sees: its operands as tensors of the graph, its attributes, and a way to
// add nodes.
//
//   void writeStrided(NodeWriter& w) { w.finish("Gather", {w.node("Reshape", {w.operand(0), ...}), places}); }
//
// The first failure sticks: after it nothing is written for the operation, and the writer reports it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/onnx/write/model_parts.h"
#include "frontends/onnx/write/scope.h"

namespace dyn::onnx {

class NodeWriter {
 public:
  // `results`: the names that the operation's results are to have.
  NodeWriter(ModelParts& parts, Scope& scope, const Op& op, std::vector<std::string> results)
      : parts_(parts), scope_(scope), op_(op), results_(std::move(results)) {}

  const Op& op() const { return op_; }
  const Attributes& attributes() const { return op_.attributes; }
  ModelParts& parts() { return parts_; }
  bool has(size_t i) const { return i < op_.operands.size() && op_.operands[i] != kNoValue; }
  // The tensor of an operand; "" where it is left out.
  std::string operand(size_t i);
  std::vector<std::string> operands();
  // Null: not known.
  Type operandType(size_t i) const { return has(i) ? parts_.typeOf(op_.operands[i]) : Type(); }
  // The operand in i64 where it is of another integer type.
  std::string inI64(size_t i);
  // What the operand stands for; null: left out, or nothing.
  const Bound* bound(size_t i) const { return has(i) ? scope_.find(op_.operands[i]) : nullptr; }
  // The dims of an operand that is a `dims_value`; of others none.
  std::optional<Shape> dims(size_t i) const;
  std::string tensorOf(const Bound& bound);

  // A node with one output, of a new name.
  std::string node(std::string_view op, std::vector<std::string> inputs, AttributeMessages attributes = {});
  std::string cast(const std::string& tensor, Dtype dtype);
  // [k] i64 of dims that are known here.
  std::string dimVector(const Shape& dims);
  std::string dimScalar(Dim dim);
  // The node whose outputs are the operation's results, the last one. Of inputs that are left out at the end
  // it names `least`, as some operators ask for.
  void finish(std::string_view op, std::vector<std::string> inputs, AttributeMessages attributes = {},
              std::string_view domain = "", size_t least = 0);
  // The operation's own attributes; `words` says which have another name there or are left out:
  // "block=blocksize -way".
  AttributeMessages ownAttributes(std::string_view words = "");

  void unsupported(std::string why);
  bool failed() const { return !failure_.empty(); }
  const std::string& failure() const { return failure_; }

 private:
  std::string dimsTensor(const Op& made);

  ModelParts& parts_;
  Scope& scope_;
  const Op& op_;
  std::vector<std::string> results_;
  std::string failure_;
};

// The bytes of a TensorProto of these elements, with this name.
std::string tensorMessage(const HostTensor& tensor, std::string_view name = "");

}  // namespace dyn::onnx
