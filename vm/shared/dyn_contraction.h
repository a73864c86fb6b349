/* The versions of convolutions and of matrix products: which there are, what each can do, and what it is
 * expected to cost. For compiler and runtime alike (C++20, header only). Choosing is a matter of speed alone:
 * every version that can do a window or a product does it right. */
#ifndef DYN_CONTRACTION_H
#define DYN_CONTRACTION_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dyn::contraction {

// The version of products and convolutions that oneDNN computes, where a build has it. Its builtins are those
// of dyn_library.h.
inline constexpr std::string_view kOneDnn = "onednn";

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
  rows,      // depthwise, small strides along rows: channels stand in the lanes
  staged,    // few filters, which stand in the rows of a tile: weights as they are
  direct,    // filters stand in the lanes
  winograd,  // 3x3 windows at stride 1 or 2
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
             (w.stride == ones || w.stride == std::array<int64_t, 3>{1, 2, 2}) && w.dilation == ones;
  }
  return false;
}

// Output positions that Winograd's transform of weights is worth where it is done for one call: it is some
// 150 to 300 steps for a window of nine weights, one after the other, and saves about half of nine steps for
// each position, which are done in vectors.
inline constexpr int64_t kTransformPositions = 1024;

// The way by the window alone, for vectors of `lanes` floats: what is taken without measurements.
// `positions`: of the output, where weights are packed for this one call.
inline Way wayByRule(const ConvolutionWindow& w, int64_t lanes, int64_t positions = kTransformPositions) {
  constexpr double kLanesUsed = 0.8;    // of the lanes that the filters would take, so many must hold one
  constexpr int64_t kFewChannels = 16;  // for which Winograd's transforms cost more than they save
  // Channels times filters at stride 2: networks have small images where there are more, whose few blocks are
  // not worth reading 25 weights for 9.
  constexpr int64_t kMostWeights = 1 << 15;
  if (w.groups > 1 && canGo(Way::rows, w)) return Way::rows;
  if (canGo(Way::winograd, w) && positions >= kTransformPositions && w.channels >= kFewChannels &&
      w.filters >= kFewChannels && (w.stride[2] == 1 || w.channels * w.filters <= kMostWeights))
    return Way::winograd;
  const auto taken = static_cast<double>((w.filters + lanes - 1) / lanes * lanes);
  return static_cast<double>(w.filters) >= kLanesUsed * taken ? Way::direct : Way::staged;
}

// --- matrix products on packed panels

// Multiply-adds (or steps about as long) below which a task is not worth starting.
inline constexpr int64_t kStepsPerTask = 1 << 16;

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

// Tiles of nearly equal height, the higher ones first: of the rows alone, so that no row's tile, which may
// decide the bits of its sums, depends on threads or schedule.
struct RowTiles {
  int64_t count = 0, low = 0, higherCount = 0;  // tiles have `low` rows, the first of them one more

  RowTiles(int64_t rows, int64_t maxRows)
      : count((rows + maxRows - 1) / maxRows),
        low(count ? rows / count : 0),
        higherCount(count ? rows % count : 0) {}
  int64_t begin(int64_t tile) const { return tile * low + std::min(tile, higherCount); }
  int64_t height(int64_t tile) const { return low + (tile < higherCount ? 1 : 0); }
};

// Tiles of few rows always see the whole depth at once: their sums have several chains, whose bits blocks
// would change. All tiles of more rows than this are higher than half of the highest.
inline int64_t depthBlockOf(const ProductShape& p, int64_t maxRows, const ProductSchedule& s) {
  return std::max<int64_t>(1, p.rows <= maxRows + 1 ? p.depth : std::min(p.depth, s.depthBlock));
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
  constexpr double kWaitedFor = 0.2;  // of what comes from further away; the rest is fetched ahead
  const double far = leftRate < m.l2Rate ? kWaitedFor * leftBytes / leftRate : 0;
  const double perPanel = std::max(arithmetic + far, panelBytes / rate(rightBytes)) +
                          20.0 * static_cast<double>(parts(blockRows, m.maxRows));
  const double visits = static_cast<double>(rowBlocks) * static_cast<double>(ownPanels) *
                        static_cast<double>(p.depth) / static_cast<double>(block);
  // Results are written once and, for each further block of depth, read and written again.
  const double results = resultBytes * static_cast<double>(2 * depthBlocks - 1) / rate(resultBytes);
  const double copy = p.copiesLeft ? static_cast<double>(rows) * static_cast<double>(p.depth) : 0;
  return perPanel * visits + results + copy;
}

// The first row of the table, or its twin that shares rows where their pieces come out more even; over panels
// each thread reads its own part of the right matrix.
inline size_t usualSchedule(const ProductShape& p, const ProductMachine& m) {
  const auto waste = [&](int64_t whole, int64_t part) {
    const int64_t pieces = std::max<int64_t>(1, (whole + part - 1) / part);
    return static_cast<double>((pieces + p.tasks - 1) / p.tasks * p.tasks) / static_cast<double>(pieces);
  };
  return p.tasks > 1 && waste(p.rows, m.maxRows) < waste(p.columns, m.panelWidth) ? 1 : 0;
}

// The row of the table with the least cost; the usual one unless another is expected to be clearly cheaper.
// `cost(schedule)`: cycles of that one.
template <typename Cost>
size_t cheapestSchedule(const ProductShape& p, const ProductMachine& m, const Cost& cost) {
  constexpr double kWorthIt = 0.95;  // less is not worth leaving what is known to be good
  const size_t usual = usualSchedule(p, m);
  size_t best = usual;
  double least = kWorthIt * cost(kProductSchedules[usual]);
  for (size_t i = 0; i < kProductSchedules.size(); ++i) {
    if (p.tasks == 1 && kProductSchedules[i].side == SplitSide::rows) continue;
    const double cycles = cost(kProductSchedules[i]);
    if (cycles >= least) continue;
    best = i;
    least = cycles;
  }
  return best;
}
inline size_t cheapestSchedule(const ProductShape& p, const ProductMachine& m) {
  return cheapestSchedule(p, m, [&](const ProductSchedule& s) { return productCycles(p, m, s); });
}

// --- dispatch by the number of rows, as a program names it

// Up to so many rows this row of the table; -1: the cheapest by cost.
struct DispatchPiece {
  int32_t schedule = -1;
  int64_t mostRows = INT32_MAX;
  bool operator==(const DispatchPiece&) const = default;
};
inline constexpr size_t kMostPieces = 8;

// "auto<=59,k384r24-panels": by cost up to 59 rows, one schedule above.
inline std::string dispatchText(const std::vector<DispatchPiece>& pieces) {
  std::string text;
  for (const DispatchPiece& piece : pieces) {
    text += (text.empty() ? "" : ",") +
            (piece.schedule < 0 ? "auto" : scheduleName(static_cast<size_t>(piece.schedule)));
    if (piece.mostRows != INT32_MAX) text += "<=" + std::to_string(piece.mostRows);
  }
  return text;
}

// nullopt: not of that form, an unknown schedule, or rows that do not rise.
inline std::optional<std::vector<DispatchPiece>> parseDispatch(std::string_view text) {
  std::vector<DispatchPiece> pieces;
  for (bool more = true; more;) {
    const size_t comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
    DispatchPiece piece;
    if (const size_t at = part.find("<="); at != std::string_view::npos) {
      piece.mostRows = 0;
      const std::string_view digits = part.substr(at + 2);
      if (digits.empty() || digits.size() > 9) return std::nullopt;
      for (char c : digits) {
        if (c < '0' || c > '9') return std::nullopt;
        piece.mostRows = 10 * piece.mostRows + (c - '0');
      }
      part = part.substr(0, at);
    }
    for (size_t i = 0; i < kProductSchedules.size(); ++i)
      if (part == scheduleName(i)) piece.schedule = static_cast<int32_t>(i);
    if ((piece.schedule < 0 && part != "auto") || more != (piece.mostRows != INT32_MAX) ||
        (!pieces.empty() && pieces.back().mostRows >= piece.mostRows) || pieces.size() >= kMostPieces)
      return std::nullopt;
    pieces.push_back(piece);
  }
  return pieces;
}

}  // namespace dyn::contraction

#endif
