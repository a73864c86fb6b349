// Loops over nodes a level at a time (pass `batch_levels`): what the loop gives, for structures of all kinds;
// and what is not touched.
#include <gmock/gmock.h>

#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

using test::Compiled;
using test::expectClose;
using test::randomTensor;
using testing::HasSubstr;

// A loop over the rows of %x [n, 5]; node i reads rows %k[i, 0], %k[i, 1] of buffers %h0, %c0 [rows, 4].
std::string lineariseProgram(const std::string& body, const std::string& results = "h, c",
                             const std::string& prologue = "", const std::string& indices = "i64") {
  const int scans = static_cast<int>(std::count(results.begin(), results.end(), ',')) - 1;
  std::string names = "h, c";
  for (int i = 0; i < scans; ++i) names += ", s" + std::to_string(i);
  return "fn @main(x: Tensor[(n, 5), f32], k: Tensor[(n, 2), " + indices +
         "], h0: Tensor[(rows, 4), f32], c0: Tensor[(rows, 4), f32], w: Tensor[(5, 4), f32], u: Tensor[(8, "
         "4), "
         "f32], v: Tensor[(4, 4), f32]) {\n  n = gather(shape(x), 0)\n" +
         prologue + "  " + names +
         " = loop(n, _, h0, c0, x, k, w, u, v) {carried = 2} body (i, h, c, x, k, w, u, v) {\n" + body +
         "    return true, " + results + "\n  }\n  return " + names + "\n}\n";
}

// Two children side by side, the word of the node, gates; writes row i.
const std::string kLineariseCell = R"(
    below = gather(k, i)
    a = gather(h, gather(below, 0))
    b = gather(h, gather(below, 1))
    word = gather(x, i) @ w
    g = concat(a, b, axis = 0) @ u + word
    ca = gather(c, gather(below, 0))
    one = tanh(g) * f32[] 0.5 + ca
    two = sigmoid(g) * tanh(one)
    place = reshape(i, i64[2] [1, 1])
    hh = scatter_nd(h, place, unsqueeze(two, i64[1] [0]))
    cc = scatter_nd(c, place, unsqueeze(one, i64[1] [0]))
)";

CompileOptions withoutLinearise(const std::string& pass) {
  CompileOptions options;
  options.passes = "-" + pass;
  return options;
}

std::unique_ptr<Compiled> lineariseCompiledOf(const std::string& text, const CompileOptions& options) {
  static std::vector<std::unique_ptr<IrContext>> contexts;
  contexts.push_back(std::make_unique<IrContext>());
  Result<Module> parsed = test::parseText(*contexts.back(), text);
  EXPECT_TRUE(parsed.ok()) << parsed.error().toString() << text;
  if (!parsed.ok()) return nullptr;
  Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed, options, 1);
  EXPECT_TRUE(compiled.ok()) << compiled.error().toString();
  return compiled.ok() ? std::move(*compiled) : nullptr;
}

int64_t lineariseCounter(const Compiled& program, const std::string& name) {
  const auto& counters = program.model->trace.find("batch_levels")->counters;
  const auto found = counters.find(name);
  return found == counters.end() ? -1 : found->second;
}

std::string lineariseRemarksOf(const Compiled& program) {
  std::string all;
  for (const std::string& remark : program.model->trace.find("batch_levels")->remarks) all += remark + "\n";
  return all;
}

enum class LineariseKind { forest, leaves, chain, graph, forward, own, fromTheEnd, outside, kCount };

// Children of n nodes; rows n.. are nobody's.
HostTensor lineariseStructure(LineariseKind kind, int64_t n, int64_t rows, uint32_t seed) {
  HostTensor children = *HostTensor::create(Dtype::i64, {n, 2});
  std::mt19937 random(seed);
  const auto below = [&](int64_t i) {
    return i == 0 ? n : static_cast<int64_t>(random() % static_cast<uint64_t>(i));
  };
  std::vector<int64_t> roots;
  for (int64_t i = 0; i < n; ++i) {
    int64_t left = n, right = n;
    switch (kind) {
      case LineariseKind::forest:
        if (roots.size() >= 2 && random() % 3 != 0) {
          left = roots[roots.size() - 2];
          right = roots.back();
          roots.resize(roots.size() - 2);
        }
        roots.push_back(i);
        break;
      case LineariseKind::leaves:
        break;
      case LineariseKind::chain:
        left = i == 0 ? n : i - 1;
        break;
      case LineariseKind::graph:
        left = below(i);
        right = below(i);
        break;
      case LineariseKind::forward:
        left = i * 2 % std::max<int64_t>(n, 1);
        break;
      case LineariseKind::own:
        left = i;
        break;
      case LineariseKind::fromTheEnd:
        left = below(i) - rows;
        right = -1;
        break;
      case LineariseKind::outside:
        left = i == n / 2 ? rows : below(i);
        break;
      case LineariseKind::kCount:
        break;
    }
    children.setInt(2 * i, left);
    children.setInt(2 * i + 1, right);
  }
  return children;
}

HostTensor as(const HostTensor& x, Dtype dtype) {
  HostTensor result = *HostTensor::create(dtype, x.shape());
  for (int64_t i = 0; i < x.elementCount(); ++i) result.setInt(i, x.intAt(i));
  return result;
}

// The same results as without the pass, or an error from both.
void expectAsLoop(const std::string& text, int64_t batched, Dtype indices = Dtype::i64) {
  const auto program = lineariseCompiledOf(text, {}),
             plain = lineariseCompiledOf(text, withoutLinearise("batch_levels"));
  ASSERT_TRUE(program && plain);
  ASSERT_EQ(lineariseCounter(*program, "batched_loops"), batched) << lineariseRemarksOf(*program) << text;
  for (int kind = 0; kind < static_cast<int>(LineariseKind::kCount); ++kind)
    for (int64_t n : {0, 1, 2, 3, 7, 31}) {
      const int64_t rows = n + 1;
      std::vector<HostTensor> inputs{randomTensor(Dtype::f32, {n, 5}, 1),
                                     as(lineariseStructure(static_cast<LineariseKind>(kind), n, rows,
                                                           static_cast<uint32_t>(7 * n + kind)),
                                        indices),
                                     randomTensor(Dtype::f32, {rows, 4}, 2),
                                     randomTensor(Dtype::f32, {rows, 4}, 3),
                                     randomTensor(Dtype::f32, {5, 4}, 4),
                                     randomTensor(Dtype::f32, {8, 4}, 5),
                                     randomTensor(Dtype::f32, {4, 4}, 6)};
      Result<std::vector<HostTensor>> actual = program->run(inputs), expected = plain->run(inputs);
      const std::string what = "structure " + std::to_string(kind) + ", n = " + std::to_string(n);
      ASSERT_EQ(actual.ok(), expected.ok()) << what << (actual.ok() ? "" : actual.error().toString()) << text;
      if (!actual.ok()) continue;
      for (size_t i = 0; i < actual->size(); ++i)
        expectClose((*actual)[i], (*expected)[i], what + ", result " + std::to_string(i) + text, 1e-5);
    }
}

TEST(BatchLevels, StructuresOfAllKinds) { expectAsLoop(lineariseProgram(kLineariseCell, "hh, cc"), 1); }

// An index that names no row is an error of the run.
TEST(BatchLevels, RowsThatAreNotThere) {
  const auto made = lineariseCompiledOf(lineariseProgram(kLineariseCell, "hh, cc"), {});
  ASSERT_TRUE(made);
  const int64_t n = 9;
  std::vector<HostTensor> inputs{
      randomTensor(Dtype::f32, {n, 5}, 1),     lineariseStructure(LineariseKind::outside, n, n + 1, 1),
      randomTensor(Dtype::f32, {n + 1, 4}, 2), randomTensor(Dtype::f32, {n + 1, 4}, 3),
      randomTensor(Dtype::f32, {5, 4}, 4),     randomTensor(Dtype::f32, {8, 4}, 5),
      randomTensor(Dtype::f32, {4, 4}, 6)};
  Result<std::vector<HostTensor>> actual = made->run(inputs);
  ASSERT_FALSE(actual.ok());
  EXPECT_THAT(actual.error().toString(), HasSubstr("10"));
}

TEST(BatchLevels, IndicesOfOtherTypes) {
  expectAsLoop(lineariseProgram(kLineariseCell, "hh, cc", "", "i32"), 1, Dtype::i32);
}

// What is stacked by iteration: of the states, of the words alone, the same in all iterations, numbers of
// iterations.
TEST(BatchLevels, StackedResults) {
  expectAsLoop(
      lineariseProgram(kLineariseCell + "    s = gather(two, 1)\n    t = one * two\n    p = word + f32[] 1\n",
                       "hh, cc, s, t, p, v, i"),
      1);
}

// Each statement makes %y [4] of %a, %b [4], states of two nodes, %m [2, 4] both, %x, %i.
TEST(BatchLevels, Operations) {
  for (const char* statement : {
           "y = v @ a",
           "y = a @ v",
           "y = matmul(v, a, transpose_a = 1)",
           "y = squeeze(unsqueeze(a, i64[1] [0]) @ v, i64[1] [0])",
           "y = a * (a @ b)",
           "y = (unsqueeze(a, i64[1] [1]) @ unsqueeze(b, i64[1] [0])) @ a * f32[] 0.1",
           "y = a @ (unsqueeze(a, i64[1] [1]) @ unsqueeze(b, i64[1] [0])) * f32[] 0.1",
           "y = reduce_sum(m @ v, i64[1] [0]) {keepdims = 0}",
           "y = reduce_max(m, i64[1] [-2]) {keepdims = 0}",
           "y = b * reduce_mean(m) {keepdims = 0}",
           "y = reshape(m, i64[1] [8]) @ u",
           "y = reshape(transpose(m), i64[1] [8]) @ u",
           "y = reshape(transpose(m) {perm = [1, 0]}, i64[1] [-1]) @ u",
           "p, q = split(m, i64[2] [1, 1]) {axis = -2} y = reshape(p - q, i64[1] [4])",
           "y = concat(slice(a, i64[1] [1], i64[1] [3]), slice(b, i64[1] [-2], i64[1] [9]), axis = 0)",
           "y = gather(m, 1) + gather(gather(m, i64[4] [3, 2, 1, 0], axis = 1), 0)",
           "y = gather(m, mod(i, 2)) + gather(v, mod(i, 4), axis = 1)",
           "y = gather(gather(v, i64[2] [1, 3]), mod(i, 2)) * a",
           "y = softmax(a) + gather(log_softmax(m) {axis = 1}, 0) @ v * f32[] 0.01",
           "y = layer_norm(a, gather(v, 0), gather(v, 1)) {axis = 0}",
           "y = where(greater(a, b), a, f32[] 0.5) + expand(unsqueeze(gather(x, i) @ w, i64[1] [0]), i64[2] "
           "[1, 4]) @ v @ b",
           "y = concat(a, gather(v, 2), axis = 0) @ u",
           "y = cast(i) {to = f32} * a",
           "y = max(a, b) + pow(abs(a), f32[] 2)",
       }) {
    const std::string body = std::string(R"(
    below = gather(k, i)
    m = gather(h, below)
    a = gather(h, gather(below, 0))
    b = gather(c, gather(below, 1))
    )") + statement + R"(
    z = tanh(reshape(y, i64[2] [1, -1]))
    hh = scatter_nd(h, reshape(i, i64[2] [1, 1]), z)
    cc = scatter_nd(c, reshape(i, i64[2] [1, 1]), neg(z))
)";
    expectAsLoop(lineariseProgram(body, "hh, cc"), 1);
    if (HasFatalFailure()) return;
  }
}

// Products of the iteration alone are one product before the loop; those of states stay inside.
TEST(BatchLevels, ProductsOfWordsAreHoisted) {
  const auto made = lineariseCompiledOf(lineariseProgram(kLineariseCell, "hh, cc"), {});
  ASSERT_TRUE(made);
  EXPECT_EQ(lineariseCounter(*made, "products_before_the_loop"), 1);
  const Module& after = made->model->trace.find("batch_levels")->after;
  int64_t before = 0, within = 0;
  for (const Op* op : after.main()->ops) {
    before += op->def->name == "matmul" ? 1 : 0;
    for (const Function* region : op->regions)
      for (const Op* inner : region->ops) within += inner->def->name == "matmul" ? 1 : 0;
  }
  EXPECT_EQ(before, 1);
  EXPECT_EQ(within, 1);
}

// A buffer that is handed on is no state; the others may be read by it.
TEST(BatchLevels, HandedOn) {
  const std::string body = R"(
    below = gather(k, i)
    y = gather(h, gather(below, 0)) @ v + gather(c, gather(below, 1))
    hh = scatter_nd(h, reshape(i, i64[2] [1, 1]), reshape(tanh(y), i64[2] [1, 4]))
)";
  expectAsLoop(lineariseProgram(body, "hh, c"), 1);
}

void expectWhyNot(const std::string& body, const std::string& why, const std::string& results = "hh, cc") {
  const auto made = lineariseCompiledOf(lineariseProgram(body, results), {});
  ASSERT_TRUE(made) << body;
  EXPECT_EQ(lineariseCounter(*made, "batched_loops"), 0) << body;
  EXPECT_THAT(lineariseRemarksOf(*made), HasSubstr(why)) << body;
  expectAsLoop(lineariseProgram(body, results), 0);
}

TEST(BatchLevels, WhatIsNotTouched) {
  const std::string rows =
      "    below = gather(k, i)\n    a = gather(h, gather(below, 0))\n"
      "    b = gather(c, gather(below, 1))\n";
  const std::string ends =
      "    hh = scatter_nd(h, reshape(i, i64[2] [1, 1]), reshape(y, i64[2] [1, 4]))\n"
      "    cc = scatter_nd(c, reshape(i, i64[2] [1, 1]), reshape(y, i64[2] [1, 4]))\n";
  expectWhyNot(rows + "    y = tanh(a + reduce_sum(h, i64[1] [0], keepdims = 0))\n" + ends,
               "reads more of %h");
  expectWhyNot(rows +
                   "    y = tanh(a + gather(c, argmax(a, axis = 0, keepdims = 0) - argmax(a, axis = 0, "
                   "keepdims = 0)))\n" +
                   ends,
               "reads a row that other rows decide");
  expectWhyNot(rows + "    y = tanh(layer_norm(a, gather(v, 0), b))\n" + ends, "besides its first differs");
  expectWhyNot(rows + "    y = tanh(a + cumsum(b, 0))\n" + ends, "not known for many nodes at once");
  expectWhyNot(rows +
                   "    y = tanh(a)\n    hh = scatter_nd(h, reshape(i, i64[2] [1, 1]), reshape(y, i64[2] "
                   "[1, 4]))\n    cc = c + f32[] 1\n",
               "is not a buffer");
  expectWhyNot(rows + "    y = tanh(a)\n" + ends + "    d = gather(hh, i)\n", "written already", "hh, cc, d");
}

// A chain as deep as there are iterations, and one level of as many nodes.
TEST(BatchLevels, DeepAndWide) {
  const auto made = lineariseCompiledOf(lineariseProgram(kLineariseCell, "hh, cc"), {}),
             plain = lineariseCompiledOf(lineariseProgram(kLineariseCell, "hh, cc"),
                                         withoutLinearise("batch_levels"));
  ASSERT_TRUE(made && plain);
  const int64_t n = 100'000;
  for (LineariseKind kind : {LineariseKind::chain, LineariseKind::leaves}) {
    std::vector<HostTensor> inputs{
        randomTensor(Dtype::f32, {n, 5}, 1),     lineariseStructure(kind, n, n + 1, 1),
        randomTensor(Dtype::f32, {n + 1, 4}, 2), randomTensor(Dtype::f32, {n + 1, 4}, 3),
        randomTensor(Dtype::f32, {5, 4}, 4),     randomTensor(Dtype::f32, {8, 4}, 5),
        randomTensor(Dtype::f32, {4, 4}, 6)};
    for (int64_t i = 0; i < 32; ++i) inputs[5].setReal(i, inputs[5].realAt(i) * 0.1);
    Result<std::vector<HostTensor>> actual = made->run(inputs), expected = plain->run(inputs);
    ASSERT_TRUE(actual.ok()) << actual.error().toString();
    ASSERT_TRUE(expected.ok()) << expected.error().toString();
    expectClose((*actual)[0], (*expected)[0], "h", 1e-4);
  }
}

// How many iterations there are is a value of the run; none where it is negative.
TEST(BatchLevels, TurnsThatOnlyTheRunCounts) {
  const std::string text =
      R"(fn @main(n: Tensor[(), i64], h0: Tensor[(rows, 4), f32], k: Tensor[(m), i64], w: Tensor[(4, 4), f32]) {
  h = loop(n, _, h0, k, w) {carried = 1} body (i, h, k, w) {
    a = gather(h, gather(k, i)) @ w
    return true, scatter_nd(h, reshape(i, i64[2] [1, 1]), unsqueeze(tanh(a), i64[1] [0]))
  }
  return h
})";
  ASSERT_NE(lineariseCompiledOf(text, {}), nullptr);
  std::vector<std::vector<HostTensor>> sets;
  for (int64_t iterations : {0, -3, 1, 4, 7})
    sets.push_back({HostTensor::scalarInt(Dtype::i64, iterations), randomTensor(Dtype::f32, {8, 4}, 1),
                    HostTensor::vectorInt(Dtype::i64, std::vector<int64_t>{7, 0, 7, 2, 1, 4, 5}),
                    randomTensor(Dtype::f32, {4, 4}, 2)});
  test::expectSame(text, sets);
}

// Where a level begins is read by the host; its nodes, and the rows they read and write, are parts of tables:
// what runs for a level is what computes, and one kernel for the rows that are written.
TEST(BatchLevels, ALevelRunsWhatComputesAlone) {
  const std::unique_ptr<Compiled> compiled = lineariseCompiledOf(
      R"(fn @main(n: Tensor[(m), i64], h0: Tensor[(rows, 4), f32], k: Tensor[(m), i64], w: Tensor[(4, 4), f32]) {
  m = gather(shape(n), 0)
  h = loop(m, _, h0, k, w) {carried = 1} body (i, h, k, w) {
    a = gather(h, gather(k, i)) @ w
    return true, scatter_nd(h, reshape(i, i64[2] [1, 1]), unsqueeze(tanh(a), i64[1] [0]))
  }
  return h
})",
      {});
  ASSERT_NE(compiled, nullptr);
  const std::string code = dyn_module_disassembly(compiled->module.get());
  const size_t loop = code.find("  jumpifnot ");
  ASSERT_NE(loop, std::string::npos) << code;
  const auto count = [&](const std::string& what) {
    int found = 0;
    for (size_t at = code.find(what, loop); at != std::string::npos; at = code.find(what, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("\n  launch "), 2) << code;  // the rows that are read, and the numbers of those written
  EXPECT_EQ(count("\n  builtininto "), 2) << code;
  EXPECT_EQ(count("\n  fromscalar "), 0) << code;
}

TEST(BatchLevels, DimsOfAnElementThatTheRunNames) {
  const std::string text = R"(fn @main(k: Tensor[(n), i64], at: Tensor[(), i64]) {
  bind_dims(k, at) {dims = dims(first, second), elements = [0, 1]}
  y = dims_value() {value = dims(first + 1, second)}
  return y
})";
  const HostTensor k = HostTensor::vectorInt(Dtype::i64, std::vector<int64_t>{5, -7, 11});
  test::expectSame(text,
                   {{k, HostTensor::scalarInt(Dtype::i64, 0)}, {k, HostTensor::scalarInt(Dtype::i64, 1)}});
  const std::unique_ptr<Compiled> compiled = lineariseCompiledOf(text, {});
  ASSERT_NE(compiled, nullptr);
  for (int64_t at : {2, -1, 3})
    EXPECT_FALSE(compiled->run({k, HostTensor::scalarInt(Dtype::i64, at)}).ok()) << at;
}

}  // namespace
}  // namespace dyn
