// How a library would do a product, from the program's list of kernels and the sizes of a launch.
#include "vm/core/device/library_product.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "vm/core/device/launch_sizes.h"
#include "vm/include/dynvm.h"

namespace dyn::vm {
namespace {

// x [batch, seq, 32] times w [32, 48], with a bias: digits 0 batch, 1 seq, 2 columns, 3 the sum.
const std::string kLinear =
    "ru/#1,r#1,c48,k32;0:f32:#0.#1.32:0.1.3;1:f32:32.48:3.2;3:f32:#0.#1.48:0.1.2;2;fp32";
// a [b, m, k] times w [c, k, n], both by their own batch; w transposed in memory.
const std::string kBatched =
    "bu/#1,r#1,c#2,k#3;0:f16:#4.#1.#3:0.1.3;1:f16:#5.#2.#3:0.2.3;2:f32:#6.#1.#2:0.1.2;-;fp32";

struct Sizes {
  int64_t units;
  std::vector<int64_t> scalars;
};
std::optional<DynDeviceProduct> at(const std::string& text, const Sizes& sizes) {
  EXPECT_TRUE(isLibraryProduct(text)) << text;
  DynLaunch launch{};
  launch.units = sizes.units;
  launch.scalars = sizes.scalars.data();
  launch.scalarCount = static_cast<uint32_t>(sizes.scalars.size());
  launch.bufferCount = 4;
  return libraryProductAt(text, launch, "k");
}

TEST(LibraryProduct, rowsOfAllMatricesAreOneProduct) {
  const std::optional<DynDeviceProduct> p = at(kLinear, {15, {3, 5}});
  ASSERT_TRUE(p);
  EXPECT_EQ(p->rows, 15);
  EXPECT_EQ(p->columns, 48);
  EXPECT_EQ(p->depth, 32);
  EXPECT_EQ(p->count, 1);
  EXPECT_EQ(p->bias, 2);
  EXPECT_EQ(p->left.rowStride, 32);
  EXPECT_EQ(p->right.rowStride, 48);
  EXPECT_EQ(p->result.buffer, 3);
  EXPECT_EQ(p->result.columnStride, 1);
}

TEST(LibraryProduct, matricesOfOneForAllAndTransposedOnes) {
  // Scalars: 1 m, 2 n, 3 k, 4 to 6 the batches of a, w and y.
  const std::optional<DynDeviceProduct> each = at(kBatched, {15, {0, 5, 7, 9, 3, 3, 3}});
  ASSERT_TRUE(each);
  EXPECT_EQ(each->count, 3);
  EXPECT_EQ(each->left.dtype, DYN_F16);
  EXPECT_EQ(each->left.matrixStride, 45);
  EXPECT_EQ(each->right.rowStride, 1) << "the sum lies side by side";
  EXPECT_EQ(each->right.columnStride, 9);
  EXPECT_EQ(each->right.matrixStride, 63);
  EXPECT_EQ(each->bias, -1);
  const std::optional<DynDeviceProduct> shared = at(kBatched, {15, {0, 5, 7, 9, 3, 1, 3}});
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->right.matrixStride, 0);
}

TEST(LibraryProduct, singleRowsAndColumnsMayLieAnywhere) {
  const std::optional<DynDeviceProduct> p = at(kBatched, {1, {0, 1, 1, 9, 1, 1, 1}});
  ASSERT_TRUE(p);
  EXPECT_GE(p->left.rowStride, 9);
  EXPECT_EQ(p->result.rowStride, 1);
  EXPECT_EQ(p->result.columnStride, 1);
}

TEST(LibraryProduct, nothingOfNoElementsAndOfUnevenRows) {
  EXPECT_FALSE(at(kLinear, {0, {0, 5}}));
  EXPECT_FALSE(at(kBatched, {15, {0, 5, 7, 0, 3, 3, 3}})) << "a sum of nothing";
  EXPECT_FALSE(at(kBatched, {15, {0, 5, int64_t{1} << 40, 9, 3, 3, 3}}))
      << "more columns than a library counts";
  // Two batches, of which the right factor has one.
  const std::string two =
      "bu/#0,b#0,r5,c7,k9;0:f32:2.#0.5.9:0.1.2.4;1:f32:1.#0.9.7:0.1.4.3;2:f32:2.#0.5.7:0.1.2.3;-;fp32";
  EXPECT_TRUE(at(two, {2, {1}}));
  EXPECT_FALSE(at(two, {6, {3}}));
}

TEST(LibraryProduct, damagedTextsAreNone) {
  for (const std::string& text : {kLinear, kBatched}) {
    for (size_t length = 0; length < text.size(); ++length)
      if (isLibraryProduct(text.substr(0, length))) ADD_FAILURE() << text.substr(0, length);
    // Whatever stands there instead of a character: no crash, and no buffer that is not there.
    for (size_t i = 0; i < text.size(); ++i)
      for (const char other : {';', ':', ',', '.', '#', '9', '-', 'x', 'u', '/'}) {
        std::string damaged = text;
        damaged[i] = other;
        if (!isLibraryProduct(damaged)) continue;
        const std::optional<DynDeviceProduct> p = at(damaged, {15, {3, 5}});
        if (!p) continue;
        for (const int64_t buffer : {p->left.buffer, p->right.buffer, p->result.buffer, p->bias})
          EXPECT_LT(buffer, 4) << damaged;
      }
  }
}

TEST(LaunchSizes, fromLeftToRight) {
  const std::vector<int64_t> scalars{3, 5};
  DynLaunch launch{};
  launch.units = 30;
  launch.scalars = scalars.data();
  launch.scalarCount = 2;
  const auto size = [&](std::string_view text) { return takeSize(text, launch); };
  EXPECT_EQ(size("u/#1*64"), 384);
  EXPECT_EQ(size("7"), 7);
  EXPECT_EQ(size("#0*#1"), 15);
  EXPECT_EQ(size("#2"), 0) << "no such scalar";
  EXPECT_EQ(size("u/0"), 0);
  EXPECT_EQ(size("x"), 0);
  EXPECT_EQ(size("9223372036854775807*2"), 0);
}

}  // namespace
}  // namespace dyn::vm
