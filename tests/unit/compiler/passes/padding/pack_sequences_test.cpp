// Padded batches computed without padding (pass `pack_sequences`): the same results as with it, where anybody
// can see them, for any mask; and what is not touched.
#include <gmock/gmock.h>

#include <array>
#include <limits>

#include "compiler/passes/padding/masked_attention.h"
#include "tests/unit/compiler/passes/padding/padded_encoder.h"

namespace dyn {
namespace {

using namespace test;
using testing::HasSubstr;

constexpr double kUnpadInfinity = std::numeric_limits<double>::infinity();

// The result of a sequence is that of its first position: nobody sees the others, and the mask may be any.
TEST(PackSequences, FirstPositionOfEachSequenceExactly) {
  const std::string bias = "add(%N_s, %bias)";
  expectAsPadded(encoder(kInputs, kBias, bias, kFirstPosition), unseen(), 2);
  const std::string picked = "  return gather(%y, i64[] 0) {axis = 1}";
  expectAsPadded(encoder(kInputs, kBias, bias, picked), unseen(), 2);
}

// Masks as exporters write them.
TEST(PackSequences, MasksOfExporters) {
  const std::string chosen = R"(
  %e = tanh(%x)
  %keep = unsqueeze(cast(%attention) {to = bool}, i64[2] [1, 2])
)";
  expectAsPadded(encoder(kInputs, chosen, "where(%keep, %N_s, f32[] -1.0e9)", kFirstPosition), unseen(), 2);
  expectAsPadded(encoder(kInputs, chosen, "where(logical_not(%keep), f32[] -1.0e9, %N_s)", kFirstPosition),
                 unseen(), 2);
  expectAsPadded(encoder(kInputs, chosen + "  %bias = where(%keep, f32[] 0, f32[] -10000)\n",
                         "add(%bias, %N_s)", kFirstPosition),
                 unseen(), 2, 1e-2);  // in a sequence without keys three digits of a score are left
  // Expanded to all queries, with a test of the query that always holds.
  const std::string expanded = R"(
  %e = tanh(%x)
  %size = gather(shape(%x), i64[] 1)
  %row = unsqueeze(range(i64[] 0, %size, i64[] 1), i64[3] [0, 1, 3])
  %all = logical_and(greater_equal(%row, i64[] 0), unsqueeze(cast(%attention) {to = bool}, i64[2] [1, 2]))
  %bias = where(%all, f32[] 0, f32[] -3.4e38)
)";
  expectAsPadded(encoder(kInputs, expanded, "add(%N_s, %bias)", kFirstPosition), unseen(), 2);
}

TEST(PackSequences, CausalMasks) {
  // Chosen first, the keys added on top.
  expectKeptAsPadded(kPlaces + "  %bias = where(%keys, f32[] 0, f32[] -3.0e38)\n",
                     "add(where(%before, %N_s, f32[] -3.4e38), %bias)");
  // One bias of both.
  expectKeptAsPadded(kPlaces + "  %both = where(logical_and(%before, %keys), f32[] 0, f32[] -3.4e38)\n",
                     "add(%N_s, %both)");
  // One choice of both.
  expectKeptAsPadded(kPlaces + "  %both = logical_and(%keys, %before)\n", "where(%both, %N_s, f32[] -1.0e9)");
  // A triangle that the exporter has made a constant, cut to the size of the sequence.
  std::string triangle;
  for (int i = 0; i < 40; ++i)
    for (int j = 0; j < 40; ++j) triangle += (triangle.empty() ? "" : ", ") + std::string(j <= i ? "1" : "0");
  expectKeptAsPadded(kPlaces + "  %triangle = constant() {value = i32[1, 1, 40, 40] [" + triangle +
                         "]}\n"
                         "  %end = unsqueeze(%size, i64[1] [0])\n"
                         "  %rows = slice(%triangle, i64[1] [0], %end, i64[1] [2])\n"
                         "  %cut = cast(slice(%rows, i64[1] [0], %end, i64[1] [3])) {to = bool}\n"
                         "  %bias = mul(sub(f32[] 1, cast(%keys) {to = f32}), f32[] -3.0e38)\n",
                     "add(where(%cut, %N_s, f32[] -3.4e38), %bias)");
}

// Biases that are the same for all of a batch, added apart or in one sum with the mask.
TEST(PackSequences, TablesOfBiases) {
  const std::string relative = kPlaces + R"(
  %apart = cast(sub(%column, %row)) {to = f32}
  %slopes = constant() {value = f32[1, 2, 1, 1] [0.5, 0.25]}
  %table = mul(%apart, %slopes)
  %bias = where(%keys, f32[] 0, f32[] -3.0e38)
)";
  expectKeptAsPadded(relative, "add(add(%N_s, %table), %bias)");
  expectKeptAsPadded(relative + "  %sum = add(%table, %bias)\n", "add(%N_s, %sum)");
  const std::string byKey = kPlaces + R"(
  %slopes = constant() {value = f32[1, 2, 1, 1] [0.5, 0.25]}
  %table = mul(cast(%column) {to = f32}, %slopes)
  %both = where(logical_and(%before, %keys), f32[] 0, f32[] -3.4e38)
)";
  expectKeptAsPadded(byKey, "add(add(%N_s, %table), %both)");
}

// Biases of each sequence's own: of its mask (positions counted by it, as Bloom has them), and of what stands
// at query and key, and their distance (DeBERTa).
const std::string kDistances = kPlaces + R"(
  %bias = where(%keys, f32[] 0, f32[] -3.0e38)
  %far = add(clip(sub(%column, %row), i64[] -3, i64[] 3), i64[] 3)
  %far_s = expand(%far, concat(unsqueeze(gather(shape(%x), i64[] 0), i64[1] [0]), i64[1] [2], unsqueeze(%size, i64[1] [0]), unsqueeze(%size, i64[1] [0])) {axis = 0})
  %wr = constant() {value = f32[4, 7] [0.5, -0.25, 0.125, 1, -1, 0.75, 0.5, 0.25, 0.125, -0.5, 1, 0.25, -0.75, 0.5, 1, -1, 0.5, 0.25, 0.75, -0.125, 1, 0.125, 0.25, 0.5, -0.5, 1, -1, 0.25]}
)";

TEST(PackSequences, BiasesOfEachSequence) {
  expectKeptAsPadded(kPlaces + R"(
  %slopes = constant() {value = f32[1, 2, 1, 1] [0.5, 0.25]}
  %counted = mul(sub(cumsum(%attention, i64[] 1), i64[] 1), %attention)
  %alibi = mul(unsqueeze(cast(%counted) {to = f32}, i64[2] [1, 2]), %slopes)
  %both = where(logical_and(%before, %keys), f32[] 0, f32[] -3.4e38)
)",
                     "add(add(%N_s, %alibi), %both)");
  const std::string ofQueries = "gather_elements(matmul(%N_q, %wr), %far_s) {axis = -1}";
  const std::string ofKeys =
      "transpose(gather_elements(matmul(transpose(%N_k) {perm = [0, 1, 3, 2]}, %wr), %far_s) {axis = -1}) "
      "{perm = "
      "[0, 1, 3, 2]}";
  expectKeptAsPadded(kDistances, "add(add(%N_s, " + ofQueries + "), %bias)");
  expectKeptAsPadded(kDistances, "add(add(%N_s, add(" + ofQueries + ", " + ofKeys + ")), %bias)");
  // And a table beside it.
  expectKeptAsPadded(kDistances + "  %near = mul(cast(%far) {to = f32}, f32[] 0.25)\n",
                     "add(add(add(%N_s, " + ofKeys + "), %near), %bias)");
}

// A mask of queries and keys; a query that it hides sees all keys alike, also where its result is read.
TEST(PackSequences, MasksOfQueriesAndKeys) {
  const std::string pairs = kPlaces + R"(
  %m = unsqueeze(%attention, i64[2] [1, 2])
  %pairs = cast(mul(%m, transpose(%m) {perm = [0, 1, 3, 2]})) {to = bool}
)";
  expectKeptAsPadded(pairs, "where(%pairs, %N_s, f32[] -3.4e38)");
  expectKeptAsPadded(pairs, "where(logical_not(%pairs), f32[] -1.0e9, %N_s)");
  const std::string conditions = kPlaces + R"(
  %m = unsqueeze(cast(%attention) {to = bool}, i64[2] [1, 2])
  %pairs = logical_and(transpose(%m) {perm = [0, 1, 3, 2]}, %m)
)";
  expectKeptAsPadded(conditions, "where(%pairs, %N_s, f32[] -3.4e38)");
  expectAsPadded(encoder(kInputs, pairs, "where(%pairs, %N_s, f32[] -3.4e38)", kFirstPosition), {}, 2);
  // What its scores are added to would be seen.
  expectAsPadded(encoder(kInputs, pairs, "where(%pairs, %N_s, f32[] -1.0e9)", kFirstPosition), {}, 0);
}

// Scores that are no plain product: capped, scaled behind a bias, chosen by places, with the bias in the
// mask.
TEST(PackSequences, ScoresAsTheyAre) {
  const std::string slopes = kPlaces + R"(
  %bias = where(%keys, f32[] 0, f32[] -3.0e38)
  %both = where(logical_and(%before, %keys), f32[] 0, f32[] -3.4e38)
  %slopes = constant() {value = f32[1, 2, 1, 1] [0.5, 0.25]}
  %counted = mul(sub(cumsum(%attention, i64[] 1), i64[] 1), %attention)
  %alibi = mul(unsqueeze(cast(%counted) {to = f32}, i64[2] [1, 2]), %slopes)
)";
  expectKeptAsPadded(slopes, "add(mul(tanh(%N_s), f32[] 3), %bias)");
  expectKeptAsPadded(slopes, "add(mul(tanh(%N_s), f32[] 3), %both)");
  expectKeptAsPadded(slopes, "add(mul(add(%N_s, %alibi), f32[] 0.5), %both)");
  expectKeptAsPadded(slopes, "add(%N_s, where(%keys, %alibi, f32[] -3.4e38))");
  expectKeptAsPadded(slopes, "where(%keys, mul(tanh(%N_s), f32[] 3), f32[] -1.0e9)");
  // Keys near by, kept as a constant matrix and cut; a query sees its own.
  std::string band;
  for (int i = 0; i < 40; ++i)
    for (int j = 0; j < 40; ++j)
      band += (band.empty() ? "" : ", ") + std::string(j <= i && i - j < 3 ? "1" : "0");
  const std::string near = slopes + "  %all = constant() {value = i32[1, 1, 40, 40] [" + band +
                           "]}\n"
                           "  %end = unsqueeze(%size, i64[1] [0])\n"
                           "  %rows = slice(%all, i64[1] [0], %end, i64[1] [2])\n"
                           "  %cut = cast(slice(%rows, i64[1] [0], %end, i64[1] [3])) {to = bool}\n";
  expectKeptAsPadded(near, "add(where(%cut, %N_s, f32[] -3.4e38), %both)");
  // One that hides a query's own key might leave it hidden keys alone.
  const auto other =
      compiledOf(encoder(kInputs, slopes + "  %other = less(%column, %row)\n",
                         "add(where(%other, tanh(%N_s), f32[] -3.4e38), %bias)", "  return %y"),
                 zeros());
  ASSERT_TRUE(other);
  EXPECT_EQ(packedIn(*other), 0) << remarksOf(*other);
}

// Keys and values that all heads share.
TEST(PackSequences, OneHeadOfKeys) {
  std::string text = encoder(kInputs, kBias, "add(%N_s, %bias)", "  return %y");
  const std::string whole = "%y_v = transpose(reshape(matmul(%first, %wv), %split)) {perm = [0, 2, 1, 3]}";
  const size_t at = text.find(whole);
  ASSERT_NE(at, std::string::npos);
  text.replace(
      at, whole.size(),
      "%one = constant() {value = i64[4] [0, 0, 1, 4]}\n"
      "  %y_v = transpose(reshape(slice(matmul(%first, %wv), i64[1] [0], i64[1] [4], i64[1] [2]), %one)) "
      "{perm = [0, 2, 1, 3]}");
  const auto zero = compiledOf(text, zeros()), padded = compiledOf(text, without("pack_sequences"));
  ASSERT_TRUE(zero && padded);
  EXPECT_EQ(packedIn(*zero), 2) << remarksOf(*zero);
  const HostTensor mask = masksOf(3, 5).back();
  const std::vector<HostTensor> inputs = inputsFor(randomTensor(Dtype::f32, {3, 5, 8}, 3), mask);
  Result<std::vector<HostTensor>> actual = zero->run(inputs), expected = padded->run(inputs);
  ASSERT_TRUE(actual.ok() && expected.ok());
  for (int64_t i = 0; i < 15; ++i)
    for (int64_t d = 0; d < 8 && mask.intAt(i) == 0; ++d) (*expected)[0].setReal(i * 8 + d, 0);
  expectClose((*actual)[0], (*expected)[0], "one head", 1e-5);
}

// A bias that reads other positions than its own two, and one that somebody else reads: all is computed.
TEST(PackSequences, BiasesThatLookAcross) {
  const std::string mean =
      "unsqueeze(reduce_mean(%N_q, i64[1] [3]) {keepdims = 0}, i64[1] [2])";  // [b, h, 1, s]: at the keys
  expectKeptAsPadded(kDistances, "add(add(%N_s, " + mean + "), %bias)");
  const std::string text =
      encoder(kInputs, kDistances,
              "add(add(%N_s, slice(gather_elements(matmul(%N_q, %wr), %far_s) {axis = -1}, "
              "i64[1] [-1], i64[1] [-9223372036854775807], i64[1] [2], i64[1] [-1])), %bias)",
              kFirstPosition);
  const auto program = compiledOf(text, {});
  ASSERT_TRUE(program);
  EXPECT_THAT(remarksOf(*program), HasSubstr("of what is added to its scores slice"));
  expectAsPadded(text, {}, 0);
  const std::string seen = encoder(
      kInputs, kDistances, "add(add(%N_s, gather_elements(matmul(%N_q, %wr), %far_s) {axis = -1}), %bias)",
      "  %c = slice(%y, i64[1] [0], i64[1] [1], i64[1] [1])\n  return tanh(%c), %y_p");
  expectAsPadded(seen, {}, 1);
}

// Keys near by alone, in one bias or one choice with the mask, and causal ones beside them in the next layer.
TEST(PackSequences, WindowsOfKeys) {
  const std::string near = kPlaces + R"(
  %near = less_equal(abs(sub(%column, %row)), i64[] 2)
  %both = logical_and(%near, %keys)
)";
  expectKeptAsPadded(near + "  %bias = where(%both, f32[] 0, f32[] -3.4e38)\n", "add(%N_s, %bias)");
  expectKeptAsPadded(near, "where(%both, %N_s, f32[] -1.0e9)");
  expectKeptAsPadded(near + "  %hidden = logical_not(%both)\n", "where(%hidden, f32[] -1.0e9, %N_s)");
  expectKeptAsPadded(near + "  %last = logical_and(%before, %both)\n", "where(%last, %N_s, f32[] -1.0e9)");
  // And a bias of the keys.
  const std::string counted =
      "  %c = mul(unsqueeze(cast(cumsum(%attention, i64[] 1)) {to = f32}, i64[2] [1, 2]), "
      "f32[] 0.125)\n";
  expectKeptAsPadded(near + counted, "where(%both, add(%N_s, %c), f32[] -1.0e9)");
  // Whatever is between seen and hidden is no window, but a bias.
  expectKeptAsPadded(near + R"(
  %slope = cast(sub(%column, %row)) {to = f32}
  %bias = where(%keys, %slope, f32[] -3.4e38)
)",
                     "add(%N_s, %bias)");
}

// The mean over a mask whose numbers nothing is known about: positions that it counts are computed, hidden or
// not. Under a causal mask it must be known.
TEST(PackSequences, FactorsThatAreLookedAtInTheRun) {
  const std::string mean =
      "  %sum = reduce_sum(mul(%y, expand(unsqueeze(cast(%attention) {to = f32}, i64[1] [2]), shape(%y))), "
      "i64[1] [1])\n  return %sum";
  const std::string text = encoder(kInputs, kBias, "add(%N_s, %bias)", mean);
  expectAsPadded(text, unseen(), 2);
  const auto program = compiledOf(text, unseen()), padded = compiledOf(text, without("pack_sequences"));
  ASSERT_TRUE(program && padded);
  HostTensor mask = *HostTensor::create(Dtype::i64, {3, 7});
  for (int64_t i = 0; i < 21; ++i)
    mask.setInt(i, i % 3 == 0 ? 1 : i % 5 == 0 ? -1 : 0);  // -1 hides, and counts
  for (int64_t i = 14; i < 21; ++i) mask.setInt(i, i % 2 == 0 ? -2 : 0);
  const std::vector<HostTensor> inputs = inputsFor(randomTensor(Dtype::f32, {3, 7, 8}, 3), mask);
  Result<std::vector<HostTensor>> actual = program->run(inputs), expected = padded->run(inputs);
  ASSERT_TRUE(actual.ok() && expected.ok());
  expectClose((*actual)[0], (*expected)[0], "a mask of -1", 1e-5);
  const std::string causal = "  %both = where(logical_and(%before, %keys), f32[] 0, f32[] -3.4e38)\n";
  expectAsPadded(encoder(kInputs, kPlaces + causal, "add(%N_s, %both)", mean), unseen(), 2);
  const std::string other =
      "  %ones = greater(%attention, i64[] 0)\n"
      "  %both = where(logical_and(%before, unsqueeze(%ones, i64[2] [1, 2])), f32[] 0, "
      "f32[] -3.4e38)\n";
  expectAsPadded(encoder(kInputs, kPlaces + other, "add(%N_s, %both)", mean), unseen(), 0);
}

// The largest over the mask: what it hides is filled before.
// A mask that chooses between a number and zeros of every position, as torch.export writes it for
// nn.TransformerEncoder; the factor is the same mask.
TEST(PackSequences, MaskOfExpandedZeros) {
  const std::string text =
      encoder(kInputs, R"(
  %e = tanh(%x)
  %held = cast(%attention) {to = bool}
  %zeros = expand(f32[] 0, shape(%held))
  %fill = where(logical_not(%held), f32[] -inf, %zeros)
  %bias = unsqueeze(%fill, i64[2] [1, 2])
)",
              "add(%N_s, %bias)",
              "  %f = cast(expand(unsqueeze(%held, i64[1] [2]), shape(%y))) {to = f32}\n"
              "  return reduce_sum(where(unsqueeze(%held, i64[1] [2]), %y, f32[] 0), i64[1] "
              "[1]), reduce_sum(mul(%y, %f), i64[1] [1])");
  const auto program = compiledOf(text, {}), padded = compiledOf(text, without("pack_sequences"));
  ASSERT_TRUE(program && padded);
  EXPECT_EQ(packedIn(*program), 2) << remarksOf(*program);
  for (const auto& [b, s] : kSizes) {  // each sequence has a key: of none a sum over padding is no number
    HostTensor mask = *HostTensor::create(Dtype::i64, {b, s});
    for (int64_t i = 0; i < b * s; ++i) mask.setInt(i, i % s <= i / s ? 1 : 0);
    const std::vector<HostTensor> inputs = inputsFor(randomTensor(Dtype::f32, {b, s, 8}, 3), mask);
    Result<std::vector<HostTensor>> actual = program->run(inputs), expected = padded->run(inputs);
    ASSERT_TRUE(actual.ok() && expected.ok());
    for (size_t i = 0; i < 2; ++i) expectClose((*actual)[i], (*expected)[i], "expanded zeros", 1e-5);
  }
}

TEST(PackSequences, FilledWhereTheMaskDoesNotHold) {
  const std::string filled =
      "  %hidden = expand(unsqueeze(equal(%attention, i64[] 0), i64[1] [2]), shape(%y))\n"
      "  return where(%hidden, f32[] -2, %y)";
  expectAsPadded(encoder(kInputs, kBias, "add(%N_s, %bias)", filled), unseen(), 2);
  const std::string kept = "  return where(unsqueeze(%held, i64[1] [2]), %y, f32[] 7)";
  const std::string causal = "  %both = where(logical_and(%before, %keys), f32[] 0, f32[] -3.4e38)\n";
  expectAsPadded(encoder(kInputs, kPlaces + causal, "add(%N_s, %both)", kept), unseen(), 2);
  // What is hidden is taken, not filled.
  const std::string taken = "  return where(unsqueeze(%held, i64[1] [2]), f32[] 7, %y)";
  expectAsPadded(encoder(kInputs, kPlaces + causal, "add(%N_s, %both)", taken), unseen(), 0);
}

// Batch and positions in one axis, with an operation of each channel between: its axis counts from the left.
TEST(PackSequences, channelsStayBehindJoinedPositions) {
  const std::string text = R"(
fn @main(%x: Tensor[(b, 5, 4), f32], %s: Tensor[(4), f32], %o: Tensor[(4), f32], %m: Tensor[(4), f32], %v: Tensor[(4), f32]) {
  %joined = constant() {value = i64[2] [-1, 4]}
  %apart = constant() {value = i64[3] [-1, 5, 4]}
  %y = batch_norm(reshape(%x, %joined), %s, %o, %m, %v)
  %p = softmax(reshape(%y, %apart)) {axis = -1}
  return %p
})";
  std::vector<std::vector<HostTensor>> sets;
  for (const int64_t b : {1, 3, 0}) {
    sets.push_back({randomTensor(Dtype::f32, {b, 5, 4}, 1)});
    for (uint32_t i = 2; i < 5; ++i) sets.back().push_back(randomTensor(Dtype::f32, {4}, i));
    sets.back().push_back(*HostTensor::create(Dtype::f32, {4}));
    for (int64_t i = 0; i < 4; ++i) sets.back().back().setReal(i, 0.5 + static_cast<double>(i));
  }
  test::expectSame(text, sets);
}

// Batch and heads in one axis, as older exporters have it.
TEST(PackSequences, HeadsJoinedWithTheBatch) {
  const std::string text = "fn @main(" + kInputs + R"(, %w: Tensor[(8, 8), f32]) {
  %e = tanh(%x)
  %heads = constant() {value = i64[4] [0, 0, 2, 4]}
  %q = transpose(reshape(matmul(%e, %w), %heads)) {perm = [0, 2, 1, 3]}
  %size = unsqueeze(gather(shape(%x), i64[] 1), i64[1] [0])
  %batch = unsqueeze(gather(shape(%x), i64[] 0), i64[1] [0])
  %joined = concat(mul(%batch, i64[1] [2]), %size, i64[1] [4]) {axis = 0}
  %apart = concat(%batch, i64[1] [2], %size, %size) {axis = 0}
  %together = concat(mul(%batch, i64[1] [2]), %size, %size) {axis = 0}
  %back = concat(%batch, i64[1] [2], %size, i64[1] [4]) {axis = 0}
  %q3 = reshape(%q, %joined) {allowzero = 1}
  %scores = mul(matmul(%q3, transpose(%q3) {perm = [0, 2, 1]}), f32[] 0.5)
  %u = unsqueeze(cast(%attention) {to = f32}, i64[2] [1, 2])
  %masked = add(reshape(%scores, %apart) {allowzero = 1}, mul(sub(f32[] 1, %u), f32[] -3.0e38))
  %p = softmax(reshape(%masked, %together) {allowzero = 1}) {axis = -1}
  %z = reshape(matmul(%p, %q3), %back) {allowzero = 1}
  %y = reshape(transpose(%z) {perm = [0, 2, 1, 3]}, i64[3] [0, 0, 8])
  return gather(%y, i64[] 0) {axis = 1}
})";
  const auto program = compiledOf(text, unseen()), padded = compiledOf(text, without("pack_sequences"));
  ASSERT_TRUE(program && padded);
  EXPECT_EQ(packedIn(*program), 1) << remarksOf(*program);
  for (const auto& [b, s] : kSizes)
    for (const HostTensor& mask : masksOf(b, s)) {
      const std::vector<HostTensor> inputs{randomTensor(Dtype::f32, {b, s, 8}, 3), mask,
                                           randomTensor(Dtype::f32, {8, 8}, 4)};
      Result<std::vector<HostTensor>> actual = program->run(inputs), expected = padded->run(inputs);
      ASSERT_EQ(actual.ok(), expected.ok()) << (actual.ok() ? "" : actual.error().toString());
      if (actual.ok())
        expectClose((*actual)[0], (*expected)[0], "b = " + std::to_string(b) + ", s = " + std::to_string(s),
                    1e-5);
    }
}

// A position that is read whatever the mask says may have no key at all under a causal mask.
TEST(PackSequences, CausalMasksAndOnePositionOfEach) {
  const std::string text = encoder(kInputs, kPlaces + "  %both = logical_and(%keys, %before)\n",
                                   "where(%both, %N_s, f32[] -1.0e9)", kFirstPosition);
  expectAsPadded(text, unseen(), 0);
  EXPECT_THAT(remarksOf(*compiledOf(text, unseen())), HasSubstr("one under a causal mask may have no key"));
}

TEST(PackSequences, NaNsOfRowsWithoutKeysAreMadeZero) {
  const std::string infinite = R"(
  %e = tanh(%x)
  %bias = where(unsqueeze(cast(%attention) {to = bool}, i64[2] [1, 2]), f32[] 0, f32[] -inf)
)";
  std::string text = encoder(kInputs, infinite, "add(%N_s, %bias)", kFirstPosition);
  for (const std::string layer : {"first", "y"}) {
    const std::string product = "matmul(%" + layer + "_p, ";
    const size_t at = text.find(product);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, product.size(), "matmul(where(is_nan(%" + layer + "_p), f32[] 0, %" + layer + "_p), ");
  }
  expectAsPadded(text, unseen(), 2);
}

// A hidden state shows padded positions: it is untouched, or 0 there where the user says so.
TEST(PackSequences, HiddenStates) {
  const std::string text = encoder(kInputs, kBias, "add(%N_s, %bias)", "  return %y");
  expectAsPadded(text, unseen(), 0);
  const auto kept = compiledOf(text, unseen());
  EXPECT_THAT(remarksOf(*kept), HasSubstr("padded: %y: it is a result of the program"));
  const auto zero = compiledOf(text, zeros()), padded = compiledOf(text, without("pack_sequences"));
  ASSERT_TRUE(zero && padded);
  EXPECT_EQ(packedIn(*zero), 2);
  for (const auto& [b, s] : kSizes)
    for (const HostTensor& mask : masksOf(b, s)) {
      const std::vector<HostTensor> inputs = inputsFor(randomTensor(Dtype::f32, {b, s, 8}, 3), mask);
      Result<std::vector<HostTensor>> actual = zero->run(inputs), expected = padded->run(inputs);
      ASSERT_TRUE(actual.ok() && expected.ok()) << actual.error().toString();
      HostTensor& wanted = (*expected)[0];
      for (int64_t i = 0; i < b * s; ++i)
        for (int64_t d = 0; d < 8 && mask.intAt(i) == 0; ++d) wanted.setReal(i * 8 + d, 0);
      expectClose((*actual)[0], wanted, "b = " + std::to_string(b) + ", s = " + std::to_string(s), 1e-5);
    }
}

// The program itself makes padded positions 0, or takes a mean over the others.
TEST(PackSequences, HiddenStatesTimesTheMask) {
  const std::string chosen = R"(
  %e = tanh(%x)
  %held = cast(%attention) {to = bool}
  %keep = unsqueeze(%held, i64[2] [1, 2])
  %factor = unsqueeze(cast(%held) {to = f32}, i64[1] [2])
)";
  const std::string fill = "where(%keep, %N_s, f32[] -1.0e9)";
  expectAsPadded(encoder(kInputs, chosen, fill, "  return mul(%y, %factor)"), unseen(), 2);
  expectAsPadded(encoder(kInputs, chosen, fill,
                         "  %sum = reduce_sum(mul(%y, %factor), i64[1] [1]) {keepdims = 0}\n"
                         "  %count = max(reduce_sum(%factor, i64[1] [1]) {keepdims = 0}, f32[] 1)\n"
                         "  return div(%sum, %count)"),
                 unseen(), 2);
}

// NaN at padded positions of the input: kept results do not see it.
TEST(Checklist, R_d_NaNsOfPaddingReachNoKeptResult) {
  const auto zero = compiledOf(encoder(kInputs, kBias, "add(%N_s, %bias)", "  return %y"), zeros());
  ASSERT_TRUE(zero);
  for (const HostTensor& mask : masksOf(4, 9)) {
    HostTensor x = randomTensor(Dtype::f32, {4, 9, 8}, 3), clean = randomTensor(Dtype::f32, {4, 9, 8}, 3);
    for (int64_t i = 0; i < 4 * 9; ++i)
      for (int64_t d = 0; d < 8 && mask.intAt(i) == 0; ++d)
        x.setReal(i * 8 + d, std::numeric_limits<double>::quiet_NaN());
    Result<std::vector<HostTensor>> actual = zero->run(inputsFor(x, mask)),
                                    expected = zero->run(inputsFor(clean, mask));
    ASSERT_TRUE(actual.ok() && expected.ok()) << actual.error().toString();
    for (int64_t i = 0; i < (*actual)[0].elementCount(); ++i)
      ASSERT_EQ((*actual)[0].realAt(i), (*expected)[0].realAt(i)) << i;
  }
}

// The prelude is made once for all layers.
TEST(Checklist, R_e_OnePreludeForAllLayers) {
  const auto program = compiledOf(encoder(kInputs, kBias, "add(%N_s, %bias)", kFirstPosition), unseen());
  ASSERT_TRUE(program);
  int64_t preludes = 0;
  for (const Op* op : program->model->trace.find("cse")->after.main()->ops)
    preludes += op->def->name == "nonzero" ? 1 : 0;
  EXPECT_EQ(preludes, 1);
}

TEST(PackSequences, SaysWhatLooksAcross) {
  const std::string bias = "add(%N_s, %bias)";
  const auto remarks = [](const std::string& text) {
    const auto program = compiledOf(text, unseen());
    EXPECT_EQ(packedIn(*program), 0) << text;
    return remarksOf(*program);
  };
  EXPECT_THAT(remarks(encoder(kInputs, kBias, bias, "  %mean = reduce_mean(%y, i64[1] [1])\n  return %mean")),
              testing::ContainsRegex("padded: %y: reduce_mean %mean .*looks across positions"));
  EXPECT_THAT(remarks(encoder(kInputs, "  %e = tanh(%x)\n", "relu(%N_s)", kFirstPosition)),
              HasSubstr("not packed: softmax %first_p: %first_m = relu stands between its product and it"));
  EXPECT_THAT(remarks(encoder(kInputs + ", %bias: Tensor[(b, 1, s, s), f32]", "  %e = tanh(%x)\n", bias,
                              kFirstPosition)),
              HasSubstr("its mask %bias differs from query to query"));
  EXPECT_THAT(remarks(encoder("%x: Tensor[(2, 6, 8), f32], %attention: Tensor[(2, 6), i64]", kBias, bias,
                              kFirstPosition)),
              HasSubstr("batch and sequence are not two sizes of the inputs"));
}

// The definition of `trilu` looks at the number of a position, another one where rows lie behind each
// other.
TEST(PackSequences, NumbersOfPositionsInDefinitions) {
  const std::string bias = "add(%N_s, %bias)";
  for (const char* lower :
       {"%e = trilu(tanh(%x), i64[] 1) {upper = 0}", "%e = trilu(tanh(%x)) {upper = 1}"}) {
    const std::string text = encoder(kInputs, "  " + std::string(lower) + kBias.substr(kBias.find("\n  %u")),
                                     bias, kFirstPosition);
    expectAsPadded(text, unseen(), 2);
    expectAsPadded(
        encoder(
            kInputs, kBias, bias,
            "  %t = trilu(%y, i64[] 0) {upper = 0}\n  return slice(%t, i64[1] [0], i64[1] [1], i64[1] [1])"),
        unseen(), 0);
  }
}

// The same bits whatever the number of threads.
TEST(PackedAttention, SameBits) {
  const std::string text =
      "fn @main(%q: Tensor[(1, h, n, d), f32], %k: Tensor[(1, h, d, n), f32], %v: Tensor[(1, h, n, e), f32], "
      "%l: Tensor[(m), i64]) { %y = packed_attention(%q, %k, %v, %l) {scale = 0.25} return %y }";
  const std::vector<HostTensor> inputs{
      randomTensor(Dtype::f32, {1, 6, 700, 16}, 1), randomTensor(Dtype::f32, {1, 6, 16, 700}, 2),
      randomTensor(Dtype::f32, {1, 6, 700, 24}, 3),
      HostTensor::vectorInt(Dtype::i64, std::vector<int64_t>{3, 300, 0, 17, 1, 250, 129})};
  test::expectSame(text, {inputs});
  std::vector<HostTensor> results;
  for (int threads : {1, 2, 5}) {
    const auto program = compiledOf(text, unseen(), threads);
    Result<std::vector<HostTensor>> result = program->run(inputs);
    ASSERT_TRUE(result.ok()) << result.error().toString();
    results.push_back((*result)[0]);
  }
  for (const HostTensor& other : results)
    EXPECT_EQ(0, std::memcmp(other.data(), results[0].data(), static_cast<size_t>(other.sizeBytes())));
}

// Runs of one key and of none, sizes of 0, an infinite score.
TEST(PackedAttention, AnyShape) {
  const std::string text =
      "fn @main(%q: Tensor[(1, h, n, d), f32], %k: Tensor[(1, h, d, n), f32], %v: Tensor[(1, h, n, e), f32], "
      "%l: Tensor[(m), i64], %b: Tensor[(n), f32], %a: Tensor[(n), bool]) { %y = packed_attention(%q, %k, "
      "%v, "
      "%l, %b, %a) {scale = 0.5, fill = -10000.0} return %y }";
  std::vector<std::vector<HostTensor>> sets;
  for (const auto& [h, d, e, lengths] :
       std::vector<std::tuple<int64_t, int64_t, int64_t, std::vector<int64_t>>>{
           {1, 4, 4, {1}},
           {3, 5, 7, {0, 2, 0, 31, 0}},
           {2, 64, 33, {129, 1, 64}},
           {1, 0, 3, {4, 5}},
           {2, 4, 0, {3}},
           {0, 4, 4, {3}},
           {2, 4, 4, {0, 0}},
           {1, 8, 8, {1030, 15, 16, 17}}}) {
    int64_t n = 0;
    for (int64_t length : lengths) n += length;
    HostTensor bias = randomTensor(Dtype::f32, {n}, 5);
    for (int64_t i = 0; i < n; ++i)
      if (i % 5 == 4) bias.setReal(i, -kUnpadInfinity);
    sets.push_back({randomTensor(Dtype::f32, {1, h, n, d}, 1), randomTensor(Dtype::f32, {1, h, d, n}, 2),
                    randomTensor(Dtype::f32, {1, h, n, e}, 3), HostTensor::vectorInt(Dtype::i64, lengths),
                    std::move(bias), randomTensor(Dtype::boolean, {n}, 6)});
  }
  test::expectSame(text, sets);
}

TEST(PackSequences, itsOptionPutsItIntoThePipeline) {
  CompileOptions options;
  options.paddedResults = "zero";
  Result<Pipeline> pipeline = pipelineOf(options);
  ASSERT_TRUE(pipeline.ok()) << pipeline.error().toString();
  EXPECT_THAT(toString(*pipeline), HasSubstr("batch_levels,pack_sequences{results=zero},variants"));
  options.paddedResults = "exact";
  EXPECT_THAT(toString(*pipelineOf(options)), HasSubstr("batch_levels,pack_sequences,variants"));
  options.memoryOfSizes = true;  // of exports
  EXPECT_THAT(toString(*pipelineOf(options)), testing::Not(HasSubstr("pack_sequences")));
  options.memoryOfSizes = false;
  options.passes = "-pack_sequences";
  pipeline = pipelineOf(options);
  ASSERT_TRUE(pipeline.ok()) << pipeline.error().toString();
  EXPECT_THAT(toString(*pipeline), testing::Not(HasSubstr("pack_sequences")));
}

}  // namespace
}  // namespace dyn
