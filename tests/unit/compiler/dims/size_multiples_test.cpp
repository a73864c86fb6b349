#include "compiler/dims/size_multiples.h"

#include <gtest/gtest.h>

namespace dyn {
namespace {

TEST(SizeMultiples, EndAtTheLargestNumber) {
  EXPECT_EQ(leastMultipleFrom(0, 8), 0);
  EXPECT_EQ(leastMultipleFrom(9, 8), 16);
  EXPECT_EQ(leastMultipleFrom(5, INT64_MAX), INT64_MAX);
  EXPECT_EQ(leastMultipleFrom(INT64_MAX, 2), INT64_MAX);
  EXPECT_EQ(commonMultiple(4, 6), 12);
  EXPECT_EQ(commonMultiple(0, 6), 0);
  EXPECT_EQ(commonMultiple(INT64_MAX, INT64_MAX - 1), INT64_MAX);
}

}  // namespace
}  // namespace dyn
