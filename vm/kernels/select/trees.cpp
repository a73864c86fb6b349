// walk_trees: the places that rows reach in decision trees.
//
// A walk is a chain of loads that wait for each other, and leaves lie at very different depths. So many walks
// go on side by side, some steps of each at a time, and those that have ended are left out of the next steps:
// a walk costs about its own length, whatever the deepest leaf is. A group of rows and trees that are walked
// together stays in the cache, with their nodes; so do the rows of a block for all trees.
#include <algorithm>
#include <array>
#include <atomic>

#include "vm/kernels/builtins.h"
#include "vm/kernels/work.h"

namespace dyn::vm::kernels {
namespace {

using calls::WalkTrees;

constexpr int64_t kWalks = 1024;              // side by side
constexpr int64_t kTreesTogether = 16;        // places of a line of the result
constexpr int64_t kBytesOfNodes = 128 << 10;  // of trees that are walked together, about
constexpr int64_t kBytesOfRows = 128 << 10;   // of a block
constexpr double kStepsOfWalk = 32;           // multiply-adds that a walk is worth, about

// Walks whose steps are made in turn, in registers, and how many steps before those that have ended are left
// out, where leaves lie at different depths.
constexpr size_t kLanes = 8;
constexpr int64_t kStepsTogether = 3;

// What a link that leads out of the tables leads to.
enum class Outside : uint8_t { nothing, place, feature };

struct Links {
  int32_t feature;
  int32_t to[2];  // where `x <= split` holds, and where not
  int32_t missing;
};

template <typename T>
struct Forest {
  const T* x;
  const T* splits;
  const Links* links;
  const int32_t* places;
  int32_t* reached;
  int64_t rows, features, nodes, trees, steps;
  bool eachRow;  // has places of its own

  int32_t placeOf(int64_t row, int64_t tree) const { return places[eachRow ? row * trees + tree : tree]; }

  // Trees with about as many nodes as their depth allows end all walks at the last step.
  int64_t stepsTogether() const {
    constexpr int64_t kDeepest = 16;
    const bool isFull = steps > 0 && steps <= kDeepest && nodes >= trees * (int64_t{3} << steps) / 4;
    return isFull ? steps : kStepsTogether;
  }

  bool hasNan(int64_t firstRow, int64_t rowCount) const {
    int32_t found = 0;
    const T* row = x + firstRow * features;
    for (int64_t i = 0; i < rowCount * features; ++i) found |= row[i] != row[i] ? 1 : 0;
    return found != 0;
  }

  // Rows [firstRow, firstRow + rowCount) in as many trees. `kNan`: rows may have NaN.
  template <bool kNan>
  Outside walk(int64_t firstRow, int64_t rowCount, int64_t firstTree, int64_t treeCount) const {
    std::array<int32_t, kWalks> at;
    std::array<uint32_t, kWalks> active;
    std::array<const T*, kWalks> from;
    uint32_t walk = 0;
    size_t count = 0;
    for (int64_t row = firstRow; row < firstRow + rowCount; ++row)
      for (int64_t tree = firstTree; tree < firstTree + treeCount; ++tree, ++walk) {
        const int32_t place = placeOf(row, tree);
        if (place >= nodes) return Outside::place;
        at[walk] = place;
        from[walk] = x + row * features;
        active[count] = walk;
        count += place >= 0 ? 1 : 0;
      }
    const T* const split = splits;
    const Links* const link = links;
    const int64_t featureCount = features;
    const auto nodeCount = static_cast<int32_t>(nodes);
    const int64_t most = stepsTogether();
    for (int64_t step = 0; step < steps && count > 0; step += most) {
      const int64_t together = std::min(most, steps - step);
      size_t left = 0;
      for (size_t i = 0; i < count; i += kLanes) {
        // Lanes without a walk of their own do what the last one does.
        const size_t lanes = std::min(kLanes, count - i);
        std::array<uint32_t, kLanes> own;
        std::array<int32_t, kLanes> node, next;
        std::array<const T*, kLanes> row;
        for (size_t lane = 0; lane < kLanes; ++lane) {
          own[lane] = active[i + std::min(lane, lanes - 1)];
          node[lane] = at[own[lane]];
          row[lane] = from[own[lane]];
        }
        for (int64_t k = 0; k < together; ++k)
          for (size_t lane = 0; lane < kLanes; ++lane) {
            const auto place = static_cast<uint32_t>(node[lane]);
            const Links& here = link[place];
            const auto feature = static_cast<uint32_t>(here.feature);
            if (feature >= featureCount) return Outside::feature;
            const T value = row[lane][feature];
            // Without branches: which way a row goes is as good as chance.
            size_t way = value <= split[place] ? 0 : 1;
            if constexpr (kNan) way &= (value == value) | (here.missing == 0);
            next[lane] = here.to[way];
            if (next[lane] >= nodeCount) return Outside::place;
            // At a leaf it makes its last step again.
            node[lane] = next[lane] < 0 ? node[lane] : next[lane];
          }
        for (size_t lane = 0; lane < lanes; ++lane) {
          at[own[lane]] = next[lane];
          active[left] = own[lane];
          left += static_cast<uint32_t>(~next[lane]) >> 31;
        }
      }
      count = left;
    }
    const int32_t* place = at.data();
    for (int64_t row = firstRow; row < firstRow + rowCount; ++row, place += treeCount)
      std::copy_n(place, treeCount, reached + row * trees + firstTree);
    return Outside::nothing;
  }
};

// How rows and trees are cut into what is walked together.
struct Groups {
  int64_t rowsOfBlock, blocks, treesTogether, treeGroups;

  Groups(int64_t rows, int64_t rowBytes, int64_t trees, int64_t nodes, int64_t nodeBytes) {
    const int64_t bytes = std::max<int64_t>(1, nodes / std::max<int64_t>(trees, 1) * nodeBytes);
    treesTogether = std::clamp<int64_t>(kBytesOfNodes / bytes, 1, kTreesTogether);
    // Few rows: more trees instead.
    if (rows * treesTogether < kWalks) treesTogether = std::min(trees, kWalks / rows);
    rowsOfBlock = std::clamp<int64_t>(kBytesOfRows / std::max<int64_t>(rowBytes, 1), 1, rows);
    rowsOfBlock = std::min(rows, (rowsOfBlock + rowsTogether() - 1) / rowsTogether() * rowsTogether());
    blocks = (rows + rowsOfBlock - 1) / rowsOfBlock;
    treeGroups = (trees + treesTogether - 1) / treesTogether;
  }
  int64_t rowsTogether() const { return std::max<int64_t>(1, kWalks / treesTogether); }
};

template <typename T>
Status walkForest(FlatCall& call, const Forest<T>& forest) {
  const Groups groups(forest.rows, forest.features * static_cast<int64_t>(sizeof(T)), forest.trees,
                      forest.nodes, static_cast<int64_t>(sizeof(T) + sizeof(Links)));
  const double walks = static_cast<double>(forest.rows) * static_cast<double>(forest.trees);
  std::atomic<Outside> outside{Outside::nothing};
  call.split(groups.blocks * groups.treeGroups, worthwhileTasks(call, walks * kStepsOfWalk),
             [&](int64_t begin, int64_t end) {
               forEachWhole(begin, end, groups.treeGroups, [&](int64_t block, int64_t first, int64_t last) {
                 const int64_t firstRow = block * groups.rowsOfBlock,
                               lastRow = std::min(forest.rows, firstRow + groups.rowsOfBlock);
                 const bool nan = forest.hasNan(firstRow, lastRow - firstRow);
                 for (int64_t group = first; group < last && outside == Outside::nothing && !call.cancelled();
                      ++group) {
                   const int64_t tree = group * groups.treesTogether,
                                 trees = std::min(groups.treesTogether, forest.trees - tree);
                   for (int64_t row = firstRow; row < lastRow; row += groups.rowsTogether()) {
                     const int64_t rows = std::min(groups.rowsTogether(), lastRow - row);
                     const Outside found = nan ? forest.template walk<true>(row, rows, tree, trees)
                                               : forest.template walk<false>(row, rows, tree, trees);
                     if (found != Outside::nothing) outside = found;
                   }
                 }
               });
             });
  switch (outside.load()) {
    case Outside::nothing:
      break;
    case Outside::place:
      return failure(DYN_OUT_OF_RANGE,
                     "a branch leads to a node that is not there: there are " + std::to_string(forest.nodes));
    case Outside::feature:
      return failure(DYN_OUT_OF_RANGE, "a node asks for a feature that is not there: rows have " +
                                           std::to_string(forest.features));
  }
  return okStatus();
}

template <typename T>
Status walkIn(FlatCall& call, const TensorView* x, const TensorView* splits, const TensorView* links,
              const TensorView* places) {
  TensorView* y = call.result(0);
  return walkForest<T>(call, {.x = x->as<T>(),
                              .splits = splits->as<T>(),
                              .links = links->as<Links>(),
                              .places = places->as<int32_t>(),
                              .reached = y->as<int32_t>(),
                              .rows = y->shape()[0],
                              .features = x->shape()[1],
                              .nodes = splits->elements,
                              .trees = y->shape()[1],
                              .steps = call.numbersOf<WalkTrees>().steps,
                              .eachRow = places->rank == 2});
}

}  // namespace

Status walkTrees(FlatCall& call) {
  const TensorView *x = call.argument(WalkTrees::x), *splits = call.argument(WalkTrees::splits),
                   *links = call.argument(WalkTrees::links), *places = call.argument(WalkTrees::places);
  if (!x || x->rank != 2 || (x->dtype() != DataType::f32 && x->dtype() != DataType::f64))
    return badArgument("walk_trees", WalkTrees::x, "rows of f32 or f64", x);
  if (!splits || splits->rank != 1 || splits->dtype() != x->dtype() || splits->elements > INT32_MAX)
    return badArgument("walk_trees", WalkTrees::splits, "a number of that dtype for each node", splits);
  if (!links || links->rank != 2 || links->dtype() != DataType::i32 ||
      links->shape()[0] != splits->elements || links->shape()[1] != 4)
    return badArgument("walk_trees", WalkTrees::links, "four i32 for each node", links);
  if (!places || places->rank < 1 || places->rank > 2 || places->dtype() != DataType::i32 ||
      (places->rank == 2 && places->shape()[0] != x->shape()[0]))
    return badArgument("walk_trees", WalkTrees::places, "i32 of each tree, or of each row and tree", places);
  const std::array<int64_t, 2> shape = {x->shape()[0], places->shape()[places->rank - 1]};
  if (Status status = call.checkResult(0, DataType::i32, shape); !status.ok()) return status;
  if (call.result(0)->elements == 0) return okStatus();
  return x->dtype() == DataType::f32 ? walkIn<float>(call, x, splits, links, places)
                                     : walkIn<double>(call, x, splits, links, places);
}

}  // namespace dyn::vm::kernels
