// Products that are read in place (in_place.h): one column, and up to three rows. Values against sums in f64,
// the same bits for every number of threads, and the way that was taken.
#include "vm/kernels/gemm/in_place.h"

#include <cstring>
#include <limits>

#include "tests/unit/vm/kernels/builtin_harness.h"

extern const dyn::vm::kernels::NumberFamilies numberFamiliesPortable, numberFamiliesAvx2;

namespace dyn::vm::test {
namespace {

using Shape = std::vector<int64_t>;

class InPlaceTest : public BuiltinTest {
 protected:
  // The shape without its last two axes, and those.
  static Shape joined(Shape batches, int64_t rows, int64_t columns) {
    batches.push_back(rows);
    batches.push_back(columns);
    return batches;
  }
  // Where the matrix of batch `i` of `all` begins in an operand with these batches, in matrices.
  static int64_t matrixOf(const Shape& own, const Shape& all, int64_t i) {
    int64_t at = 0, step = 1;
    for (size_t axis = all.size(); axis-- > 0; i /= all[axis]) {
      const size_t missing = all.size() - own.size();
      if (axis < missing) continue;
      const int64_t size = own[axis - missing];
      if (size > 1) at += i % all[axis] * step;
      step *= size;
    }
    return at;
  }
  template <typename T>
  Tensor* numbers(DataType dtype, const Shape& shape) {
    Tensor* made = output(shape, dtype);
    for (int64_t i = 0; i < made->elementCount; ++i)
      made->as<T>()[i] = static_cast<T>(static_cast<int64_t>((i * 7919 + 13) % 23) - 11);
    return made;
  }

  template <typename T>
  void check(DataType dtype, const Shape& left, const Shape& right, const Shape& all, int64_t m, int64_t k,
             int64_t n, bool transposedA, bool transposedB) {
    Tensor *a = numbers<T>(dtype, transposedA ? joined(left, k, m) : joined(left, m, k)),
           *b = numbers<T>(dtype, transposedB ? joined(right, n, k) : joined(right, k, n));
    for (ThreadPool* threads : pools_) {
      threads_ = threads;
      Tensor* c = output(joined(all, m, n), dtype);
      const Status status =
          call("gemm", {a, b}, {.numbers = {(transposedA ? 1 : 0) | (transposedB ? 2 : 0)}}, {c});
      ASSERT_TRUE(status.ok()) << status.toString();
      const int64_t batches = c->elementCount == 0 ? 0 : c->elementCount / (m * n);
      for (int64_t i = 0; i < batches; ++i) {
        const T *x = a->as<T>() + matrixOf(left, all, i) * m * k,
                *y = b->as<T>() + matrixOf(right, all, i) * k * n;
        for (int64_t row = 0; row < m; ++row)
          for (int64_t column = 0; column < n; ++column) {
            T sum = 0;  // exact: small whole numbers
            for (int64_t j = 0; j < k; ++j)
              sum += (transposedA ? x[j * m + row] : x[row * k + j]) *
                     (transposedB ? y[column * k + j] : y[j * n + column]);
            ASSERT_EQ(c->as<T>()[(i * m + row) * n + column], sum)
                << text(dtype) << " " << m << " x " << k << " x " << n << ", batch " << i << ", row " << row
                << (transposedA ? ", A transposed" : "") << (transposedB ? ", B transposed" : "");
          }
      }
    }
  }
  template <typename T>
  void checkSizes(DataType dtype) {
    for (const auto& [m, k, n] : {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1},
                                  {1, 5, 1},
                                  {7, 1, 1},
                                  {2, 67, 1},
                                  {131, 67, 1},
                                  {64, 16, 1},
                                  {13, 2, 1},
                                  {13, 3, 1},
                                  {5, 0, 1},
                                  {0, 5, 1},
                                  {1, 67, 131},
                                  {3, 61, 19},
                                  {2, 3, 2}})
      for (const bool transposedA : {false, true})
        for (const bool transposedB : {false, true}) {
          check<T>(dtype, {}, {}, {}, m, k, n, transposedA, transposedB);
          check<T>(dtype, {5}, {5}, {5}, m, k, n, transposedA, transposedB);
          check<T>(dtype, {3, 1}, {1, 7}, {3, 7}, m, k, n, transposedA, transposedB);
          check<T>(dtype, {}, {5}, {5}, m, k, n, transposedA, transposedB);
          check<T>(dtype, {5}, {}, {5}, m, k, n, transposedA, transposedB);
          check<T>(dtype, {0}, {0}, {0}, m, k, n, transposedA, transposedB);
        }
  }
};

TEST_F(InPlaceTest, everySizeAndBatchOfF32) { checkSizes<float>(DataType::f32); }
TEST_F(InPlaceTest, everySizeAndBatchOfOtherTypes) {
  checkSizes<double>(DataType::f64);
  checkSizes<int32_t>(DataType::i32);
  checkSizes<uint64_t>(DataType::u64);
}

TEST_F(InPlaceTest, sameBitsForAnyNumberOfThreads) {
  for (const auto& [batches, m, k, n] : {std::tuple<int64_t, int64_t, int64_t, int64_t>{1, 4099, 67, 1},
                                         {3, 1031, 131, 1},
                                         {97, 61, 67, 1},
                                         {5, 1, 67, 1031},
                                         {1, 3, 131, 1031}})
    for (const int32_t flags : {0, 1, 2}) {
      Tensor *a = floats({batches, flags == 1 ? k : m, flags == 1 ? m : k}),
             *b = floats({batches, flags == 2 ? n : k, flags == 2 ? k : n});
      std::vector<float> first;
      for (ThreadPool* threads : pools_) {
        threads_ = threads;
        Tensor* c = output({batches, m, n});
        ASSERT_TRUE(call("gemm", {a, b}, {.numbers = {flags}}, {c}).ok());
        if (first.empty()) first = data<float>(c);
        EXPECT_EQ(std::memcmp(first.data(), c->data, c->sizeBytes()), 0) << m << " x " << k << " x " << n;
      }
    }
}

// Whole numbers as large as a type holds wrap.
TEST_F(InPlaceTest, integersWrap) {
  Tensor *a = tensor<uint32_t>(DataType::u32, {4, 4},
                               {~0u, ~0u, 2, 3, 1u << 31, 2, 0, 0, 1u << 16, 1u << 16, 1, 1, 0, 0, 0, 0}),
         *b = tensor<uint32_t>(DataType::u32, {4, 1}, {~0u, 1, 1u << 16, 7}),
         *c = output({4, 1}, DataType::u32);
  ASSERT_TRUE(call("gemm", {a, b}, {.numbers = {0}}, {c}).ok());
  std::vector<uint32_t> expected;
  for (int row = 0; row < 4; ++row) {
    uint32_t sum = 0;
    for (int k = 0; k < 4; ++k) sum += a->as<uint32_t>()[row * 4 + k] * b->as<uint32_t>()[k];
    expected.push_back(sum);
  }
  EXPECT_EQ(data<uint32_t>(c), expected);
}

// Infinities and NaNs stay in their rows, also behind the last whole vector.
TEST_F(InPlaceTest, whatIsNotFiniteStaysInItsRow) {
  Tensor *a = floats({9, 19}), *b = floats({19, 1}), *c = output({9, 1});
  std::fill_n(b->as<float>(), 19, 1.0f);
  a->as<float>()[2 * 19 + 18] = std::numeric_limits<float>::infinity();
  a->as<float>()[5 * 19] = std::numeric_limits<float>::quiet_NaN();
  ASSERT_TRUE(call("gemm", {a, b}, {.numbers = {0}}, {c}).ok());
  for (int row = 0; row < 9; ++row) {
    EXPECT_EQ(std::isinf(c->as<float>()[row]), row == 2);
    EXPECT_EQ(std::isnan(c->as<float>()[row]), row == 5);
  }
}

// The ways by strides: which sides are runs of memory.
TEST(InPlace, WayByStrides) {
  using kernels::InPlace;
  const auto way = [](int64_t rows, int64_t strideAK, int64_t strideBK, int64_t strideBN) {
    return kernels::wayInPlace(kernels::NumberProduct<float>{.rows = rows,
                                                             .columns = 8,
                                                             .depth = 8,
                                                             .strideAM = 8,
                                                             .strideAK = strideAK,
                                                             .strideBK = strideBK,
                                                             .strideBN = strideBN,
                                                             .strideCM = 8});
  };
  EXPECT_EQ(way(3, 1, 8, 1), InPlace::rows);
  EXPECT_EQ(way(3, 5, 8, 1), InPlace::rows);
  EXPECT_EQ(way(1, 1, 1, 8), InPlace::dots);
  EXPECT_EQ(way(1, 5, 1, 8), InPlace::no);
  EXPECT_EQ(way(4, 1, 8, 1), InPlace::no);
  EXPECT_EQ(way(1, 1, 8, 8), InPlace::no);
}

// The kernels of all processors that this one can run give the same where sums are exact.
template <typename T>
void checkDots(kernels::DotsInPlace<T> dots) {
  constexpr int64_t kMost = 67;
  std::vector<T> a(3 * kMost), b(kMost * kMost);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(static_cast<int64_t>(i % 11) - 5);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>(static_cast<int64_t>(i % 13) - 6);
  for (int64_t rows : {1, 2, 3})
    for (int64_t depth : {0, 1, 2, 7, 8, 16, 17, 33, 67})
      for (int64_t columns : {1, 3, 4, 8, 9, 67}) {
        std::vector<T> expected(3 * kMost, T(99)), c;
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < columns; ++j) {
            T sum = 0;
            for (int64_t k = 0; k < depth; ++k) sum += a[i * kMost + k] * b[j * kMost + k];
            expected[i * kMost + j] = sum;
          }
        c.assign(3 * kMost, T(99));
        dots(rows, depth, a.data(), kMost, b.data(), kMost, c.data(), kMost, columns);
        ASSERT_EQ(c, expected) << rows << " x " << depth << " x " << columns;
      }
}

TEST(InPlace, DotsOfEveryProcessor) {
  std::vector<const kernels::NumberFamilies*> all = {&numberFamiliesPortable, &kernels::numberFamilies()};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) all.push_back(&numberFamiliesAvx2);
#endif
  for (const kernels::NumberFamilies* families : all) {
    checkDots(families->dotsOfF32);
    checkDots(families->f64.dotsInPlace);
    checkDots(families->i32.dotsInPlace);
    checkDots(families->i64.dotsInPlace);
  }
}

}  // namespace
}  // namespace dyn::vm::test
