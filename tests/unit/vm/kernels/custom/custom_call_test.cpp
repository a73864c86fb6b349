// Kernels of the host: what they are called with, what becomes of their errors, and how they are found.
#include <thread>

#include "tests/unit/vm/kernels/builtin_harness.h"
#include "vm/include/abi/dyn_custom_kernel.h"
#include "vm/include/dyn_custom_kernels.h"

namespace dyn::vm::test {
namespace {

std::vector<int32_t> named(std::string_view name) {
  std::vector<int32_t> numbers(1 + (name.size() + 3) / 4, 0);
  numbers[0] = static_cast<int32_t>(name.size());
  memcpy(numbers.data() + 1, name.data(), name.size());
  return numbers;
}

void add(std::initializer_list<DynCustomKernel> kernels) {
  auto* kept = new std::vector<DynCustomKernel>(kernels);  // they live as long as the process
  ASSERT_EQ(dyn_custom_kernels_add(kept->data(), static_cast<int32_t>(kept->size())), DYN_OK)
      << dyn_last_message();
}

// y = x * (the second argument, or 1) + the first element of the scratch memory, which it sets to 0.5.
int32_t scaledScratch(const DynBuiltinCall*, uint64_t* bytes) {
  *bytes = sizeof(float);
  return DYN_OK;
}
int32_t scaled(const DynBuiltinCall* call) {
  const DynTensorView &x = call->arguments[0], &factor = call->arguments[1], &y = call->results[0];
  if (call->numberCount != 0 || call->scalarCount != 0 || call->argumentCount != 2)
    return dyn_custom_fault(call, DYN_BAD_INPUT, "it gets more than its arguments");
  if (x.dtype != DYN_F32) return dyn_custom_fault(call, DYN_BAD_INPUT, "x must be f32");
  const float by = factor.dtype == DYN_NO_TENSOR ? 1.0f : *static_cast<const float*>(factor.data);
  auto* half = static_cast<float*>(call->scratch);
  *half = 0.5f;
  struct Work {
    const float *x, *half;
    float *y, by;
  } work{static_cast<const float*>(x.data), half, static_cast<float*>(y.data), by};
  const auto part = [](void* user, int64_t begin, int64_t end) {
    const Work& w = *static_cast<Work*>(user);
    for (int64_t i = begin; i < end; ++i) w.y[i] = w.x[i] * w.by + *w.half;
  };
  const int32_t threads = call->context->threads;
  if (threads > 1 && x.elements >= threads)
    call->context->parallel(call->context, x.elements, threads, part, &work);
  else
    part(&work, 0, x.elements);
  return DYN_OK;
}

class CustomCallTest : public BuiltinTest {
 protected:
  Status callNamed(std::string_view name, std::vector<Object*> arguments, std::vector<Object*> into) {
    return call("custom_call", std::move(arguments), {.numbers = named(name)}, std::move(into));
  }
};

TEST_F(CustomCallTest, AKernelGetsItsArgumentsAndScratchMemory) {
  add({{"test_scaled", {scaledScratch, scaled}}});
  for (const bool many : {false, true}) {
    threads_ = many ? &many_ : nullptr;
    Tensor *x = tensor<float>(DataType::f32, {5}, {1, 2, 3, 4, 5}),
           *by = tensor<float>(DataType::f32, {}, {2}), *y = output({5}), *z = output({5});
    ASSERT_EQ(callNamed("test_scaled", {x, by}, {y}).message, "");
    EXPECT_EQ(data<float>(y), (std::vector<float>{2.5f, 4.5f, 6.5f, 8.5f, 10.5f}));
    ASSERT_EQ(callNamed("test_scaled", {x, nullptr}, {z}).message, "");
    EXPECT_EQ(data<float>(z), (std::vector<float>{1.5f, 2.5f, 3.5f, 4.5f, 5.5f}));
    Tensor *none = tensor<float>(DataType::f32, {0}, {}), *still = output({0});
    EXPECT_EQ(callNamed("test_scaled", {none, by}, {still}).message, "");
  }
}

TEST_F(CustomCallTest, ErrorsKeepTheirTexts) {
  add({{"test_scaled", {scaledScratch, scaled}},
       {"test_throws", {nullptr, [](const DynBuiltinCall*) -> int32_t { throw 1; }}},
       {"test_exhausts", {nullptr, [](const DynBuiltinCall*) -> int32_t { throw std::bad_alloc(); }}},
       {"test_odd", {nullptr, [](const DynBuiltinCall*) -> int32_t { return 77; }}},
       {"test_refuses",
        {[](const DynBuiltinCall* call, uint64_t*) -> int32_t {
           return dyn_custom_fault(call, DYN_UNSUPPORTED, "so much memory");
         },
         [](const DynBuiltinCall*) -> int32_t { return DYN_OK; }}}});
  Tensor *x = tensor<int64_t>(DataType::i64, {1}, {1}), *y = output({1});
  const struct {
    const char* kernel;
    dyn_status code;
    const char* message;
  } cases[] = {{"test_scaled", DYN_BAD_INPUT, "x must be f32"},
               {"test_throws", DYN_KERNEL_FAULT, "the custom kernel threw an exception"},
               {"test_exhausts", DYN_OUT_OF_MEMORY, ""},
               {"test_odd", DYN_KERNEL_FAULT, "custom kernel test_odd returned 77, which is no dyn_status"},
               {"test_refuses", DYN_UNSUPPORTED, "so much memory"},
               {"test_absent", DYN_UNSUPPORTED,
                "no library that was loaded has the custom kernel test_absent (--ops LIBRARY, "
                "dyn_custom_kernels_load)"},
               {"", DYN_BAD_PROGRAM, "it names no kernel"}};
  for (const auto& each : cases) {
    const Status status = callNamed(each.kernel, {x, nullptr}, {y});
    EXPECT_EQ(status.code, each.code) << each.kernel;
    EXPECT_EQ(status.message, each.message);
  }
  const Status cut = call("custom_call", {x}, {.numbers = {40, 0}}, {y});
  EXPECT_EQ(cut.code, DYN_BAD_PROGRAM);
}

TEST(CustomKernels, TheLaterOneOfANameCounts) {
  const auto first = [](const DynBuiltinCall*) -> int32_t { return DYN_OK; };
  const auto second = [](const DynBuiltinCall*) -> int32_t { return DYN_BAD_INPUT; };
  EXPECT_EQ(dyn_custom_kernel_find("test_replaced"), nullptr);
  EXPECT_EQ(dyn_custom_kernel_find(nullptr), nullptr);
  add({{"test_replaced", {nullptr, first}}});
  EXPECT_EQ(dyn_custom_kernel_find("test_replaced")->run, DynBuiltinKernel({nullptr, first}).run);
  add({{"test_replaced", {nullptr, second}}});
  EXPECT_EQ(dyn_custom_kernel_find("test_replaced")->run, DynBuiltinKernel({nullptr, second}).run);
}

TEST(CustomKernels, WhatIsNoKernelIsRefusedWhole) {
  const auto run = [](const DynBuiltinCall*) -> int32_t { return DYN_OK; };
  const DynCustomKernel unnamed[] = {{"test_whole", {nullptr, run}}, {"", {nullptr, run}}},
                        empty[] = {{"test_whole", {nullptr, run}}, {"test_empty", {nullptr, nullptr}}};
  EXPECT_EQ(dyn_custom_kernels_add(unnamed, 2), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(dyn_last_message()), "invalid argument: custom kernel 1 has no name");
  EXPECT_EQ(dyn_custom_kernels_add(empty, 2), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(dyn_last_message()),
            "invalid argument: custom kernel 1, test_empty, has no function");
  EXPECT_EQ(dyn_custom_kernels_add(nullptr, 1), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(dyn_custom_kernels_add(empty, -1), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(dyn_custom_kernels_add(nullptr, 0), DYN_OK);
  EXPECT_EQ(dyn_custom_kernel_find("test_whole"), nullptr);
}

TEST(CustomKernels, WhatIsNoLibraryIsRefused) {
  EXPECT_EQ(dyn_custom_kernels_load(nullptr), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(dyn_custom_kernels_load(""), DYN_INVALID_ARGUMENT);
  EXPECT_EQ(dyn_custom_kernels_load("/nowhere/libnone.so"), DYN_IO_ERROR);
  EXPECT_NE(std::string(dyn_last_message()).find("/nowhere/libnone.so"), std::string::npos);
  EXPECT_EQ(dyn_custom_kernels_load("libm.so.6"), DYN_IO_ERROR) << "looked for in the system's folders";
}

// Found and added from many threads at once: for the thread sanitizer.
TEST(CustomKernels, ManyThreadsFindAndAdd) {
  static const DynCustomKernel kernels[] = {
      {"test_shared", {nullptr, [](const DynBuiltinCall*) -> int32_t { return DYN_OK; }}}};
  ASSERT_EQ(dyn_custom_kernels_add(kernels, 1), DYN_OK);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 200; ++i) {
        EXPECT_NE(dyn_custom_kernel_find("test_shared"), nullptr);
        EXPECT_EQ(dyn_custom_kernels_add(kernels, 1), DYN_OK);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace dyn::vm::test
