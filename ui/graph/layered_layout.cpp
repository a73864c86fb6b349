#include "ui/graph/layered_layout.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

namespace dyn::ui {

namespace {

constexpr int kOrderSweeps = 8;
constexpr int kCoordinateSweeps = 16;
constexpr int64_t kCrossingsKept = 4;
constexpr double kVirtualWidth = 10;

struct Link {
  int from, to;
};

class Layout {
 public:
  explicit Layout(const LayoutInput& input) : input_(input), count_(static_cast<int>(input.nodes.size())) {}

  LayoutResult run() {
    result_.nodes.resize(input_.nodes.size());
    result_.edges.resize(input_.edges.size());
    if (count_ == 0) return std::move(result_);
    directEdges();
    rankNodes();
    makeChains();
    orderRows();
    placeAcross();
    placeDown();
    route();
    return std::move(result_);
  }

 private:
  // Turns round the edges that close a cycle, found by a depth-first walk in the given order.
  void directEdges() {
    std::vector<std::vector<int>> out(input_.nodes.size());
    directed_.assign(input_.edges.size(), {-1, -1});
    for (size_t e = 0; e < input_.edges.size(); ++e) {
      const auto [from, to, isTunnelled] = input_.edges[e];
      result_.edges[e].tunnelled = isTunnelled;
      if (isTunnelled || from == to || from < 0 || to < 0 || from >= count_ || to >= count_) continue;
      directed_[e] = {from, to};
      out[static_cast<size_t>(from)].push_back(static_cast<int>(e));
    }
    std::vector<uint8_t> state(input_.nodes.size(), 0);  // 0 new, 1 on the path, 2 done
    std::vector<std::pair<int, size_t>> path;
    for (int start = 0; start < count_; ++start) {
      if (state[static_cast<size_t>(start)] != 0) continue;
      state[static_cast<size_t>(start)] = 1;
      path.emplace_back(start, 0);
      while (!path.empty()) {
        auto& [node, next] = path.back();
        const std::vector<int>& edges = out[static_cast<size_t>(node)];
        if (next == edges.size()) {
          state[static_cast<size_t>(node)] = 2;
          path.pop_back();
          continue;
        }
        const size_t e = static_cast<size_t>(edges[next++]);
        const int to = input_.edges[e].to;
        if (state[static_cast<size_t>(to)] == 1) {
          directed_[e] = {to, input_.edges[e].from};
        } else if (state[static_cast<size_t>(to)] == 0) {
          state[static_cast<size_t>(to)] = 1;
          path.emplace_back(to, 0);
        }
      }
    }
  }

  void rankNodes() {
    std::vector<std::vector<int>> next(input_.nodes.size());
    std::vector<int> waiting(input_.nodes.size(), 0);
    for (const Link& e : directed_)
      if (e.from >= 0) {
        next[static_cast<size_t>(e.from)].push_back(e.to);
        ++waiting[static_cast<size_t>(e.to)];
      }
    const std::vector<int> incoming = waiting;
    std::vector<char> isTop(input_.nodes.size(), 0);
    for (int port : input_.tops) isTop[static_cast<size_t>(port)] = 1;
    rank_.assign(input_.nodes.size(), input_.tops.empty() ? 0 : 1);
    for (int port : input_.tops) rank_[static_cast<size_t>(port)] = 0;
    std::vector<int> queue;
    for (int i = 0; i < count_; ++i)
      if (waiting[static_cast<size_t>(i)] == 0) queue.push_back(i);
    for (size_t at = 0; at < queue.size(); ++at) {
      const size_t node = static_cast<size_t>(queue[at]);
      for (int to : next[node]) {
        rank_[static_cast<size_t>(to)] = std::max(rank_[static_cast<size_t>(to)], rank_[node] + 1);
        if (--waiting[static_cast<size_t>(to)] == 0) queue.push_back(to);
      }
    }
    // A source stands right above its first consumer; from behind, so that chains of them follow.
    for (size_t at = queue.size(); at-- > 0;) {
      const size_t node = static_cast<size_t>(queue[at]);
      if (incoming[node] != 0 || next[node].empty() || isTop[node]) continue;
      int first = std::numeric_limits<int>::max();
      for (int to : next[node]) first = std::min(first, rank_[static_cast<size_t>(to)]);
      rank_[node] = first - 1;
    }
    rowCount_ = *std::max_element(rank_.begin(), rank_.end()) + 1;
    for (int port : input_.bottoms) rank_[static_cast<size_t>(port)] = rowCount_;
    rowCount_ += !input_.bottoms.empty();
  }

  // Virtual nodes where an edge crosses a row; their indices follow those of the real ones.
  void makeChains() {
    row_ = rank_;
    width_.resize(input_.nodes.size());
    for (size_t i = 0; i < input_.nodes.size(); ++i) width_[i] = input_.nodes[i].width;
    chains_.resize(input_.edges.size());
    for (size_t e = 0; e < directed_.size(); ++e) {
      const auto [from, to] = directed_[e];
      if (from < 0) continue;
      const int first = rank_[static_cast<size_t>(from)], last = rank_[static_cast<size_t>(to)];
      if (last - first > input_.tunnelRows) {
        result_.edges[e].tunnelled = true;
        continue;
      }
      std::vector<int>& chain = chains_[e];
      chain.push_back(from);
      for (int r = first + 1; r < last; ++r) {
        chain.push_back(static_cast<int>(row_.size()));
        row_.push_back(r);
        width_.push_back(kVirtualWidth);
      }
      chain.push_back(to);
    }
    above_.resize(row_.size());
    below_.resize(row_.size());
    for (const std::vector<int>& chain : chains_)
      for (size_t i = 1; i < chain.size(); ++i) {
        below_[static_cast<size_t>(chain[i - 1])].push_back(chain[i]);
        above_[static_cast<size_t>(chain[i])].push_back(chain[i - 1]);
      }
  }

  void orderRows() {
    rows_.assign(static_cast<size_t>(rowCount_), {});
    // First order: by a walk from the top, so that what belongs together starts together.
    std::vector<uint8_t> seen(row_.size(), 0);
    std::vector<int> stack;
    for (int start = 0; start < count_; ++start) {
      if (seen[static_cast<size_t>(start)] || !above_[static_cast<size_t>(start)].empty()) continue;
      stack.push_back(start);
      while (!stack.empty()) {
        const int node = stack.back();
        stack.pop_back();
        if (seen[static_cast<size_t>(node)]) continue;
        seen[static_cast<size_t>(node)] = 1;
        rows_[static_cast<size_t>(row_[static_cast<size_t>(node)])].push_back(node);
        const std::vector<int>& next = below_[static_cast<size_t>(node)];
        for (size_t i = next.size(); i-- > 0;) stack.push_back(next[i]);
      }
    }
    position_.assign(row_.size(), 0);
    for (const auto& row : rows_) number(row);
    const std::vector<std::vector<int>> walked = rows_;
    if (orderAsBefore()) {
      const int64_t kept = crossings();
      const std::vector<std::vector<int>> before = rows_;
      rows_ = walked;
      for (const auto& row : rows_) number(row);
      sweepRows();
      // An order that people know is worth some crossings.
      if (kept <= 2 * crossings() + kCrossingsKept) rows_ = before;
    } else {
      sweepRows();
    }
    for (const auto& row : rows_) number(row);
  }

  // Rows in the order in which their boxes stood before; what is new stands by its neighbours. False: nothing
  // of it was there.
  bool orderAsBefore() {
    if (input_.before.size() != input_.nodes.size()) return false;
    std::vector<double> place(row_.size(), std::numeric_limits<double>::quiet_NaN());
    std::copy(input_.before.begin(), input_.before.end(), place.begin());
    if (std::all_of(place.begin(), place.end(), [](double x) { return std::isnan(x); })) return false;
    const auto settleBy = [&](const std::vector<std::vector<int>>& neighbours, int node) {
      double sum = 0;
      int known = 0;
      for (int other : neighbours[static_cast<size_t>(node)]) {
        const double x = place[static_cast<size_t>(other)];
        if (std::isnan(x)) continue;
        sum += x;
        ++known;
      }
      if (std::isnan(place[static_cast<size_t>(node)]) && known > 0)
        place[static_cast<size_t>(node)] = sum / known;
    };
    for (const auto& row : rows_)
      for (int node : row) settleBy(above_, node);
    for (int r = rowCount_; r-- > 0;)
      for (int node : rows_[static_cast<size_t>(r)]) settleBy(below_, node);
    for (auto& row : rows_) {
      double last = std::numeric_limits<double>::lowest();  // what nothing says stays beside its neighbour
      for (int node : row) {
        double& x = place[static_cast<size_t>(node)];
        if (std::isnan(x)) x = last;
        last = x;
      }
      std::stable_sort(row.begin(), row.end(), [&](int a, int b) {
        return place[static_cast<size_t>(a)] < place[static_cast<size_t>(b)];
      });
      number(row);
    }
    return true;
  }

  // Leaves the best of some barycentre sweeps.
  void sweepRows() {
    std::vector<std::vector<int>> best = rows_;
    int64_t fewest = crossings();
    for (int sweep = 0; sweep < kOrderSweeps && fewest > 0; ++sweep) {
      if (sweep % 2 == 0) {
        for (int r = 1; r < rowCount_; ++r) sortRow(rows_[static_cast<size_t>(r)], above_);
      } else {
        for (int r = rowCount_ - 1; r-- > 0;) sortRow(rows_[static_cast<size_t>(r)], below_);
      }
      const int64_t now = crossings();
      if (now < fewest) {
        fewest = now;
        best = rows_;
      }
    }
    rows_ = std::move(best);
    for (const auto& row : rows_) number(row);
  }

  void number(const std::vector<int>& row) {
    for (size_t i = 0; i < row.size(); ++i) position_[static_cast<size_t>(row[i])] = static_cast<double>(i);
  }

  void sortRow(std::vector<int>& row, const std::vector<std::vector<int>>& neighbours) {
    std::vector<std::pair<double, int>> keyed;
    keyed.reserve(row.size());
    for (int node : row) {
      double sum = 0;
      const auto& list = neighbours[static_cast<size_t>(node)];
      for (int other : list) sum += position_[static_cast<size_t>(other)];
      keyed.emplace_back(
          list.empty() ? position_[static_cast<size_t>(node)] : sum / static_cast<double>(list.size()), node);
    }
    std::stable_sort(keyed.begin(), keyed.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t i = 0; i < row.size(); ++i) row[i] = keyed[i].second;
    number(row);
  }

  // Pairs of links between neighbouring rows that cross; counted with a Fenwick tree.
  int64_t crossings() const {
    int64_t total = 0;
    std::vector<int64_t> tree;
    std::vector<int> targets;
    for (int r = 0; r + 1 < rowCount_; ++r) {
      tree.assign(rows_[static_cast<size_t>(r) + 1].size() + 1, 0);
      int64_t seen = 0;
      for (int node : rows_[static_cast<size_t>(r)]) {
        targets.clear();
        for (int to : below_[static_cast<size_t>(node)])
          targets.push_back(static_cast<int>(position_[static_cast<size_t>(to)]));
        for (int t : targets) {
          int64_t notRight = 0;
          for (size_t i = static_cast<size_t>(t) + 1; i > 0; i &= i - 1) notRight += tree[i];
          total += seen - notRight;
        }
        for (int t : targets)
          for (size_t i = static_cast<size_t>(t) + 1; i < tree.size(); i += i & (~i + 1)) ++tree[i];
        seen += static_cast<int64_t>(targets.size());
      }
    }
    return total;
  }

  double gap(int left, int right) const {
    const bool both = left >= count_ && right >= count_;
    return (width_[static_cast<size_t>(left)] + width_[static_cast<size_t>(right)]) / 2 +
           (both ? 4 : input_.nodeGap);
  }

  // The centres of a row nearest to what is wished (weighted squares) that keep order and distance: pool
  // adjacent violators.
  void settle(const std::vector<int>& row, const std::vector<double>& wish,
              const std::vector<double>& weight) {
    struct Block {
      double sum, weight;
      size_t end;
      double value() const { return sum / weight; }
    };
    std::vector<Block> blocks;
    std::vector<double> offset(row.size(), 0);
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) offset[i] = offset[i - 1] + gap(row[i - 1], row[i]);
      blocks.push_back({(wish[i] - offset[i]) * weight[i], weight[i], i + 1});
      while (blocks.size() > 1 && blocks[blocks.size() - 2].value() > blocks.back().value()) {
        Block last = blocks.back();
        blocks.pop_back();
        blocks.back().sum += last.sum;
        blocks.back().weight += last.weight;
        blocks.back().end = last.end;
      }
    }
    size_t i = 0;
    for (const Block& block : blocks)
      for (; i < block.end; ++i) centre_[static_cast<size_t>(row[i])] = block.value() + offset[i];
  }

  void placeAcross() {
    centre_.assign(row_.size(), 0);
    for (const auto& row : rows_)
      for (size_t i = 1; i < row.size(); ++i)
        centre_[static_cast<size_t>(row[i])] =
            centre_[static_cast<size_t>(row[i - 1])] + gap(row[i - 1], row[i]);
    for (int sweep = 0; sweep < kCoordinateSweeps; ++sweep) {
      const bool last = sweep + 2 >= kCoordinateSweeps;
      for (int step = 0; step < rowCount_; ++step) {
        const int r = sweep % 2 == 0 ? step : rowCount_ - 1 - step;
        const std::vector<int>& row = rows_[static_cast<size_t>(r)];
        std::vector<double> wish(row.size()), weight(row.size());
        for (size_t i = 0; i < row.size(); ++i) {
          const size_t node = static_cast<size_t>(row[i]);
          double sum = 0, total = 0;
          auto pull = [&](const std::vector<int>& neighbours) {
            for (int other : neighbours) {
              const double strength = other >= count_ && row[i] >= count_ ? 4 : 1;
              sum += strength * centre_[static_cast<size_t>(other)];
              total += strength;
            }
          };
          if (last || sweep % 2 == 0) pull(above_[node]);
          if (last || sweep % 2 == 1) pull(below_[node]);
          if (total == 0) pull(sweep % 2 == 0 ? below_[node] : above_[node]);
          wish[i] = total > 0 ? sum / total : centre_[node];
          weight[i] = total > 0 ? (row[i] >= count_ ? 3 : total) : 0.1;
        }
        settle(row, wish, weight);
      }
    }
    double left = std::numeric_limits<double>::max(), right = std::numeric_limits<double>::lowest();
    for (size_t i = 0; i < centre_.size(); ++i) {
      left = std::min(left, centre_[i] - width_[i] / 2);
      right = std::max(right, centre_[i] + width_[i] / 2);
    }
    for (double& c : centre_) c -= left;
    result_.width = right - left;
  }

  void placeDown() {
    std::vector<double> height(static_cast<size_t>(rowCount_), 0);
    for (int i = 0; i < count_; ++i) {
      double& h = height[static_cast<size_t>(rank_[static_cast<size_t>(i)])];
      h = std::max(h, input_.nodes[static_cast<size_t>(i)].height);
    }
    top_.assign(static_cast<size_t>(rowCount_) + 1, 0);
    bottom_.assign(static_cast<size_t>(rowCount_), 0);
    for (size_t r = 0; r < height.size(); ++r) {
      bottom_[r] = top_[r] + height[r];
      top_[r + 1] = bottom_[r] + input_.rowGap;
    }
    result_.height = bottom_.back();
    for (int i = 0; i < count_; ++i) {
      const size_t n = static_cast<size_t>(i), r = static_cast<size_t>(rank_[n]);
      result_.nodes[n] = {centre_[n] - width_[n] / 2, top_[r] + (height[r] - input_.nodes[n].height) / 2,
                          rank_[n]};
    }
  }

  // Ends are spread over the box in the order of where the edges come from.
  void route() {
    std::vector<std::vector<std::pair<double, size_t>>> ins(input_.nodes.size()), outs(input_.nodes.size());
    for (size_t e = 0; e < chains_.size(); ++e) {
      const std::vector<int>& chain = chains_[e];
      if (chain.size() < 2) continue;
      outs[static_cast<size_t>(chain.front())].emplace_back(centre_[static_cast<size_t>(chain[1])], e);
      ins[static_cast<size_t>(chain.back())].emplace_back(
          centre_[static_cast<size_t>(chain[chain.size() - 2])], e);
    }
    std::vector<double> endX(chains_.size(), 0), startX(chains_.size(), 0);
    auto spread = [&](std::vector<std::vector<std::pair<double, size_t>>>& lists, std::vector<double>& x) {
      for (size_t n = 0; n < lists.size(); ++n) {
        auto& list = lists[n];
        std::stable_sort(list.begin(), list.end());
        const double step =
            std::min(14.0, width_[n] * 0.7 / static_cast<double>(std::max<size_t>(1, list.size())));
        for (size_t i = 0; i < list.size(); ++i)
          x[list[i].second] =
              centre_[n] + step * (static_cast<double>(i) - (static_cast<double>(list.size()) - 1) / 2);
      }
    };
    spread(ins, endX);
    for (size_t n = 0; n < outs.size(); ++n)
      for (const auto& item : outs[n]) startX[item.second] = centre_[n];
    for (size_t e = 0; e < chains_.size(); ++e) {
      const std::vector<int>& chain = chains_[e];
      if (chain.size() < 2) continue;
      std::vector<LayoutPoint>& points = result_.edges[e].points;
      const size_t from = static_cast<size_t>(chain.front()), to = static_cast<size_t>(chain.back());
      points.push_back({startX[e], result_.nodes[from].y + input_.nodes[from].height});
      // Within its row a line goes straight: beside it there may be taller boxes.
      points.push_back({startX[e], bottom_[static_cast<size_t>(row_[from])]});
      for (size_t i = 1; i + 1 < chain.size(); ++i) {
        const size_t node = static_cast<size_t>(chain[i]), r = static_cast<size_t>(row_[node]);
        points.push_back({centre_[node], top_[r]});
        points.push_back({centre_[node], bottom_[r]});
      }
      points.push_back({endX[e], top_[static_cast<size_t>(row_[to])]});
      points.push_back({endX[e], result_.nodes[to].y});
      if (directed_[e].from != input_.edges[e].from) std::reverse(points.begin(), points.end());
    }
  }

  const LayoutInput& input_;
  int count_;
  int rowCount_ = 0;
  std::vector<Link> directed_;  // {-1, -1}: takes no part
  std::vector<int> rank_, row_;
  std::vector<double> width_, centre_, position_, top_, bottom_;
  std::vector<std::vector<int>> chains_, above_, below_, rows_;
  LayoutResult result_;
};

}  // namespace

LayoutResult layeredLayout(const LayoutInput& input) { return Layout(input).run(); }

}  // namespace dyn::ui
