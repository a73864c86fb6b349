// Rows of few elements that lie behind each other are walked as one run (compiler/kernel/nest_runs.h): what
// is padded, joined or cut along an axis before the last, against the reference, for this host's vectors and
// for those of AVX2.
#include <algorithm>

#include "tests/unit/compiler/driver/machines_here.h"

namespace dyn {
namespace {

using test::expectSameOnMachines;
using test::withType;

constexpr const char* kPadModes[] = {"constant", "edge", "reflect", "wrap"};

HostTensor padsOfRun(const std::vector<int64_t>& elements) {
  return HostTensor::vectorInt(Dtype::i64, elements);
}

// Pads that the program knows.
std::string padding(const std::string& shape, const std::string& pads, const std::string& mode) {
  const auto count = std::to_string(1 + std::count(pads.begin(), pads.end(), ','));
  return "fn @main(%x: Tensor[(" + shape + "), TYPE]) { %p = constant() {value = i64[" + count + "] [" +
         pads + "]} %y = pad(%x, %p) {mode = \"" + mode + "\"} return %y }";
}

TEST(Runs, PaddedImagesWithTheChannelsLast) {
  for (const auto& [name, dtype] : {std::pair("f32", Dtype::f32), std::pair("u8", Dtype::u8),
                                    std::pair("f16", Dtype::f16), std::pair("f64", Dtype::f64)})
    for (const char* mode : kPadModes)
      for (const int64_t channels : {1, 2, 3, 4, 5, 31}) {
        std::vector<std::vector<HostTensor>> inputs;
        for (const int64_t width : {1, 2, 3, 5, 17, 67})
          for (const int64_t height : {1, 3})
            inputs.push_back({test::randomTensor(dtype, {2, height, width, channels}, 1)});
        const std::string last = std::to_string(channels);
        expectSameOnMachines(withType(padding("n, h, w, " + last, "0, 1, 2, 0, 0, 1, 3, 0", mode), name),
                             inputs);
        expectSameOnMachines(withType(padding("n, h, w, c", "0, 0, 2, 0, 0, 0, 0, 0", mode), name), inputs);
        if (HasFatalFailure()) return;
      }
}

// Pads longer than the axis, pads that cut, and an axis that is cut and padded.
TEST(Runs, PadsOfAllSigns) {
  for (const char* mode : kPadModes)
    for (const char* pads :
         {"0, 9, 0, 0, 7, 0", "0, -1, 0, 0, -2, 0", "0, -2, 0, 0, 3, 0", "0, 0, 0, 0, -3, 0"})
      for (const char* shape : {"n, w, 3", "n, w, c"}) {
        std::vector<std::vector<HostTensor>> inputs;
        for (const int64_t width : {4, 5, 7, 33})
          inputs.push_back({test::randomTensor(Dtype::f32, {2, width, 3}, 2)});
        expectSameOnMachines(withType(padding(shape, pads, mode), "f32"), inputs);
        if (HasFatalFailure()) return;
      }
}

// As inputs: where segments begin is known when it runs.
TEST(Runs, PadsOfTheRun) {
  for (const char* mode : kPadModes)
    for (const char* shape : {"n, w, 3", "n, w, c"}) {
      std::vector<std::vector<HostTensor>> inputs;
      for (const int64_t before : {0, 1, 4})
        for (const int64_t behind : {0, 2})
          for (const int64_t width : {2, 5, 70})
            inputs.push_back(
                {test::randomTensor(Dtype::f32, {2, width, 3}, 3), padsOfRun({0, before, 0, 0, behind, 0})});
      expectSameOnMachines("fn @main(%x: Tensor[(" + std::string(shape) +
                               "), f32], %p: Tensor[(6), i64]) { %y = pad(%x, %p) {mode = \"" + mode +
                               "\"} return %y }",
                           inputs);
      if (HasFatalFailure()) return;
    }
}

// Blocks of rows: segments that begin, end or are missing in a block, and nothing at all.
TEST(Runs, BlocksOfRows) {
  for (const char* mode : kPadModes)
    for (const auto& [shape, pads] : {std::pair("w, 3", "5, 0, 6, 0"), std::pair("w, c", "5, 0, 6, 0"),
                                      std::pair("n, w, c", "0, 5, 0, 0, 70, 0")}) {
      const bool isPlane = std::string(shape).size() == 4;
      std::vector<std::vector<HostTensor>> inputs;
      for (const int64_t width : {1, 53, 58, 59, 64, 127, 200, 1365, 2731})
        inputs.push_back({isPlane ? test::randomTensor(Dtype::f32, {width, 3}, 4)
                                  : test::randomTensor(Dtype::f32, {2, width, 3}, 4)});
      if (std::string(mode) == "constant")
        inputs.push_back({isPlane ? test::randomTensor(Dtype::f32, {0, 3}, 4)
                                  : test::randomTensor(Dtype::f32, {2, 7, 0}, 4)});
      expectSameOnMachines(withType(padding(shape, pads, mode), "f32"), inputs);
      if (HasFatalFailure()) return;
    }
}

TEST(Runs, JoinedAndCut) {
  for (const char* last : {"3", "c"}) {
    std::vector<std::vector<HostTensor>> pairs, planes;
    for (const int64_t a : {0, 1, 7, 65, 1400})
      for (const int64_t b : {0, 1, 66})
        pairs.push_back(
            {test::randomTensor(Dtype::f32, {2, a, 3}, 5), test::randomTensor(Dtype::f32, {2, b, 3}, 6)});
    for (const int64_t a : {5, 6, 70, 1400}) planes.push_back({test::randomTensor(Dtype::f32, {2, a, 3}, 7)});
    const std::string x = "%x: Tensor[(n, a, " + std::string(last) + "), f32]";
    expectSameOnMachines("fn @main(" + x + ", %z: Tensor[(n, b, " + last +
                             "), f32]) { %y = concat(%x, %z) {axis = 1} %r = relu(%y) return %r }",
                         pairs);
    // Beside a sum with one number a row, which is no run.
    expectSameOnMachines("fn @main(" + x + ", %z: Tensor[(n, b, " + last +
                             "), f32], %s: Tensor[(n, 1, 1), f32]) { %y = concat(%x, %z) {axis = 1} %r = "
                             "mul(%y, %s) return %r }",
                         [&] {
                           std::vector<std::vector<HostTensor>> more = pairs;
                           for (auto& list : more)
                             list.push_back(test::randomTensor(Dtype::f32, {2, 1, 1}, 8));
                           return more;
                         }());
    expectSameOnMachines(
        "fn @main(" + x +
            ") { %b = constant() {value = i64[1] [2]} %e = constant() {value = i64[1] [-1]} %k = "
            "constant() {value = i64[1] [1]} %y = slice(%x, %b, %e, %k) %r = relu(%y) return %r }",
        planes);
    if (HasFatalFailure()) return;
  }
}

// Axis after axis joins the rows behind it, up to one where parts differ.
TEST(Runs, SeveralAxes) {
  std::vector<std::vector<HostTensor>> images, pairs;
  for (const int64_t n : {1, 4})
    for (const int64_t height : {3, 5, 18})
      for (const int64_t width : {3, 4, 470}) {
        images.push_back({test::randomTensor(Dtype::f32, {n, height, width, 3}, 12)});
        pairs.push_back({test::randomTensor(Dtype::f32, {n, height, width, 3}, 13),
                         test::randomTensor(Dtype::f32, {n + 1, height, width, 3}, 14)});
      }
  for (const char* last : {"3", "c"}) {
    const std::string shape = "n, h, w, " + std::string(last);
    for (const char* axis : {"0", "1", "2"})
      for (const auto& [begin, end] : {std::pair("0", "-1"), std::pair("1", "99"), std::pair("2", "-1")})
        expectSameOnMachines(
            "fn @main(%x: Tensor[(" + shape + "), f32]) { %b = constant() {value = i64[1] [" + begin +
                "]} %e = constant() {value = i64[1] [" + end + "]} %a = constant() {value = i64[1] [" + axis +
                "]} %y = slice(%x, %b, %e, %a) %r = relu(%y) return %r }",
            images);
    expectSameOnMachines("fn @main(%x: Tensor[(" + shape + "), f32], %z: Tensor[(m, h, w, " + last +
                             "), f32]) { %y = concat(%x, %z, %x) {axis = 0} return %y }",
                         pairs);
    if (HasFatalFailure()) return;
  }
}

// What is read across, or by the channel, is no run.
TEST(Runs, OtherReadsBeside) {
  std::vector<std::vector<HostTensor>> inputs;
  for (const int64_t width : {3, 17, 67})
    inputs.push_back({test::randomTensor(Dtype::f32, {2, width, 3}, 9),
                      test::randomTensor(Dtype::f32, {3}, 10),
                      test::randomTensor(Dtype::f32, {2, 3, width}, 11)});
  const std::string head =
      "fn @main(%x: Tensor[(n, w, 3), f32], %s: Tensor[(3), f32], %t: Tensor[(n, 3, w), f32]) { %p = "
      "constant() "
      "{value = i64[6] [0, 2, 0, 0, 1, 0]} ";
  expectSameOnMachines(head + "%y = pad(%x, %p) %r = mul(%y, %s) return %r }", inputs);
  expectSameOnMachines(head + "%z = transpose(%t) {perm = [0, 2, 1]} %y = pad(%z, %p) return %y }", inputs);
  expectSameOnMachines(head +
                           "%z = transpose(%t) {perm = [0, 2, 1]} %a = add(%z, %x) %y = pad(%a, %p) {mode = "
                           "\"edge\"} return %y }",
                       inputs);
}

}  // namespace
}  // namespace dyn
