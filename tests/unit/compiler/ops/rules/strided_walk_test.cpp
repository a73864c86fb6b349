// Rows of merged axes pass the places that single steps pass, in the same order.
#include "compiler/ops/rules/strided_walk.h"

#include <gtest/gtest.h>

#include <random>

namespace dyn {
namespace {

TEST(RowWalk, PassesWhatSingleStepsPass) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    std::vector<int64_t> shape(random() % 5), part;
    for (int64_t& size : shape) size = std::vector<int64_t>{0, 1, 1, 2, 3, 7}[random() % 6];
    for (const int64_t size : shape) part.push_back(random() % 2 ? size : 1);
    if (!part.empty() && random() % 2) part.erase(part.begin());
    const std::vector<std::vector<int64_t>> strides = {broadcastStrides(shape, shape),
                                                       broadcastStrides(part, shape)};
    const int64_t elements = sizeProduct(shape, 0, static_cast<int>(shape.size()));
    OffsetWalk walk(shape, strides);
    int64_t i = 0;
    for (RowWalk row(shape, strides); !row.done(); row.next())
      for (int64_t j = 0; j < row.count(); ++j, ++i, walk.next()) {
        ASSERT_LT(i, elements);
        EXPECT_EQ(row.first() + j, i);
        for (int k = 0; k < 2; ++k)
          EXPECT_EQ(row.offset(k) + j * row.step(k), walk.offset(k)) << shapeText(shape) << shapeText(part);
      }
    EXPECT_EQ(i, elements) << shapeText(shape);
  }
}

TEST(RowWalk, IsOneRowWhereNothingIsBroadcast) {
  const std::vector<int64_t> shape = {5, 1, 3, 4};
  RowWalk row(shape, {rowMajorStrides(shape), broadcastStrides({}, shape)});
  EXPECT_EQ(row.count(), 60);
  EXPECT_EQ(row.step(0), 1);
  EXPECT_EQ(row.step(1), 0);
}

}  // namespace
}  // namespace dyn
