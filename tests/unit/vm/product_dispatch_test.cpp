// Dispatch of products by rows, as programs write it, and the schedule that is usual.
#include <gtest/gtest.h>

#include "vm/include/dyn_contraction.h"

namespace dyn::contraction {
namespace {

TEST(ProductDispatch, textsAreReadAndWritten) {
  for (const char* text :
       {"auto", "k768r12-panels", "auto<=59,k384r24-panels", "k768r6-rows<=1,auto<=9,kallr12-panels"}) {
    const auto pieces = parseDispatch(text);
    ASSERT_TRUE(pieces.has_value()) << text;
    EXPECT_EQ(dispatchText(*pieces), text);
  }
  for (const char* text :
       {"", ",", "auto,auto", "auto<=5", "auto<=5,auto<=5,auto", "auto<=6,auto<=5,auto", "best",
        "auto<=,auto", "auto<=-1,auto", "auto<=99999999999,auto", "auto<=1,", "k768r12-panels<=1x,auto",
        "auto<=1,auto<=2,auto<=3,auto<=4,auto<=5,auto<=6,auto<=7,auto<=8,auto"})
    EXPECT_FALSE(parseDispatch(text).has_value()) << text;
}

TEST(ProductDispatch, theCheapestIsTheUsualOneUnlessAnotherIsClearlyCheaper) {
  ProductMachine machine;
  machine.maxRows = 14;
  machine.panelWidth = 32;
  for (int64_t rows : {1, 15, 59, 128, 1000})
    for (int64_t columns : {64, 768, 3072})
      for (int64_t tasks : {1, 2}) {
        const ProductShape shape{rows, columns, 768, tasks, false};
        const size_t usual = usualSchedule(shape, machine), cheapest = cheapestSchedule(shape, machine);
        EXPECT_EQ(kProductSchedules[usual].depthBlock, 768);
        if (cheapest != usual) {
          EXPECT_LT(productCycles(shape, machine, kProductSchedules[cheapest]),
                    0.9 * productCycles(shape, machine, kProductSchedules[usual]));
        }
      }
  // One row tile can not be shared.
  EXPECT_EQ(kProductSchedules[usualSchedule({14, 768, 768, 2, false}, machine)].side, SplitSide::panels);
  EXPECT_EQ(kProductSchedules[usualSchedule({28, 96, 768, 2, false}, machine)].side, SplitSide::rows);
  // Blocks that do not fit into the caches are worth another schedule.
  machine.l2Bytes = 1 << 19;
  machine.l2Rate = 64;
  machine.l3Rate = 1;
  const ProductShape large{1000, 768, 4096, 1, false};
  EXPECT_NE(cheapestSchedule(large, machine), usualSchedule(large, machine));
}

}  // namespace
}  // namespace dyn::contraction
