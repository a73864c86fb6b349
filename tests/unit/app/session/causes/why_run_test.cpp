// :why of a run: sizes, elements and failures, back to the inputs, with the smallest change.
#include <gmock/gmock.h>

#include "app/session/views/cause_views.h"
#include "app/session/views/view_text.h"
#include "tests/support/session_fixture.h"

namespace dyn {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kKept = R"(fn @main(mask: Tensor[(b, s), i64], x: Tensor[(b, s, 2), f32]) {
  places = nonzero(greater(mask, i64[] 0))
  y = log(gather_nd(x, transpose(places) {perm = [1, 0]}))
  return y
}
)";

constexpr const char* kStops = R"(fn @main(x: Tensor[(n), f32], most: Tensor[(), i64]) {
  s, y = loop(most, _, f32[] 0.0, x) {carried = 1} body (i, s: Tensor[(), f32], x) {
    v = gather(x, i)
    return less(v, f32[] 2.5), s + v, v
  }
  return y
}
)";

constexpr const char* kAdds = R"(fn @main(x: Tensor[(n, 2), f32], y: Tensor[(m, 2), f32]) {
  z = concat(x, x) {axis = 0} + y
  return z
}
)";

class WhyRun : public test::SessionFixture {
 protected:
  const RunCauses& ask(const std::string& question) {
    outcome_ = line(":why " + question);
    static const RunCauses kNone;
    EXPECT_TRUE(outcome_->as<RunCauses>())
        << (outcome_->error ? outcome_->error->toString() : "another view");
    return outcome_->as<RunCauses>() ? *outcome_->as<RunCauses>() : kNone;
  }
  static std::vector<std::string> culprits(const RunCauses& causes) {
    std::vector<std::string> texts;
    for (const auto& culprit : causes.culprits) texts.push_back(culprit.text);
    return texts;
  }
  static std::vector<std::string> changes(const RunCauses& causes) {
    std::vector<std::string> texts;
    for (const auto& change : causes.changes) texts.push_back(change.text);
    return texts;
  }
  std::shared_ptr<const Outcome> outcome_;
};

TEST_F(WhyRun, ASizeThatAMaskDecidesNamesItsElements) {
  ASSERT_TRUE(loadText(kKept)->ok());
  const RunCauses& causes = ask("y.0 --input mask=[[1,1,0],[1,0,1]] --want 5");
  EXPECT_EQ(causes.answer, "4");
  EXPECT_THAT(culprits(causes),
              ElementsAre("4 of 6 elements of mask are not 0: [0,0] to [0,1], [1,0], [1,2]"));
  EXPECT_THAT(changes(causes), ElementsAre("mask[0,2] = 1 instead of 0"));
  EXPECT_EQ(causes.changes[0].verified, "by a run of the reference");
}

TEST_F(WhyRun, ASizeThatALoopDecidesNamesTheElementThatEndedIt) {
  ASSERT_TRUE(loadText(kStops)->ok());
  EXPECT_THAT(culprits(ask("y.0 --input x=[1,2,1,3,1,4,1] --input most=7")), Contains("x[3] is 3"));
  EXPECT_THAT(culprits(ask("y.0 --input x=[1,2,1,3,1,4,1] --input most=2")), ElementsAre("most is 2"));
  EXPECT_THAT(changes(ask("y.0 --input x=[1,2,1,3,1,4,1] --input most=7 --want 6")), SizeIs(1));
  EXPECT_THAT(changes(ask("y.0 --input x=[1,2,1,3,1,4,1] --input most=7 --want 2")), SizeIs(1));
}

TEST_F(WhyRun, TheFirstElementThatIsNotFiniteLeadsToItsOrigin) {
  ASSERT_TRUE(loadText(kKept)->ok());
  const RunCauses& causes = ask("y[nan] --input mask=[[1,1]] --input x=[[[1,2],[3,-4]]]");
  EXPECT_EQ(causes.answer, "NaN");
  EXPECT_THAT(causes.question, HasSubstr("y[1,1]"));
  EXPECT_THAT(culprits(causes), Contains("x[0,1,1] is -4"));
  EXPECT_THAT(causes.changes, SizeIs(1));
  EXPECT_EQ(ask("y[nan] --input mask=[[1,1]] --input x=[[[1,2],[3,4]]]").answer, "none");
}

TEST_F(WhyRun, AnElementHasASlice) {
  ASSERT_TRUE(loadText(kKept)->ok());
  EXPECT_THAT(culprits(ask("y[1,0] --input mask=[[1,0,1]] --input x=[[[1,2],[3,4],[5,6]]]")),
              ElementsAre("mask[0,2] is 1", "x[0,2,0] is 5"));
}

TEST_F(WhyRun, WrongQuestionsAreErrors) {
  ASSERT_TRUE(loadText(kKept)->ok());
  const std::string run = " --input mask=[[1,0]]";
  for (const char* question :
       {"y[9,0]", "y[0]", "y[0,0", "z[0,0]", "y.7", "y[a,0]", "y[0,0] --want 3", "y.0 --want -1"})
    EXPECT_TRUE(line(std::string(":why ") + question + run)->error) << question;
  EXPECT_TRUE(line(":why y.0 x.0 --run")->error);
}

TEST_F(WhyRun, SizesZeroAndOne) {
  ASSERT_TRUE(loadText(kKept)->ok());
  EXPECT_EQ(ask("y.0 --dim b=0 --dim s=3").answer, "0");
  const RunCauses& none = ask("y.0 --input mask=[[0]] --want 2");
  EXPECT_EQ(none.answer, "0");
  EXPECT_THAT(none.changes, IsEmpty());  // there is one element
  EXPECT_THAT(none.notes, Contains(HasSubstr("no change was found")));
}

TEST_F(WhyRun, ARunThatFailsNamesTheAxesAndTheNearestSizes) {
  if (!canRun()) GTEST_SKIP() << "needs code generation";
  ASSERT_TRUE(loadText(kAdds)->ok());
  EXPECT_FALSE(line(":run --dim n=3 --dim m=8")->ok());
  const RunCauses& causes = ask("failure");
  EXPECT_THAT(culprits(causes), ElementsAre("axis 0 of x is 3", "axis 0 of y is 8"));
  EXPECT_THAT(changes(causes), ElementsAre("n = 4 instead of 3"));
  EXPECT_EQ(causes.changes[0].verified, "by a run");
  EXPECT_TRUE(line(":run --dim n=4 --dim m=8")->ok());
  EXPECT_EQ(ask("failure").answer, "no");
  EXPECT_EQ(ask("z.0 --run").answer, "8");
}

TEST_F(WhyRun, AnIndexOutOfRangeNamesTheElementAndTheNearestOneThatFits) {
  if (!canRun()) GTEST_SKIP() << "needs code generation";
  ASSERT_TRUE(
      loadText("fn @main(t: Tensor[(5, 2), f32], i: Tensor[(n), i64]) { y = gather(t, i) return y }")->ok());
  const RunCauses& causes = ask("failure --input i=[1,4,90,2]");
  EXPECT_THAT(culprits(causes), ElementsAre("axis 0 of t is 5", "i[2] is 90"));
  EXPECT_THAT(changes(causes), ElementsAre("i[2] = 4 instead of 90"));
  EXPECT_THAT(changes(ask("failure --input i=[1,-9]")), ElementsAre("i[1] = -5 instead of -9"));
}

TEST_F(WhyRun, InputsThatDoNotAgreeAreNamed) {
  if (!canRun()) GTEST_SKIP() << "needs code generation";
  ASSERT_TRUE(loadText("fn @main(x: Tensor[(n), f32], y: Tensor[(n), f32]) { z = x + y return z }")->ok());
  const RunCauses& causes = ask("failure --input x=[1,2,3] --input y=[1,2]");
  EXPECT_THAT(culprits(causes), ElementsAre("axis 0 of y is 2", "axis 0 of x is 3"));
  EXPECT_THAT(changes(causes), ElementsAre("axis 0 of y = 3 instead of 2", "axis 0 of x = 2 instead of 3"));
}

}  // namespace
}  // namespace dyn
