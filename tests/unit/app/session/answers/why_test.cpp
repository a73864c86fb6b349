// Why-chains: every dim of every sample model leads back to an origin, and each step of its chain is true of
// real runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include "app/engine/inputs/input_spec.h"
#include "app/engine/model/dim_origins.h"
#include "app/engine/model/loaded_model.h"
#include "app/session/views/why_views.h"
#include "compiler/reference/dim_matching.h"
#include "compiler/reference/reference_interpreter.h"
#include "tests/support/paths.h"
#include "tests/support/session_fixture.h"

namespace dyn {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

// The places of one run of @main: sizes, and elements of small integer tensors.
class Observed {
 public:
  void note(ValueId id, const Value& value) { values_[id] = value; }
  std::optional<int64_t> at(const DimPlace& place) const {
    auto found = values_.find(place.value);
    if (found == values_.end() || !found->second.isTensor()) return std::nullopt;
    const HostTensor& tensor = found->second.tensor();
    if (place.kind == DimPlace::Kind::axis)
      return place.index < tensor.rank()
                 ? std::optional<int64_t>(tensor.shape()[static_cast<size_t>(place.index)])
                 : std::nullopt;
    return place.index < tensor.elementCount() ? std::optional<int64_t>(tensor.intAt(place.index))
                                               : std::nullopt;
  }

 private:
  std::unordered_map<ValueId, Value> values_;
};

// Runs the model on random sizes; nullopt where these sizes are none the model takes.
std::optional<Observed> observe(const LoadedModel& model, uint32_t seed) {
  std::mt19937 random(seed);
  CallDims names(model.signature());
  std::vector<DimSpec> dims;
  for (const std::string& name : names.names()) {
    DimSpec spec;
    spec.name = name;
    // Images need some size; sequences are as good when they are short.
    spec.value = name == "h" || name == "w" ? 32 + 8 * (random() % 5) : 1 + random() % 9;
    dims.push_back(spec);
  }
  Result<CallInputs> inputs = makeInputs(model.signature(), dims, {}, seed, {});
  if (!inputs.ok()) return std::nullopt;
  Observed observed;
  const Module& module = model.typed();
  for (size_t i = 0; i < inputs->values.size(); ++i)
    observed.note(module.main()->parameters[i].id, inputs->values[i]);
  InterpreterOptions options;
  options.shapes = ShapeAssertion::on;  // inside bodies too every size is what its type says
  options.observer = [&](const Function& function, const Op& op, std::span<const Value> results) {
    if (&function != module.main()) return;
    for (size_t i = 0; i < results.size(); ++i) observed.note(op.results[i].id, results[i]);
  };
  Result<std::vector<Value>> results = interpret(module, inputs->values, options);
  EXPECT_TRUE(results.ok() || results.error().id != DiagnosticId::internalError)
      << results.error().toString();
  if (!results.ok()) return std::nullopt;
  return observed;
}

void walkModel(const std::string& path) {
  SCOPED_TRACE(path);
  SessionOptions options;
  LoadRequest request;
  request.path = path;
  Result<std::unique_ptr<LoadedModel>> loaded = LoadedModel::load(request, options, nullptr);
  ASSERT_TRUE(loaded.ok()) << loaded.error().toString();
  LoadedModel& model = **loaded;
  ASSERT_TRUE(model.ensurePasses().ok());
  const Module& module = model.typed();
  std::vector<Observed> runs;
  for (uint32_t seed = 0; seed < 60 && runs.size() < 5; ++seed)
    if (std::optional<Observed> run = observe(model, seed)) runs.push_back(*std::move(run));
  ASSERT_EQ(runs.size(), 5u) << "the reference takes too few of the shapes";

  DimOrigins origins(module);
  int64_t placesCount = 0, stepsTested = 0, rulesCount = 0;
  auto test = [&](const DimPlace& place) {
    ++placesCount;
    const std::vector<const DimStep*> chain = origins.chain(place);
    ASSERT_FALSE(chain.empty());
    bool ends = false;
    for (const DimStep* step : chain) {
      ends = ends || step->sources.empty();
      ASSERT_TRUE(!step->sources.empty() || !step->origin.empty()) << origins.toString(*step);
      ASSERT_EQ(step->sources.empty(), !step->rule) << origins.toString(*step);
    }
    ASSERT_TRUE(ends) << origins.toString(*chain[0]);
    const DimStep& step = *chain[0];
    if (step.sources.empty()) return;
    ++rulesCount;
    for (const Observed& run : runs) {
      DimBinding binding;
      bool known = true;
      for (const DimSource& source : step.sources) {
        const std::optional<int64_t> value = run.at(source.place);
        known = known && value;
        if (value) binding.set(source.placeholder.symbol(), *value);
      }
      const std::optional<int64_t> actual = run.at(place);
      if (!known || !actual) continue;
      Result<int64_t> said = evaluate(step.rule, binding);
      ASSERT_TRUE(said.ok()) << origins.toString(step);
      EXPECT_EQ(*said, *actual) << origins.toString(step);
      ++stepsTested;
    }
  };
  auto testValue = [&](ValueId id, Type type) {
    if (!type || !type.isTensor()) return;
    for (int axis = 0; axis < type.rank(); ++axis) test({DimPlace::Kind::axis, id, axis});
  };
  for (const FunctionVisit& visit : functionsOf(module)) {
    for (const Parameter& p : visit.function->parameters) testValue(p.id, p.type);
    for (const Op* op : visit.function->ops)
      for (const ValueDef& result : op->results)
        if (result.id != kNoValue) testValue(result.id, result.type);
  }
  EXPECT_GT(placesCount, 0);
  EXPECT_GT(stepsTested, 0);
  std::printf("%s: %ld dims, %ld by rules, %ld equalities evaluated\n", path.c_str(), long(placesCount),
              long(rulesCount), long(stepsTested));
}

// The models of the samples; DYN_MODELS names another folder to walk, by hand.
TEST(WhyChainTest, EveryDimOfEverySampleModelHasAnOrigin) {
  const char* other = std::getenv("DYN_MODELS");
  const std::string folder = other ? other : dyn::test::sourceFolder() + "/samples/models";
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string() + "/model.onnx";
    if (std::filesystem::exists(path)) paths.push_back(path);
  }
  std::sort(paths.begin(), paths.end());
  ASSERT_GT(paths.size(), other ? 0u : 5u);
  SessionOptions options;
  Result<std::unique_ptr<LoadedModel>> first = LoadedModel::load({.path = paths[0]}, options, nullptr);
  if (!first.ok() && first.error().id == DiagnosticId::unsupportedFeature)
    GTEST_SKIP() << "this build reads no ONNX files";
  for (const std::string& path : paths) walkModel(path);
}

class WhyTest : public test::SessionFixture {
 protected:
  const WhyView& why(const std::string& arguments) {
    last_ = line(":why " + arguments);
    EXPECT_NE(last_->as<WhyView>(), nullptr) << (last_->error ? last_->error->message : "");
    static const WhyView kNone;
    return last_->as<WhyView>() ? *last_->as<WhyView>() : kNone;
  }
  void load(const std::string& text, const std::string& arguments = "") {
    auto outcome = loadText(text, arguments);
    ASSERT_TRUE(outcome->ok()) << outcome->error->message;
  }
  std::shared_ptr<const Outcome> last_;
};

constexpr const char* kProduct =
    R"(fn @main(%x: Tensor[(n, k), f32], %w: Tensor[(m, 4), f32]) -> (Tensor[(n, 4), f32]) {
  %p = concat(%x, %x) {axis = 0}
  %y = matmul(%p, %w)
  return %y
}
)";

TEST_F(WhyTest, TheChainOfADimIsTheRulesOfItsOperators) {
  load(R"(fn @main(%x: Tensor[(n, k), f32], %w: Tensor[(k, 4), f32]) {
  %p = concat(%x, %x) {axis = 0}
  %y = matmul(%p, %w)
  return %y
}
)");
  const WhyView& view = why("y.0");
  EXPECT_EQ(view.answer, "2*n");
  ASSERT_EQ(view.chain.size(), 3u) << testing::PrintToString(view.chain);
  EXPECT_THAT(view.chain[0], HasSubstr("y.0 = p.0 (rule of matmul"));
  EXPECT_THAT(view.chain[1], HasSubstr("p.0 = 2*x.0 (rule of concat"));
  EXPECT_THAT(view.chain[2], HasSubstr("axis 0 of input x"));
}

// Shape arithmetic → tensors: the chain goes through the elements that the shape was computed from.
TEST_F(WhyTest, TheChainGoesThroughShapeArithmetic) {
  load(R"(fn @main(%x: Tensor[(n, 6), f32]) {
  %s = shape(%x)
  %i = constant() {value = i64[1] [0]}
  %n = gather(%s, %i) {axis = 0}
  %two = constant() {value = i64[1] [2]}
  %m = mul(%n, %two)
  %rest = constant() {value = i64[1] [3]}
  %shape = concat(%m, %rest) {axis = 0}
  %y = constant_of_shape(%shape) {value = f32[1] [0]}
  return %y
}
)");
  const WhyView& view = why("y.0");
  EXPECT_EQ(view.answer, "2*n");
  std::string all;
  for (const std::string& step : view.chain) all += step + "\n";
  EXPECT_THAT(all,
              AllOf(HasSubstr("y.0 = shape[0] (rule of constant_of_shape"),
                    HasSubstr("shape[0] = m[0] (rule of concat"), HasSubstr("m[0] = 2*n[0] (rule of mul"),
                    HasSubstr("n[0] = s[0]"), HasSubstr("s[0] = x.0"), HasSubstr("axis 0 of input x")));
}

TEST_F(WhyTest, AValueDependentSizeEndsAtItsOperation) {
  load(R"(fn @main(%x: Tensor[(n, 4), f32]) {
  %i = nonzero(%x)
  %y = transpose(%i) {perm = [1, 0]}
  return %y
}
)");
  const WhyView& view = why("y.0");
  ASSERT_EQ(view.chain.size(), 2u);
  EXPECT_THAT(view.chain[0], HasSubstr("y.0 = i.1 (rule of transpose"));
  EXPECT_THAT(view.chain[1], HasSubstr("nonzero counts"));
}

TEST_F(WhyTest, AnEqualityIsProvedByFactsWithReasons) {
  load(kProduct);
  const WhyView& view = why("x.1 w.0");
  EXPECT_EQ(view.answer, "yes");
  ASSERT_EQ(view.facts.size(), 1u);
  EXPECT_THAT(view.facts[0], AllOf(HasSubstr("k = m"), HasSubstr("inner dims of the product")));
}

TEST_F(WhyTest, AnInsertedCheckHasANameAndACounterexample) {
  load(kProduct);
  EXPECT_THAT(line(":dims")->as<DimsTable>()->checks, Contains(HasSubstr("check0: k must equal m")));
  const WhyView& view = why("check0");
  EXPECT_THAT(view.answer, HasSubstr("k must equal m"));
  EXPECT_THAT(view.lines, Contains(HasSubstr("demanded by matmul")));
  EXPECT_THAT(view.known, Contains(HasSubstr("k = m")));
  ASSERT_EQ(view.shapes.size(), 2u);
  // The shapes are ones that the check refuses.
  EXPECT_NE(view.counterexample.at("k"), view.counterexample.at("m"));
  EXPECT_THAT(view.shapes[0], HasSubstr(", " + std::to_string(view.counterexample.at("k")) + "]"));
  EXPECT_THAT(view.shapes[1], HasSubstr("[" + std::to_string(view.counterexample.at("m")) + ","));
}

TEST_F(WhyTest, UnequalDimsGetShapesAndTheCheapestGuard) {
  load(R"(fn @main(%x: Tensor[(n, k), f32], %z: Tensor[(2*n, j), f32]) {
  %y = concat(%x, %x) {axis = 1}
  return %y, %z
}
)");
  const WhyView& view = why("y.1 z.0");  // 2*k and 2*n
  EXPECT_EQ(view.answer, "unknown");
  ASSERT_EQ(view.shapes.size(), 2u);
  const int64_t n = view.counterexample.at("n"), k = view.counterexample.at("k");
  EXPECT_NE(n, k);
  EXPECT_EQ(view.shapes[0], "x: [" + std::to_string(n) + ", " + std::to_string(k) + "]");
  EXPECT_THAT(view.shapes[1], HasSubstr("z: [" + std::to_string(2 * n) + ", "));
  EXPECT_TRUE(view.guard == "k == n" || view.guard == "n == k") << view.guard;
  EXPECT_EQ(view.weakestGuard, "");
  // 2*n and n + k*k: the weakest guard costs more than one on a size alone that is stronger.
  const WhyView& product = why("n*k k");
  EXPECT_EQ(product.answer, "unknown");
  EXPECT_THAT(product.guard, testing::AnyOf("n == 1", "k == 0"));
  EXPECT_THAT(product.weakestGuard, testing::Not(""));
  // Different whatever the sizes are: there is nothing to guard.
  const WhyView& never = why("n+1 n");
  EXPECT_EQ(never.answer, "no");
  EXPECT_EQ(never.guard, "");
  EXPECT_THAT(never.lines, Contains(HasSubstr("no guard can")));
}

// All five sources of facts, each with its reason: operators, the model's names, the user, run-time checks,
// sizes seen.
TEST_F(WhyTest, FactsComeFromFiveSources) {
  load(R"(fn @main(%x: Tensor[(n, k), f32], %w: Tensor[(m, 4), f32]) {
  %y = matmul(%x, %w)
  return %y
}
)",
       "--dim n=1..64:4");
  const bool ran = line(":run --dim n=8 --dim k=2 --dim m=2")->ok();
  auto outcome = line(":dims");
  std::string all;
  for (const DimRow& row : outcome->as<DimsTable>()->rows) {
    EXPECT_FALSE(row.origin.empty()) << row.symbol;
    all += row.origin + "\n";
    for (const std::string& fact : row.facts) all += fact + "\n";
  }
  EXPECT_THAT(all, AllOf(HasSubstr("named in the program"), HasSubstr("user: --dim n=1..64:4"),
                         HasSubstr("k = m (run-time check")));
  EXPECT_THAT(why("y.1").chain, Contains(HasSubstr("rule of matmul")));
  if (ran) {
    EXPECT_THAT(all, HasSubstr("n is likely 8 (observed"));
  }
}

// A guard is not a guess: told as a fact it makes the answer yes.
TEST_F(WhyTest, TheCheapestGuardIsEnough) {
  load(R"(fn @main(%x: Tensor[(n, n), f32], %z: Tensor[(m, j), f32]) {
  return %x, %z
}
)");
  EXPECT_EQ(why("3*n+m 3*m+n").guard, "n == m");
  load(R"(fn @main(%x: Tensor[(n, n), f32], %z: Tensor[(n, j), f32]) {
  return %x, %z
}
)");
  EXPECT_EQ(why("3*n+n 3*n+n").answer, "yes");
}

TEST_F(WhyTest, ASymbolsNameMayLookLikeAnAxis) {
  load("fn @main(%x: Tensor[(p.Dim.0, 3), f32]) {\n  return %x\n}\n");
  why("p.Dim.0");
  ASSERT_TRUE(last_->ok()) << last_->error->message;
  EXPECT_FALSE(line(":why p.Dim.1")->ok());
}

}  // namespace
}  // namespace dyn
