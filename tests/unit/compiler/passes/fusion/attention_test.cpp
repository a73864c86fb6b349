// Product, softmax and product as one kernel (pass `attention`, builtin `attention`): against the reference,
// and where it must not be done.
#include <array>
#include <limits>

#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

using test::expectSame;
using test::randomTensor;

int64_t attentionsIn(const std::string& text) {
  return test::opsAfter(text, "attention", [](const Op& op) {
    return op.def->name == "fused" && op.attributes.string("kind") == "attention";
  });
}

// Scale, mask and a guard against rows of nothing but masked keys, as exporters write them.
const std::string kMasked = R"(
fn @main(%q: Tensor[(b, m, 3, d), f32], %k: Tensor[(b, n, 3, d), f32], %v: Tensor[(b, n, 3, e), f32], %mask: Tensor[(b, 1, m, n), f32]) {
  %qt = transpose(%q) {perm = [0, 2, 1, 3]}
  %kt = transpose(%k) {perm = [0, 2, 3, 1]}
  %vt = transpose(%v) {perm = [0, 2, 1, 3]}
  %scores = matmul(%qt, %kt)
  %half = constant() {value = f32[] 0.5}
  %zero = constant() {value = f32[] 0}
  %scaled = mul(%scores, %half)
  %masked = add(%scaled, %mask)
  %p = softmax(%masked) {axis = -1}
  %bad = is_nan(%p)
  %good = where(%bad, %zero, %p)
  %mixed = matmul(%good, %vt)
  %y = transpose(%mixed) {perm = [0, 2, 1, 3]}
  return %y
})";

TEST(Attention, AnyShape) {
  EXPECT_EQ(attentionsIn(kMasked), 1);
  struct Sizes {
    int64_t b, m, n, d, e;
  };
  std::vector<std::vector<HostTensor>> sets;
  for (const Sizes& s : std::vector<Sizes>{{1, 1, 7, 4, 4},
                                           {2, 3, 1, 4, 5},
                                           {1, 5, 5, 16, 16},
                                           {3, 2, 37, 8, 1},
                                           {2, 29, 1031, 5, 7},
                                           {1, 1, 1025, 64, 3},
                                           {1, 0, 3, 4, 4},
                                           {2, 4, 0, 4, 4},
                                           {0, 3, 3, 4, 4},
                                           {1, 5, 3, 0, 4},
                                           {1, 3, 3, 4, 0},
                                           {1, 211, 513, 4, 33}}) {
    HostTensor mask = randomTensor(Dtype::f32, {s.b, 1, s.m, s.n}, 4);
    // The first row sees no key at all, every third key is hidden from the others.
    for (int64_t i = 0; i < mask.elementCount(); ++i)
      if (i < s.n || i % 3 == 1) mask.setReal(i, -std::numeric_limits<double>::infinity());
    sets.push_back({randomTensor(Dtype::f32, {s.b, s.m, 3, s.d}, 1),
                    randomTensor(Dtype::f32, {s.b, s.n, 3, s.d}, 2),
                    randomTensor(Dtype::f32, {s.b, s.n, 3, s.e}, 3), std::move(mask)});
  }
  expectSame(kMasked, sets);
}

// A mask whose length has a name of its own: the check of the second product says that it is as long as the
// keys. What a branch has checked is known behind the check, in that branch alone.
TEST(Attention, BehindAChangeOfBranches) {
  const std::string parameters =
      "%q: Tensor[(b, 2, m, 4), f32], %k: Tensor[(b, 2, n, 4), f32], %mask: Tensor[(b, 1, m, l), f32]";
  const auto steps = [](const char* transposed) {
    return std::string(
               "%kt = transpose(%k) {perm = [0, 1, 3, 2]} %s = matmul(%q, %kt) %a = add(%s, %mask) "
               "%p = softmax(%a) {axis = -1} ") +
           transposed + " return %z";
  };
  const std::string checked = steps("%z = matmul(%p, %k)");
  const std::string unchecked = steps("%z = identity(%p)");
  const auto model = [&](const std::string& then, const std::string& otherwise) {
    return "fn @main(%c: Tensor[(), bool], " + parameters + ") { %y = if(%c, %q, %k, %mask) then (" +
           parameters + ") {" + then + "} else (" + parameters + ") {" + otherwise + "} return %y }";
  };
  EXPECT_EQ(attentionsIn("fn @main(" + parameters + ") {" + checked + "}"), 1);
  EXPECT_EQ(attentionsIn(model(checked, checked)), 2);
  EXPECT_EQ(attentionsIn(model(checked, unchecked)), 1);
  std::vector<std::vector<HostTensor>> sets;
  for (const bool first : {true, false})
    for (const auto& [b, m, n] :
         std::vector<std::array<int64_t, 3>>{{1, 1, 7}, {2, 5, 5}, {3, 2, 0}, {2, 13, 31}})
      sets.push_back({HostTensor::scalarInt(Dtype::boolean, first), randomTensor(Dtype::f32, {b, 2, m, 4}, 1),
                      randomTensor(Dtype::f32, {b, 2, n, 4}, 2), randomTensor(Dtype::f32, {b, 1, m, n}, 3)});
  expectSame(model(checked, checked), sets);
  expectSame(model(checked, unchecked), sets);
}

// In halves, rounded after each operation, the rows of scores are f32 in memory.
TEST(Attention, OfHalves) {
  for (const auto& [name, dtype, tolerance] :
       {std::tuple{"f16", Dtype::f16, 4e-3}, std::tuple{"bf16", Dtype::bf16, 3e-2}}) {
    std::string text = kMasked;
    for (size_t at; (at = text.find("f32")) != std::string::npos;) text.replace(at, 3, name);
    EXPECT_EQ(attentionsIn(text), 1) << name;
    std::vector<std::vector<HostTensor>> sets;
    for (const auto& [b, m, n, d] : std::vector<std::array<int64_t, 4>>{
             {1, 1, 7, 4}, {2, 3, 1, 5}, {2, 29, 101, 16}, {1, 0, 3, 4}, {2, 4, 0, 4}, {1, 13, 521, 7}}) {
      HostTensor mask = randomTensor(dtype, {b, 1, m, n}, 4);
      for (int64_t i = 0; i < mask.elementCount(); ++i)
        if (i < n || i % 3 == 1) mask.setReal(i, -std::numeric_limits<double>::infinity());
      sets.push_back({randomTensor(dtype, {b, m, 3, d}, 1), randomTensor(dtype, {b, n, 3, d}, 2),
                      randomTensor(dtype, {b, n, 3, d}, 3), std::move(mask)});
    }
    expectSame(text, sets, {}, tolerance);
  }
}

// Products without transposes around them, with flags, and with K and V that several batches share.
TEST(Attention, PlainAndBroadcastProducts) {
  const std::string text = R"(
fn @main(%q: Tensor[(b, 4, m, 6), f32], %k: Tensor[(b, 1, n, 6), f32], %v: Tensor[(1, 4, n, 5), f32]) {
  %scores = matmul(%q, %k) {transpose_b = 1}
  %p = softmax(%scores) {axis = 3}
  %y = matmul(%p, %v)
  return %y
})";
  EXPECT_EQ(attentionsIn(text), 1);
  std::vector<std::vector<HostTensor>> sets;
  for (auto [b, m, n] : std::vector<std::array<int64_t, 3>>{{1, 1, 1}, {3, 2, 5}, {2, 17, 31}, {2, 100, 700}})
    sets.push_back({randomTensor(Dtype::f32, {b, 4, m, 6}, 1), randomTensor(Dtype::f32, {b, 1, n, 6}, 2),
                    randomTensor(Dtype::f32, {1, 4, n, 5}, 3)});
  expectSame(text, sets);
}

// The same bits whatever the number of threads, and the same as of the separate steps.
void expectSameAttentionBits(const std::vector<std::vector<HostTensor>>& sets) {
  std::vector<HostTensor> first;
  IrContext context;
  Result<Module> parsed = test::parseText(context, kMasked);
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  for (const char* passes : {"", "-attention"})
    for (int threads : {1, 2, 5, 40}) {
      CompileOptions options;
      options.passes = passes;
      Result<std::unique_ptr<test::Compiled>> compiled = test::Compiled::make(*parsed, options, threads);
      ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
      for (size_t i = 0; i < sets.size(); ++i) {
        Result<std::vector<HostTensor>> result = (*compiled)->run(sets[i]);
        ASSERT_TRUE(result.ok()) << result.error().toString();
        if (first.size() == i) first.push_back((*result)[0]);
        EXPECT_EQ(
            0, std::memcmp((*result)[0].data(), first[i].data(), static_cast<size_t>(first[i].sizeBytes())))
            << "set " << i << ", " << threads << " threads " << passes;
      }
    }
}

TEST(Attention, SameBits) {
  expectSameAttentionBits(
      {{randomTensor(Dtype::f32, {1, 150, 3, 16}, 1), randomTensor(Dtype::f32, {1, 900, 3, 16}, 2),
        randomTensor(Dtype::f32, {1, 900, 3, 16}, 3), randomTensor(Dtype::f32, {1, 1, 150, 900}, 4)},
       {randomTensor(Dtype::f32, {7, 131, 3, 64}, 1), randomTensor(Dtype::f32, {7, 83, 3, 64}, 2),
        randomTensor(Dtype::f32, {7, 83, 3, 64}, 3), randomTensor(Dtype::f32, {7, 1, 131, 83}, 4)}});
}

// Keys behind a row, and those that it has left far behind, have no part in its product, unless their values
// are not finite: then a weight of 0 makes NaN of them.
TEST(Attention, KeysThatNoRowSees) {
  std::vector<std::vector<HostTensor>> sets;
  for (auto [rows, keys, window] :
       {std::array<int64_t, 3>{150, 900, 900}, {61, 2003, 100}, {40, 1600, 1}, {900, 900, 33}, {90, 90, 17}})
    for (bool finite : {true, false}) {
      HostTensor mask = randomTensor(Dtype::f32, {1, 1, rows, keys}, 4),
                 v = randomTensor(Dtype::f32, {1, keys, 3, 5}, 3);
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < keys; ++j)
          if (j > i + keys - rows || j <= i + keys - rows - window)
            mask.setReal(i * keys + j, -std::numeric_limits<double>::infinity());
      if (!finite) v.setReal(7, std::numeric_limits<double>::infinity());
      sets.push_back({randomTensor(Dtype::f32, {1, rows, 3, 4}, 1),
                      randomTensor(Dtype::f32, {1, keys, 3, 4}, 2), std::move(v), std::move(mask)});
    }
  expectSameAttentionBits(sets);
}

// Scores or probabilities that are wanted elsewhere, a softmax along another axis, scores that are read again
// after the softmax.
TEST(Attention, NotWhereTheScoresAreWanted) {
  const std::string head =
      "fn @main(%q: Tensor[(b, 2, n, n), f32], %k: Tensor[(b, 2, n, n), f32], %v: Tensor[(b, 2, n, n), f32]) "
      "{\n"
      "  %s = matmul(%q, %k)\n";
  const std::string texts[] = {
      head + "  %p = softmax(%s) {axis = -1}\n  %y = matmul(%p, %v)\n  return %y, %p\n}",
      head + "  %p = softmax(%s) {axis = -1}\n  %y = matmul(%p, %v)\n  return %y, %s\n}",
      head + "  %p = softmax(%s) {axis = 2}\n  %y = matmul(%p, %v)\n  return %y\n}",
      head + "  %p = softmax(%s) {axis = -1}\n  %r = mul(%p, %s)\n  %y = matmul(%r, %v)\n  return %y\n}",
      head + "  %p = softmax(%s) {axis = -1}\n  %y = matmul(%v, %p)\n  return %y\n}",
      head + "  %p = softmax(%s) {axis = -1}\n  %y = matmul(%p, %p)\n  return %y\n}",
  };
  for (const std::string& text : texts) {
    EXPECT_EQ(attentionsIn(text), 0) << text;
    expectSame(text,
               {{randomTensor(Dtype::f32, {2, 2, 13, 13}, 1), randomTensor(Dtype::f32, {2, 2, 13, 13}, 2),
                 randomTensor(Dtype::f32, {2, 2, 13, 13}, 3)}});
  }
}

}  // namespace
}  // namespace dyn
