#include "vm/kernels/gemm/tile_schedule.h"

#include <algorithm>

#include "vm/shared/dyn_caches.h"

namespace dyn::vm::kernels {

TileMachine tileMachine(int64_t maxRows, int64_t panelWidth) {
  static const int64_t l1Bytes = cacheBytes(1);
  TileMachine machine{.product = productMachine(maxRows, panelWidth)};
  machine.product.l2Rate = kTileBytesPerCycle;
  if (l1Bytes > 0) machine.l1Bytes = l1Bytes;
  return machine;
}

double tileCycles(const ProductShape& p, const TileMachine& machine, const ProductSchedule& s) {
  const contraction::ProductMachine& m = machine.product;
  const auto parts = [](int64_t whole, int64_t part) { return (whole + part - 1) / part; };
  const auto rate = [&](double bytes) {
    return bytes <= 0.75 * static_cast<double>(m.l2Bytes) ? m.l2Rate
           : bytes <= static_cast<double>(m.l3Bytes)      ? m.l3Rate
                                                          : m.memoryRate;
  };
  const int64_t rowTiles = parts(p.rows, m.maxRows), panels = parts(p.columns, m.panelWidth);
  const bool overRows = s.side == contraction::SplitSide::rows;
  const int64_t ownTiles = overRows ? parts(rowTiles, p.tasks) : rowTiles,
                ownPanels = overRows ? panels : parts(panels, p.tasks);
  const int64_t depth = std::max<int64_t>(p.depth, 1), block = contraction::depthBlockOf(p, m.maxRows, s),
                depthBlocks = parts(depth, std::max<int64_t>(block, 1)),
                rowBlocks = parts(ownTiles, s.rowTiles);
  const double tilesOfBlock = static_cast<double>(ownTiles) / static_cast<double>(rowBlocks);
  // Of one block of depth, in bytes: what a row tile has of A and of C, and a panel.
  const double bytesDeep = 4.0 * static_cast<double>(bf16Words(block)),
               leftBytes = static_cast<double>(m.maxRows) * bytesDeep,
               panelBytes = static_cast<double>(m.panelWidth) * bytesDeep,
               resultBytes = 4.0 * static_cast<double>(m.maxRows * m.panelWidth) * (depthBlocks > 1 ? 2 : 1);
  constexpr double kShareOfFirst = 0.6;  // of the first cache for the panel: rows of A go by
  const bool panelStays = panelBytes <= kShareOfFirst * static_cast<double>(machine.l1Bytes);
  const double arithmetic =
                   static_cast<double>(m.maxRows * m.panelWidth * bf16Words(block)) / kTileWordsPerCycle,
               reading = leftBytes / rate(tilesOfBlock * leftBytes + 2 * panelBytes) +
                         (panelStays ? 0 : panelBytes / m.l2Rate);
  constexpr double kOfCall = 40;  // before the first product and behind the last
  const double perTile = std::max(arithmetic, reading) + resultBytes / m.l2Rate + kOfCall;
  const double rightBytes = 2.0 * static_cast<double>(ownPanels * m.panelWidth * depth);
  const double visits =
      static_cast<double>(rowBlocks) * static_cast<double>(ownPanels) * static_cast<double>(depthBlocks);
  const double rounded = static_cast<double>(ownTiles * m.maxRows) * static_cast<double>(depth);
  return visits * std::max(tilesOfBlock * perTile, panelBytes / rate(rightBytes)) + rounded;
}

size_t cheapestTileSchedule(const ProductShape& shape, const TileMachine& machine) {
  return contraction::cheapestSchedule(
      shape, machine.product, [&](const ProductSchedule& s) { return tileCycles(shape, machine, s); });
}

}  // namespace dyn::vm::kernels
