// Attributes as fields of a node: node("Loop", {"x"}, {"y"}) + intAttribute("axis", 1).
#pragma once

#include "tests/unit/frontends/onnx/proto_builder.h"

namespace dyn::onnx::test {

// Fields behind each other, as those of a node and its attributes.
inline Msg operator+(Msg a, const Msg& b) {
  a.bytes += b.bytes;
  return a;
}
inline Msg intAttribute(std::string_view name, int64_t value) {
  return Msg().sub(5, Msg().sub(1, name).num(3, value).num(20, 2));
}
inline Msg floatAttribute(std::string_view name, float value) {
  return Msg().sub(5, Msg().sub(1, name).f32(2, value).num(20, 1));
}
inline Msg graphAttribute(std::string_view name, const Msg& graph) {
  return Msg().sub(5, Msg().sub(1, name).sub(6, graph).num(20, 5));
}

}  // namespace dyn::onnx::test
