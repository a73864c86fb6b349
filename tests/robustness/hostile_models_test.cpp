// Models that are well-formed files and yet nonsense: sizes that overflow, attributes out of range, indexes
// that leave their axis, loops without end. Each ends in a typed error (or runs, where the standard gives it
// a meaning) within a second and 256 MB.
#include <gtest/gtest.h>

#include <functional>

#include "app/engine/model/model_info.h"
#include "tests/robustness/onnx_builder.h"
#include "tests/robustness/shell.h"
#include "tests/robustness/worker.h"

namespace dyn::robustness {
namespace {

constexpr int64_t kHuge = int64_t{1} << 62;

struct Row {
  const char* name;
  std::string bytes;
  // What loading, compiling or running says: the begin of "E0203 message"; "" where it runs; "E" for any
  // error but one of this table's own; "?" where either will do.
  const char* says;
  const char* run = "";  // the command; "": every dim is 3
};

OnnxModel over(std::initializer_list<const char*> dims = {"n", "4"}) {
  OnnxModel m;
  m.input("x", kFloat, dims).output("y");
  return m;
}

std::vector<Row> sizes() {
  const Msg eight = Msg().num(2, kFloat).sub(9, "12345678").sub(8, "w");
  auto weight = [&](std::initializer_list<int64_t> dims) {
    Msg tensor = Msg().packed(1, dims);
    tensor.bytes += eight.bytes;
    return over().weight(tensor).node("Add", {"x", "w"}, {"y"}).bytes();
  };
  auto filled = [](std::vector<int64_t> shape) {
    return over().ints("s", shape).node("ConstantOfShape", {"s"}, {"y"}).bytes();
  };
  auto filledAtRunTime = [](int64_t count) {
    return OnnxModel().input("s", kInt64, {"1"}).output("y").node("ConstantOfShape", {"s"}, {"y"}).bytes() +
           std::string(count, '\0');
  };
  return {
      {"negative weight dim", weight({-1}), "E"},
      {"weight of 2^62", weight({kHuge}), "E"},
      {"weight of 2^62 + 2, whose bytes wrap to 8", weight({kHuge + 2}), "E"},
      {"weight of 2^32 x 2^32, which wraps to 0", weight({int64_t{1} << 32, int64_t{1} << 32}), "E"},
      {"weight of 2^31 x 2^31 x 4, which wraps to 0", weight({int64_t{1} << 31, int64_t{1} << 31, 4}), "E"},
      {"weight of 10^12 without data",
       over()
           .weight(Msg().packed(1, {1'000'000'000'000}).num(2, kFloat).sub(8, "w"))
           .node("Add", {"x", "w"}, {"y"})
           .bytes(),
       "E"},
      {"constants of 2^40 elements", filled({int64_t{1} << 40}), "E"},
      {"constants of 2^62 x 4", filled({kHuge, 4}), "E"},
      {"constants of 2^32 x 2^32", filled({int64_t{1} << 32, int64_t{1} << 32}), "E"},
      {"constants of -1", filled({-1}), "E"},
      {"constants of 2^40, told at run time", filledAtRunTime(0), "E", ":run --input s=[1099511627776]"},
      {"constants of -5, told at run time", filledAtRunTime(0), "E", ":run --input s=[-5]"},
      {"a dim of 2^62 at the border", over({"4611686018427387904", "4"}).node("Neg", {"x"}, {"y"}).bytes(),
       "E"},
      {"dims given that overflow", over({"n", "m"}).node("Neg", {"x"}, {"y"}).bytes(), "E",
       ":run --dim n=4611686018427387904 --dim m=4611686018427387904"},
      {"more input than memory", over({"n", "m"}).node("Neg", {"x"}, {"y"}).bytes(), "E",
       ":run --dim n=1048576 --dim m=1048576"},
      {"expand to 2^40", over().ints("s", {int64_t{1} << 40, 1, 1}).node("Expand", {"x", "s"}, {"y"}).bytes(),
       "E"},
      {"expand to 2^62 x 2^62",
       over().ints("s", {kHuge, kHuge, 1, 1}).node("Expand", {"x", "s"}, {"y"}).bytes(), "E"},
      {"tile 2^62 times", over().ints("r", {kHuge, kHuge}).node("Tile", {"x", "r"}, {"y"}).bytes(), "E"},
      {"tile -1 times", over().ints("r", {-1, 1}).node("Tile", {"x", "r"}, {"y"}).bytes(), "E"},
      {"pad by 2^62", over().ints("p", {kHuge, 0, kHuge, 0}).node("Pad", {"x", "p"}, {"y"}).bytes(), "E"},
      {"pad by 2^40", over().ints("p", {int64_t{1} << 40, 0, 0, 0}).node("Pad", {"x", "p"}, {"y"}).bytes(),
       "E"},
      {"cut all by pads", over().ints("p", {-100, 0, 0, 0}).node("Pad", {"x", "p"}, {"y"}).bytes(), "E"},
      {"range of 2^62",
       over().scalar("a", 0).scalar("b", kHuge).scalar("d", 1).node("Range", {"a", "b", "d"}, {"y"}).bytes(),
       "E"},
      {"range from -2^63 to 2^63",
       over()
           .scalar("a", INT64_MIN)
           .scalar("b", INT64_MAX)
           .scalar("d", 1)
           .node("Range", {"a", "b", "d"}, {"y"})
           .bytes(),
       "E"},
      {"range by 0",
       over().scalar("a", 0).scalar("b", 5).scalar("d", 0).node("Range", {"a", "b", "d"}, {"y"}).bytes(),
       "E"},
      {"range by 0, told at run time",
       OnnxModel()
           .input("d", kInt64, {})
           .scalar("a", 0)
           .scalar("b", 5)
           .output("y")
           .node("Range", {"a", "b", "d"}, {"y"})
           .bytes(),
       "E", ":run --input d=0"},
      {"range of 2^40, told at run time",
       OnnxModel()
           .input("b", kInt64, {})
           .scalar("a", 0)
           .scalar("d", 1)
           .output("y")
           .node("Range", {"a", "b", "d"}, {"y"})
           .bytes(),
       "E", ":run --input b=1099511627776"},
      {"one-hot of depth 2^40",
       OnnxModel()
           .input("i", kInt64, {"n"})
           .scalar("d", int64_t{1} << 40)
           .floats("v", {0, 1})
           .output("y")
           .node("OneHot", {"i", "d", "v"}, {"y"})
           .bytes(),
       "E"},
      {"one-hot of depth -1",
       OnnxModel()
           .input("i", kInt64, {"n"})
           .scalar("d", -1)
           .floats("v", {0, 1})
           .output("y")
           .node("OneHot", {"i", "d", "v"}, {"y"})
           .bytes(),
       "E"},
      {"resize by 10^30",
       over({"1", "1", "n", "4"})
           .floats("k", {1, 1, 1e30f, 1e30f})
           .node("Resize", {"x", "", "k"}, {"y"})
           .bytes(),
       "E"},
      {"resize by 0",
       over({"1", "1", "n", "4"}).floats("k", {1, 1, 0, 0}).node("Resize", {"x", "", "k"}, {"y"}).bytes(),
       "E"},
      {"resize by NaN",
       over({"1", "1", "n", "4"})
           .floats("k", {1, 1, __builtin_nanf(""), 1})
           .node("Resize", {"x", "", "k"}, {"y"})
           .bytes(),
       "E"},
      {"resize to 2^40",
       over({"1", "1", "n", "4"})
           .ints("s", {1, 1, int64_t{1} << 40, 4})
           .node("Resize", {"x", "", "", "s"}, {"y"})
           .bytes(),
       "E"},
      {"reshape to 2^62 x 4", over().ints("s", {kHuge, 4}).node("Reshape", {"x", "s"}, {"y"}).bytes(), "E"},
      {"reshape to -1 twice", over().ints("s", {-1, -1}).node("Reshape", {"x", "s"}, {"y"}).bytes(), "E"},
      {"reshape to -2", over().ints("s", {-2}).node("Reshape", {"x", "s"}, {"y"}).bytes(), "E"},
      {"reshape that does not fit, at run time",
       over().ints("s", {-1, 7}).node("Reshape", {"x", "s"}, {"y"}).bytes(), "E"},
      {"upsampling a window past 2^63",
       over({"1", "1", "n", "4"})
           .weight(floatTensor("w", {1, 1, 1, 1}, {1}))
           .node("ConvTranspose", {"x", "w"}, {"y"}, {attribute("strides", {kHuge, kHuge})})
           .bytes(),
       "E"},
      {"space to depth by 0",
       over({"1", "4", "n", "4"})
           .node("SpaceToDepth", {"x"}, {"y"}, {attribute("blocksize", int64_t{0})})
           .bytes(),
       "E"},
      {"depth to space by 0",
       over({"1", "4", "n", "4"})
           .node("DepthToSpace", {"x"}, {"y"}, {attribute("blocksize", int64_t{0})})
           .bytes(),
       "E"},
      {"depth to space by 2^32",
       over({"1", "4", "n", "4"})
           .node("DepthToSpace", {"x"}, {"y"}, {attribute("blocksize", int64_t{1} << 32)})
           .bytes(),
       "E"},
      {"eye of 2^20 x 2^20",
       OnnxModel().input("x", kFloat, {"n", "m"}).output("y").node("EyeLike", {"x"}, {"y"}).bytes(), "E",
       ":run --dim n=1048576 --dim m=1048576"},
      {"gru without size",
       over({"n", "1", "4"})
           .weight(floatTensor("w", {1, 0, 4}, {}))
           .weight(floatTensor("r", {1, 0, 0}, {}))
           .node("GRU", {"x", "w", "r"}, {"y"}, {attribute("hidden_size", int64_t{0})})
           .bytes(),
       ""},
      {"lstm of size -1",
       over({"n", "1", "4"})
           .weight(floatTensor("w", {1, 4, 4}, std::vector<float>(16)))
           .weight(floatTensor("r", {1, 4, 1}, std::vector<float>(4)))
           .node("LSTM", {"x", "w", "r"}, {"y"}, {attribute("hidden_size", int64_t{-1})})
           .bytes(),
       "E"},
  };
}

std::vector<Row> attributes() {
  auto conv = [](std::initializer_list<Msg> list) {
    return over({"1", "2", "n", "5"})
        .weight(floatTensor("w", {2, 2, 1, 1}, {1, 2, 3, 4}))
        .node("Conv", {"x", "w"}, {"y"}, list)
        .bytes();
  };
  auto pool = [](std::initializer_list<Msg> list) {
    return over({"1", "2", "n", "5"}).node("MaxPool", {"x"}, {"y"}, list).bytes();
  };
  auto slice = [](std::vector<int64_t> start, std::vector<int64_t> end, std::vector<int64_t> axes,
                  std::vector<int64_t> steps) {
    return over()
        .ints("s", start)
        .ints("e", end)
        .ints("a", axes)
        .ints("t", steps)
        .node("Slice", {"x", "s", "e", "a", "t"}, {"y"})
        .bytes();
  };
  const char* onTheWay = ":run --dim n=3";
  return {
      {"conv with stride 0", conv({attribute("strides", {0, 1})}), "E"},
      {"conv with stride -1", conv({attribute("strides", {-1, 1})}), "E"},
      {"conv with dilation 0", conv({attribute("dilations", {0, 0})}), "E"},
      {"conv with pads of 2^62", conv({attribute("pads", {kHuge, kHuge, kHuge, kHuge})}), "E"},
      {"conv in 0 groups", conv({attribute("group", int64_t{0})}), "E"},
      {"conv in -2 groups", conv({attribute("group", int64_t{-2})}), "E"},
      {"conv with three strides", conv({attribute("strides", {1, 1, 1})}), "E"},
      {"conv with another kernel shape", conv({attribute("kernel_shape", {7, 7})}), "E"},
      {"conv with strides as text", conv({attribute("strides", "1,1")}), "E"},
      {"conv with a group as number of reals", conv({attribute("group", 1.0f)}), "E"},
      {"conv with an attribute twice", conv({attribute("group", int64_t{1}), attribute("group", int64_t{1})}),
       "E"},
      {"pool without a window", pool({attribute("kernel_shape", {0, 0})}), "E"},
      {"pool with stride 0", pool({attribute("kernel_shape", {2, 2}), attribute("strides", {0, 0})}), "E"},
      {"pool with a window of 2^62", pool({attribute("kernel_shape", {kHuge, kHuge})}), "E"},
      {"pool without kernel_shape", pool({}), "E"},
      {"slice by step 0", slice({0}, {2}, {0}, {0}), "E"},
      {"slice by the least step", slice({INT64_MAX}, {INT64_MIN}, {0}, {INT64_MIN}), "?", onTheWay},
      {"slice on axis 9", slice({0}, {2}, {9}, {1}), "E"},
      {"slice on one axis twice", slice({0, 0}, {2, 2}, {0, 0}, {1, 1}), "E"},
      {"slice by step 0, told at run time",
       OnnxModel()
           .input("x", kFloat, {"n"})
           .input("t", kInt64, {"1"})
           .ints("s", {0})
           .ints("e", {9})
           .ints("a", {0})
           .output("y")
           .node("Slice", {"x", "s", "e", "a", "t"}, {"y"})
           .bytes(),
       "E", ":run --dim n=3 --input t=[0]"},
      {"gather beyond the axis", over().ints("i", {99}).node("Gather", {"x", "i"}, {"y"}).bytes(), "E"},
      {"gather far below the axis", over().ints("i", {INT64_MIN}).node("Gather", {"x", "i"}, {"y"}).bytes(),
       "E"},
      {"gather beyond the axis, told at run time",
       OnnxModel()
           .input("x", kFloat, {"n", "4"})
           .input("i", kInt64, {"m"})
           .output("y")
           .node("Gather", {"x", "i"}, {"y"})
           .bytes(),
       "E", ":run --dim n=3 --input i=[0,3]"},
      {"gather from nothing",
       OnnxModel()
           .input("x", kFloat, {"n", "4"})
           .input("i", kInt64, {"m"})
           .output("y")
           .node("Gather", {"x", "i"}, {"y"})
           .bytes(),
       "E", ":run --dim n=0 --input i=[0]"},
      {"gather elements beyond the axis",
       OnnxModel()
           .input("x", kFloat, {"n", "4"})
           .input("i", kInt64, {"n", "4"})
           .output("y")
           .node("GatherElements", {"x", "i"}, {"y"})
           .bytes(),
       "E", ":run --dim n=1 --input i=[[0,0,0,7]]"},
      {"gather nd beyond the axes",
       OnnxModel()
           .input("x", kFloat, {"n", "4"})
           .input("i", kInt64, {"m", "2"})
           .output("y")
           .node("GatherND", {"x", "i"}, {"y"})
           .bytes(),
       "E", ":run --dim n=2 --input i=[[1,4]]"},
      {"scatter elements beyond the axis",
       OnnxModel()
           .input("x", kFloat, {"n", "4"})
           .input("i", kInt64, {"1", "4"})
           .input("u", kFloat, {"1", "4"})
           .output("y")
           .node("ScatterElements", {"x", "i", "u"}, {"y"})
           .bytes(),
       "E", ":run --dim n=2 --input i=[[0,0,0,2]]"},
      {"scatter nd far below the axes",
       OnnxModel()
           .input("x", kFloat, {"n", "4"})
           .input("i", kInt64, {"1", "1"})
           .input("u", kFloat, {"1", "4"})
           .output("y")
           .node("ScatterND", {"x", "i", "u"}, {"y"})
           .bytes(),
       "E", ":run --dim n=2 --input i=[[-9223372036854775807]]"},
      {"division of integers by 0",
       OnnxModel()
           .input("a", kInt64, {"n"})
           .input("b", kInt64, {"n"})
           .output("y")
           .node("Div", {"a", "b"}, {"y"})
           .bytes(),
       "E", ":run --input a=[1] --input b=[0]"},
      {"division of -2^63 by -1",
       OnnxModel()
           .input("a", kInt64, {"n"})
           .input("b", kInt64, {"n"})
           .output("y")
           .node("Div", {"a", "b"}, {"y"})
           .bytes(),
       "?", ":run --input a=[-9223372036854775808] --input b=[-1]"},
      {"remainder by 0",
       OnnxModel()
           .input("a", kInt64, {"n"})
           .input("b", kInt64, {"n"})
           .output("y")
           .node("Mod", {"a", "b"}, {"y"})
           .bytes(),
       "E", ":run --input a=[1] --input b=[0]"},
      {"remainder of -2^63 by -1",
       OnnxModel()
           .input("a", kInt64, {"n"})
           .input("b", kInt64, {"n"})
           .output("y")
           .node("Mod", {"a", "b"}, {"y"})
           .bytes(),
       "?", ":run --input a=[-9223372036854775808] --input b=[-1]"},
      {"division by 0, both constant",
       OnnxModel().scalar("a", 1).scalar("b", 0).output("y").node("Div", {"a", "b"}, {"y"}).bytes(), "E",
       ":run"},
      {"division of -2^63 by -1, both constant",
       OnnxModel().scalar("a", INT64_MIN).scalar("b", -1).output("y").node("Div", {"a", "b"}, {"y"}).bytes(),
       "?", ":run"},
      {"top -1", over().ints("k", {-1}).node("TopK", {"x", "k"}, {"y", "i"}).bytes(), "E"},
      {"top 9 of 4", over().ints("k", {9}).node("TopK", {"x", "k"}, {"y", "i"}).bytes(), "E"},
      {"split into 0", over().node("Split", {"x"}, {"y"}, {attribute("num_outputs", int64_t{0})}).bytes(18),
       "E"},
      {"split by -1",
       over()
           .ints("s", {-1, 5})
           .node("Split", {"x", "s"}, {"y", "z"}, {attribute("axis", int64_t{1})})
           .bytes(),
       "E"},
      {"split that does not add up",
       over()
           .ints("s", {kHuge, kHuge})
           .node("Split", {"x", "s"}, {"y", "z"}, {attribute("axis", int64_t{1})})
           .bytes(),
       "E"},
      {"transpose by what is not a permutation",
       over().node("Transpose", {"x"}, {"y"}, {attribute("perm", {0, 0})}).bytes(), "E"},
      {"transpose beyond the rank",
       over().node("Transpose", {"x"}, {"y"}, {attribute("perm", {0, kHuge})}).bytes(), "E"},
      {"softmax on axis 2^62", over().node("Softmax", {"x"}, {"y"}, {attribute("axis", kHuge)}).bytes(), "E"},
      {"softmax on an axis of reals", over().node("Softmax", {"x"}, {"y"}, {attribute("axis", 1.0f)}).bytes(),
       "E"},
      {"reduction on axis -9", over().ints("a", {-9}).node("ReduceSum", {"x", "a"}, {"y"}).bytes(), "E"},
      {"squeeze of 4", over().ints("a", {1}).node("Squeeze", {"x", "a"}, {"y"}).bytes(), "E"},
      {"unsqueeze at 7", over().ints("a", {7}).node("Unsqueeze", {"x", "a"}, {"y"}).bytes(), "E"},
      {"concat of nothing", over().node("Concat", {}, {"y"}, {attribute("axis", int64_t{0})}).bytes(), "E"},
      {"concat on axis 5", over().node("Concat", {"x", "x"}, {"y"}, {attribute("axis", int64_t{5})}).bytes(),
       "E"},
      {"cast to 999", over().node("Cast", {"x"}, {"y"}, {attribute("to", int64_t{999})}).bytes(), "E"},
      {"cast to -1", over().node("Cast", {"x"}, {"y"}, {attribute("to", int64_t{-1})}).bytes(), "E"},
      {"constant without value", over().node("Constant", {}, {"y"}).bytes(), "E"},
      {"einsum of dots", over().node("Einsum", {"x"}, {"y"}, {attribute("equation", "......->->")}).bytes(),
       "E"},
      {"einsum of too many letters",
       over().node("Einsum", {"x"}, {"y"}, {attribute("equation", "abcdefg,hij->k")}).bytes(), "E"},
      {"normalisation over 0 groups",
       over({"1", "4", "n"})
           .floats("s", {1, 1, 1, 1})
           .floats("b", {0, 0, 0, 0})
           .node("GroupNormalization", {"x", "s", "b"}, {"y"}, {attribute("num_groups", int64_t{0})})
           .bytes(21),
       "E"},
      {"lrn of size 0",
       over({"1", "4", "n", "4"}).node("LRN", {"x"}, {"y"}, {attribute("size", int64_t{0})}).bytes(), "E"},
      {"shift by 200",
       OnnxModel()
           .input("a", 13, {"n"})
           .input("b", 13, {"n"})
           .output("y")
           .node("BitShift", {"a", "b"}, {"y"}, {attribute("direction", "LEFT")})
           .bytes(),
       "", ":run --input a=[1] --input b=[200]"},
      {"nms of -5 boxes",
       OnnxModel()
           .input("b", kFloat, {"1", "n", "4"})
           .input("s", kFloat, {"1", "1", "n"})
           .scalar("m", -5)
           .output("y")
           .node("NonMaxSuppression", {"b", "s", "m"}, {"y"})
           .bytes(),
       "", ":run --dim n=3"},
      {"nms of scores that are not numbers",
       OnnxModel()
           .input("b", kFloat, {"1", "n", "4"})
           .input("z", kFloat, {"1", "1", "n"})
           .scalar("m", 100)
           .output("y")
           .node("Div", {"z", "z"}, {"s"})
           .node("NonMaxSuppression", {"b", "s", "m"}, {"y"})
           .bytes(),
       "", ":run --dim n=300 --input z=zeros"},
      {"sequence at 9",
       over()
           .scalar("i", 9)
           .node("SequenceConstruct", {"x"}, {"q"})
           .node("SequenceAt", {"q", "i"}, {"y"})
           .bytes(),
       "E"},
      {"quantization by 0",
       over().weight(floatTensor("k", {}, {0})).node("QuantizeLinear", {"x", "k"}, {"y"}).bytes(), "E0302",
       ":run --dim n=3"},
  };
}

// One element each, of which the last is the result.
std::string pieces(int count) {
  const std::string size = std::to_string(count), last = "p" + std::to_string(count - 1);
  Msg split;
  split.sub(1, "x").sub(1, "sizes");
  for (int i = 0; i < count; ++i) split.sub(2, "p" + std::to_string(i));
  OnnxModel model;
  model.input("x", kFloat, {size.c_str()}).ints("sizes", std::vector<int64_t>(static_cast<size_t>(count), 1));
  model.graph.sub(1, split.sub(4, "Split"));
  model.node("Neg", {last.c_str()}, {"y"}).output("y");
  return model.bytes();
}

// One operation on so many operands.
std::string joined(std::string_view op, int count) {
  OnnxModel wide = over({"n", "2"});
  Msg join = Msg().sub(4, op).sub(2, "y");
  if (op == "Concat") join.sub(5, attribute("axis", int64_t{1}));
  for (int i = 0; i < count; ++i) join.sub(1, "x");
  wide.graph.sub(1, join);
  return wide.bytes();
}

std::vector<Row> structures() {
  auto twice = over().node("Neg", {"x"}, {"y"}).node("Abs", {"x"}, {"y"});
  Msg noGraph = Msg().num(1, 8).sub(8, Msg().num(2, 17));
  auto body = [](const char* condition, const char* value) {
    Msg graph = Msg().sub(2, "b");
    graph.sub(1, onnx::test::node("Identity", {condition}, {"go"}))
        .sub(1, onnx::test::node("Neg", {value}, {"v"}));
    return graph.sub(11, onnx::test::valueInfo("i", onnx::test::tensorType(kInt64, {})))
        .sub(11, onnx::test::valueInfo("c", onnx::test::tensorType(kBool, {})))
        .sub(11, onnx::test::valueInfo("a", onnx::test::tensorType(kFloat, {"n", "4"})))
        .sub(12, onnx::test::valueInfo("go", Msg()))
        .sub(12, onnx::test::valueInfo("v", Msg()));
  };
  Msg infinite = Msg()
                     .sub(1, "F")
                     .sub(10, "own")
                     .sub(4, "a")
                     .sub(5, "b")
                     .sub(7, onnx::test::node("F", {"a"}, {"b"}).sub(7, "own"))
                     .sub(9, Msg().sub(1, "own").num(2, 1));
  Msg recursive = Msg().num(1, 8).sub(8, Msg().num(2, 17)).sub(8, Msg().sub(1, "own").num(2, 1));
  OnnxModel calls = over();
  calls.graph.sub(1, onnx::test::node("F", {"x"}, {"y"}).sub(7, "own"));
  recursive.sub(7, calls.graph).sub(25, infinite);
  return {
      {"a concatenation of 200", joined("Concat", 200), ""},
      {"a concatenation of 100,000", joined("Concat", 100'000), ""},
      {"a sum of 10,000", joined("Sum", 10'000), ""},
      {"a split into 20,000", pieces(20'000), ""},
      {"a maximum of 10,000", joined("Max", 10'000), ""},
      {"no graph", noGraph.bytes, "E"},
      {"an empty graph", OnnxModel().bytes(), "?"},
      {"an empty file", "", "?"},
      {"nodes in a cycle", over().node("Add", {"x", "b"}, {"y"}).node("Neg", {"y"}, {"b"}).bytes(), "E"},
      {"a node that feeds itself", over().node("Add", {"x", "y"}, {"y"}).bytes(), "E"},
      {"a value made twice", twice.bytes(), "E"},
      {"an input twice", over().input("x", kFloat, {"n"}).node("Neg", {"x"}, {"y"}).bytes(), "E"},
      {"an output twice", over().output("y").node("Neg", {"x"}, {"y"}).bytes(), "?"},
      {"a weight twice", over().floats("w", {1}).floats("w", {2}).node("Add", {"x", "w"}, {"y"}).bytes(),
       "E"},
      {"an output that nobody makes", over().node("Neg", {"x"}, {"z"}).bytes(), "E"},
      {"an operand that nobody makes", over().node("Neg", {"q"}, {"y"}).bytes(), "E"},
      {"an operand left out", over().node("Neg", {""}, {"y"}).bytes(), "E"},
      {"too few operands", over().node("Add", {"x"}, {"y"}).bytes(), "E"},
      {"too many operands", over().node("Neg", {"x", "x", "x"}, {"y"}).bytes(), "E"},
      {"too many results", over().node("Neg", {"x"}, {"y", "z"}).bytes(), "E"},
      {"an input without type", OnnxModel().node("Neg", {"x"}, {"y"}).output("y").bytes(), "E"},
      {"an operator that is none", over().node("Nonsense", {"x"}, {"y"}).bytes(), "E0500"},
      {"opset -1", over().node("Neg", {"x"}, {"y"}).bytes(-1), "E"},
      {"opset 2^62", over().node("Neg", {"x"}, {"y"}).bytes(kHuge), "E"},
      {"a function that calls itself", recursive.bytes, "E"},
      {"an if without branches", over().input("c", kBool, {}).node("If", {"c"}, {"y"}).bytes(), "E"},
      {"an if on three conditions",
       over()
           .input("c", kBool, {"3"})
           .node("If", {"c"}, {"y"},
                 {graphAttribute("then_branch", Msg()
                                                    .sub(1, onnx::test::node("Neg", {"x"}, {"t"}))
                                                    .sub(12, onnx::test::valueInfo("t", Msg()))),
                  graphAttribute("else_branch", Msg()
                                                    .sub(1, onnx::test::node("Abs", {"x"}, {"e"}))
                                                    .sub(12, onnx::test::valueInfo("e", Msg())))})
           .bytes(),
       "E"},
      {"a loop without body", over().node("Loop", {"", "", "x"}, {"y"}).bytes(), "E"},
      {"a loop whose body takes too little",
       over()
           .node("Loop", {"", "", "x"}, {"y"},
                 {graphAttribute("body", Msg()
                                             .sub(1, onnx::test::node("Neg", {"x"}, {"t"}))
                                             .sub(12, onnx::test::valueInfo("t", Msg())))})
           .bytes(),
       "E"},
      {"a loop of -2^63 iterations",
       over()
           .scalar("m", INT64_MIN)
           .node("Loop", {"m", "", "x"}, {"y"}, {graphAttribute("body", body("c", "a"))})
           .bytes(),
       ""},
      {"a scan over 2^31 inputs",
       over()
           .node("Scan", {"x"}, {"y"},
                 {attribute("num_scan_inputs", int64_t{1} << 31), graphAttribute("body", body("c", "a"))})
           .bytes(),
       "E"},
      {"a sparse weight with an index beyond it",
       over({"n"}).weight(Msg()).node("Add", {"x", "w"}, {"y"}).bytes(), "E"},
  };
}

// What has no room in the VM is unsupported, with the limit; what has is right, however odd.
std::vector<Row> limits() {
  auto unsqueezed = [](int64_t count) {
    std::vector<int64_t> axes;
    for (int64_t axis = 1; axis <= count; ++axis) axes.push_back(axis);
    return over({"n"}).ints("a", axes);
  };
  OnnxModel manyAxes = unsqueezed(1000);
  manyAxes.node("Unsqueeze", {"x", "a"}, {"u"}).node("Unsqueeze", {"u", "a"}, {"y"});
  OnnxModel product = OnnxModel().input("p", kInt64, {}).output("y").ints("one", {1});
  product.node("Mul", {"p", "p"}, {"n"})
      .node("Reshape", {"n", "one"}, {"s"})
      .node("ConstantOfShape", {"s"}, {"x"})
      .node("Reshape", {"p", "one"}, {"q"})
      .node("Concat", {"q", "q"}, {"t"}, {attribute("axis", int64_t{0})})
      .node("Reshape", {"x", "t"}, {"y"});
  auto branch = [](const char* op, const char* a, const char* b) {
    return Msg()
        .sub(1, onnx::test::node(op, {"x"}, {a}))
        .sub(1, onnx::test::node(op, {"x"}, {b}))
        .sub(2, "b")
        .sub(12, onnx::test::valueInfo(a, Msg()))
        .sub(12, onnx::test::valueInfo(b, Msg()));
  };
  OnnxModel twice = over({"n"}).input("c", kBool, {}).output("z");
  twice.node("If", {"c"}, {"y", "z"},
             {graphAttribute("then_branch", branch("Neg", "t", "u")),
              graphAttribute("else_branch", branch("Abs", "v", "w"))});
  const std::vector<int64_t> far(4, int64_t{1} << 20);
  OnnxModel dilated =
      over({"1", "3", "n", "5"}).weight(floatTensor("w", {3, 1, 3, 3}, std::vector<float>(27, 1.0f)));
  dilated.node("Conv", {"x", "w"}, {"y"},
               {attribute("group", int64_t{3}), attribute("dilations", {far[0], far[0]}),
                attribute("pads", {far[0], far[0], far[0], far[0]})});
  return {
      {"40 axes", unsqueezed(39).node("Unsqueeze", {"x", "a"}, {"y"}).bytes(), "E0502"},
      {"2001 axes", manyAxes.bytes(), "E0502"},
      {"a weight of 33 axes",
       over()
           .weight(floatTensor("w", std::vector<int64_t>(33, 1), {2.0f}))
           .node("Add", {"x", "w"}, {"y"})
           .bytes(),
       "E0502"},
      {"a size that is a product of values", product.bytes(), "", ":run --input p=3"},
      {"two results that are one expression", twice.bytes(), "", ":run --dim n=3 --input c=true"},
      {"a depthwise window that reaches into padding only", dilated.bytes(), ""},
  };
}

// Real attributes beside integers, where the standard has real numbers only: refused, never a number that the
// type does not have.
std::vector<Row> fractionsOfIntegers() {
  const auto integers = [](std::initializer_list<const char*> dims) {
    return OnnxModel().input("x", kInt32, dims).output("y");
  };
  OnnxModel clip = integers({"n"}), pad = integers({"n"}), norm = integers({"n", "2", "3"}),
            global = integers({"n", "2", "3"}), pool = integers({"n", "2", "3"}),
            training = integers({"n", "2", "3"});
  clip.node("Clip", {"x"}, {"y"}, {attribute("min", 1.5f)});
  pad.node("Pad", {"x"}, {"y"}, {attribute("pads", {1, 1}), attribute("value", 0.5f)});
  global.node("GlobalLpPool", {"x"}, {"y"}, {attribute("p", int64_t{3})});
  pool.node("LpPool", {"x"}, {"y"}, {attribute("kernel_shape", {2}), attribute("p", 1.5f)});
  for (OnnxModel* m : {&norm, &training})
    for (const char* name : {"s", "b", "m", "v"}) m->input(name, kInt32, {"2"});
  norm.node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y"}, {attribute("spatial", int64_t{0})});
  training.node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y", "mean"},
                {attribute("training_mode", int64_t{1})});
  OnnxModel loss = OnnxModel().input("x", kFloat, {"n", "4"}).input("t", kInt32, {"n"}).output("y");
  loss.node("NegativeLogLikelihoodLoss", {"x", "t"}, {"y"}, {attribute("ignore_index", kHuge)});
  return {
      {"a class to be left out that the type of classes does not have", loss.bytes(13), ""},
      {"Clip from 1.5", clip.bytes(7), "E"},
      {"Pad with 0.5", pad.bytes(7), "E"},
      {"GlobalLpPool of order 3", global.bytes(13), "E"},
      {"LpPool of order 1.5", pool.bytes(1), "E"},
      {"BatchNormalization of each element", norm.bytes(7), "E"},
      {"BatchNormalization that learns", training.bytes(15), "E"},
  };
}

std::string loadAndRun(const Row& row) {
  Shell shell;
  const auto loaded = shell.load("m.onnx", row.bytes);
  if (!loaded->ok()) return said(*loaded);
  std::string run = row.run;
  if (run.empty()) {
    run = ":run";
    for (const std::string& symbol : loaded->as<ModelInfo>()->symbols) run += " --dim " + symbol + "=3";
  }
  return said(*shell.line(run));
}

void check(const std::vector<Row>& rows) {
  const std::vector<CaseOutcome> outcomes =
      runApart(rows.size(), [&](size_t i) { return loadAndRun(rows[i]); });
  for (size_t i = 0; i < rows.size(); ++i) {
    const CaseOutcome& outcome = outcomes[i];
    SCOPED_TRACE(std::string(rows[i].name) + ": " + outcome.text);
    EXPECT_EQ(outcome.fault(), "");
    EXPECT_NE(outcome.text.substr(0, 6), "DEFECT");
    EXPECT_NE(outcome.text.substr(0, 5), "E0005") << "the table's own command is wrong";
    const std::string expected = rows[i].says;
    if (expected != "?") {
      EXPECT_EQ(outcome.text.substr(0, expected.empty() ? outcome.text.size() : expected.size()), expected);
    }
    if (!kMeasures) continue;
    EXPECT_LE(outcome.cpuNs, 1'000'000'000) << "CPU time";
    EXPECT_LE(outcome.grownBytes, static_cast<int64_t>(256 * kMegabyte));
  }
}

TEST(HostileModels, sizes) { check(sizes()); }
TEST(HostileModels, attributes) { check(attributes()); }
TEST(HostileModels, structures) { check(structures()); }
TEST(HostileModels, limits) { check(limits()); }
TEST(HostileModels, fractionsOfIntegers) { check(fractionsOfIntegers()); }

}  // namespace
}  // namespace dyn::robustness
