// Random numbers as plain arithmetic: element i of a draw is a hash of i and the node's key, so that every
// run, on any number of threads and any device, draws the same. The key comes from `seed`; without one, from
// the name of the node's first result.
#include <bit>
#include <cmath>
#include <numbers>

#include "frontends/onnx/map/map_functions.h"

namespace dyn::onnx {
namespace {

constexpr uint64_t kStep = 0x9E3779B97F4A7C15;  // odd, near 2^64 / golden ratio: keys of one stream lie apart

// The finaliser of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
struct Mixing {
  int64_t shift;
  uint64_t factor;
};
constexpr Mixing kMixings[] = {{30, 0xBF58476D1CE4E5B9}, {27, 0x94D049BB133111EB}, {31, 1}};

uint64_t mixed(uint64_t z) {
  for (const Mixing& m : kMixings) z = (z ^ (z >> m.shift)) * m.factor;
  return z;
}

uint64_t hashOf(std::string_view text) {
  uint64_t hash = text.size();
  for (char c : text) hash = mixed(hash + kStep + static_cast<uint8_t>(c));
  return hash;
}

// Draws of one node; each call of uniform() or normal() is a stream of its own.
class Draws {
 public:
  explicit Draws(MapContext& c) : c_(c) {
    c.noteDraws();
    if (const AttributeProto* seed = c.attribute("seed")) {  // Dropout's is an integer
      const bool whole = seed->type == AttributeType::integer;
      key_ = mixed(
          (whole ? static_cast<uint64_t>(c.integer("seed", 0)) : std::bit_cast<uint64_t>(c.real("seed", 0))) +
          kStep);
    } else {
      key_ = hashOf(c.node().outputs.empty() ? std::string_view() : std::string_view(c.node().outputs[0]));
      c.warn("without a seed, the same numbers are drawn in every run, and in every iteration of a loop");
    }
  }

  // Evenly in [0, 1), multiples of 2^-24 (f64: 2^-53), of `shape` ([k] i64) and of the type f32 or f64.
  ValueId uniform(ValueId shape, Dtype dtype) { return scaled(bits(shape, dtype), dtype, 0); }

  // Mean 0, deviation 1 (Box and Muller, 1958).
  ValueId normal(ValueId shape, Dtype dtype) {
    const ValueId radius = scaled(bits(shape, dtype), dtype, 0.5);  // in (0, 1)
    const ValueId angle = uniform(shape, dtype);
    const ValueId r = c_.emit("sqrt", {times(c_.emit("log", {radius}), -2)});
    return c_.emit("mul", {r, c_.emit("cos", {times(angle, 2 * std::numbers::pi)})});
  }

  // -log(-log(u)): the largest of a row of these plus log weights is at i with probability by weight i.
  ValueId gumbel(ValueId shape, Dtype dtype) {
    const ValueId u = scaled(bits(shape, dtype), dtype, 0.5);
    const ValueId once = c_.emit("neg", {c_.emit("log", {u})});
    return c_.emit("neg", {c_.emit("log", {once})});
  }

  // u < p, of the shape of p.
  ValueId happens(ValueId p, Dtype dtype) {
    return c_.emit("less", {uniform(c_.emit("shape", {p}), dtype), p});
  }

 private:
  static int64_t digits(Dtype dtype) { return dtype == Dtype::f64 ? 53 : 24; }

  ValueId times(ValueId x, double factor) { return c_.emit("mul", {x, c_.number(factor, x)}); }

  ValueId natural(uint64_t value) {
    const std::vector<int64_t> one{static_cast<int64_t>(value)};
    return c_.constant(HostTensor::vectorInt(Dtype::u64, one).reshaped({}));
  }

  // The upper bits of the hash of each place, as many as the type's reals hold exactly.
  ValueId bits(ValueId shape, Dtype dtype) {
    key_ += kStep;
    const ValueId count = c_.emit("reduce_prod", {shape}, {{"keepdims", int64_t{1}}});
    ValueId z = castTo(c_, counting(c_, count), Dtype::u64);
    z = c_.emit("add", {c_.emit("mul", {z, natural(kStep)}), natural(mixed(key_))});
    for (const Mixing& m : kMixings) {
      z = c_.emit("bit_xor", {z, right(z, m.shift)});
      if (m.factor != 1) z = c_.emit("mul", {z, natural(m.factor)});
    }
    return reshaped(c_, right(z, 64 - digits(dtype)), shape);
  }

  ValueId right(ValueId x, int64_t places) {
    return c_.emit("bit_shift", {x, natural(static_cast<uint64_t>(places))},
                   {{"direction", std::string("right")}});
  }

  ValueId scaled(ValueId bits, Dtype dtype, double plus) {
    ValueId x = castTo(c_, bits, dtype);
    if (plus != 0) x = c_.emit("add", {x, c_.number(plus, x)});
    return times(x, std::ldexp(1, -static_cast<int>(digits(dtype))));
  }

  MapContext& c_;
  uint64_t key_ = 0;
};

// The type that numbers for results of `dtype` are computed in.
Dtype wideOf(Dtype dtype) { return dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32; }

ValueId affine(MapContext& c, ValueId x, double factor, double offset) {
  const ValueId stretched = factor == 1 ? x : c.emit("mul", {x, c.number(factor, x)});
  return offset == 0 ? stretched : c.emit("add", {stretched, c.number(offset, x)});
}

enum class Kind { uniform, normal };

void drawReals(MapContext& c, Kind kind, ValueId shape, Dtype dtype) {
  if (!isReal(dtype)) return c.fail(DiagnosticId::badAttribute, "its dtype is not a real type");
  Draws draws(c);
  ValueId y;
  if (kind == Kind::uniform) {
    const double low = c.real("low", 0), high = c.real("high", 1);
    y = affine(c, draws.uniform(shape, wideOf(dtype)), high - low, low);
  } else {
    const double mean = c.real("mean", 0), deviation = c.real("scale", 1);
    y = affine(c, draws.normal(shape, wideOf(dtype)), deviation, mean);
  }
  c.setOutput(0, castTo(c, y, dtype));
}

void drawShape(MapContext& c, Kind kind) {
  if (!c.hasAttribute("shape")) return c.fail(DiagnosticId::badAttribute, "the attribute shape is missing");
  drawReals(c, kind, c.integersValue(c.integers("shape")), c.dtype("dtype").value_or(Dtype::f32));
}

void drawLike(MapContext& c, Kind kind) {
  const ValueId x = c.input(0);
  std::optional<Dtype> dtype = c.dtype("dtype");
  if (!dtype) dtype = c.inferredDtype(x);
  drawReals(c, kind, c.emit("shape", {x}), dtype.value_or(Dtype::f32));
}

// What is kept is divided by the share that is kept; where `training` is false everything is, as it was.
void dropAtRandom(MapContext& c, ValueId x, ValueId ratio, ValueId training) {
  const Dtype given = c.inferredDtype(x).value_or(Dtype::f32), wide = wideOf(given);
  const ValueId wideX = castTo(c, x, wide), one = c.numberOf(1, wide);
  const ValueId share = ratio == kNoValue ? c.numberOf(0.5, wide) : castTo(c, scalarOf(c, ratio), wide);
  const ValueId falls = Draws(c).happens(c.emit("expand", {share, c.emit("shape", {x})}), wide);
  const ValueId isKept = c.emit("logical_not", {c.emit("logical_and", {scalarOf(c, training), falls})});
  const ValueId factor = c.emit("div", {one, c.emit("sub", {one, share})});
  const ValueId scaled = c.emit("where", {scalarOf(c, training), c.emit("mul", {wideX, factor}), wideX});
  c.setOutput(0, castTo(c, c.emit("where", {isKept, scaled, c.numberOf(0, wide)}), given));
  if (c.wantsOutput(1)) c.setOutput(1, isKept);
}

}  // namespace

void mapRandomUniform(MapContext& c) { drawShape(c, Kind::uniform); }
void mapRandomNormal(MapContext& c) { drawShape(c, Kind::normal); }
void mapRandomUniformLike(MapContext& c) { drawLike(c, Kind::uniform); }
void mapRandomNormalLike(MapContext& c) { drawLike(c, Kind::normal); }

void mapBernoulli(MapContext& c) {
  const ValueId p = c.input(0);
  const Dtype given = c.inferredDtype(p).value_or(Dtype::f32);
  const Dtype wide = wideOf(given);
  const ValueId yes = Draws(c).happens(castTo(c, p, wide), wide);
  c.setOutput(0, castTo(c, yes, c.dtype("dtype").value_or(given)));
}

// Rows of log weights; of each, as many classes as asked for, drawn with replacement.
void mapMultinomial(MapContext& c) {
  const ValueId x = c.input(0);
  const Dtype wide = wideOf(c.inferredDtype(x).value_or(Dtype::f32));
  const int64_t samples = c.integer("sample_size", 1);
  if (samples < 1) return c.fail(DiagnosticId::badAttribute, "sample_size is below 1");
  const Dtype dtype = c.dtype("dtype").value_or(Dtype::i32);
  const ValueId shape = joinedShape(c, {dimAt(c, x, 0), c.integersValue({samples}), dimAt(c, x, 1)});
  const ValueId weights = unsqueezed(c, castTo(c, x, wide), {1});
  const ValueId scores = c.emit("add", {weights, Draws(c).gumbel(shape, wide)});
  const ValueId drawn = c.emit("argmax", {scores}, {{"axis", int64_t{2}}, {"keepdims", int64_t{0}}});
  c.setOutput(0, castTo(c, drawn, dtype));
}

// In inference all elements pass.
void mapDropout(MapContext& c) {
  const ValueId x = c.input(0);
  if (c.hasInput(2)) {
    const HostTensor* training = c.constantOf(c.optionalInput(2));
    const HostTensor* ratio = c.constantOf(c.optionalInput(1));
    const bool isKnown = training != nullptr && training->elementCount() == 1;
    const bool off = isKnown && training->intAt(0) == 0;
    const bool keepsAll = ratio != nullptr && ratio->elementCount() == 1 && ratio->realAt(0) == 0;
    if (!off && !keepsAll) {
      if (isKnown)
        c.warn(
            "training_mode is true: elements are dropped at random; export after model.eval() for inference");
      return dropAtRandom(c, x, c.optionalInput(1), c.input(2));
    }
  }
  c.setOutput(0, x);
  if (!c.wantsOutput(1)) return;
  HostTensor yes = HostTensor::vectorInt(Dtype::boolean, std::vector<int64_t>{1});
  if (c.version() < 10) yes = HostTensor::vectorReal(c.dtypeOr(x, Dtype::f32), std::vector<double>{1});
  c.setOutput(1, c.emit("constant_of_shape", {c.emit("shape", {x})}, {{"value", yes}}));
}

}  // namespace dyn::onnx
