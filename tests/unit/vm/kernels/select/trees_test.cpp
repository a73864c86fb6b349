// walk_trees beside a plain walk of each row and tree.
#include <cmath>
#include <limits>

#include "tests/unit/vm/kernels/builtin_harness.h"
#include "vm/shared/dyn_builtin_calls.h"

namespace dyn::vm::test {
namespace {

using calls::WalkTrees;

// Trees that grow at their deepest leaf more often than elsewhere.
template <typename T>
struct Trees {
  std::vector<T> splits;
  std::vector<int32_t> links, starts;
  int32_t leaves = 0;

  void add(std::mt19937& random, int64_t inner, int64_t features) {
    if (inner == 0) return starts.push_back(-1 - leaves++);
    starts.push_back(static_cast<int32_t>(splits.size()));
    std::vector<size_t> open;  // links that lead nowhere yet
    for (int64_t i = 0; i < inner; ++i) {
      const auto node = static_cast<int32_t>(splits.size());
      if (i > 0) {
        const size_t way = random() % 3 == 0 ? random() % open.size() : open.size() - 1;
        links[open[way]] = node;
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(way));
      }
      splits.push_back(static_cast<T>(static_cast<int>(random() % 7) - 3) / 2);
      links.insert(links.end(), {static_cast<int32_t>(random() % static_cast<uint64_t>(features)), 0, 0,
                                 static_cast<int32_t>(random() % 2)});
      open.push_back(links.size() - 3);
      open.push_back(links.size() - 2);
    }
    for (size_t way : open) links[way] = -1 - leaves++;
  }
};

template <typename T>
int32_t walked(const Trees<T>& trees, const T* row, int32_t place, int64_t steps) {
  for (; place >= 0 && steps > 0; --steps) {
    const int32_t* link = trees.links.data() + 4 * place;
    const T value = row[link[0]];
    const bool holds = std::isnan(value) ? link[3] != 0 : value <= trees.splits[static_cast<size_t>(place)];
    place = holds ? link[1] : link[2];
  }
  return place;
}

class WalkTreesTest : public BuiltinTest {
 protected:
  static Options walking(int32_t steps) {
    WalkTrees::Numbers<calls::Owned> numbers;
    numbers.steps = steps;
    return {.numbers = calls::writeNumbers<WalkTrees>(numbers)};
  }
  template <typename T>
  void compare(DataType dtype, int64_t rows, int64_t count, int64_t inner, int64_t features, int32_t steps,
               bool eachRow) {
    Trees<T> trees;
    for (int64_t i = 0; i < count; ++i) trees.add(random_, i % 5 == 4 ? 0 : inner, features);
    if (trees.splits.empty()) trees.add(random_, 1, features), trees.starts.pop_back();
    std::vector<T> x(static_cast<size_t>(rows * features));
    constexpr T kValues[] = {
        -1, 0, -0.0, 0.5, 1.5, 9, std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN()};
    for (T& value : x) value = kValues[random_() % std::size(kValues)];
    std::vector<int32_t> places = trees.starts, expected;
    for (int64_t row = 1; row < rows && eachRow; ++row)
      places.insert(places.end(), trees.starts.begin(), trees.starts.end());
    for (int64_t row = 0; row < rows; ++row)
      for (int32_t start : trees.starts)
        expected.push_back(walked(trees, x.data() + row * features, start, steps));
    const auto nodes = static_cast<int64_t>(trees.splits.size());
    const std::vector<int64_t> shape =
        eachRow ? std::vector<int64_t>{rows, count} : std::vector<int64_t>{count};
    if (eachRow && rows == 0) places.clear();
    const std::vector<Object*> arguments = {
        tensor(dtype, {rows, features}, x), tensor(dtype, {nodes}, trees.splits),
        tensor(DataType::i32, {nodes, 4}, trees.links), tensor(DataType::i32, shape, places)};
    for (ThreadPool* threads : pools_) {
      threads_ = threads;
      Tensor* reached = output({rows, count}, DataType::i32);
      const Status status = call("walk_trees", arguments, walking(steps), {reached});
      ASSERT_TRUE(status.ok()) << status.toString();
      ASSERT_EQ(data<int32_t>(reached), expected)
          << rows << " rows, " << count << " trees of " << inner << ", " << steps << " steps";
    }
  }
};

TEST_F(WalkTreesTest, ReachesWhatAPlainWalkReaches) {
  for (int64_t rows : {0, 1, 3, 16, 17, 300})
    for (int64_t count : {1, 2, 15, 40, 300})
      for (int64_t inner : {1, 7, 60}) {
        compare<float>(DataType::f32, rows, count, inner, 5, 100, false);
        compare<double>(DataType::f64, rows, count, inner, 1, 100, rows % 2 == 1);
      }
}

TEST_F(WalkTreesTest, StopsAfterTheStepsThatItIsGiven) {
  for (int32_t steps : {0, 1, 3}) {
    compare<float>(DataType::f32, 20, 30, 50, 4, steps, false);
    compare<float>(DataType::f32, 20, 30, 50, 4, steps, true);
  }
}

TEST_F(WalkTreesTest, TreesThatFillTheCacheAreFewAtATime) {
  compare<float>(DataType::f32, 40, 3, 20000, 6, 20001, false);
}

TEST_F(WalkTreesTest, ReadsNothingThatIsNotThere) {
  Tensor *x = tensor<float>(DataType::f32, {1, 2}, {0, 0}), *splits = tensor<float>(DataType::f32, {1}, {0});
  const auto says = [&](std::vector<int32_t> links, int32_t start) {
    return call("walk_trees",
                {x, splits, tensor(DataType::i32, {1, 4}, links),
                 tensor<int32_t>(DataType::i32, {1}, {start})},
                walking(3), {output({1, 1}, DataType::i32)})
        .message;
  };
  EXPECT_EQ(says({1, -1, -2, 0}, 0), "");
  EXPECT_EQ(says({2, -1, -2, 0}, 0), "a node asks for a feature that is not there: rows have 2");
  EXPECT_EQ(says({-1, -1, -2, 0}, 0), "a node asks for a feature that is not there: rows have 2");
  EXPECT_EQ(says({1, 1, -2, 0}, 0), "a branch leads to a node that is not there: there are 1");
  EXPECT_EQ(says({1, -1, -2, 0}, 1), "a branch leads to a node that is not there: there are 1");
  EXPECT_EQ(says({0, 0, 0, 0}, 0), "");  // a circle ends after its steps
}

}  // namespace
}  // namespace dyn::vm::test
