// Scan of operator set 8: a batch as the first axis of its values, and a length for each entry. The numbers
// of the cases are those of onnxruntime.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/infer/infer.h"
#include "compiler/reference/reference_interpreter.h"
#include "frontends/onnx/import/batched_scan.h"
#include "frontends/onnx/import/importer.h"
#include "tests/unit/frontends/onnx/node_fields.h"

namespace dyn::onnx::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// s + v * w goes on, twice that is what each step gives; w is a value around the node.
Msg scanBody() {
  return Msg()
      .sub(1, node("Mul", {"v", "w"}, {"p"}))
      .sub(1, node("Add", {"s", "p"}, {"t"}))
      .sub(1, node("Add", {"t", "t"}, {"o"}))
      .sub(2, "body")
      .sub(11, valueInfo("s", tensorType(1, {"1"})))
      .sub(11, valueInfo("v", tensorType(1, {"1"})))
      .sub(12, valueInfo("t", tensorType(1, {"1"})))
      .sub(12, valueInfo("o", tensorType(1, {"1"})));
}

std::string scanModel(const char* lengths, const Msg& attributes) {
  const Msg scan =
      node("Scan", {lengths, "s0", "x"}, {"last", "all"}) + graphAttribute("body", scanBody()) + attributes;
  const Msg graph = Msg()
                        .sub(1, scan)
                        .sub(2, "g")
                        .sub(11, valueInfo("n", tensorType(7, {"b"})))
                        .sub(11, valueInfo("s0", tensorType(1, {"b", "1"})))
                        .sub(11, valueInfo("x", tensorType(1, {"b", "t", "1"})))
                        .sub(11, valueInfo("w", tensorType(1, {"1"})))
                        .sub(12, valueInfo("last", Msg()))
                        .sub(12, valueInfo("all", Msg()));
  return Msg().num(1, 3).sub(8, Msg().num(2, 8)).sub(7, graph).bytes;
}

HostTensor scanTensor(Dtype dtype, std::vector<int64_t> shape, const std::vector<double>& values) {
  HostTensor tensor = *HostTensor::create(dtype, std::move(shape));
  for (size_t i = 0; i != values.size(); ++i) {
    if (isReal(dtype))
      tensor.setReal(static_cast<int64_t>(i), values[i]);
    else
      tensor.setInt(static_cast<int64_t>(i), static_cast<int64_t>(values[i]));
  }
  return tensor;
}

// Two entries of three steps, with these lengths. Results that are not there: the fault.
struct ScanOutcome {
  std::vector<double> last, all;
  std::string fault;
};
ScanOutcome outcomeOf(const char* lengths, const Msg& attributes,
                      const std::vector<double>& counts = {2, 3}) {
  IrContext ir;
  Result<ImportResult> imported =
      importModel(ir, MappedFile::fromBytes(scanModel(lengths, attributes), "m.onnx"), {});
  if (!imported.ok()) return {{}, {}, imported.error().toString()};
  Result<InferredModule> typed = inferTypes(imported->module);
  if (!typed.ok()) return {{}, {}, typed.error().toString()};
  std::vector<Value> inputs;
  inputs.emplace_back(scanTensor(Dtype::i64, {2}, counts));
  inputs.emplace_back(scanTensor(Dtype::f32, {2, 1}, {0, 100}));
  inputs.emplace_back(scanTensor(Dtype::f32, {2, 3, 1}, {1, 2, 4, 5, 6, 8}));
  inputs.emplace_back(scanTensor(Dtype::f32, {1}, {10}));
  Result<std::vector<Value>> results = interpret(typed->module, inputs, {});
  if (!results.ok()) return {{}, {}, results.error().toString()};
  const auto numbers = [](const Value& value) {
    const HostTensor& all = value.tensor();
    std::vector<double> listed;
    for (int64_t i = 0; i != all.elementCount(); ++i) listed.push_back(all.realAt(i));
    return listed;
  };
  return {numbers((*results)[0]), numbers((*results)[1]), ""};
}

const Msg kOneSequence = intAttribute("num_scan_inputs", 1);
const Msg kBackward = Msg().sub(5, Msg().sub(1, "directions").num(20, 7).num(8, 1));

TEST(BatchedScan, EachEntryOfTheBatchIsScannedByItself) {
  const ScanOutcome forward = outcomeOf("", kOneSequence);
  ASSERT_EQ(forward.fault, "");
  EXPECT_THAT(forward.last, ElementsAre(70, 290));
  EXPECT_THAT(forward.all, ElementsAre(20, 60, 140, 300, 420, 580));
  const ScanOutcome backward = outcomeOf("", kOneSequence + kBackward);
  ASSERT_EQ(backward.fault, "");
  EXPECT_THAT(backward.all, ElementsAre(80, 120, 140, 360, 480, 580));
}

TEST(BatchedScan, AShorterEntryEndsAtItsLength) {
  const ScanOutcome forward = outcomeOf("n", kOneSequence);
  ASSERT_EQ(forward.fault, "");
  EXPECT_THAT(forward.last, ElementsAre(30, 290));
  EXPECT_THAT(forward.all, ElementsAre(20, 60, 0, 300, 420, 580));
  const ScanOutcome backward = outcomeOf("n", kOneSequence + kBackward);
  ASSERT_EQ(backward.fault, "");
  EXPECT_THAT(backward.all, ElementsAre(40, 60, 0, 360, 480, 580));
}

TEST(BatchedScan, LengthsAreFromOneToTheStepsThatAreThere) {
  for (const std::vector<double>& counts : {std::vector<double>{2, 4}, {0, 3}, {-1, 3}})
    EXPECT_THAT(outcomeOf("n", kOneSequence, counts).fault, HasSubstr("sequence_lens"));
}

TEST(BatchedScan, CountsThatDoNotFitAreRefused) {
  for (int64_t count : {0, 3, -1})
    EXPECT_THAT(outcomeOf("", intAttribute("num_scan_inputs", count)).fault, HasSubstr("num_scan_inputs is"));
}

TEST(BatchedScan, ItsOwnStepsAreRead) {
  Result<text::OperatorFile> steps = batchedScanSteps();
  ASSERT_TRUE(steps.ok()) << steps.error().toString();
  EXPECT_TRUE(steps->defines("dyn.scan::Taken"));
}

}  // namespace
}  // namespace dyn::onnx::test
