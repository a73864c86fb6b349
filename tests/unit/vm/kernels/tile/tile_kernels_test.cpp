// Kernels by tiles, at all tails of rows, columns and depth: those that run by the model, and the machine
// code of those for Intel AMX, whose instructions the model answers where the processor has none
// (tile_trap.h). Bytes against the exact sums; bf16 against sums in f64, and the machine code against the
// model to the bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <string>

#include "tests/unit/vm/kernels/tile/tile_trap.h"
#include "vm/kernels/byte/byte_gemm.h"
#include "vm/kernels/gemm/bf16_gemm.h"
#include "vm/kernels/tile/held_tiles.h"
#include "vm/kernels/tile/tile_model.h"
#include "vm/shared/dyn_tiles.h"

namespace dyn::vm::kernels {

extern const Bf16Family bf16FamilyTileModel;
extern const ByteGemmFamily byteGemmTileModel;
#if defined(__x86_64__)
extern const Bf16Family bf16FamilyAmx;
extern const ByteGemmFamily byteGemmAmx;
#endif

namespace {

constexpr int64_t kRows[] = {1, 2, 3, 7, 8, 13, 15, 16, 17, 18, 23, 29, 31, 32};
constexpr int64_t kColumns[] = {1, 2, 7, 15, 16, 17, 19, 31, 32};
constexpr int64_t kLeadingC = 37;

// The machine code's kernels copy by AVX-512.
bool runsMachineCode() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") != 0;
#else
  return false;
#endif
}

class TileKernels : public testing::Test {
 protected:
  void SetUp() override { TileModel::takeFault(); }
  void TearDown() override {
    EXPECT_EQ(TileModel::takeFault(), "");
    EXPECT_FALSE(TileModel::isConfigured());
  }
  int64_t number(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  float real() { return std::uniform_real_distribution<float>(-1, 1)(random_); }

  std::minstd_rand random_{7};
};

// A product in bf16 whose C has more columns than it writes.
struct Bf16Case {
  int64_t rows, columns, depth;
  std::vector<uint32_t> a, panel;
  std::vector<float> c;
  int64_t leading() const { return bf16Words(depth) + 3; }

  std::vector<float> run(const Bf16Family& family, int32_t accumulate) const {
    std::vector<float> to = c;
    family.microKernels[rows - 1](bf16Words(depth), a.data(), leading(), panel.data(), to.data(), kLeadingC,
                                  columns, accumulate);
    return to;
  }
};

float bf16At(uint32_t word, int64_t depth) {
  return std::bit_cast<float>(depth % 2 == 0 ? word << 16 : word & 0xffff0000u);
}

TEST_F(TileKernels, bf16AtAllTails) {
  using test::TileTrap;
  for (int64_t depth : {0, 1, 2, 3, 30, 31, 32, 33, 63, 64, 65, 97, 192})
    for (int64_t rows : kRows)
      for (int64_t columns : kColumns) {
        Bf16Case p{rows, columns, depth, {}, {}, {}};
        // What is not of the product is NaN: nothing of it may be read as a number.
        p.a.assign(static_cast<size_t>(rows * p.leading()), 0x7fc07fc0u);
        p.panel.assign(static_cast<size_t>(bf16Words(depth) * 32), 0);
        p.c.resize(static_cast<size_t>(rows * kLeadingC));
        for (float& x : p.c) x = real();
        std::vector<float> a(static_cast<size_t>(rows * depth)), b(static_cast<size_t>(depth * columns));
        for (float& x : a) x = real();
        for (float& x : b) x = real();
        for (int64_t i = 0; i < rows; ++i) {
          std::fill_n(p.a.data() + i * p.leading(), bf16Words(depth), 0u);
          for (int64_t k = 0; k < depth; ++k)
            p.a[static_cast<size_t>(i * p.leading() + k / 2)] |=
                uint32_t{roundToBf16(a[static_cast<size_t>(i * depth + k)])} << (k % 2 * 16);
        }
        packBf16Panels({.panelWidth = 32}, b.data(), depth, columns, columns, 1, 0, 1, p.panel.data());
        for (int32_t accumulate : {0, 1}) {
          const std::vector<float> got = p.run(bf16FamilyTileModel, accumulate);
          for (int64_t i = 0; i < rows; ++i)
            for (int64_t j = 0; j < kLeadingC; ++j) {
              const auto at = static_cast<size_t>(i * kLeadingC + j);
              double sum = accumulate || j >= columns ? p.c[at] : 0;
              for (int64_t k = 0; k < depth && j < columns; ++k)
                sum += double{bf16At(p.a[static_cast<size_t>(i * p.leading() + k / 2)], k)} *
                       bf16At(p.panel[static_cast<size_t>(k / 2 * 32 + j)], k);
              ASSERT_NEAR(got[at], sum, j < columns ? 2e-5 : 0)
                  << rows << " x " << depth << " x " << columns << " at " << i << ", " << j;
            }
#if defined(__x86_64__)
          if (!runsMachineCode()) continue;
          const TileTrap trap;
          const std::vector<float> same = p.run(bf16FamilyAmx, accumulate);
          for (size_t i = 0; i < got.size(); ++i)
            ASSERT_EQ(std::bit_cast<uint32_t>(same[i]), std::bit_cast<uint32_t>(got[i]))
                << rows << " x " << depth << " x " << columns;
#endif
        }
      }
  EXPECT_GT(TileModel::productCount(), 0);
  EXPECT_TRUE(!runsMachineCode() || tileSupport().bf16 || TileTrap::answered() > 0);
}

// Blocks of depth that are whole steps give the bits of one pass, whatever follows.
TEST_F(TileKernels, bf16BlocksOfDepthGiveTheSameBits) {
  Bf16Case p{21, 27, 32 * 7 + 5, {}, {}, std::vector<float>(21 * kLeadingC)};
  p.a.resize(static_cast<size_t>(p.rows * p.leading()));
  p.panel.resize(static_cast<size_t>(bf16Words(p.depth) * 32));
  for (uint32_t& word : p.a) word = uint32_t{roundToBf16(real())} << 16 | roundToBf16(real());
  for (uint32_t& word : p.panel) word = uint32_t{roundToBf16(real())} << 16 | roundToBf16(real());
  const std::vector<float> whole = p.run(bf16FamilyTileModel, 0);
  std::vector<float> parts = p.c;
  for (int64_t begin = 0; begin < bf16Words(p.depth); begin += 48)
    bf16FamilyTileModel.microKernels[p.rows - 1](std::min<int64_t>(48, bf16Words(p.depth) - begin),
                                                 p.a.data() + begin, p.leading(), p.panel.data() + begin * 32,
                                                 parts.data(), kLeadingC, p.columns, begin > 0);
  EXPECT_EQ(parts, whole);
}

// Rows of `runs` pieces anywhere; one run: a plain row.
class ByteCase {
 public:
  int64_t rows, columns, runs, words;
  std::vector<uint8_t> a;
  std::vector<int64_t> offsets;
  int64_t pitch;
  std::vector<int8_t> panel;
  std::vector<int32_t> terms, zeros;

  std::vector<int32_t> run(const ByteGemmFamily& family) const {
    std::vector<int32_t> c(static_cast<size_t>(rows * kLeadingC), -77);
    family.runKernels[rows - 1](runs, offsets.data(), words, a.data(), pitch, panel.data(), terms.data(),
                                zeros.data(), c.data(), kLeadingC, columns);
    return c;
  }
  std::vector<int32_t> expected() const {
    std::vector<int32_t> c(static_cast<size_t>(rows * kLeadingC), -77);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        const auto* sums = reinterpret_cast<const int32_t*>(panel.data() + runs * words * 128);
        c[static_cast<size_t>(i * kLeadingC + j)] =
            product(i, j,
                    static_cast<uint32_t>(
                        -(int64_t{zeros[static_cast<size_t>(j)]} * terms[static_cast<size_t>(2 * i)] +
                          int64_t{sums[j]} * terms[static_cast<size_t>(2 * i + 1)])));
      }
    return c;
  }

  // Sums that begin with zeros_, as bytes about 100.
  std::vector<float> scales() const {
    std::vector<float> made;
    for (int32_t zero : zeros) made.push_back(1.0F / static_cast<float>(1000 + 20 * std::abs(zero)));
    return made;
  }
  std::vector<uint8_t> bytes(const ByteGemmFamily& family) const {
    std::vector<uint8_t> c(static_cast<size_t>(rows * kLeadingC), 7);
    const std::vector<float> factors = scales();
    family.rescaledKernels[rows - 1](runs, offsets.data(), words, a.data(), pitch, panel.data(),
                                     {zeros.data(), factors.data(), -100, 155, 100, false, {}}, c.data(),
                                     kLeadingC, columns);
    return c;
  }
  std::vector<uint8_t> expectedBytes() const {
    std::vector<uint8_t> c(static_cast<size_t>(rows * kLeadingC), 7);
    const std::vector<float> factors = scales();
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        const int32_t sum = product(i, j, static_cast<uint32_t>(zeros[static_cast<size_t>(j)]));
        const float real = static_cast<float>(sum) * factors[static_cast<size_t>(j)];
        c[static_cast<size_t>(i * kLeadingC + j)] =
            static_cast<uint8_t>(std::nearbyint(std::clamp(real, -100.0F, 155.0F)) + 100);
      }
    return c;
  }

 private:
  int32_t product(int64_t i, int64_t j, uint32_t sum) const {
    for (int64_t k = 0; k < runs * words * 4; ++k)
      sum += static_cast<uint32_t>(int32_t{a[static_cast<size_t>(offsets[static_cast<size_t>(k / 4 / words)] +
                                                                 i * pitch + k % (4 * words))]} *
                                   panel[static_cast<size_t>((k / 4 * 32 + j) * 4 + k % 4)]);
    return static_cast<int32_t>(sum);
  }
};

TEST_F(TileKernels, bytesAtAllTails) {
  for (const auto& [runs, words] : {std::pair<int64_t, int64_t>{1, 0},
                                    {1, 1},
                                    {1, 15},
                                    {1, 16},
                                    {1, 17},
                                    {1, 32},
                                    {1, 49},
                                    {3, 1},
                                    {3, 5},
                                    {7, 6},
                                    {3, 16},
                                    {3, 24},
                                    {2, 23}})
    for (int64_t rows : kRows)
      for (int64_t columns : kColumns) {
        ByteCase p{rows, columns, runs, words, {}, {}, 4 * words + number(0, 9), {}, {}, {}};
        for (int64_t run = 0; run < runs; ++run) p.offsets.push_back(number(0, 50));
        // No byte more than is needed: what is read behind is found by the address sanitizer.
        p.a.resize(static_cast<size_t>(*std::max_element(p.offsets.begin(), p.offsets.end()) +
                                       (rows - 1) * p.pitch + 4 * words));
        for (uint8_t& x : p.a) x = static_cast<uint8_t>(number(0, 255));
        p.panel.resize(static_cast<size_t>(runs * words * 128 + 128));
        for (int8_t& x : p.panel) x = static_cast<int8_t>(number(-128, 127));
        for (int64_t i = 0; i < 2 * rows; ++i) p.terms.push_back(static_cast<int32_t>(number(-99999, 99999)));
        for (int64_t j = 0; j < 32; ++j) p.zeros.push_back(static_cast<int32_t>(number(-255, 255)));
        const std::vector<int32_t> expected = p.expected();
        const std::vector<uint8_t> bytes = p.expectedBytes();
        const std::string what = std::to_string(rows) + " x " + std::to_string(runs) + " * " +
                                 std::to_string(words) + " x " + std::to_string(columns);
        ASSERT_EQ(p.run(byteGemmTileModel), expected) << what;
        ASSERT_EQ(p.bytes(byteGemmTileModel), bytes) << what;
#if defined(__x86_64__)
        if (!runsMachineCode()) continue;
        const test::TileTrap trap;
        ASSERT_EQ(p.run(byteGemmAmx), expected) << what;
        ASSERT_EQ(p.bytes(byteGemmAmx), bytes) << what;
#endif
      }
}

// Held, tiles stay configured from kernel to kernel, and are given back at the end.
TEST_F(TileKernels, areGivenBack) {
  Bf16Case p{5, 9, 40, {}, {}, std::vector<float>(5 * kLeadingC)};
  p.a.resize(static_cast<size_t>(p.rows * p.leading()));
  p.panel.resize(static_cast<size_t>(bf16Words(p.depth) * 32));
  p.run(bf16FamilyTileModel, 0);
  EXPECT_FALSE(TileModel::isConfigured());
  {
    const HeldTiles held(bf16FamilyTileModel.releaseTiles);
    EXPECT_FALSE(TileModel::isConfigured());  // nothing was done yet
    p.run(bf16FamilyTileModel, 0);
    EXPECT_TRUE(TileModel::isConfigured());
    {
      const HeldTiles inside(byteGemmTileModel.releaseTiles);
      p.rows = 4;
      p.run(bf16FamilyTileModel, 0);
    }
    EXPECT_TRUE(TileModel::isConfigured());
    EXPECT_EQ(tileHold.rows, 4);
  }
  EXPECT_FALSE(TileModel::isConfigured());
  EXPECT_EQ(tileHold.rows, 0);
}

}  // namespace
}  // namespace dyn::vm::kernels
