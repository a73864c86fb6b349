// unique: values by hand, and few or many of them beside an ordered map.
#include <gmock/gmock.h>

#include <map>
#include <vector>

#include "tests/unit/vm/kernels/builtin_harness.h"

namespace dyn::vm::test {
namespace {

using testing::ElementsAre;

TEST_F(BuiltinTest, unique) {
  Tensor* x = tensor<float>(DataType::f32, {6}, {2, 1, 1, 3, 4, 3});
  ASSERT_TRUE(call("unique", {x}, {.numbers = {-128, 1}, .results = 4}).ok());
  EXPECT_THAT(data<float>(result(0)), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(data<int64_t>(result(1)), ElementsAre(1, 0, 3, 4));
  EXPECT_THAT(data<int64_t>(result(2)), ElementsAre(1, 0, 0, 2, 3, 2));
  EXPECT_THAT(data<int64_t>(result(3)), ElementsAre(2, 1, 2, 1));
  ASSERT_TRUE(call("unique", {x}, {.numbers = {-128, 0}, .results = 4}).ok());
  EXPECT_THAT(data<float>(result(0)), ElementsAre(2, 1, 3, 4));
  EXPECT_THAT(data<int64_t>(result(1)), ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(data<int64_t>(result(2)), ElementsAre(0, 1, 1, 2, 3, 2));
  Tensor* rows = tensor<int64_t>(DataType::i64, {3, 3}, {1, 0, 0, 1, 0, 0, 2, 3, 4});
  ASSERT_TRUE(call("unique", {rows}, {.numbers = {0, 1}, .results = 4}).ok());
  EXPECT_THAT(shape(result(0)), ElementsAre(2, 3));
  EXPECT_THAT(data<int64_t>(result(0)), ElementsAre(1, 0, 0, 2, 3, 4));
  EXPECT_THAT(data<int64_t>(result(2)), ElementsAre(0, 0, 1));
  ASSERT_TRUE(call("unique", {tensor<float>(DataType::f32, {0}, {})}, {.results = 4}).ok());
  EXPECT_THAT(shape(result(0)), ElementsAre(0));
}

// Few values of many elements are found by a table, many by a sort: both beside an ordered map.
TEST_F(BuiltinTest, uniqueOfFewAndManyValues) {
  constexpr int64_t kCount = 3000;
  for (int64_t values : {1, 5, 300, 1000, 1000000})
    for (int64_t step : {int64_t{1}, int64_t{1} << 32, int64_t{-3}}) {  // the table takes upper bits of ranks
      std::vector<int64_t> elements(kCount);
      std::map<int64_t, std::vector<int64_t>> placesOf;
      for (int64_t i = 0; i < kCount; ++i) {
        elements[static_cast<size_t>(i)] =
            static_cast<int64_t>(random_() % static_cast<size_t>(values)) * step;
        placesOf[elements[static_cast<size_t>(i)]].push_back(i);
      }
      std::vector<int64_t> unique, first, inverse(kCount), counts;
      for (const auto& [value, places] : placesOf) {
        for (int64_t place : places)
          inverse[static_cast<size_t>(place)] = static_cast<int64_t>(unique.size());
        unique.push_back(value);
        first.push_back(places.front());
        counts.push_back(static_cast<int64_t>(places.size()));
      }
      Tensor* x = tensor<int64_t>(DataType::i64, {kCount}, elements);
      ASSERT_TRUE(call("unique", {x}, {.numbers = {-128, 1}, .results = 4}).ok());
      EXPECT_EQ(data<int64_t>(result(0)), unique) << values << " values, step " << step;
      EXPECT_EQ(data<int64_t>(result(1)), first) << values << " values, step " << step;
      EXPECT_EQ(data<int64_t>(result(2)), inverse) << values << " values, step " << step;
      EXPECT_EQ(data<int64_t>(result(3)), counts) << values << " values, step " << step;
    }
}

}  // namespace
}  // namespace dyn::vm::test
