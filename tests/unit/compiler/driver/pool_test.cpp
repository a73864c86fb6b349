// Pools of rows that are wide enough for whole vectors (builtin `pool`), against the reference.
#include <array>
#include <limits>

#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

std::string poolOf(const std::string& name, const std::string& attributes) {
  return "fn @main(%x: Tensor[(n, 2, h, w), f32]) { %y = " + name + "(%x) {" + attributes + "} return %y }";
}

TEST(Pool, WideRows) {
  const std::string windows[] = {
      "kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]",
      "kernel_shape = [3, 3], pads = [1, 1, 1, 1]",
      "kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1",
      "kernel_shape = [1, 5], pads = [0, 4, 0, 1], dilations = [1, 2]",
      "kernel_shape = [5, 3], strides = [3, 3], dilations = [2, 1], pads = [2, 0, 3, 2], ceil_mode = 1",
      "kernel_shape = [3, 4], auto_pad = \"SAME_LOWER\", strides = [1, 2]",
  };
  std::vector<std::vector<HostTensor>> sets;
  for (auto [n, h, w] :
       std::vector<std::array<int64_t, 3>>{{1, 9, 16}, {2, 11, 37}, {1, 17, 131}, {0, 9, 20}, {1, 12, 7}})
    sets.push_back({test::randomTensor(Dtype::f32, {n, 2, h, w}, 1)});
  for (const std::string& window : windows) {
    test::expectSame(poolOf("max_pool", window), sets);
    for (const char* pads : {", count_include_pad = 0", ", count_include_pad = 1"})
      test::expectSame(poolOf("average_pool", window + pads), sets);
  }
}

// Row after row, slice after slice, image after image; windows of 2 and 3 taps have forms of their own.
TEST(Pool, RowsOfVolumes) {
  std::vector<std::vector<HostTensor>> sets;
  for (auto [n, d, h, w] :
       std::vector<std::array<int64_t, 4>>{{2, 5, 6, 16}, {1, 4, 7, 37}, {3, 6, 4, 67}, {0, 4, 4, 20}})
    sets.push_back({test::randomTensor(Dtype::f32, {n, 3, d, h, w}, 1)});
  for (const char* kernel : {"[2, 2, 2]", "[3, 3, 3]", "[1, 2, 3]", "[3, 1, 4]"})
    for (const char* strides : {"[1, 1, 1]", "[2, 1, 2]", "[1, 2, 3]"})
      for (const char* name : {"max_pool", "average_pool"})
        test::expectSame("fn @main(%x: Tensor[(n, 3, d, h, w), f32]) { %y = " + std::string(name) +
                             "(%x) {kernel_shape = " + kernel + ", strides = " + strides +
                             ", pads = [0, 1, 1, 1, 0, 0]} return %y }",
                         sets);
}

// Rows that are gathered: no window reads an index that is none, before the first or behind the last.
TEST(Pool, OfGatheredRows) {
  std::vector<std::vector<HostTensor>> sets;
  for (int64_t count : {1, 4, 67})
    sets.push_back(
        {test::randomTensor(Dtype::f32, {1, 3, 5}, 1), test::randomTensor(Dtype::i64, {count}, 2)});
  for (const char* pool : {"max_pool", "average_pool", "lp_pool"})
    for (const char* pads : {"[1, 1]", "[0, 2]"})
      test::expectSame(
          "fn @main(%x: Tensor[(1, 3, n), f32], %at: Tensor[(k), i64]) { %g = gather(%x, %at) {axis "
          "= 2} %y = " +
              std::string(pool) + "(relu(%g)) {kernel_shape = [3], strides = [1], pads = " + pads +
              "} return %y }",
          sets);
}

// So many planes of small images that they stand side by side in vectors, and some more.
TEST(Pool, ManySmallPlanes) {
  const std::string windows[] = {
      "kernel_shape = [3, 3], pads = [1, 1, 1, 1]",
      "kernel_shape = [3, 3], pads = [1, 1, 0, 2], strides = [2, 2], ceil_mode = 1",
      "kernel_shape = [7, 7], pads = [3, 3, 3, 3]",
      "kernel_shape = [2, 3], pads = [1, 2, 1, 2], dilations = [2, 2]",
  };
  std::vector<std::vector<HostTensor>> sets;
  for (auto [n, c, h, w] : std::vector<std::array<int64_t, 4>>{
           {1, 35, 7, 7}, {2, 16, 14, 14}, {1, 40, 5, 1}, {3, 7, 6, 9}, {1, 17, 60, 33}, {1, 32, 13, 63}}) {
    HostTensor x = test::randomTensor(Dtype::f32, {n, c, h, w}, 1);
    x.setReal(3, std::numeric_limits<double>::quiet_NaN());
    sets.push_back({x});
  }
  for (const std::string& window : windows)
    for (const char* name : {"max_pool", "average_pool"}) {
      const std::string text = "fn @main(%x: Tensor[(n, c, h, w), f32]) { %y = " + std::string(name) +
                               "(%x) {" + window + "} return %y }";
      test::expectSame(text, sets);
    }
}

TEST(Pool, ChannelsLast) {
  const std::string windows[] = {
      "kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]",
      "kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1",
      "kernel_shape = [5, 3], strides = [3, 1], dilations = [2, 1], pads = [2, 0, 3, 2]",
      "kernel_shape = [3, 4], auto_pad = \"SAME_LOWER\", strides = [1, 2]",
  };
  for (const auto& [type, dtype] : {std::pair{"f32", Dtype::f32}, {"f64", Dtype::f64}}) {
    std::vector<std::vector<HostTensor>> sets;
    for (auto [n, h, w, c] : std::vector<std::array<int64_t, 4>>{
             {1, 9, 16, 1}, {2, 11, 7, 35}, {0, 9, 20, 3}, {1, 12, 5, 8}, {1, 9, 9, 0}}) {
      sets.push_back({test::randomTensor(dtype, {n, h, w, c}, 1)});
      if (sets.back()[0].elementCount() > 3)
        sets.back()[0].setReal(3, std::numeric_limits<double>::quiet_NaN());
    }
    for (const std::string& window : windows)
      for (const char* name : {"max_pool", "average_pool"})
        test::expectSame("fn @main(%x: Tensor[(n, h, w, c), " + std::string(type) + "]) { %y = " + name +
                             "(%x) {layout = \"channels_last\", " + window + "} return %y }",
                         sets);
  }
}

TEST(Pool, KeepsWhatIsNoNumber) {
  HostTensor x = test::randomTensor(Dtype::f32, {1, 2, 8, 48}, 1);
  for (int64_t at : {0, 47, 100, 333, 767}) x.setReal(at, std::numeric_limits<double>::quiet_NaN());
  x.setReal(200, -std::numeric_limits<double>::infinity());
  test::expectSame(poolOf("max_pool", "kernel_shape = [3, 3], strides = [2, 2]"), {{x}});
  test::expectSame(poolOf("average_pool", "kernel_shape = [3, 3], pads = [1, 1, 1, 1]"), {{x}});
}

}  // namespace
}  // namespace dyn
