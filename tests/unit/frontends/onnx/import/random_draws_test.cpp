// How the random operators' results are distributed, by the reference interpreter.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "compiler/infer/infer.h"
#include "compiler/reference/reference_interpreter.h"
#include "frontends/onnx/import/importer.h"
#include "tests/unit/frontends/onnx/proto_builder.h"

namespace dyn::onnx::test {
namespace {

Msg real(std::string_view name, float value) {
  return Msg().sub(5, Msg().sub(1, name).f32(2, value).num(20, 1));
}
Msg drawIntsAttribute(std::string_view name, std::initializer_list<int64_t> values) {
  return Msg().sub(5, Msg().sub(1, name).packed(8, values).num(20, 7));
}
Msg joinFields(std::initializer_list<Msg> parts) {
  Msg all;
  for (const Msg& part : parts) all.bytes += part.bytes;
  return all;
}
Msg integerAttribute(std::string_view name, int64_t value) {
  return Msg().sub(5, Msg().sub(1, name).num(3, value).num(20, 2));
}

struct Drawn {
  std::vector<HostTensor> results;
  size_t warnings = 0, randomNodes = 0;
  std::vector<double> values(size_t i = 0) const {
    std::vector<double> all;
    if (i >= results.size()) return all;
    for (int64_t k = 0; k < results[i].elementCount(); ++k)
      all.push_back(isInteger(results[i].dtype()) || results[i].dtype() == Dtype::boolean
                        ? static_cast<double>(results[i].intAt(k))
                        : results[i].realAt(k));
    return all;
  }
};

// A model of one node with the inputs x0, x1, ... and the outputs y0, y1, ...
Drawn draw(const char* op, const Msg& attributes, std::vector<HostTensor> inputs, size_t outputs = 1) {
  Msg node = Msg(), graph;
  for (size_t i = 0; i < inputs.size(); ++i) node.sub(1, "x" + std::to_string(i));
  for (size_t i = 0; i < outputs; ++i) node.sub(2, "y" + std::to_string(i));
  node.sub(4, op);
  node.bytes += attributes.bytes;
  graph.sub(1, node);
  std::vector<Value> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int type = inputs[i].dtype() == Dtype::boolean ? 9 : inputs[i].dtype() == Dtype::f64 ? 11 : 1;
    const std::vector<const char*> names{"n", "m"};
    Msg shape;
    for (int axis = 0; axis < inputs[i].rank(); ++axis)
      shape.sub(1, Msg().sub(2, names.at(static_cast<size_t>(axis))));
    graph.sub(11, valueInfo("x" + std::to_string(i), Msg().sub(1, Msg().num(1, type).sub(2, shape))));
    values.push_back(Value(inputs[i]));
  }
  for (size_t i = 0; i < outputs; ++i) graph.sub(12, valueInfo("y" + std::to_string(i), Msg()));
  const Msg model = Msg().num(1, 8).sub(8, Msg().num(2, 17)).sub(7, graph);
  IrContext ir;
  Drawn drawn;
  Result<ImportResult> imported = importModel(ir, MappedFile::fromBytes(model.bytes, "test.onnx"), {});
  EXPECT_TRUE(imported.ok()) << (imported.ok() ? "" : imported.error().toString());
  if (!imported.ok()) return drawn;
  for (const Diagnostic& warning : imported->warnings)
    drawn.warnings += warning.message.find("without a seed") != std::string::npos;
  drawn.randomNodes = imported->randomNodes.size();
  Result<InferredModule> typed = inferTypes(imported->module);
  EXPECT_TRUE(typed.ok()) << (typed.ok() ? "" : typed.error().toString());
  if (!typed.ok()) return drawn;
  Result<std::vector<Value>> results = interpret(typed->module, std::move(values), {});
  EXPECT_TRUE(results.ok()) << (results.ok() ? "" : results.error().toString());
  if (results.ok())
    for (const Value& value : *results) drawn.results.push_back(value.tensor());
  return drawn;
}

HostTensor zeros(int64_t rows, int64_t columns, Dtype dtype = Dtype::f32) {
  return HostTensor::vectorReal(dtype, std::vector<double>(static_cast<size_t>(rows * columns)))
      .reshaped({rows, columns});
}
HostTensor scalar(double value) {
  return HostTensor::vectorReal(Dtype::f32, std::vector<double>{value}).reshaped({});
}

double mean(const std::vector<double>& x) {
  double sum = 0;
  for (double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}

// The largest distance between the share of values below x and what it should be (Kolmogorov and Smirnov);
// above 1.63 / sqrt(n) for one in a hundred of the streams.
double distance(std::vector<double> values, double (*share)(double)) {
  std::sort(values.begin(), values.end());
  double worst = 0;
  for (size_t i = 0; i < values.size(); ++i)
    worst = std::max(
        worst, std::abs(share(values[i]) - static_cast<double>(i) / static_cast<double>(values.size())));
  return worst * std::sqrt(static_cast<double>(values.size()));
}

double normalShare(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }

TEST(RandomDraws, NormalNumbersAreNormalAndUnrelatedToTheirNeighbours) {
  for (Dtype dtype : {Dtype::f32, Dtype::f64}) {
    const std::vector<double> x =
        draw("RandomNormalLike", joinFields({real("mean", 2), real("scale", 3), real("seed", 5)}),
             {zeros(67, 61, dtype)})
            .values();
    ASSERT_EQ(x.size(), 67u * 61u);
    std::vector<double> standard;
    for (double v : x) standard.push_back((v - 2) / 3);
    EXPECT_LT(distance(standard, normalShare), 1.63);
    double next = 0, below = 0;
    for (size_t i = 0; i + 61 < standard.size(); ++i) {
      next += standard[i] * standard[i + 1];
      below += standard[i] * standard[i + 61];
    }
    EXPECT_LT(std::abs(next / 4000), 0.05);
    EXPECT_LT(std::abs(below / 4000), 0.05);
  }
}

TEST(RandomDraws, UniformNumbersFillTheirRange) {
  const Drawn drawn =
      draw("RandomUniformLike", joinFields({real("low", -1), real("high", 3)}), {zeros(50, 80)});
  std::vector<double> x = drawn.values();
  for (double& v : x) v = (v + 1) / 4;
  EXPECT_LT(distance(x, [](double v) { return v; }), 1.63);
  EXPECT_GE(*std::min_element(x.begin(), x.end()), 0);
  EXPECT_LT(*std::max_element(x.begin(), x.end()), 1);
  EXPECT_EQ(drawn.warnings, 1u) << "no seed is given";
  EXPECT_EQ(drawn.randomNodes, 1u);
}

TEST(RandomDraws, TheSeedChoosesTheStream) {
  const auto stream = [](const Msg& more) { return draw("RandomUniformLike", more, {zeros(2, 4)}).values(); };
  EXPECT_EQ(stream(real("seed", 1)), stream(real("seed", 1)));
  EXPECT_NE(stream(real("seed", 1)), stream(real("seed", 2)));
  EXPECT_EQ(draw("RandomUniformLike", real("seed", 1), {zeros(2, 4)}).warnings, 0u);
}

TEST(RandomDraws, ShapesAndTypesAreAsAsked) {
  const Drawn drawn = draw(
      "RandomNormal", joinFields({drawIntsAttribute("shape", {3, 0, 2}), integerAttribute("dtype", 10)}), {});
  ASSERT_EQ(drawn.results.size(), 1u);
  EXPECT_EQ(drawn.results[0].shape(), (std::vector<int64_t>{3, 0, 2}));
  EXPECT_EQ(drawn.results[0].dtype(), Dtype::f16);
  EXPECT_EQ(draw("RandomUniform", drawIntsAttribute("shape", {}), {}).values().size(), 1u);
}

TEST(RandomDraws, BernoulliHappensAsOftenAsItsOperandSays) {
  std::vector<double> p(6000, 0.3);
  std::fill(p.begin(), p.begin() + 1000, 0);
  std::fill(p.begin() + 1000, p.begin() + 2000, 1);
  const Drawn drawn =
      draw("Bernoulli", integerAttribute("dtype", 9), {HostTensor::vectorReal(Dtype::f32, p)});
  const std::vector<double> x = drawn.values();
  EXPECT_EQ(drawn.results[0].dtype(), Dtype::boolean);
  EXPECT_EQ(mean({x.begin(), x.begin() + 1000}), 0);
  EXPECT_EQ(mean({x.begin() + 1000, x.begin() + 2000}), 1);
  EXPECT_NEAR(mean({x.begin() + 2000, x.end()}), 0.3, 0.03);
}

TEST(RandomDraws, MultinomialFollowsTheLogWeights) {
  const HostTensor weights =
      HostTensor::vectorReal(Dtype::f32,
                             std::vector<double>{std::log(0.1), std::log(0.2), std::log(0.7), 5, 5, -200})
          .reshaped({2, 3});
  const Drawn drawn = draw("Multinomial", integerAttribute("sample_size", 4000), {weights});
  ASSERT_EQ(drawn.results[0].shape(), (std::vector<int64_t>{2, 4000}));
  EXPECT_EQ(drawn.results[0].dtype(), Dtype::i32);
  const std::vector<double> x = drawn.values(), wanted{0.1, 0.2, 0.7, 0.5, 0.5, 0};
  for (size_t row = 0; row < 2; ++row)
    for (size_t k = 0; k < 3; ++k) {
      const auto begin = x.begin() + static_cast<std::ptrdiff_t>(row * 4000);
      EXPECT_NEAR(static_cast<double>(std::count(begin, begin + 4000, static_cast<double>(k))) / 4000,
                  wanted[row * 3 + k], 0.04);
    }
}

TEST(RandomDraws, DropoutKeepsTheMeanWhileItTrains) {
  const HostTensor ones = HostTensor::vectorReal(Dtype::f32, std::vector<double>(5000, 1));
  const auto run = [&](bool trains, double ratio) {
    const HostTensor flag = HostTensor::vectorInt(Dtype::boolean, std::vector<int64_t>{trains}).reshaped({});
    return draw("Dropout", {}, {ones, scalar(ratio), flag}, 2);
  };
  const Drawn training = run(true, 0.25), inference = run(false, 0.25), all = run(true, 0);
  const std::vector<double> x = training.values();
  EXPECT_NEAR(mean(x), 1, 0.05);
  EXPECT_NEAR(mean(training.values(1)), 0.75, 0.03);
  const std::vector<double> kept = training.values(1);
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(x[i], kept[i] == 0 ? 0 : static_cast<double>(1 / 0.75f)) << i;
  EXPECT_EQ(mean(inference.values()), 1);
  EXPECT_EQ(mean(inference.values(1)), 1);
  EXPECT_EQ(mean(all.values()), 1);
}

// A file that was exported while the model trained says so.
TEST(RandomDraws, ADropoutThatTrainsIsWarnedOf) {
  for (const bool trains : {true, false}) {
    const Msg node = Msg().sub(1, "x").sub(1, "").sub(1, "t").sub(2, "y").sub(4, "Dropout");
    const Msg flag = Msg().num(2, 9).sub(8, "t").sub(9, std::string(1, trains ? '\1' : '\0'));
    const Msg type = Msg().sub(1, Msg().num(1, 1).sub(2, Msg().sub(1, Msg().sub(2, "n"))));
    const Msg graph =
        Msg().sub(1, node).sub(5, flag).sub(11, valueInfo("x", type)).sub(12, valueInfo("y", Msg()));
    const Msg model = Msg().num(1, 8).sub(8, Msg().num(2, 17)).sub(7, graph);
    IrContext ir;
    const Result<ImportResult> imported =
        importModel(ir, MappedFile::fromBytes(model.bytes, "test.onnx"), {});
    ASSERT_TRUE(imported.ok());
    const auto warns = [](const Diagnostic& d) {
      return d.message.find("model.eval()") != std::string::npos;
    };
    EXPECT_EQ(std::count_if(imported->warnings.begin(), imported->warnings.end(), warns), trains ? 1 : 0);
  }
}

}  // namespace
}  // namespace dyn::onnx::test
