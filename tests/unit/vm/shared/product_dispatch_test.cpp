// Dispatch of products by rows, as programs write it, and the schedule that is usual.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "vm/shared/dyn_contraction.h"

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
                    0.95 * productCycles(shape, machine, kProductSchedules[usual]));
        }
      }
  // One row tile cannot be shared.
  EXPECT_EQ(kProductSchedules[usualSchedule({14, 768, 768, 2, false}, machine)].side, SplitSide::panels);
  EXPECT_EQ(kProductSchedules[usualSchedule({28, 96, 768, 2, false}, machine)].side, SplitSide::rows);
  // Blocks that do not fit into the caches are worth another schedule.
  machine.l2Bytes = 1 << 19;
  machine.l2Rate = 64;
  machine.l3Rate = 1;
  const ProductShape large{1000, 768, 4096, 1, false};
  EXPECT_NE(cheapestSchedule(large, machine), usualSchedule(large, machine));
}

// Within a twentieth of the cheapest of all, on every kind of machine: by the costs themselves. How well
// these foretell times is for the bench to say.
TEST(ProductDispatch, M_b_theChoiceIsWithinFivePercentOfTheCheapest) {
  struct Kind {
    const char* name;
    ProductMachine machine;
  };
  const Kind kinds[] = {{"wide vectors, middle L2", {14, 32, 16, 1 << 20, 32 << 20, 32, 10, 6}},
                        {"two wide units, large L2, slow L3", {14, 32, 32, 2 << 20, 60 << 20, 48, 5, 3}},
                        {"narrow vectors, small L2", {6, 16, 16, 256 << 10, 8 << 20, 25, 10, 4}},
                        {"no L3", {14, 8, 8, 512 << 10, 512 << 10, 16, 16, 2}}};
  std::mt19937 random(3);
  const auto size = [&](double low, double high) {
    return static_cast<int64_t>(
        std::exp(std::uniform_real_distribution<double>(std::log(low), std::log(high))(random)));
  };
  for (int i = 0; i < 200; ++i) {
    ProductShape shape{size(1, 3000), size(16, 8192), size(16, 8192), 1, i % 3 == 0};
    for (const Kind& kind : kinds)
      for (int64_t tasks : {1, 2, 8}) {
        shape.tasks = tasks;
        double least = HUGE_VAL;
        for (const ProductSchedule& s : kProductSchedules)
          least = std::min(least, productCycles(shape, kind.machine, s));
        const size_t choice = cheapestSchedule(shape, kind.machine);
        EXPECT_LE(productCycles(shape, kind.machine, kProductSchedules[choice]), least / 0.95 * 1.0001)
            << kind.name << ": " << shape.rows << " x " << shape.columns << " x " << shape.depth << ", "
            << tasks << " tasks: " << scheduleName(choice);
      }
  }
}

// Tiles of two heights compute each row once, all but a lone one at least half as high as the highest; one
// height alone computes rows that nobody wants wherever it does not divide them.
TEST(ProductDispatch, M_a_tilesOfTwoHeightsCoverTheRowsOnce) {
  for (int64_t most : {1, 6, 12, 14})
    for (int64_t rows = 0; rows < 400; ++rows) {
      const RowTiles tiles(rows, most);
      int64_t at = 0, lowest = most, highest = 0;
      for (int64_t tile = 0; tile < tiles.count; ++tile) {
        EXPECT_EQ(tiles.begin(tile), at);
        at += tiles.height(tile);
        lowest = std::min(lowest, tiles.height(tile));
        highest = std::max(highest, tiles.height(tile));
      }
      EXPECT_EQ(at, rows);
      EXPECT_EQ(tiles.count, (rows + most - 1) / most);
      EXPECT_LE(highest, most);
      if (tiles.count < 2) continue;
      EXPECT_GE(2 * lowest, most) << rows << " rows in tiles of at most " << most;
      EXPECT_LE(highest - lowest, 1);
      // The constructed shape, one row more than a tile has: two tiles of any one height compute a row or
      // more that nobody wants.
      if (rows != most + 1 || most % 2 != 0) continue;
      EXPECT_EQ(lowest + 1, highest);
      for (int64_t height = lowest; height <= most; ++height)
        EXPECT_GT((rows + height - 1) / height * height, tiles.height(0) + tiles.height(1));
    }
}

}  // namespace
}  // namespace dyn::contraction
