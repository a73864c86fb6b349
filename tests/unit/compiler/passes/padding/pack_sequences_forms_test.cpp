// Attention that is written in other forms before it is computed without padding: the same results as with
// padding for any mask, and what only looks like such a form is not touched.
#include <gmock/gmock.h>

#include "tests/unit/compiler/passes/padding/padded_encoder.h"

namespace dyn {
namespace {

using namespace test;
using testing::HasSubstr;

const std::string kMeanOfMask = R"(
  %f = unsqueeze(cast(%attention) {to = f32}, i64[1] [2])
  %sum = reduce_sum(mul(%y, %f), i64[1] [1]) {keepdims = 0}
  return %sum)";

// The mask is subtracted, everything is scaled once more, or by one.
TEST(PackSequencesForms, DifferencesAndScaledSums) {
  const std::string positive = kBias + "  %hidden = mul(sub(f32[] 1, %u), f32[] 1.0e9)\n";
  expectAsPadded(encoder(kInputs, positive, "sub(%N_s, %hidden)", kFirstPosition), unseen(), 2);
  expectAsPadded(encoder(kInputs, kBias, "mul(add(%N_s, %bias), f32[] 1)", kFirstPosition), unseen(), 2);
  const std::string table = kPlaces + R"(
  %apart = cast(sub(%row, %column)) {to = f32}
  %table = mul(%apart, f32[] 0.25)
  %keybias = where(%keys, f32[] 0, f32[] -3.0e38)
)";
  expectAsPadded(encoder(kInputs, table, "add(mul(add(%N_s, %table), f32[] 0.5), %keybias)", kMeanOfMask),
                 unseen(), 2);
  expectAsPadded(encoder(kInputs, table, "add(div(add(%N_s, %table), f32[] 3), %keybias)", kMeanOfMask),
                 unseen(), 2);
}

// As ONNX's Attention (opset 23) is written out: heads in groups of one, a mask that may be shorter than the
// keys, and queries without any key that get zeros.
TEST(PackSequencesForms, HeadsInGroups) {
  const std::string mask = R"(
  %e = tanh(%x)
  %keep = unsqueeze(cast(%attention) {to = bool}, i64[2] [1, 2])
  %short = where(%keep, f32[] 0, f32[] -inf)
  %missing = sub(gather(shape(%x), i64[] 1), gather(shape(%attention), i64[] 1))
  %bias = pad(%short, concat(i64[1] [0], unsqueeze(%missing, i64[1] [0])) {axis = 0}, f32[] -inf, i64[1] [-1])
)";
  const auto grouped = [](std::string text, const std::string& hidden) {
    for (const std::string layer : {"first", "y"})
      for (const auto& [what, with] : std::vector<std::pair<std::string, std::string>>{
               {"mul(matmul(%N_q, %N_k), f32[] 0.5)",
                "mul(squeeze(matmul(unsqueeze(%N_q, i64[1] [2]), unsqueeze(%N_k, i64[1] [2])), i64[1] [2]), "
                "f32[] 0.5)"},
               {"matmul(%N_p, %N_v)", "squeeze(matmul(unsqueeze(where(equal(reduce_max(" + hidden +
                                          ", i64[1] [-1]) {keepdims = 1}, f32[] -inf), f32[] 0, %N_p), "
                                          "i64[1] [2]), unsqueeze(%N_v, "
                                          "i64[1] [2])), i64[1] [2])"}}) {
        const auto named = [&](std::string of) {
          for (size_t at = 0; (at = of.find("%N", at)) != std::string::npos;) of.replace(at, 2, "%" + layer);
          return of;
        };
        const size_t at = text.find(named(what));
        EXPECT_NE(at, std::string::npos) << what;
        if (at != std::string::npos) text.replace(at, named(what).size(), named(with));
      }
    return text;
  };
  for (const std::string& end : {kMeanOfMask, kFirstPosition})
    expectAsPadded(grouped(encoder(kInputs, mask, "add(%N_s, %bias)", end), "%bias"), unseen(), 2);
  // What hides the keys is another bias than the one that is asked.
  const auto program = compiledOf(
      grouped(encoder(kInputs, mask, "add(%N_s, %bias)", kFirstPosition), "mul(%bias, f32[] 2)"), unseen());
  ASSERT_TRUE(program);
  EXPECT_THAT(remarksOf(*program), HasSubstr("a query without keys has another result"));
}

// A slice of all and a reshape to the same are no steps; a slice backwards is one, and so is one of others.
TEST(PackSequencesForms, SlicesOfAll) {
  const auto sliced = [&](const std::string& slice) {
    return encoder(kInputs, kBias, "add(%N_s, %bias)", R"(
  %length = unsqueeze(gather(shape(%x), i64[] 1), i64[1] [0])
  %w = )" + slice + R"(
  return gather(tanh(%w), i64[] 0) {axis = 1})");
  };
  expectAsPadded(sliced("slice(%y, i64[1] [0], %length, i64[1] [1])"), unseen(), 2);
  expectAsPadded(sliced("slice(%y, neg(%length), i64[1] [9223372036854775807], i64[1] [1])"), unseen(), 2);
  expectAsPadded(sliced("reshape(%y, shape(%y)) {allowzero = 1}"), unseen(), 2);
  // The last position of all is none that is known before the run.
  expectAsPadded(sliced("slice(%y, i64[1] [-1], i64[1] [-1000000], i64[1] [1], i64[1] [-1])"), unseen(), 0);
}

// Convolutions with windows of one, in groups, of channels before positions; those of three look across.
TEST(PackSequencesForms, WindowsOfOne) {
  const auto convolved = [&](const std::string& window, const std::string& attributes) {
    return encoder(kInputs, kBias, "add(%N_s, %bias)",
                   "  %k = constant_of_shape(i64[3] [8, 4, " + window + "]) {value = f32[1] [0.25]}\n" + R"(
  %c = conv(transpose(%y) {perm = [0, 2, 1]}, %k) {group = 2, )" +
                       attributes + R"(}
  %last = transpose(relu(%c)) {perm = [0, 2, 1]}
  %f = unsqueeze(cast(%attention) {to = f32}, i64[1] [2])
  return reduce_sum(mul(%last, %f), i64[1] [1]) {keepdims = 0})");
  };
  expectAsPadded(convolved("1", "kernel_shape = [1]"), unseen(), 2);
  const auto program = compiledOf(convolved("3", "kernel_shape = [3], pads = [1, 1]"), unseen());
  ASSERT_TRUE(program);
  EXPECT_THAT(remarksOf(*program), HasSubstr("looks across positions"));
}

// A query sees its own key whatever the mask says of it, and others do not (XLNet).
const std::string kOwnKey = kPlaces + R"(
  %gone = sub(f32[] 1, cast(%keys) {to = f32})
  %own = cast(equal(%row, %column)) {to = f32}
  %hides = greater(sub(%gone, %own), f32[] 0)
  %bias = mul(cast(%hides) {to = f32}, f32[] -65500)
)";
TEST(PackSequencesForms, EachQuerySeesItself) {
  expectAsPadded(encoder(kInputs, kOwnKey, "add(%N_s, %bias)", kMeanOfMask), unseen(), 2);
  expectAsPadded(encoder(kInputs, kOwnKey, "add(%N_s, %bias)", kFirstPosition), unseen(), 2);
  // The key before its own is none.
  std::string other = kOwnKey;
  other.replace(other.find("equal(%row, %column)"), 20, "equal(%row, add(%column, i64[] 1))");
  const auto program = compiledOf(encoder(kInputs, other, "add(%N_s, %bias)", kMeanOfMask), unseen());
  ASSERT_TRUE(program);
  EXPECT_EQ(packedIn(*program), 0);
}

// Scores bounded by the least number behind the mask (XGLM): where a query is without keys, that makes them
// all the same.
TEST(PackSequencesForms, ScoresBoundedBehindTheMask) {
  const std::string causal =
      kPlaces + "  %both = where(logical_and(%before, %keys), f32[] 0, f32[] -3.4e38)\n";
  expectKeptAsPadded(causal, "max(add(%N_s, %both), f32[] -3.4028235e38)");
  const auto remarks = [](const std::string& text) {
    const auto program = compiledOf(text, unseen());
    EXPECT_EQ(packedIn(*program), 0) << text;
    return remarksOf(*program);
  };
  EXPECT_THAT(remarks(encoder(kInputs, kBias, "max(add(%N_s, %bias), f32[] -3.4028235e38)", kFirstPosition)),
              HasSubstr("its scores are bounded behind the mask"));
  EXPECT_THAT(remarks(encoder(kInputs, causal, "max(add(%N_s, %both), f32[] -1)", kMeanOfMask)),
              HasSubstr("max stands between its product and it"));
}

// Other queries than the keys, as a decoder's: hidden keys are not seen, all of them are where there is no
// other.
TEST(PackSequencesForms, QueriesOfADecoder) {
  const auto decoded = [](const std::string& scores) {
    return encoder(kInputs, kBias, "add(%N_s, %bias)", R"(
  %batch = unsqueeze(gather(shape(%x), i64[] 0), i64[1] [0])
  %asked = constant_of_shape(i64[4] [1, 1, 3, 8]) {value = f32[1] [0.3]}
  %dq = expand(%asked, concat(%batch, i64[3] [1, 3, 8]) {axis = 0})
  %dk = unsqueeze(transpose(tanh(%y)) {perm = [0, 2, 1]}, i64[1] [1])
  %ds = matmul(%dq, %dk)
  %dp = softmax()" + scores + R"() {axis = -1}
  return matmul(%dp, unsqueeze(%y, i64[1] [1])))");
  };
  expectAsPadded(decoded("add(%ds, %bias)"), unseen(), 2);
  expectAsPadded(decoded("add(%ds, mul(%bias, f32[] 0.5))"), unseen(), 0);
  expectAsPadded(decoded("%ds"), unseen(), 0);
  const std::string chosen = R"(
  %e = tanh(%x)
  %keep = unsqueeze(cast(%attention) {to = bool}, i64[2] [1, 2])
  %bias = where(%keep, f32[] 0, f32[] -3.0e38)
)";
  std::string other = decoded("where(%keep, %ds, f32[] -1.0e9)");
  other.replace(other.find(kBias), kBias.size(), chosen);
  expectAsPadded(other, unseen(), 2);
}

// Scores [b, h, s, 2 * s] shifted along the diagonal by reshaping, as relative positions have it.
std::string shifted(const std::string& from, const std::string& until) {
  std::string text = kPlaces + R"(
  %keybias = where(%keys, f32[] 0, f32[] -3.0e38)
  %batch = unsqueeze(gather(shape(%x), i64[] 0), i64[1] [0])
  %length = unsqueeze(%size, i64[1] [0])
  %double = mul(%length, i64[1] [2])
  %table = constant_of_shape(concat(i64[1] [8], %double) {axis = 0}) {value = f32[1] [0.1]}
  %count = sub(cast(range(i64[] 0, mul(%size, i64[] 2), i64[] 1)) {to = f32}, f32[] 3)
  %far = unsqueeze(matmul(tanh(%x), mul(%table, mul(%count, f32[] 0.1))), i64[1] [1])
  %long = concat(%batch, i64[1] [1], %double, %length) {axis = 0}
  %moved = slice(reshape(%far, %long) {allowzero = 1}, i64[1] [1], i64[1] [9223372036854775807], i64[1] [2])
  %less = concat(%batch, i64[1] [1], %length, sub(%double, i64[1] [1])) {axis = 0}
  %back = slice(reshape(%moved, %less) {allowzero = 1}, FROM, UNTIL, i64[1] [3])
)";
  text.replace(text.find("FROM"), 4, from);
  text.replace(text.find("UNTIL"), 5, until);
  return text;
}
TEST(PackSequencesForms, ShiftsAlongTheDiagonal) {
  const std::string masked = "add(add(%N_s, %back), %keybias)";
  const auto program =
      compiledOf(encoder(kInputs, shifted("i64[1] [0]", "%length"), masked, kMeanOfMask), unseen());
  const auto padded = compiledOf(encoder(kInputs, shifted("i64[1] [0]", "%length"), masked, kMeanOfMask),
                                 without("pack_sequences"));
  ASSERT_TRUE(program && padded);
  EXPECT_EQ(packedIn(*program), 2) << remarksOf(*program);
  for (const auto& [b, s] :
       std::vector<std::array<int64_t, 2>>{{1, 1}, {1, 7}, {3, 5}, {2, 37}, {7, 13}, {0, 3}})
    for (const HostTensor& mask : masksOf(b, s)) {
      const std::vector<HostTensor> inputs = inputsFor(randomTensor(Dtype::f32, {b, s, 8}, 3), mask);
      Result<std::vector<HostTensor>> actual = program->run(inputs), expected = padded->run(inputs);
      ASSERT_TRUE(actual.ok() && expected.ok()) << (actual.ok() ? "" : actual.error().toString());
      expectClose((*actual)[0], (*expected)[0], "b = " + std::to_string(b) + ", s = " + std::to_string(s),
                  1e-5);
    }
  // From s - 1 on an element stands in the next row where its key is behind its query.
  const std::string beyond = shifted("sub(%length, i64[1] [1])", "i64[1] [9223372036854775807]");
  const auto other = compiledOf(encoder(kInputs, beyond, masked, kMeanOfMask), unseen());
  ASSERT_TRUE(other);
  EXPECT_EQ(packedIn(*other), 0);
  EXPECT_THAT(remarksOf(*other), HasSubstr("joins the positions with other axes"));
}

}  // namespace
}  // namespace dyn
