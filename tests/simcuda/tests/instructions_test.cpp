// Single instructions that a compiler seldom writes, each beside a function that says what it does.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <random>

#include "tests/simcuda/ptx/small_floats.h"
#include "tests/simcuda/tests/api.h"

namespace {

constexpr int kLanes = 32;
using Lanes = std::vector<uint32_t>;

// Every lane has three words: %r1, %r2, %r3. The instruction leaves its result in %r0 (or %f0, which is the
// same register by a mov).
std::string kernelOf(const std::string& instruction) {
  return ".version 7.0\n.target sm_80\n.address_size 64\n"
         ".visible .entry k(.param .u64 in, .param .u64 out) {\n"
         ".reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<8>; .reg .b16 %rs<8>; .reg .pred %p<4>; .reg .f64 "
         "%fd<4>;\n"
         "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];\n"
         "mov.u32 %r4, %tid.x; mul.wide.u32 %rd3, %r4, 4; add.s64 %rd1, %rd1, %rd3; add.s64 %rd2, %rd2, "
         "%rd3;\n"
         "ld.global.u32 %r1, [%rd1]; ld.global.u32 %r2, [%rd1+128]; ld.global.u32 %r3, [%rd1+256]; mov.u32 "
         "%r0, 0;\n"
         "mov.b32 %f1, %r1; mov.b32 %f2, %r2; setp.ne.u32 %p1, %r1, 0;\n" +
         instruction + "\nst.global.u32 [%rd2], %r0;\nret;\n}\n";
}

class Instructions : public DriverTest {
 protected:
  Lanes runOne(const std::string& instruction, const Lanes& words) {
    DevicePointer in = upload(words), out = allocate(4 * kLanes);
    EXPECT_EQ(run(load(kernelOf(instruction), "k"), {1, kLanes}, in, out), 0)
        << instruction << ": " << api().fault();
    return download<uint32_t>(out, kLanes);
  }
  using Function = std::function<uint32_t(uint32_t, uint32_t, uint32_t)>;
  void compare(const std::string& instruction, const Function& f, const std::vector<uint32_t>& special = {}) {
    std::mt19937 random(5);
    for (int round = 0; round < 8; round++) {
      Lanes words(3 * kLanes);
      for (uint32_t& w : words) {
        uint32_t bits = random();
        w = !special.empty() && random() % 2 ? special[random() % special.size()]
                                             : bits >> (random() % 3 * 12);
      }
      Lanes got = runOne(instruction, words);
      for (int l = 0; l < kLanes; l++) {
        ASSERT_EQ(got[l], f(words[l], words[l + 32], words[l + 64]))
            << instruction << " of " << words[l] << ", " << words[l + 32] << ", " << words[l + 64];
      }
    }
  }
};

TEST_F(Instructions, bits_and_bytes) {
  compare("prmt.b32 %r0, %r1, %r2, 0x5410;",
          [](uint32_t x, uint32_t y, uint32_t) { return (x & 0xffff) | y << 16; });
  compare("prmt.b32 %r0, %r1, %r2, 0x7bb8;", [](uint32_t x, uint32_t y, uint32_t) {
    uint32_t s0 = x & 128 ? 255 : 0, s3 = x >> 31 ? 255 : 0;
    return s0 | s3 << 8 | s3 << 16 | y >> 24 << 24;
  });
  compare("bfe.u32 %r0, %r1, 5, 9;", [](uint32_t x, uint32_t, uint32_t) { return x >> 5 & 511; });
  compare("bfe.s32 %r0, %r1, 5, 9;", [](uint32_t x, uint32_t, uint32_t) {
    return static_cast<uint32_t>(static_cast<int32_t>(x << 18) >> 23);
  });
  compare("bfi.b32 %r0, %r1, %r2, 8, 4;",
          [](uint32_t x, uint32_t y, uint32_t) { return (y & ~0xf00u) | (x & 15) << 8; });
  compare("brev.b32 %r0, %r1;", [](uint32_t x, uint32_t, uint32_t) {
    uint32_t r = 0;
    for (int i = 0; i < 32; i++) r = r << 1 | (x >> i & 1);
    return r;
  });
  compare("shf.l.wrap.b32 %r0, %r1, %r2, %r3;", [](uint32_t x, uint32_t y, uint32_t z) {
    return static_cast<uint32_t>((uint64_t{y} << 32 | x) << (z & 31) >> 32);
  });
  compare("shf.r.clamp.b32 %r0, %r1, %r2, %r3;", [](uint32_t x, uint32_t y, uint32_t z) {
    return static_cast<uint32_t>((uint64_t{y} << 32 | x) >> std::min(z, 32u));
  });
  compare("lop3.b32 %r0, %r1, %r2, %r3, 0x96;", [](uint32_t x, uint32_t y, uint32_t z) { return x ^ y ^ z; });
  compare("lop3.b32 %r0, %r1, %r2, %r3, 0xe8;",
          [](uint32_t x, uint32_t y, uint32_t z) { return (x & y) | (x & z) | (y & z); });
  compare("bfind.u32 %r0, %r1;",
          [](uint32_t x, uint32_t, uint32_t) { return x ? 31 - std::countl_zero(x) : ~0u; }, {0, 1});
  compare("shl.b32 %r0, %r1, %r2;", [](uint32_t x, uint32_t y, uint32_t) { return y < 32 ? x << y : 0; },
          {31, 32, 33, 5});
  compare("shr.s32 %r0, %r1, %r2;",
          [](uint32_t x, uint32_t y, uint32_t) {
            return static_cast<uint32_t>(static_cast<int32_t>(x) >> std::min(y, 31u));
          },
          {31, 32, 33, 5});
  compare("dp4a.s32.s32 %r0, %r1, %r2, %r3;", [](uint32_t x, uint32_t y, uint32_t z) {
    for (int i = 0; i < 32; i += 8)
      z += static_cast<uint32_t>(static_cast<int8_t>(x >> i) * static_cast<int8_t>(y >> i));
    return z;
  });
  compare("{ .reg .b16 a, b; mov.b32 {a, b}, %r1; mov.b32 %r0, {b, a}; }",
          [](uint32_t x, uint32_t, uint32_t) { return std::rotl(x, 16); });
  compare("mad.hi.u32 %r0, %r1, %r2, %r3;", [](uint32_t x, uint32_t y, uint32_t z) {
    return static_cast<uint32_t>((uint64_t{x} * y) >> 32) + z;
  });
  compare("add.sat.s32 %r0, %r1, %r2;", [](uint32_t x, uint32_t y, uint32_t) {
    int64_t sum = int64_t{static_cast<int32_t>(x)} + static_cast<int32_t>(y);
    return static_cast<uint32_t>(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX));
  });
}

const std::vector<uint32_t> kFloats = {0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
                                       0x7fc00000, 0x00000001, 0x477fe000, 0x477ff000, 0x33800000, 0x38800001,
                                       0x3f801000, 0x3f800fff, 0x4effffff, 0x4f000000};

TEST_F(Instructions, conversions_in_all_roundings) {
  using simcuda::Rounding;
  auto asFloat = [](uint32_t x) { return std::bit_cast<float>(x); };
  auto nan = [](float v, uint32_t bits, uint32_t otherwise) { return std::isnan(v) ? bits : otherwise; };
  compare(
      "cvt.rzi.s32.f32 %r0, %f1;",
      [&](uint32_t x, uint32_t, uint32_t) {
        float v = asFloat(x);
        return nan(v, 0,
                   v >= 0x1p31f    ? INT32_MAX
                   : v <= -0x1p31f ? 0x80000000u
                                   : static_cast<uint32_t>(static_cast<int32_t>(v)));
      },
      kFloats);
  compare(
      "cvt.rmi.f32.f32 %f0, %f1; mov.b32 %r0, %f0;",
      [&](uint32_t x, uint32_t, uint32_t) {
        return nan(asFloat(x), 0x7fffffff, std::bit_cast<uint32_t>(std::floor(asFloat(x))));
      },
      kFloats);
  compare(
      "cvt.rna.tf32.f32 %r0, %f1;",
      [&](uint32_t x, uint32_t, uint32_t) {
        return nan(asFloat(x), 0x7fffe000, (x & 0x7f800000) == 0x7f800000 ? x : (x + 0x1000) & ~0x1fffu);
      },
      kFloats);
  compare(
      "cvt.rn.bf16.f32 %rs1, %f1; cvt.u32.u16 %r0, %rs1;",
      [&](uint32_t x, uint32_t, uint32_t) {
        return nan(asFloat(x), 0x7fff, (x + 0x7fff + (x >> 16 & 1)) >> 16);
      },
      kFloats);
  compare(
      "cvt.rz.bf16x2.f32 %r0, %f1, %f2;",
      [&](uint32_t x, uint32_t y, uint32_t) {
        return nan(asFloat(x), 0x7fff0000, x & 0xffff0000) | nan(asFloat(y), 0x7fff, y >> 16);
      },
      kFloats);
  compare(
      "cvt.rn.f16.f32 %rs1, %f1; cvt.u32.u16 %r0, %rs1;",
      [&](uint32_t x, uint32_t, uint32_t) {
        auto half = static_cast<_Float16>(asFloat(x));
        return nan(asFloat(x), 0x7fff, std::bit_cast<uint16_t>(half));
      },
      kFloats);
  compare("cvt.s32.s8 %r0, %r1;",
          [](uint32_t x, uint32_t, uint32_t) { return static_cast<uint32_t>(static_cast<int8_t>(x)); });
  compare("cvt.sat.u8.s32 %r0, %r1;", [](uint32_t x, uint32_t, uint32_t) {
    return static_cast<uint32_t>(std::clamp(static_cast<int32_t>(x), 0, 255));
  });
  // Numbers between two floats: down, up, towards zero.
  for (auto [name, towards] : {std::pair{"rm", -INFINITY}, {"rp", INFINITY}, {"rz", 0.0f}}) {
    compare("cvt." + std::string(name) + ".f32.s32 %f0, %r1; mov.b32 %r0, %f0;",
            [towards = towards](uint32_t x, uint32_t, uint32_t) {
              double exact = static_cast<int32_t>(x);
              float near = static_cast<float>(exact);
              bool beyond = towards == 0  ? std::fabs(near) > std::fabs(exact)
                            : towards < 0 ? near > exact
                                          : near < exact;
              return std::bit_cast<uint32_t>(beyond ? std::nextafter(near, towards) : near);
            },
            {0x7fffffff, 0x80000001, 0x01000001, 0xfeffffff});
  }
}

TEST_F(Instructions, smallest_and_largest_with_nan_and_zeros) {
  auto pick = [](bool largest, bool keepsNan) {
    return [=](uint32_t xb, uint32_t yb, uint32_t) {
      float x = std::bit_cast<float>(xb), y = std::bit_cast<float>(yb);
      if (std::isnan(x) || std::isnan(y))
        return keepsNan || (std::isnan(x) && std::isnan(y)) ? 0x7fffffffu : std::isnan(x) ? yb : xb;
      if (x == y) return std::signbit(x) == largest ? yb : xb;
      return (x > y) == largest ? xb : yb;
    };
  };
  const std::vector<uint32_t> values = {0, 0x80000000, 0x7fc00000, 0x3f800000};
  compare("min.f32 %f0, %f1, %f2; mov.b32 %r0, %f0;", pick(false, false), values);
  compare("max.f32 %f0, %f1, %f2; mov.b32 %r0, %f0;", pick(true, false), values);
  compare("min.NaN.f32 %f0, %f1, %f2; mov.b32 %r0, %f0;", pick(false, true), values);
  compare("max.NaN.f32 %f0, %f1, %f2; mov.b32 %r0, %f0;", pick(true, true), values);
}

TEST_F(Instructions, approximations_are_near) {
  for (auto [name, f] : {std::pair<const char*, double (*)(double)>{"ex2.approx.f32", std::exp2},
                         {"lg2.approx.f32", std::log2},
                         {"sqrt.approx.f32", std::sqrt},
                         {"tanh.approx.f32", std::tanh}}) {
    Lanes words(3 * kLanes);
    for (int l = 0; l < kLanes; l++) words[l] = std::bit_cast<uint32_t>(0.1f + static_cast<float>(l) * 0.37f);
    Lanes got = runOne(std::string(name) + " %f0, %f1; mov.b32 %r0, %f0;", words);
    for (int l = 0; l < kLanes; l++) {
      double expected = f(std::bit_cast<float>(words[l]));
      EXPECT_NEAR(std::bit_cast<float>(got[l]), expected, 1e-6 + 1e-6 * std::fabs(expected)) << name;
    }
  }
}

TEST_F(Instructions, lanes_together) {
  Lanes words(3 * kLanes);
  for (int l = 0; l < 3 * kLanes; l++) words[l] = static_cast<uint32_t>(l * 7 % 10);
  auto expect = [&](const std::string& instruction, const std::function<uint32_t(int)>& f) {
    for (const char* seed : {"0", "1", "2", "3"}) {
      begin({{"DYN_SIMCUDA_SEED", seed}});
      Lanes got = runOne(instruction, words);
      for (int l = 0; l < kLanes; l++) ASSERT_EQ(got[l], f(l)) << instruction << " in lane " << l;
    }
  };
  uint32_t ones = 0, sum = 0;
  for (int l = 0; l < kLanes; l++) {
    ones |= static_cast<uint32_t>(words[l] != 0) << l;
    sum += words[l];
  }
  expect("shfl.sync.down.b32 %r0, %r1, 3, 31, -1;",
         [&](int l) { return l + 3 < 32 ? words[l + 3] : words[l]; });
  expect("shfl.sync.up.b32 %r0, %r1, 3, 0, -1;", [&](int l) { return l >= 3 ? words[l - 3] : words[l]; });
  expect("shfl.sync.idx.b32 %r0, %r1, 5, 31, -1;", [&](int) { return words[5]; });
  expect("shfl.sync.bfly.b32 %r0, %r1, 8, 31, -1;", [&](int l) { return words[l ^ 8]; });
  // Segments of eight lanes: the others' values stay out of reach.
  expect("shfl.sync.down.b32 %r0|%p2, %r1, 1, 0x181f, -1; selp.b32 %r0, %r0, 99, %p2;",
         [&](int l) { return l % 8 < 7 ? words[l + 1] : 99; });
  expect("vote.sync.ballot.b32 %r0, %p1, -1;", [&](int) { return ones; });
  expect("vote.sync.ballot.b32 %r0, !%p1, -1;", [&](int) { return ~ones; });
  expect("vote.sync.any.pred %p2, %p1, -1; selp.b32 %r0, 1, 0, %p2;", [&](int) { return 1; });
  expect("vote.sync.all.pred %p2, %p1, -1; selp.b32 %r0, 1, 0, %p2;", [&](int) { return 0; });
  expect("redux.sync.add.s32 %r0, %r1, -1;", [&](int) { return sum; });
  expect("redux.sync.max.u32 %r0, %r1, -1;", [&](int) { return 9; });
  expect("match.any.sync.b32 %r0, %r1, -1;", [&](int l) {
    uint32_t same = 0;
    for (int k = 0; k < kLanes; k++) same |= static_cast<uint32_t>(words[k] == words[l]) << k;
    return same;
  });
  // Only the lanes below 16, which a branch leads there.
  expect("setp.ge.u32 %p2, %r4, 16; @%p2 bra L; shfl.sync.bfly.b32 %r0, %r1, 1, 31, 0xffff; L:",
         [&](int l) { return l < 16 ? words[l ^ 1] : 0; });
  expect("mov.u32 %r5, 0; bar.red.popc.u32 %r0, %r5, %p1;",
         [&](int) { return static_cast<uint32_t>(std::popcount(ones)); });
  expect(
      "rem.u32 %r5, %r4, 3; T: .branchtargets A, B, C; brx.idx %r5, T; A: mov.u32 %r0, 10; bra D; B: mov.u32 "
      "%r0, 20; bra D; C: mov.u32 %r0, 30; D:",
      [&](int l) { return static_cast<uint32_t>(10 + 10 * (l % 3)); });
}

TEST_F(Instructions, atomics) {
  Lanes words(3 * kLanes);
  for (int l = 0; l < 3 * kLanes; l++) words[l] = static_cast<uint32_t>(100 - l);
  std::string shared =
      "{ .shared .align 8 .b8 cell[8]; mov.u32 %r6, cell; setp.eq.u32 %p2, %r4, 0; @%p2 st.shared.u32 [%r6], "
      "50; bar.sync 0;";
  auto all = [&](const std::string& instruction) {
    return runOne(shared + instruction + " bar.sync 0; ld.shared.u32 %r0, [%r6]; }", words)[7];
  };
  EXPECT_EQ(all("red.shared.min.u32 [%r6], %r1;"), 50u);
  EXPECT_EQ(all("red.shared.max.s32 [%r6], %r1;"), 100u);
  EXPECT_EQ(all("atom.shared.add.u32 %r5, [%r6], %r4;"), 50u + 31 * 16);
  EXPECT_EQ(all("atom.shared.cas.b32 %r5, [%r6], 50, 7;"), 7u);
  EXPECT_EQ(all("atom.shared.exch.b32 %r5, [%r6], 9;"), 9u);
  EXPECT_EQ(all("atom.shared.inc.u32 _, [%r6], 60;"), 21u);  // 50 ... 60, then from 0
  EXPECT_EQ(all("cvt.rn.f32.u32 %f3, %r4; mov.b32 %f4, 0f00000000; atom.shared.exch.b32 %r5, [%r6], 0; "
                "bar.sync 0; red.shared.add.f32 [%r6], %f3;"),
            std::bit_cast<uint32_t>(496.0f));
}

}  // namespace
