// Strided tensors (vm/core/object/strided.h): what is dense, where elements lie, copies, and who takes
// strides.
#include <gmock/gmock.h>

#include <numeric>

#include "tests/unit/vm/kernels/builtin_harness.h"
#include "vm/core/object/growing.h"
#include "vm/core/object/strided.h"

namespace dyn::vm::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Strided : public BuiltinTest {
 protected:
  Tensor* counting(std::vector<int64_t> shape) {
    int64_t count = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    std::vector<float> data(static_cast<size_t>(count));
    std::iota(data.begin(), data.end(), 0.0f);
    return tensor(DataType::f32, shape, data);
  }
  // A view of another's memory, `offset` elements behind its first.
  Tensor* view(Tensor* of, const std::vector<int64_t>& shape, const std::vector<int64_t>& strides,
               int64_t offset = 0) {
    dyn_status why = DYN_OK;
    const int64_t count = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    Tensor* made =
        newStridedView(pool_, of->dtype, static_cast<uint32_t>(shape.size()), shape.data(), strides.data(),
                       count, of->storage, of->first + offset * sizeBytes(of->dtype), why);
    owned_.emplace_back(made);
    return made;
  }
  static std::vector<float> elements(const Tensor* tensor) {
    std::vector<float> to(static_cast<size_t>(tensor->elementCount));
    copyDense(tensor, reinterpret_cast<std::byte*>(to.data()));
    return to;
  }
};

TEST_F(Strided, DenseIsAFact) {
  Tensor* x = counting({2, 3});
  EXPECT_NE(view(x, {2, 3}, {3, 1})->data, nullptr);
  EXPECT_NE(view(x, {1, 3}, {77, 1}, 3)->data, nullptr) << "an axis of one element has no stride";
  EXPECT_NE(view(x, {3, 0}, {7, 5})->data, nullptr) << "nothing lies anywhere";
  EXPECT_NE(view(x, {}, {}, 4)->data, nullptr);
  EXPECT_EQ(view(x, {3, 2}, {1, 3})->data, nullptr);
  EXPECT_EQ(view(x, {2, 2}, {3, 1})->data, nullptr);
  EXPECT_EQ(view(x, {2, 3}, {0, 1})->data, nullptr);
  EXPECT_EQ(view(x, {6}, {-1}, 5)->data, nullptr);
  EXPECT_THAT(describe(view(x, {3, 2}, {1, 3})), HasSubstr("f32[3,2] strides 1,3"));
}

TEST_F(Strided, CopiesAreTheElementsInOrder) {
  Tensor* x = counting({2, 3});
  EXPECT_THAT(elements(view(x, {3, 2}, {1, 3})), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(elements(view(x, {2, 2}, {3, 2})), ElementsAre(0, 2, 3, 5));
  EXPECT_THAT(elements(view(x, {2, 3}, {3, -1}, 2)), ElementsAre(2, 1, 0, 5, 4, 3));
  EXPECT_THAT(elements(view(x, {2, 3}, {0, 1}, 3)), ElementsAre(3, 4, 5, 3, 4, 5));
  EXPECT_THAT(elements(view(x, {2, 1, 2}, {1, 9, 3})), ElementsAre(0, 3, 1, 4));
}

// Random strides of all signs against element-by-element reading, for all sizes of elements.
TEST_F(Strided, CopiesAgreeWithReadingElementByElement) {
  for (DataType dtype : {DataType::u8, DataType::i16, DataType::f32, DataType::i64, DataType::c128}) {
    const size_t bytes = sizeBytes(dtype);
    std::vector<std::byte> memory(4096 * bytes);
    for (std::byte& b : memory) b = static_cast<std::byte>(random_());
    for (int round = 0; round < 200; ++round) {
      std::vector<int64_t> shape(random_() % 5), strides;
      int64_t low = 0, high = 0, count = 1;
      for (int64_t& size : shape) {
        size = static_cast<int64_t>(random_() % 5);
        count *= size;
        strides.push_back(static_cast<int64_t>(random_() % 61) - 30);
      }
      ASSERT_TRUE(reachOf(shape, strides, low, high));
      const std::byte* first = memory.data() + static_cast<size_t>(2000) * bytes;
      ASSERT_TRUE(count == 0 || (low > -2000 && high < 2000));
      std::vector<int64_t> dense(shape.size());
      int64_t step = 1;
      for (size_t axis = shape.size(); axis-- > 0; step *= shape[axis]) dense[axis] = step;
      std::vector<std::byte> copy(static_cast<size_t>(count) * bytes + 1, std::byte{0x5a});
      copyElements(shape, bytes, first, strides, copy.data(), dense);
      for (int64_t i = 0; i < count; ++i) {
        int64_t rest = i, at = 0;
        for (size_t axis = shape.size(); axis-- > 0; rest /= shape[axis])
          at += rest % shape[axis] * strides[axis];
        ASSERT_EQ(memcmp(copy.data() + static_cast<size_t>(i) * bytes,
                         first + at * static_cast<int64_t>(bytes), bytes),
                  0);
      }
      EXPECT_EQ(copy.back(), std::byte{0x5a});
    }
  }
}

TEST_F(Strided, ReachOverflowsAreSeen) {
  int64_t low = 0, high = 0;
  const int64_t shape[] = {3, 3}, wide[] = {INT64_MAX / 2, INT64_MAX / 2}, back[] = {INT64_MIN, 1};
  EXPECT_FALSE(reachOf(shape, wide, low, high));
  EXPECT_FALSE(reachOf(shape, back, low, high));
}

TEST_F(Strided, JoinsTakeThem) {
  Tensor* x = counting({2, 3});
  Tensor* transposed = view(x, {3, 2}, {1, 3});
  Tensor* dense = counting({3, 2});
  for (int64_t axis : {0, 1, -1}) {
    ASSERT_TRUE(call("concat", {dense, transposed, transposed}, {.scalars = {axis}}).ok());
    const std::vector<float> joined = elements(result());
    Tensor* copy = tensor(DataType::f32, {3, 2}, elements(transposed));
    ASSERT_TRUE(call("concat", {dense, copy, copy}, {.scalars = {axis}}).ok());
    EXPECT_EQ(joined, elements(result())) << axis;
  }
  for (int64_t axis : {0, 1, 2}) {
    ASSERT_TRUE(call("list_stack", {list({dense, transposed})}, {.scalars = {axis}}).ok());
    const std::vector<float> stacked = elements(result());
    Tensor* copy = tensor(DataType::f32, {3, 2}, elements(transposed));
    ASSERT_TRUE(call("list_stack", {list({dense, copy})}, {.scalars = {axis}}).ok());
    EXPECT_EQ(stacked, elements(result())) << axis;
  }
  ASSERT_TRUE(call("copy", {transposed}).ok());
  EXPECT_TRUE(result()->isDense());
  EXPECT_EQ(elements(result()), elements(transposed));
}

TEST_F(Strided, ProductsTakeThem) {
  Tensor *a = floats({5, 2, 7}), *b = floats({3, 7, 2});
  // A [2, 5, 7] from [5, 2, 7], B [2, 7, 3] from [3, 7, 2]: no axis of B runs through memory.
  Tensor *left = view(a, {2, 5, 7}, {7, 14, 1}), *right = view(b, {2, 7, 3}, {1, 2, 14});
  Tensor *denseLeft = tensor(DataType::f32, {2, 5, 7}, elements(left)),
         *denseRight = tensor(DataType::f32, {2, 7, 3}, elements(right));
  Tensor *c = output({2, 5, 3}), *expected = output({2, 5, 3});
  ASSERT_TRUE(call("gemm", {left, right}, {.numbers = {0}}, {c}).ok());
  ASSERT_TRUE(call("gemm", {denseLeft, denseRight}, {.numbers = {0}}, {expected}).ok());
  for (size_t i = 0; i < 30; ++i) ASSERT_NEAR(elements(c)[i], elements(expected)[i], 1e-5);
  // The rows of a part of A, with B packed beforehand.
  Tensor *wide = floats({6, 20}), *weights = floats({7, 3});
  Tensor *part = view(wide, {6, 7}, {20, 1}, 5), *dense = tensor(DataType::f32, {6, 7}, elements(part));
  ASSERT_TRUE(call("gemmpack", {weights}, {.numbers = {0}}).ok());
  Tensor *packed = result(), *y = output({6, 3}), *same = output({6, 3});
  ASSERT_TRUE(call("gemm", {part, packed}, {.numbers = {4}}, {y}).ok());
  ASSERT_TRUE(call("gemm", {dense, packed}, {.numbers = {4}}, {same}).ok());
  EXPECT_EQ(elements(y), elements(same));
  // Columns that do not lie side by side are copied, which takes scratch memory.
  Tensor *backward = view(wide, {6, 7}, {20, -2}, 19),
         *forward = tensor(DataType::f32, {6, 7}, elements(backward));
  ASSERT_TRUE(call("gemm", {backward, packed}, {.numbers = {4}}, {y}).ok());
  ASSERT_TRUE(call("gemm", {forward, packed}, {.numbers = {4}}, {same}).ok());
  EXPECT_EQ(elements(y), elements(same));
}

// Part of a growing tensor is no growing tensor: what is appended to it lies elsewhere.
TEST_F(Strided, PartsOfGrowingTensorsDoNotGrow) {
  dyn_status why = DYN_OK;
  const int64_t shape[] = {2, 3, 4};
  Ref<Tensor> whole(newGrowing(pool_, DataType::f32, shape, 1, 8, why));
  std::vector<float> data(24);
  std::iota(data.begin(), data.end(), 0.0f);
  fillGrowing(reinterpret_cast<const std::byte*>(data.data()), whole.get());
  EXPECT_TRUE(growsAlong(whole.get(), 1));
  EXPECT_FALSE(growsAlong(whole.get(), 0));
  EXPECT_EQ(elements(whole.get()), data);
  EXPECT_FALSE(growsAlong(view(whole.get(), {1, 3, 4}, {32, 4, 1}), 1)) << "one of two blocks";
  EXPECT_FALSE(growsAlong(view(whole.get(), {2, 3, 2}, {32, 4, 1}), 1));
  EXPECT_FALSE(growsAlong(view(whole.get(), {2, 3, 4}, {32, -4, 1}, 8), 1));
  EXPECT_FALSE(growsAlong(view(whole.get(), {4, 3, 2}, {1, 4, 32}), 1));
  Tensor* row = counting({1, 1, 4});
  ASSERT_TRUE(call("append", {view(whole.get(), {1, 3, 4}, {32, 4, 1}, 32), row}, {.numbers = {1}}).ok());
  EXPECT_EQ(elements(result()),
            (std::vector<float>{12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 0, 1, 2, 3}));
  EXPECT_EQ(elements(whole.get()), data);
  EXPECT_NE(result()->storage, whole->storage);
}

}  // namespace
}  // namespace dyn::vm::test
