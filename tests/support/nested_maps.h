// Programs that apply operators which only move elements, one to the result of the other, as often as wanted:
// what a compiler that puts index maps together could grow without bound from.
//
//   nestedMaps({"concat_itself", "reflect"}, 3)     x -> concat, every second -> reflected pad, cut -> concat, ...
//
// Each step takes a Tensor[(1, 4, h, w), f32] and gives one.
#pragma once

#include <string>
#include <vector>

namespace dyn::test {

struct MapStep {
  std::string name;
  std::string body;  // of IN to OUT; # is a number of the step's own
};

inline const std::vector<MapStep>& mapSteps() {
  static const std::vector<MapStep> steps = [] {
    const auto pad = [](const std::string& mode) {
      return "%p# = pad(IN, %pads) {mode = \"" + mode + "\"}  OUT = slice(%p#, %k0, %m1, %k2)";
    };
    const auto resize = [](const std::string& mode) {
      return "%s# = dims_value() {value = dims(1, 4, h, w)}  OUT = resize(IN, _, _, %s#) {mode = \"" + mode +
             "\", coordinate_transformation_mode = \"align_corners\"}";
    };
    return std::vector<MapStep>{
        {"concat_itself", "%c# = concat(IN, IN) {axis = 2}  OUT = slice(%c#, %k0, %end, %k2, %k2)"},
        {"concat_relu",
         "%r# = relu(IN)  %c# = concat(IN, %r#) {axis = 2}  OUT = slice(%c#, %k0, %end, %k2, %k2)"},
        {"concat_channels", "%c# = concat(IN, IN) {axis = 1}  OUT = slice(%c#, %k1, %end, %k1, %k2)"},
        {"pad", pad("constant")},
        {"reflect", pad("reflect")},
        {"edge", pad("edge")},
        {"wrap", pad("wrap")},
        {"reverse", "OUT = slice(IN, %m1, %begin, %k2, %m1)"},
        {"where", "%b# = slice(IN, %m1, %begin, %k3, %m1)  OUT = where(%mask, IN, %b#)"},
        {"gather", "OUT = gather(IN, %order) {axis = 1}"},
        {"tile", "%t# = tile(IN, %twice)  OUT = slice(%t#, %k0, %end, %k2, %k2)"},
        {"resize_nearest", resize("nearest")},
        {"resize_linear", resize("linear")},
        {"resize_cubic", resize("cubic")},
        {"roll",
         "%a# = slice(IN, %k1, %end, %k1)  %b# = slice(IN, %k0, %k1, %k1)  OUT = concat(%a#, %b#) {axis = "
         "1}"},
        {"depth_to_space", "%d# = depth_to_space(IN) {block = 2}  OUT = space_to_depth(%d#) {block = 2}"},
        {"grid_sample", "OUT = grid_sample(IN, %grid)"},
        {"transpose",
         "%t# = transpose(IN) {perm = [1, 0, 3, 2]}  %v# = slice(%t#, %m1, %begin, %k0, %m1)  "
         "OUT = transpose(%v#) {perm = [1, 0, 3, 2]}"},
        {"reshape",
         "%s# = dims_value() {value = dims(4, h*w)}  %f# = reshape(IN, %s#)  "
         "%v# = slice(%f#, %m1, %begin, %k1, %m1)  %z# = dims_value() {value = dims(1, 4, h, w)}  "
         "OUT = reshape(%v#, %z#)"},
        {"expand",
         "%s# = dims_value() {value = dims(1, 4, 1, h, w)}  %f# = reshape(IN, %s#)  "
         "%e# = dims_value() {value = dims(1, 4, 2, h, w)}  %x# = expand(%f#, %e#)  "
         "%z# = dims_value() {value = dims(1, 4, 2*h, w)}  %y# = reshape(%x#, %z#)  "
         "OUT = slice(%y#, %k0, %end, %k2, %k2)"},
        {"split", "%a#, %b# = split(IN) {axis = 1}  OUT = concat(%b#, %a#) {axis = 1}"},
    };
  }();
  return steps;
}

// `count` steps, those of `names` in turn.
inline std::string nestedMaps(const std::vector<std::string>& names, int count) {
  std::string text =
      "fn @main(%v0: Tensor[(1, 4, h, w), f32], %mask: Tensor[(1, 4, h, w), bool], "
      "%grid: Tensor[(1, h, w, 2), f32]) {\n"
      "  %k0 = constant() {value = i64[1] [0]}\n  %k1 = constant() {value = i64[1] [1]}\n"
      "  %k2 = constant() {value = i64[1] [2]}\n  %k3 = constant() {value = i64[1] [3]}\n"
      "  %m1 = constant() {value = i64[1] [-1]}\n  %end = constant() {value = i64[1] [9223372036854775807]}\n"
      "  %begin = constant() {value = i64[1] [-9223372036854775807]}\n"
      "  %pads = constant() {value = i64[8] [0, 0, 1, 0, 0, 0, 0, 0]}\n"
      "  %order = constant() {value = i64[4] [3, 0, 2, 1]}\n"
      "  %twice = constant() {value = i64[4] [1, 1, 2, 1]}\n";
  for (int i = 0; i < count; ++i) {
    const std::string& name = names[static_cast<size_t>(i) % names.size()];
    std::string body;
    for (const MapStep& step : mapSteps())
      if (step.name == name) body = step.body;
    const auto replace = [&](const std::string& what, const std::string& with) {
      for (size_t at = 0; (at = body.find(what, at)) != std::string::npos; at += with.size())
        body.replace(at, what.size(), with);
    };
    replace("IN", "%v" + std::to_string(i));
    replace("OUT", "%v" + std::to_string(i + 1));
    replace("#", "_" + std::to_string(i));
    text += "  " + body + "\n";
  }
  return text + "  return %v" + std::to_string(count) + "\n}\n";
}

}  // namespace dyn::test
