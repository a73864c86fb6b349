// The hand-written kernels of the freestanding runtime beside those of the VM: the programs of the
// operators' sweep that call them, for every element type and attribute, at many shapes. The same bits, the
// same kinds of errors, and no more memory than was rehearsed.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "compiler/driver/freestanding_bound.h"
#include "compiler/driver/target_choice.h"
#include "tests/support/freestanding_run.h"
#include "tests/unit/compiler/driver/operator_sweep.h"
#include "tests/unit/compiler/driver/run_both.h"
#include "tests/unit/compiler/driver/sweep_program.h"

namespace dyn {
namespace {

using namespace test;

bool isOfFreestandingRuntime(const std::string& row) {
  static constexpr std::string_view kNames[] = {
#define DYN_FREESTANDING_BUILTIN_NAME(name) #name,
      DYN_FREESTANDING_BUILTINS(DYN_FREESTANDING_BUILTIN_NAME)
#undef DYN_FREESTANDING_BUILTIN_NAME
  };
  return std::find(std::begin(kNames), std::end(kNames), row) != std::end(kNames);
}

std::vector<std::vector<HostTensor>> inputSets(const SweepRow& row, IrContext& ir, const Function& main) {
  std::vector<std::vector<HostTensor>> sets;
  uint32_t seed = 100;
  constexpr int64_t kPrimes[] = {5, 7, 3, 2, 11};
  const auto add = [&](auto size, Draw::Elements elements = Draw::Elements::plain) {
    sets.push_back(Draw(row, ir, main, seed++).inputs(size, elements));
  };
  for (int64_t all : {1, 3, 0}) add([&](size_t) { return all; });
  for (int i = 0; i < 2; ++i) add([&](size_t k) { return kPrimes[k % 5]; });
  add([&](size_t k) { return k == 0 ? 0 : kPrimes[k % 5]; });
  // Zeros of both signs, infinities, numbers that are none.
  add([](size_t k) { return k % 2 == 0 ? 7 : 11; }, Draw::Elements::special);
  return sets;
}

// The same bits; what is no number has any.
testing::AssertionResult sameElements(const HostTensor& actual, const HostTensor& expected) {
  const int64_t bytes = expected.sizeBytes() / std::max<int64_t>(expected.elementCount(), 1);
  const std::byte *a = actual.data(), *b = expected.data();
  for (int64_t i = 0; i < expected.elementCount(); ++i) {
    if (std::memcmp(a + i * bytes, b + i * bytes, static_cast<size_t>(bytes)) == 0) continue;
    if (isReal(expected.dtype()) && std::isnan(actual.realAt(i)) && std::isnan(expected.realAt(i))) continue;
    return testing::AssertionFailure() << "element " << i << " differs";
  }
  return testing::AssertionSuccess();
}

void expectSame(const FreestandingResult& fixed, const Result<std::vector<HostTensor>>& vm,
                const std::string& what) {
  ASSERT_EQ(fixed.status == DYN_OK, vm.ok())
      << what << fixed.message << (vm.ok() ? "" : vm.error().toString());
  EXPECT_TRUE(fixed.intact) << what;
  if (!vm.ok()) {
    EXPECT_EQ(idOf(static_cast<dyn_status>(fixed.status)), vm.error().id)
        << what << fixed.message << vm.error().toString();
    return;
  }
  for (size_t i = 0; i < vm->size(); ++i) {
    const HostTensor &actual = fixed.outputs[i], &expected = (*vm)[i];
    ASSERT_EQ(actual.shape(), expected.shape()) << what;
    ASSERT_TRUE(sameElements(actual, expected))
        << what << "output " << i << ": " << toString(actual, 9) << ", expected " << toString(expected, 9);
  }
}

// How many runs came to a result; -1: the runtime has not all that the program wants.
int compareFreestanding(const SweepRow& row, const std::string& text) {
  SCOPED_TRACE(text);
  IrContext ir;
  Result<Module> parsed = parseText(ir, text);
  EXPECT_TRUE(parsed.ok());
  Result<InferredModule> typed = inferTypes(*parsed);
  EXPECT_TRUE(typed.ok());
  CompileOptions options;
  options.target = freestandingTarget(*hostTarget());
  Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed, options);
  if (!compiled.ok()) return -1;
  Result<std::unique_ptr<FreestandingRun>> fixed = FreestandingRun::make((*compiled)->model);
  if (!fixed.ok()) return -1;
  int succeeded = 0;
  for (const std::vector<HostTensor>& inputs : inputSets(row, ir, *typed->module.main())) {
    std::string what;
    for (const HostTensor& input : inputs) what += toString(input, 6) + " ";
    const Result<std::vector<HostTensor>> expected = (*compiled)->run(inputs);
    const FreestandingResult actual = (*fixed)->run(inputs);
    expectSame(actual, expected, what);
    if (testing::Test::HasFatalFailure()) return succeeded;
    succeeded += expected.ok();
    // What a run takes is at most the bound of its sizes: of all ways that values may choose.
    std::vector<std::vector<int64_t>> shapes;
    for (const HostTensor& input : inputs) shapes.push_back(input.shape());
    const Result<FreestandingBound> bound =
        freestandingBoundAt((*fixed)->loaded(), freestandingSizesOf(*(*compiled)->model, shapes));
    if (!bound.ok() || !bound->bytes) continue;
    EXPECT_LE(actual.peakBytes, *bound->bytes) << what;
    expectSame((*fixed)->run(inputs, *bound->bytes), expected, "in its bound: " + what);
  }
  return succeeded;
}

class FreestandingSweep : public testing::TestWithParam<std::string> {};

TEST_P(FreestandingSweep, asTheVm) {
  if (hostTarget()->machine.triple.empty()) GTEST_SKIP() << "no code generation";
  int succeeded = 0;
  for (const SweepRow& row : sweepTable()) {
    if (row.op != GetParam()) continue;
    const std::vector<std::string> dtypes = words(row.dtypes), refused = words(row.notCompiled);
    for (const std::string& dtype : dtypes.empty() ? std::vector<std::string>{""} : dtypes)
      if (std::find(refused.begin(), refused.end(), dtype) == refused.end())
        succeeded += std::max(0, compareFreestanding(row, programOf(row, dtype, row.attributes[0])));
    const bool single = std::find(dtypes.begin(), dtypes.end(), "f32") != dtypes.end();
    const std::string dtype = single ? "f32" : dtypes.empty() ? "" : dtypes[0];
    for (size_t i = 1; i < row.attributes.size(); ++i)
      succeeded += std::max(0, compareFreestanding(row, programOf(row, dtype, row.attributes[i])));
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GE(succeeded, 2) << "hardly any run comes to a result: the sweep shows nothing";
}

std::vector<std::string> operatorsOfFreestandingRuntime() {
  std::vector<std::string> names;
  for (const SweepRow& row : sweepTable()) {
    const OpDef* def = findOp(row.op);
    if (def && def->lowering == LoweringKind::builtin && !def->lower &&
        isOfFreestandingRuntime(std::string(def->builtin.row)) &&
        std::find(names.begin(), names.end(), row.op) == names.end())
      names.push_back(row.op);
  }
  return names;
}
INSTANTIATE_TEST_SUITE_P(Table, FreestandingSweep, testing::ValuesIn(operatorsOfFreestandingRuntime()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace dyn
