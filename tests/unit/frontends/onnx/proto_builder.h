// Builds protobuf messages by hand for the reader's tests: on purpose not the product's writer.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace dyn::onnx::test {

struct Msg {
  std::string bytes;

  static std::string varintOf(uint64_t v) {
    std::string s;
    do {
      uint8_t b = v & 0x7f;
      v >>= 7;
      s.push_back(static_cast<char>(v ? b | 0x80 : b));
    } while (v);
    return s;
  }
  Msg& num(uint32_t field, int64_t v) {
    bytes += varintOf(field * 8) + varintOf(static_cast<uint64_t>(v));
    return *this;
  }
  Msg& sub(uint32_t field, std::string_view content) {
    bytes += varintOf(field * 8 + 2) + varintOf(content.size());
    bytes += content;
    return *this;
  }
  Msg& sub(uint32_t field, const Msg& m) { return sub(field, std::string_view(m.bytes)); }
  Msg& f32(uint32_t field, float v) {
    bytes += varintOf(field * 8 + 5);
    bytes.append(reinterpret_cast<const char*>(&v), 4);
    return *this;
  }
  template <typename T>
  Msg& packedFixed(uint32_t field, std::initializer_list<T> values) {
    std::string content;
    for (T v : values) content.append(reinterpret_cast<const char*>(&v), sizeof v);
    return sub(field, content);
  }
  Msg& packed(uint32_t field, std::initializer_list<int64_t> values) {
    std::string content;
    for (int64_t v : values) content += varintOf(static_cast<uint64_t>(v));
    return sub(field, content);
  }
};

inline Msg tensorType(int32_t elementType, std::initializer_list<const char*> dims) {
  Msg shape;
  for (std::string_view dim : dims) {
    bool number = !dim.empty() && dim.find_first_not_of("0123456789") == dim.npos;
    shape.sub(1, number ? Msg().num(1, std::stoll(std::string(dim))) : Msg().sub(2, dim));
  }
  return Msg().sub(1, Msg().num(1, elementType).sub(2, shape));
}
inline Msg valueInfo(std::string_view name, const Msg& type) { return Msg().sub(1, name).sub(2, type); }
inline Msg node(std::string_view op, std::initializer_list<const char*> in,
                std::initializer_list<const char*> out) {
  Msg m;
  for (const char* name : in) m.sub(1, std::string_view(name));
  for (const char* name : out) m.sub(2, std::string_view(name));
  return m.sub(4, op);
}
inline Msg model(const Msg& graph) { return Msg().num(1, 8).sub(8, Msg().num(2, 17)).sub(7, graph); }

// A model with one of nearly everything.
inline Msg sampleModel() {
  Msg weights = Msg().packed(1, {2, 2}).num(2, 1).sub(8, "w").sub(
      9, std::string_view("\0\0\x80?\0\0\0@\0\0@@\0\0\x80@", 16));
  Msg external = Msg()
                     .num(1, 4)
                     .num(2, 1)
                     .sub(8, "e")
                     .num(14, 1)
                     .sub(13, Msg().sub(1, "location").sub(2, "w.bin"))
                     .sub(13, Msg().sub(1, "offset").sub(2, "4"));
  Msg body = Msg()
                 .sub(2, "then")
                 .sub(1, node("Identity", {"x"}, {"b"}))
                 .sub(12, valueInfo("b", tensorType(1, {"n"})));
  Msg branch = node("If", {"c"}, {"z"})
                   .sub(3, "choose")
                   .sub(5, Msg().sub(1, "then_branch").sub(6, body).num(20, 5))
                   .sub(5, Msg().sub(1, "else_branch").sub(6, body).num(20, 5));
  Msg add = node("Add", {"x", "w"}, {"y"})
                .sub(3, "add")
                .sub(6, "doc")
                .sub(9, Msg().sub(1, "key").sub(2, "value"))
                .sub(5, Msg().sub(1, "axis").num(3, -1).num(20, 2))
                .sub(5, Msg().sub(1, "ints").packed(8, {1, -2, 300}).num(20, 7))
                .sub(5, Msg().sub(1, "loose").num(8, 5).num(8, 6).num(20, 7))
                .sub(5, Msg().sub(1, "floats").packedFixed<float>(7, {1.5f, -2.f}).f32(7, 3.f).num(20, 6))
                .sub(5, Msg().sub(1, "alpha").f32(2, 0.5f).num(20, 1))
                .sub(5, Msg().sub(1, "texts").sub(9, "a").sub(9, "bc").num(20, 8))
                .sub(5, Msg().sub(1, "mode").sub(4, "linear").num(20, 3))
                .sub(5, Msg().sub(1, "value").sub(5, weights).num(20, 4))
                .sub(5, Msg().sub(1, "sparse").sub(22, Msg().sub(1, weights).packed(3, {9})).num(20, 11))
                .sub(5, Msg().sub(1, "type").sub(14, tensorType(7, {"3"})).num(20, 13));
  Msg sequenceType = Msg().sub(9, Msg().sub(1, Msg().sub(4, Msg().sub(1, tensorType(1, {"n", "4"})))));
  Msg graph = Msg()
                  .sub(2, "g")
                  .sub(1, add)
                  .sub(1, branch)
                  .sub(5, weights)
                  .sub(5, external)
                  .sub(11, valueInfo("x", tensorType(1, {"n", "2"})))
                  .sub(11, valueInfo("s", sequenceType))
                  .sub(12, valueInfo("y", tensorType(1, {"n", ""})))
                  .sub(13, valueInfo("c", Msg()))
                  .sub(14, Msg().sub(1, "y").sub(2, Msg().sub(1, "SCALE").sub(2, "s0")))
                  .sub(15, Msg().sub(1, weights).sub(2, weights).num(3, 10));
  Msg function = Msg()
                     .sub(1, "Twice")
                     .sub(4, "a")
                     .sub(5, "b")
                     .sub(6, "k")
                     .sub(7, node("Add", {"a", "a"}, {"b"}))
                     .sub(9, Msg().num(2, 17))
                     .sub(10, "local")
                     .sub(11, Msg().sub(1, "d").num(3, 1).num(20, 2))
                     .sub(13, "v");
  return model(graph)
      .sub(2, "tests")
      .sub(14, Msg().sub(1, "author").sub(2, "me"))
      .sub(25, function)
      .sub(26, Msg().sub(1, "two").num(2, 2).sub(3, "cuda:0"))
      .sub(20, Msg().sub(1, Msg()))
      .sub(99, "unknown");
}

}  // namespace dyn::onnx::test
