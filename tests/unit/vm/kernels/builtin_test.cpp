// Hand-written operators against naive oracles, on random shapes that include 0, 1 and primes.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/unit/vm/kernels/builtin_harness.h"
#include "vm/core/builtin/gemm_schedule.h"
#include "vm/kernels/dispatch.h"
#include "vm/kernels/gemm/gemm.h"

namespace dyn::vm::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<double> productOf(const Tensor* a, const Tensor* b, int64_t rows, int64_t columns, int64_t depth,
                              bool transposeA, bool transposeB) {
  std::vector<double> c(static_cast<size_t>(rows * columns), 0);
  for (int64_t m = 0; m < rows; ++m)
    for (int64_t n = 0; n < columns; ++n)
      for (int64_t k = 0; k < depth; ++k)
        c[static_cast<size_t>(m * columns + n)] +=
            static_cast<double>(a->as<float>()[transposeA ? k * rows + m : m * depth + k]) *
            static_cast<double>(b->as<float>()[transposeB ? n * depth + k : k * columns + n]);
  return c;
}

TEST_F(BuiltinTest, gemmEqualsTheNaiveProduct) {
  const int64_t sizes[] = {0, 1, 2, 3, 7, 13, 16, 33, 64, 131};
  std::uniform_int_distribution<size_t> pick(0, std::size(sizes) - 1);
  for (int round = 0; round < 150; ++round) {
    const int64_t m = sizes[pick(random_)], n = sizes[pick(random_)],
                  k = round % 10 == 0 ? 1024 : sizes[pick(random_)];
    const bool transposeA = round % 2 == 1, transposeB = round % 3 == 1, packed = round % 3 == 2;
    threads_ = round % 4 == 3 ? &three_ : &single_;
    Tensor* a = floats(transposeA ? std::vector<int64_t>{k, m} : std::vector<int64_t>{m, k});
    Tensor* b = floats(transposeB ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n});
    Tensor* c = output({m, n});
    Tensor* right = b;
    if (packed) {
      ASSERT_TRUE(call("gemmpack", {b}, {.numbers = {0}}).ok());
      right = result();
    }
    const int32_t flags = (transposeA ? 1 : 0) | (transposeB ? 2 : 0) | (packed ? 4 : 0);
    const Status status = call("gemm", {a, right}, {.numbers = {flags}}, {c});
    ASSERT_TRUE(status.ok()) << status.toString();
    const std::vector<double> expected = productOf(a, b, m, n, k, transposeA, transposeB);
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(c->as<float>()[i], expected[i], 1e-4)
          << m << "x" << n << "x" << k << " flags " << flags << " at " << i;
  }
}

TEST_F(BuiltinTest, gemmPacksTransposedB) {
  Tensor *a = floats({5, 17}), *b = floats({40, 17}), *c = output({5, 40});
  ASSERT_TRUE(call("gemmpack", {b}, {.numbers = {1}}).ok());
  ASSERT_TRUE(call("gemm", {a, result()}, {.numbers = {4}}, {c}).ok());
  const std::vector<double> expected = productOf(a, b, 5, 40, 17, false, true);
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(c->as<float>()[i], expected[i], 1e-5);
}

TEST_F(BuiltinTest, gemmIsTheSameForEveryThreadCountAndRowCount) {
  Tensor *a = floats({37, 2050}), *b = floats({2050, 70}), *one = output({37, 70}), *three = output({37, 70}),
         *tall = output({37, 70});
  ASSERT_TRUE(call("gemm", {a, b}, {.numbers = {0}}, {one}).ok());
  threads_ = &three_;
  ASSERT_TRUE(call("gemm", {a, b}, {.numbers = {0}}, {three}).ok());
  EXPECT_EQ(memcmp(one->data, three->data, one->sizeBytes()), 0);
  ASSERT_TRUE(call("gemmpack", {b}, {.numbers = {0}}).ok());
  Tensor* packed = result();
  for (int64_t row = 0; row < 37; ++row) {
    Tensor *left = tensor<float>(
               DataType::f32, {1, 2050},
               std::vector<float>(a->as<float>() + row * 2050, a->as<float>() + (row + 1) * 2050)),
           *c = output({1, 70});
    ASSERT_TRUE(call("gemm", {left, packed}, {.numbers = {4}}, {c}).ok());
    memcpy(tall->as<float>() + row * 70, c->data, c->sizeBytes());
  }
  EXPECT_EQ(memcmp(one->data, tall->data, one->sizeBytes()), 0);
}

// Blocks of depth add in the same order: a schedule that the program names changes no bit.
TEST_F(BuiltinTest, gemmIsTheSameForEverySchedule) {
  for (const bool transposed : {false, true}) {
    Tensor *a = floats(transposed ? std::vector<int64_t>{1600, 131} : std::vector<int64_t>{131, 1600}),
           *b = floats({1600, 70}), *expected = output({131, 70});
    const int32_t flags = transposed ? 1 : 0;
    ASSERT_TRUE(call("gemm", {a, b}, {.numbers = {flags}}, {expected}).ok());
    for (ThreadPool* threads : pools_) {
      threads_ = threads;
      for (int32_t schedule = 0; schedule < 24; ++schedule) {
        Tensor* c = output({131, 70});
        const Status status =
            call("gemm", {a, b}, {.numbers = {flags | 16, 1, schedule + 1, INT32_MAX}}, {c});
        ASSERT_TRUE(status.ok()) << status.toString();
        EXPECT_EQ(memcmp(c->data, expected->data, c->sizeBytes()), 0) << "schedule " << schedule;
      }
      Tensor* c = output({131, 70});
      // Up to 130 rows one schedule, by cost above.
      ASSERT_TRUE(call("gemm", {a, b}, {.numbers = {flags | 16, 2, 11, 130, 0, INT32_MAX}}, {c}).ok());
      EXPECT_EQ(memcmp(c->data, expected->data, c->sizeBytes()), 0);
      for (const std::vector<int32_t>& wrong :
           {std::vector<int32_t>{1, 25, INT32_MAX}, {1, -1, INT32_MAX}, {2, 1, INT32_MAX}, {0}, {9}, {}}) {
        std::vector<int32_t> all{flags | 16};
        all.insert(all.end(), wrong.begin(), wrong.end());
        EXPECT_EQ(call("gemm", {a, b}, {.numbers = all}, {c}).code, DYN_BAD_PROGRAM);
      }
    }
  }
}

TEST(ScheduleCacheTest, remembersWhatTheCostsSay) {
  kernels::ScheduleCache cache;
  const contraction::ProductMachine machine = kernels::productMachine(14, 32);
  for (int round = 0; round < 2; ++round)
    for (int64_t rows : {1, 15, 1000})
      for (int64_t tasks : {1, 2}) {
        const contraction::ProductShape shape{rows, 768, 3072, tasks, rows == 15};
        EXPECT_EQ(cache.find(shape, 14, 32), contraction::cheapestSchedule(shape, machine));
      }
}

TEST_F(BuiltinTest, gemmBroadcastsBatches) {
  for (ThreadPool* threads : pools_) {
    threads_ = threads;
    Tensor *a = floats({4, 1, 5, 6}), *b = floats({3, 6, 7}), *c = output({4, 3, 5, 7});
    const Status status = call("gemm", {a, b}, {.numbers = {0}}, {c});
    ASSERT_TRUE(status.ok()) << status.toString();
    for (int64_t i = 0; i < 12; ++i)
      for (int64_t m = 0; m < 5; ++m)
        for (int64_t n = 0; n < 7; ++n) {
          double sum = 0;
          for (int64_t k = 0; k < 6; ++k)
            sum += static_cast<double>(a->as<float>()[(i / 3 * 5 + m) * 6 + k]) *
                   static_cast<double>(b->as<float>()[(i % 3 * 6 + k) * 7 + n]);
          ASSERT_NEAR(c->as<float>()[(i * 5 + m) * 7 + n], sum, 1e-5);
        }
  }
  Tensor *a = floats({4, 5, 6}), *b = floats({6, 7}), *c = output({4, 5, 7});
  ASSERT_TRUE(call("gemm", {a, b}, {.numbers = {0}}, {c}).ok());
  const std::vector<double> expected = productOf(a, b, 20, 7, 6, false, false);
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(c->as<float>()[i], expected[i], 1e-5);
}

// Attention's products: q [b, s, h, d] and k [b, t, h, d] to scores [b, h, s, t]; scores and v [b, t, h, d]
// to [b, s, h, d].
TEST_F(BuiltinTest, gemmReadsAndWritesAxesInAnyOrder) {
  const int64_t sizes[] = {0, 1, 2, 3, 5, 37, 70};
  std::uniform_int_distribution<size_t> pick(0, std::size(sizes) - 1);
  for (int round = 0; round < 60; ++round) {
    threads_ = round % 2 ? &three_ : &single_;
    const int64_t b = 1 + round % 2, h = 3, s = sizes[pick(random_)], t = sizes[pick(random_)],
                  d = round % 3 ? 8 : sizes[pick(random_)];
    Tensor *q = floats({b, s, h, d}), *k = floats({b, t, h, d}), *v = floats({b, t, h, d}),
           *scores = output({b, h, s, t}), *mixed = output({b, s, h, d});
    Status status = call("gemm", {q, k}, {.numbers = {10, 0, 0, 2, 1, 3, 0, 2, 1, 3, 0, 1, 2, 3}}, {scores});
    ASSERT_TRUE(status.ok()) << status.toString();
    status = call("gemm", {scores, v}, {.numbers = {8, 0, 0, 1, 2, 3, 0, 2, 1, 3, 0, 2, 1, 3}}, {mixed});
    ASSERT_TRUE(status.ok()) << status.toString();
    auto at = [&](const Tensor* x, int64_t i0, int64_t i1, int64_t i2, int64_t i3) {
      const int64_t* n = x->shape();
      return static_cast<double>(x->as<float>()[((i0 * n[1] + i1) * n[2] + i2) * n[3] + i3]);
    };
    for (int64_t i = 0; i < b * h * s; ++i) {
      const int64_t batch = i / (h * s), head = i / s % h, row = i % s;
      for (int64_t j = 0; j < t; ++j) {
        double sum = 0;
        for (int64_t e = 0; e < d; ++e) sum += at(q, batch, row, head, e) * at(k, batch, j, head, e);
        ASSERT_NEAR(at(scores, batch, head, row, j), sum, 1e-4) << s << " " << t << " " << d;
      }
      for (int64_t e = 0; e < d; ++e) {
        double sum = 0;
        for (int64_t j = 0; j < t; ++j) sum += at(scores, batch, head, row, j) * at(v, batch, j, head, e);
        ASSERT_NEAR(at(mixed, batch, row, head, e), sum, 1e-3) << s << " " << t << " " << d;
      }
    }
  }
  Tensor *a = floats({2, 2}), *c = output({2, 2});
  EXPECT_EQ(call("gemm", {a, a}, {.numbers = {8, 0, 0, 1, 0, 0, 0, 1}}, {c}).code, DYN_BAD_PROGRAM);
  EXPECT_EQ(call("gemm", {a, a}, {.numbers = {8, 0, 0, 1}}, {c}).code, DYN_BAD_PROGRAM);
  EXPECT_EQ(call("gemm", {a, a}, {.numbers = {8, 0, 0, 1, 0, 1, 1, 0}}, {c}).code, DYN_BAD_PROGRAM);
}

TEST_F(BuiltinTest, gemmOnOtherTypes) {
  Tensor *a = tensor<double>(DataType::f64, {2, 2}, {1, 2, 3, 4}), *c = output({2, 2}, DataType::f64);
  ASSERT_TRUE(call("gemm", {a, a}, {.numbers = {2}}, {c}).ok());
  EXPECT_THAT(data<double>(c), ElementsAre(5, 11, 11, 25));
  Tensor *i = tensor<int32_t>(DataType::i32, {1, 2}, {-3, 4}),
         *j = tensor<int32_t>(DataType::i32, {2, 1}, {5, -6}), *k = output({1, 1}, DataType::i32);
  ASSERT_TRUE(call("gemm", {i, j}, {.numbers = {0}}, {k}).ok());
  EXPECT_THAT(data<int32_t>(k), ElementsAre(-39));
  Tensor *u = tensor<uint64_t>(DataType::u64, {1, 1}, {7}), *v = output({1, 1}, DataType::u64);
  ASSERT_TRUE(call("gemm", {u, u}, {.numbers = {0}}, {v}).ok());
  EXPECT_THAT(data<uint64_t>(v), ElementsAre(49));
  Tensor* h = tensor<uint16_t>(DataType::f16, {1, 1}, {0});
  EXPECT_EQ(call("gemm", {h, h}, {.numbers = {0}}, {h}).code, DYN_UNSUPPORTED);
  EXPECT_EQ(call("gemm", {a, floats({2, 2})}, {.numbers = {0}}, {c}).code, DYN_BAD_INPUT);
}

// C[i, j] = max(C[i, j] + bias[j], 0), counted once per element in `marks`.
int32_t biasRelu(void* const* buffers, const int64_t* scalars, int64_t begin, int64_t end, void*) {
  const auto* bias = static_cast<const float*>(buffers[0]);
  auto *c = static_cast<float*>(buffers[1]), *marks = static_cast<float*>(buffers[2]);
  for (int64_t row = begin; row < end; ++row)
    for (int64_t column = scalars[1]; column < scalars[2]; ++column) {
      float& x = c[row * scalars[0] + column];
      x = std::max(x + bias[column], 0.0f);
      marks[row * scalars[0] + column] += 1;
    }
  return DYN_KERNEL_OK;
}

TEST_F(BuiltinTest, gemmCallsTheEpilogueOncePerElement) {
  const KernelRow row{"bias_relu", "bias_relu", 3, 2, 3, 0, ""};
  for (ThreadPool* threads : pools_) {
    threads_ = threads;
    for (const auto& [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{100, 70, 1700},
                                  {2, 70, 30},
                                  {300, 5, 900},
                                  {4, 4, 0},
                                  {5000, 1, 67}}) {
      Tensor *a = floats({m, k}), *b = floats({k, n}), *bias = floats({n}), *c = output({m, n}),
             *marks = output({m, n});
      std::fill_n(marks->as<float>(), m * n, 0.0f);
      const Status status =
          call("gemm", {a, b, bias},
               {.scalars = {n}, .numbers = {0, 1}, .kernels = {biasRelu}, .rows = {row}}, {c, marks});
      ASSERT_TRUE(status.ok()) << status.toString();
      const std::vector<double> expected = productOf(a, b, m, n, k, false, false);
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_NEAR(
            c->as<float>()[i],
            std::max(expected[i] + static_cast<double>(bias->as<float>()[i % static_cast<size_t>(n)]), 0.0),
            1e-3);
        ASSERT_EQ(marks->as<float>()[i], 1.0f);
      }
    }
  }
  Tensor *a = floats({2, 2}), *c = output({2, 2});
  EXPECT_EQ(call("gemm", {a, a, a}, {.numbers = {0, 1}, .kernels = {biasRelu}, .rows = {row}}, {c}).code,
            DYN_BAD_PROGRAM);
  EXPECT_EQ(call("gemm", {a, a}, {.numbers = {0, 9}}, {c}).code, DYN_BAD_PROGRAM);
}

TEST_F(BuiltinTest, sortAndTopk) {
  const float nan = NAN;
  Tensor* x = tensor<float>(DataType::f32, {2, 4}, {3, nan, 1, 3, -1, -2, 0, 5});
  ASSERT_TRUE(call("sort", {x}, {.numbers = {-1, 0}, .results = 2}).ok());
  EXPECT_THAT(data<int64_t>(result(1)), ElementsAre(2, 0, 3, 1, 1, 0, 2, 3));
  ASSERT_TRUE(call("sort", {x}, {.numbers = {1, 1}, .results = 2}).ok());
  EXPECT_THAT(data<int64_t>(result(1)), ElementsAre(1, 0, 3, 2, 3, 2, 0, 1));
  ASSERT_TRUE(call("topk", {x}, {.scalars = {1}, .numbers = {0, 3}, .results = 2}).ok());
  EXPECT_THAT(shape(result(0)), ElementsAre(1, 4));
  EXPECT_THAT(data<int64_t>(result(1)), ElementsAre(0, 0, 0, 1));
  EXPECT_EQ(call("topk", {x}, {.scalars = {5}, .numbers = {1, 3}}).code, DYN_OUT_OF_RANGE);
  ASSERT_TRUE(call("topk", {x}, {.scalars = {0}, .numbers = {1, 3}}).ok());
  EXPECT_THAT(shape(result(0)), ElementsAre(2, 0));
}

TEST_F(BuiltinTest, topkEqualsAFullSort) {
  for (int64_t size : {1, 2, 31, 1000, 4099})
    for (int64_t k : {int64_t{0}, int64_t{1}, size / 20, size / 2, size}) {
      Tensor* x = floats({3, size});
      for (int64_t i = 0; i < 3 * size; i += 3) x->as<float>()[i] = 0.25f;  // ties
      for (int32_t largest : {0, 1}) {
        ASSERT_TRUE(call("topk", {x}, {.scalars = {k}, .numbers = {-1, largest | 2}, .results = 2}).ok());
        for (int64_t row = 0; row < 3; ++row) {
          std::vector<int64_t> order(static_cast<size_t>(size));
          std::iota(order.begin(), order.end(), 0);
          const float* from = x->as<float>() + row * size;
          std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
            return largest ? from[a] > from[b] : from[a] < from[b];
          });
          for (int64_t i = 0; i < k; ++i) {
            ASSERT_EQ(result(1)->as<int64_t>()[row * k + i], order[static_cast<size_t>(i)]);
            ASSERT_EQ(result(0)->as<float>()[row * k + i], from[order[static_cast<size_t>(i)]]);
          }
        }
      }
    }
}

// All element types, rows and columns: the places are those of a stable sort, with NaN above all numbers and
// -0 equal to +0.
TEST_F(BuiltinTest, selectionOfEveryType) {
  const auto checkOf = [&]<typename T>(DataType dtype, const std::vector<T>& values, auto valueOf) {
    const auto size = static_cast<int64_t>(values.size()) / 3;
    for (bool isColumn : {false, true})
      for (int64_t k : {int64_t{1}, int64_t{10}, size / 4, size})
        for (int32_t largest : {0, 1}) {
          Tensor* x =
              tensor(dtype, isColumn ? std::vector<int64_t>{size, 3} : std::vector<int64_t>{3, size}, values);
          ASSERT_TRUE(
              call("topk", {x}, {.scalars = {k}, .numbers = {isColumn ? 0 : 1, largest}, .results = 2}).ok());
          for (int64_t row = 0; row < 3; ++row) {
            const auto at = [&](int64_t i, int64_t count) {
              return static_cast<size_t>(isColumn ? i * 3 + row : row * count + i);
            };
            std::vector<int64_t> order(static_cast<size_t>(size));
            std::iota(order.begin(), order.end(), 0);
            std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
              const auto u = valueOf(values[at(a, size)]), v = valueOf(values[at(b, size)]);
              return largest ? (u > v || (u != u && v == v)) : (u < v || (v != v && u == u));
            });
            for (int64_t i = 0; i < k; ++i)
              ASSERT_EQ(result(1)->as<int64_t>()[at(i, k)], order[static_cast<size_t>(i)])
                  << text(dtype) << " k " << k << " largest " << largest << " column " << isColumn;
          }
        }
  };
  const auto same = [](auto value) { return value; };
  const auto integers = [&]<typename T>(DataType dtype) {
    std::vector<T> values(3 * 1200);
    for (T& value : values) value = static_cast<T>(random_());
    values[7] = std::numeric_limits<T>::min();
    values[8] = std::numeric_limits<T>::max();
    checkOf(dtype, values, same);
  };
  integers.operator()<int8_t>(DataType::i8);
  integers.operator()<uint8_t>(DataType::u8);
  integers.operator()<int16_t>(DataType::i16);
  integers.operator()<uint16_t>(DataType::u16);
  integers.operator()<int32_t>(DataType::i32);
  integers.operator()<uint32_t>(DataType::u32);
  integers.operator()<int64_t>(DataType::i64);
  integers.operator()<uint64_t>(DataType::u64);
  const auto reals = [&]<typename T>(DataType dtype) {
    std::vector<T> values(3 * 1200);
    for (T& value : values) value = static_cast<T>(static_cast<double>(random_() % 2001) / 100 - 10);
    values[5] = values[17] = std::numeric_limits<T>::quiet_NaN();
    values[18] = -std::numeric_limits<T>::quiet_NaN();
    values[6] = -std::numeric_limits<T>::infinity();
    values[16] = std::numeric_limits<T>::infinity();
    values[3] = T(-0.0);
    values[4] = T(0.0);
    checkOf(dtype, values, same);
  };
  reals.operator()<float>(DataType::f32);
  reals.operator()<double>(DataType::f64);
  std::vector<uint16_t> halves(3 * 1200);
  for (uint16_t& half : halves) half = static_cast<uint16_t>(random_());
  checkOf(DataType::f16, halves, [](uint16_t bits) { return kernels::halfToFloat(bits); });
  checkOf(DataType::bf16, halves, [](uint16_t bits) { return kernels::bfloatToFloat(bits); });
}

TEST_F(BuiltinTest, nonzeroCompressRange) {
  ASSERT_TRUE(call("nonzero", {tensor<float>(DataType::f32, {2, 3}, {0, 1, -0.0f, 2, 0, 3})}).ok());
  EXPECT_THAT(shape(result()), ElementsAre(2, 3));
  EXPECT_THAT(data<int64_t>(result()), ElementsAre(0, 1, 1, 1, 0, 2));
  ASSERT_TRUE(call("nonzero", {tensor<uint8_t>(DataType::boolean, {}, {1})}).ok());
  EXPECT_THAT(shape(result()), ElementsAre(0, 1));
  Tensor *x = tensor<int32_t>(DataType::i32, {3, 2}, {1, 2, 3, 4, 5, 6}),
         *mask = tensor<uint8_t>(DataType::boolean, {2}, {0, 1});
  ASSERT_TRUE(call("compress", {x, mask}, {.numbers = {1}}).ok());
  EXPECT_THAT(data<int32_t>(result()), ElementsAre(2, 4, 6));
  ASSERT_TRUE(call("compress", {x, mask}, {.numbers = {0}}).ok());
  EXPECT_THAT(data<int32_t>(result()), ElementsAre(3, 4));
  ASSERT_TRUE(call("compress", {x, mask}).ok());
  EXPECT_THAT(data<int32_t>(result()), ElementsAre(2));
  Tensor* longer = tensor<uint8_t>(DataType::boolean, {3}, {0, 0, 1});
  EXPECT_EQ(call("compress", {x, longer}, {.numbers = {1}}).code, DYN_OUT_OF_RANGE);
  auto one = [&](int64_t v) { return tensor<int64_t>(DataType::i64, {}, {v}); };
  ASSERT_TRUE(call("range", {one(10), one(4), one(-2)}).ok());
  EXPECT_THAT(data<int64_t>(result()), ElementsAre(10, 8, 6));
  ASSERT_TRUE(call("range", {one(1), one(1), one(1)}).ok());
  EXPECT_THAT(shape(result()), ElementsAre(0));
  EXPECT_EQ(call("range", {one(1), one(2), one(0)}).code, DYN_ARITHMETIC);
  EXPECT_EQ(call("range", {one(INT64_MIN), one(INT64_MAX), one(1)}).code, DYN_ARITHMETIC);
  auto real = [&](float v) { return tensor<float>(DataType::f32, {}, {v}); };
  ASSERT_TRUE(call("range", {real(1), real(2), real(0.5f)}).ok());
  EXPECT_THAT(data<float>(result()), ElementsAre(1, 1.5f));
}

TEST_F(BuiltinTest, cumsum) {
  Tensor* x = tensor<float>(DataType::f32, {2, 3}, {1, 2, 3, 4, 5, 6});
  ASSERT_TRUE(call("cumsum", {x}, {.scalars = {1}, .numbers = {0}}).ok());
  EXPECT_THAT(data<float>(result()), ElementsAre(1, 3, 6, 4, 9, 15));
  ASSERT_TRUE(call("cumsum", {x}, {.scalars = {-2}, .numbers = {2}}).ok());
  EXPECT_THAT(data<float>(result()), ElementsAre(5, 7, 9, 4, 5, 6));
  ASSERT_TRUE(call("cumsum", {x}, {.scalars = {1}, .numbers = {3}}).ok());
  EXPECT_THAT(data<float>(result()), ElementsAre(5, 3, 0, 11, 6, 0));
  EXPECT_EQ(call("cumsum", {x}, {.scalars = {2}}).code, DYN_BAD_INPUT);
}

// Rows one at a time, several at a time and what is left of them, short and long.
TEST_F(BuiltinTest, cumsumOfRows) {
  for (const int64_t outer : {1, 2})
    for (const int64_t size : {0, 1, 3, 4, 5, 9})
      for (const int64_t inner : {2, 7, 255, 256, 301}) {
        std::vector<int32_t> numbers(static_cast<size_t>(outer * size * inner));
        for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int32_t>(i * 7 % 11) - 5;
        Tensor* x = tensor<int32_t>(DataType::i32, {outer, size, inner}, numbers);
        for (const int32_t flags : {0, 1, 2, 3}) {
          ASSERT_TRUE(call("cumsum", {x}, {.scalars = {1}, .numbers = {flags}}).ok());
          const std::vector<int32_t> sums = data<int32_t>(result());
          for (int64_t o = 0; o < outer; ++o)
            for (int64_t i = 0; i < inner; ++i) {
              int32_t sum = 0;
              for (int64_t step = 0; step < size; ++step) {
                const int64_t row = (flags & 2) != 0 ? size - 1 - step : step;
                const auto at = static_cast<size_t>((o * size + row) * inner + i);
                const int32_t before = sum;
                sum += numbers[at];
                ASSERT_EQ(sums[at], (flags & 1) != 0 ? before : sum)
                    << size << " rows of " << inner << ", flags " << flags << ", row " << row;
              }
            }
        }
      }
}

TEST_F(BuiltinTest, nms) {
  Tensor* boxes = tensor<float>(
      DataType::f32, {1, 6, 4},
      {0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 0, -0.1f, 1, 0.9f, 0, 10, 1, 11, 0, 10.1f, 1, 11.1f, 0, 100, 1, 101});
  Tensor* scores = tensor<float>(DataType::f32, {1, 1, 6}, {0.9f, 0.75f, 0.6f, 0.95f, 0.5f, 0.3f});
  Tensor *three = tensor<int64_t>(DataType::i64, {}, {3}), *iou = tensor<float>(DataType::f32, {}, {0.5f}),
         *least = tensor<float>(DataType::f32, {}, {0.4f});
  ASSERT_TRUE(call("nms", {boxes, scores, three, iou, nullptr}).ok());
  EXPECT_THAT(data<int64_t>(result()), ElementsAre(0, 0, 3, 0, 0, 0, 0, 0, 5));
  ASSERT_TRUE(call("nms", {boxes, scores, three, iou, least}).ok());
  EXPECT_THAT(data<int64_t>(result()), ElementsAre(0, 0, 3, 0, 0, 0));
  ASSERT_TRUE(call("nms", {boxes, scores}).ok());
  EXPECT_THAT(shape(result()), ElementsAre(0, 3)) << "the default of max_output_boxes_per_class is 0";
  Tensor* centers = tensor<float>(DataType::f32, {1, 2, 4}, {0.5f, 0.5f, 1, 1, 0.5f, 0.6f, 1, 1});
  ASSERT_TRUE(call("nms", {centers, tensor<float>(DataType::f32, {1, 1, 2}, {0.1f, 0.2f}), three, iou},
                   {.numbers = {1}})
                  .ok());
  EXPECT_THAT(data<int64_t>(result()), ElementsAre(0, 0, 1));
}

// Many boxes, so that they come in several sorted parts; equal scores, scores that are no number, boxes
// without area.
TEST_F(BuiltinTest, nmsKeepsWhatTheSimpleAlgorithmKeeps) {
  for (int64_t count : {1, 15, 17, 300, 3000}) {
    Tensor *boxes = floats({1, count, 4}), *scores = floats({1, 1, count});
    float *box = boxes->as<float>(), *score = scores->as<float>();
    for (int64_t i = 0; i < count; ++i) {
      score[i] = std::round(score[i] * 20) / 20;
      if (i % 97 == 5) score[i] = NAN;
      if (i % 31 == 3) box[i * 4 + 2] = box[i * 4];
    }
    std::vector<int64_t> order(static_cast<size_t>(count)), kept;
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return std::isnan(score[b]) ? !std::isnan(score[a]) : score[a] > score[b];
    });
    auto overlap = [&](int64_t a, int64_t b) {
      float common = 1, areas[2] = {1, 1};
      for (int64_t side = 0; side < 2; ++side) {
        const auto [aLow, aHigh] = std::minmax(box[a * 4 + side], box[a * 4 + 2 + side]);
        const auto [bLow, bHigh] = std::minmax(box[b * 4 + side], box[b * 4 + 2 + side]);
        common *= std::max(std::min(aHigh, bHigh) - std::max(aLow, bLow), 0.0f);
        areas[0] *= aHigh - aLow;
        areas[1] *= bHigh - bLow;
      }
      return common > 0 && common / (areas[0] + areas[1] - common) > 0.3f;
    };
    for (int64_t candidate : order)
      if (std::none_of(kept.begin(), kept.end(), [&](int64_t other) { return overlap(candidate, other); }))
        kept.push_back(candidate);
    Tensor *most = tensor<int64_t>(DataType::i64, {}, {count}),
           *iou = tensor<float>(DataType::f32, {}, {0.3f});
    ASSERT_TRUE(call("nms", {boxes, scores, most, iou}).ok());
    std::vector<int64_t> actual;
    const std::vector<int64_t> rows = data<int64_t>(result());
    for (size_t i = 2; i < rows.size(); i += 3) actual.push_back(rows[i]);
    EXPECT_EQ(actual, kept) << count << " boxes";
  }
}

TEST_F(BuiltinTest, scatter) {
  Tensor *x = tensor<float>(DataType::f32, {5}, {1, 2, 3, 4, 5}),
         *at = tensor<int64_t>(DataType::i64, {3}, {1, -1, 1}),
         *updates = tensor<float>(DataType::f32, {3}, {10, 20, 30});
  const std::vector<std::vector<float>> expected = {
      {1, 30, 3, 4, 20}, {1, 42, 3, 4, 25}, {1, 600, 3, 4, 100}, {1, 2, 3, 4, 5}, {1, 30, 3, 4, 20}};
  for (int32_t reduction = 0; reduction < 5; ++reduction) {
    ASSERT_TRUE(call("scatter_elements", {x, at, updates}, {.numbers = {0, reduction}}).ok());
    EXPECT_EQ(data<float>(result()), expected[static_cast<size_t>(reduction)]) << reduction;
    Tensor* points = tensor<int64_t>(DataType::i64, {3, 1}, {1, -1, 1});
    ASSERT_TRUE(call("scatter_nd", {x, points, updates}, {.numbers = {reduction}}).ok());
    EXPECT_EQ(data<float>(result()), expected[static_cast<size_t>(reduction)]) << reduction;
  }
  EXPECT_EQ(call("scatter_elements",
                 {x, tensor<int64_t>(DataType::i64, {1}, {5}), tensor<float>(DataType::f32, {1}, {0})},
                 {.numbers = {0}})
                .code,
            DYN_OUT_OF_RANGE);
  Tensor* square = tensor<int32_t>(DataType::i32, {2, 3}, {0, 0, 0, 0, 0, 0});
  ASSERT_TRUE(call("scatter_elements",
                   {square, tensor<int32_t>(DataType::i32, {1, 2}, {1, 0}),
                    tensor<int32_t>(DataType::i32, {1, 2}, {7, 8})},
                   {.numbers = {0}})
                  .ok());
  EXPECT_THAT(data<int32_t>(result()), ElementsAre(0, 8, 0, 7, 0, 0));
  ASSERT_TRUE(call("scatter_nd",
                   {square, tensor<int64_t>(DataType::i64, {1, 1}, {1}),
                    tensor<int32_t>(DataType::i32, {1, 3}, {1, 2, 3})},
                   {}, {square})
                  .ok());
  EXPECT_THAT(data<int32_t>(square), ElementsAre(0, 0, 0, 1, 2, 3)) << "in place";
}

TEST_F(BuiltinTest, listsAndCopies) {
  Tensor *a = tensor<int64_t>(DataType::i64, {1, 2}, {1, 2}),
         *b = tensor<int64_t>(DataType::i64, {2, 2}, {3, 4, 5, 6}),
         *c = tensor<int64_t>(DataType::i64, {1, 2}, {7, 8});
  ASSERT_TRUE(call("list_concat", {list({a, b})}, {.scalars = {0}}).ok());
  EXPECT_THAT(data<int64_t>(result()), ElementsAre(1, 2, 3, 4, 5, 6));
  ASSERT_TRUE(call("list_concat", {list({a, c})}, {.scalars = {-1}}).ok());
  EXPECT_THAT(data<int64_t>(result()), ElementsAre(1, 2, 7, 8));
  ASSERT_TRUE(call("list_stack", {list({a, c})}, {.scalars = {2}}).ok());
  EXPECT_THAT(shape(result()), ElementsAre(1, 2, 2));
  EXPECT_THAT(data<int64_t>(result()), ElementsAre(1, 7, 2, 8));
  EXPECT_EQ(call("list_concat", {list({})}, {.scalars = {0}}).code, DYN_BAD_INPUT);
  EXPECT_EQ(call("list_stack", {list({a, b})}, {.scalars = {0}}).code, DYN_BAD_INPUT);
  ASSERT_TRUE(call("concat", {a, b, c}, {.scalars = {0}}).ok());
  EXPECT_THAT(shape(result()), ElementsAre(4, 2));
  auto pieces = [&](size_t index) {
    return static_cast<Tensor*>(static_cast<List*>(results_[0])->items[index]);
  };
  ASSERT_TRUE(call("split_to_list", {b, nullptr}, {.scalars = {1}, .numbers = {0}}).ok());
  EXPECT_THAT(data<int64_t>(pieces(1)), ElementsAre(4, 6));
  EXPECT_THAT(shape(pieces(1)), ElementsAre(2));
  ASSERT_TRUE(
      call("split_to_list", {b, tensor<int64_t>(DataType::i64, {3}, {0, 2, 0})}, {.scalars = {0}}).ok());
  EXPECT_THAT(shape(pieces(0)), ElementsAre(0, 2));
  EXPECT_THAT(shape(pieces(1)), ElementsAre(2, 2));
  EXPECT_EQ(call("split_to_list", {b, tensor<int64_t>(DataType::i64, {1}, {1})}, {.scalars = {0}}).code,
            DYN_CHECK_FAILED);
  EXPECT_EQ(call("split_to_list", {b, tensor<int64_t>(DataType::i64, {}, {0})}, {.scalars = {0}}).code,
            DYN_CHECK_FAILED);
  Tensor *left = tensor<int64_t>(DataType::i64, {2, 1}, {0, 0}),
         *none = tensor<int64_t>(DataType::i64, {2, 0}, {}),
         *right = tensor<int64_t>(DataType::i64, {2, 1}, {0, 0});
  ASSERT_TRUE(call("split", {b}, {.scalars = {-1}}, {left, none, right}).ok());
  EXPECT_THAT(data<int64_t>(left), ElementsAre(3, 5));
  EXPECT_THAT(data<int64_t>(right), ElementsAre(4, 6));
  EXPECT_EQ(call("split", {b}, {.scalars = {1}}, {left}).code, DYN_CHECK_FAILED) << "too little";
  EXPECT_EQ(call("split", {b}, {.scalars = {1}}, {left, right, left}).code, DYN_CHECK_FAILED) << "too much";
  ASSERT_TRUE(call("copy", {b}).ok());
  EXPECT_NE(result()->data, b->data);
  EXPECT_THAT(data<int64_t>(result()), ElementsAre(3, 4, 5, 6));
}

}  // namespace
}  // namespace dyn::vm::test
