// Pools of rows that are wide enough for whole vectors (builtin `pool`), against the reference.
#include <array>
#include <limits>

#include "tests/unit/driver/run_both.h"

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

TEST(Pool, KeepsWhatIsNoNumber) {
  HostTensor x = test::randomTensor(Dtype::f32, {1, 2, 8, 48}, 1);
  for (int64_t at : {0, 47, 100, 333, 767}) x.setReal(at, std::numeric_limits<double>::quiet_NaN());
  x.setReal(200, -std::numeric_limits<double>::infinity());
  test::expectSame(poolOf("max_pool", "kernel_shape = [3, 3], strides = [2, 2]"), {{x}});
  test::expectSame(poolOf("average_pool", "kernel_shape = [3, 3], pads = [1, 1, 1, 1]"), {{x}});
}

}  // namespace
}  // namespace dyn
