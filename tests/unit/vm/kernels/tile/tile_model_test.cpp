// The model of tiles: what it computes, and what it refuses as the processor does.
#include "vm/kernels/tile/tile_model.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

namespace dyn::vm::kernels {
namespace {

TileConfig plain(int m, int n, int k) {
  TileConfig config = {};
  config.palette = 1;
  const int rows[] = {m, m, k}, columns[] = {n, k, n};
  for (int i = 0; i < 3; ++i) {
    config.rows[i] = static_cast<uint8_t>(rows[i]);
    config.rowBytes[i] = static_cast<uint16_t>(4 * columns[i]);
  }
  return config;
}

class TileModelTest : public testing::Test {
 protected:
  void SetUp() override { TileModel::takeFault(); }
  void TearDown() override { TileModel::release(); }
  uint32_t words_[16 * 16] = {};

  // One element of C: `first` plus the products of one row and one column of words.
  uint32_t product(uint32_t first, const std::vector<uint32_t>& a, const std::vector<uint32_t>& b,
                   bool pairs) {
    TileModel::configure(plain(1, 1, static_cast<int>(a.size())));
    TileModel::load(0, &first, 4);
    TileModel::load(1, a.data(), 64);
    TileModel::load(2, b.data(), 4);
    if (pairs)
      TileModel::multiplyPairs(0, 1, 2);
    else
      TileModel::multiplyQuads(0, 1, 2);
    uint32_t sum = 0xdeadbeef;
    TileModel::store(0, &sum, 4);
    return sum;
  }
  float pairs(float first, const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
    return std::bit_cast<float>(product(std::bit_cast<uint32_t>(first), a, b, true));
  }
  static uint32_t pair(float low, float high) {
    return std::bit_cast<uint32_t>(low) >> 16 | (std::bit_cast<uint32_t>(high) & 0xffff0000u);
  }
};

TEST_F(TileModelTest, AddsBytesAsUnsignedTimesSigned) {
  EXPECT_EQ(product(5, {0xff020103}, {0x80ff7f01}, false),
            static_cast<uint32_t>(5 + 3 * 1 + 1 * 127 + 2 * -1 + 255 * -128));
  EXPECT_EQ(product(0x7fffffff, {1}, {1}, false), 0x80000000u);  // wraps
  EXPECT_EQ(TileModel::takeFault(), "");
}

TEST_F(TileModelTest, SumsEvenAndOddDepthsApart) {
  // 1 and the 2^-24 of the even depths are lost on each other, and so are those of the odd ones; one after
  // the other they would not be.
  const float tiny = std::ldexp(1.0f, -24);
  EXPECT_EQ(pairs(0, {pair(1, tiny), pair(tiny, tiny)}, {pair(1, 1), pair(1, 1)}),
            (1.0f + tiny) + (tiny + tiny));
  EXPECT_EQ(pairs(0, {pair(1, 0), pair(tiny, 0)}, {pair(1, 1), pair(1, 1)}), 1.0f);
  // C comes last.
  const float one = std::ldexp(1.0f, 24);
  EXPECT_EQ(pairs(one, {pair(1, 1)}, {pair(1, 1)}), one + 2);
  EXPECT_EQ(TileModel::takeFault(), "");
}

TEST_F(TileModelTest, TakesNumbersBelowTheNormalOnesAsZero) {
  const float least = std::numeric_limits<float>::min(), below = least / 4;
  EXPECT_EQ(pairs(0, {pair(below, 1)}, {pair(std::ldexp(1.0f, 100), 1)}), 1.0f);  // of A
  EXPECT_EQ(pairs(0, {pair(least, 0)}, {pair(0.5f, 0)}), 0.0f);                   // a product
  EXPECT_EQ(pairs(below, {pair(0, 0)}, {pair(0, 0)}), 0.0f);                      // of C
  EXPECT_EQ(pairs(least, {pair(least, 0)}, {pair(1, 0)}), 2 * least);
  EXPECT_TRUE(std::isnan(pairs(0, {pair(INFINITY, 1)}, {pair(0, 1)})));
  EXPECT_EQ(TileModel::takeFault(), "");
}

TEST_F(TileModelTest, RefusesConfigurations) {
  struct Row {
    void (*change)(TileConfig&);
    const char* fault;
  };
  const Row rows[] = {
      {[](TileConfig& c) { c.palette = 2; }, "configure: there is no such palette"},
      {[](TileConfig& c) { c.startRow = 1; }, "configure: begins in the middle of a load"},
      {[](TileConfig& c) { c.none[13] = 1; }, "configure: reserved bytes are not 0"},
      {[](TileConfig& c) { c.rows[8] = 1; }, "configure: reserved bytes are not 0"},
      {[](TileConfig& c) { c.rowBytes[15] = 1; }, "configure: reserved bytes are not 0"},
      {[](TileConfig& c) { c.rows[0] = 17; }, "configure: more than 16 rows"},
      {[](TileConfig& c) { c.rowBytes[0] = 68; }, "configure: rows of more than 64 bytes"},
      {[](TileConfig& c) { c.rows[7] = 1; }, "configure: rows without columns, or columns without rows"},
      {[](TileConfig& c) { c.rowBytes[7] = 4; }, "configure: rows without columns, or columns without rows"},
  };
  for (const Row& row : rows) {
    TileConfig config = plain(16, 16, 16);
    row.change(config);
    TileModel::configure(config);
    EXPECT_EQ(TileModel::takeFault(), row.fault);
    EXPECT_FALSE(TileModel::isConfigured());
  }
  TileModel::configure(plain(16, 16, 16));
  EXPECT_EQ(TileModel::takeFault(), "");
  EXPECT_TRUE(TileModel::isConfigured());
  TileModel::configure(TileConfig{});  // palette 0 gives them back
  EXPECT_FALSE(TileModel::isConfigured());
}

TEST_F(TileModelTest, RefusesTilesThatAreNotConfigured) {
  TileModel::load(0, words_, 64);
  EXPECT_EQ(TileModel::takeFault(), "load: the tile is not configured");
  TileModel::configure(plain(2, 3, 4));
  TileModel::zero(3);
  EXPECT_EQ(TileModel::takeFault(), "zero: the tile is not configured");
  TileModel::store(7, words_, 64);
  EXPECT_EQ(TileModel::takeFault(), "store: the tile is not configured");
  TileModel::multiplyPairs(3, 1, 2);
  EXPECT_EQ(TileModel::takeFault(), "multiply: C is not configured");
  TileModel::multiplyPairs(0, 3, 2);
  EXPECT_EQ(TileModel::takeFault(), "multiply: A is not configured");
  TileModel::multiplyQuads(0, 1, 3);
  EXPECT_EQ(TileModel::takeFault(), "multiply: B is not configured");
  TileModel::release();
  TileModel::store(0, words_, 64);
  EXPECT_EQ(TileModel::takeFault(), "store: the tile is not configured");
  EXPECT_EQ(words_[0], 0u);
}

TEST_F(TileModelTest, RefusesProductsThatDoNotFit) {
  TileModel::configure(plain(2, 3, 4));
  TileModel::multiplyPairs(0, 0, 2);
  EXPECT_EQ(TileModel::takeFault(), "multiply: a tile is named twice");
  TileModel::multiplyPairs(0, 2, 1);
  EXPECT_EQ(TileModel::takeFault(), "multiply: shapes of the tiles do not fit");
  TileConfig config = plain(2, 3, 4);
  config.rowBytes[1] = 15;
  TileModel::configure(config);
  TileModel::multiplyPairs(0, 1, 2);
  EXPECT_EQ(TileModel::takeFault(), "multiply: rows are not whole words");
  TileModel::configure(plain(2, 3, 4));
  TileModel::store(0, words_, 8);
  EXPECT_EQ(TileModel::takeFault(), "store: rows would lie over each other");
}

TEST_F(TileModelTest, ReadsAndWritesWhatIsConfigured) {
  uint32_t from[2][5] = {{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}}, to[2][4] = {{91, 92, 93, 94}, {95, 96, 97, 98}};
  TileModel::configure(plain(2, 3, 1));
  TileModel::load(0, from, sizeof from[0]);
  TileModel::store(0, to, sizeof to[0]);
  const uint32_t expected[2][4] = {{1, 2, 3, 94}, {6, 7, 8, 98}};
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j) EXPECT_EQ(to[i][j], expected[i][j]);
  TileModel::configure(plain(2, 3, 1));  // makes all tiles 0
  TileModel::store(0, to, sizeof to[0]);
  EXPECT_EQ(to[1][2], 0u);
  EXPECT_EQ(TileModel::takeFault(), "");
}

}  // namespace
}  // namespace dyn::vm::kernels
