// The host program as machine code where random programs do not come: limits, interruption, profiles.
#include <chrono>
#include <thread>

#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

using test::fromVm;
using test::randomTensor;

// Not by a last call: each iteration is a frame that waits.
const char* const kDown = R"(fn @main(n: Tensor[(), i64], x: Tensor[(k), f32]) { return @down(n, x) }
  fn @down(n: Tensor[(), i64], x: Tensor[(k), f32]) -> (Tensor[(k), f32]) {
    r = if(equal(n, 0), n, x) then (n, x) { return x } else (n, x) {
      y = @down(n - 1, x)
      return y + 1.0
    }
    return r
  })";
const char* const kIterations = R"(fn @main(n: Tensor[(), i64], x: Tensor[(k), f32]) {
  y = loop(n, _, x) {carried = 1} body (i, a) {
    b = a * 0.5 + 1.0
    return true, b
  }
  return y
})";
const char* const kPicks = R"(fn @main(n: Tensor[(), i64], x: Tensor[(k), f32]) {
  y = gather(x * 2.0, n) {axis = 0}
  return y + 1.0
})";

struct Ended {
  dyn_status status;
  std::string message;
  float first = 0;
};

// The parameter: about how many instructions are compiled as one function; few make main a long function,
// whose code is made quickly.
class HostFlow : public testing::TestWithParam<uint32_t> {
 protected:
  void compile(const char* text) {
    Result<Module> module = test::parseText(ir_, text);
    ASSERT_TRUE(module.ok()) << module.error().toString();
    CompileOptions options;
    options.hostCode = dyn::HostCode::native;
    options.flowPiece = GetParam();
    Result<std::unique_ptr<test::Compiled>> compiled = test::Compiled::make(*module, options);
    if (!compiled.ok() && compiled.error().id == DiagnosticId::unsupportedFeature)
      GTEST_SKIP() << "no code generation";
    ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
    compiled_ = std::move(compiled).value();
  }

  Ended run(dyn_options options, int64_t iterations, int64_t size = 5) {
    dyn_context* context = nullptr;
    EXPECT_EQ(dyn_context_create(compiled_->module.get(), &options, &context), DYN_OK);
    compiled_->context.reset(context);
    HostTensor count = *HostTensor::create(Dtype::i64, {});
    count.setInt(0, iterations);
    const HostTensor inputs[] = {count, randomTensor(Dtype::f32, {size}, 1)};
    for (int32_t i = 0; i < 2; ++i)
      EXPECT_EQ(dyn_context_set_input(context, i, compiled_->toVm(inputs[i]).get()), DYN_OK);
    Ended ended{dyn_context_run(context), "", 0};
    if (ended.status != DYN_OK) {
      ended.message = dyn_last_message();
      return ended;
    }
    dyn_value* value = nullptr;
    EXPECT_EQ(dyn_context_get_output(context, 0, &value), DYN_OK);
    ended.first = static_cast<float>(fromVm(test::ValueHandle(value).get()).realAt(0));
    return ended;
  }
  // Both ways.
  Ended same(dyn_options options, int64_t iterations, int64_t size = 5) {
    options.interpret = 1;
    const Ended interpreted = run(options, iterations, size);
    options.interpret = 0;
    Ended native = run(options, iterations, size);
    EXPECT_EQ(native.status, interpreted.status) << native.message << " / " << interpreted.message;
    EXPECT_EQ(native.first, interpreted.first);
    // Of memory the message says how much is in use, which may be less.
    EXPECT_EQ(native.status == DYN_MEMORY_LIMIT || native.message == interpreted.message, true)
        << native.message;
    return native;
  }

  IrContext ir_;
  std::unique_ptr<test::Compiled> compiled_;
};

TEST_P(HostFlow, callsAreLimitedNotTheStack) {
  compile(kDown);
  if (!compiled_) return;
  EXPECT_EQ(same({}, 50'000).status, DYN_OK);
  dyn_options shallow{};
  shallow.depth_limit = 100;
  EXPECT_EQ(same(shallow, 90).status, DYN_OK);
  EXPECT_EQ(same(shallow, 200).status, DYN_DEPTH_LIMIT);
}

// Kernels that are called without ado, and those that are not: empty tensors, many steps, a dry run.
TEST_P(HostFlow, kernelsFaultTheSame) {
  compile(kPicks);
  if (!compiled_) return;
  for (const int64_t size : {int64_t{0}, int64_t{1}, int64_t{5}, int64_t{1} << 20}) {
    EXPECT_EQ(same({}, size - 1, size).status, size > 0 ? DYN_OK : DYN_KERNEL_FAULT);
    const Ended beyond = same({}, size, size);
    EXPECT_EQ(beyond.status, DYN_KERNEL_FAULT);
    EXPECT_NE(beyond.message.find("out of range: axis 0"), std::string::npos) << beyond.message;
  }
  dyn_options dryRun{};
  dryRun.dry_run = 1;
  EXPECT_EQ(same(dryRun, 7, 5).status, DYN_OK);
}

TEST_P(HostFlow, memoryIsLimited) {
  compile(kIterations);
  if (!compiled_) return;
  dyn_options small{};
  small.memory_limit_bytes = 1 << 20;
  EXPECT_EQ(same(small, 3, 1000).status, DYN_OK);
  small.memory_limit_bytes = 1 << 18;
  EXPECT_EQ(same(small, 3, 50'000).status, DYN_MEMORY_LIMIT);
}

TEST_P(HostFlow, loopsAreInterrupted) {
  compile(kIterations);
  if (!compiled_) return;
  dyn_context* running = nullptr;
  dyn_options options{};
  ASSERT_EQ(dyn_context_create(compiled_->module.get(), &options, &running), DYN_OK);
  compiled_->context.reset(running);
  HostTensor count = *HostTensor::create(Dtype::i64, {});
  count.setInt(0, INT64_MAX);
  const HostTensor inputs[] = {count, randomTensor(Dtype::f32, {5}, 1)};
  for (int32_t i = 0; i < 2; ++i)
    ASSERT_EQ(dyn_context_set_input(running, i, compiled_->toVm(inputs[i]).get()), DYN_OK);
  std::atomic<bool> ended{false};
  std::thread canceller([&] {
    while (!ended) {
      dyn_context_cancel(running);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  EXPECT_EQ(dyn_context_run(running), DYN_CANCELLED) << dyn_last_message();
  ended = true;
  canceller.join();
}

TEST_P(HostFlow, profilesNameKernels) {
  compile(kIterations);
  if (!compiled_) return;
  (void)run({}, 1);
  dyn_context* context = compiled_->context.get();
  ASSERT_EQ(dyn_context_profile(context, 1), DYN_OK);
  ASSERT_EQ(dyn_context_run(context), DYN_OK);
  const std::string table = dyn_context_profile_text(context, "json");
  EXPECT_NE(table.find("\"kernel\""), std::string::npos) << table;
}

INSTANTIATE_TEST_SUITE_P(Pieces, HostFlow, testing::Values(1000u, 4u));

}  // namespace
}  // namespace dyn
