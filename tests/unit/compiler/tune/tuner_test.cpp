// Tuning with times that the test makes up: what is measured, kept and chosen, without a clock or a runtime.
#include "compiler/tune/tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <set>

#include "compiler/driver/compile.h"
#include "tests/support/text_module.h"

namespace dyn {
namespace {

using testing::Contains;
using testing::HasSubstr;

// y = x w with a constant w [256, 192].
std::string product() {
  std::string elements;
  for (int i = 0; i < 256 * 192; ++i) elements += (i ? ", " : "") + std::to_string(i % 7 - 3);
  return "fn @main(%x: Tensor[(n, 256), f32]) {\n  %w = constant() {value = f32[256, 192] [" + elements +
         "]}\n  %y = matmul(%x, %w)\n  return %y\n}\n";
}

// Each version takes a nanosecond for each element of x, times its factor (1 where it has none).
class MadeUpHost : public TunerHost {
 public:
  std::map<std::string, double> factors;
  std::set<std::string> made;
  std::vector<TunedOperation> kept;
  int64_t measured = 0, failAfter = -1;  // so many measurements succeed; -1: all

  Result<std::unique_ptr<TrialProgram>> make(std::shared_ptr<IrContext>, Module module,
                                             passes::ContractionKind kind,
                                             const contraction::Version& version) override {
    EXPECT_EQ(kind, passes::ContractionKind::product);
    EXPECT_EQ(module.main()->parameters.size(), 1u);
    made.insert(textOf(version));
    return std::unique_ptr<TrialProgram>(std::make_unique<Program>(*this, textOf(version)));
  }
  void progress(const std::string&, double fraction) override {
    EXPECT_GE(fraction, 0);
    EXPECT_LE(fraction, 1);
  }
  Status keep(const TunedOperation& record) override {
    kept.push_back(record);
    return {};
  }

 private:
  struct Program : TrialProgram {
    Program(MadeUpHost& of, std::string text) : host(of), version(std::move(text)) {}
    Result<double> leastNs(const HostTensor& x, double) override {
      if (host.measured == host.failAfter) return makeError(DiagnosticId::cancelled, "cancelled");
      ++host.measured;
      auto factor = host.factors.find(version);
      return static_cast<double>(x.elementCount()) * (factor == host.factors.end() ? 1 : factor->second);
    }
    MadeUpHost& host;
    std::string version;
  };
};

// The model after its passes, and likely sizes of n.
struct Fixture {
  IrContext context;
  Trace trace;
  std::vector<Draw> draws;

  explicit Fixture(std::vector<int64_t> lengths) {
    Result<Module> parsed = test::parseText(context, product());
    EXPECT_TRUE(parsed.ok()) << parsed.error().toString();
    Result<Module> placed = runPasses(*parsed, {}, trace);
    EXPECT_TRUE(placed.ok()) << placed.error().toString();
    if (lengths.empty()) {
      draws.resize(1);
      return;
    }
    Result<std::vector<Draw>> drawn =
        drawsOf({{"n", std::nullopt, std::nullopt, std::nullopt, 1, std::move(lengths), "n"}}, Extent::all);
    EXPECT_TRUE(drawn.ok()) << drawn.error().toString();
    draws = *drawn;
  }
  Result<TuneReport> tune(TunerHost& host, const TuneRequest& request) {
    return dyn::tune(tuneTasks(trace, draws), request, host);
  }
};

TEST(Tuner, measuresEachVersionAtEachShapeAndKeepsTheRecordEachTime) {
  Fixture fixture({1, 64, 500});
  MadeUpHost host;
  Result<TuneReport> report = fixture.tune(host, {});
  ASSERT_TRUE(report.ok()) << report.error().toString();
  ASSERT_EQ(report->rows.size(), 1u);
  EXPECT_EQ(report->rows[0].state, "measured");
  EXPECT_EQ(report->rows[0].shapesCount, 3);
  EXPECT_THAT(host.made, Contains("auto"));
  ASSERT_GE(host.made.size(), 3u) << "there is nothing to choose between";
  EXPECT_EQ(report->trialsCount, static_cast<int64_t>(3 * host.made.size()));
  ASSERT_EQ(host.kept.size(), 3u);
  EXPECT_EQ(host.kept[0].shapes.size(), 1u);
  EXPECT_EQ(host.kept[2].shapes.size(), 3u);
  EXPECT_TRUE(contraction::isAutomatic(host.kept[2].chosen)) << "all take the same time";
}

TEST(Tuner, choosesWhatIsClearlyFasterAndDoesNotMeasureItAgain) {
  Fixture fixture({1, 64, 500});
  MadeUpHost first;
  ASSERT_TRUE(fixture.tune(first, {}).ok());
  for (const std::string& version : first.made) {
    if (version == "auto") continue;
    MadeUpHost host;
    host.factors[version] = 0.5;
    ASSERT_TRUE(fixture.tune(host, {}).ok());
    EXPECT_EQ(textOf(host.kept.back().chosen), version);

    MadeUpHost again;
    TuneRequest request;
    request.known.operations = {host.kept.back()};
    Result<TuneReport> report = fixture.tune(again, request);
    ASSERT_TRUE(report.ok()) << report.error().toString();
    EXPECT_EQ(report->rows[0].state, "kept");
    EXPECT_EQ(textOf(report->rows[0].chosen), version);
    EXPECT_EQ(again.measured, 0);
  }
}

TEST(Tuner, withFewTrialsMeasuresNoMoreThanThese) {
  Fixture fixture({1, 2, 4, 8, 64, 500});
  for (int64_t trials : {1, 3, 7}) {
    MadeUpHost host;
    TuneRequest request;
    request.trials = trials;
    Result<TuneReport> report = fixture.tune(host, request);
    ASSERT_TRUE(report.ok()) << report.error().toString();
    EXPECT_LE(report->trialsCount, trials);
    EXPECT_GT(report->trialsCount, 0);
    EXPECT_EQ(host.kept.size(), static_cast<size_t>(report->trialsCount));
  }
}

TEST(Tuner, keepsWhatWasMeasuredBeforeARunFails) {
  Fixture fixture({1, 64, 500});
  MadeUpHost all;
  ASSERT_TRUE(fixture.tune(all, {}).ok());
  MadeUpHost host;
  host.failAfter = all.measured / 3 + 1;  // in the second shape
  Result<TuneReport> report = fixture.tune(host, {});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().id, DiagnosticId::cancelled);
  ASSERT_EQ(host.kept.size(), 1u);
  EXPECT_EQ(host.kept[0].shapes.size(), 1u);
}

TEST(Tuner, saysWhichDimIsMissing) {
  Fixture fixture({});
  MadeUpHost host;
  TuneRequest request;
  request.missingDim = "n";
  Result<TuneReport> report = fixture.tune(host, request);
  ASSERT_TRUE(report.ok()) << report.error().toString();
  ASSERT_EQ(report->rows.size(), 1u);
  EXPECT_EQ(report->rows[0].state, "its sizes need --dim n");
  EXPECT_EQ(report->skippedCount, 1);
  EXPECT_EQ(host.measured, 0);
}

TEST(LikelySizes, comeFromAValueARangeOrLengths) {
  const auto draw = [](LikelyDim dim) { return drawsOf({std::move(dim)}, Extent::all); };
  Result<std::vector<Draw>> one = draw({.name = "n", .value = 7});
  ASSERT_TRUE(one.ok());
  ASSERT_EQ(one->size(), 1u);
  EXPECT_EQ((*one)[0].dims.at("n"), 7);
  Result<std::vector<Draw>> range = draw({.name = "n", .low = 1, .high = 512, .multiple = 8});
  ASSERT_TRUE(range.ok());
  double sum = 0;
  for (const Draw& d : *range) {
    sum += d.weight;
    EXPECT_EQ(d.dims.at("n") % 8, 0);
    EXPECT_LE(d.dims.at("n"), 512);
  }
  EXPECT_NEAR(sum, 1, 1e-9);
  Result<std::vector<Draw>> often = draw({.name = "n", .lengths = {5, 5, 5, 5, 5, 9}});
  ASSERT_TRUE(often.ok());
  EXPECT_EQ((*often)[0].dims.at("n"), 5);
  EXPECT_GT((*often)[0].weight, 0.7);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (const Extent extent : {Extent::all, Extent::sparse}) {
    const LikelyDim all{.name = "n", .low = 1, .high = kMost, .multiple = extent == Extent::all ? 5 : 1};
    const Result<std::vector<Draw>> sizes = drawsOf({all}, extent);
    ASSERT_TRUE(sizes.ok());
    EXPECT_EQ(sizes->size(), extent == Extent::all ? 4u : 63u);
    for (const Draw& d : *sizes) EXPECT_GE(d.dims.at("n"), 1);
  }
  Result<std::vector<Draw>> open = draw({.name = "n", .low = 0, .text = "n=0.."});
  ASSERT_FALSE(open.ok());
  EXPECT_THAT(open.error().toString(), HasSubstr("n=0.."));
}

}  // namespace
}  // namespace dyn
