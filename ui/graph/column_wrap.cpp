#include "ui/graph/column_wrap.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dyn::ui {

namespace {

constexpr int kFewestRows = 9, kMostColumns = 8;
constexpr double kTall = 1.8;                 // times the ratio: from here on it is worth it
constexpr double kGap = 44;                   // between columns
constexpr double kLane = 5, kFirstLane = 12;  // wires beside and around columns
constexpr int kMostCrossing = 12;             // edges over a cut: more would be a knot

struct Row {
  double top = std::numeric_limits<double>::max(), bottom = 0;
};

struct WrappedColumn {
  double top = 0, left = 0, right = 0, bottom = 0;  // where it was
  double x = 0;                                     // where its left edge comes to stand
};

class Wrapper {
 public:
  Wrapper(const LayoutInput& input, LayoutResult& layout) : input_(input), layout_(layout) {}

  void run(double ratio) {
    if (layout_.height < kTall * ratio * layout_.width) return;
    measureRows();
    if (static_cast<int>(rows_.size()) < kFewestRows) return;
    // count columns of height / count and count x width: how many come nearest to the ratio?
    const double wanted = std::sqrt(layout_.height / (ratio * (layout_.width + kGap)));
    const int count = std::clamp(static_cast<int>(std::lround(wanted)), 1, kMostColumns);
    chooseCuts(count);
    if (cuts_.empty()) return;
    measureColumns();
    moveEdges();
    moveNodes();
  }

 private:
  void measureRows() {
    for (size_t i = 0; i < layout_.nodes.size(); ++i) {
      const PlacedNode& node = layout_.nodes[i];
      if (static_cast<size_t>(node.row) >= rows_.size()) rows_.resize(static_cast<size_t>(node.row) + 1);
      Row& row = rows_[static_cast<size_t>(node.row)];
      row.top = std::min(row.top, node.y);
      row.bottom = std::max(row.bottom, node.y + input_.nodes[i].height);
    }
  }

  // Edges over the gap below each row.
  std::vector<int> crossings() const {
    std::vector<int> change(rows_.size() + 1, 0);
    for (const LayoutEdge& edge : input_.edges) {
      if (edge.from == edge.to) continue;
      const int a = layout_.nodes[static_cast<size_t>(edge.from)].row,
                b = layout_.nodes[static_cast<size_t>(edge.to)].row;
      ++change[static_cast<size_t>(std::min(a, b))];
      --change[static_cast<size_t>(std::max(a, b))];
    }
    for (size_t r = 1; r < change.size(); ++r) change[r] += change[r - 1];
    return change;
  }

  // Each column ends near its share of the height, at the row below which the least crosses.
  void chooseCuts(int count) {
    const std::vector<int> crossing = crossings();
    const double share = layout_.height / count;
    size_t from = 0;
    for (int k = 1; k < count; ++k) {
      size_t best = rows_.size();
      double least = std::numeric_limits<double>::max();
      for (size_t r = from; r + 1 < rows_.size(); ++r) {
        const double away = std::abs(rows_[r].bottom - share * k) / share;
        if (away > 0.45 || crossing[r] > kMostCrossing) continue;
        const double cost = crossing[r] + 6 * away;
        if (cost < least) least = cost, best = r;
      }
      if (best == rows_.size()) continue;
      cuts_.push_back((rows_[best].bottom + rows_[best + 1].top) / 2);
      from = best + 1;
    }
  }

  size_t columnAt(double y) const {
    return static_cast<size_t>(std::lower_bound(cuts_.begin(), cuts_.end(), y) - cuts_.begin());
  }

  void measureColumns() {
    columns_.assign(cuts_.size() + 1, {});
    for (WrappedColumn& column : columns_) {
      column.top = column.left = std::numeric_limits<double>::max();
      column.right = column.bottom = std::numeric_limits<double>::lowest();
    }
    const auto hold = [this](double x, double y, double width, double height) {
      WrappedColumn& column = columns_[columnAt(y)];
      column.left = std::min(column.left, x);
      column.right = std::max(column.right, x + width);
      column.top = std::min(column.top, y);
      column.bottom = std::max(column.bottom, y + height);
    };
    for (size_t i = 0; i < layout_.nodes.size(); ++i)
      hold(layout_.nodes[i].x, layout_.nodes[i].y, input_.nodes[i].width, input_.nodes[i].height);
    std::vector<int> entering(columns_.size(), 0);
    for (const RoutedEdge& edge : layout_.edges) {
      if (edge.tunnelled || edge.points.empty()) continue;
      for (const LayoutPoint& p : edge.points) hold(p.x, p.y, 0, 0);
      const size_t a = columnAt(edge.points.front().y), b = columnAt(edge.points.back().y);
      if (a != b) ++entering[std::max(a, b)];
    }
    double x = 0;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (c > 0) x += kGap + kLane * entering[c];
      columns_[c].x = x;
      x += columns_[c].right - columns_[c].left;
      foot_ = std::max(foot_, columns_[c].bottom - columns_[c].top);
    }
    layout_.width = x;
    // Wires over the heads of columns need room above.
    const int lanes = entering.empty() ? 0 : *std::max_element(entering.begin(), entering.end());
    head_ = kFirstLane + kLane * lanes;
    layout_.height = head_ + foot_ + kFirstLane;
  }

  LayoutPoint moved(LayoutPoint p) const {
    const WrappedColumn& column = columns_[columnAt(p.y)];
    return {p.x - column.left + column.x, p.y - column.top + head_};
  }

  void moveEdges() {
    std::vector<int> lanes(columns_.size(), 0);
    int footLanes = 0;
    for (RoutedEdge& edge : layout_.edges) {
      if (edge.points.empty()) continue;
      const bool up = edge.points.front().y > edge.points.back().y;
      if (up) std::reverse(edge.points.begin(), edge.points.end());
      const size_t a = columnAt(edge.points.front().y), b = columnAt(edge.points.back().y);
      std::vector<LayoutPoint> points;
      bool arrived = a == b;
      for (const LayoutPoint& p : edge.points) {
        const size_t column = columnAt(p.y);
        if (column != a && column != b) continue;
        if (column == b && !arrived) cross(points, moved(p), b, lanes[b]++, footLanes++);
        arrived |= column == b;
        points.push_back(moved(p));
      }
      if (up) std::reverse(points.begin(), points.end());
      edge.points = std::move(points);
    }
    layout_.height += kLane * footLanes;
  }

  // From the last point down to the foot, along it, up beside column `to` and over its head.
  void cross(std::vector<LayoutPoint>& points, LayoutPoint target, size_t to, int lane, int footLane) const {
    const double foot = head_ + foot_ + kFirstLane + kLane * footLane;
    const double beside = columns_[to].x - kGap / 2 - kLane * lane, over = head_ - kFirstLane - kLane * lane;
    points.push_back({points.back().x, foot});
    points.push_back({beside, foot});
    points.push_back({beside, over});
    points.push_back({target.x, over});
  }

  void moveNodes() {
    for (PlacedNode& node : layout_.nodes) {
      const LayoutPoint p = moved({node.x, node.y});
      node.x = p.x;
      node.y = p.y;
    }
  }

  const LayoutInput& input_;
  LayoutResult& layout_;
  std::vector<Row> rows_;
  std::vector<double> cuts_;  // between rows
  std::vector<WrappedColumn> columns_;
  double foot_ = 0;  // height of the longest column
  double head_ = 0;  // room above columns
};

}  // namespace

void wrapColumns(const LayoutInput& input, LayoutResult& layout, double ratio) {
  Wrapper(input, layout).run(ratio);
}

}  // namespace dyn::ui
