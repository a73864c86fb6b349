// The sweep's programs on the simulated device, against the reference interpreter. What has no kernel there
// runs on the host, in the same program. Of each row one element type with its first attributes, at three
// sets of sizes, and at two with indices of 64 bits; and a share of all types and attributes at eight
// (tests/support/share.h).
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "tests/support/share.h"
#include "tests/unit/compiler/driver/on_device.h"
#include "tests/unit/compiler/driver/run_both.h"
#include "tests/unit/compiler/driver/sweep_program.h"
#include "vm/shared/dyn_device_code.h"

namespace dyn::test {
namespace {

// Tests that the rows, and all types and attributes, are dealt out to: each of them stays short, also where
// all are run (./dev test --all).
constexpr size_t kShares = 8, kSharesOfAll = 48;

class DeviceSweep : public testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    if (!useSimulatedDriver()) GTEST_SKIP() << "unavailable: the simulated driver is not built";
  }
};

// The reference computes in f64; sums are added in another order.
double toleranceOf(Dtype dtype) {
  if (dtype == Dtype::f16) return 2e-3;
  if (dtype == Dtype::bf16) return 1.6e-2;
  return dtype == Dtype::f64 ? 1e-11 : 1e-5;
}

// Sizes of tests fit into indices of 32 bits: of all kernels only those forms would run.
enum class Indices : uint8_t { asChosen, wide };

Result<std::unique_ptr<Compiled>> compiledWith(const Module& module, Indices indices) {
  if (indices == Indices::asChosen) return Compiled::make(module, deviceOptions());
  DYN_TRY(CompiledModel model, compileModel(module, deviceOptions()));
  for (auto& [key, rows] : model.lowered.program.metadata)
    if (key == kDeviceKernelsKey)
      for (size_t at; (at = rows.find(" narrow")) != std::string::npos;) rows.erase(at, strlen(" narrow"));
  auto made = std::make_unique<Compiled>();
  made->model = std::make_shared<CompiledModel>(std::move(model));
  DYN_TRY(dyn_module * loaded, instantiate(made->model));
  made->module.reset(loaded);
  dyn_options vm{};
  vm.thread_count = 1;
  dyn_context* context = nullptr;
  if (dyn_context_create(loaded, &vm, &context) != DYN_OK)
    return makeError(DiagnosticId::runtimeError, dyn_last_message());
  made->context.reset(context);
  return Result<std::unique_ptr<Compiled>>(std::move(made));
}

using Sizes = std::array<int64_t, 3>;
constexpr Sizes kFewSizes[] = {{3, 3, 3}, {5, 7, 2}, {0, 4, 1}};
// Of several blocks and warps, of less than one, and none.
constexpr Sizes kManySizes[] = {{1, 1, 1}, {3, 3, 3},   {5, 7, 2},   {0, 4, 1},
                                {4, 0, 3}, {33, 2, 17}, {2, 130, 3}, {17, 19, 31}};

void compare(const SweepRow& row, const std::string& text, std::span<const Sizes> sets,
             Indices indices = Indices::asChosen) {
  SCOPED_TRACE(text);
  IrContext ir;
  Result<Module> parsed = parseText(ir, text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  Result<InferredModule> typed = inferTypes(*parsed);
  ASSERT_TRUE(typed.ok()) << typed.error().toString();
  Result<std::unique_ptr<Compiled>> compiled = compiledWith(*parsed, indices);
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  uint32_t seed = 1;
  for (const Sizes& sizes : sets) {
    const std::vector<HostTensor> inputs =
        Draw(row, ir, *typed->module.main(), seed++)
            .inputs([&](size_t k) { return sizes[k % 3]; }, Draw::Elements::plain);
    Result<std::vector<Value>> expected =
        interpret(typed->module, std::vector<Value>(inputs.begin(), inputs.end()));
    Result<std::vector<HostTensor>> actual = (*compiled)->run(inputs);
    std::string what;
    for (const HostTensor& input : inputs) what += toString(input, 6) + " ";
    if (!expected.ok()) continue;  // a kernel looks at what it needs, the reference at all
    ASSERT_TRUE(actual.ok()) << what << actual.error().toString();
    for (size_t i = 0; i < expected->size(); ++i) {
      const HostTensor& wanted = (*expected)[i].tensor();
      expectClose((*actual)[i], wanted, what + "output " + std::to_string(i),
                  std::max(row.tolerance, 1.0) * toleranceOf(wanted.dtype()));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// Of each row one type with its first attributes.
void compareRows(size_t share, std::span<const Sizes> sets, Indices indices) {
  const std::vector<SweepRow>& table = sweepTable();
  for (size_t i = share; i < table.size(); i += kShares) {
    const SweepRow& row = table[i];
    if (row.parameters.empty()) continue;
    const std::vector<std::string> dtypes = words(row.dtypes), notCompiled = words(row.notCompiled);
    std::string dtype = dtypes.empty() ? "" : dtypes[i % dtypes.size()];
    if (std::find(notCompiled.begin(), notCompiled.end(), dtype) != notCompiled.end()) continue;
    compare(row, programOf(row, dtype, row.attributes[0]), sets, indices);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST_P(DeviceSweep, asInterpreted) { compareRows(GetParam(), kFewSizes, Indices::asChosen); }

TEST_P(DeviceSweep, asInterpretedWithIndicesOf64Bits) {
  compareRows(GetParam(), std::span(kFewSizes).first(2), Indices::wide);
}

struct Combination {
  const SweepRow* row;
  std::string dtype, attributes;
};

// As the sweep of the host: every type with the first attributes, the others with f32 where it is taken.
std::vector<Combination> allCombinations() {
  std::vector<Combination> all;
  for (const SweepRow& row : sweepTable()) {
    if (row.parameters.empty()) continue;
    std::vector<std::string> dtypes = words(row.dtypes);
    if (dtypes.empty()) dtypes = {""};
    const auto has = [](const std::vector<std::string>& list, const std::string& dtype) {
      return std::find(list.begin(), list.end(), dtype) != list.end();
    };
    const std::vector<std::string> notCompiled = words(row.notCompiled);
    for (const std::string& dtype : dtypes)
      if (!has(notCompiled, dtype)) all.push_back({&row, dtype, row.attributes[0]});
    const std::string single = has(dtypes, "f32") ? "f32" : dtypes[0];
    for (size_t i = 1; i < row.attributes.size() && !has(notCompiled, single); ++i)
      all.push_back({&row, single, row.attributes[i]});
  }
  return all;
}

// Attributes need not be legal for every type; what inference takes is compiled.
bool isTyped(const std::string& text) {
  IrContext ir;
  Result<Module> parsed = parseText(ir, text);
  return parsed.ok() && inferTypes(*parsed).ok();
}

class DeviceSweepOfAll : public DeviceSweep {};

TEST_P(DeviceSweepOfAll, typesAndAttributes) {
  const Share share(12);
  SCOPED_TRACE(share.text());
  const std::vector<Combination> all = allCombinations();
  size_t compared = 0;
  for (size_t i = GetParam(); i < all.size(); i += kSharesOfAll) {
    if (!share.has(i / kSharesOfAll)) continue;
    const std::string text = programOf(*all[i].row, all[i].dtype, all[i].attributes);
    if (!isTyped(text)) continue;
    compare(*all[i].row, text, kManySizes);
    ++compared;
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(compared, 0u);
}

INSTANTIATE_TEST_SUITE_P(Shares, DeviceSweep, testing::Range(size_t{0}, kShares));
INSTANTIATE_TEST_SUITE_P(Shares, DeviceSweepOfAll, testing::Range(size_t{0}, kSharesOfAll));

}  // namespace
}  // namespace dyn::test
