// Demands on computations over trees and graphs, by their names: the order of nodes, what a level runs, how
// much memory it takes.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "tests/unit/compiler/driver/run_both.h"

namespace dyn::test {
namespace {

using Children = std::vector<std::vector<int64_t>>;  // of each node; they stand before it

std::unique_ptr<Compiled> recursionChecklistCompiledOf(const std::string& text) {
  static std::vector<std::unique_ptr<IrContext>> contexts;
  contexts.push_back(std::make_unique<IrContext>());
  Result<Module> parsed = parseText(*contexts.back(), text);
  EXPECT_TRUE(parsed.ok()) << parsed.error().toString() << text;
  if (!parsed.ok()) return nullptr;
  Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed, {}, 1);
  EXPECT_TRUE(compiled.ok()) << compiled.error().toString();
  return compiled.ok() ? std::move(*compiled) : nullptr;
}

// Calls visit(what, children) for all kinds of structures: trees, forests with trees of one node, lists,
// graphs with shared nodes, leaves alone, nothing.
template <typename Visit>
void forStructures(Visit&& visit) {
  visit("nothing", Children{});
  visit("one node", Children{{}});
  for (uint32_t seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](size_t i) { return static_cast<int64_t>(random() % i); };
    const size_t n = 1 + random() % 40;
    Children tree(n), list(n), graph(n), leaves(n);
    std::vector<int64_t> roots;
    for (size_t i = 0; i < n; ++i) {
      if (roots.size() >= 2 && random() % 2 == 0) {
        tree[i] = {roots[roots.size() - 2], roots.back()};
        roots.resize(roots.size() - 2);
      }
      roots.push_back(static_cast<int64_t>(i));
      if (i > 0) list[i] = {static_cast<int64_t>(i) - 1};
      if (i > 0 && random() % 4 != 0) graph[i] = {below(i), below(i)};
    }
    const std::string of = ", seed " + std::to_string(seed);
    visit("forest" + of, tree);
    visit("list" + of, list);
    visit("graph" + of, graph);
    visit("leaves" + of, leaves);
  }
}

// Two columns of rows that nodes read; `none` where there is no child.
HostTensor readsOf(const Children& children, int64_t none) {
  HostTensor reads = *HostTensor::create(Dtype::i64, {static_cast<int64_t>(children.size()), 2});
  for (size_t i = 0; i < children.size(); ++i)
    for (size_t side : {size_t{0}, size_t{1}})
      reads.setInt(static_cast<int64_t>(2 * i + side), side < children[i].size() ? children[i][side] : none);
  return reads;
}

// X-a: levels are apart and one behind the other, each node is in one of them, and its children are in others
// before; a level begins where the one before ends, and their sizes sum up to the nodes.
TEST(RecursiveChecklist, XaLevelsOfNodes) {
  const auto made = recursionChecklistCompiledOf(
      "fn @main(%rows: Tensor[(), i64], %writes: Tensor[(n), i64], %reads: Tensor[(n, 2), i64]) { %order, "
      "%starts "
      "= levels(%rows, %writes, %reads) return %order, %starts }");
  ASSERT_TRUE(made);
  forStructures([&](const std::string& what, const Children& children) {
    const auto n = static_cast<int64_t>(children.size());
    std::vector<int64_t> own(children.size());
    for (int64_t i = 0; i < n; ++i) own[static_cast<size_t>(i)] = i;
    Result<std::vector<HostTensor>> found =
        made->run({HostTensor::scalarInt(Dtype::i64, n + 1), HostTensor::vectorInt(Dtype::i64, own),
                   readsOf(children, n)});
    ASSERT_TRUE(found.ok()) << what << found.error().toString();
    const HostTensor &order = (*found)[0], &starts = (*found)[1];
    const int64_t levels = starts.elementCount() - 1;
    ASSERT_EQ(starts.intAt(0), 0) << what;
    ASSERT_EQ(starts.intAt(levels), n) << what;
    std::vector<int64_t> level(children.size(), -1);
    for (int64_t k = 0; k < levels; ++k) {
      ASSERT_LT(starts.intAt(k), starts.intAt(k + 1)) << what;  // none is empty
      for (int64_t at = starts.intAt(k); at < starts.intAt(k + 1); ++at) {
        int64_t& of = level[static_cast<size_t>(order.intAt(at))];
        ASSERT_EQ(of, -1) << what << ": a node in two places";
        of = k;
      }
    }
    for (size_t i = 0; i < children.size(); ++i) {
      int64_t height = 0;
      for (int64_t child : children[i]) height = std::max(height, level[static_cast<size_t>(child)] + 1);
      ASSERT_EQ(level[i], height) << what
                                  << ": leaves are the first level, others stand right above their highest";
    }
  });
}

const std::string kTree = R"(type Tree { Leaf(Tensor[(5), f32]), Node(Tree, Tree) }
fn @encode(tree: Tree, w: Tensor[(5, 4), f32], u: Tensor[(8, 4), f32]) -> (Tensor[(4), f32]) {
  h = match(tree, w, u) case Leaf(word, w, u) {
    c = tanh(word @ w)
    return c
  } case Node(a, b, w, u) {
    ha = @encode(a, w, u)
    hb = @encode(b, w, u)
    g = tanh(concat(ha, hb, axis = 0) @ u)
    return g
  }
  return h
}
fn @main(x: Tensor[(leaves, 5), f32], left: Tensor[(inner), i64], right: Tensor[(inner), i64], at: Tensor[(m), i64], w: Tensor[(5, 4), f32], u: Tensor[(8, 4), f32]) {
  leaves = gather(shape(x), 0)
  inner = gather(shape(left), 0)
  none = list() : List[Tree]
  words = loop(leaves, _, none, x) {carried = 1} body (i, made: List[Tree], x) {
    more = list_append(made, Leaf(gather(x, i)))
    return true, more
  }
  trees = loop(inner, _, words, left, right, leaves) {carried = 1} body (i, made: List[Tree], left, right, leaves) {
    more = list_append(made, Node(list_at(made, gather(left, i)), list_at(made, gather(right, i))))
    return true, more
  }
  m = gather(shape(at), 0)
  empty = list() : List[Tree]
  roots = loop(m, _, empty, trees, at) {carried = 1} body (i, made: List[Tree], trees, at) {
    more = list_append(made, list_at(trees, gather(at, i)))
    return true, more
  }
  hs = loop(list_length(roots), _, roots, w, u) {carried = 0} body (i, roots, w, u) {
    h = @encode(list_at(roots, i), w, u)
    return true, h
  }
  return hs
})";

// X-b: leaves are one product over all of them, and no loop over levels asks which constructor a node has.
TEST(RecursiveChecklist, XbNoTestOfLeavesInALoop) {
  const auto made = recursionChecklistCompiledOf(kTree);
  ASSERT_TRUE(made);
  const Module& after = made->model->trace.find("batch_levels")->after;
  int64_t before = 0, within = 0, tests = 0;
  const auto count = [](const Function& function, const std::string& name) {
    return std::count_if(function.ops.begin(), function.ops.end(),
                         [&](const Op* op) { return op->def->name == name; });
  };
  for (const Function* function : after.functions) {
    before += count(*function, "matmul");
    tests += count(*function, "match");
    for (const Op* op : function->ops)
      for (const Function* region : op->regions) {
        within += count(*region, "matmul");
        tests += count(*region, "match") + count(*region, "if");
      }
  }
  EXPECT_EQ(before, 1);
  EXPECT_EQ(within, 1);
  EXPECT_EQ(tests, 0);
}

// A loop over nodes, as ONNX has a Tree-LSTM; node i reads rows k[i] and writes row i.
constexpr const char* kNodes =
    R"(fn @main(x: Tensor[(n, 8), f32], k: Tensor[(n, 2), i64], h0: Tensor[(rows, 8), f32], w: Tensor[(8, 8), f32], u: Tensor[(16, 8), f32]) {
  n = gather(shape(x), 0)
  h = loop(n, _, h0, x, k, w, u) {carried = 1} body (i, h, x, k, w, u) {
    below = gather(k, i)
    both = concat(gather(h, gather(below, 0)), gather(h, gather(below, 1)), axis = 0)
    y = tanh(both @ u + gather(x, i) @ w)
    return true, scatter_nd(h, reshape(i, i64[2] [1, 1]), unsqueeze(y, i64[1] [0]))
  }
  return h
})";

dyn_statistics statisticsOf(Compiled& made, const Children& children) {
  const auto n = static_cast<int64_t>(children.size());
  dyn_statistics statistics{};
  Result<std::vector<HostTensor>> result = made.run(
      {randomTensor(Dtype::f32, {n, 8}, 1), readsOf(children, n), randomTensor(Dtype::f32, {n + 1, 8}, 2),
       randomTensor(Dtype::f32, {8, 8}, 3), randomTensor(Dtype::f32, {16, 8}, 4)});
  EXPECT_TRUE(result.ok()) << result.error().toString();
  dyn_context_statistics(made.context.get(), &statistics);
  return statistics;
}

// `count` nodes in `depth` levels of a forest of equal chains.
Children chains(int64_t depth, int64_t count) {
  Children children(static_cast<size_t>(depth * count));
  for (int64_t i = count; i < depth * count; ++i) children[static_cast<size_t>(i)] = {i - count};
  return children;
}

// X-c: as many launches for a level, however many nodes it has, and for each level the same.
TEST(RecursiveChecklist, XcLaunchesByLevels) {
  const auto made = recursionChecklistCompiledOf(kNodes);
  ASSERT_TRUE(made);
  const auto launches = [&](int64_t depth, int64_t count) {
    return static_cast<int64_t>(statisticsOf(*made, chains(depth, count)).launches_count);
  };
  const int64_t two = launches(2, 5), three = launches(3, 5);
  EXPECT_GT(three, two);
  EXPECT_EQ(launches(9, 5), two + 7 * (three - two));
  EXPECT_EQ(launches(9, 64), launches(9, 5));
}

// X-d: what a level computes takes memory for the nodes of one level, not for all of them.
TEST(RecursiveChecklist, XdMemoryOfTheWidestLevel) {
  const auto made = recursionChecklistCompiledOf(kNodes);
  ASSERT_TRUE(made);
  const auto peak = [&](int64_t depth, int64_t count) {
    return static_cast<int64_t>(statisticsOf(*made, chains(depth, count)).peak_bytes);
  };
  // The same nodes and tables; what differs is what a level has in between: 16 + 8 floats of a node at least.
  const int64_t wide = peak(2, 2048), narrow = peak(64, 64);
  EXPECT_GE(wide - narrow, (2048 - 64) * 16 * 4);
}

// Of a profiled run, what its trace says behind `"name":`; -1: nothing.
int64_t traceNumber(Compiled& made, const Children& children, const std::string& name) {
  EXPECT_EQ(dyn_context_profile(made.context.get(), 1), DYN_OK);
  statisticsOf(made, children);
  const std::string trace = dyn_context_profile_text(made.context.get(), "trace"), key = "\"" + name + "\":";
  const size_t at = trace.find(key);
  return at == std::string::npos ? -1 : std::stoll(trace.substr(at + key.size()));
}

// X-e: what is said to be read again at each level are the weights of its products, and no more: neither
// tables of nodes nor matrices that a level makes. Where they stay: app/session/views/levels_test.cpp.
TEST(RecursiveChecklist, XeWeightsThatEachLevelReads) {
  const auto made = recursionChecklistCompiledOf(kNodes);
  ASSERT_TRUE(made);
  for (const auto& [depth, count] : {std::pair(2, 5), std::pair(7, 3), std::pair(40, 1)}) {
    EXPECT_EQ(traceNumber(*made, chains(depth, count), "weights_bytes"), 16 * 8 * 4);
    EXPECT_EQ(traceNumber(*made, chains(depth, count), "weights_count"), 1);
  }
  // The matrix of a product is one that the level made.
  std::string ofNodes = kNodes;
  ofNodes.replace(ofNodes.find("both @ u"), 8, "both @ (u + reduce_sum(both))");
  const auto other = recursionChecklistCompiledOf(ofNodes);
  ASSERT_TRUE(other);
  const int64_t bytes = traceNumber(*other, chains(7, 3), "weights_bytes");
  EXPECT_TRUE(bytes == 0 || bytes == -1) << bytes;
}

// X-f: a chain of 100,000, which no stack of calls holds.
TEST(RecursiveChecklist, XfDeepChains) {
  const auto made = recursionChecklistCompiledOf(kNodes);
  ASSERT_TRUE(made);
  EXPECT_GT(statisticsOf(*made, chains(100'000, 1)).launches_count, 100'000u);
}

// X-g: a batch of structures of any shapes takes the launches of the deepest of them.
TEST(RecursiveChecklist, XgABatchIsAsDeepAsItsDeepest) {
  const auto made = recursionChecklistCompiledOf(kNodes);
  ASSERT_TRUE(made);
  Children batch, deepest = chains(12, 1);
  const auto add = [&](const Children& children) {
    const auto first = static_cast<int64_t>(batch.size());
    for (std::vector<int64_t> of : children) {
      for (int64_t& child : of) child += first;
      batch.push_back(of);
    }
  };
  add(chains(3, 1));
  add({{}, {}, {0, 1}, {}, {2, 3}});  // a tree
  add(deepest);
  add({{}});
  add({{}, {0, 0}, {1, 0}, {2, 1}});  // shared nodes
  EXPECT_EQ(statisticsOf(*made, batch).launches_count, statisticsOf(*made, deepest).launches_count);
}

}  // namespace
}  // namespace dyn::test
