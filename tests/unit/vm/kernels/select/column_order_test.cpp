// sort and topk along an axis that is no innermost one, of so many elements that rows are copied together
// (select/order.cpp), or of rows beside each other of which few are wanted (select/column_order.h): what the
// same rows give where they are innermost.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/unit/vm/kernels/builtin_harness.h"

namespace dyn::vm::test {
namespace {

class ColumnOrderTest : public BuiltinTest {
 protected:
  // Few values, so that many are equal; some reals are NaN.
  template <typename T>
  void fill(Tensor* x) {
    for (int64_t i = 0; i < x->elementCount; ++i) x->as<T>()[i] = static_cast<T>(random_() % 50);
    if constexpr (std::is_floating_point_v<T>)
      for (int64_t i = 0; i < x->elementCount; i += 101)
        x->as<T>()[i] = i % 2 ? std::numeric_limits<T>::quiet_NaN() : static_cast<T>(-0.0);
  }

  template <typename T>
  void expectTheRowsAlone(DataType dtype, int64_t outer, int64_t size, int64_t inner, int64_t count,
                          int32_t numbers) {
    Tensor *x = output({outer, size, inner}, dtype), *turned = output({outer, inner, size}, dtype);
    fill<T>(x);
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < size; ++i)
        for (int64_t j = 0; j < inner; ++j)
          turned->as<T>()[(o * inner + j) * size + i] = x->as<T>()[(o * size + i) * inner + j];
    ASSERT_TRUE(call("topk", {turned}, {.scalars = {count}, .numbers = {-1, numbers}, .results = 2}).ok());
    const Tensor *values = result(0), *places = result(1);
    for (ThreadPool* threads : pools_) {
      threads_ = threads;
      ASSERT_TRUE(call("topk", {x}, {.scalars = {count}, .numbers = {1, numbers}, .results = 2}).ok());
      for (int64_t o = 0; o < outer; ++o)
        for (int64_t k = 0; k < count; ++k)
          for (int64_t j = 0; j < inner; ++j) {
            const int64_t at = (o * count + k) * inner + j, alone = (o * inner + j) * count + k;
            ASSERT_EQ(result(1)->as<int64_t>()[at], places->as<int64_t>()[alone])
                << "row " << o << ", " << j << " of " << size << " by " << inner << ", place " << k;
            ASSERT_EQ(memcmp(result(0)->as<T>() + at, values->as<T>() + alone, sizeof(T)), 0);
          }
    }
    threads_ = pools_[0];
  }
};

TEST_F(ColumnOrderTest, rowsThatLieFarApart) {
  for (const int32_t numbers : {2, 3}) {
    expectTheRowsAlone<float>(DataType::f32, 2, 1801, 301, 7, numbers);
    expectTheRowsAlone<float>(DataType::f32, 1, 131, 4099, 60, numbers);
    expectTheRowsAlone<float>(DataType::f32, 1, 64, 8209, 64, numbers);
    expectTheRowsAlone<double>(DataType::f64, 1, 1009, 263, 1, numbers);
    expectTheRowsAlone<int8_t>(DataType::i8, 1, 2053, 1025, 12, numbers);
    expectTheRowsAlone<float>(DataType::f32, 1, 40000, 257, 2, numbers);  // longer than what is copied
  }
}

// Numbers of columns around those that are compared at once, and of elements around 8 for each that is
// wanted.
TEST_F(ColumnOrderTest, rowsBesideEachOther) {
  for (const int32_t numbers : {2, 3})
    for (const int64_t inner : {7, 8, 9, 15, 16, 17, 31, 67})
      for (const auto& [size, count] : {std::pair<int64_t, int64_t>{8, 1},
                                        {263, 1},
                                        {79, 10},
                                        {80, 10},
                                        {257, 32},
                                        {300, 33},
                                        {1009, 13}}) {
        expectTheRowsAlone<float>(DataType::f32, 3, size, inner, count, numbers);
        expectTheRowsAlone<double>(DataType::f64, 2, size, inner, count, numbers);
        expectTheRowsAlone<int64_t>(DataType::i64, 2, size, inner, count, numbers);
        expectTheRowsAlone<uint32_t>(DataType::u32, 1, size, inner, count, numbers);
        expectTheRowsAlone<int16_t>(DataType::i16, 2, size, inner, count, numbers);
        expectTheRowsAlone<uint8_t>(DataType::u8, 2, size, inner, count, numbers);
        if (HasFatalFailure()) return;
      }
  expectTheRowsAlone<float>(DataType::f32, 5, 501, 23, 4, 3);  // for several threads
}

}  // namespace
}  // namespace dyn::vm::test
