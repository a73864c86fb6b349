// Recurrences over padded sequences without the steps behind the end of each (pass `pack_sequences`): the
// same results as with them, for any lengths; and loops that are none of these.
#include <gmock/gmock.h>

#include <array>
#include <limits>

#include "compiler/ops/op_table.h"
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

using test::Compiled;
using test::expectClose;
using test::randomTensor;
using testing::HasSubstr;

// What a body says, to be replaced for a test.
struct Body {
  std::string step = "%i";
  std::string state = "where(%runs, %n, %h)", stacked = "where(%runs, %n, f32[] 0)";
  std::string cell = "tanh(add(%p, matmul(%h, %r)))";
};

const Body kForward{.step = "%i"};
const Body kBackward{.step = "sub(%last, %i)"};

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

// A loop over %IN [s, b, 6], which stacks %NAME.
std::string loopOver(const std::string& in, const std::string& name, const Body& body) {
  const std::string step = body.step == "%i" ? "" : "    %t = " + body.step + "\n";
  std::string text =
      "  %g_N = add(matmul(%IN, %w), %bias)\n"
      "  %last_N, %STACKED = loop(%steps, _, %h0, %g_N, %lengths, %r, %end) {carried = 1} body (%i: "
      "Tensor[(), i64], %h: Tensor[(b, 6), f32], %g: Tensor[(s, b, 6), f32], %lengths: "
      "Tensor[(b), i64], %r: Tensor[(6, 6), f32], %last: Tensor[(), i64]) {\n" +
      step +
      "    %p = gather(%g, STEP) {axis = 0}\n"
      "    %runs = unsqueeze(less(STEP, %lengths), i64[1] [1])\n"
      "    %n = " +
      body.cell + "\n    %state = " + body.state + "\n    %stacked = " + body.stacked +
      "\n    return true, %state, %stacked\n  }\n";
  const bool backward = body.step != "%i";
  if (backward)
    text += "  %N = slice(%STACKED, i64[1] [-1], i64[1] [-9223372036854775807], i64[1] [0], i64[1] [-1])\n";
  text = replaced(text, "STEP", backward ? "%t" : "%i");
  text = replaced(text, "%STACKED", backward ? "%turned_N" : "%N");
  return replaced(replaced(text, "%IN", "%" + in), "N", name);
}

std::string unpadRecurrenceProgram(const std::string& loops, const std::string& results) {
  return "fn @main(%x: Tensor[(s, b, 6), f32], %lengths: Tensor[(b), i64], %h0: Tensor[(b, 6), f32], "
         "%w: Tensor[(6, 6), f32], %r: Tensor[(6, 6), f32], %bias: Tensor[(6), f32]) {\n"
         "  %steps = gather(shape(%x), i64[] 0)\n  %end = sub(%steps, i64[] 1)\n" +
         loops + "  return " + results + "\n}";
}

std::unique_ptr<Compiled> unpadRecurrenceCompiledOf(const std::string& text, const CompileOptions& options) {
  static std::vector<std::unique_ptr<IrContext>> contexts;
  contexts.push_back(std::make_unique<IrContext>());
  Result<Module> parsed = test::parseText(*contexts.back(), text);
  EXPECT_TRUE(parsed.ok()) << parsed.error().toString() << text;
  if (!parsed.ok()) return nullptr;
  Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed, options);
  EXPECT_TRUE(compiled.ok()) << compiled.error().toString();
  return compiled.ok() ? std::move(*compiled) : nullptr;
}

int64_t recurrencesIn(const Compiled& compiled) {
  const auto& counters = compiled.model->trace.find("pack_sequences")->counters;
  const auto found = counters.find("recurrences");
  return found == counters.end() ? 0 : found->second;
}

std::string unpadRecurrenceRemarksOf(const Compiled& compiled) {
  std::string all;
  for (const std::string& remark : compiled.model->trace.find("pack_sequences")->remarks)
    all += remark + "\n";
  return all;
}

std::vector<HostTensor> unpadRecurrenceInputsFor(int64_t s, int64_t b, uint32_t seed) {
  std::mt19937 random(seed);
  HostTensor lengths = *HostTensor::create(Dtype::i64, {b});
  for (int64_t i = 0; i < b; ++i)
    lengths.setInt(i, seed % 5 == 0 ? s : static_cast<int64_t>(random() % static_cast<uint64_t>(s + 1)));
  return {randomTensor(Dtype::f32, {s, b, 6}, seed), std::move(lengths),
          randomTensor(Dtype::f32, {b, 6}, 2),       randomTensor(Dtype::f32, {6, 6}, 3),
          randomTensor(Dtype::f32, {6, 6}, 4),       randomTensor(Dtype::f32, {6}, 5)};
}

void expectRecurrenceAsPadded(const std::string& text, int64_t recurrences) {
  CompileOptions without;
  without.passes = "-pack_sequences";
  const auto kept = unpadRecurrenceCompiledOf(text, {}), padded = unpadRecurrenceCompiledOf(text, without);
  ASSERT_TRUE(kept && padded);
  EXPECT_EQ(recurrencesIn(*kept), recurrences) << unpadRecurrenceRemarksOf(*kept) << text;
  for (const auto& [s, b] : std::vector<std::pair<int64_t, int64_t>>{
           {1, 1}, {7, 1}, {5, 3}, {1, 5}, {37, 2}, {13, 7}, {3, 0}, {0, 3}, {0, 0}})
    for (uint32_t seed = 0; seed < 6; ++seed) {
      const std::vector<HostTensor> inputs = unpadRecurrenceInputsFor(s, b, seed);
      Result<std::vector<HostTensor>> actual = kept->run(inputs), expected = padded->run(inputs);
      const std::string what = "s = " + std::to_string(s) + ", b = " + std::to_string(b);
      ASSERT_TRUE(actual.ok() && expected.ok()) << what << (actual.ok() ? "" : actual.error().toString())
                                                << (expected.ok() ? "" : expected.error().toString());
      for (size_t i = 0; i < actual->size(); ++i) expectClose((*actual)[i], (*expected)[i], what, 1e-5);
    }
}

TEST(PackSequencesRecurrence, ForwardAndBackward) {
  expectRecurrenceAsPadded(unpadRecurrenceProgram(loopOver("x", "y", kForward), "%y, %last_y"), 1);
  expectRecurrenceAsPadded(unpadRecurrenceProgram(loopOver("x", "y", kBackward), "%y, %last_y"), 1);
  expectRecurrenceAsPadded(unpadRecurrenceProgram(loopOver("x", "y", kForward), "%last_y"), 1);
}

// Both directions of one order, and a layer above them that sees nothing of the padding either.
TEST(PackSequencesRecurrence, Layers) {
  const std::string loops = loopOver("x", "y", kForward) + loopOver("x", "z", kBackward) +
                            "  %both = add(mul(%y, %z), %y)\n" + loopOver("y", "top", kForward);
  expectRecurrenceAsPadded(unpadRecurrenceProgram(loops, "%top, %last_top, %last_z, %both"), 3);
}

// A result that is 0 behind the end where the loop makes it so: the mean over it, its first step, the whole.
TEST(PackSequencesRecurrence, WhatIsZeroIsSeenByAnybody) {
  const std::string loops = loopOver("x", "y", kForward) +
                            "  %turned = transpose(%y) {perm = [1, 0, 2]}\n"
                            "  %sum = reduce_sum(%turned, i64[1] [1])\n"
                            "  %most = reduce_max(concat(%y, %y) {axis = 2}, i64[1] [2])\n";
  expectRecurrenceAsPadded(unpadRecurrenceProgram(loops, "%sum, %most, %turned"), 1);
}

TEST(PackSequencesRecurrence, StatesThatAreNotStacked) {
  Body two = kForward;
  two.stacked = "where(%runs, mul(%n, f32[] 2), f32[] 0)";
  expectRecurrenceAsPadded(unpadRecurrenceProgram(loopOver("x", "y", two), "%y, %last_y"), 1);
}

// With constant weights, as files have them: a cell that the kernel of all steps knows.
Body ofKernel(Body body) {
  std::string weights;
  for (int i = 0; i < 36; ++i) weights += (i == 0 ? "" : ", ") + std::to_string(0.1 * (i * 7 % 11 - 5));
  body.cell = "tanh(add(%p, matmul(%h, f32[6, 6] [" + weights + "])))";
  return body;
}

void expectPaddingUnread(const Body& body) {
  const auto kept =
      unpadRecurrenceCompiledOf(unpadRecurrenceProgram(loopOver("x", "y", body), "%y, %last_y"), {});
  ASSERT_TRUE(kept);
  std::vector<HostTensor> clean = unpadRecurrenceInputsFor(9, 4, 1),
                          poisoned = unpadRecurrenceInputsFor(9, 4, 1);
  for (int64_t t = 0; t < 9; ++t)
    for (int64_t b = 0; b < 4; ++b)
      for (int64_t d = 0; d < 6 && t >= clean[1].intAt(b); ++d)
        poisoned[0].setReal((t * 4 + b) * 6 + d, std::numeric_limits<double>::quiet_NaN());
  Result<std::vector<HostTensor>> actual = kept->run(poisoned), expected = kept->run(clean);
  ASSERT_TRUE(actual.ok() && expected.ok());
  for (size_t i = 0; i < actual->size(); ++i)
    for (int64_t k = 0; k < (*actual)[i].elementCount(); ++k)
      ASSERT_EQ((*actual)[i].realAt(k), (*expected)[i].realAt(k));
}

// Infinities and NaN behind the end of a sequence reach nothing, and its products are not computed.
TEST(PackSequencesRecurrence, NaNsOfPaddingReachNoResult) {
  for (const Body& body : {kForward, kBackward, ofKernel(kForward), ofKernel(kBackward)})
    expectPaddingUnread(body);
}

int64_t kernelsIn(const Compiled& compiled) {
  const auto& counters = compiled.model->trace.find("recurrent")->counters;
  const auto found = counters.find("recurrences");
  return found == counters.end() ? 0 : found->second;
}

// The kernel leaves out the steps behind each end: there is no second form of the loop beside it.
TEST(PackSequencesRecurrence, KernelsStayKernels) {
  const Body forward = ofKernel(kForward), backward = ofKernel(kBackward);
  const std::string layers = loopOver("x", "y", forward) + loopOver("x", "z", backward) +
                             "  %both = add(mul(%y, %z), %y)\n" + loopOver("both", "top", backward);
  for (const std::string& text : {unpadRecurrenceProgram(loopOver("x", "y", forward), "%y, %last_y"),
                                  unpadRecurrenceProgram(loopOver("x", "y", backward), "%y, %last_y"),
                                  unpadRecurrenceProgram(loopOver("x", "y", backward), "%last_y"),
                                  unpadRecurrenceProgram(layers, "%top, %last_top, %last_z, %both")}) {
    const int64_t loops = text == unpadRecurrenceProgram(layers, "%top, %last_top, %last_z, %both") ? 3 : 1;
    expectRecurrenceAsPadded(text, loops);
    const auto compiled = unpadRecurrenceCompiledOf(text, {});
    EXPECT_EQ(kernelsIn(*compiled), loops);
    int64_t choices = 0;
    for (const Op* op : compiled->model->trace.find("recurrent")->after.main()->ops)
      choices += op->def == &ops::ifOp;
    EXPECT_EQ(choices, 0);
  }
}

TEST(PackSequencesRecurrence, SaysWhyNot) {
  const auto refused = [](const Body& body, const std::string& results = "%y, %last_y") {
    const auto compiled =
        unpadRecurrenceCompiledOf(unpadRecurrenceProgram(loopOver("x", "y", body), results), {});
    EXPECT_EQ(recurrencesIn(*compiled), 0);
    return unpadRecurrenceRemarksOf(*compiled);
  };
  Body other = kForward;
  other.stacked = "where(%runs, %n, %h)";
  EXPECT_THAT(refused(other),
              HasSubstr("loop %last_y: its stacked result is not 0 behind the end of a sequence"));
  EXPECT_THAT(unpadRecurrenceRemarksOf(*unpadRecurrenceCompiledOf(
                  unpadRecurrenceProgram(loopOver("x", "y", kBackward), "%turned_y"), {})),
              HasSubstr("its stacked result is read in the order of its steps"));
  other = kForward;
  other.cell = "add(%p, mul(%h, cast(%i) {to = f32}))";
  EXPECT_THAT(refused(other), HasSubstr("it depends on the number of the step"));
  other = kForward;
  other.cell = "sub(%p, reduce_max(%h, i64[1] [0]))";
  EXPECT_THAT(refused(other), HasSubstr("reads other rows than its own"));
}

}  // namespace
}  // namespace dyn
