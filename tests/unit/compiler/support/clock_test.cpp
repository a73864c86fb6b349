#include "compiler/support/clock.h"

#include <gtest/gtest.h>

#include <cmath>

namespace dyn {
namespace {

TEST(Clock, WholeNanosecondsOfAnyEstimate) {
  EXPECT_EQ(wholeNs(0), 0);
  EXPECT_EQ(wholeNs(1234.9), 1234);
  EXPECT_EQ(wholeNs(-3.5), -3);
  for (const double ns : {0x1p63, 1e30, HUGE_VAL, std::nan("")}) EXPECT_EQ(wholeNs(ns), INT64_MAX) << ns;
  for (const double ns : {-0x1p63, -1e30, -HUGE_VAL}) EXPECT_EQ(wholeNs(ns), INT64_MIN) << ns;
}

}  // namespace
}  // namespace dyn
