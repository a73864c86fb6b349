/* The versions of convolutions and of matrix products: which there are, what each can do, and what it is expected to cost. For compiler and runtime
 * alike (C++20, header only). Choosing is a matter of speed alone: every version that can do a window or a product does it right. */
#ifndef DYN_CONTRACTION_H
#define DYN_CONTRACTION_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dyn::contraction {

// --- convolutions of f32

// Seen with three spatial dims; missing leading ones are 1.
struct ConvolutionWindow {
  int64_t rank = 0;                               // spatial dims
  int64_t groups = 1, channels = 0, filters = 0;  // channels and filters per group
  std::array<int64_t, 3> kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1};

  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t depth() const { return channels * taps(); }
};

enum class Way : int32_t {
  rows,      // depthwise, small strides along rows: weights as they are
  staged,    // few filters, which stand in the rows of a tile: weights as they are
  direct,    // filters stand in the lanes
  winograd,  // 3x3 windows at stride 1
};
inline constexpr std::array<std::string_view, 4> kWayNames{"rows", "staged", "direct", "winograd"};
inline constexpr int64_t kMostPhases = 4;  // of depthwise rows

inline bool canGo(Way way, const ConvolutionWindow& w) {
  const std::array<int64_t, 3> ones{1, 1, 1};
  switch (way) {
    case Way::rows:
      return w.channels == 1 && w.filters == 1 &&
             (w.stride[2] == 1 || (w.rank < 3 && w.stride[2] <= kMostPhases));
    case Way::staged:
    case Way::direct:
      return true;
    case Way::winograd:
      return w.rank == 2 && w.groups == 1 && w.kernel == std::array<int64_t, 3>{1, 3, 3} &&
             w.stride == ones && w.dilation == ones;
  }
  return false;
}

// The way by the window alone, for vectors of `lanes` floats: what is taken where nobody has measured.
inline Way wayByRule(const ConvolutionWindow& w, int64_t lanes) {
  constexpr double kLanesUsed = 0.8;    // of the lanes that the filters would take, so many must hold one
  constexpr int64_t kFewChannels = 16;  // for which Winograd's transforms cost more than they save
  if (w.groups > 1 && canGo(Way::rows, w)) return Way::rows;
  if (canGo(Way::winograd, w) && w.channels >= kFewChannels && w.filters >= kFewChannels)
    return Way::winograd;
  const auto taken = static_cast<double>((w.filters + lanes - 1) / lanes * lanes);
  return static_cast<double>(w.filters) >= kLanesUsed * taken ? Way::direct : Way::staged;
}

// --- matrix products on packed panels

enum class SplitSide : int32_t { panels, rows };

// Blocks of rows x depth of the left matrix are multiplied with panel after panel of the right one.
struct ProductSchedule {
  int64_t depthBlock;  // k steps of a block
  int64_t rowTiles;    // of a block, each as high as micro-kernels are
  SplitSide side;      // what several threads share
};
inline constexpr int64_t kWholeDepth = int64_t{1} << 40;

// The first row is taken where nothing speaks for another.
inline constexpr std::array<ProductSchedule, 24> kProductSchedules{{
    {768, 12, SplitSide::panels},         {768, 12, SplitSide::rows},
    {768, 6, SplitSide::panels},          {768, 6, SplitSide::rows},
    {768, 24, SplitSide::panels},         {768, 24, SplitSide::rows},
    {384, 12, SplitSide::panels},         {384, 12, SplitSide::rows},
    {384, 6, SplitSide::panels},          {384, 6, SplitSide::rows},
    {384, 24, SplitSide::panels},         {384, 24, SplitSide::rows},
    {1536, 12, SplitSide::panels},        {1536, 12, SplitSide::rows},
    {1536, 6, SplitSide::panels},         {1536, 6, SplitSide::rows},
    {1536, 24, SplitSide::panels},        {1536, 24, SplitSide::rows},
    {kWholeDepth, 12, SplitSide::panels}, {kWholeDepth, 12, SplitSide::rows},
    {kWholeDepth, 6, SplitSide::panels},  {kWholeDepth, 6, SplitSide::rows},
    {kWholeDepth, 24, SplitSide::panels}, {kWholeDepth, 24, SplitSide::rows},
}};

// "k768r12-panels", "kallr6-rows"
inline std::string scheduleName(size_t index) {
  const ProductSchedule& s = kProductSchedules[index];
  return "k" + (s.depthBlock == kWholeDepth ? "all" : std::to_string(s.depthBlock)) + "r" +
         std::to_string(s.rowTiles) + (s.side == SplitSide::rows ? "-rows" : "-panels");
}

struct ProductShape {
  int64_t rows = 0, columns = 0, depth = 0;
  int64_t tasks = 1;        // threads that share it
  bool copiesLeft = false;  // rows of the left matrix are not used in place
  bool operator==(const ProductShape&) const = default;
};

struct ProductMachine {
  int64_t maxRows = 1, panelWidth = 8;  // of the micro-kernels
  double stepsPerCycle = 16;            // multiply-adds of one thread
  int64_t l2Bytes = 1 << 20, l3Bytes = 32 << 20;
  double l2Rate = 32, l3Rate = 10, memoryRate = 6;  // bytes a cycle that one thread reads
};

// A few rows always see the whole depth at once: their sums have several chains, whose bits blocks would change.
inline int64_t depthBlockOf(const ProductShape& p, int64_t maxRows, const ProductSchedule& s) {
  return std::max<int64_t>(1, p.rows <= maxRows ? p.depth : std::min(p.depth, s.depthBlock));
}

// Cycles that the busiest thread is expected to take.
inline double productCycles(const ProductShape& p, const ProductMachine& m, const ProductSchedule& s) {
  const auto parts = [](int64_t whole, int64_t part) { return (whole + part - 1) / part; };
  const int64_t rowTiles = parts(p.rows, m.maxRows), panels = parts(p.columns, m.panelWidth);
  const bool overRows = s.side == SplitSide::rows;
  const int64_t pieces = parts(overRows ? rowTiles : panels, p.tasks);
  const int64_t rows = overRows ? std::min(p.rows, parts(p.rows * pieces, rowTiles)) : p.rows;
  const int64_t ownPanels = overRows ? panels : pieces;
  const int64_t block = depthBlockOf(p, m.maxRows, s),
                depthBlocks = std::max<int64_t>(1, parts(p.depth, block));
  const int64_t rowBlocks = parts(rows, m.maxRows * s.rowTiles), blockRows = parts(rows, rowBlocks);
  const auto rate = [&](double bytes) {
    return bytes <= 0.75 * static_cast<double>(m.l2Bytes) ? m.l2Rate
           : bytes <= static_cast<double>(m.l3Bytes)      ? m.l3Rate
                                                          : m.memoryRate;
  };
  const double panelBytes = 4.0 * static_cast<double>(block * m.panelWidth),
               leftBytes = 4.0 * static_cast<double>(blockRows * block),
               rightBytes = 4.0 * static_cast<double>(ownPanels * m.panelWidth * p.depth),
               resultBytes = 4.0 * static_cast<double>(rows * ownPanels * m.panelWidth);
  const double arithmetic =
      static_cast<double>(blockRows) * static_cast<double>(block * m.panelWidth) / m.stepsPerCycle;
  // Each panel comes once for a block, while the one before is multiplied; the block itself must stay near.
  const double leftRate = rate(leftBytes + 2 * panelBytes);
  const double far = leftRate < m.l2Rate ? 0.5 * leftBytes / leftRate : 0;
  const double perPanel = std::max(arithmetic + far, panelBytes / rate(rightBytes)) +
                          20.0 * static_cast<double>(parts(blockRows, m.maxRows));
  const double visits = static_cast<double>(rowBlocks) * static_cast<double>(ownPanels) *
                        static_cast<double>(p.depth) / static_cast<double>(block);
  // Results are written once and, for each further block of depth, read and written again.
  const double results = resultBytes * static_cast<double>(2 * depthBlocks - 1) / rate(resultBytes);
  const double copy = p.copiesLeft ? static_cast<double>(rows) * static_cast<double>(p.depth) : 0;
  return perPanel * visits + results + copy;
}

// The row of the table with the least cost.
inline size_t cheapestSchedule(const ProductShape& p, const ProductMachine& m) {
  size_t best = 0;
  double least = 0;
  // Without threads to share there is one side only; within one block of depth all larger ones are the same.
  for (size_t i = 0; i < kProductSchedules.size(); ++i) {
    if (p.tasks == 1 && kProductSchedules[i].side == SplitSide::rows) continue;
    const double cost = productCycles(p, m, kProductSchedules[i]);
    if (i > 0 && cost >= least) continue;
    best = i;
    least = cost;
  }
  return best;
}

}  // namespace dyn::contraction

#endif
