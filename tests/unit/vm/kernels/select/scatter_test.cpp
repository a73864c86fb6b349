// scatter_elements of rows of any length (select/scatter.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/vm/kernels/builtin_harness.h"

namespace dyn::vm::test {
namespace {

class ScatterTest : public BuiltinTest {};

std::vector<float> numbersOf(const Tensor* x) { return {x->as<float>(), x->as<float>() + x->elementCount}; }

// Numbers of indexes around those that one branch tests, along the last axis and another one; an index that
// is out of range at any place.
TEST_F(ScatterTest, rowsOfAnyLength) {
  for (int64_t count : {0, 1, 7, 8, 9, 15, 16, 17, 31, 67})
    for (int32_t axis : {0, 1})
      for (int32_t reduction = 0; reduction < 5; ++reduction) {
        std::vector<int64_t> places(static_cast<size_t>(count));
        for (int64_t& place : places) place = static_cast<int64_t>(random_() % 14) - 7;
        Tensor *x = floats(axis == 0 ? std::vector<int64_t>{7, count} : std::vector<int64_t>{1, 7}),
               *updates = floats({1, count}), *at = tensor<int64_t>(DataType::i64, {1, count}, places);
        std::vector<float> expected = numbersOf(x);
        for (int64_t j = 0; j < count; ++j) {
          const int64_t index = (places[static_cast<size_t>(j)] + 7) % 7;
          float& element = expected[static_cast<size_t>(axis == 0 ? index * count + j : index)];
          const float update = updates->as<float>()[j];
          element = reduction == 0   ? update
                    : reduction == 1 ? element + update
                    : reduction == 2 ? element * update
                    : reduction == 3 ? std::min(element, update)
                                     : std::max(element, update);
        }
        ASSERT_TRUE(call("scatter_elements", {x, at, updates}, {.numbers = {axis, reduction}}).ok());
        EXPECT_EQ(numbersOf(result()), expected) << count << " on axis " << axis << ", " << reduction;
        for (size_t wrong = 0; wrong < places.size(); ++wrong)
          for (int64_t outside : {int64_t{7}, int64_t{-8}, INT64_MIN, INT64_MAX}) {
            std::vector<int64_t> bad = places;
            bad[wrong] = outside;
            const Status status =
                call("scatter_elements", {x, tensor<int64_t>(DataType::i64, {1, count}, bad), updates},
                     {.numbers = {axis, reduction}});
            ASSERT_EQ(status.code, DYN_OUT_OF_RANGE);
            EXPECT_THAT(status.message, testing::HasSubstr("index " + std::to_string(outside) + " "));
          }
      }
}

}  // namespace
}  // namespace dyn::vm::test
