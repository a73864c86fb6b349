#include "compiler/tune/version_cover.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace dyn {

namespace {

struct Range {
  size_t version = 0;
  double timeNs = std::numeric_limits<double>::infinity();  // "auto" counts a little less than it takes
};

// best[k][j]: the shapes before j in k + 1 ranges.
struct Step {
  double timeNs = std::numeric_limits<double>::infinity();
  size_t begin = 0, version = 0;  // of the last range
};

// For all rows.
contraction::DispatchPiece pieceOf(const contraction::Version& version) {
  const auto* dispatch = std::get_if<contraction::Dispatch>(&version);
  return dispatch ? dispatch->pieces.front() : contraction::DispatchPiece{};
}

}  // namespace

VersionCover coverVersions(const std::vector<MeasuredVersion>& versions, const std::vector<int64_t>& rows,
                           const std::vector<double>& weights, int mostVersions) {
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return rows[a] < rows[b]; });
  const size_t count = order.size();
  const auto weighted = [&](size_t version, size_t place) {
    return weights[order[place]] * versions[version].timesNs[order[place]];
  };
  const auto bestOf = [&](size_t begin, size_t end) {
    Range best;
    for (size_t v = 0; v < versions.size(); ++v) {
      double sum = 0;
      for (size_t i = begin; i < end; ++i) sum += weighted(v, i);
      if (v == 0) sum *= kWorthIt;
      if (sum < best.timeNs) best = {v, sum};
    }
    return best;
  };
  const size_t most = std::min<size_t>(count, static_cast<size_t>(std::max(mostVersions, 1)));
  std::vector<std::vector<Step>> best(most, std::vector<Step>(count + 1));
  for (size_t end = 1; end <= count; ++end)
    for (size_t begin = 0; begin < end; ++begin) {
      // Rows of one number cannot be told apart.
      if (begin > 0 && rows[order[begin - 1]] == rows[order[begin]]) continue;
      const Range range = bestOf(begin, end);
      if (begin == 0) best[0][end] = {range.timeNs, 0, range.version};
      for (size_t k = 1; k < most && begin > 0; ++k)
        if (const double sum = best[k - 1][begin].timeNs + range.timeNs; sum < best[k][end].timeNs)
          best[k][end] = {sum, begin, range.version};
    }
  size_t ranges = 0;
  for (size_t k = 1; k < most; ++k)
    if (best[k][count].timeNs < kWorthIt * best[ranges][count].timeNs) ranges = k;
  VersionCover cover;
  cover.versionsCount = static_cast<int>(ranges) + 1;
  std::vector<contraction::DispatchPiece> pieces;
  for (size_t k = ranges + 1, end = count; k-- > 0;) {
    const Step& step = best[k][end];
    for (size_t i = step.begin; i < end; ++i) cover.timeNs += weighted(step.version, i);
    contraction::DispatchPiece piece = pieceOf(versions[step.version].version);
    if (end < count) {
      const int64_t low = rows[order[end - 1]], high = rows[order[end]];
      piece.mostRows = low + (high - low) / 2;
    }
    pieces.insert(pieces.begin(), piece);
    if (ranges == 0) cover.version = versions[step.version].version;
    end = step.begin;
  }
  if (ranges > 0) cover.version = contraction::Dispatch{std::move(pieces)};
  return cover;
}

}  // namespace dyn
