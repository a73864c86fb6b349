#include "compiler/lower/byte_shortcut.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace dyn {

namespace {

constexpr int32_t kBytes = 256, kSignedOffset = 128;

int32_t offsetOf(const ByteSum& sum) { return sum.otherIsSigned ? kSignedOffset : 0; }

int32_t cut(const ByteSum& sum, float whole) {
  // What is no number is the least, as in a cast.
  const float least = static_cast<float>(sum.low()), most = static_cast<float>(sum.high());
  const float inside = whole > least ? std::min(whole, most) : least;
  return static_cast<int32_t>(inside) + sum.result.zero;
}

// Without any rounding, so to speak.
double exactly(const ByteSum& sum, int32_t w, int32_t b) {
  const double own = (w + sum.zeroOfSums - sum.own.zero) * double{sum.own.scale},
               other = (b - offsetOf(sum) - sum.other.zero) * double{sum.other.scale};
  return (own + other) / sum.result.scale;
}

struct Pair {
  int32_t w, b, byte;
};

// Those whose quotient is so near to a half that the roundings of f32 might decide. Factors are at most
// kMostFactor: no quotient is further from its own than kNear then.
constexpr double kNear = 1.0 / 128, kMostFactor = 4;

std::vector<Pair> undecided(const ByteSum& sum) {
  std::vector<Pair> pairs;
  for (int32_t w = sum.least; w <= sum.most; ++w)
    for (int32_t b = 0; b < kBytes; ++b) {
      const double quotient = exactly(sum, w, b);
      if (quotient < sum.low() - 1 || quotient > sum.high() + 1) continue;
      const double fromHalf = std::abs(quotient - std::floor(quotient) - 0.5);
      if (fromHalf < kNear) pairs.push_back({w, b, sum.byteOf(w, b)});
    }
  return pairs;
}

bool isScale(float s) { return std::isnormal(s) && s > 0; }

// Steps to both sides of 0, the nearest first: 0, 1, -1, 2, ...
constexpr int32_t kSteps = 7, kConstantSteps = 15;
int32_t step(int32_t i) { return i % 2 == 1 ? (i + 1) / 2 : -i / 2; }
float moved(float x, int32_t by) {
  const float towards = by > 0 ? INFINITY : -INFINITY;
  for (int32_t i = std::abs(by); i > 0; --i) x = std::nextafter(x, towards);
  return x;
}

}  // namespace

int32_t ByteSum::byteOf(int32_t w, int32_t b) const {
  const float one = (static_cast<float>(w + zeroOfSums) - static_cast<float>(own.zero)) * own.scale,
              two = (static_cast<float>(b - offsetOf(*this)) - static_cast<float>(other.zero)) * other.scale;
  const float both = one + two;
  return cut(*this, std::nearbyint((relu && both < 0 ? 0.0F : both) / result.scale));
}

int32_t ByteSumLine::byteOf(const ByteSum& sum, int32_t w, int32_t b, bool fused) const {
  const auto x = static_cast<float>(w), y = static_cast<float>(b);
  const float line =
      fused ? std::fma(x, factor, std::fma(y, other, constant)) : x * factor + (y * other + constant);
  return cut(sum, std::nearbyint(line));
}

std::optional<ByteSumLine> lineOf(const ByteSum& sum) {
  if (!isScale(sum.own.scale) || !isScale(sum.other.scale) || !isScale(sum.result.scale)) return std::nullopt;
  const double factor = double{sum.own.scale} / sum.result.scale,
               other = double{sum.other.scale} / sum.result.scale,
               constant = (sum.zeroOfSums - sum.own.zero) * factor - (offsetOf(sum) + sum.other.zero) * other;
  if (factor > kMostFactor || other > kMostFactor) return std::nullopt;
  const std::vector<Pair> pairs = undecided(sum);
  constexpr float kConstantStep = 1.0F / (1 << 17);  // about a rounding of the larger quotients
  ByteSumLine line;
  for (int32_t i = 0; i < kSteps * kSteps * kConstantSteps; ++i) {
    line.constant =
        static_cast<float>(constant) + static_cast<float>(step(i % kConstantSteps)) * kConstantStep;
    line.factor = moved(static_cast<float>(factor), step(i / kConstantSteps % kSteps));
    line.other = moved(static_cast<float>(other), step(i / kConstantSteps / kSteps));
    const bool holds = std::all_of(pairs.begin(), pairs.end(), [&](const Pair& pair) {
      return line.byteOf(sum, pair.w, pair.b, false) == pair.byte &&
             line.byteOf(sum, pair.w, pair.b, true) == pair.byte;
    });
    if (holds) return line;
  }
  return std::nullopt;
}

}  // namespace dyn
