// Memory that gives out: allocation number k fails, for every k until all succeed, in reading, compiling,
// loading and running. Each failure is an error (std::bad_alloc, which a session turns into one, or a status
// of the VM), loses nothing, and the next try is right.
//
// Code generation is let be: an allocation that fails inside LLVM ends in LLVM's own hands.
#include <gtest/gtest.h>

#include <functional>
#include <new>

#include "compiler/codegen/object/weight_check.h"
#include "compiler/lower/lowered_module.h"
#include "tests/robustness/allocation_hook.h"
#include "tests/robustness/compiled_program.h"
#include "tests/robustness/onnx_builder.h"
#include "tests/robustness/worker.h"
#include "tests/support/temporary_folder.h"

namespace dyn::robustness {
namespace {

struct Model {
  const char* name;
  const char* text;
};

constexpr Model kModels[] = {
    {"product", R"(fn @main(%x: Tensor[(n, 4), f32]) {
  %w = constant() {value = f32[4, 3] [[1.0, 2.0, 3.0], [0.5, 0.25, -1.0], [2.0, 2.0, 2.0], [1.0, 0.0, 1.0]]}
  %h = matmul(%x, %w)
  %r = relu(%h)
  %y = softmax(%r) {axis = 1}
  return %y
})"},
    {"loop", R"(fn @main(%x: Tensor[(n, 4), f32]) {
  %m = constant() {value = i64[] 3}
  %t = constant() {value = bool[] true}
  %y, %all = loop(%m, %t, %x) {carried = 1} body (%i: Tensor[(), i64], %a: Tensor[(n, 4), f32]) {
    %c = constant() {value = bool[] true}
    %b = add(%a, %a)
    return %c, %b, %b
  }
  return %y, %all
})"},
    {"branch and values", R"(fn @main(%x: Tensor[(n, 4), f32]) {
  %i = nonzero(%x)
  %f = cast(%i) {to = f32}
  %s = reduce_sum(%x) {keepdims = 0}
  %z = constant() {value = f32[] 0.0}
  %c = greater(%s, %z)
  %y = if(%c, %f) then (%a: Tensor[(2, p), f32]) {
    %b = neg(%a)
    return %b
  } else (%d: Tensor[(2, q), f32]) {
    %e = exp(%d)
    return %e
  }
  return %y
})"},
};

std::string onnxModel() {
  OnnxModel m;
  return m.input("x", kFloat, {"n", "4"})
      .ints("s", {2, -1})
      .floats("w", {1, 2, 3, 4})
      .node("Add", {"x", "w"}, {"a"})
      .node("Gemm", {"a", "a"}, {"g"}, {attribute("transB", int64_t{1})})
      .node("Reshape", {"g", "s"}, {"y"})
      .output("y")
      .bytes();
}

// Of a stage with many allocations not every one is tried: all of the first, then ever wider apart, so that
// it ends in seconds.
int64_t nextOf(int64_t k) { return k < 2000 ? k + 1 : k + 1 + k / 100; }

// Runs `stage` with its k-th allocation failing, for each k, until none fails. `stage` says whether it
// worked; what it makes it drops.
void failEach(const std::string& name, const std::function<bool()>& stage, Failing how) {
  SCOPED_TRACE(name);
  ASSERT_TRUE(stage()) << "it works when nothing fails";
  ASSERT_TRUE(stage());
  const int64_t live = liveAllocations();
  int64_t failures = 0;
  for (int64_t k = 0;; k = nextOf(k)) {
    bool worked = false;
    failAllocation(k, how);
    try {
      worked = stage();
    } catch (const std::bad_alloc&) {
    }
    const bool failed = stopFailing();
    ASSERT_EQ(liveAllocations(), live) << "allocation " << k << " failed, and something was lost";
    if (!failed) {
      EXPECT_TRUE(worked);
      break;
    }
    ++failures;
  }
  EXPECT_GT(failures, 3);
  EXPECT_TRUE(stage()) << "and it works again";
}

class AllocationFailure : public testing::TestWithParam<Failing> {};

TEST_P(AllocationFailure, ReadingAndCompiling) {
  std::vector<std::pair<std::string, std::function<Result<Module>(IrContext&)>>> sources;
  for (const Model& model : kModels)
    sources.emplace_back(model.name, [&model](IrContext& ir) { return parseText(ir, model.text); });
  const std::string bytes = onnxModel();
  sources.emplace_back("onnx", [&bytes](IrContext& ir) { return importBytes(ir, bytes); });
  for (const auto& [name, read] : sources) {
    failEach(
        name + ": reading",
        [&] {
          IrContext ir;
          return read(ir).ok();
        },
        GetParam());
    failEach(
        name + ": all but code generation",
        [&] {
          IrContext ir;
          Result<Module> module = read(ir);
          if (!module.ok()) return false;
          Trace trace;
          Result<Module> placed = runPasses(*module, {}, trace);
          return placed.ok() && lowerModule(*placed, {}).ok();
        },
        GetParam());
  }
}

TEST_P(AllocationFailure, LoadingAndRunning) {
  for (const Model& model : kModels) {
    Result<std::shared_ptr<const CompiledModel>> compiled = compileText(model.text);
    if (!compiled.ok() && compiled.error().id == DiagnosticId::unsupportedFeature)
      GTEST_SKIP() << compiled.error().message;
    ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
    failEach(
        std::string(model.name) + ": loading",
        [&] {
          Result<dyn_module*> module = instantiate(*compiled);
          if (module.ok()) dyn_module_release(*module);
          return module.ok();
        },
        GetParam());
    Result<dyn_module*> made = instantiate(*compiled);
    ASSERT_TRUE(made.ok());
    const ModuleHandle module(*made);
    std::string expected;
    auto runOnce = [&](dyn_context* context) {
      const ValueHandle x = floatsOf(context, {5, 4});
      if (!x || dyn_context_set_input(context, 0, x.get()) != DYN_OK) return false;
      const dyn_status status = dyn_context_run(context);
      if (status != DYN_OK) {
        EXPECT_EQ(status, DYN_OUT_OF_MEMORY) << dyn_last_message();
        return false;
      }
      const std::string bytes = outputBytes(context);
      if (bytes.empty()) return false;
      if (expected.empty()) expected = bytes;
      EXPECT_TRUE(bytes == expected);
      return true;
    };
    failEach(
        std::string(model.name) + ": a new context and a run",
        [&] {
          const ContextHandle context = makeContext(module.get());
          return context && runOnce(context.get());
        },
        GetParam());
    // One context through all failures: each may leave nothing behind that the next run meets.
    const ContextHandle context = makeContext(module.get());
    for (int64_t k = 0;; ++k) {
      failAllocation(k, GetParam());
      bool worked = false;
      try {
        worked = runOnce(context.get());
      } catch (const std::bad_alloc&) {  // of this test's own tables
      }
      if (!stopFailing()) {
        EXPECT_TRUE(worked);
        break;
      }
      ASSERT_TRUE(runOnce(context.get())) << model.name << ", after allocation " << k << " failed";
    }
  }
}

// The thread that compares cached weights may get no memory: then they are compared without it, and nobody
// waits for it.
TEST_P(AllocationFailure, ComparingCachedWeights) {
  test::TemporaryFolder folder;
  const std::string bytes(300'000, 'w');
  const std::string path = folder.write("cached.dynweights", bytes);
  WeightSum sum;
  sum.add(bytes);
  failEach(
      "cached weights",
      [&] {
        WeightCheck check;
        try {
          check.add(path, 0, sum.value());
        } catch (const std::bad_alloc&) {  // it was not added
        }
        return check.wait().ok();
      },
      GetParam());
}

INSTANTIATE_TEST_SUITE_P(Memory, AllocationFailure, testing::Values(Failing::once, Failing::repeated),
                         [](const auto& info) {
                           return info.param == Failing::once ? "once" : "fromThenOn";
                         });

// The VM's pool asks the system through a hook: each of its requests fails in turn.
struct FailingSystem {
  int64_t countdown = INT64_MAX, live = 0;
  static void* allocate(void* user, size_t size, size_t alignment) {
    auto& self = *static_cast<FailingSystem*>(user);
    if (self.countdown-- <= 0) return nullptr;
    ++self.live;
    return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  }
  static void deallocate(void* user, void* memory, size_t) {
    if (memory) --static_cast<FailingSystem*>(user)->live;
    std::free(memory);
  }
};

TEST(MemoryPoolFailure, EachRequestInTurn) {
  for (const Model& model : kModels) {
    SCOPED_TRACE(model.name);
    Result<std::shared_ptr<const CompiledModel>> compiled = compileText(model.text);
    if (!compiled.ok() && compiled.error().id == DiagnosticId::unsupportedFeature)
      GTEST_SKIP() << compiled.error().message;
    ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
    Result<dyn_module*> made = instantiate(*compiled);
    ASSERT_TRUE(made.ok());
    const ModuleHandle module(*made);
    FailingSystem system;
    {
      dyn_options options{};
      options.allocator_user = &system;
      options.allocate = FailingSystem::allocate;
      options.deallocate = FailingSystem::deallocate;
      const ContextHandle context = makeContext(module.get(), options), good = makeContext(module.get());
      const std::vector<int64_t> shape = {60'000, 4};  // too large for what the pool holds already
      const ValueHandle x = floatsOf(good.get(), shape);
      ASSERT_EQ(dyn_context_set_input(good.get(), 0, x.get()), DYN_OK);
      ASSERT_EQ(dyn_context_run(good.get()), DYN_OK) << dyn_last_message();
      const std::string expected = outputBytes(good.get());
      ASSERT_EQ(dyn_context_set_input(context.get(), 0, x.get()), DYN_OK);
      int failures = 0;
      for (int64_t k = 0;; ++k) {
        dyn_context_trim(context.get());
        system.countdown = k;
        const dyn_status status = dyn_context_run(context.get());
        system.countdown = INT64_MAX;
        if (status == DYN_OK) break;
        ASSERT_EQ(status, DYN_OUT_OF_MEMORY) << dyn_last_message();
        ++failures;
      }
      EXPECT_GE(failures, 1);
      EXPECT_TRUE(outputBytes(context.get()) == expected);
    }
    EXPECT_EQ(system.live, 0);
  }
}

}  // namespace
}  // namespace dyn::robustness
