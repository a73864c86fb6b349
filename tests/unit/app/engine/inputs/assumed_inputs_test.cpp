// Inputs that nobody gives: lengths and masks keep all, what is no such thing stays random and small.
#include "app/engine/inputs/assumed_inputs.h"

#include <gmock/gmock.h>

#include "app/engine/inputs/padded_sequences.h"
#include "app/engine/run/run_result.h"
#include "tests/support/session_fixture.h"

namespace dyn {
namespace {

using testing::Each;
using testing::HasSubstr;

class AssumedInputs : public test::SessionFixture {
 protected:
  AssumedInputs() {
    session_.setListener([this](const Event& event) {
      if (event.kind == EventKind::log) said_ += event.text + "\n";
    });
  }
  // A model that shows its inputs as they are, at two sequences of seven positions.
  void run(const std::string& inputs, const std::string& results, const std::string& arguments = "") {
    ASSERT_TRUE(loadText("fn @main(" + inputs + ") { return " + results + " }")->ok());
    said_.clear();
    outcome_ = line(":run --dim b=2 --dim s=7 " + arguments);
    ASSERT_TRUE(outcome_->ok()) << outcome_->error->message;
  }
  std::vector<int64_t> elementsOf(size_t input) const {
    const HostTensor& tensor = outcome_->as<RunResult>()->inputs[input].value.tensor();
    std::vector<int64_t> elements;
    for (int64_t i = 0; i < tensor.elementCount(); ++i) elements.push_back(tensor.intAt(i));
    return elements;
  }
  const std::vector<std::string>& random() const { return outcome_->as<RunResult>()->randomInputs; }
  std::shared_ptr<const Outcome> outcome_;
  std::string said_;
};

TEST_F(AssumedInputs, LengthsAreThatOfTheSequence) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  run("%x: Tensor[(b, s, 4), f32], %lengths: Tensor[(b), i64]", "relu(x), lengths + 0");
  EXPECT_THAT(elementsOf(1), testing::ElementsAre(7, 7));
  EXPECT_THAT(random(), testing::ElementsAre("x"));
  EXPECT_THAT(said_, HasSubstr("input lengths: 7 for each sequence, so that all is kept"));
  // As recurrences have them, and with channels in front.
  run("%x: Tensor[(s, b, 4), f32], %seq_lens: Tensor[(b), i32]", "relu(x), seq_lens + 0");
  EXPECT_THAT(elementsOf(1), testing::ElementsAre(7, 7));
  run("%x: Tensor[(b, 80, s), f32], %xLen: Tensor[(b), i32]", "relu(x), xLen + 0");
  EXPECT_THAT(elementsOf(1), testing::ElementsAre(7, 7));
  // Of two inputs the shorter one.
  run("%x: Tensor[(b, s, 4), f32], %y: Tensor[(b, 3), f32], %lengths: Tensor[(b), i64]",
      "relu(x), relu(y), lengths + 0");
  EXPECT_THAT(elementsOf(2), testing::ElementsAre(3, 3));
}

TEST_F(AssumedInputs, MasksKeepAll) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  run("%ids: Tensor[(b, s), i64], %attention_mask: Tensor[(b, s), i64]", "ids + 0, attention_mask + 0");
  EXPECT_THAT(elementsOf(1), Each(1));
  EXPECT_THAT(random(), testing::ElementsAre("ids"));
  EXPECT_THAT(said_, HasSubstr("input attention_mask: ones, so that all is kept"));
  // One over positions that no other input has, and one that marks the padding.
  run("%ids: Tensor[(b, s), i64], %mask: Tensor[(b, s + 2), f32]", "ids + 0, mask + 0.0");
  EXPECT_THAT(outcome_->as<RunResult>()->inputs[1].value.tensor().realAt(17), 1);
  run("%x: Tensor[(b, s), f32], %key_padding_mask: Tensor[(b, s), bool]",
      "relu(x), logical_not(key_padding_mask)");
  EXPECT_THAT(elementsOf(1), Each(0));
}

TEST_F(AssumedInputs, IndicesStayRandomAndSmall) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  run("%x: Tensor[(b, s), f32], %labels: Tensor[(b), i64], %positions: Tensor[(b, s), i64]",
      "relu(x), labels + 0, positions + 0");
  EXPECT_THAT(random(), testing::ElementsAre("x", "labels", "positions"));
  for (size_t input : {size_t{1}, size_t{2}}) EXPECT_THAT(elementsOf(input), Each(testing::AnyOf(0, 1)));
}

TEST_F(AssumedInputs, WhatIsGivenIsTaken) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  run("%x: Tensor[(b, s, 4), f32], %lengths: Tensor[(b), i64]", "relu(x), lengths + 0",
      "--input lengths=random");
  EXPECT_THAT(elementsOf(1), Each(testing::AnyOf(0, 1)));
  EXPECT_EQ(said_.find("so that all is kept"), std::string::npos) << said_;
  run("%x: Tensor[(b, s, 4), f32], %lengths: Tensor[(b), i64]", "relu(x), lengths + 0",
      "--input lengths=[3,1]");
  EXPECT_THAT(elementsOf(1), testing::ElementsAre(3, 1));
}

// The rule itself: what each kind of knowledge lets an input say.
TEST(SequencePorts, WhatSaysHowLongSequencesAre) {
  using enum PortElements;
  const PortShape x{"x", plain, {"b", "s", "64"}}, turned{"x", plain, {"s", "b", "64"}};
  struct Row {
    PortShape other;
    const PortShape* input;
    bool named, given, nothing;
  };
  const Row rows[] = {
      {{"attention_mask", whole, {"b", "s"}}, &x, true, true, true},
      {{"keep", plain, {"b", "s"}}, &x, true, false, false},
      {{"mask", other, {"b", "s"}}, &x, false, false, false},
      {{"mask", whole, {"s", "b"}}, &x, false, false, false},
      {{"lengths", whole, {"b"}}, &x, true, true, true},
      {{"lengths", whole, {"b"}}, &turned, true, true, true},
      {{"labels", whole, {"b"}}, &x, true, true, false},
      {{"lengths", plain, {"b"}}, &x, false, false, false},
      {{"lengths", whole, {"c"}}, &x, false, false, false},
      {{"lengths", whole, {"b", "1", "1"}}, &x, false, false, false},
  };
  for (const Row& row : rows) {
    const std::string what = row.other.name + " of rank " + std::to_string(row.other.dims.size());
    EXPECT_EQ(sequencesBy(*row.input, row.other, LengthsKnown::named).has_value(), row.named) << what;
    EXPECT_EQ(sequencesBy(*row.input, row.other, LengthsKnown::given).has_value(), row.given) << what;
    EXPECT_EQ(sequencesBy(*row.input, row.other, LengthsKnown::nothing).has_value(), row.nothing) << what;
  }
  EXPECT_EQ(sequencesBy(turned, rows[5].other, LengthsKnown::given), SequenceOrder::batchSecond);
}

}  // namespace
}  // namespace dyn
