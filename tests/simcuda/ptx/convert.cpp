// cvt: between all types, in all roundings. A register may be wider than the type; its other bits are then
// sign or zero.
#include <cmath>
#include <limits>

#include "tests/simcuda/ptx/decode.h"
#include "tests/simcuda/ptx/define.h"

namespace simcuda {
namespace {

template <class T>
constexpr bool kIsFloat = std::is_floating_point_v<T> || kIsSmallFloat<T>;

template <class T>
double exact(T v) {  // of a float type
  if constexpr (kIsSmallFloat<T>) {
    return toFloat(v);
  } else {
    return v;
  }
}

template <class D>
D fromDouble(double v, Rounding r) {
  if constexpr (std::is_same_v<D, double>) {
    return v;
  } else if constexpr (std::is_same_v<D, float>) {
    return toFloat(v, r);
  } else if constexpr (std::is_same_v<D, Half>) {
    return toHalf(v, r);
  } else {
    return toBfloat(v, r);
  }
}

double toIntegral(double v, Rounding r) {
  switch (r) {
    case Rounding::Zero:
      return std::trunc(v);
    case Rounding::Down:
      return std::floor(v);
    case Rounding::Up:
      return std::ceil(v);
    default:
      return std::nearbyint(v);
  }
}

// Out of range is the nearest there is. NaN is zero, but where 64 bits take part: there it is the highest bit
// alone.
template <class D, class S>
D floatToInteger(double v) {
  constexpr bool kWide = sizeof(D) == 8 || std::is_same_v<S, double>;
  using Limits = std::numeric_limits<D>;
  if (std::isnan(v)) return kWide ? static_cast<D>(uint64_t{1} << (8 * sizeof(D) - 1)) : D{0};
  if (v >= std::ldexp(1.0, Limits::digits)) return Limits::max();
  if (v <= static_cast<double>(Limits::min())) return Limits::min();
  return static_cast<D>(v);
}

// An integer of 64 bits in double, the last bit set if anything was lost (see fmaToOdd).
template <class S>
double integerToOdd(S v) {
  auto high = static_cast<double>(static_cast<S>(v / 4294967296)) * 0x1p32;
  return fmaToOdd(high, 1, static_cast<double>(static_cast<S>(v % 4294967296)));
}

template <class D, class S>
D integerToFloat(S v, Rounding r) {
  if constexpr (sizeof(S) < 8) {
    return fromDouble<D>(static_cast<double>(v), r);
  } else if constexpr (std::is_same_v<D, double>) {
    double nearest = static_cast<double>(v);
    if (r == Rounding::NearestEven) return nearest;
    __int128 difference = static_cast<__int128>(nearest) - v;
    bool down = r == Rounding::Down || (r == Rounding::Zero && v > 0);
    if (difference > 0 && down) return std::nextafter(nearest, -INFINITY);
    if (difference < 0 && (r == Rounding::Up || (r == Rounding::Zero && v < 0)))
      return std::nextafter(nearest, INFINITY);
    return nearest;
  } else {
    return fromDouble<D>(integerToOdd(v), r);
  }
}

template <class D, class S, Rounding R>
D convert(S v) {
  if constexpr (!kIsFloat<D> && !kIsFloat<S>) {
    return static_cast<D>(v);
  } else if constexpr (!kIsFloat<D>) {
    return floatToInteger<D, S>(toIntegral(exact(v), R));
  } else if constexpr (!kIsFloat<S>) {
    return integerToFloat<D>(v, R);
  } else if constexpr (std::is_same_v<D, float> && std::is_same_v<S, double> && R == Rounding::NearestEven) {
    return static_cast<float>(v);
  } else {
    return fromDouble<D>(exact(v), R);
  }
}

template <class D, class S>
D convertSaturated(S v) {
  using Limits = std::numeric_limits<D>;
  if constexpr (std::is_signed_v<S>) {
    if (v < 0 && std::is_unsigned_v<D>) return 0;
    if (v < 0) return v < static_cast<int64_t>(Limits::min()) ? Limits::min() : static_cast<D>(v);
  }
  return static_cast<uint64_t>(v) > static_cast<uint64_t>(Limits::max()) ? Limits::max() : static_cast<D>(v);
}

template <class D, class S>
D unitInterval(S v) {  // .sat of floats
  double x = exact(v);
  return fromDouble<D>(x > 0 ? std::min(x, 1.0) : 0.0, Rounding::NearestEven);
}

// Registers of other widths than the types': a row of the type's width lies between.
template <class D, class S, auto F>
void addConversion(OpTable& t, const std::string& spelling) {
  t.add(spelling, [](Decoder& d, const Instruction& i, Op& op) {
    d.expectOperands(i, 2);
    constexpr bool kWideD = sizeof(D) == 8, kWideS = sizeof(S) == 8;
    auto bytesOf = [](Width w) {
      return w == Width::Bits64 ? 8u : w == Width::Bits32 ? 4u : w == Width::Bits16 ? 2u : 0u;
    };
    op.run = applyToLanes<F, D, S>;
    Width to;
    op.rows[0] = d.anyRegister(i.operands[0], to);
    if (bytesOf(to) < sizeof(D)) d.fail("the result is wider than its register");
    if (i.operands[1].kind != Operand::Kind::Register) {
      op.rows[1] = d.operand(i.operands[1], kWideS ? 'd' : 'w');
    } else {
      Width from;
      op.rows[1] = d.anyRegister(i.operands[1], from);
      if (bytesOf(from) < sizeof(S)) d.fail("the operand is wider than its register");
      if (from == Width::Bits64 && !kWideS) {
        Op narrow = op;
        narrow.run = applyToLanes<[](uint64_t v) { return static_cast<uint32_t>(v); }, uint32_t, uint64_t>;
        narrow.rows[0] = op.rows[1] = d.scratch(false);
        narrow.rows[1] = d.anyRegister(i.operands[1], from);
        d.before(narrow);
      }
    }
    if (to == Width::Bits64 && !kWideD) {
      Op widen = op;
      using Signed = std::conditional_t<std::is_integral_v<D> && std::is_signed_v<D>, int32_t, uint32_t>;
      widen.run = applyToLanes<[](Signed v) { return static_cast<int64_t>(v); }, int64_t, Signed>;
      widen.rows[1] = op.rows[0] = d.scratch(false);
      d.after.push_back(widen);
    }
  });
}

template <class D, class S, Rounding R>
constexpr auto kConvert = [](S v) { return convert<D, S, R>(v); };
template <class D, class S, Rounding R>
constexpr auto kToIntegral =
    [](S v) { return fromDouble<D>(toIntegral(exact(v), R), Rounding::NearestEven); };

template <class D, class S>
void addPair(OpTable& t) {
  std::string types = "." + typeName<D>() + "." + typeName<S>();
  if constexpr (!kIsFloat<D> && !kIsFloat<S>) {
    addConversion<D, S, kConvert<D, S, Rounding::Zero>>(t, "cvt" + types);
    addConversion<D, S, [](S v) { return convertSaturated<D>(v); }>(t, "cvt.sat" + types);
  } else if constexpr (!kIsFloat<D> || !kIsFloat<S>) {
    std::string suffix = kIsFloat<D> ? "" : "i";
    for (const std::string& saturated : {std::string(), std::string(kIsFloat<D> ? "" : ".sat")}) {
      addConversion<D, S, kConvert<D, S, Rounding::NearestEven>>(t, "cvt.rn" + suffix + saturated + types);
      addConversion<D, S, kConvert<D, S, Rounding::Zero>>(t, "cvt.rz" + suffix + saturated + types);
      addConversion<D, S, kConvert<D, S, Rounding::Down>>(t, "cvt.rm" + suffix + saturated + types);
      addConversion<D, S, kConvert<D, S, Rounding::Up>>(t, "cvt.rp" + suffix + saturated + types);
    }
  } else {
    if constexpr (std::is_same_v<D, S>) {
      addConversion<D, S, kToIntegral<D, S, Rounding::NearestEven>>(t, "cvt.rni" + types);
      addConversion<D, S, kToIntegral<D, S, Rounding::Zero>>(t, "cvt.rzi" + types);
      addConversion<D, S, kToIntegral<D, S, Rounding::Down>>(t, "cvt.rmi" + types);
      addConversion<D, S, kToIntegral<D, S, Rounding::Up>>(t, "cvt.rpi" + types);
    } else if constexpr (sizeof(D) > sizeof(S)) {
      addConversion<D, S, kConvert<D, S, Rounding::NearestEven>>(t, "cvt" + types);
    } else {
      addConversion<D, S, kConvert<D, S, Rounding::NearestEven>>(t, "cvt.rn" + types);
      addConversion<D, S, kConvert<D, S, Rounding::Zero>>(t, "cvt.rz" + types);
      addConversion<D, S, kConvert<D, S, Rounding::Down>>(t, "cvt.rm" + types);
      addConversion<D, S, kConvert<D, S, Rounding::Up>>(t, "cvt.rp" + types);
    }
    addConversion<D, S, [](S v) { return unitInterval<D>(v); }>(t, "cvt.sat" + types);
  }
}

template <class D>
void addFrom(OpTable& t) {
  eachType<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t, float, double, Half,
           Bfloat>([&]<class S>() { addPair<D, S>(t); });
}

// Two floats in one register; the first is the high half.
template <class T, Rounding R>
constexpr auto kPack = [](float high, float low) {
  return static_cast<uint32_t>(fromDouble<T>(high, R).bits) << 16 | fromDouble<T>(low, R).bits;
};

}  // namespace

void addConvertOps(OpTable& t) {
  eachType<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t, float, double, Half,
           Bfloat>([&]<class D>() { addFrom<D>(t); });
  define<kPack<Half, Rounding::NearestEven>, uint32_t, float, float>(t, "cvt.rn.f16x2.f32");
  define<kPack<Half, Rounding::Zero>, uint32_t, float, float>(t, "cvt.rz.f16x2.f32");
  define<kPack<Bfloat, Rounding::NearestEven>, uint32_t, float, float>(t, "cvt.rn.bf16x2.f32");
  define<kPack<Bfloat, Rounding::Zero>, uint32_t, float, float>(t, "cvt.rz.bf16x2.f32");
  define<[](float v) { return roundTo(v, 8, 10, Rounding::NearestAway) << 13; }, uint32_t, float>(
      t, "cvt.rna.tf32.f32");
}

}  // namespace simcuda
