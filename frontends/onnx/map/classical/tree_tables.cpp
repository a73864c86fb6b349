#include "frontends/onnx/map/classical/tree_tables.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace dyn::onnx {
namespace {

constexpr double kNever = std::numeric_limits<double>::quiet_NaN();

bool asksEqual(TreeMode mode) { return mode == TreeMode::equal || mode == TreeMode::notEqual; }

class TableMaker {
 public:
  TableMaker(const TreeNodes& nodes, Dtype compared) : nodes_(nodes), isDouble_(compared == Dtype::f64) {
    made_.leafOf.assign(nodes.count(), -1);
    place_.assign(nodes.count(), -1);
  }

  TreeTables make() {
    for (int64_t root : nodes_.roots) number(root);
    made_.splits.assign(static_cast<size_t>(count_), 0);
    made_.links.assign(static_cast<size_t>(count_) * 4, 0);
    for (size_t node = 0; node != nodes_.count(); ++node)
      if (place_[node] >= 0) write(node);
    for (int64_t root : nodes_.roots) made_.starts.push_back(placeOf(root));
    const bool twice = std::any_of(nodes_.mode.begin(), nodes_.mode.end(), asksEqual);
    made_.depth = nodes_.depth * (twice ? 2 : 1);
    return std::move(made_);
  }

 private:
  // Places for what is below a root.
  void number(int64_t root) {
    std::vector<int64_t> work{root};
    while (!work.empty()) {
      const auto node = static_cast<size_t>(work.back());
      work.pop_back();
      if (nodes_.isLeaf(node)) {
        if (made_.leafOf[node] < 0) made_.leafOf[node] = made_.leaves++;
        continue;
      }
      if (place_[node] >= 0) continue;
      place_[node] = count_;
      count_ += asksEqual(nodes_.mode[node]) ? 2 : 1;
      work.push_back(nodes_.onFalse[node]);
      work.push_back(nodes_.onTrue[node]);
    }
  }

  int64_t placeOf(int64_t node) const {
    const auto at = static_cast<size_t>(node);
    return nodes_.isLeaf(at) ? -1 - made_.leafOf[at] : place_[at];
  }

  // The largest number below; never: nothing is.
  double before(double split) const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (split == -infinity) return kNever;
    return isDouble_ ? std::nextafter(split, -infinity)
                     : std::nextafter(static_cast<float>(split), -std::numeric_limits<float>::infinity());
  }

  void put(int64_t place, double split, int64_t feature, int64_t onTrue, int64_t onFalse, bool nanHolds) {
    made_.splits[static_cast<size_t>(place)] = split;
    const int64_t links[] = {feature, onTrue, onFalse, nanHolds ? 1 : 0};
    std::copy(std::begin(links), std::end(links), made_.links.begin() + place * 4);
  }

  void write(size_t node) {
    const int64_t place = place_[node], feature = nodes_.feature[node];
    const int64_t yes = placeOf(nodes_.onTrue[node]), no = placeOf(nodes_.onFalse[node]);
    const bool nan = nodes_.missingIsTrue[node] != 0;
    const double split = isDouble_ ? nodes_.split[node] : static_cast<float>(nodes_.split[node]);
    // Nothing compares with NaN, but as not equal.
    const bool never = std::isnan(split) && nodes_.mode[node] != TreeMode::notEqual;
    const TreeMode mode = never ? TreeMode::less : nodes_.mode[node];
    switch (mode) {
      case TreeMode::lessEqual:
        return put(place, split, feature, yes, no, nan);
      case TreeMode::less:
        return put(place, before(split), feature, yes, no, nan);
      case TreeMode::greater:
        return put(place, split, feature, no, yes, !nan);
      case TreeMode::greaterEqual:
        return put(place, before(split), feature, no, yes, !nan);
      case TreeMode::equal:
        put(place, split, feature, place + 1, no, nan);
        return put(place + 1, before(split), feature, no, yes, false);
      case TreeMode::notEqual:
        put(place, split, feature, place + 1, yes, false);
        return put(place + 1, before(split), feature, yes, no, false);
      case TreeMode::member:
      case TreeMode::leaf:
        break;
    }
  }

  const TreeNodes& nodes_;
  const bool isDouble_;
  TreeTables made_;
  std::vector<int64_t> place_;  // of inner nodes; -1: none leads there
  int64_t count_ = 0;
};

}  // namespace

TreeTables tablesOf(const TreeNodes& nodes, Dtype compared) { return TableMaker(nodes, compared).make(); }

}  // namespace dyn::onnx
