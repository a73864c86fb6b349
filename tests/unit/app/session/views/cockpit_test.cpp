// What the cockpit shows: chains that fold, predictions with their checks, sweeps, tensors, places, two runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "app/engine/inputs/input_spec.h"
#include "app/engine/model/model_info.h"
#include "app/engine/run/run_result.h"
#include "app/session/answers/place_tree.h"
#include "app/session/answers/sweep_view.h"
#include "app/session/answers/tensor_view.h"
#include "app/session/views/memory_views.h"
#include "app/session/views/predict_views.h"
#include "app/session/views/run_views.h"
#include "app/session/views/value_views.h"
#include "app/session/views/view.h"
#include "app/session/views/view_text.h"
#include "app/session/views/why_views.h"
#include "tests/support/paths.h"
#include "tests/support/session_fixture.h"

namespace dyn {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class CockpitTest : public test::SessionFixture {};

// A chain of relu and of additions, so long as is asked.
std::string longChain(int length) {
  std::string text = "fn @main(%x: Tensor[(n, 8), f32]) {\n  %h0 = relu(%x)\n";
  for (int i = 1; i < length; ++i)
    text += "  %h" + std::to_string(i) + " = tanh(%h" + std::to_string(i - 1) + ")\n";
  return text + "  return %h" + std::to_string(length - 1) + "\n}\n";
}

TEST_F(CockpitTest, ALongChainThatKeepsADimIsOneLine) {
  ASSERT_TRUE(loadText(longChain(40))->ok());
  auto outcome = line(":why h39.0");
  ASSERT_TRUE(outcome->ok()) << outcome->error->toString();
  const WhyView& why = *outcome->as<WhyView>();
  ASSERT_EQ(why.tree.size(), 2u) << toText(outcome->view, TextOptions{});
  EXPECT_EQ(why.tree[0].text, "h39.0 = x.0 through 40 operations that keep it");
  ASSERT_EQ(why.tree[0].folded.size(), 40u);
  EXPECT_EQ(why.tree[0].folded[0].ask, "h39.0");
  EXPECT_EQ(why.tree[0].folded[0].keptBy, "tanh");
  EXPECT_EQ(why.tree[0].folded[39].keptBy, "relu");
  EXPECT_EQ(why.tree[1].keptBy, "");
  EXPECT_EQ(why.tree[0].ask, "h39.0");
  EXPECT_THAT(why.tree[1].text, HasSubstr("axis 0 of input x"));
  EXPECT_THAT(toText(outcome->view, TextOptions{}), HasSubstr("through 40 operations that keep it"));
}

TEST_F(CockpitTest, AShortChainIsNotFoldedAndAForkIsIndented) {
  ASSERT_TRUE(loadText("fn @main(%x: Tensor[(n, 8), f32], %y: Tensor[(m, 8), f32]) {\n"
                       "  %a = relu(%x)\n  %c = concat(%a, %y) {axis = 0}\n  return %c\n}\n")
                  ->ok());
  auto outcome = line(":why c.0");
  ASSERT_TRUE(outcome->ok()) << outcome->error->toString();
  const WhyView& why = *outcome->as<WhyView>();
  ASSERT_GE(why.tree.size(), 4u);
  EXPECT_EQ(why.tree[0].depth, 0);
  for (size_t i = 1; i < why.tree.size(); ++i) {
    EXPECT_EQ(why.tree[i].depth, 1) << why.tree[i].text;
    EXPECT_THAT(why.tree[i].folded, IsEmpty());
  }
}

constexpr const char* kChecked = R"(fn @main(%x: Tensor[(n, k), f32], %w: Tensor[(m, 5), f32]) {
  %y = matmul(%x, %w)
  return %y
}
)";

TEST_F(CockpitTest, APredictionNamesTheChecksThatWouldFail) {
  if (!canRun()) GTEST_SKIP() << "this build generates no code";
  ASSERT_TRUE(loadText(kChecked)->ok());
  auto bad = line(":predict --dim n=3 --dim k=4 --dim m=7");
  ASSERT_TRUE(bad->ok()) << bad->error->toString();
  const PredictView& refused = *bad->as<PredictView>();
  EXPECT_FALSE(refused.refused.empty());
  ASSERT_FALSE(refused.checks.empty());
  EXPECT_TRUE(refused.checks[0].fails);
  EXPECT_EQ(std::set<int64_t>({*refused.checks[0].left, *refused.checks[0].right}),
            std::set<int64_t>({4, 7}));
  EXPECT_THAT(toText(bad->view, TextOptions{}), HasSubstr("check0 fails"));
  EXPECT_FALSE(line(":run --dim n=3 --dim k=4 --dim m=7")->ok()) << "as it was said";

  auto good = line(":predict --dim n=3 --dim k=7 --dim m=7");
  ASSERT_TRUE(good->ok()) << good->error->toString();
  EXPECT_EQ(good->as<PredictView>()->refused, "");
  for (const CheckRow& check : good->as<PredictView>()->checks) EXPECT_FALSE(check.fails) << check.text;
  EXPECT_TRUE(line(":run --dim n=3 --dim k=7 --dim m=7")->ok());
}

TEST_F(CockpitTest, ASweepAgreesWithSinglePredictionsAndShowsRuns) {
  if (!canRun()) GTEST_SKIP() << "this build generates no code";
  ASSERT_TRUE(loadText("fn @main(%x: Tensor[(n, m), f32]) { %y = softmax(%x, axis = -1) %z = matmul(%y, %y, "
                       "transpose_b = 1) return %z }")
                  ->ok() ||
              loadText("fn @main(%x: Tensor[(n, m), f32]) { %y = softmax(%x, axis = -1) return %y }")->ok());
  ASSERT_TRUE(line(":run --dim n=20 --dim m=6")->ok());
  ASSERT_TRUE(line(":run --dim n=20 --dim m=7")->ok());
  auto outcome = line(":sweep n 8..64 --dim m=6 --points 8");
  ASSERT_TRUE(outcome->ok()) << outcome->error->toString();
  const SweepView& sweep = *outcome->as<SweepView>();
  ASSERT_EQ(sweep.points.size(), 8u);
  EXPECT_EQ(sweep.points.front().value, 8);
  EXPECT_EQ(sweep.points.back().value, 64);
  for (size_t i = 1; i < sweep.points.size(); ++i)
    EXPECT_GE(*sweep.points[i].peakBytes, *sweep.points[i - 1].peakBytes);
  EXPECT_EQ(sweep.others, (DimValues{{"m", 6}}));
  ASSERT_EQ(sweep.measured.size(), 1u) << "the run with other dims is not on this line";
  EXPECT_EQ(sweep.measured[0].dims.at("n"), 20);
  // The limit that the picture answers is that of :limit.
  auto limit = line(":limit " + std::to_string(*sweep.points[4].peakBytes) + " --dim m=6");
  ASSERT_TRUE(limit->ok());
  EXPECT_GE(*limit->as<LimitView>()->rows[0].largest, sweep.points[4].value);
  EXPECT_LT(*limit->as<LimitView>()->rows[0].largest, sweep.points[5].value);
  EXPECT_FALSE(line(":sweep q 1..4")->ok());
  EXPECT_FALSE(line(":sweep n 9..4 --dim m=6")->ok());
}

TEST(SweepView, NeighboursWithTheSameVersionsAreOneBandAndRefusalsPartThem) {
  LimitSymbol n;
  n.name = "n";
  n.multiple = 2;
  const ForecastOfDims forecast = [](const DimValues& dims) -> Result<Forecast> {
    const int64_t size = dims.at("n");
    if (size == 6) return makeError(DiagnosticId::shapeCheckFailed, "no six");
    return Forecast{size, 10 * size, size < 10 ? "small" : "large"};
  };
  const auto none = [](double) {};
  const Result<SweepView> sweep = sweepView(n, {n}, {}, 1, 14, 100, forecast, none);
  ASSERT_TRUE(sweep.ok());
  ASSERT_EQ(sweep->points.size(), 7u) << "even sizes from 2 to 14";
  EXPECT_EQ(sweep->points[2].refused, "no six");
  ASSERT_EQ(sweep->bands.size(), 3u);
  EXPECT_EQ(sweep->bands[0].to, 4);
  EXPECT_EQ(sweep->bands[1].from, 8);
  EXPECT_EQ(sweep->bands[2].versions, "large");
  EXPECT_EQ(sweep->bands[2].from, 10);
}

TEST(TensorView, CountsWhatIsNoNumberAndFillsTheHistogram) {
  HostTensor t = *HostTensor::create(Dtype::f32, {2, 3, 4});
  for (int64_t i = 0; i < 24; ++i) t.setReal(i, static_cast<double>(i));
  t.setReal(3, std::numeric_limits<double>::quiet_NaN());
  t.setReal(5, -std::numeric_limits<double>::infinity());
  const Result<TensorView> view = tensorView("t", t, "1");
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->nanCount, 1);
  EXPECT_EQ(view->infinityCount, 1);
  EXPECT_EQ(view->zeroCount, 1);
  EXPECT_EQ(view->least, 0);
  EXPECT_EQ(view->largest, 23);
  EXPECT_DOUBLE_EQ(*view->mean, (276.0 - 3 - 5) / 22);
  int64_t sum = 0;
  for (const int64_t count : view->histogram) sum += count;
  EXPECT_EQ(sum, 22);
  EXPECT_EQ(view->gridRows, 3);
  EXPECT_EQ(view->gridColumns, 4);
  EXPECT_EQ(view->grid[0], 12) << "the second slice";
  EXPECT_FALSE(tensorView("t", t, "2").ok());
  EXPECT_FALSE(tensorView("t", t, "0,0").ok());
  EXPECT_FALSE(tensorView("t", t, "x").ok());
}

TEST(TensorView, TakesEveryShape) {
  for (const std::vector<int64_t>& shape :
       std::vector<std::vector<int64_t>>{{}, {0}, {7}, {0, 3}, {3, 0}, {1000, 3}, {2, 0, 5}}) {
    const HostTensor t = *HostTensor::create(Dtype::i64, shape);
    const Result<TensorView> view = tensorView("t", t, "");
    ASSERT_TRUE(view.ok());
    EXPECT_EQ(view->elementsCount, t.elementCount());
    EXPECT_EQ(view->grid.empty(), t.elementCount() == 0);
    EXPECT_LE(view->gridRows, 256);
  }
}

TEST_F(CockpitTest, AnyValueCanBeLookedAtAndSaved) {
  if (!canRun()) GTEST_SKIP() << "this build generates no code";
  ASSERT_TRUE(
      loadText(
          "fn @main(%x: Tensor[(n, 4), f32]) {\n  %hidden = relu(%x)\n  %y = exp(%hidden)\n  return %y\n}\n")
          ->ok());
  ASSERT_TRUE(line(":run --input x=[[-1.0,2.0,0.0,3.0]]")->ok());
  auto h = line(":tensor hidden");
  ASSERT_TRUE(h->ok()) << h->error->toString();
  EXPECT_EQ(h->as<TensorView>()->largest, 3) << "of the inputs of the last run";
  EXPECT_EQ(h->as<TensorView>()->zeroCount, 2);
  auto imported = line(":tensor %hidden --pass import --input x=[[5.0,-5.0,1.0,1.0]]");
  ASSERT_TRUE(imported->ok()) << imported->error->toString();
  EXPECT_EQ(imported->as<TensorView>()->largest, 5);
  const std::string file = folder_ / "y.npy";
  auto y = line(":tensor y -o " + file);
  ASSERT_TRUE(y->ok()) << y->error->toString();
  EXPECT_EQ(y->as<TensorView>()->from, "an output of the last run");
  Result<HostTensor> written = readNpyTensor(file);
  ASSERT_TRUE(written.ok());
  EXPECT_NEAR(written->realAt(3), std::exp(3.0), 1e-4);
  EXPECT_THAT(line(":tensor hiden")->error->toString(), HasSubstr("did you mean hidden"));
}

TEST_F(CockpitTest, PlacesAddUpAndTwoRunsAreCompared) {
  if (!canRun()) GTEST_SKIP() << "this build generates no code";
  ASSERT_TRUE(loadText("fn @main(%x: Tensor[(n, 64), f32]) { %y = softmax(%x, axis = -1) return %y }")->ok());
  EXPECT_FALSE(line(":places")->ok());
  ASSERT_TRUE(line(":profile --dim n=10")->ok());
  EXPECT_FALSE(line(":compare")->ok()) << "there is one run only";
  ASSERT_TRUE(line(":profile --dim n=3000")->ok());
  auto outcome = line(":places");
  ASSERT_TRUE(outcome->ok());
  const PlaceTree& tree = *outcome->as<PlaceTree>();
  std::vector<int64_t> sums(tree.rows.size(), 0);
  int64_t roots = 0;
  for (const PlaceRow& row : tree.rows) {
    if (row.parent >= 0)
      sums[static_cast<size_t>(row.parent)] += row.totalNs;
    else
      roots += row.totalNs;
  }
  for (size_t i = 0; i < tree.rows.size(); ++i)
    if (tree.rows[i].kind == "module" || tree.rows[i].kind == "operation") {
      EXPECT_EQ(sums[i], tree.rows[i].totalNs) << tree.rows[i].label;
    }
  EXPECT_EQ(roots, tree.runNs) << "launches and gaps are the whole run";
  const Shared<RunResult> run = line(":profile --dim n=100")->share<RunResult>();
  const int64_t middle = run->timeline[run->timeline.size() / 2].beginNs;
  int64_t parts = 0, whole = 0;
  for (const TimeRange& range : {TimeRange{INT64_MIN, middle}, TimeRange{middle, INT64_MAX}}) {
    for (const NodeTime& time : nodeTimes(*run, range)) parts += time.totalNs;
    EXPECT_LT(placeTree(*run, range).rows.size(), placeTree(*run).rows.size() + 1);
  }
  for (const NodeTime& time : run->nodeTimes) whole += time.totalNs;
  EXPECT_EQ(parts, whole);
  auto compared = line(":compare 1 2");
  ASSERT_TRUE(compared->ok()) << compared->error->toString();
  const RunsView& runs = *compared->as<RunsView>();
  EXPECT_EQ(runs.first, "run 1: n=10");
  ASSERT_FALSE(runs.rows.empty());
  EXPECT_GT(*runs.rows[0].ratio, 1);
  EXPECT_FALSE(line(":compare 1 9")->ok());
  // A saved one comes back as a run: with its dims, its peak and the times of its operations.
  const std::string saved = folder_.path() + "/saved.json";
  auto written = line(":profile " + saved + " --dim n=40");
  ASSERT_TRUE(written->ok()) << written->error->message;
  auto recalled = line(":recall " + saved);
  ASSERT_TRUE(recalled->ok()) << recalled->error->message;
  const RunResult &before = *written->as<RunResult>(), &after = *recalled->as<RunResult>();
  EXPECT_EQ(after.dims, before.dims);
  EXPECT_EQ(after.peakBytes, before.peakBytes);
  EXPECT_EQ(after.launchesCount, before.launchesCount);
  ASSERT_EQ(after.nodeTimes.size(), before.nodeTimes.size());
  for (size_t i = 0; i < after.nodeTimes.size(); ++i) {
    EXPECT_EQ(after.nodeTimes[i].place, before.nodeTimes[i].place);
    EXPECT_EQ(after.nodeTimes[i].totalNs, before.nodeTimes[i].totalNs);
  }
  ASSERT_EQ(after.profile->rows.size(), before.profile->rows.size());
  auto equal = line(":compare");
  ASSERT_TRUE(equal->ok()) << equal->error->message;
  for (const RunDifference& row : equal->as<RunsView>()->rows) EXPECT_EQ(row.ratio, 1.0) << row.place;
  // It is no measurement: it is neither the last run nor a point beside predicted ones.
  EXPECT_EQ(after.recalledFrom, saved);
  EXPECT_THAT(equal->as<RunsView>()->first, HasSubstr("of saved.json"));
  const auto measured = [&] { return line(":sweep n 1..50")->as<SweepView>()->measured.size(); };
  const size_t points = measured();
  ASSERT_TRUE(line(":recall " + saved)->ok());
  EXPECT_EQ(measured(), points);
  EXPECT_TRUE(line(":tensor x")->ok()) << "an input of the last run, which was run here";
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(line(":recall " + saved)->ok());
  EXPECT_TRUE(line(":tensor x")->ok()) << "however many are recalled";
  for (const char* bad : {"", "no", "{}", "{\"traceEvents\": 3}", "{\"traceEvents\": [{\"ph\": 1}, 4]}"}) {
    auto outcome = line(":recall " + folder_.write("bad.json", bad));
    ASSERT_FALSE(outcome->ok()) << bad;
    EXPECT_EQ(outcome->error->id, DiagnosticId::fileError) << bad;
    EXPECT_NE(outcome->error->message.find("bad.json"), std::string::npos);
  }
}

TEST_F(CockpitTest, ARecordedCaseIsRunAndCompared) {
  const std::string sample = test::sourceFolder() + "/samples/models/bert";
  if (!canRun() || !line(":load " + sample + "/model.onnx")->ok())
    GTEST_SKIP() << "this build reads no ONNX files";
  auto outcome = line(":run --case " + sample + "/test_data_set_0");
  ASSERT_TRUE(outcome->ok()) << outcome->error->toString();
  const RunResult& run = *outcome->as<RunResult>();
  ASSERT_FALSE(run.differences.empty());
  for (const auto& [name, difference] : run.differences) EXPECT_EQ(difference, "") << name;
  EXPECT_THAT(run.randomInputs, IsEmpty());
  EXPECT_THAT(toText(outcome->view, TextOptions{}), HasSubstr("as recorded"));
  auto other = line(":run --case " + sample + "/test_data_set_0 --input input_ids=zeros");
  ASSERT_TRUE(other->ok()) << other->error->toString();
  EXPECT_THAT(other->as<RunResult>()->differences[0].second, Not(IsEmpty()));
  EXPECT_FALSE(line(":run --case " + sample + "/nowhere")->ok());
}

TEST_F(CockpitTest, ThePlanSaysWhatLivesAtItsPeak) {
  ASSERT_TRUE(loadText("fn @main(%x: Tensor[(n, 64), f32], %w: Tensor[(64, 64), f32]) {\n  %a = matmul(%x, "
                       "%w)\n  %b = matmul(%a, %w)\n"
                       "  %c = matmul(%b, %w)\n  return %c\n}\n")
                  ->ok());
  auto outcome = line(":plan --dim n=100");
  ASSERT_TRUE(outcome->ok()) << outcome->error->toString();
  const PlanView& plan = *outcome->as<PlanView>();
  ASSERT_FALSE(plan.peakBuffers.empty());
  int64_t sum = 0;
  for (const size_t i : plan.peakBuffers) {
    EXPECT_LE(plan.buffers[i].begin, plan.peakStep);
    EXPECT_GE(plan.buffers[i].end, plan.peakStep);
    sum += *plan.buffers[i].sizeBytes;
  }
  EXPECT_EQ(sum, plan.peakStepBytes);
}

TEST_F(CockpitTest, AProfileTellsIterationsAndWorkers) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  // Two loops, one in the other: 3 times 4 iterations, and a product for each.
  ASSERT_TRUE(loadText(R"(fn @main(%x: Tensor[(64, 64), f32]) -> (Tensor[(64, 64), f32]) {
  %n = constant() {value = i64[] 3}
  %t = constant() {value = bool[] true}
  %y = loop(%n, %t, %x) {carried = 1} body (%i: Tensor[(), i64], %a: Tensor[(64, 64), f32]) -> (Tensor[(), bool], Tensor[(64, 64), f32]) {
    %m = constant() {value = i64[] 4}
    %c = constant() {value = bool[] true}
    %b = loop(%m, %c, %a) {carried = 1} body (%j: Tensor[(), i64], %d: Tensor[(64, 64), f32]) -> (Tensor[(), bool], Tensor[(64, 64), f32]) {
      %e = constant() {value = bool[] true}
      %f = matmul(%d, %d)
      return %e, %f
    }
    %g = softmax(%b)
    return %c, %g
  }
  return %y
}
)")
                  ->ok());
  auto outcome = line(":profile");
  ASSERT_TRUE(outcome->ok()) << outcome->error->toString();
  const RunResult& run = *outcome->as<RunResult>();
  std::map<std::string, int> numbers;
  std::vector<const TimelineEvent*> iterations;
  for (const TimelineEvent& event : run.timeline)
    if (event.kind == "iteration") {
      ++numbers[event.name];
      iterations.push_back(&event);
    }
  EXPECT_EQ(numbers["iteration 1"], 4) << "of the outer loop one, of the inner one three";
  EXPECT_EQ(numbers["iteration 3"], 4);
  EXPECT_EQ(numbers["iteration 4"], 3);
  EXPECT_EQ(iterations.size(), 15u);
  for (size_t i = 0; i < iterations.size(); ++i)
    for (size_t k = i + 1; k < iterations.size(); ++k) {
      const int64_t endI = iterations[i]->beginNs + iterations[i]->durationNs,
                    endK = iterations[k]->beginNs + iterations[k]->durationNs;
      EXPECT_TRUE(endI <= iterations[k]->beginNs || endK <= endI) << "they nest: " << i << " " << k;
    }
  // Their time is that of other events once more.
  for (const NodeTime& time : run.nodeTimes) EXPECT_EQ(time.place.find("iteration"), std::string::npos);
  for (const KernelRow& row : run.profile->rows) EXPECT_NE(row.kind, "iteration");
}

}  // namespace
}  // namespace dyn
