// The messages of an ONNX model (onnx.proto3) as bytes: attributes, nodes, types, graphs.
//
//   NodeMessage node{.op = "Softmax", .inputs = {"x"}, .outputs = {"y"}};
//   node.attributes.integer("axis", -1);
//   GraphMessage graph;  graph.add(node);
//
// Texts are written as they are; nothing is judged here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "compiler/ir/module.h"

namespace dyn::onnx {

// Attributes of one node, in the order of the calls.
class AttributeMessages {
 public:
  void integer(std::string_view name, int64_t value);
  void real(std::string_view name, double value);  // f32 in files
  void text(std::string_view name, std::string_view value);
  void integers(std::string_view name, std::span<const int64_t> values);
  void reals(std::string_view name, std::span<const double> values);
  void texts(std::string_view name, std::span<const std::string> values);
  void tensor(std::string_view name, std::string_view message);  // a TensorProto
  void graph(std::string_view name, std::string_view message);   // a GraphProto
  void type(std::string_view name, Type type);                   // that typeMessage() can write

  const std::string& bytes() const { return bytes_; }
  const std::vector<std::string>& names() const { return names_; }

 private:
  void add(std::string_view name, int64_t kind, std::string content);
  std::string bytes_;
  std::vector<std::string> names_;
};

struct NodeMessage {
  std::string op;
  std::vector<std::string> inputs = {}, outputs = {};  // "" = left out
  AttributeMessages attributes = {};
  std::string domain = {}, name = {};
};

// A TypeProto: tensors, lists and optionals of such. A dim is its number, its text (`2*seq + 1`), or open
// where that would be a `?`; with a word for such, `unknown7` in place of `?7`. "" for other types.
std::string typeMessage(Type type, std::string_view unknown = {});
// A ValueInfoProto; without a type only the name.
std::string valueMessage(std::string_view name, Type type);
// What `name` and `value` are as an entry of metadata or of external_data.
std::string entryMessage(std::string_view key, std::string_view value);

// A graph that grows: the model's own, or a body.
struct GraphMessage {
  std::string nodes, inputs, outputs, values;  // fields of GraphProto, one behind the other
  int64_t nodeCount = 0;
  std::unordered_set<std::string> made;  // by its nodes

  void add(const NodeMessage& node);
  // The message of a body.
  std::string bytes(std::string_view name) const;
};

}  // namespace dyn::onnx
