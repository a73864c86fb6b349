// GreedySearch and BeamSearch of com.microsoft: which nodes are taken, and what they give for a decoder whose
// next word depends on the last one alone. conformance.search_models compares with onnxruntime.
#include "frontends/onnx/import/search_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/infer/infer.h"
#include "compiler/ir/verifier.h"
#include "compiler/reference/reference_interpreter.h"
#include "frontends/onnx/import/importer.h"
#include "frontends/onnx/import/search_steps.h"
#include "tests/unit/frontends/onnx/node_fields.h"

namespace dyn::onnx::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kFloat = 1, kInt32 = 6;

// After word i comes j with the logit chances[i][j]. Three words and the end, 3.
constexpr float kChances[4][4] = {{0, 2, 1, -3}, {1, -1, 3, 0}, {0.5f, 1, -2, 2}, {0, 0, 0, 0}};

Msg table() {
  std::string bytes(reinterpret_cast<const char*>(kChances), sizeof kChances);
  return Msg().num(1, 4).num(1, 4).num(2, kFloat).sub(8, "chances").sub(9, bytes);
}

struct Form {
  std::initializer_list<const char*> cache = {"2", "rows", "1", "past", "2"};
  const char* first = "input_ids";
};
Msg decoder(const Form& form = {}) {
  return Msg()
      .sub(1, node("Gather", {"chances", form.first}, {"logits"}))
      .sub(1, node("Cast", {form.first}, {"real"}) + intAttribute("to", kFloat))
      .sub(1, node("Unsqueeze", {"real", "axes"}, {"one"}))
      .sub(1, node("Concat", {"one", "one"}, {"two"}) + intAttribute("axis", 0))
      .sub(1, node("Concat", {"two", "two"}, {"new"}) + intAttribute("axis", 4))
      .sub(1, node("Concat", {"past_0", "new"}, {"present_0"}) + intAttribute("axis", 3))
      .sub(2, "decoder")
      .sub(5, table())
      .sub(5, Msg().num(1, 3).num(2, 7).sub(8, "axes").packed(7, std::initializer_list<int64_t>{0, 2, 4}))
      .sub(11, valueInfo(form.first, tensorType(kInt32, {"rows", "seq"})))
      .sub(11, valueInfo("position_ids", tensorType(kInt32, {"rows", "seq"})))
      .sub(11, valueInfo("attention_mask", tensorType(kInt32, {"rows", "total"})))
      .sub(11, valueInfo("past_0", tensorType(kFloat, form.cache)))
      .sub(12, valueInfo("logits", Msg()))
      .sub(12, valueInfo("present_0", Msg()));
}

Msg search(const char* kind, std::initializer_list<const char*> in, std::initializer_list<const char*> out,
           const Msg& more) {
  return node(kind, in, out).sub(7, "com.microsoft") + intAttribute("eos_token_id", 3) +
         intAttribute("pad_token_id", 0) + more;
}
Msg modelOf(const Msg& search, std::initializer_list<const char*> outputs) {
  Msg graph =
      Msg().sub(1, search).sub(2, "g").sub(11, valueInfo("ids", tensorType(kInt32, {"batch", "seq"})));
  for (const char* name : {"most", "beams", "returned"})
    graph.sub(11, valueInfo(name, tensorType(kInt32, {})));
  for (const char* name : outputs) graph.sub(12, valueInfo(name, Msg()));
  return Msg()
      .num(1, 8)
      .sub(8, Msg().num(2, 17))
      .sub(8, Msg().sub(1, "com.microsoft").num(2, 1))
      .sub(7, graph);
}
const Msg kDecoder = graphAttribute("decoder", decoder());
Msg greedy(const Msg& more = kDecoder) { return search("GreedySearch", {"ids", "most"}, {"y"}, more); }
Msg beam(std::initializer_list<const char*> outputs, const Msg& more = kDecoder) {
  return search("BeamSearch", {"ids", "most", "", "beams", "returned"}, outputs, more);
}

Result<ImportResult> importSearch(IrContext& ir, const Msg& model) {
  return importModel(ir, MappedFile::fromBytes(model.bytes, "test.onnx"), {});
}
std::string searchRefusal(const Msg& node) {
  IrContext ir;
  const Result<ImportResult> imported = importSearch(ir, modelOf(node, {"y"}));
  return imported.ok() ? "" : imported.error().toString();
}

std::vector<HostTensor> runSearch(const Msg& model, const HostTensor& ids, int64_t most, int64_t beams = 1,
                                  int64_t returned = 1) {
  IrContext ir;
  Result<ImportResult> imported = importSearch(ir, model);
  EXPECT_TRUE(imported.ok()) << imported.error().toString();
  if (!imported.ok()) return {};
  EXPECT_TRUE(imported->warnings.empty()) << imported->warnings[0].toString();
  Result<InferredModule> typed = inferTypes(imported->module);
  EXPECT_TRUE(typed.ok()) << typed.error().toString();
  if (!typed.ok()) return {};
  for (const Diagnostic& fault : verify(typed->module)) ADD_FAILURE() << fault.toString();
  const auto scalar = [](int64_t value) { return Value(HostTensor::scalarInt(Dtype::i32, value)); };
  Result<std::vector<Value>> results =
      interpret(typed->module, {Value(ids), scalar(most), scalar(beams), scalar(returned)}, {});
  EXPECT_TRUE(results.ok()) << results.error().toString();
  std::vector<HostTensor> tensors;
  if (results.ok())
    for (const Value& value : *results) tensors.push_back(value.tensor());
  return tensors;
}

HostTensor idsOf(std::vector<int64_t> values, int64_t rows) {
  const auto columns = static_cast<int64_t>(values.size()) / rows;
  return HostTensor::vectorInt(Dtype::i32, values).reshaped({rows, columns});
}
std::vector<int64_t> integersOf(const HostTensor& tensor) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < tensor.elementCount(); ++i) values.push_back(tensor.intAt(i));
  return values;
}

TEST(SearchGraph, TheStepsAreWellFormed) {
  const Result<text::OperatorFile> steps = searchSteps();
  ASSERT_TRUE(steps.ok()) << steps.error().toString();
}

// 0 is followed by 1, that by 2, that by the end: padding from there on.
TEST(SearchGraph, GreedyTakesTheLikeliestWordUntilTheEnd) {
  const std::vector<HostTensor> results = runSearch(modelOf(greedy(), {"y"}), idsOf({2, 0, 0, 1}, 2), 6);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].dtype(), Dtype::i32);
  EXPECT_THAT(results[0].shape(), ElementsAre(2, 6));
  EXPECT_THAT(integersOf(results[0]), ElementsAre(2, 0, 1, 2, 0, 0, 0, 1, 2, 0, 0, 0));
}

TEST(SearchGraph, ADecoderOfItsOwnForTheFirstStepIsTaken) {
  const Msg both = kDecoder + graphAttribute("init_decoder", decoder());
  EXPECT_EQ(integersOf(runSearch(modelOf(greedy(both), {"y"}), idsOf({0}, 1), 4)[0]),
            (std::vector<int64_t>{0, 1, 2, 0}));
  EXPECT_EQ(integersOf(runSearch(modelOf(greedy(both), {"y"}), idsOf({0}, 1), 2)[0]),
            (std::vector<int64_t>{0, 1}));
}

// Enough beams to keep every text: the best of all.
TEST(SearchGraph, ManyBeamsFindTheBestOfAllTexts) {
  const auto chance = [](int64_t from, int64_t to) {
    double sum = 0;
    for (const float logit : kChances[from]) sum += std::exp(logit);
    return kChances[from][to] - std::log(sum);
  };
  constexpr int64_t kMost = 4;
  double best = -1e9;
  std::vector<int64_t> wanted;
  const std::function<void(std::vector<int64_t>, double)> walk = [&](std::vector<int64_t> text, double sum) {
    const auto ends = [&](double total) {
      // The end itself does not count.
      const double score = total / static_cast<double>(text.size());
      if (score <= best) return;
      best = score;
      wanted = text;
      wanted.resize(kMost, 0);
    };
    if (text.size() == kMost) return ends(sum);
    ends(sum + chance(text.back(), 3));
    for (int64_t next = 0; next < 3; ++next) {
      std::vector<int64_t> longer = text;
      longer.push_back(next);
      walk(longer, sum + chance(text.back(), next));
    }
  };
  for (int64_t start = 0; start < 3; ++start) {
    best = -1e9;
    walk({start}, 0);
    const std::vector<HostTensor> results =
        runSearch(modelOf(beam({"y", "scores"}), {"y", "scores"}), idsOf({start}, 1), kMost, 30, 2);
    ASSERT_EQ(results.size(), 2u);
    EXPECT_THAT(results[0].shape(), ElementsAre(1, 2, kMost));
    EXPECT_THAT(results[1].shape(), ElementsAre(1, 2));
    std::vector<int64_t> first = integersOf(results[0]);
    first.resize(kMost);
    EXPECT_EQ(first, wanted) << start;
    EXPECT_NEAR(results[1].realAt(0), best, 1e-5) << start;
  }
}

TEST(SearchGraph, WhatIsNotThereIsRefused) {
  EXPECT_THAT(searchRefusal(greedy(kDecoder + intAttribute("model_type", 1))),
              HasSubstr("a decoder of model_type 1 is not supported"));
  EXPECT_THAT(searchRefusal(beam({"y"}, kDecoder + intAttribute("model_type", 1))),
              HasSubstr("attribute \"encoder\""));
  EXPECT_THAT(searchRefusal(beam(
                  {"y"}, kDecoder + graphAttribute("encoder", decoder()) + intAttribute("model_type", 1))),
              HasSubstr("its decoder takes other inputs"));
  EXPECT_THAT(searchRefusal(greedy(Msg())), HasSubstr("attribute \"decoder\""));
  EXPECT_THAT(searchRefusal(greedy(kDecoder + intAttribute("temperature", 1))),
              HasSubstr("attribute \"temperature\""));
  EXPECT_THAT(searchRefusal(search("BeamSearch", {"ids", "most"}, {"y"}, kDecoder)),
              HasSubstr("num_return_sequences"));
  EXPECT_THAT(searchRefusal(beam({"y", "", "all"})), HasSubstr("scores of all words"));
  EXPECT_THAT(searchRefusal(
                  greedy(graphAttribute("decoder", decoder({.cache = {"2", "rows", "heads", "past", "2"}})))),
              HasSubstr("cache past_0"));
  EXPECT_THAT(searchRefusal(greedy(graphAttribute("decoder", decoder({.first = "tokens"})))),
              HasSubstr("input 0 of its decoder is tokens"));
}

}  // namespace
}  // namespace dyn::onnx::test
