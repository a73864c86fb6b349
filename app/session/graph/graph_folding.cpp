#include "app/session/graph/graph_folding.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>

#include "app/session/views/graph_views.h"
#include "app/session/views/node_id.h"

namespace dyn {

namespace {

// Longer patterns are not searched for: the search takes items x this.
constexpr size_t kLongestPattern = 2048;
// Patterns of operations have at least this length, and cover so many items: shorter ones come by chance.
constexpr size_t kShortestPair = 8, kShortestPattern = 3, kLeastCovered = 24;

uint64_t mix(uint64_t seed, uint64_t value) {
  seed ^= value + 0x9E3779B97F4A7C15ull + (seed << 6) + (seed >> 2);
  return seed * 0xBF58476D1CE4E5B9ull;
}
uint64_t hashOf(const std::string& text) { return std::hash<std::string>()(text); }

// "Tensor[(batch, seq, 64), f32]" → "3 f32": what stays the same when only widths differ.
std::string withoutDims(const std::string& type) {
  const size_t close = type.rfind("), ");
  if (type.rfind("Tensor[(", 0) != 0 || close == std::string::npos) return type;
  const auto commas = std::count(type.begin(), type.begin() + static_cast<std::ptrdiff_t>(close), ',');
  return std::to_string(close == 8 ? 0 : commas + 1) + type.substr(close + 2);
}

// "layer.0" → "layer"
std::string withoutNumber(const std::string& label) {
  const size_t last = label.find_last_not_of("0123456789._-");
  return last == std::string::npos ? "group" : label.substr(0, last + 1);
}

// A run of equal stretches among the items of a group.
struct Repetition {
  size_t begin = 0, period = 0, count = 0;
  size_t end() const { return begin + period * count; }
};

// An operation, or a group with all that stands in it.
struct Item {
  int node = -1, group = -1;
  uint64_t shape = 0;  // hash of its structure
  uint64_t exact = 0;  // the same with types and attributes
  size_t first = 0;    // position of its first node
  size_t last = 0;     // and of the last node that reads what it makes
};

class Folder {
 public:
  Folder(GraphView& view, const FoldingLimits& limits) : view_(view), limits_(limits) {}

  void fold() {
    measure();
    const int groups = static_cast<int>(view_.groups.size());
    collectItems();
    for (int g = -1; g < groups; ++g) {
      const std::string path = g < 0 ? "" : view_.groups[static_cast<size_t>(g)].path;
      foldItems(items_[g], 0, items_[g].size(), g, path);
    }
    if (static_cast<int>(view_.groups.size()) == groups) return;
    adoptConstants();
    adoptBodies();
    parentsFirst();
  }

 private:
  GraphGroup& group(int g) { return view_.groups[static_cast<size_t>(g)]; }
  GraphNode& node(int n) { return view_.nodes[static_cast<size_t>(n)]; }

  void measure() {
    for (size_t n = 0; n < view_.nodes.size(); ++n) {
      positionOf_[view_.nodes[n].id] = n;
      lastUse_.push_back(n);
    }
    for (const GraphEdge& edge : view_.edges) {
      auto from = positionOf_.find(edge.from), to = positionOf_.find(edge.to);
      if (from == positionOf_.end() || to == positionOf_.end()) continue;
      lastUse_[from->second] = std::max(lastUse_[from->second], to->second);
    }
  }

  Item itemOf(int n) {
    const GraphNode& it = node(n);
    const auto position = static_cast<size_t>(n);
    Item item{n, -1, mix(hashOf(it.label), it.inputs.size()), 0, position, lastUse_[position]};
    item.shape = mix(item.shape, hashOf(it.outputs.empty() ? "" : withoutDims(it.outputs[0].type)));
    item.exact = mix(item.shape, hashOf(it.outputs.empty() ? "" : it.outputs[0].type));
    for (const auto& [name, value] : it.attributes) item.exact = mix(item.exact, hashOf(name + "=" + value));
    return item;
  }

  // Items of each group in the order in which they begin. Inputs, outputs and constants are none.
  void collectItems() {
    std::vector<int> at(view_.groups.size(), -1);  // of each group among the items of its parent
    for (size_t n = 0; n < view_.nodes.size(); ++n) {
      if (view_.nodes[n].kind != NodeKind::operation) continue;
      const Item item = itemOf(static_cast<int>(n));
      int inside = view_.nodes[n].group;
      items_[inside].push_back(item);
      // What is in a body does not make up the group that the body stands in: its operation does.
      while (inside >= 0 && group(inside).kind != GroupKind::region) {
        int& place = at[static_cast<size_t>(inside)];
        std::vector<Item>& around = items_[group(inside).parent];
        if (place < 0) {
          place = static_cast<int>(around.size());
          around.push_back({-1, inside, 0, 0, n, n});
        }
        Item& whole = around[static_cast<size_t>(place)];
        whole.shape = mix(whole.shape, item.shape);
        whole.exact = mix(whole.exact, item.exact);
        whole.last = std::max(whole.last, item.last);
        inside = group(inside).parent;
      }
    }
  }

  // Values made before item `i` and used at or behind it: the fewer, the better a place to cut.
  std::vector<int> crossings(const std::vector<Item>& items, size_t begin, size_t end) {
    std::vector<int> change(end - begin + 1, 0);
    std::vector<size_t> firsts;
    for (size_t i = begin; i < end; ++i) firsts.push_back(items[i].first);
    for (size_t i = begin; i < end; ++i) {
      const auto after =
          static_cast<size_t>(std::upper_bound(firsts.begin(), firsts.end(), items[i].last) - firsts.begin());
      if (after <= i - begin + 1) continue;
      ++change[i - begin + 1];
      --change[after];
    }
    for (size_t i = 1; i < change.size(); ++i) change[i] += change[i - 1];
    return change;
  }

  // The repetition that covers most; the shorter pattern of two that cover the same. `shapes`: of the items
  // from `first` on.
  Repetition longest(const std::vector<Item>& items, const std::vector<uint64_t>& shapes, size_t first,
                     size_t begin, size_t end) {
    Repetition best;
    size_t most = 0;
    const auto shape = [&](size_t item) { return shapes[item - first]; };
    for (size_t period = 1; period <= std::min((end - begin) / 2, kLongestPattern); ++period) {
      if (end - begin - period <= most) break;  // so far apart there are not as many pairs
      size_t equal = 0;
      for (size_t i = begin; i + period <= end; ++i) {
        if (i + period < end && shape(i) == shape(i + period)) {
          ++equal;
          continue;
        }
        const size_t count = equal / period + 1;
        const bool isLong =
            period * count >= kLeastCovered && period >= (count > 2 ? kShortestPattern : kShortestPair);
        const bool enough = count > 1 && (isLong || (count > 2 && items[i - equal].group >= 0));
        if (enough && equal > most) {
          most = equal;
          best = {i - equal, period, count};
        }
        equal = 0;
      }
    }
    return most == 0 ? best : wellCut(items, begin, end, best, most);
  }

  // A run may begin a few items later, if need be with a block less: where the least crosses from one to the
  // next.
  Repetition wellCut(const std::vector<Item>& items, size_t begin, size_t end, Repetition found,
                     size_t equal) {
    const std::vector<int> crossing = crossings(items, begin, end);
    Repetition best = found;
    double least = 0;
    for (size_t shift = 0; shift < found.period; ++shift) {
      const size_t count = (equal + found.period - shift) / found.period;
      if (count < found.count && count < 3) break;
      double sum = 0;
      for (size_t k = 0; k <= count; ++k) sum += crossing[found.begin - begin + shift + k * found.period];
      const double mean = sum / static_cast<double>(count + 1) + (count < found.count ? 0.5 : 0);
      if (shift > 0 && mean >= least) continue;
      least = mean;
      best = {found.begin + shift, found.period, count};
    }
    return best;
  }

  int addGroup(GroupKind kind, const std::string& path, const std::string& label, int parent) {
    view_.groups.push_back({path, label, kind, parent, kNoNode});
    return static_cast<int>(view_.groups.size()) - 1;
  }

  void moveInto(const std::vector<Item>& items, size_t begin, size_t end, int target) {
    for (size_t i = begin; i < end; ++i) {
      if (items[i].node >= 0)
        node(items[i].node).group = target;
      else
        group(items[i].group).parent = target;
    }
  }

  // Folds [begin, end), which stands in `parent`.
  void foldItems(const std::vector<Item>& items, size_t begin, size_t end, int parent,
                 const std::string& path) {
    if (end - begin <= static_cast<size_t>(limits_.repeatsFrom)) return;
    // What is left beside repetitions, in order; each repetition is one item of its own.
    std::vector<Item> left;
    std::vector<std::pair<size_t, size_t>> stretches = {{begin, end}};
    std::vector<Repetition> found;
    std::vector<uint64_t> shapes;
    for (size_t i = begin; i < end; ++i) shapes.push_back(items[i].shape);
    while (!stretches.empty()) {
      const auto [from, to] = stretches.back();
      stretches.pop_back();
      const Repetition run =
          to - from < 2 * kShortestPattern ? Repetition() : longest(items, shapes, begin, from, to);
      if (run.count == 0) continue;
      found.push_back(run);
      stretches.emplace_back(from, run.begin);
      stretches.emplace_back(run.end(), to);
    }
    std::sort(found.begin(), found.end(),
              [](const Repetition& a, const Repetition& b) { return a.begin < b.begin; });
    size_t at = begin;
    for (size_t r = 0; r < found.size(); ++r) {
      left.insert(left.end(), items.begin() + static_cast<std::ptrdiff_t>(at),
                  items.begin() + static_cast<std::ptrdiff_t>(found[r].begin));
      Item run{-1, foldRun(items, found[r], parent, fmt::format("{}#{}", path, r)), 0, 0, 0, 0};
      run.first = items[found[r].begin].first;
      for (at = found[r].begin; at < found[r].end(); ++at) run.last = std::max(run.last, items[at].last);
      left.push_back(run);
    }
    left.insert(left.end(), items.begin() + static_cast<std::ptrdiff_t>(at),
                items.begin() + static_cast<std::ptrdiff_t>(end));
    cutIntoParts(left, parent, path);
  }

  int foldRun(const std::vector<Item>& items, const Repetition& run, int parent, const std::string& path) {
    const std::string what = run.period == 1 && items[run.begin].group >= 0
                                 ? withoutNumber(group(items[run.begin].group).label)
                                 : "block";
    const int holder = addGroup(GroupKind::repeat, path, fmt::format("{} × {}", run.count, what), parent);
    std::vector<uint64_t> known;
    for (size_t k = 0; k < run.count; ++k) {
      const size_t begin = run.begin + k * run.period, end = begin + run.period;
      if (run.period == 1 && items[begin].group >= 0) {
        moveInto(items, begin, end, holder);
        continue;
      }
      uint64_t exact = 0;
      for (size_t i = begin; i < end; ++i) exact = mix(exact, items[i].exact);
      const size_t same = static_cast<size_t>(std::find(known.begin(), known.end(), exact) - known.begin());
      known.push_back(exact);
      std::string label = fmt::format("block {}", k + 1);
      if (same < k) label += fmt::format(" · as {}", same + 1);
      const std::string inner = fmt::format("{}/{}", path, k + 1);
      const int block = addGroup(GroupKind::block, inner, label, holder);
      moveInto(items, begin, end, block);
      foldItems(items, begin, end, block, inner);
    }
    return holder;
  }

  // What lies between repetitions, cut at the places where the least crosses, so many items apart as a part
  // should have.
  void cutIntoParts(const std::vector<Item>& items, int parent, const std::string& path) {
    if (items.size() <= static_cast<size_t>(limits_.partsFrom)) return;
    const auto partSize = static_cast<size_t>(limits_.partSize);
    // So large that the parts themselves are no more than can be read.
    const size_t size = std::max(partSize, (items.size() + partSize - 1) / partSize);
    const std::vector<int> crossing = crossings(items, 0, items.size());
    int number = 0;
    size_t begin = 0;
    while (begin < items.size()) {
      if (isRepeat(items[begin])) {
        ++begin;
        continue;
      }
      size_t stretch = begin;
      while (stretch < items.size() && !isRepeat(items[stretch])) ++stretch;
      size_t end = stretch;
      if (begin + size + size / 2 < stretch) {
        end = begin + size;
        for (size_t cut = begin + size - size / 3; cut <= begin + size + size / 3; ++cut)
          if (crossing[cut] < crossing[end]) end = cut;
      }
      const std::string inner = fmt::format("{}#part{}", path, ++number);
      const std::vector<Item> inside(items.begin() + static_cast<std::ptrdiff_t>(begin),
                                     items.begin() + static_cast<std::ptrdiff_t>(end));
      if (inside.size() > 1) {
        const int part = addGroup(GroupKind::part, inner, labelOf(inside), parent);
        moveInto(inside, 0, inside.size(), part);
        cutIntoParts(inside, part, inner);
      }
      begin = end;
    }
  }

  bool isRepeat(const Item& item) { return item.group >= 0 && group(item.group).kind == GroupKind::repeat; }

  // "matmul, softmax, matmul": the operations that cost most, else those there are most of.
  std::string labelOf(const std::vector<Item>& items) {
    constexpr size_t kNames = 3;
    std::vector<std::string> names;
    for (const char* wanted : {"contraction", "reduction", ""}) {
      for (const Item& item : items) {
        if (item.node < 0 || names.size() == kNames) continue;
        const GraphNode& it = node(item.node);
        if ((*wanted == 0 || it.opClass == wanted) && (names.empty() || names.back() != it.op))
          names.push_back(it.op);
      }
      if (!names.empty()) break;
    }
    return names.empty() ? "part" : fmt::format("{} …", fmt::join(names, ", "));
  }

  // A constant stands with those who use it, when they all stand together.
  void adoptConstants() {
    std::unordered_map<size_t, int> user;
    for (const GraphEdge& edge : view_.edges) {
      auto from = positionOf_.find(edge.from), to = positionOf_.find(edge.to);
      if (from == positionOf_.end() || to == positionOf_.end()) continue;
      if (view_.nodes[from->second].kind != NodeKind::constant) continue;
      const int where = view_.nodes[to->second].group;
      auto [it, isNew] = user.emplace(from->second, where);
      if (!isNew && it->second != where) it->second = view_.nodes[from->second].group;
    }
    for (const auto& [constant, where] : user) view_.nodes[constant].group = where;
  }

  // Bodies of operations stand where their operation stands.
  void adoptBodies() {
    for (GraphGroup& body : view_.groups) {
      if (body.kind != GroupKind::region || body.owner == kNoNode) continue;
      auto owner = positionOf_.find(body.owner);
      if (owner != positionOf_.end()) body.parent = view_.nodes[owner->second].group;
    }
  }

  void parentsFirst() {
    const size_t count = view_.groups.size();
    std::vector<int> newIndex(count, -1);
    std::vector<GraphGroup> ordered;
    std::vector<size_t> chain;
    for (size_t g = 0; g < count; ++g) {
      for (int at = static_cast<int>(g); at >= 0 && newIndex[static_cast<size_t>(at)] < 0;
           at = group(at).parent)
        chain.push_back(static_cast<size_t>(at));
      for (; !chain.empty(); chain.pop_back()) {
        newIndex[chain.back()] = static_cast<int>(ordered.size());
        ordered.push_back(view_.groups[chain.back()]);
      }
    }
    for (GraphGroup& g : ordered)
      if (g.parent >= 0) g.parent = newIndex[static_cast<size_t>(g.parent)];
    for (GraphNode& n : view_.nodes)
      if (n.group >= 0) n.group = newIndex[static_cast<size_t>(n.group)];
    view_.groups = std::move(ordered);
  }

  GraphView& view_;
  const FoldingLimits limits_;
  std::unordered_map<NodeId, size_t> positionOf_;
  std::vector<size_t> lastUse_;             // position of the last node that reads a result
  std::map<int, std::vector<Item>> items_;  // of each group; -1: of none
};

}  // namespace

void foldGraph(GraphView& view, const FoldingLimits& limits) { Folder(view, limits).fold(); }

}  // namespace dyn
