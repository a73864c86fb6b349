// Schedules by the cost of tiles, for the caches of Sapphire Rapids.
#include "vm/kernels/gemm/tile_schedule.h"

#include <gtest/gtest.h>

namespace dyn::vm::kernels {
namespace {

TileMachine sapphireRapids() {
  TileMachine machine{.l1Bytes = 48 << 10};
  machine.product = {.maxRows = 32, .panelWidth = 32, .l2Bytes = 2 << 20, .l3Bytes = 105 << 20, .l2Rate = 48};
  return machine;
}

const ProductSchedule& chosen(const ProductShape& shape) {
  return contraction::kProductSchedules[cheapestTileSchedule(shape, sapphireRapids())];
}

TEST(TileSchedule, keepsABlockOfAPanelInTheFirstCache) {
  // 768 depths of a panel are 48 KiB.
  for (int64_t rows : {128, 384, 2048}) EXPECT_EQ(chosen({rows, 3072, 768, 1, true}).depthBlock, 384) << rows;
}

TEST(TileSchedule, readsWeightsOnceForAsManyRowsAsTheSecondCacheHolds) {
  const TileMachine machine = sapphireRapids();
  for (int64_t rows : {128, 384, 1000, 4096})
    for (const auto& [columns, depth] : {std::pair<int64_t, int64_t>{3072, 768}, {768, 3072}, {4096, 4096}}) {
      const ProductSchedule& s = chosen({rows, columns, depth, 1, true});
      const int64_t blockRows = std::min(rows, 32 * s.rowTiles),
                    blockBytes = 2 * blockRows * std::min(depth, s.depthBlock);
      EXPECT_LE(blockBytes, machine.product.l2Bytes * 3 / 4) << rows << " x " << depth;
      EXPECT_GE(blockRows, std::min<int64_t>(rows, 384)) << rows << " x " << depth;
    }
}

TEST(TileSchedule, sharesTheSideThatGoesUp) {
  EXPECT_EQ(chosen({4096, 32, 768, 4, true}).side, contraction::SplitSide::rows);
  EXPECT_EQ(chosen({32, 4096, 768, 4, true}).side, contraction::SplitSide::panels);
}

// More work never costs less, and no size is an error.
TEST(TileSchedule, costsGrow) {
  const TileMachine machine = sapphireRapids();
  for (const ProductSchedule& s : contraction::kProductSchedules) {
    double before = 0;
    for (int64_t depth : {0, 1, 31, 384, 768, 1536, 6144}) {
      const double now = tileCycles({96, 96, depth, 1, true}, machine, s);
      EXPECT_GE(now, before);
      before = now;
    }
    EXPECT_GT(tileCycles({192, 96, 768, 1, true}, machine, s),
              tileCycles({96, 96, 768, 1, true}, machine, s));
    EXPECT_GE(tileCycles({1, 1, 1, 1, true}, machine, s), 0);
  }
}

}  // namespace
}  // namespace dyn::vm::kernels
