// Bits: logic, shifts, fields, counts, bytes put in another order.
#include <bit>
#include <type_traits>

#include "tests/simcuda/ptx/decode.h"
#include "tests/simcuda/ptx/define.h"

namespace simcuda {
namespace {

template <class T>
constexpr uint32_t kBits = 8 * sizeof(T);

constexpr auto kAnd = []<class T>(T x, T y) { return static_cast<T>(x & y); };
constexpr auto kOr = []<class T>(T x, T y) { return static_cast<T>(x | y); };
constexpr auto kXor = []<class T>(T x, T y) { return static_cast<T>(x ^ y); };
constexpr auto kNot = []<class T>(T x) { return static_cast<T>(~x); };
constexpr auto kShiftLeft = []<class T>(T x, uint32_t by) {
  return by < kBits<T> ? static_cast<T>(uint64_t{x} << by) : T{0};
};
constexpr auto kShiftRight = []<class T>(T x, uint32_t by) {
  return static_cast<T>(by < kBits<T> ? x >> by : std::is_signed_v<T> && x < 0 ? T(-1) : T(0));
};
constexpr auto kCountOnes = []<class T>(T x) { return static_cast<uint32_t>(std::popcount(x)); };
constexpr auto kCountZeros = []<class T>(T x) { return static_cast<uint32_t>(std::countl_zero(x)); };
constexpr auto kReverse = []<class T>(T x) {
  T result = 0;
  for (uint32_t i = 0; i < kBits<T>; i++) result |= (x >> i & 1) << (kBits<T> - 1 - i);
  return result;
};
// The highest one, or, of a negative number, the highest zero; all ones when there is none.
constexpr auto kFindHighest = []<class T>(T x) {
  auto bits = static_cast<std::make_unsigned_t<T>>(x < 0 ? ~x : x);
  return bits ? kBits<T> - 1 - static_cast<uint32_t>(std::countl_zero(bits)) : ~0u;
};

constexpr auto kExtract = []<class T>(T x, uint32_t position, uint32_t length) {
  using U = std::make_unsigned_t<T>;
  position &= 255;
  length &= 255;
  uint32_t last = position + length - 1 < kBits<T> ? position + length - 1 : kBits<T> - 1;
  U sign = std::is_signed_v<T> && length ? static_cast<U>(x) >> last & 1 : 0;
  U result = 0;
  for (uint32_t i = 0; i < kBits<T>; i++) {
    U bit = i < length && position + i < kBits<T> ? static_cast<U>(x) >> (position + i) & 1 : sign;
    result |= bit << i;
  }
  return static_cast<T>(result);
};
constexpr auto kInsert = []<class T>(T from, T into, uint32_t position, uint32_t length) {
  position &= 255;
  length &= 255;
  T result = into;
  for (uint32_t i = 0; i < length && position + i < kBits<T>; i++) {
    T at = T{1} << (position + i);
    result = static_cast<T>((result & ~at) | ((from >> i & 1) ? at : T{0}));
  }
  return result;
};

// Byte i of the result is the one of y:x that digit i of the selector names; its bit 3 spreads that byte's
// sign instead.
constexpr auto kPermute = [](uint32_t x, uint32_t y, uint32_t selector) {
  uint64_t bytes = uint64_t{y} << 32 | x;
  uint32_t result = 0;
  for (int i = 0; i < 4; i++) {
    uint32_t digit = selector >> (4 * i) & 15, byte = static_cast<uint32_t>(bytes >> (8 * (digit & 7))) & 255;
    if (digit & 8) byte = byte & 128 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return result;
};

template <bool kLeft, bool kWrap>
constexpr auto kFunnel = [](uint32_t low, uint32_t high, uint32_t by) {
  by = kWrap ? by & 31 : std::min(by, 32u);
  uint64_t both = uint64_t{high} << 32 | low;
  return static_cast<uint32_t>(kLeft ? (both << by) >> 32 : both >> by);
};

constexpr auto kSelect = []<class T>(T x, T y, bool which) { return which ? x : y; };

// Any function of three bits, by its table of truth.
void logic3(Warp& w, const Op& op) {
  auto a = rowOf<uint32_t>(w, op.rows[1]), b = rowOf<uint32_t>(w, op.rows[2]),
       c = rowOf<uint32_t>(w, op.rows[3]);
  put<uint32_t>(w, op.rows[0], [&](int l) {
    uint32_t result = 0;
    for (int i = 0; i < 8; i++) {
      if (op.variant >> i & 1)
        result |= (i & 4 ? a[l] : ~a[l]) & (i & 2 ? b[l] : ~b[l]) & (i & 1 ? c[l] : ~c[l]);
    }
    return result;
  });
}

template <class T>
void defineLogic(OpTable& t, const std::string& type) {
  define<kAnd, T, T, T>(t, "and" + type);
  define<kOr, T, T, T>(t, "or" + type);
  define<kXor, T, T, T>(t, "xor" + type);
  define<kShiftLeft, T, T, uint32_t>(t, "shl" + type);
  define<kShiftRight, T, T, uint32_t>(t, "shr" + type);
  define<kNot, T, T>(t, "not" + type);
}

template <class T>
void defineFields(OpTable& t, const std::string& type) {
  define<kCountOnes, uint32_t, T>(t, "popc" + type);
  define<kCountZeros, uint32_t, T>(t, "clz" + type);
  define<kReverse, T, T>(t, "brev" + type);
  define<kInsert, T, T, T, uint32_t, uint32_t>(t, "bfi" + type);
}

}  // namespace

void addBitOps(OpTable& t) {
  defineLogic<uint16_t>(t, ".b16");
  defineLogic<uint32_t>(t, ".b32");
  defineLogic<uint64_t>(t, ".b64");
  defineFields<uint32_t>(t, ".b32");
  defineFields<uint64_t>(t, ".b64");
  define<[](bool x, bool y) { return x && y; }, bool, bool, bool>(t, "and.pred");
  define<[](bool x, bool y) { return x || y; }, bool, bool, bool>(t, "or.pred");
  define<[](bool x, bool y) { return x != y; }, bool, bool, bool>(t, "xor.pred");
  define<[](bool x) { return !x; }, bool, bool>(t, "not.pred");
  eachType<int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>(
      [&]<class T>() { define<kShiftRight, T, T, uint32_t>(t, "shr." + typeName<T>()); });
  eachType<int32_t, uint32_t, int64_t, uint64_t>([&]<class T>() {
    define<kExtract, T, T, uint32_t, uint32_t>(t, "bfe." + typeName<T>());
    define<kFindHighest, uint32_t, T>(t, "bfind." + typeName<T>());
  });
  for (const char* type : {".b16", ".u16", ".s16"})
    define<kSelect, uint16_t, uint16_t, uint16_t, bool>(t, std::string("selp") + type);
  for (const char* type : {".b32", ".u32", ".s32", ".f32"}) {
    define<kSelect, uint32_t, uint32_t, uint32_t, bool>(t, std::string("selp") + type);
  }
  for (const char* type : {".b64", ".u64", ".s64", ".f64"}) {
    define<kSelect, uint64_t, uint64_t, uint64_t, bool>(t, std::string("selp") + type);
  }
  define<kPermute, uint32_t, uint32_t, uint32_t, uint32_t>(t, "prmt.b32");
  define<kFunnel<true, true>, uint32_t, uint32_t, uint32_t, uint32_t>(t, "shf.l.wrap.b32");
  define<kFunnel<false, true>, uint32_t, uint32_t, uint32_t, uint32_t>(t, "shf.r.wrap.b32");
  define<kFunnel<true, false>, uint32_t, uint32_t, uint32_t, uint32_t>(t, "shf.l.clamp.b32");
  define<kFunnel<false, false>, uint32_t, uint32_t, uint32_t, uint32_t>(t, "shf.r.clamp.b32");
  t.add("lop3.b32", [](Decoder& d, const Instruction& i, Op& op) {
    d.expectOperands(i, 5);
    op.run = logic3;
    op.rows[0] = d.destination(i.operands[0], 'w');
    for (int k = 1; k < 4; k++) op.rows[k] = d.operand(i.operands[k], 'w');
    op.variant = static_cast<uint8_t>(d.integer(i.operands[4]));
  });
}

}  // namespace simcuda
