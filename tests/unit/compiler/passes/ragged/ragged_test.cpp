// Ragged tensors: what is compiled gives what the reference does, which takes each sequence by itself; what
// is not supported is refused.
#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

#include "compiler/ir/printer.h"
#include "tests/unit/compiler/passes/ragged/ragged_batches.h"
#include "vm/include/dyn_ragged.h"

namespace dyn::test {
namespace {

using testing::HasSubstr;

TEST(Ragged, ElementsProductsAndNorms) {
  std::vector<std::vector<HostTensor>> sets;
  for (const auto& lengths : kBatches)
    sets.push_back({rows(lengths, {8}, 1), randomTensor(Dtype::f32, {8, 5}, 2),
                    randomTensor(Dtype::f32, {5}, 3), randomTensor(Dtype::f32, {5}, 4), lengthsOf(lengths)});
  expectSame(
      R"(fn @main(%x: Tensor[(b, len[b], 8), f32], %w: Tensor[(8, 5), f32], %g: Tensor[(5), f32], %s: Tensor[(5), f32]) {
  %h = relu(matmul(%x, %w))
  %y = layer_norm(mul(add(%h, %s), f32[] 0.5), %g, %s) {axis = -1}
  return %y, exp(%x)
})",
      sets);
}

TEST(Ragged, TwoInputsOfTheSameLengths) {
  std::vector<std::vector<HostTensor>> sets;
  for (const auto& lengths : kBatches)
    sets.push_back({rows(lengths, {4}, 1), lengthsOf(lengths), rows(lengths, {4}, 2)});
  expectSame(
      "fn @main(%x: Tensor[(b, len[b], 4), f32], %len: Tensor[(b), i64], %y: Tensor[(b, len[b], 4), f32]) "
      "{ return add(%x, %y) }",
      sets);
}

TEST(Ragged, AnElementForEachSequence) {
  std::vector<std::vector<HostTensor>> sets;
  for (const auto& lengths : kBatches)
    sets.push_back({rows(lengths, {2, 4}, 1),
                    randomTensor(Dtype::f32, {static_cast<int64_t>(lengths.size()), 1, 1, 4}, 2),
                    lengthsOf(lengths)});
  expectSame(
      "fn @main(%x: Tensor[(b, len[b], 2, 4), f32], %c: Tensor[(b, 1, 1, 4), f32]) { return mul(%x, %c) }",
      sets);
}

TEST(Ragged, SumsMeansAndExtremes) {
  std::vector<std::vector<HostTensor>> sets;
  for (const auto& lengths : kBatches) sets.push_back({rows(lengths, {3, 2}, 1), lengthsOf(lengths)});
  expectSame(R"(fn @main(%x: Tensor[(b, len[b], 3, 2), f32]) {
  %s = reduce_sum(%x, i64[1] [1]) {keepdims = 0}
  %m = reduce_mean(%x, i64[1] [1]) {keepdims = 1}
  %centred = sub(%x, %m)
  %most = reduce_max(%centred, i64[1] [-3]) {keepdims = 0}
  %least = reduce_min(transpose(%x) {perm = [2, 1, 0, 3]}, i64[1] [1]) {keepdims = 1}
  %other = reduce_sum(%centred, i64[1] [2]) {keepdims = 0}
  return %s, %m, %centred, %most, %least, %other
})",
             sets);
}

TEST(Ragged, OtherElementTypes) {
  for (const Dtype dtype : {Dtype::f64, Dtype::f16, Dtype::i64, Dtype::i32}) {
    std::vector<std::vector<HostTensor>> sets;
    for (const auto& lengths : kBatches) sets.push_back({rows(lengths, {3}, 1, dtype), lengthsOf(lengths)});
    const std::string name(toString(dtype));
    SCOPED_TRACE(name);
    expectSame("fn @main(%x: Tensor[(b, len[b], 3), " + name +
                   "]) { %s = reduce_sum(%x, i64[1] [1]) {keepdims = 1} %j = concat(%x, %s) {axis = 1} "
                   "return %s, add(%x, %s), %j }",
               sets, {}, dtype == Dtype::f16 ? 1e-2 : 1e-6);
  }
}

TEST(Ragged, SoftmaxOverPositions) {
  std::vector<std::vector<HostTensor>> sets;
  for (const auto& lengths : kBatches) sets.push_back({rows(lengths, {3}, 1), lengthsOf(lengths)});
  expectSame(
      "fn @main(%x: Tensor[(b, len[b], 3), f32]) { %p = softmax(%x) {axis = 1} "
      "%pooled = reduce_sum(mul(%p, %x), i64[1] [1]) {keepdims = 0} return %p, %pooled, softmax(%x) }",
      sets);
}

TEST(Ragged, Concatenation) {
  std::vector<std::vector<HostTensor>> sets;
  for (const auto& lengths : kBatches) {
    std::vector<int64_t> others = lengths;
    std::reverse(others.begin(), others.end());
    const auto batch = static_cast<int64_t>(lengths.size());
    sets.push_back({rows(lengths, {3}, 1), rows(others, {3}, 2), randomTensor(Dtype::f32, {batch, 2, 3}, 3),
                    lengthsOf(lengths), lengthsOf(others)});
  }
  expectSame(
      R"(fn @main(%x: Tensor[(b, len[b], 3), f32], %y: Tensor[(b, more[b], 3), f32], %c: Tensor[(b, 2, 3), f32]) {
  %j = concat(%c, %x, %y) {axis = 1}
  %z = mul(%j, f32[] 2)
  %w = concat(%x, %x) {axis = 2}
  return %z, %w, reduce_sum(%z, i64[1] [1]) {keepdims = 0}
})",
      sets);
}

TEST(Ragged, PartsOfSequences) {
  std::vector<std::vector<HostTensor>> sets;
  for (const std::vector<int64_t>& lengths : {std::vector<int64_t>{3, 2, 7}, {2}, {}, {2, 2}, {5, 11, 2, 3}})
    sets.push_back({rows(lengths, {3}, 1), lengthsOf(lengths)});
  expectSame(R"(dim len[b] in 2..20
fn @main(%x: Tensor[(b, len[b], 3), f32]) {
  %rest = slice(%x, i64[1] [1], i64[1] [9223372036854775807], i64[1] [1])
  %start = slice(%x, i64[1] [0], i64[1] [-1], i64[1] [1])
  %difference = sub(%rest, %start)
  %first = slice(%x, i64[1] [0], i64[1] [2], i64[1] [1])
  %last = slice(%x, i64[1] [-2], i64[1] [9223372036854775807], i64[1] [1])
  %column = slice(%x, i64[1] [1], i64[1] [3], i64[1] [2])
  return %rest, relu(%difference), %first, %last, %column
})",
             sets);
}

TEST(Ragged, PositionsByNumber) {
  std::vector<std::vector<HostTensor>> sets;
  for (const auto& lengths : kBatches) sets.push_back({rows(lengths, {3}, 1), lengthsOf(lengths)});
  sets.push_back({rows({3, 2, 5}, {3}, 1), lengthsOf({3, 2, 5})});
  expectSame(R"(fn @main(%x: Tensor[(b, len[b], 3), f32]) {
  %ends = gather(%x, i64[2] [-1, -2]) {axis = 1}
  return gather(%x, i64[] 0) {axis = 1}, gather(%x, i64[2] [1, 0]) {axis = 1}, %ends, gather(%x, i64[] 2) {axis = 2}
})",
             sets);
}

// Sequences may be shorter than where the part begins, or than where it ends.
TEST(Ragged, PartsOfSequencesOfAnyLength) {
  std::vector<std::vector<HostTensor>> sets;
  for (const auto& lengths : kBatches) sets.push_back({rows(lengths, {3}, 1), lengthsOf(lengths)});
  const std::string text = R"(fn @main(%x: Tensor[(b, len[b], 3), f32]) {
  %rest = slice(%x, i64[1] [2], i64[1] [9223372036854775807], i64[1] [1])
  %start = slice(%x, i64[1] [0], i64[1] [-1], i64[1] [1])
  %first = slice(%x, i64[1] [0], i64[1] [4], i64[1] [1])
  %last = slice(%x, i64[1] [-3], i64[1] [9223372036854775807], i64[1] [1])
  %inner = slice(%x, i64[1] [1], i64[1] [5], i64[1] [1])
  %turned = slice(%x, i64[1] [-1], i64[1] [-9223372036854775807], i64[1] [1], i64[1] [-1])
  return relu(%rest), %start, reduce_sum(%first, i64[1] [1]) {keepdims = 0}, %last, %inner, add(%turned, %x)
})";
  EXPECT_EQ(counterOf(text, "by_sequence"), 0);
  expectSame(text, sets);
}

// What the program says of its lengths is checked.
TEST(Ragged, FactsOfLengths) {
  IrContext context;
  Result<Module> parsed = parseText(context,
                                    "dim len[b] in 1..8 multiple 2\n"
                                    "fn @main(%x: Tensor[(b, len[b], 2), f32]) { return relu(%x) }");
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed);
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  EXPECT_TRUE((*compiled)->run({rows({2, 8}, {2}, 1), lengthsOf({2, 8})}).ok());
  for (const std::vector<int64_t>& wrong : {std::vector<int64_t>{2, 0}, {10}, {2, 3}})
    EXPECT_FALSE((*compiled)->run({rows(wrong, {2}, 1), lengthsOf(wrong)}).ok());
}

// A layer of an encoder over ids, with positions and, if asked for, a causal mask.
std::string raggedEncoder(int layers, bool causal) {
  std::string text =
      "fn @main(%ids: Tensor[(b, len[b]), i64], %table: Tensor[(5, 8), f32], %places: Tensor[(40, 8), f32]";
  for (const char* weight : {"wq", "wk", "wv", "wo"})
    text += ", %" + std::string(weight) + ": Tensor[(8, 8), f32]";
  text += R"(, %g: Tensor[(8), f32], %h: Tensor[(8), f32]) {
  %split = constant() {value = i64[4] [0, 0, 2, 4]}
  %join = constant() {value = i64[3] [0, 0, 8]}
  %size = gather(shape(%ids), i64[] 1) {axis = 0}
  %range = range(i64[] 0, %size, i64[] 1)
  %seen = less_equal(unsqueeze(%range, i64[1] [0]), unsqueeze(%range, i64[1] [1]))
  %x0 = add(gather(%table, %ids) {axis = 0}, gather(%places, %range) {axis = 0})
)";
  for (int i = 0; i < layers; ++i) {
    std::string layer = R"(
  %qN = transpose(reshape(matmul(%xN, %wq), %split)) {perm = [0, 2, 1, 3]}
  %kN = transpose(reshape(matmul(%xN, %wk), %split)) {perm = [0, 2, 3, 1]}
  %vN = transpose(reshape(matmul(%xN, %wv), %split)) {perm = [0, 2, 1, 3]}
  %sN = div(matmul(%qN, %kN), f32[] 2)
  %pN = softmax(MASKED) {axis = -1}
  %zN = reshape(transpose(matmul(%pN, %vN)) {perm = [0, 2, 1, 3]}, %join)
  %xM = layer_norm(add(%xN, matmul(%zN, %wo)), %g, %h) {axis = -1}
)";
    for (const auto& [what, with] : std::vector<std::pair<std::string, std::string>>{
             {"MASKED", causal ? "where(%seen, %sN, f32[] -1.0e9)" : "%sN"},
             {"N", std::to_string(i)},
             {"M", std::to_string(i + 1)}})
      for (size_t at = 0; (at = layer.find(what, at)) != std::string::npos; at += with.size())
        layer.replace(at, what.size(), with);
    text += layer;
  }
  return text + "  return %x" + std::to_string(layers) + "\n}";
}

std::vector<std::vector<HostTensor>> encoderInputs() {
  std::vector<std::vector<HostTensor>> sets;
  for (const auto& lengths : kBatches) {
    std::vector<HostTensor> inputs{rows(lengths, {}, 1, Dtype::i64), randomTensor(Dtype::f32, {5, 8}, 2),
                                   randomTensor(Dtype::f32, {40, 8}, 3)};
    for (uint32_t seed = 10; seed < 14; ++seed) inputs.push_back(randomTensor(Dtype::f32, {8, 8}, seed));
    for (uint32_t seed = 14; seed < 16; ++seed) inputs.push_back(randomTensor(Dtype::f32, {8}, seed));
    inputs.push_back(lengthsOf(lengths));
    sets.push_back(std::move(inputs));
  }
  return sets;
}

TEST(Ragged, AttentionWithinEachSequence) { expectSame(raggedEncoder(2, false), encoderInputs()); }

TEST(Ragged, CausalAttentionWithinEachSequence) { expectSame(raggedEncoder(2, true), encoderInputs()); }

TEST(Ragged, AttentionWithoutHeads) {
  std::vector<std::vector<HostTensor>> sets;
  for (const auto& lengths : kBatches)
    sets.push_back({rows(lengths, {4}, 1), rows(lengths, {4}, 2), rows(lengths, {6}, 3), lengthsOf(lengths)});
  expectSame(
      R"(fn @main(%q: Tensor[(b, len[b], 4), f32], %k: Tensor[(b, len[b], 4), f32], %v: Tensor[(b, len[b], 6), f32]) {
  %s = matmul(%q, %k) {transpose_b = 1}
  return matmul(softmax(mul(f32[] 0.5, %s)), %v)
})",
      sets);
}

TEST(Ragged, AttentionUnderMasksOfKeys) {
  std::vector<std::vector<HostTensor>> sets;
  for (const auto& lengths : kBatches)
    sets.push_back({rows(lengths, {4}, 1), rows(lengths, {}, 2, Dtype::boolean), rows(lengths, {}, 3),
                    lengthsOf(lengths)});
  for (const char* masked : {"where(%keep, %s, f32[] -1.0e9)", "where(%keep, f32[] -5.5, %s)",
                             "add(%s, %bias)", "where(%keep, add(%bias, %s), f32[] -1.0e4)"}) {
    SCOPED_TRACE(masked);
    expectSame(
        std::string(
            R"(fn @main(%x: Tensor[(b, len[b], 4), f32], %mask: Tensor[(b, len[b]), bool], %more: Tensor[(b, len[b]), f32]) {
  %h = transpose(reshape(%x, i64[4] [0, 0, 2, 2])) {perm = [0, 2, 1, 3]}
  %keep = unsqueeze(%mask, i64[2] [1, 2])
  %bias = unsqueeze(%more, i64[2] [1, 2])
  %s = mul(matmul(%h, transpose(%h) {perm = [0, 1, 3, 2]}), f32[] 0.7)
  %z = matmul(softmax()") +
            masked +
            R"() {axis = 3}, %h)
  return reshape(transpose(%z) {perm = [0, 2, 1, 3]}, i64[3] [0, 0, 4])
})",
        sets);
  }
}

// Layers as functions, which call others; what takes ragged tensors takes rectangular ones too.
TEST(Ragged, FunctionsOfRaggedTensors) {
  std::vector<std::vector<HostTensor>> sets;
  for (const auto& lengths : kBatches)
    sets.push_back({rows(lengths, {4}, 1), randomTensor(Dtype::f32, {2, 3, 4}, 2),
                    randomTensor(Dtype::f32, {4, 4}, 3), lengthsOf(lengths)});
  expectSame(R"(
fn @main(%x: Tensor[(b, len[b], 4), f32], %z: Tensor[(2, 3, 4), f32], %w: Tensor[(4, 4), f32]) {
  %h = @layer(%x, %w)
  %y = @layer(%h, %w)
  %r = @layer(%z, %w)
  %m = @mean(%y)
  return %y, %m, %r
}
fn @layer(%x: Tensor[(b, len[b], 4), f32], %w: Tensor[(4, 4), f32]) -> (Tensor[(b, len[b], 4), f32]) {
  %a = @attention(%x)
  %y = add(tanh(matmul(%a, %w)), %x)
  return %y
}
fn @attention(%q: Tensor[(n, of[n], 4), f32]) -> (Tensor[(n, of[n], 4), f32]) {
  %s = matmul(%q, transpose(%q) {perm = [0, 2, 1]})
  %z = matmul(softmax(%s), %q)
  return %z
}
fn @mean(%x: Tensor[(b, len[b], 4), f32]) -> (Tensor[(b, 4), f32]) {
  %m = reduce_mean(%x, i64[1] [1]) {keepdims = 0}
  return %m
})",
             sets);
}

// Every pass but those that nothing runs without, one at a time.
TEST(Ragged, EachPassMayBeLeftOut) {
  for (const char* pass : {"fold", "simplify", "cse", "fold_transposes", "dce", "views", "fuse", "attention",
                           "schedule", "prepack", "layout", "rematerialise"}) {
    CompileOptions options;
    options.passes = std::string("-") + pass;
    SCOPED_TRACE(options.passes);
    expectSame(raggedEncoder(1, true), encoderInputs(), options);
  }
}

// R-e: one prelude for all operations and layers.
TEST(Ragged, ReOnePreludeForSixLayers) {
  EXPECT_EQ(counterOf(raggedEncoder(6, true), "preludes"), 1);
  EXPECT_EQ(counterOf(raggedEncoder(6, true), "attentions"), 6);
  // It is told apart by its place, and there is one of each of its tables.
  const auto places = [](const char* name) {
    return opsAfter(raggedEncoder(6, true), "ragged", [&](const Op& op) {
      return op.def->name == name && op.place.node == "prelude of len[b]";
    });
  };
  EXPECT_EQ(places("cumsum"), 1);
  EXPECT_EQ(places("less_equal"), 1);
  EXPECT_EQ(places("matmul"), 0);
}

// R-h: attention with and without a causal mask is one mechanism.
TEST(Ragged, RhOneOperatorForMaskedAttention) {
  const auto attention = [](const Op& op) { return op.def->name == "packed_attention"; };
  EXPECT_EQ(opsAfter(raggedEncoder(2, true), "ragged", attention), 2);
  EXPECT_EQ(opsAfter(raggedEncoder(2, false), "ragged", attention), 2);
}

// R-d: what stands in one sequence reaches no other, and nothing is read that is no row.
TEST(Ragged, RdNothingCrossesTheBordersOfSequences) {
  IrContext context;
  Result<Module> parsed = parseText(context, raggedEncoder(2, false));
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed);
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  for (std::vector<HostTensor> inputs : encoderInputs()) {
    const HostTensor lengths = inputs.back();
    if (lengths.elementCount() < 2) continue;
    Result<std::vector<HostTensor>> clean = (*compiled)->run(inputs);
    ASSERT_TRUE(clean.ok()) << clean.error().toString();
    // The first sequence is of an id whose row of the table is no number, which the others have not.
    const int64_t first = lengths.intAt(0);
    for (int64_t i = 0; i < first; ++i) inputs[0].setInt(i, 4);
    for (int64_t i = 32; i < 40; ++i) inputs[1].setReal(i, std::numeric_limits<double>::quiet_NaN());
    for (int64_t i = first; i < inputs[0].elementCount(); ++i)
      if (inputs[0].intAt(i) == 4) inputs[0].setInt(i, 3);
    Result<std::vector<HostTensor>> poisoned = (*compiled)->run(inputs);
    ASSERT_TRUE(poisoned.ok()) << poisoned.error().toString();
    for (int64_t i = 0; i < (*poisoned)[0].elementCount(); ++i)
      EXPECT_EQ(std::isnan((*poisoned)[0].realAt(i)), i < first * 8) << i;
  }
}

// R-b: sequence and position of each row as a walk over the lengths finds them.
TEST(Ragged, RbPlacesAsAWalkFindsThem) {
  const std::string text = R"(fn @main(%x: Tensor[(b, len[b]), f32], %number: Tensor[(b, 1), f32]) {
  %size = gather(shape(%x), i64[] 1) {axis = 0}
  %position = cast(range(i64[] 0, %size, i64[] 1)) {to = f32}
  %zero = sub(%x, %x)
  return add(%zero, %position), add(%zero, %number)
})";
  IrContext context;
  Result<Module> parsed = parseText(context, text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed);
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<int64_t> lengths(random() % 7);
    for (int64_t& length : lengths)
      length = static_cast<int64_t>(random() % 4 == 0 ? random() % 20 : random() % 2);
    HostTensor number = *HostTensor::create(Dtype::f32, {static_cast<int64_t>(lengths.size()), 1});
    for (int64_t i = 0; i < number.elementCount(); ++i) number.setReal(i, static_cast<double>(i));
    Result<std::vector<HostTensor>> results =
        (*compiled)->run({rows(lengths, {}, 1), number, lengthsOf(lengths)});
    ASSERT_TRUE(results.ok()) << results.error().toString();
    int64_t row = 0;
    for (size_t s = 0; s < lengths.size(); ++s)
      for (int64_t i = 0; i < lengths[s]; ++i, ++row) {
        EXPECT_EQ((*results)[0].realAt(row), static_cast<double>(i));
        EXPECT_EQ((*results)[1].realAt(row), static_cast<double>(s));
      }
    EXPECT_EQ(row, (*results)[0].elementCount());
  }
}

TEST(Ragged, LengthsThatDoNotFitAreFaults) {
  IrContext context;
  Result<Module> parsed = parseText(context, "fn @main(%x: Tensor[(b, len[b], 2), f32]) { return relu(%x) }");
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed);
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  const HostTensor x = randomTensor(Dtype::f32, {5, 2}, 1);
  EXPECT_TRUE((*compiled)->run({x, lengthsOf({2, 3})}).ok());
  for (const std::vector<int64_t>& wrong : {std::vector<int64_t>{2, 2}, {6, -1}, {}, {5, 1}}) {
    Result<std::vector<HostTensor>> refused = (*compiled)->run({x, lengthsOf(wrong)});
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, HasSubstr("the lengths len"));
    EXPECT_FALSE(interpret(*parsed, {Value(x), Value(lengthsOf(wrong))}).ok());
  }
}

// R-i: no more memory than as many rows without any batch take.
TEST(Ragged, RiMemoryOfTheRowsAlone) {
  const std::string body = R"( {
  %h = gelu(matmul(%x, %up))
  %y = layer_norm(add(matmul(%h, %down), %x), %g, %g) {axis = -1}
  %z = layer_norm(add(matmul(gelu(matmul(%y, %up)), %down), %y), %g, %g) {axis = -1}
  return %z
})";
  const std::string weights =
      ", %up: Tensor[(64, 256), f32], %down: Tensor[(256, 64), f32], %g: Tensor[(64), f32]";
  const auto peakOf = [&](const std::string& type, const std::vector<HostTensor>& inputs) {
    IrContext context;
    Result<Module> parsed =
        parseText(context, "fn @main(%x: Tensor[" + type + ", f32]" + weights + ")" + body);
    EXPECT_TRUE(parsed.ok()) << parsed.error().toString();
    Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed);
    EXPECT_TRUE(compiled.ok()) << compiled.error().toString();
    EXPECT_TRUE((*compiled)->run(inputs).ok());
    dyn_statistics statistics{};
    dyn_context_statistics((*compiled)->context.get(), &statistics);
    return static_cast<double>(statistics.peak_bytes);
  };
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < 64; ++i) lengths.push_back(i * i % 61);
  std::vector<HostTensor> inputs{rows(lengths, {64}, 1), randomTensor(Dtype::f32, {64, 256}, 2),
                                 randomTensor(Dtype::f32, {256, 64}, 3), randomTensor(Dtype::f32, {64}, 4)};
  std::vector<HostTensor> ragged = inputs;
  ragged.push_back(lengthsOf(lengths));
  const double exact = peakOf("(n, 64)", inputs), actual = peakOf("(b, len[b], 64)", ragged);
  EXPECT_LE(actual, 1.05 * exact);
  inputs[0] = randomTensor(Dtype::f32, {64, *std::max_element(lengths.begin(), lengths.end()), 64}, 1);
  EXPECT_GE(peakOf("(b, s, 64)", inputs), 1.5 * actual);
}

// Rows and lengths together, without an object for each sequence.
TEST(Ragged, ValuesOfTheCInterface) {
  IrContext context;
  Result<Module> parsed = parseText(context,
                                    "fn @main(%x: Tensor[(b, len[b], 2), f32], %y: Tensor[(b, len[b], "
                                    "2), f32], %c: Tensor[(b, 1, 2), f32]) "
                                    "{ %p = max_pool(transpose(%x) {perm = [0, 2, 1]}) {kernel_shape = "
                                    "[2], strides = [2]} return add(%x, %y), concat(%x, %c, %x) {axis = "
                                    "1}, transpose(%p) {perm = [0, 2, 1]} }");
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed);
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  dyn_context* run = (*compiled)->context.get();
  const float x[] = {1, 2, 3, 4, 5, 6}, y[] = {10, 20, 30, 40, 50, 60};
  const int64_t shape[] = {3, 2}, lengths[] = {1, 0, 2}, others[] = {0, 1, 2}, batch[] = {3, 1, 2};
  const auto ragged = [&](const float* data, const int64_t* of) {
    dyn_value* value = nullptr;
    EXPECT_EQ(dyn_value_ragged(run, DYN_F32, 2, shape, data, sizeof x, of, 3, &value), DYN_OK)
        << dyn_last_message();
    return ValueHandle(value);
  };
  const ValueHandle left = ragged(x, lengths), right = ragged(y, lengths), wrong = ragged(y, others);
  dyn_value* raw = nullptr;
  EXPECT_EQ(dyn_value_tensor(run, DYN_F32, 3, batch, nullptr, 24, &raw), DYN_OK);
  const ValueHandle each(raw);
  EXPECT_EQ(dyn_context_set_input_name(run, "c", each.get()), DYN_OK);
  EXPECT_EQ(dyn_context_set_ragged_input(run, "x", left.get()), DYN_OK) << dyn_last_message();
  EXPECT_EQ(dyn_context_set_ragged_input(run, "y", wrong.get()), DYN_OK) << dyn_last_message();
  EXPECT_EQ(dyn_context_run(run), DYN_BAD_INPUT);
  EXPECT_THAT(dyn_last_message(), HasSubstr("input x has other lengths"));
  EXPECT_EQ(dyn_context_set_ragged_input(run, "y", right.get()), DYN_OK) << dyn_last_message();
  ASSERT_EQ(dyn_context_run(run), DYN_OK) << dyn_last_message();
  ASSERT_EQ(dyn_context_get_ragged_output(run, 0, &raw), DYN_OK) << dyn_last_message();
  const ValueHandle sum(raw);
  const int64_t* known = nullptr;
  int64_t count = 0;
  ASSERT_EQ(dyn_value_ragged_parts(sum.get(), &raw, &known, &count), DYN_OK) << dyn_last_message();
  const ValueHandle sums(raw);
  EXPECT_EQ(std::vector<int64_t>(known, known + count), (std::vector<int64_t>{1, 0, 2}));
  const auto* elements = static_cast<const float*>(dyn_value_data(sums.get()));
  EXPECT_EQ(std::vector<float>(elements, elements + 6), (std::vector<float>{11, 22, 33, 44, 55, 66}));

  // Of other lengths: 2*len[b] + 1.
  ASSERT_EQ(dyn_context_get_ragged_output(run, 1, &raw), DYN_OK) << dyn_last_message();
  const ValueHandle longer(raw);
  ASSERT_EQ(dyn_value_ragged_parts(longer.get(), &raw, &known, &count), DYN_OK) << dyn_last_message();
  const ValueHandle rowsOfLonger(raw);
  EXPECT_EQ(std::vector<int64_t>(known, known + count), (std::vector<int64_t>{3, 1, 5}));
  EXPECT_EQ(dyn_value_shape(rowsOfLonger.get())[0], 9);

  // What is wrong is said.
  EXPECT_EQ(dyn_context_get_ragged_output(run, 2, &raw), DYN_UNSUPPORTED);  // floordiv(len[b], 2)
  EXPECT_EQ(dyn_context_get_ragged_output(run, 3, &raw), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(dyn_context_set_ragged_input(run, "c", left.get()), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(dyn_context_set_ragged_input(run, "x", each.get()), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(dyn_value_ragged_parts(each.get(), &raw, &known, &count), DYN_INVALID_ARGUMENT);
  for (const std::vector<int64_t>& bad : {std::vector<int64_t>{1, 1, 2}, {1, 1, 0}, {4, -1, 0}})
    EXPECT_EQ(dyn_value_ragged(run, DYN_F32, 2, shape, x, sizeof x, bad.data(), 3, &raw),
              DYN_INVALID_ARGUMENT);
  EXPECT_EQ(dyn_value_ragged(run, DYN_F32, 2, shape, x, 8, lengths, 3, &raw), DYN_INVALID_ARGUMENT);
}

TEST(Ragged, WhatIsRefused) {
  const auto over = [](const std::string& body) {
    return refusalOf(
        "fn @main(%x: Tensor[(b, len[b], 4), f32], %y: Tensor[(b, more[b], 4), f32], "
        "%z: Tensor[(b, s, 4), f32], %t: Tensor[(9, 4), f32]) { " +
        body + " }");
  };
  EXPECT_THAT(over("return add(%x, %y)"), HasSubstr("len[b]"));
  EXPECT_THAT(over("return add(%x, %z)"), HasSubstr("len[b]"));
  EXPECT_THAT(over("return add(%x, %t)"), HasSubstr("len[b]"));
  EXPECT_THAT(over("return reduce_sum(%x, i64[1] [0]) {keepdims = 0}"), HasSubstr("unsupported: reduce_sum"));
  EXPECT_THAT(over("%n = nonzero(%t) : Tensor[(2, foo[b]), i64] return %x, %n"),
              HasSubstr("no input %foo of lengths"));
  EXPECT_THAT(over("return reshape(%x, i64[2] [-1, 4])"), HasSubstr("unsupported: reshape"));
  EXPECT_THAT(over("return transpose(%x) {perm = [1, 0, 2]}"), HasSubstr("(b, len[b], ...)"));
  EXPECT_THAT(over("return shape(%x)"), HasSubstr("the length len[b] of a sequence"));
  EXPECT_EQ(over("return matmul(%x, transpose(%x) {perm = [0, 2, 1]})"), "");
}

// Print, parse, print gives the same text; the lengths that the program leaves out are written out.
TEST(Ragged, TextReadsBack) {
  IrContext context;
  Result<Module> parsed = parseText(
      context,
      "dim len[b] in 2..64\nfn @main(%x: Tensor[(b, len[b], 4), f32], %y: Tensor[(b, more[b], 4), f32]) { "
      "%z = concat(%x, %y) {axis = 1} : Tensor[(b, len[b] + more[b], 4), f32] return relu(%z) }");
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  CompileOptions inferOnly;
  inferOnly.passes = "infer";
  Trace trace;
  Result<Module> typed = runPasses(*parsed, inferOnly, trace);
  ASSERT_TRUE(typed.ok()) << typed.error().toString();
  const std::string text = print(*typed);
  EXPECT_THAT(text, HasSubstr("%len: Tensor[(b), i64], %more: Tensor[(b), i64]"));
  EXPECT_THAT(text, HasSubstr("-> (Tensor[(b, len[b] + more[b], 4), f32])"));
  IrContext again;
  Result<Module> back = parseText(again, text);
  ASSERT_TRUE(back.ok()) << back.error().toString() << text;
  EXPECT_EQ(print(*back), text);
}

TEST(Ragged, WhatTheVerifierRefuses) {
  EXPECT_THAT(refusalOf("fn @main(%x: Tensor[(b, 4, len[b]), f32]) { return relu(%x) }"),
              HasSubstr("a ragged one is (b, len[b], ...)"));
  EXPECT_THAT(refusalOf("fn @main(%x: Tensor[(b, len[b]), f32], %len: Tensor[(b), f32]) { return relu(%x) }"),
              HasSubstr("it is Tensor[(b), i64]"));
  EXPECT_THAT(refusalOf("fn @main(%x: Tensor[(b, len[c]), f32]) { return relu(%x) }"),
              HasSubstr("a ragged one is (c, len[c], ...)"));
  EXPECT_THAT(
      refusalOf(
          "fn @main(%x: Tensor[(b, len[b]), f32]) { %y = @g(%x) return %y } "
          "fn @g(%x: Tensor[(b, len[b]), f32]) -> (Tensor[(b, len[b]), f32]) { %y = @g(%x) return %y }"),
      HasSubstr("@g calls itself over ragged tensors"));
  EXPECT_THAT(refusalOf("fn @main(%x: Tensor[(b, len[b]), f32]) { %y = @g(%x) return %y } "
                        "fn @g(%x: Tensor[(b, len[b]), f32]) -> (Tensor[(b, len[b]), f32]) "
                        "{ %a = @g(%x) %y = @g(%a) return %y }"),
              HasSubstr("@g calls itself over ragged tensors"));
}

}  // namespace
}  // namespace dyn::test
