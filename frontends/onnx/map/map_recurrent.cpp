// LSTM, GRU, RNN: the product with the inputs is made for the whole sequence at once, the rest in a `loop`
// over time.
//
//   gates = x w' + wb + rb                      [steps, batch, k * hidden]
//   loop t: g = gates[t] + h r';  h, c = cell(g, h, c)
//
// Sequences shorter than the longest keep their state when they have ended; their outputs past the end are 0.
// The reverse direction runs the same loop from the last step.
#include <cmath>
#include <unordered_map>

#include "frontends/onnx/map/map_functions.h"

namespace dyn::onnx {
namespace {

struct CellActivation {
  std::string name;
  double alpha = 0, beta = 0;
};

struct ActivationRow {
  std::string_view name;
  bool takesAlpha, takesBeta;
  double alpha, beta;
};
constexpr ActivationRow kActivations[] = {
    {"relu", false, false, 0, 0},        {"tanh", false, false, 0, 0},
    {"sigmoid", false, false, 0, 0},     {"softsign", false, false, 0, 0},
    {"softplus", false, false, 0, 0},    {"affine", true, true, 1, 0},
    {"leakyrelu", true, false, 0.01, 0}, {"thresholdedrelu", true, false, 1, 0},
    {"scaledtanh", true, true, 1, 1},    {"hardsigmoid", true, true, 0.2, 0.5},
    {"elu", true, false, 1, 0},
};

ValueId activate(MapContext& c, const CellActivation& activation, ValueId x) {
  const std::string& name = activation.name;
  const auto alpha = [&] { return c.number(activation.alpha, x); };
  if (name == "affine") return c.emit("add", {c.emit("mul", {x, alpha()}), c.number(activation.beta, x)});
  if (name == "scaledtanh") {
    const ValueId inner = c.emit("tanh", {c.emit("mul", {x, c.number(activation.beta, x)})});
    return c.emit("mul", {inner, alpha()});
  }
  if (name == "leakyrelu") return c.emit("leaky_relu", {x}, {{"alpha", activation.alpha}});
  if (name == "thresholdedrelu") return c.emit("thresholded_relu", {x}, {{"alpha", activation.alpha}});
  if (name == "hardsigmoid")
    return c.emit("hard_sigmoid", {x}, {{"alpha", activation.alpha}, {"beta", activation.beta}});
  if (name == "elu") return c.emit("elu", {x}, {{"alpha", activation.alpha}});
  return c.emit(name, {x});
}

// What the three operators have in common.
struct Recurrent {
  MapContext& c;
  int gates;  // blocks of rows in w and r
  int activationsPerDirection;
  int statesPerDirection;  // h; h and c
  std::vector<CellActivation> activations = {};
  int64_t directionCount = 1;
  bool firstIsReverse = false;
  bool batchFirst = false;
  bool quantises = false;  // DynamicQuantizeLSTM
  struct QuantisedWeights {
    ValueId columns, scale, zero;  // [rows of a's columns, n], of both one number or n
  };
  std::unordered_map<ValueId, QuantisedWeights> quantised;  // by the same, dequantised and transposed
  double clip = 0;
  ValueId x = kNoValue, w = kNoValue, r = kNoValue, b = kNoValue, lengths = kNoValue;
  ValueId steps = kNoValue;  // [] i64

  bool reverse(int64_t direction) const { return direction == 1 || firstIsReverse; }
  const CellActivation& activation(int64_t direction, int k) const {
    return activations[static_cast<size_t>(direction * activationsPerDirection + k)];
  }
  // Element `direction` of a tensor [directions, ...].
  ValueId ofDirection(ValueId value, int64_t direction, int64_t axis = 0) {
    return c.emit("gather", {value, c.integerValue(direction)}, {{"axis", axis}});
  }
  std::vector<ValueId> parts(ValueId value, size_t count, int64_t axis = -1) {
    return c.emitMany("split", {value}, {{"axis", axis}, {"parts", static_cast<int64_t>(count)}}, count);
  }
  ValueId clipped(ValueId value) {
    return clip > 0 ? c.emit("clip", {value, c.number(-clip, value), c.number(clip, value)}) : value;
  }
  // a b2'; where the weights are quantised, a is rounded by its own range first, and the sums are integers.
  ValueId timesTransposed(ValueId a, ValueId b2) {
    const auto found = quantised.find(b2);
    if (found == quantised.end()) return c.emit("matmul", {a, b2}, {{"transpose_b", int64_t{1}}});
    const QuantisedWeights& b = found->second;
    const std::vector<ValueId> q = c.emitMany("dynamic_quantize_linear", {a}, {}, 3);
    const ValueId sums = c.emit("matmul_integer", {q[0], b.columns, q[2], b.zero});
    return c.emit("mul", {castTo(c, sums, Dtype::f32), c.emit("mul", {q[1], b.scale})});
  }
  // Of one direction, which timesTransposed then takes.
  ValueId weightsOf(ValueId weights, int input, int scaleInput, int64_t direction) {
    const ValueId real = ofDirection(weights, direction);
    if (quantises)
      quantised[real] = {ofDirection(c.input(input), direction), ofDirection(c.input(scaleInput), direction),
                         ofDirection(c.input(scaleInput + 1), direction)};
    return real;
  }

  void readActivations(const std::vector<std::string>& defaults);
  void readCommon(const std::vector<std::string>& defaultActivations);
  // Weights [directions, columns, rows] of few bits with inputs for scale and zero point, as the operators
  // without them have them.
  ValueId dequantizedWeights(ValueId weights, int scaleInput);
  ValueId initialState(int input, int64_t direction);
  ValueId flipped(ValueId value);

  struct StepResult {
    std::vector<ValueId> states;
  };
  using Cell = std::function<StepResult(ValueId gatesOfStep, const std::vector<ValueId>& states)>;
  // The final states and the stacked h of one direction.
  std::vector<ValueId> runDirection(int64_t direction, ValueId gatesOfAll, std::vector<ValueId> states,
                                    const Cell& cell);
  void setOutputs(const std::vector<std::vector<ValueId>>& byDirection);
};

void Recurrent::readActivations(const std::vector<std::string>& defaults) {
  std::vector<std::string> names = c.texts("activations");
  const std::vector<double> alphas = c.reals("activation_alpha"), betas = c.reals("activation_beta");
  if (names.empty())
    for (int64_t d = 0; d < directionCount; ++d) names.insert(names.end(), defaults.begin(), defaults.end());
  if (names.size() != defaults.size() * static_cast<size_t>(directionCount)) {
    return c.fail(DiagnosticId::badAttribute, std::to_string(names.size()) + " activations where " +
                                                  std::to_string(defaults.size()) +
                                                  " per direction are demanded");
  }
  size_t nextAlpha = 0, nextBeta = 0;
  for (std::string& name : names) {
    for (char& ch : name)
      if (ch >= 'A' && ch <= 'Z') ch = static_cast<char>(ch - 'A' + 'a');
    const ActivationRow* row = nullptr;
    for (const ActivationRow& known : kActivations)
      if (known.name == name) row = &known;
    if (row == nullptr) return c.unsupported("activation " + quotedText(name));
    CellActivation a{name, row->alpha, row->beta};
    if (row->takesAlpha && nextAlpha < alphas.size()) a.alpha = alphas[nextAlpha++];
    if (row->takesBeta && nextBeta < betas.size()) a.beta = betas[nextBeta++];
    activations.push_back(std::move(a));
  }
}

void Recurrent::readCommon(const std::vector<std::string>& defaultActivations) {
  const std::string direction = c.text("direction", "forward");
  directionCount = direction == "bidirectional" ? 2 : 1;
  firstIsReverse = direction == "reverse";
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    c.fail(DiagnosticId::badAttribute, "direction is " + quotedText(direction));
  readActivations(defaultActivations);
  batchFirst = c.integer("layout", 0) != 0;
  clip = c.real("clip", 0);
  // The size of r says it; what says otherwise is no such model.
  if (const int64_t size = c.integer("hidden_size", 0); size < 0)
    c.fail(DiagnosticId::badAttribute, "hidden_size is " + std::to_string(size));
  c.ignoreAttribute("output_sequence");
  x = c.input(0);
  w = c.input(1);
  r = c.input(2);
  b = c.optionalInput(3);
  lengths = c.optionalInput(4);
  if (batchFirst) x = transposed(c, x, {1, 0, 2});
  steps = scalarOf(c, dimAt(c, x, 0));
  if (lengths == kNoValue) return;
  lengths = castTo(c, lengths, Dtype::i64);
  c.requireInRange(lengths, c.integerValue(0), steps, "sequence_lens");
}

ValueId Recurrent::dequantizedWeights(ValueId weights, int scaleInput) {
  const auto spread = [&](ValueId parameter) {
    if (c.inferredRank(parameter) < 1) c.unsupported("weights whose scales have a rank that is not known");
    const bool perRow = c.inferredRank(parameter) == 2;
    const std::vector<int64_t> axes = perRow ? std::vector<int64_t>{1} : std::vector<int64_t>{1, 2};
    return unsqueezed(c, castTo(c, parameter, Dtype::f32), axes);
  };
  const ValueId apart = c.emit("sub", {castTo(c, weights, Dtype::f32), spread(c.input(scaleInput + 1))});
  return transposed(c, c.emit("mul", {apart, spread(c.input(scaleInput))}), {0, 2, 1});
}

ValueId Recurrent::initialState(int input, int64_t direction) {
  const ValueId shape = joinedShape(c, {dimAt(c, x, 1), dimAt(c, r, 2)});
  // A state of another batch size is a fault here, not something to broadcast in every step.
  if (c.hasInput(input))
    return reshaped(c, ofDirection(c.input(input), direction, batchFirst ? 1 : 0), shape);
  const HostTensor zero = HostTensor::vectorReal(c.dtypeOr(x, Dtype::f32), std::vector<double>{0});
  return c.emit("constant_of_shape", {shape}, {{"value", zero}});
}

ValueId Recurrent::flipped(ValueId value) {
  return c.emit("slice", {value, c.integersValue({-1}), c.integersValue({INT64_MIN}), c.integersValue({0}),
                          c.integersValue({-1})});
}

std::vector<ValueId> Recurrent::runDirection(int64_t direction, ValueId gatesOfAll,
                                             std::vector<ValueId> states, const Cell& cell) {
  const bool backward = reverse(direction);
  const bool stacks = c.wantsOutput(0);
  const ValueId last = backward ? c.emit("sub", {steps, c.integerValue(1)}) : kNoValue;
  std::vector<ValueId> results =
      c.emitLoop(steps, states, stacks ? 1 : 0, [&](const MapContext::LoopBody& body) {
        const ValueId t = backward ? c.emit("sub", {last, body.iteration}) : body.iteration;
        const ValueId now = c.emit("gather", {gatesOfAll, t}, {{"axis", int64_t{0}}});
        std::vector<ValueId> next = cell(now, body.carried).states;
        ValueId y = next[0];
        if (lengths != kNoValue) {
          const ValueId runs = unsqueezed(c, c.emit("less", {t, lengths}), {1});
          y = c.emit("where", {runs, y, c.number(0, y)});
          for (size_t k = 0; k != next.size(); ++k)
            next[k] = c.emit("where", {runs, next[k], body.carried[k]});
        }
        if (stacks) next.push_back(y);
        return next;
      });
  if (stacks && backward) results.back() = flipped(results.back());
  return results;
}

void Recurrent::setOutputs(const std::vector<std::vector<ValueId>>& byDirection) {
  const auto joined = [&](size_t k, int64_t axis) {
    std::vector<ValueId> pieces;
    for (const std::vector<ValueId>& results : byDirection)
      pieces.push_back(unsqueezed(c, results[k], {axis}));
    return pieces.size() == 1 ? pieces[0] : c.emit("concat", pieces, {{"axis", axis}});
  };
  if (c.wantsOutput(0)) {
    ValueId y = joined(static_cast<size_t>(statesPerDirection), 1);
    if (batchFirst) y = transposed(c, y, {2, 0, 1, 3});
    c.setOutput(0, y);
  }
  for (int k = 0; k < statesPerDirection; ++k) {
    if (c.wantsOutput(1 + k)) c.setOutput(1 + k, joined(static_cast<size_t>(k), batchFirst ? 1 : 0));
  }
}

// x w' + bias for all steps.
ValueId inputGates(Recurrent& n, int64_t direction, ValueId bias) {
  const ValueId product = n.timesTransposed(n.x, n.weightsOf(n.w, 1, 8, direction));
  return bias == kNoValue ? product : n.c.emit("add", {product, bias});
}

}  // namespace

void mapLstm(MapContext& c) {
  Recurrent n{c, 4, 3, 2};
  n.readCommon({"Sigmoid", "Tanh", "Tanh"});
  if (c.node().opType == "DynamicQuantizeLSTM") {
    n.quantises = true;
    n.w = n.dequantizedWeights(n.w, 8);
    n.r = n.dequantizedWeights(n.r, 10);
  }
  const bool coupled = c.integer("input_forget", 0) != 0;
  std::vector<std::vector<ValueId>> byDirection;
  for (int64_t d = 0; d < n.directionCount && !c.failed(); ++d) {
    ValueId bias = kNoValue;
    if (n.b != kNoValue) {
      const std::vector<ValueId> halves = n.parts(n.ofDirection(n.b, d), 2);
      bias = c.emit("add", {halves[0], halves[1]});
    }
    std::vector<ValueId> peepholes;  // input, output, forget
    if (c.hasInput(7)) peepholes = n.parts(n.ofDirection(c.input(7), d), 3);
    const ValueId r = n.weightsOf(n.r, 2, 10, d);
    const auto peeped = [&](ValueId gate, ValueId cell, size_t k) {
      return peepholes.empty() ? gate : c.emit("add", {gate, c.emit("mul", {peepholes[k], cell})});
    };
    byDirection.push_back(n.runDirection(
        d, inputGates(n, d, bias), {n.initialState(5, d), n.initialState(6, d)},
        [&](ValueId now, const std::vector<ValueId>& states) {
          const ValueId h = states[0], cell = states[1];
          const std::vector<ValueId> g =
              n.parts(c.emit("add", {now, n.timesTransposed(h, r)}), 4);  // i o f c
          const ValueId i = activate(c, n.activation(d, 0), n.clipped(peeped(g[0], cell, 0)));
          const ValueId f = coupled ? c.emit("sub", {c.number(1, i), i})
                                    : activate(c, n.activation(d, 0), n.clipped(peeped(g[2], cell, 2)));
          const ValueId candidate = activate(c, n.activation(d, 1), n.clipped(g[3]));
          const ValueId nextCell = c.emit("add", {c.emit("mul", {f, cell}), c.emit("mul", {i, candidate})});
          const ValueId o = activate(c, n.activation(d, 0), n.clipped(peeped(g[1], nextCell, 1)));
          const ValueId nextHidden = c.emit("mul", {o, activate(c, n.activation(d, 2), nextCell)});
          return Recurrent::StepResult{{nextHidden, nextCell}};
        }));
  }
  if (!c.failed()) n.setOutputs(byDirection);
}

void mapGru(MapContext& c) {
  Recurrent n{c, 3, 2, 1};
  n.readCommon({"Sigmoid", "Tanh"});
  const bool resetLater = c.integer("linear_before_reset", 0) != 0;
  std::vector<std::vector<ValueId>> byDirection;
  for (int64_t d = 0; d < n.directionCount && !c.failed(); ++d) {
    std::vector<ValueId> bias;  // of the inputs, of the state
    if (n.b != kNoValue) bias = n.parts(n.ofDirection(n.b, d), 2);
    const ValueId r = n.ofDirection(n.r, d);
    const auto finish = [&](ValueId update, ValueId candidate, ValueId h) {
      const ValueId fresh = c.emit("mul", {c.emit("sub", {c.number(1, update), update}), candidate});
      return Recurrent::StepResult{{c.emit("add", {fresh, c.emit("mul", {update, h})})}};
    };
    if (resetLater) {
      byDirection.push_back(n.runDirection(
          d, inputGates(n, d, bias.empty() ? kNoValue : bias[0]), {n.initialState(5, d)},
          [&](ValueId now, const std::vector<ValueId>& states) {
            ValueId own = n.timesTransposed(states[0], r);
            if (!bias.empty()) own = c.emit("add", {own, bias[1]});
            const std::vector<ValueId> a = n.parts(now, 3), s = n.parts(own, 3);  // z r h
            const ValueId z = activate(c, n.activation(d, 0), n.clipped(c.emit("add", {a[0], s[0]})));
            const ValueId reset = activate(c, n.activation(d, 0), n.clipped(c.emit("add", {a[1], s[1]})));
            const ValueId sum = c.emit("add", {a[2], c.emit("mul", {reset, s[2]})});
            return finish(z, activate(c, n.activation(d, 1), n.clipped(sum)), states[0]);
          }));
      continue;
    }
    const ValueId sum = bias.empty() ? kNoValue : c.emit("add", {bias[0], bias[1]});
    const std::vector<ValueId> rows = n.parts(r, 3, 0);
    const ValueId gateRows = c.emit("concat", {rows[0], rows[1]}, {{"axis", int64_t{0}}});
    byDirection.push_back(n.runDirection(
        d, inputGates(n, d, sum), {n.initialState(5, d)},
        [&](ValueId now, const std::vector<ValueId>& states) {
          const ValueId h = states[0];
          const std::vector<ValueId> a = n.parts(now, 3);
          const std::vector<ValueId> s = n.parts(n.timesTransposed(h, gateRows), 2);
          const ValueId z = activate(c, n.activation(d, 0), n.clipped(c.emit("add", {a[0], s[0]})));
          const ValueId reset = activate(c, n.activation(d, 0), n.clipped(c.emit("add", {a[1], s[1]})));
          const ValueId own = n.timesTransposed(c.emit("mul", {reset, h}), rows[2]);
          return finish(z, activate(c, n.activation(d, 1), n.clipped(c.emit("add", {a[2], own}))), h);
        }));
  }
  if (!c.failed()) n.setOutputs(byDirection);
}

void mapRnn(MapContext& c) {
  Recurrent n{c, 1, 1, 1};
  n.readCommon({"Tanh"});
  std::vector<std::vector<ValueId>> byDirection;
  for (int64_t d = 0; d < n.directionCount && !c.failed(); ++d) {
    ValueId bias = kNoValue;
    if (n.b != kNoValue) {
      const std::vector<ValueId> halves = n.parts(n.ofDirection(n.b, d), 2);
      bias = c.emit("add", {halves[0], halves[1]});
    }
    const ValueId r = n.ofDirection(n.r, d);
    byDirection.push_back(
        n.runDirection(d, inputGates(n, d, bias), {n.initialState(5, d)},
                       [&](ValueId now, const std::vector<ValueId>& states) {
                         const ValueId sum = c.emit("add", {now, n.timesTransposed(states[0], r)});
                         return Recurrent::StepResult{{activate(c, n.activation(d, 0), n.clipped(sum))}};
                       }));
  }
  if (!c.failed()) n.setOutputs(byDirection);
}

}  // namespace dyn::onnx
