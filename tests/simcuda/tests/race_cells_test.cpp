// Which accesses to a word have an order: each rule once as a race, once as sound.
#include "tests/simcuda/memory/race_cells.h"

#include <gtest/gtest.h>

#include <cstring>

namespace {

using simcuda::Accessor;
using simcuda::RaceCell;
using Conflict = RaceCell::Conflict;

// Fresh memory is zeros.
RaceCell fresh() {
  RaceCell cell;
  std::memset(static_cast<void*>(&cell), 0, sizeof cell);
  return cell;
}
Accessor thread(uint16_t t, uint32_t epoch = 0, uint32_t warpEpoch = 0, uint32_t block = 0) {
  return {1, block, epoch, warpEpoch, t};
}

TEST(RaceCells, write_then_read) {
  for (auto [reader, expected] : {std::pair{thread(0), Conflict::kNone},
                                  {thread(1), Conflict::kAfterWrite},
                                  {thread(1, 1), Conflict::kNone},
                                  {thread(1, 0, 1), Conflict::kNone},
                                  {thread(40, 0, 1), Conflict::kAfterWrite},
                                  {thread(0, 1, 0, 1), Conflict::kAfterWrite}}) {
    RaceCell cell = fresh();
    EXPECT_EQ(cell.write(thread(0), false), Conflict::kNone);
    EXPECT_EQ(cell.read(reader), expected) << reader.thread << " " << reader.epoch << " " << reader.warpEpoch;
  }
}

TEST(RaceCells, an_earlier_lane_that_read_is_remembered) {
  RaceCell cell = fresh();
  cell.read(thread(0));
  cell.read(thread(1));
  EXPECT_EQ(cell.write(thread(1), false), Conflict::kAfterRead);
}

TEST(RaceCells, lanes_that_read_before_the_warp_met_are_not) {
  RaceCell cell = fresh();
  cell.read(thread(0));
  cell.read(thread(1));
  cell.read(thread(1, 0, 1));
  EXPECT_EQ(cell.write(thread(1, 0, 1), false), Conflict::kNone);
}

TEST(RaceCells, another_warp_that_read_is_remembered) {
  RaceCell cell = fresh();
  cell.read(thread(40));
  cell.read(thread(1));
  EXPECT_EQ(cell.write(thread(1, 0, 1), false), Conflict::kAfterRead);
}

TEST(RaceCells, a_barrier_forgets_warps_but_not_blocks) {
  RaceCell cell = fresh();
  cell.read(thread(40));
  cell.read(thread(1));
  EXPECT_EQ(cell.write(thread(1, 1), false), Conflict::kNone);
  cell = fresh();
  cell.read(thread(0, 0, 0, 3));
  cell.read(thread(0));
  EXPECT_EQ(cell.write(thread(0, 5), false), Conflict::kAfterRead);
}

TEST(RaceCells, atomics_need_no_order_among_themselves) {
  RaceCell cell = fresh();
  EXPECT_EQ(cell.write(thread(0), true), Conflict::kNone);
  EXPECT_EQ(cell.write(thread(40), true), Conflict::kNone);
  EXPECT_EQ(cell.write(thread(0, 0, 0, 7), true), Conflict::kNone);
  EXPECT_EQ(cell.read(thread(0, 0, 0, 7)), Conflict::kAfterWrite);
}

TEST(RaceCells, of_several_atomic_writers_all_are_remembered) {
  RaceCell cell = fresh();
  cell.write(thread(0), true);
  cell.write(thread(40), true);
  EXPECT_EQ(cell.read(thread(40)), Conflict::kAfterWrite);
  cell = fresh();
  cell.write(thread(0), true);
  cell.write(thread(40), true);
  EXPECT_EQ(cell.read(thread(40, 1)), Conflict::kNone);
}

TEST(RaceCells, a_new_launch_begins_anew) {
  RaceCell cell = fresh();
  cell.write(thread(0), false);
  EXPECT_EQ(cell.read({2, 9, 0, 0, 5}), Conflict::kNone);
  EXPECT_FALSE(cell.writtenIn(2));
}

}  // namespace
