// Steps of training as plain arithmetic: rate, step count, then for each tensor its value, gradient and state, kind by kind.
#include <cmath>

#include "frontends/onnx/map/map_functions.h"

namespace dyn::onnx {
namespace {

// Short words for arithmetic with f32 constants.
class Arithmetic {
 public:
  explicit Arithmetic(MapContext& c) : c_(c) {}
  ValueId add(ValueId a, ValueId b) { return c_.emit("add", {a, b}); }
  ValueId sub(ValueId a, ValueId b) { return c_.emit("sub", {a, b}); }
  ValueId mul(ValueId a, ValueId b) { return c_.emit("mul", {a, b}); }
  ValueId div(ValueId a, ValueId b) { return c_.emit("div", {a, b}); }
  ValueId times(ValueId a, double factor) { return factor == 1 ? a : mul(a, c_.number(factor, a)); }
  ValueId plus(ValueId a, double b) { return b == 0 ? a : add(a, c_.number(b, a)); }
  ValueId root(ValueId a) { return c_.emit("sqrt", {a}); }

 private:
  MapContext& c_;
};

// Calls step(number of the tensor, its inputs by kind) for each tensor; `kinds` inputs belong to one.
template <typename Step>
void forEachTensor(MapContext& c, int kinds, Step&& step) {
  const int given = c.inputCount() - 2;
  if (given < kinds || given % kinds != 0)
    return c.fail(DiagnosticId::badOperands, "it has " + std::to_string(given) + " tensors, not " +
                                                 std::to_string(kinds) + " for each that is trained");
  const int count = given / kinds;
  for (int i = 0; i < count; ++i) {
    std::vector<ValueId> inputs;
    for (int kind = 0; kind < kinds; ++kind) inputs.push_back(c.input(2 + kind * count + i));
    const std::vector<ValueId> results = step(inputs);
    for (size_t kind = 0; kind < results.size(); ++kind)
      c.setOutput(static_cast<int>(kind) * count + i, results[kind]);
  }
}

// The gradient with that of the penalty on large values.
ValueId regularized(MapContext& c, ValueId x, ValueId gradient) {
  const double penalty = c.real("norm_coefficient", 0);
  Arithmetic a(c);
  return penalty == 0 ? gradient : a.add(a.times(x, penalty), gradient);
}

ValueId isFirst(MapContext& c) { return c.emit("equal", {c.input(1), c.number(0, c.input(1))}); }

}  // namespace

void mapMomentum(MapContext& c) {
  const double alpha = c.real("alpha", 0), beta = c.real("beta", 0);
  const std::string mode = c.text("mode", "");
  if (mode != "standard" && mode != "nesterov")
    c.fail(DiagnosticId::badAttribute, "mode is " + quotedText(mode) + ", not standard or nesterov");
  Arithmetic a(c);
  forEachTensor(c, 3, [&](const std::vector<ValueId>& in) -> std::vector<ValueId> {
    const ValueId x = in[0], gradient = regularized(c, x, in[1]);
    const ValueId share = c.emit("where", {isFirst(c), c.number(1, x), c.number(beta, x)});
    const ValueId velocity = a.add(a.times(in[2], alpha), a.mul(share, gradient));
    const ValueId step = mode == "nesterov" ? a.add(gradient, a.times(velocity, alpha)) : velocity;
    return {a.sub(x, a.mul(c.input(0), step)), velocity};
  });
}

void mapAdagrad(MapContext& c) {
  const double decay = c.real("decay_factor", 0), epsilon = c.real("epsilon", 1e-6);
  Arithmetic a(c);
  forEachTensor(c, 3, [&](const std::vector<ValueId>& in) -> std::vector<ValueId> {
    const ValueId x = in[0], gradient = regularized(c, x, in[1]);
    const ValueId steps = castTo(c, c.input(1), c.dtypeOr(x, Dtype::f32));
    const ValueId rate = a.div(c.input(0), a.plus(a.times(steps, decay), 1));
    const ValueId squares = a.add(in[2], a.mul(gradient, gradient));
    const ValueId step = a.div(a.mul(rate, gradient), a.plus(a.root(squares), epsilon));
    return {a.sub(x, step), squares};
  });
}

void mapAdam(MapContext& c) {
  const double alpha = c.real("alpha", 0.9), beta = c.real("beta", 0.999), epsilon = c.real("epsilon", 1e-6);
  const double penaltyAfter = c.real("norm_coefficient_post", 0);
  Arithmetic a(c);
  forEachTensor(c, 4, [&](const std::vector<ValueId>& in) -> std::vector<ValueId> {
    const ValueId x = in[0], gradient = regularized(c, x, in[1]);
    const ValueId mean = a.add(a.times(in[2], alpha), a.times(gradient, 1 - alpha));
    const ValueId square = a.add(a.times(in[3], beta), a.times(a.mul(gradient, gradient), 1 - beta));
    // 1 - base^steps: how much of a mean is not its initial zero.
    const ValueId steps = castTo(c, c.input(1), c.dtypeOr(x, Dtype::f32));
    const auto filled = [&](double base) {
      return a.plus(a.times(c.emit("exp", {a.times(steps, std::log(base))}), -1), 1);
    };
    const ValueId corrected = a.div(a.mul(c.input(0), a.root(filled(beta))), filled(alpha));
    const ValueId rate = c.emit("where", {isFirst(c), c.input(0), corrected});
    const ValueId step = a.mul(rate, a.div(mean, a.plus(a.root(square), epsilon)));
    return {a.times(a.sub(x, step), 1 - penaltyAfter), mean, square};
  });
}

}  // namespace dyn::onnx
