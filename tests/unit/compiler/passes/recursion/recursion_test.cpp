// Recursive functions over data types a level at a time (pass `batch_levels`): what the recursion gives, for
// trees, chains and shared nodes; and what is not touched.
#include <gmock/gmock.h>

#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

using test::Compiled;
using test::expectClose;
using test::randomTensor;
using testing::HasSubstr;

constexpr const char* kType =
    "type Tree { Leaf(Tensor[(), i64], Tensor[(5), f32]), Node(Tensor[(), i64], Tree, Tree) }\n";

// Leaves are rows of x, nodes have their parts by left and right, which name nodes before them; the roots are
// the nodes of `roots`. `finish` makes the results of `roots: List[Tree]`.
std::string program(const std::string& functions, const std::string& finish) {
  return std::string(kType) + R"(
fn @main(x: Tensor[(leaves, 5), f32], left: Tensor[(inner), i64], right: Tensor[(inner), i64], at: Tensor[(m), i64], w: Tensor[(5, 4), f32], u: Tensor[(8, 4), f32]) {
  leaves = gather(shape(x), 0)
  inner = gather(shape(left), 0)
  m = gather(shape(at), 0)
  none = list() : List[Tree]
  words = loop(leaves, _, none, x) {carried = 1} body (i, made: List[Tree], x) {
    more = list_append(made, Leaf(i, gather(x, i)))
    return true, more
  }
  trees = loop(inner, _, words, left, right, leaves) {carried = 1} body (i, made: List[Tree], left, right, leaves) {
    node = Node(i + leaves, list_at(made, gather(left, i)), list_at(made, gather(right, i)))
    more = list_append(made, node)
    return true, more
  }
  empty = list() : List[Tree]
  roots = loop(m, _, empty, trees, at) {carried = 1} body (i, made: List[Tree], trees, at) {
    more = list_append(made, list_at(trees, gather(at, i)))
    return true, more
  }
)" + finish +
         "\n}\n" + functions;
}

const std::string kCell = R"(
fn @encode(tree: Tree, w: Tensor[(5, 4), f32], u: Tensor[(8, 4), f32]) -> (Tensor[(4), f32], Tensor[(4), f32]) {
  half = u * f32[] 0.5
  h, c = match(tree, w, half) case Leaf(number, word, w, u) {
    c = tanh(word @ w)
    h = sigmoid(c)
    return h, c
  } case Node(number, a, b, w, u) {
    ha, ca = @encode(a, w, u0)
    hb, cb = @encode(b, w, u0)
    gates = concat(ha, hb, axis = 0) @ u + cast(number) {to = f32} * f32[] 0.01
    c = sigmoid(gates) * ca + cb * f32[] 0.5
    return tanh(c) * ha, c
  }
  return h, c
}
)";

// The call hands on what the function itself was given.
std::string cell() {
  std::string text = kCell;
  for (size_t at; (at = text.find("u0")) != std::string::npos;) text.replace(at, 2, "v");
  text.replace(text.find("match(tree, w, half)"), 20, "match(tree, w, half, u)");
  for (const char* fields : {"Leaf(number, word, w, u)", "Node(number, a, b, w, u)"}) {
    const std::string name = fields;
    text.replace(text.find(name), name.size(), name.substr(0, name.size() - 1) + ", v)");
  }
  return text;
}

const std::string kAll = R"(
  hs, cs = loop(list_length(roots), _, roots, w, u) {carried = 0} body (i, roots, w, u) {
    h, c = @encode(list_at(roots, i), w, u)
    return true, h, c
  }
  return hs, cs
)";
const std::string kLast = "  h, c = @encode(list_at(roots, -1), w, u)\n  return h, c\n";

CompileOptions withoutRecursion(const std::string& pass) {
  CompileOptions options;
  options.passes = "-" + pass;
  return options;
}

std::unique_ptr<Compiled> recursionCompiledOf(const std::string& text, const CompileOptions& options) {
  static std::vector<std::unique_ptr<IrContext>> contexts;
  contexts.push_back(std::make_unique<IrContext>());
  Result<Module> parsed = test::parseText(*contexts.back(), text);
  EXPECT_TRUE(parsed.ok()) << parsed.error().toString() << text;
  if (!parsed.ok()) return nullptr;
  Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed, options, 1);
  EXPECT_TRUE(compiled.ok()) << compiled.error().toString();
  return compiled.ok() ? std::move(*compiled) : nullptr;
}

int64_t counter(const Compiled& program, const std::string& name) {
  const auto& counters = program.model->trace.find("batch_levels")->counters;
  const auto found = counters.find(name);
  return found == counters.end() ? 0 : found->second;
}

std::string recursionRemarksOf(const Compiled& program) {
  std::string all;
  for (const std::string& remark : program.model->trace.find("batch_levels")->remarks) all += remark + "\n";
  return all;
}

enum class Kind { tree, shared, chain, forest, kCount };

// Inputs of the program: parts come before what they are parts of.
std::vector<HostTensor> structure(Kind kind, int64_t leaves, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int64_t> left, right, open, roots;
  for (int64_t i = 0; i < leaves; ++i) open.push_back(i);
  const auto take = [&]() {
    const size_t at = kind == Kind::chain ? open.size() - 1 : random() % open.size();
    const int64_t node = open[at];
    if (kind == Kind::shared && random() % 3 == 0) return node;  // it stays, to be a part again
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
    return node;
  };
  const int64_t steps =
      kind == Kind::shared ? 2 * leaves : leaves - (kind == Kind::forest ? leaves / 3 : 0) - 1;
  for (int64_t i = 0; i < steps && !open.empty(); ++i) {
    left.push_back(take());
    right.push_back(open.empty() ? left.back() : take());
    open.push_back(leaves + i);
  }
  roots = open;
  if (kind == Kind::shared) roots.push_back(roots[0]);
  return {randomTensor(Dtype::f32, {leaves, 5}, seed), HostTensor::vectorInt(Dtype::i64, left),
          HostTensor::vectorInt(Dtype::i64, right),    HostTensor::vectorInt(Dtype::i64, roots),
          randomTensor(Dtype::f32, {5, 4}, 4),         randomTensor(Dtype::f32, {8, 4}, 5)};
}

// What the pass makes gives what the program gives without it, and what the reference interpreter finds.
void expectAsRecursion(const std::string& text, int64_t batched) {
  const auto program = recursionCompiledOf(text, {}),
             plain = recursionCompiledOf(text, withoutRecursion("batch_levels"));
  ASSERT_TRUE(program && plain);
  ASSERT_EQ(counter(*program, "batched_functions"), batched) << recursionRemarksOf(*program) << text;
  for (int kind = 0; kind < static_cast<int>(Kind::kCount); ++kind)
    for (int64_t leaves : {1, 2, 3, 8, 21})
      for (uint32_t seed = 0; seed < 3; ++seed) {
        const std::vector<HostTensor> inputs = structure(static_cast<Kind>(kind), leaves, seed);
        Result<std::vector<HostTensor>> actual = program->run(inputs), expected = plain->run(inputs);
        const std::string what = "structure " + std::to_string(kind) + ", leaves " + std::to_string(leaves) +
                                 ", seed " + std::to_string(seed);
        ASSERT_TRUE(actual.ok()) << what << actual.error().toString() << text;
        ASSERT_TRUE(expected.ok()) << what << expected.error().toString();
        for (size_t i = 0; i < actual->size(); ++i)
          expectClose((*actual)[i], (*expected)[i], what + ", result " + std::to_string(i), 1e-5);
      }
}

TEST(Recursion, TreesAndSharedNodes) { expectAsRecursion(program(cell(), kLast), 1); }

TEST(Recursion, AListOfTreesIsOneForest) {
  expectAsRecursion(program(cell(), kAll), 1);
  const auto made = recursionCompiledOf(program(cell(), kAll), {});
  ASSERT_TRUE(made);
  EXPECT_EQ(counter(*made, "calls_of_whole_lists"), 1);
  EXPECT_EQ(counter(*made, "products_before_the_loop"), 0);
}

// The reference interpreter's tables are those of the kernel.
TEST(Recursion, AsTheReference) {
  std::vector<std::vector<HostTensor>> inputs;
  for (uint32_t seed = 0; seed < 4; ++seed) inputs.push_back(structure(static_cast<Kind>(seed), 9, seed));
  test::expectSame(program(cell(), kAll), inputs);
  IrContext ir;
  Result<Module> parsed = test::parseText(ir, program(cell(), kAll));
  ASSERT_TRUE(parsed.ok());
  Trace trace;
  CompileOptions options;
  options.passes = "infer,batch_levels";
  Result<Module> levels = runPasses(*parsed, options, trace);
  ASSERT_TRUE(levels.ok()) << levels.error().toString();
  options.passes = "infer";
  Trace other;
  Result<Module> plain = runPasses(*parsed, options, other);
  ASSERT_TRUE(plain.ok());
  for (const std::vector<HostTensor>& set : inputs) {
    const std::vector<Value> values(set.begin(), set.end());
    Result<std::vector<Value>> actual = interpret(*levels, values), expected = interpret(*plain, values);
    ASSERT_TRUE(actual.ok()) << actual.error().toString();
    ASSERT_TRUE(expected.ok()) << expected.error().toString();
    for (size_t i = 0; i < actual->size(); ++i)
      expectClose((*actual)[i].tensor(), (*expected)[i].tensor(), "result " + std::to_string(i), 1e-5);
  }
}

// Several kinds of leaves and of nodes, a result that no field decides, a product of a node's own field.
TEST(Recursion, ManyConstructors) {
  const std::string text = R"(
type Term { Zero(), Word(Tensor[(4), f32]), Neg(Tensor[(4), f32], Term), Add(Term, Term) }
fn @main(x: Tensor[(n, 4), f32], v: Tensor[(4, 4), f32]) {
  n = gather(shape(x), 0)
  start = Zero()
  last = loop(n, _, start, x) {carried = 1} body (i, t: Term, x) {
    row = gather(x, i)
    more = Add(Neg(row, Add(t, Word(row))), Neg(row, t))
    return true, more
  }
  y, z = @value(last, v)
  return y, z
}
fn @value(t: Term, v: Tensor[(4, 4), f32]) -> (Tensor[(4), f32], Tensor[(), i64]) {
  y, n = match(t, v) case Zero(v) {
    return gather(v, 1), i64[] 7
  } case Word(x, v) {
    return x @ v, i64[] 1
  } case Neg(x, a, v) {
    y, n = @value(a, v)
    return tanh(x @ v - y), n + 1
  } case Add(a, b, v) {
    y, n = @value(a, v)
    z, m = @value(b, v)
    return tanh(y * z) @ v, mod(n + m, 1000)
  }
  return y + f32[] 1, n
}
)";
  // Behind the match the results are made more: that is what a call gives.
  const auto made = recursionCompiledOf(text, {}),
             plain = recursionCompiledOf(text, withoutRecursion("batch_levels"));
  ASSERT_TRUE(made && plain);
  EXPECT_EQ(counter(*made, "batched_functions"), 1) << recursionRemarksOf(*made);
  EXPECT_EQ(counter(*made, "products_before_the_loop"), 1);
  for (int64_t n : {0, 1, 2, 5}) {
    const std::vector<HostTensor> inputs{randomTensor(Dtype::f32, {n, 4}, 1),
                                         randomTensor(Dtype::f32, {4, 4}, 2)};
    Result<std::vector<HostTensor>> actual = made->run(inputs), expected = plain->run(inputs);
    ASSERT_TRUE(actual.ok()) << actual.error().toString();
    ASSERT_TRUE(expected.ok()) << expected.error().toString();
    for (size_t i = 0; i < 2; ++i) expectClose((*actual)[i], (*expected)[i], "result", 1e-5);
  }
}

// A chain of 100,000: no stack of calls holds it.
TEST(Recursion, DeepChains) {
  const auto made = recursionCompiledOf(program(cell(), kLast), {});
  ASSERT_TRUE(made);
  Result<std::vector<HostTensor>> actual = made->run(structure(Kind::chain, 100'000, 1));
  ASSERT_TRUE(actual.ok()) << actual.error().toString();
  EXPECT_EQ((*actual)[0].elementCount(), 4);
}

// Each is a change of the cell, and the reason that is told.
TEST(Recursion, WhatIsNotTouched) {
  const auto changed = [](const std::string& from, const std::string& to) {
    std::string text = cell();
    EXPECT_NE(text.find(from), std::string::npos) << from;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  const std::pair<std::string, std::string> rows[] = {
      {changed("hb, cb = @encode(b, w, v)", "hb, cb = @encode(b, w, v + f32[] 1)"), "hands"},
      {changed("hb, cb = @encode(b, w, v)", "hb, cb = @encode(Node(number, b, b), w, v)"), "beside a call"},
      {changed("return tanh(c) * ha, c", "return tanh(cumsum(c, 0)) * ha, c"),
       "not known for many nodes at once"},
      {changed(
           "ha, ca = @encode(a, w, v)",
           "ha, ca = if(greater(number, 3), a, w, v) then (a, w, v) { h, c = @encode(a, w, v) return h, c } "
           "else (a, w, v) { return gather(w, 0), gather(w, 1) }"),
       "control flow"},
  };
  for (const auto& [functions, why] : rows) {
    const auto made = recursionCompiledOf(program(functions, kLast), {});
    ASSERT_TRUE(made) << functions;
    EXPECT_EQ(counter(*made, "batched_functions"), 0) << functions;
    EXPECT_THAT(recursionRemarksOf(*made), HasSubstr(why)) << functions;
  }
  // Sizes of fields that differ from node to node.
  const auto sizes = recursionCompiledOf(
      "type List { End(), Item(Tensor[(k), f32], List) }\n"
      "fn @main(x: Tensor[(n), f32]) {\n  l = Item(x, Item(x, End()))\n  y = @sum(l)\n  return y\n}\n"
      "fn @sum(l: List) -> (Tensor[(), f32]) {\n  y = match(l) case End() { return f32[] 0 } case Item(x, "
      "rest) "
      "{\n    y = @sum(rest)\n    return y + reduce_sum(x, keepdims = 0)\n  }\n  return y\n}\n",
      {});
  ASSERT_TRUE(sizes);
  EXPECT_THAT(recursionRemarksOf(*sizes), HasSubstr("differs from node to node"));
}

}  // namespace
}  // namespace dyn
