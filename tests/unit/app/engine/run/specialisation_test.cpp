// Models whose ranks or axes are decided by their inputs: compiled when these are known, once for each value
// that occurs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/engine/run/run_result.h"
#include "app/session/session.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/frontends/onnx/proto_builder.h"

namespace dyn {
namespace {

using onnx::test::Msg;
using onnx::test::node;
using onnx::test::tensorType;
using onnx::test::valueInfo;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr int32_t kFloat = 1, kInt64 = 7;

class SpecialisationTest : public testing::Test {
 protected:
  SpecialisationTest() {
    session_.setListener([this](const Event& event) {
      if (event.kind == EventKind::log) said_ += event.text + "\n";
    });
  }

  // A model of these nodes, from inputs to output y.
  void load(const Msg& nodesAndInputs) {
    const Msg graph = Msg().sub(2, "g").sub(12, valueInfo("y", Msg()));
    const std::string path =
        folder_.write("m.onnx", onnx::test::model(Msg{graph.bytes + nodesAndInputs.bytes}).bytes);
    auto outcome = line(":load " + path);
    ASSERT_TRUE(outcome->ok()) << outcome->error->message;
  }
  std::shared_ptr<const Outcome> line(const std::string& text) {
    Result<Command> command = parseCommand(text);
    EXPECT_TRUE(command.ok()) << text;
    return session_.execute(command.ok() ? *command : Command::of(CommandId::help));
  }
  bool canRun() { return line("1 + 2")->ok(); }
  // The shape of y for these inputs.
  std::vector<int64_t> shapeFor(const std::string& inputs, bool compiles) {
    const size_t saidBefore = said_.size();
    auto outcome = line(":run " + inputs);
    EXPECT_TRUE(outcome->ok()) << (outcome->ok() ? "" : outcome->error->message);
    if (!outcome->ok()) return {};
    const RunResult* run = outcome->as<RunResult>();
    EXPECT_EQ(said_.find("compiled for", saidBefore) != std::string::npos, compiles) << inputs;
    return run->outputs[0].value.tensor().shape();
  }

  test::TemporaryFolder folder_;
  std::string said_;
  Session session_{SessionOptions{.threadCount = 1}};
};

using Shape = std::vector<int64_t>;

// y = relu(squeeze(x, axes))
Msg squeezeModel() {
  return Msg()
      .sub(1, node("Squeeze", {"x", "axes"}, {"s"}))
      .sub(1, node("Relu", {"s"}, {"y"}))
      .sub(11, valueInfo("x", tensorType(kFloat, {"a", "b", "c"})))
      .sub(11, valueInfo("axes", tensorType(kInt64, {"k"})));
}

TEST_F(SpecialisationTest, AxesGivenAsAnInputAreCompiledForOnce) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  load(squeezeModel());
  EXPECT_EQ(shapeFor("--input x=zeros --input axes=[0] --dim a=1 --dim b=3 --dim c=5", true), (Shape{3, 5}));
  EXPECT_THAT(said_, HasSubstr("compiled for axes = [0]:"));
  // Other sizes: the same program.
  EXPECT_EQ(shapeFor("--input x=zeros --input axes=[0] --dim a=1 --dim b=7 --dim c=1", false), (Shape{7, 1}));
  EXPECT_EQ(shapeFor("--input x=zeros --input axes=[-1,1] --dim a=2 --dim b=1 --dim c=1", true), (Shape{2}));
  EXPECT_EQ(shapeFor("--input x=zeros --input axes=[0] --dim a=1 --dim b=2 --dim c=2", false), (Shape{2, 2}));
}

// Compiled when it is first met, and kept: the sixteen used last.
TEST_F(SpecialisationTest, M18_WhatAModelLeavesOpenIsCompiledForWhenItIsMetAndKeptInBounds) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  load(squeezeModel());
  const std::string sizes = "--input x=zeros --dim a=1 --dim b=1 --dim c=1 --input axes=";
  std::vector<std::string> axes;  // each way to name one axis or two of three
  for (int i = -3; i < 3; ++i) {
    axes.push_back("[" + std::to_string(i) + "]");
    for (int j = i + 1; j < 3; ++j)
      if ((i + 3) % 3 != (j + 3) % 3) axes.push_back("[" + std::to_string(i) + "," + std::to_string(j) + "]");
  }
  ASSERT_GT(axes.size(), 17u);
  for (size_t i = 0; i < 17; ++i) shapeFor(sizes + axes[i], true);
  shapeFor(sizes + axes[16], false);
  shapeFor(sizes + axes[1], false);
  shapeFor(sizes + axes[0], true);
}

// An input whose initializer is its default need not be given; another value makes a program for it, which is
// kept.
TEST_F(SpecialisationTest, DefaultsMayBeOverridden) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  const Msg factor = Msg().num(1, 1).num(2, kFloat).packedFixed<float>(4, {3}).sub(8, "w");
  load(Msg()
           .sub(1, node("Mul", {"x", "w"}, {"y"}))
           .sub(5, factor)
           .sub(11, valueInfo("x", tensorType(kFloat, {"n"})))
           .sub(11, valueInfo("w", tensorType(kFloat, {"1"}))));
  const auto second = [&](const std::string& inputs) {
    auto outcome = line(":run --input x=[1,2] " + inputs);
    EXPECT_TRUE(outcome->ok()) << (outcome->ok() ? "" : outcome->error->message);
    return outcome->ok() ? outcome->as<RunResult>()->outputs[0].value.tensor().realAt(1) : 0;
  };
  EXPECT_EQ(second(""), 6);
  EXPECT_EQ(second("--input w=[5]"), 10);
  EXPECT_THAT(said_, AllOf(HasSubstr("compiled for w = "), HasSubstr("[5]: given in place of a default")));
  EXPECT_EQ(second("--input w=[7]"), 14);
  EXPECT_EQ(second(""), 6);
  said_.clear();
  EXPECT_EQ(second("--input w=[5]"), 10);
  EXPECT_EQ(said_, "");
  for (const char* wrong : {"w=[1,2]", "w=[[1]]", "v=[1]"}) {
    auto outcome = line(":run --input x=[1,2] --input " + std::string(wrong));
    EXPECT_FALSE(outcome->ok()) << wrong;
  }
}

TEST_F(SpecialisationTest, AnInputThatDecidesMustBeGiven) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  load(squeezeModel());
  auto outcome = line(":run --dim a=1 --dim b=1 --dim c=1 --dim k=1");
  ASSERT_FALSE(outcome->ok());
  EXPECT_EQ(outcome->error->id, DiagnosticId::inputMissing);
  EXPECT_THAT(outcome->error->message, HasSubstr("axes"));
}

// The axes are computed from an input: the input is what is fixed.
TEST_F(SpecialisationTest, ValuesAreTracedToTheInputs) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  load(Msg()
           .sub(1, node("Neg", {"p"}, {"axes"}))
           .sub(1, node("Unsqueeze", {"x", "axes"}, {"u"}))
           .sub(1, node("Relu", {"u"}, {"y"}))
           .sub(11, valueInfo("x", tensorType(kFloat, {"n"})))
           .sub(11, valueInfo("p", tensorType(kInt64, {"1"}))));
  EXPECT_EQ(shapeFor("--input x=zeros --input p=[1] --dim n=3", true), (Shape{3, 1}));
  EXPECT_EQ(shapeFor("--input x=zeros --input p=[2] --dim n=5", true), (Shape{1, 5}));
}

// The length of the shape decides the rank, its elements do not.
TEST_F(SpecialisationTest, ShapesOfUnknownLengthAreCompiledForByLength) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  load(Msg()
           .sub(1, node("Reshape", {"x", "s"}, {"r"}))
           .sub(1, node("Relu", {"r"}, {"y"}))
           .sub(11, valueInfo("x", tensorType(kFloat, {"n"})))
           .sub(11, valueInfo("s", tensorType(kInt64, {"k"}))));
  EXPECT_EQ(shapeFor("--input x=zeros --input s=[2,3] --dim n=6", true), (Shape{2, 3}));
  EXPECT_EQ(shapeFor("--input x=zeros --input s=[5,1] --dim n=5", false), (Shape{5, 1}));
  EXPECT_EQ(shapeFor("--input x=zeros --input s=[1,5,1] --dim n=5", true), (Shape{1, 5, 1}));
  EXPECT_THAT(said_, HasSubstr("shape of s = [2]"));
}

// Axes of size 1 decide the rank, other sizes do not.
TEST_F(SpecialisationTest, SqueezesWithoutAxesAreCompiledForByTheAxesOfSizeOne) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  load(Msg()
           .sub(1, node("Squeeze", {"x"}, {"s"}))
           .sub(1, node("Relu", {"s"}, {"y"}))
           .sub(11, valueInfo("x", tensorType(kFloat, {"a", "b", "1"}))));
  EXPECT_EQ(shapeFor("--dim a=3 --dim b=5", true), (Shape{3, 5}));
  EXPECT_THAT(said_, HasSubstr("compiled for sizes of x = [2.., 2.., 1]:"));
  EXPECT_EQ(shapeFor("--dim a=2 --dim b=37", false), (Shape{2, 37}));
  said_.clear();
  EXPECT_EQ(shapeFor("--input x=zeros --dim a=3 --dim b=1", true), (Shape{3}));
  EXPECT_THAT(said_, HasSubstr("compiled for sizes of x = [2.., 1, 1]:"));
  EXPECT_EQ(shapeFor("--dim a=1 --dim b=1", true), (Shape{}));
  EXPECT_EQ(shapeFor("--dim a=0 --dim b=7", true), (Shape{0, 7}));
  said_.clear();
  EXPECT_EQ(shapeFor("--dim a=7 --dim b=3", false), (Shape{7, 3}));
  EXPECT_THAT(said_, Not(HasSubstr("compiled for")));
}

// The axes of size 1 of the inputs do not say whether n - 3 rows are one.
TEST_F(SpecialisationTest, OtherRanksOfShapesAreCompiledForByShape) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  load(Msg()
           .sub(1, node("Slice", {"x", "from", "to"}, {"p"}))
           .sub(1, node("Squeeze", {"p"}, {"s"}))
           .sub(1, node("Relu", {"s"}, {"y"}))
           .sub(5, Msg().num(1, 1).num(2, kInt64).packed(7, {3}).sub(8, "from"))
           .sub(5, Msg().num(1, 1).num(2, kInt64).packed(7, {99}).sub(8, "to"))
           .sub(11, valueInfo("x", tensorType(kFloat, {"n", "2"}))));
  EXPECT_EQ(shapeFor("--dim n=8", true), (Shape{5, 2}));
  EXPECT_THAT(said_, HasSubstr("compiled for shape of x = [8, 2]:"));
  EXPECT_EQ(shapeFor("--dim n=4", true), (Shape{2}));
}

TEST_F(SpecialisationTest, InputsWithoutRankAreCompiledForByRank) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  load(Msg().sub(1, node("Relu", {"x"}, {"y"})).sub(11, valueInfo("x", Msg().sub(1, Msg().num(1, kFloat)))));
  EXPECT_EQ(shapeFor("--input x=[1.0,2.0,3.0]", true), (Shape{3}));
  EXPECT_EQ(shapeFor("--input x=[1.0]", false), (Shape{1}));
  EXPECT_EQ(shapeFor("--input x=[[1.0,2.0]]", true), (Shape{1, 2}));
  EXPECT_THAT(said_, HasSubstr("rank of x = 2"));
  auto outcome = line(":run");
  ASSERT_FALSE(outcome->ok());
  EXPECT_EQ(outcome->error->id, DiagnosticId::inputMissing);
}

// Where the rank does not depend on them, axes that are values need no second program.
TEST_F(SpecialisationTest, AxesOfReductionsThatKeepDimsStayValues) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  load(Msg()
           .sub(1, node("ReduceSum", {"x", "axes"}, {"y"}))
           .sub(11, valueInfo("x", tensorType(kFloat, {"a", "b"})))
           .sub(11, valueInfo("axes", tensorType(kInt64, {"1"}))));
  EXPECT_EQ(shapeFor("--input x=zeros --input axes=[0] --dim a=2 --dim b=3", false), (Shape{1, 3}));
  EXPECT_EQ(shapeFor("--input x=zeros --input axes=[-1] --dim a=2 --dim b=3", false), (Shape{2, 1}));
}

}  // namespace
}  // namespace dyn
