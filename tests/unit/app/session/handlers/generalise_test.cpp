// generalise: which numbers of an example become formulas, and what is refused.
#include "app/engine/generalise/generalise.h"

#include <gmock/gmock.h>

#include "app/engine/generalise/constant_pattern.h"
#include "app/engine/generalise/reshape_dims.h"
#include "compiler/infer/infer.h"
#include "tests/support/text_module.h"

namespace dyn {
namespace {

using testing::HasSubstr;

class ReshapeTarget : public testing::Test {
 protected:
  std::string opened(const Shape& from, const std::vector<int64_t>& target) {
    doubtful_ = false;
    const auto made = reshapeDims(from, target, valueOf_, nullptr);
    if (!made) return "none";
    doubtful_ = made->choicesCount > 1;
    return toString(made->target);
  }
  DimContext dims_;
  Dim batch_ = dims_.symbol("batch"), seq_ = dims_.symbol("seq");
  DimExample valueOf_ = [this](Dim dim) -> std::optional<int64_t> {
    DimBinding example;
    example.set(batch_, 1);
    example.set(seq_, 64);
    const Result<int64_t> value = evaluate(dim, example);
    return value.ok() ? std::optional<int64_t>(*value) : std::nullopt;
  };
  Dim number(int64_t value) { return dims_.constant(value); }
  bool doubtful_ = false;
};

TEST_F(ReshapeTarget, FollowsFromWhatIsReshaped) {
  EXPECT_EQ(opened({batch_, seq_, number(768)}, {1, 64, 12, 64}), "(batch, seq, 12, 64)");
  EXPECT_EQ(opened({12 * batch_, seq_, number(64)}, {1, 12, 64, 64}), "(batch, 12, seq, 64)");
  EXPECT_EQ(opened({batch_, number(12), seq_, number(64)}, {12, 64, 64}), "(12*batch, seq, 64)");
  EXPECT_EQ(opened({batch_ * seq_, number(8)}, {1, 64, 8}), "(batch, seq, 8)");
  EXPECT_EQ(opened({seq_, number(8)}, {512}), "(8*seq)");
  EXPECT_EQ(opened({number(1), batch_, number(8)}, {1, 8}), "(batch, 8)");
  EXPECT_FALSE(doubtful_);
}

// Groups of channels, as many as the example's size of another axis.
TEST_F(ReshapeTarget, IsNotWhatIsAsLargeByChance) {
  EXPECT_EQ(opened({batch_, number(128), seq_, number(3)}, {1, 64, 384}), "(batch, 64, 6*seq)");
  EXPECT_EQ(opened({batch_, number(128), seq_, number(3)}, {1, 64, 2, 192}), "(batch, 64, 2, 3*seq)");
  EXPECT_EQ(opened({seq_, number(128)}, {64, 64, 2}), "(seq, 64, 2)");
  EXPECT_EQ(opened({number(128), seq_}, {2, 64, 64}), "(2, 64, seq)");
  EXPECT_FALSE(doubtful_);
}

TEST_F(ReshapeTarget, SaysWhatTheNumbersLeaveOpen) {
  EXPECT_EQ(opened({batch_ * 6, number(8)}, {2, 3, 8}), "(2*batch, 3, 8)");
  EXPECT_TRUE(doubtful_);
  EXPECT_EQ(opened({seq_, number(3)}, {6, 32}), "none");
}

// [batch*seq, 8] of batch = seq: what it was made of says where each is.
TEST_F(ReshapeTarget, FollowsTheOrderOfTheParts) {
  const DimExample same = [](Dim dim) -> std::optional<int64_t> {
    DimBinding example;
    for (const SymbolId symbol : symbolsOf(dim)) example.set(symbol, 8);
    const Result<int64_t> value = evaluate(dim, example);
    return value.ok() ? std::optional<int64_t>(*value) : std::nullopt;
  };
  const auto with = [&](const Shape& parts) {
    const auto made = reshapeDims({batch_ * seq_, number(8)}, {8, 8, 8}, same, nullptr, 0,
                                  [&](size_t axis) { return axis == 0 ? parts : Shape(); });
    return made ? toString(made->target) + (made->choicesCount > 1 ? "?" : "") : "none";
  };
  EXPECT_EQ(with({seq_, batch_}), "(seq, batch, 8)");
  EXPECT_EQ(with({batch_, seq_}), "(batch, seq, 8)");
  EXPECT_THAT(with({}), HasSubstr("?"));
}

TEST(ConstantPattern, NumbersInEqualSteps) {
  const auto of = [](const std::vector<int64_t>& values) {
    return *patternOf(HostTensor::vectorInt(Dtype::i64, values), 0);
  };
  EXPECT_EQ(of({0, 9, 18}).kind, ConstantPattern::Kind::linear);
  EXPECT_EQ(of({0, 9, 18}).step, 9);
  EXPECT_EQ(of({3, 2, 1, 0}).anchor, ConstantPattern::Anchor::end);
  EXPECT_EQ(of({-2, -1, 0, 1, 2}).anchor, ConstantPattern::Anchor::middle);
  EXPECT_EQ(of({5, 4, 2}).kind, ConstantPattern::Kind::table);
  const std::vector<double> line{-1, -0.5, 0, 0.5, 1}, shares{0.125, 0.375, 0.625, 0.875}, slope{0, 0.3, 0.6};
  const auto ofReal = [](const std::vector<double>& values) {
    return *patternOf(HostTensor::vectorReal(Dtype::f32, values), 0);
  };
  EXPECT_EQ(ofReal(line).kind, ConstantPattern::Kind::span);
  EXPECT_TRUE(ofReal(line).reachesEnd);
  EXPECT_EQ(ofReal(shares).kind, ConstantPattern::Kind::span);
  EXPECT_EQ(ofReal(shares).offset, 0.5);
  EXPECT_EQ(ofReal(slope).kind, ConstantPattern::Kind::table);
}

TEST(ConstantPattern, OfWhatExportersFold) {
  const std::vector<int64_t> counted{5, 6, 7}, other{5, 6, 8}, equal{4, 4, 4};
  EXPECT_EQ(patternOf(HostTensor::vectorInt(Dtype::i64, counted), 0)->kind, ConstantPattern::Kind::counted);
  EXPECT_EQ(patternOf(HostTensor::vectorInt(Dtype::i64, other), 0)->kind, ConstantPattern::Kind::table);
  EXPECT_EQ(patternOf(HostTensor::vectorInt(Dtype::i64, equal), 0)->kind, ConstantPattern::Kind::uniform);
  Result<HostTensor> mask = HostTensor::create(Dtype::f32, {1, 1, 3, 3});
  ASSERT_TRUE(mask.ok());
  auto* elements = reinterpret_cast<float*>(mask->mutableData());
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 3; ++column) elements[3 * row + column] = column <= row ? 0.0f : -1.0f;
  EXPECT_EQ(patternOf(*mask, 3)->kind, ConstantPattern::Kind::causal);
  elements[3] = 5;
  EXPECT_EQ(patternOf(*mask, 3)->kind, ConstantPattern::Kind::table);
}

class Generalise : public testing::Test {
 protected:
  // The result type of the opened module, or why it is refused.
  std::string opened(const std::string& text, const std::vector<std::string>& axes) {
    Result<Module> module = test::parseText(ir_, text);
    EXPECT_TRUE(module.ok()) << module.error().toString();
    GeneraliseRequest request;
    for (const std::string& axis : axes) {
      Result<OpenAxis> one = parseOpenAxis(axis);
      EXPECT_TRUE(one.ok()) << axis;
      request.axes.push_back(*one);
    }
    for (const Parameter& parameter : module->main()->parameters)
      request.inputNames.push_back(ir_.valueName(parameter.id));
    Result<Generalised> made = generalise(*module, request);
    if (!made.ok()) return made.error().message;
    result_ = *made;
    if (!made->refused.empty()) return "refused: " + made->refused[0].why;
    Result<InferredModule> typed = inferTypes(made->module);
    EXPECT_TRUE(typed.ok()) << typed.error().toString();
    return typed->module.main()->resultTypes[0].toString();
  }
  IrContext ir_;
  Generalised result_;
};

TEST_F(Generalise, ATargetOfAReshape) {
  EXPECT_EQ(opened(R"(fn @main(%x: Tensor[(1, 16, 12), f32]) {
  %s = constant() {value = i64[4] [1, 16, 3, 4]}
  return transpose(reshape(%x, %s)) {perm = [0, 2, 1, 3]}
})",
                   {"x.0=batch", "x.1=seq"}),
            "Tensor[(batch, 3, seq, 4), f32]");
  ASSERT_EQ(result_.openings.size(), 1u);
  EXPECT_EQ(result_.openings[0].what, "[1, 16, 3, 4] becomes [batch, seq, 3, 4]");
}

TEST_F(Generalise, PositionsThatCount) {
  EXPECT_EQ(opened(R"(fn @main(%x: Tensor[(1, 4, 2), f32], %table: Tensor[(9, 2), f32]) {
  %p = gather(%table, constant() {value = i64[1, 4] [[0, 1, 2, 3]]}) {axis = 0}
  return add(%x, %p)
})",
                   {"x.1=seq"}),
            "Tensor[(1, seq, 2), f32]");
}

TEST_F(Generalise, ATableIsCutAndSaysItsLimit) {
  EXPECT_EQ(opened(R"(fn @main(%x: Tensor[(1, 3, 1), f32]) {
  return add(%x, constant() {value = f32[3, 1] [[0.5], [0.25], [3.0]]})
})",
                   {"x.1=seq"})
                .substr(0, 6),
            "Tensor");
  EXPECT_EQ(result_.limits.at("seq"), 3);
  EXPECT_TRUE(result_.openings[0].doubtful);
}

TEST_F(Generalise, AnotherInputIsOpenedWithIt) {
  EXPECT_EQ(
      opened("fn @main(%x: Tensor[(4), f32], %y: Tensor[(4), f32]) {\n  return add(%x, %y)\n}\n", {"x.0=n"}),
      "Tensor[(n), f32]");
}

TEST_F(Generalise, ARowThatIsOneOfABatch) {
  EXPECT_EQ(opened(R"(fn @main(%x: Tensor[(1, 4, 2), f32], %token: Tensor[(1, 1, 2), f32]) {
  return concat(relu(constant() {value = f32[1, 1, 2] [[[1.0, 2.0]]]}), %x) {axis = 1}
})",
                   {"x.0=batch"}),
            "Tensor[(batch, 5, 2), f32]");
}

// x[b, i] as a lookup in the flattened x, by b * length + i, where every b is 0.
constexpr const char* kLookup = R"(fn @main(%mask: Tensor[(1, 4), f32], %scores: Tensor[(1, 2, 4, 4), f32]) {
  %s = shape(%mask)
  %n = reduce_prod(%s) {keepdims = 1}
  %flat = reshape(%mask, %n)
  %one = constant() {value = i64[1] [1]}
  %length = gather(%s, %one) {axis = 0}
  %b = constant() {value = i64[1, 1, 1, 1] [[[[ROW]]]]}
  %begin = mul(%b, %length)
  %i = constant() {value = i64[1, 1, 1, 4] [[[[0, 1, 2, 3]]]]}
  %at = add(%i, %begin)
  %picked = gather(%flat, %at) {axis = 0}
  %all = constant() {value = i64[1] [-1]}
  %long = reshape(%picked, %all)
  %asAt = shape(%at)
  %shaped = reshape(%long, %asAt)
  return add(%scores, %shaped)
})";

std::string lookupOf(int row) {
  std::string text = kLookup;
  return text.replace(text.find("ROW"), 3, std::to_string(row));
}

TEST_F(Generalise, ALookupByRowNumbersIsOfEachRow) {
  EXPECT_EQ(
      opened(lookupOf(0), {"mask.0=batch", "mask.1=seq", "scores.0=batch", "scores.2=seq", "scores.3=seq"}),
      "Tensor[(batch, 2, seq, seq), f32]");
  const auto rows = std::find_if(
      result_.openings.begin(), result_.openings.end(),
      [](const Opening& opening) { return opening.what == "the row 0 becomes the rows 0 to batch - 1"; });
  ASSERT_NE(rows, result_.openings.end());
  EXPECT_TRUE(rows->doubtful);
  // Computed targets follow the sizes: nothing says that they change.
  for (const Opening& opening : result_.openings) EXPECT_NE(opening.op, "reshape") << opening.what;
}

TEST_F(Generalise, ALookupOfAnyOtherRowIsRefused) {
  EXPECT_THAT(
      opened(lookupOf(1), {"mask.0=batch", "mask.1=seq", "scores.0=batch", "scores.2=seq", "scores.3=seq"}),
      HasSubstr("refused: it picks elements along"));
}

// What an ONNX layer becomes: a loop over the steps, whose body holds no sizes.
constexpr const char* kRecurrent = R"(fn @main(%x: Tensor[(1, 5, 3), f32], %w: Tensor[(3, 3), f32]) {
  %t = transpose(%x) {perm = [1, 0, 2]}
  %steps = reshape(shape(%t) {start = 0, end = 1}, constant() {value = i64[0] []}) {allowzero = 1}
  %h = constant() {value = f32[1, 3] [[0, 0, 0]]}
  %last, %all = loop(%steps, _, %h, %t, %w) {carried = 1} body (%i, %state, %in, %u) {
    %row = gather(%in, %i) {axis = 0}
    %next = tanh(add(%row, matmul(%state, %u)))
BODY
    %on = constant() {value = bool[] true}
    return %on, %next, %next
  }
  return %all
})";

std::string recurrentOf(const std::string& more) {
  std::string text = kRecurrent;
  return text.replace(text.find("BODY"), 4, more);
}

TEST_F(Generalise, ARecurrentLayer) {
  EXPECT_EQ(opened(recurrentOf(""), {"x.0=batch", "x.1=seq"}), "Tensor[(max(0, seq), ?5, 3), f32]");
}

TEST_F(Generalise, ASizeInABodyIsRefused) {
  const std::string reshape = "    %s = constant() {value = i64[2] [1, 3]}\n    %r = reshape(%next, %s)\n";
  EXPECT_THAT(opened(recurrentOf(reshape), {"x.0=batch"}), HasSubstr("sizes inside of branches and loops"));
}

// The sum of an axis by its size is a mean, positions by their number are shares; other numbers are left.
TEST_F(Generalise, ANumberThatScalesPositionsOrSums) {
  EXPECT_EQ(opened(R"(fn @main(%x: Tensor[(12, 2), f32]) {
  %n = constant() {value = f32[] 12}
  %mean = div(reduce_sum(%x, constant() {value = i64[1] [0]}) {keepdims = 0}, %n)
  return add(%mean, constant() {value = f32[] 12})
})",
                   {"x.0=rows"}),
            "Tensor[(2), f32]");
  ASSERT_EQ(result_.openings.size(), 1u);
  EXPECT_EQ(result_.openings[0].what, "the number 12 becomes rows");
  EXPECT_TRUE(result_.openings[0].doubtful);
  ASSERT_EQ(result_.suspects.size(), 1u);
  EXPECT_EQ(result_.suspects[0].why, "this 12 may be the example's rows");
}

// An export that named a dim and froze its size all the same.
TEST_F(Generalise, AnAxisThatIsOpenAlready) {
  const std::string text = R"(fn @main(%x: Tensor[(n, 8), f32]) {
  %s = constant() {value = i64[2] [12, 8]}
  return add(reshape(%x, %s), constant() {value = f32[12, 1] [[2], [2], [2], [2], [2], [2], [2], [2], [2], [2], [2], [2]]})
})";
  const auto with = [&](const std::string& input, const std::string& axis) {
    std::string named = text;
    for (size_t at = 0; (at = named.find("%x", at)) != std::string::npos; at += 2)
      named.replace(at, 2, "%" + input);
    return opened(named, {input + axis});
  };
  EXPECT_EQ(with("x", ".0=n:12"), "Tensor[(n, 8), f32]");
  EXPECT_THAT(with("y", ".0=n"), HasSubstr("it is open already: n"));
  EXPECT_THAT(with("z", ".0=m:12"), HasSubstr("the model calls it n"));
  EXPECT_THAT(with("w", ".1=c:9"), HasSubstr("its size is 8"));
}

// The state before the first step, of an export at batch 3: a constant, or one that is expanded.
TEST_F(Generalise, AStateOfTheExamplesBatch) {
  EXPECT_EQ(opened(R"(fn @main(%x: Tensor[(5, 3, 2), f32]) {
  %h = constant() {value = f32[1, 3, 2] [[[0, 0], [0, 0], [0, 0]]]}
  %size = concat(shape(%x) {start = 1, end = 2}, shape(%x) {start = 2, end = 3}) {axis = 0}
  return reshape(gather(%h, constant() {value = i64[] 0}) {axis = 0}, %size) {allowzero = 1}
})",
                   {"x.1=batch"}),
            "Tensor[(batch, 2), f32]");
  EXPECT_EQ(opened(R"(fn @main(%y: Tensor[(5, 3, 2), f32]) {
  %h = constant() {value = f32[1, 3, 2] [[[1, 2], [1, 2], [1, 2]]]}
  %size = concat(constant() {value = i64[1] [1]}, shape(%y) {start = 1, end = 3}) {axis = 0}
  return expand(%h, %size)
})",
                   {"y.1=rows"}),
            "Tensor[(1, rows, 2), f32]");
}

// mask[b, i] by coordinates, as transformers write it.
constexpr const char* kCoordinates = R"(fn @main(%mask: Tensor[(ROWS, 3), i64], %x: Tensor[(ROWS, 3), i64]) {
  return add(%x, gather_nd(%mask, constant() {value = i64[ROWS, 3, 2] INDEX}))
})";

std::string coordinatesOf(const std::string& rows, const std::string& index) {
  std::string text = kCoordinates;
  for (size_t at = 0; (at = text.find("ROWS", at)) != std::string::npos;) text.replace(at, 4, rows);
  return text.replace(text.find("INDEX"), 5, index);
}

TEST_F(Generalise, ALookupByCoordinates) {
  const std::vector<std::string> axes{"mask.0=batch", "mask.1=seq", "x.0=batch", "x.1=seq"};
  EXPECT_EQ(opened(coordinatesOf("2", "[[[0, 0], [0, 1], [0, 2]], [[1, 0], [1, 1], [1, 2]]]"), axes),
            "Tensor[(batch, seq), i64]");
}

TEST_F(Generalise, ALookupByCoordinatesOfOneRow) {
  EXPECT_EQ(opened(coordinatesOf("1", "[[[0, 0], [0, 1], [0, 2]]]"),
                   {"mask.0=batch", "mask.1=seq", "x.0=batch", "x.1=seq"}),
            "Tensor[(batch, seq), i64]");
  EXPECT_EQ(result_.openings[0].what, "the row 0 becomes the rows 0 to batch - 1");
  EXPECT_TRUE(result_.openings[0].doubtful);
}

// Heads beside a batch and a sequence of one size: only one of the forms needs no size to be another.
TEST_F(Generalise, SizesThatAreEqualByChance) {
  EXPECT_EQ(opened(R"(fn @main(%x: Tensor[(4, 4, 8), f32]) {
  %q = transpose(reshape(%x, constant() {value = i64[3] [4, 16, 2]})) {perm = [1, 0, 2]}
  %y = reshape(transpose(%q) {perm = [1, 0, 2]}, constant() {value = i64[2] [16, 8]})
  return add(reshape(%y, constant() {value = i64[3] [4, 4, 8]}), %x)
})",
                   {"x.0=seq", "x.1=batch"}),
            "Tensor[(seq, batch, 8), f32]");
}

TEST_F(Generalise, SlicesUpToASizeOfTheExample) {
  const auto sliced = [&](const std::string& name, const std::string& bounds) {
    return opened("fn @main(%" + name + ": Tensor[(12, 2), f32]) {\n  %p = pad(%" + name +
                      ", constant() {value = i64[4] [0, 0, 4, 0]})\n  return slice(" + bounds +
                      ", constant() {value = i64[1] [0]})\n}",
                  {name + ".0=n_" + name});
  };
  EXPECT_EQ(sliced("x", "%p, constant() {value = i64[1] [0]}, constant() {value = i64[1] [12]}"),
            "Tensor[(n_x, 2), f32]");
  EXPECT_EQ(sliced("z",
                   "%z, constant() {value = i64[1] [-12]}, constant() {value = i64[1] "
                   "[9223372036854775807]}"),
            "Tensor[(n_z, 2), f32]");
  EXPECT_THAT(sliced("w", "%w, constant() {value = i64[1] [0]}, constant() {value = i64[1] [6]}"),
              HasSubstr("may be a half"));
}

TEST_F(Generalise, PlacesThatAreNumbers) {
  const auto placed = [&](const std::string& name, const std::string& index) {
    return opened("fn @main(%" + name + ": Tensor[(4, 2), f32]) {\n  return gather(%" + name +
                      ", constant() {value = " + index + "}) {axis = 0}\n}",
                  {name + ".0=n_" + name});
  };
  EXPECT_EQ(placed("x", "i64[4] [3, 2, 1, 0]"), "Tensor[(n_x, 2), f32]");
  EXPECT_EQ(placed("y", "i64[] 3"), "Tensor[(2), f32]");
  EXPECT_EQ(result_.openings[0].what, "the place 3 of axis 0 becomes the last");
  EXPECT_THAT(placed("z", "i64[3] [0, 2, 3]"), HasSubstr("numbered places of n_z"));
}

TEST_F(Generalise, ALoopThatWasUnrolledIsRefused) {
  EXPECT_THAT(opened(R"(fn @main(%x: Tensor[(3, 2), f32]) {
  %a = gather(%x, constant() {value = i64[] 0}) {axis = 0}
  %b = gather(%x, constant() {value = i64[] 1}) {axis = 0}
  %c = gather(%x, constant() {value = i64[] 2}) {axis = 0}
  return add(add(%a, %b), %c)
})",
                     {"x.0=n"}),
              HasSubstr("the export unrolled a loop"));
}

// Messages of a graph's edges, summed at its nodes.
TEST_F(Generalise, TheBaseOfSumsAtNumberedPlaces) {
  const std::string text =
      R"(fn @main(%x_: Tensor[(5, 2), f32], %to_: Tensor[(EDGES, 2), i64], %m_: Tensor[(EDGES, 2), f32]) {
  %zeros = constant() {value = f32[5, 2] [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]]}
  return scatter_elements(%zeros, %to_, %m_) {axis = 0, reduction = "add"}
})";
  const auto with = [&](const std::string& edges, const std::string& suffix) {
    std::string made = text;
    for (size_t at = 0; (at = made.find("EDGES", at)) != std::string::npos;) made.replace(at, 5, edges);
    for (const std::string name : {"x_", "to_", "m_"})
      for (size_t at = 0; (at = made.find("%" + name, at)) != std::string::npos; ++at)
        made.insert(at + 1 + name.size(), suffix);
    return opened(made, {"x_" + suffix + ".0=n" + suffix, "to_" + suffix + ".0=e" + suffix,
                         "m_" + suffix + ".0=e" + suffix});
  };
  EXPECT_EQ(with("7", "1"), "Tensor[(n1, 2), f32]");
  EXPECT_THAT(with("5", "2"), HasSubstr("which may be e2 or n2"));
}

TEST_F(Generalise, AResultOfTheExamplesSizeIsRefused) {
  EXPECT_THAT(opened(R"(fn @main(%x: Tensor[(12, 2), f32]) {
  %mean = reduce_mean(%x, constant() {value = i64[1] [0]}) {keepdims = 1}
  return add(%mean, constant() {value = f32[12, 1] [[1], [5], [2], [1], [7], [1], [2], [8], [1], [2], [1], [3]]})
})",
                     {"x.0=n"}),
              HasSubstr("a result has 12 entries"));
}

TEST_F(Generalise, WindowsThatPartAnAxisAreRefused) {
  EXPECT_THAT(opened(R"(fn @main(%x: Tensor[(1, 2, 24), f32]) {
  return average_pool(%x) {kernel_shape = [12], strides = [12]}
})",
                     {"x.2=n"}),
              HasSubstr("its windows may be parts"));
}

TEST_F(Generalise, AWeightIsRefused) {
  EXPECT_THAT(opened(R"(fn @main(%x: Tensor[(2, 3), f32]) {
  return matmul(%x, constant() {value = f32[3, 1] [[1.0], [2.0], [3.0]]})
})",
                     {"x.1=n"}),
              HasSubstr("is a weight of 3 rows"));
}

TEST_F(Generalise, AxesThatAreNone) {
  const std::string text = "fn @main(%x: Tensor[(n, 4), f32]) {\n  return relu(%x)\n}\n";
  EXPECT_THAT(opened(text, {"x.0=k"}), HasSubstr("open already"));
}

}  // namespace
}  // namespace dyn
