// oneDNN's rows against the same sums in f64: products and convolutions of many shapes, with epilogues;
// packing, memory, threads and refusals.
#include <gmock/gmock.h>

#include <filesystem>
#include <thread>

#include "tests/unit/vm/kernels/builtin_harness.h"
#include "vm/include/dyn_library.h"
#include "vm/onednn/onednn_primitives.h"

namespace dyn::vm::test {
namespace {

// result = max(result + rest, 0), counted in marks. Rows of scalars[0] elements; the last two scalars are the
// columns to be done.
int32_t addRestAndClamp(void* const* buffers, const int64_t* scalars, int64_t begin, int64_t end, void*) {
  const auto* rest = static_cast<const float*>(buffers[0]);
  auto *y = static_cast<float*>(buffers[1]), *marks = static_cast<float*>(buffers[2]);
  for (int64_t row = begin; row < end; ++row)
    for (int64_t at = row * scalars[0] + scalars[1]; at < row * scalars[0] + scalars[2]; ++at) {
      y[at] = std::max(y[at] + rest[at], 0.0f);
      marks[at] += 1;
    }
  return DYN_KERNEL_OK;
}
const KernelRow kAddRestAndClamp{"add_rest_and_clamp", "add_rest_and_clamp", 3, 3, 3, 0, ""};

class OneDnnTest : public BuiltinTest {
 protected:
  static const BuiltinRow& row(const char* name) {
    return *reinterpret_cast<const BuiltinRow*>(dyn_onednn_builtin(nullptr, name));
  }
  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  Tensor* doubles(const Tensor* of) {
    const std::vector<float> values = data<float>(of);
    return tensor<double>(DataType::f64, shape(of), {values.begin(), values.end()});
  }
  // expected: in f64, without the epilogue.
  void expectClose(const Tensor* y, const Tensor* expected, double depth, const std::string& what) {
    for (int64_t i = 0; i < y->elementCount; ++i)
      ASSERT_NEAR(y->as<float>()[i], expected->as<double>()[i], 1e-5 * (10 + depth)) << what << " at " << i;
  }
  // The call again with an epilogue: what it makes of the result without, each element done once.
  void expectEpilogue(const char* name, std::vector<Object*> arguments, Options options, const Tensor* plain,
                      int64_t columns) {
    Tensor *rest = floats(shape(plain)), *y = output(shape(plain)), *marks = output(shape(plain));
    std::fill_n(marks->as<float>(), marks->elementCount, 0.0f);
    arguments.push_back(rest);
    options.numbers.push_back(1);
    options.scalars.push_back(columns);
    options.kernels = {addRestAndClamp};
    options.rows = {kAddRestAndClamp};
    const Status status = call(row(name), arguments, options, {y, marks});
    ASSERT_TRUE(status.ok()) << status.toString();
    for (int64_t i = 0; i < y->elementCount; ++i) {
      ASSERT_EQ(y->as<float>()[i], std::max(plain->as<float>()[i] + rest->as<float>()[i], 0.0f));
      ASSERT_EQ(marks->as<float>()[i], 1.0f);
    }
  }
};

TEST_F(OneDnnTest, C31_productsOfManyShapes) {
  ASSERT_EQ(dyn_onednn_fault(), nullptr) << dyn_onednn_fault();
  const int64_t sizes[] = {0, 1, 2, 3, 7, 13, 16, 33, 64, 131, 260};
  for (int round = 0; round < 200; ++round) {
    const int64_t m = sizes[pick(0, 10)], n = sizes[pick(0, 10)],
                  k = round % 10 == 0 ? 1024 : sizes[pick(0, 10)];
    const bool transposed = round % 3 == 1, stacked = round % 4 == 1;
    threads_ = round % 5 == 4 ? &three_ : &single_;
    const std::string what = std::to_string(m) + "x" + std::to_string(k) + "x" + std::to_string(n);
    Tensor *a = floats(stacked ? std::vector<int64_t>{2, m, k} : std::vector<int64_t>{m, k}),
           *b = floats(transposed ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n});
    std::vector<int64_t> result_shape = shape(a);
    result_shape.back() = n;
    Tensor *c = output(result_shape), *expected = output(result_shape, DataType::f64);
    Status status = call("gemm", {doubles(a), doubles(b)}, {.numbers = {transposed ? 2 : 0}}, {expected});
    ASSERT_TRUE(status.ok()) << status.toString();
    status = call(row("onednn_gemm_pack"), {b}, {.numbers = {transposed}});
    ASSERT_TRUE(status.ok()) << status.toString();
    Tensor* packed = result();
    status = call(row("onednn_gemm"), {a, packed}, {.numbers = {4}}, {c});
    ASSERT_TRUE(status.ok()) << what << ": " << status.toString();
    expectClose(c, expected, static_cast<double>(k), what);
    expectEpilogue("onednn_gemm", {a, packed}, {.numbers = {4}}, c, n);
  }
}

TEST_F(OneDnnTest, C31_convolutionsOfManyWindows) {
  enum Kind { any, pointwise, grouped, depthwise, wide, deep };
  for (int round = 0; round < 240; ++round) {
    const auto kind = static_cast<Kind>(round % 6);
    const int64_t rank = kind == depthwise || kind == deep ? 2 : pick(1, 3);
    const int64_t groups = kind == depthwise ? pick(2, 40) : kind == grouped ? pick(2, 4) : 1;
    const int64_t channels = kind == depthwise ? 1 : kind == deep ? pick(16, 70) : pick(0, 9);
    const int64_t filters = kind == depthwise                   ? 1
                            : kind == wide || kind == deep      ? pick(13, 70)
                            : kind == grouped && round % 2 == 0 ? 16
                                                                : pick(1, 9);
    const bool still = kind == pointwise && round % 4 != 0;
    threads_ = round % 3 == 0 ? &three_ : &single_;
    std::vector<int64_t> xs{pick(0, 2), groups * channels}, ws{groups * filters, channels},
        ys{xs[0], groups * filters}, pads;
    std::vector<int32_t> numbers{static_cast<int32_t>(rank), static_cast<int32_t>(groups)}, dilations;
    double depth = static_cast<double>(channels);
    for (int64_t i = 0; i < rank; ++i) {
      const int64_t stride = still ? 1 : pick(1, 3), dilation = pick(1, 2), before = still ? 0 : pick(0, 3),
                    after = still ? 0 : pick(0, 3), kernel = kind == pointwise ? 1 : pick(1, 5),
                    reach = dilation * (kernel - 1) + 1;
      const int64_t in =
          std::max<int64_t>(pick(round % 7 == 0 ? 0 : 1, rank == 1 ? 70 : 17), reach - before - after);
      xs.push_back(in);
      ws.push_back(kernel);
      ys.push_back((in + before + after - reach) / stride + 1);
      pads.push_back(before);
      numbers.push_back(static_cast<int32_t>(stride));
      dilations.push_back(static_cast<int32_t>(dilation));
      depth *= static_cast<double>(kernel);
    }
    numbers.insert(numbers.end(), dilations.begin(), dilations.end());
    Tensor *x = floats(xs), *w = floats(ws), *bias = round % 2 ? floats({groups * filters}) : nullptr,
           *y = output(ys), *expected = output(ys, DataType::f64);
    const std::string what =
        "round " + std::to_string(round) + ": " + vm::describe(x) + " by " + vm::describe(w);
    Status status = call("conv", {doubles(x), doubles(w), bias ? doubles(bias) : nullptr},
                         {.scalars = pads, .numbers = numbers}, {expected});
    ASSERT_TRUE(status.ok()) << status.toString();
    status = call(row("onednn_conv_pack"), {w}, {.numbers = numbers});
    ASSERT_TRUE(status.ok()) << what << ": " << status.toString();
    Tensor* packed = result();
    for (int64_t size : ws) numbers.push_back(static_cast<int32_t>(size));
    status = call(row("onednn_conv"), {x, packed, bias}, {.scalars = pads, .numbers = numbers}, {y});
    ASSERT_TRUE(status.ok()) << what << ": " << status.toString();
    expectClose(y, expected, depth, what);
    int64_t positions = 1;
    for (size_t i = 2; i < ys.size(); ++i) positions *= ys[i];
    expectEpilogue("onednn_conv", {x, packed, bias}, {.scalars = pads, .numbers = numbers}, y, positions);
  }
}

// The layout of weights is that for images of middle size; on others the library may have nothing for it but
// its slow reference.
TEST_F(OneDnnTest, shapesThatWantOtherLayoutsHaveWeightsReorderedNotTheReference) {
  for (int64_t size : {1, 2, 3, 5, 7, 14, 38, 75}) {
    for (int64_t kernel : {1, 3}) {
      kernels::Convolution c;
      c.rank = 2;
      c.channels = c.filters = 64;
      c.kernel = {1, kernel, kernel};
      c.batch = 1;
      c.input = c.output = {1, size, size};
      c.pad = {0, kernel / 2, kernel / 2};
      const std::shared_ptr<const onednn::Prepared> made = onednn::prepared(c, false, 1);
      ASSERT_NE(made, nullptr);
      EXPECT_THAT(made->implementation(), testing::Not(testing::StartsWith("ref"))) << size << " " << kernel;
    }
  }
  for (int64_t rows : {1, 2, 17, 64, 1000}) {
    const auto made = onednn::prepared({rows, 70, 37}, 1);
    ASSERT_NE(made, nullptr);
    EXPECT_THAT(made->implementation(), testing::Not(testing::StartsWith("ref"))) << rows;
    EXPECT_EQ(made, onednn::prepared({rows, 70, 37}, 1)) << "made once";
    EXPECT_NE(made, onednn::prepared({rows, 70, 37}, 2)) << "for each number of threads";
  }
}

int64_t threadsOfProcess() {
  int64_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

// What a context allows is what is used, also by several contexts at once, and the caller's own setting comes
// back.
TEST_F(OneDnnTest, oneThreadMeansOneThread) {
  Tensor *a = floats({300, 400}), *b = floats({400, 500});
  ASSERT_TRUE(call(row("onednn_gemm_pack"), {b}, {.numbers = {0}}).ok());
  Tensor *packed = result(), *c = output({300, 500});
  const int before = onednn::api().threads ? onednn::api().threads() : 0;
  int64_t after = 0, largest = 0;
  // In a thread that has asked for nothing parallel yet, and so has no helpers that wait.
  std::thread([&] {
    const int64_t threads = threadsOfProcess();
    ASSERT_TRUE(call(row("onednn_gemm"), {a, packed}, {.numbers = {4}}, {c}).ok());
    after = threadsOfProcess() - threads;
    threads_ = &three_;
    ASSERT_TRUE(call(row("onednn_gemm"), {a, packed}, {.numbers = {4}}, {c}).ok());
    largest = threadsOfProcess() - threads;
  }).join();
  EXPECT_EQ(after, 0);
  if (onednn::api().threads) {
    EXPECT_EQ(largest, 2);
    EXPECT_EQ(onednn::api().threads(), before);
  }
}

TEST_F(OneDnnTest, severalThreadsMayUseTheSamePrimitive) {
  constexpr int64_t kRows = 33, kDepth = 65, kColumns = 40;
  Tensor *a = floats({kRows, kDepth}), *b = floats({kDepth, kColumns}), *first = output({kRows, kColumns});
  ASSERT_TRUE(call(row("onednn_gemm_pack"), {b}, {.numbers = {0}}).ok());
  Tensor* packed = result();
  ASSERT_TRUE(call(row("onednn_gemm"), {a, packed}, {.numbers = {4}}, {first}).ok());
  const std::vector<float> expected = data<float>(first);
  std::vector<std::vector<float>> results(4, std::vector<float>(expected.size()));
  std::vector<std::thread> threads;
  for (std::vector<float>& mine : results)
    threads.emplace_back([&, a, packed] {
      for (int64_t rows = 1; rows <= kRows; ++rows) {
        const auto made = onednn::prepared({rows, kDepth, kColumns}, 1);
        std::vector<float> scratch(static_cast<size_t>(made->scratchElements()) + 16);
        void* aligned = scratch.data();
        size_t room = scratch.size() * sizeof(float);
        std::align(64, room - 60, aligned, room);
        EXPECT_TRUE(
            made->run(a->as<float>(), packed->as<float>(), nullptr, mine.data(), static_cast<float*>(aligned))
                .ok());
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<float>& mine : results)
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(mine[i], expected[i], 1e-4);
}

TEST_F(OneDnnTest, whatDoesNotFitIsAnError) {
  EXPECT_EQ(dyn_onednn_builtin(nullptr, "onednn_pool"), nullptr);
  Tensor *a = floats({3, 4}), *b = floats({4, 5}), *c = output({3, 5}), *wrong = output({3, 6});
  ASSERT_TRUE(call(row("onednn_gemm_pack"), {b}, {.numbers = {0}}).ok());
  Tensor* packed = result();
  EXPECT_EQ(call(row("onednn_gemm"), {a, b}, {.numbers = {4}}, {wrong}).code, DYN_BAD_INPUT);
  EXPECT_EQ(call(row("onednn_gemm"), {a, packed}, {.numbers = {0}}, {c}).code, DYN_BAD_PROGRAM);
  EXPECT_EQ(call(row("onednn_gemm"), {a, packed}, {.numbers = {4}}, {output({4, 5})}).code, DYN_BAD_INPUT);
  EXPECT_EQ(call(row("onednn_gemm_pack"), {doubles(b)}, {.numbers = {0}}).code, DYN_BAD_INPUT);
  // Elements that are cut off before the first window: the library has no word for it.
  Tensor *x = floats({1, 2, 9, 9}), *w = floats({3, 2, 3, 3}), *y = output({1, 3, 6, 6});
  ASSERT_TRUE(call(row("onednn_conv_pack"), {w}, {.numbers = {2, 1, 1, 1, 1, 1}}).ok());
  packed = result();
  EXPECT_EQ(call(row("onednn_conv"), {x, packed},
                 {.scalars = {-1, -1}, .numbers = {2, 1, 1, 1, 1, 1, 3, 2, 3, 3}}, {y})
                .code,
            DYN_UNSUPPORTED);
  EXPECT_EQ(call(row("onednn_conv"), {x, floats({7})},
                 {.scalars = {0, 0}, .numbers = {2, 1, 1, 1, 1, 1, 3, 2, 3, 3}}, {output({1, 3, 7, 7})})
                .code,
            DYN_BAD_INPUT);
}

}  // namespace
}  // namespace dyn::vm::test
