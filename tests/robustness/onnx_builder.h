// ONNX models made node by node, right or wrong; on purpose not by the product's own writer.
//
//   OnnxModel m;
//   m.input("x", kFloat, {"n", "4"}).ints("axes", {7}).node("Unsqueeze", {"x", "axes"}, {"y"}).output("y");
//   write(m.bytes());
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/frontends/onnx/proto_builder.h"

namespace dyn::robustness {

using onnx::test::Msg;

inline constexpr int32_t kFloat = 1, kInt32 = 6, kInt64 = 7, kBool = 9;

inline Msg attribute(std::string_view name, int64_t value) {
  return Msg().sub(1, name).num(3, value).num(20, 2);
}
inline Msg attribute(std::string_view name, float value) {
  return Msg().sub(1, name).f32(2, value).num(20, 1);
}
inline Msg attribute(std::string_view name, const char* value) {
  return Msg().sub(1, name).sub(4, value).num(20, 3);
}
inline Msg attribute(std::string_view name, std::initializer_list<int64_t> values) {
  return Msg().sub(1, name).packed(8, values).num(20, 7);
}
inline Msg graphAttribute(std::string_view name, const Msg& graph) {
  return Msg().sub(1, name).sub(6, graph).num(20, 5);
}

inline Msg intTensor(std::string_view name, const std::vector<int64_t>& dims,
                     const std::vector<int64_t>& values) {
  std::string shape, data;
  for (int64_t d : dims) shape += Msg::varintOf(static_cast<uint64_t>(d));
  for (int64_t v : values) data.append(reinterpret_cast<const char*>(&v), sizeof v);
  Msg tensor;
  if (!dims.empty()) tensor.sub(1, std::string_view(shape));
  return tensor.num(2, kInt64).sub(8, name).sub(9, std::string_view(data));
}

inline Msg floatTensor(std::string_view name, const std::vector<int64_t>& dims,
                       const std::vector<float>& values) {
  std::string shape, data;
  for (int64_t d : dims) shape += Msg::varintOf(static_cast<uint64_t>(d));
  for (float v : values) data.append(reinterpret_cast<const char*>(&v), sizeof v);
  Msg tensor;
  if (!dims.empty()) tensor.sub(1, std::string_view(shape));
  return tensor.num(2, kFloat).sub(8, name).sub(9, std::string_view(data));
}

class OnnxModel {
 public:
  OnnxModel& input(std::string_view name, int32_t type, std::initializer_list<const char*> dims) {
    graph.sub(11, onnx::test::valueInfo(name, onnx::test::tensorType(type, dims)));
    return *this;
  }
  OnnxModel& output(std::string_view name) {
    graph.sub(12, onnx::test::valueInfo(name, Msg()));
    return *this;
  }
  OnnxModel& node(std::string_view op, std::initializer_list<const char*> in,
                  std::initializer_list<const char*> out, std::initializer_list<Msg> attributes = {}) {
    Msg made = onnx::test::node(op, in, out);
    for (const Msg& a : attributes) made.sub(5, a);
    graph.sub(1, made);
    return *this;
  }
  OnnxModel& weight(const Msg& tensor) {
    graph.sub(5, tensor);
    return *this;
  }
  OnnxModel& ints(std::string_view name, const std::vector<int64_t>& values) {
    return weight(intTensor(name, {static_cast<int64_t>(values.size())}, values));
  }
  OnnxModel& scalar(std::string_view name, int64_t value) { return weight(intTensor(name, {}, {value})); }
  OnnxModel& floats(std::string_view name, const std::vector<float>& values) {
    return weight(floatTensor(name, {static_cast<int64_t>(values.size())}, values));
  }
  std::string bytes(int64_t opset = 17) const {
    return Msg().num(1, 8).sub(8, Msg().num(2, opset)).sub(7, graph).bytes;
  }
  Msg graph;
};

// If in the then-branch of If; the innermost negates.
inline std::string nestedIfs(int depth) {
  Msg body = Msg()
                 .sub(1, onnx::test::node("Neg", {"x"}, {"r"}))
                 .sub(2, "t")
                 .sub(12, onnx::test::valueInfo("r", Msg()));
  const Msg other = Msg()
                        .sub(1, onnx::test::node("Identity", {"x"}, {"e"}))
                        .sub(2, "e")
                        .sub(12, onnx::test::valueInfo("e", Msg()));
  for (int i = 0; i < depth; ++i) {
    Msg node = onnx::test::node("If", {"c"}, {"r"});
    node.sub(5, graphAttribute("then_branch", body)).sub(5, graphAttribute("else_branch", other));
    body = Msg().sub(1, node).sub(2, "t").sub(12, onnx::test::valueInfo("r", Msg()));
  }
  body.sub(11, onnx::test::valueInfo("x", onnx::test::tensorType(kFloat, {"n"})));
  body.sub(11, onnx::test::valueInfo("c", onnx::test::tensorType(kBool, {})));
  return Msg().num(1, 8).sub(8, Msg().num(2, 17)).sub(7, body).bytes;
}

}  // namespace dyn::robustness
