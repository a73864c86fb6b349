// :diff --other: what changed from one model to another.
#include <gmock/gmock.h>

#include "app/session/views/change_views.h"
#include "app/session/views/view_text.h"
#include "tests/support/session_fixture.h"

namespace dyn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kSoftmaxModel = R"(fn @main(%x: Tensor[(batch, seq, 4), f32]) {
  %w = constant() {value = f32[4, 4] [[1, 2, 3, 4], [5, 6, 7, 8], [1, 2, 3, 4], [5, 6, 7, 8]]}
  %h = matmul(%x, %w)
  %s = softmax(%h) {axis = 1}
  %y = relu(%s)
  return %y
}
)";

class Difference : public test::SessionFixture {
 protected:
  // kSoftmaxModel with `other` wherever `text` stands, compared with kSoftmaxModel.
  const ModelDifference& after(const std::string& text, const std::string& other,
                               const std::string& options = "") {
    std::string changed = kSoftmaxModel;
    EXPECT_NE(changed.find(text), std::string::npos);
    for (size_t at = 0; (at = changed.find(text, at)) != std::string::npos; at += other.size())
      changed.replace(at, text.size(), other);
    EXPECT_TRUE(loadText(kSoftmaxModel)->ok());
    outcome_ = line(":diff --other " + folder_.write("other.dyn", changed) + options);
    static const ModelDifference kNone;
    EXPECT_TRUE(outcome_->as<ModelDifference>()) << outcome_->error->toString();
    return outcome_->as<ModelDifference>() ? *outcome_->as<ModelDifference>() : kNone;
  }
  std::shared_ptr<const Outcome> outcome_;
};

TEST_F(Difference, OfAModelAndItself) {
  const ModelDifference& same = after("fn ", "fn ");
  EXPECT_TRUE(outcome_->ok());
  EXPECT_THAT(same.seen, IsEmpty());
  EXPECT_THAT(same.inner, IsEmpty());
  EXPECT_THAT(same.ops, IsEmpty());
  EXPECT_EQ(same.sameOpsCount, 3);
  EXPECT_EQ(same.sameWeightsCount, 1);
  EXPECT_THAT(toText(outcome_->view, TextOptions()), HasSubstr("nothing changed in what callers see"));
}

TEST_F(Difference, RenamedValuesAreMatchedByStructure) {
  const ModelDifference& renamed = after("%h", "%product");
  EXPECT_TRUE(outcome_->ok());
  EXPECT_THAT(renamed.ops, IsEmpty());
  EXPECT_EQ(renamed.renamedValuesCount, 1);
}

TEST_F(Difference, AnAttribute) {
  const ModelDifference& changed = after("axis = 1", "axis = 2");
  ASSERT_THAT(changed.ops, SizeIs(1));
  EXPECT_EQ(changed.ops[0].change, "changed");
  EXPECT_EQ(changed.ops[0].value, "s");
  EXPECT_THAT(changed.ops[0].what, ElementsAre("attribute axis: 1 becomes 2"));
}

TEST_F(Difference, AnOperatorBetween) {
  const ModelDifference& changed = after("%y = relu(%s)", "%t = tanh(%s)\n  %y = relu(%t)");
  ASSERT_THAT(changed.ops, SizeIs(2));
  EXPECT_EQ(changed.ops[0].change, "changed");
  EXPECT_THAT(changed.ops[0].what, ElementsAre("operand 0: %s becomes %t"));
  EXPECT_EQ(changed.ops[1].change, "added");
  EXPECT_EQ(changed.ops[1].op, "tanh");
}

TEST_F(Difference, AnotherOperatorOfTheSameName) {
  const ModelDifference& changed = after("relu(%s)", "tanh(%s)");
  ASSERT_THAT(changed.ops, SizeIs(1));
  EXPECT_THAT(changed.ops[0].what, ElementsAre("operator relu becomes tanh"));
}

TEST_F(Difference, WeightsAreCloseOrDifferent) {
  const ModelDifference& close = after("[[1, 2", "[[1.001, 2");
  ASSERT_THAT(close.weights, SizeIs(1));
  EXPECT_EQ(close.weights[0].change, "close");
  EXPECT_NEAR(close.weights[0].maxAbs, 0.001, 1e-6);
  EXPECT_TRUE(outcome_->ok());
  const ModelDifference& different = after("[[1, 2", "[[9, 2");
  ASSERT_THAT(different.weights, SizeIs(1));
  EXPECT_EQ(different.weights[0].change, "different");
}

TEST_F(Difference, AFormulaThatCallersSee) {
  const ModelDifference& changed = after("(batch, seq, 4)", "(batch, 2*seq, 4)");
  ASSERT_FALSE(changed.seen.empty());
  EXPECT_EQ(changed.seen[0].of, "input");
  EXPECT_EQ(changed.seen[0].before, "Tensor[(batch, seq, 4), f32]");
  EXPECT_EQ(changed.seen[0].after, "Tensor[(batch, 2*seq, 4), f32]");
  ASSERT_FALSE(outcome_->ok());
  EXPECT_EQ(outcome_->error->id, DiagnosticId::resultsDiffer);
  EXPECT_THAT(changed.inner, testing::Not(IsEmpty()));
}

TEST_F(Difference, ADimOfAnotherNameIsNoOtherFormula) {
  const ModelDifference& renamed = after("seq", "length");
  EXPECT_TRUE(outcome_->ok()) << outcome_->error->toString();
  EXPECT_THAT(renamed.renamedDims, ElementsAre(testing::Pair("seq", "length")));
  EXPECT_THAT(renamed.inner, IsEmpty());
}

TEST_F(Difference, ACheckThatIsNew) {
  const ModelDifference& checked =
      after("%y = relu(%s)", "%r = reshape(%s, constant() {value = i64[2] [8, -1]})\n  %y = relu(%s)");
  const bool hasCheck = std::any_of(checked.seen.begin(), checked.seen.end(), [](const auto& change) {
    return change.of == "check" && change.before.empty();
  });
  EXPECT_TRUE(hasCheck) << toText(outcome_->view, TextOptions());
}

TEST_F(Difference, OfThePredictedTime) {
  if (!canRun()) GTEST_SKIP();
  const std::string sizes = " --time batch=64,seq=300 --time batch=1,seq=1";
  const ModelDifference& same = after("fn ", "fn ", sizes);
  EXPECT_TRUE(outcome_->ok());
  EXPECT_THAT(same.seen, IsEmpty());
  ASSERT_THAT(same.times, SizeIs(2));
  EXPECT_EQ(same.times[0].dims, (DimValues{{"batch", 64}, {"seq", 300}}));
  EXPECT_GT(same.times[0].beforeNs, same.times[1].beforeNs);
  EXPECT_NEAR(same.times[0].ratio().value(), 1, 0.05);  // kernels dominate; the host's part is timed
  // Two more kernels over the same elements; without a factor a longer time is no failure.
  const char* longer = "  %a = softmax(%y) {axis = 1}\n  %b = softmax(%a) {axis = 1}\n  return %b";
  EXPECT_GT(after("  return %y", longer, sizes).times[0].ratio().value(), 1.2);
  ASSERT_FALSE(outcome_->ok()) << "the formula of the peak changed";
  EXPECT_THAT(outcome_->error->message, testing::Not(HasSubstr("predicted")));
  after("  return %y", longer, sizes + " --slower 1.2");
  ASSERT_FALSE(outcome_->ok());
  EXPECT_THAT(outcome_->error->message, HasSubstr("with batch=64, seq=300 a run is predicted to take "));
  EXPECT_THAT(toText(outcome_->view, TextOptions()), HasSubstr("batch=64, seq=300"));
}

TEST_F(Difference, OfTheTimeWhereADimHasAnotherNameOrIsANumber) {
  if (!canRun()) GTEST_SKIP();
  EXPECT_NEAR(after("seq", "length", " --time batch=64,seq=300").times.at(0).ratio().value(), 1, 0.05);
  EXPECT_TRUE(after("batch", "4", " --time batch=4,seq=30").times.at(0).ratio().has_value());
}

TEST_F(Difference, OfTheTimeWhereThereIsNoRunAnyMore) {
  if (!canRun()) GTEST_SKIP();
  const ModelDifference& checked = after(
      "  return %y", "  %g = constant() {value = f32[2, 1] [[1], [1]]}\n  %z = add(%y, %g)\n  return %z",
      " --time batch=2,seq=3 --time batch=2,seq=2 --slower 9");
  ASSERT_THAT(checked.times, SizeIs(2));
  EXPECT_FALSE(checked.times[0].afterRefused.empty());
  EXPECT_TRUE(checked.times[1].afterRefused.empty());
  ASSERT_FALSE(outcome_->ok());
  EXPECT_THAT(outcome_->error->message, HasSubstr("with batch=2, seq=3 there is no run any more"));
}

TEST_F(Difference, StepsAndModelsDoNotMix) {
  EXPECT_TRUE(loadText(kSoftmaxModel)->ok());
  EXPECT_FALSE(line(":diff")->ok());
  EXPECT_FALSE(line(":diff import --other " + folder_ / "m.dyn")->ok());
  EXPECT_TRUE(line(":diff import")->ok());
}

// --- values ---

class Values : public Difference {
 protected:
  const ValueComparison& compared(const std::string& arguments) {
    outcome_ = line(":compare --values " + arguments);
    static const ValueComparison kNone;
    EXPECT_TRUE(outcome_->as<ValueComparison>()) << outcome_->error->toString();
    return outcome_->as<ValueComparison>() ? *outcome_->as<ValueComparison>() : kNone;
  }
};

TEST_F(Values, TheFirstThatGoesWrongIsNamed) {
  if (!canRun()) GTEST_SKIP();
  std::string changed = kSoftmaxModel;
  changed.replace(changed.find("axis = 1"), 8, "axis = 2");
  ASSERT_TRUE(loadText(kSoftmaxModel)->ok());
  const ValueComparison& found =
      compared("--dim batch=2 --dim seq=3 --other " + folder_.write("other.dyn", changed));
  ASSERT_TRUE(found.firstWrong.has_value());
  EXPECT_EQ(found.values[*found.firstWrong].name, "s");
  EXPECT_EQ(found.wrongCount, 2);
  EXPECT_FALSE(found.values[0].isWrong);
  EXPECT_EQ(found.values[0].name, "h");
  EXPECT_EQ(found.values[0].shape, "f32[2, 3, 4]");
  EXPECT_EQ(exitCode(outcome_->error->id), 3);
}

TEST_F(Values, OfTwoPipelines) {
  if (!canRun()) GTEST_SKIP();
  ASSERT_TRUE(loadText(kSoftmaxModel)->ok());
  const ValueComparison& same = compared("--dim batch=2 --dim seq=3 --other-passes -fuse");
  EXPECT_TRUE(outcome_->ok()) << outcome_->error->toString();
  EXPECT_THAT(same.values, SizeIs(3));
  EXPECT_EQ(same.unmatchedCount, 0);
}

TEST_F(Values, NeedsAnotherModelOrPipeline) {
  ASSERT_TRUE(loadText(kSoftmaxModel)->ok());
  EXPECT_FALSE(line(":compare --values --dim batch=2 --dim seq=3")->ok());
  EXPECT_FALSE(line(":compare --rtol 0.1")->ok());
}

}  // namespace
}  // namespace dyn
