// All steps of an LSTM, a GRU or an RNN: what pass `recurrent` makes of loops over the steps of sequences.
#include <algorithm>
#include <array>
#include <cmath>

#include "compiler/ops/contraction/matmul_rules.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/op_rules.h"
#include "compiler/ops/rules/strided_walk.h"
#include "vm/shared/dyn_recurrence.h"

namespace dyn {
namespace {

using recurrence::Cell, recurrence::kLengths, recurrence::kOfDirection, recurrence::kSecond;

constexpr AttributeSpec kRecurrenceAttributes[] = {
    {"cell", AttributeKind::string, true, "lstm, gru, gru_reset_first, tanh or relu",
     Allowed::byRule("a cell")},
    {"backward", AttributeKind::integer, false, "1: from the last step to the first; default 0",
     Allowed::flag()},
    {"second_backward", AttributeKind::integer, false, "the same of the second direction; default 0",
     Allowed::flag()},
    {"transpose_b", AttributeKind::integer, false, "1: weights that are not packed are transposed; default 0",
     Allowed::flag()},
    {"stacks", AttributeKind::integer, false, "1: the states behind each step are a result; default 0",
     Allowed::flag()},
};

// Operand `which` of a direction.
constexpr int placeOf(int direction, int which) { return direction == 0 ? which : kSecond + which; }

Result<Cell> cellOf(const Op& op) {
  const std::optional<Cell> cell = recurrence::parseCell(op.attributes.string("cell"));
  if (!cell)
    return makeError(DiagnosticId::badAttribute, "there is no cell '" + op.attributes.string("cell") + "'",
                     op.place);
  return *cell;
}

// Packed, [*], or as they are, [units, columns].
Status inferWeights(InferContext& c, int operand, Dim units, Dim columns, Dtype& dtype) {
  const bool isPlain = c.operandType(operand).isTensor() && c.operandType(operand).rank() == 2;
  DYN_TRY(TensorOperand weights, tensorOperand(c, operand, isPlain ? 2 : 1));
  dtype = weights.dtype;
  if (isPlain || dtype != Dtype::bf16) DYN_CHECK(requireDtype(c, weights, Dtype::f32, "the weights"));
  if (!isPlain) return {};
  const bool transposed = flag(c, "transpose_b");
  DYN_CHECK(c.requireEqual(weights.dims[transposed ? 1 : 0], units, "weights of the units"));
  return c.requireEqual(weights.dims[transposed ? 0 : 1], columns, "weights of the gates");
}

Status inferDirection(InferContext& c, Cell cell, int direction, const TensorOperand& of, int& result) {
  const auto at = [&](int which) { return placeOf(direction, which); };
  DYN_TRY(TensorOperand gates, tensorOperand(c, at(0), 3));
  DYN_TRY(TensorOperand state, tensorOperand(c, at(2), 2));
  DYN_CHECK(requireDtype(c, gates, Dtype::f32, "the gates of the inputs"));
  DYN_CHECK(requireDtype(c, state, Dtype::f32, "the state"));
  const Dim units = state.dims[1], columns = units * recurrence::gatesOf(cell);
  Dtype weights = Dtype::f32, secondWeights = Dtype::f32;
  DYN_CHECK(inferWeights(c, at(1), units, units * recurrence::productGatesOf(cell), weights));
  DYN_CHECK(c.requireEqual(gates.dims[0], of.dims[0], "steps of both directions"));
  DYN_CHECK(c.requireEqual(gates.dims[1], of.dims[1], "sequences of both directions"));
  DYN_CHECK(c.requireEqual(gates.dims[1], state.dims[0], "sequences and rows of the state"));
  DYN_CHECK(c.requireEqual(gates.dims[2], columns, "gates of the units"));
  if (c.hasOperand(at(3)) != (hasCell(cell) || resetsFirst(cell)))
    return c.error(DiagnosticId::badOperands,
                   "a cell is an LSTM's, second weights are a gru_reset_first's, and each has its own");
  if (c.hasOperand(at(4)) && !takesBias(cell))
    return c.error(DiagnosticId::badOperands, "only a GRU has a bias of its state's product");
  setTensor(c, state.dims, Dtype::f32, result++);
  if (hasCell(cell)) {
    DYN_TRY(TensorOperand own, tensorOperand(c, at(3), 2));
    DYN_CHECK(requireDtype(c, own, Dtype::f32, "the cell"));
    for (size_t axis : {size_t{0}, size_t{1}})
      DYN_CHECK(c.requireEqual(own.dims[axis], state.dims[axis], "the cell and the state"));
    setTensor(c, state.dims, Dtype::f32, result++);
  }
  if (resetsFirst(cell)) {
    DYN_CHECK(inferWeights(c, at(3), units, units, secondWeights));
    if (weights != secondWeights || c.operandType(at(1)).rank() != c.operandType(at(3)).rank())
      return c.error(DiagnosticId::badOperands, "second weights are packed as the first");
  }
  if (c.hasOperand(at(4))) {
    DYN_TRY(TensorOperand bias, tensorOperand(c, at(4), 1));
    DYN_CHECK(requireDtype(c, bias, Dtype::f32, "the bias"));
    DYN_CHECK(c.requireEqual(bias.dims[0], columns, "the bias of the gates"));
  }
  if (flag(c, "stacks")) setTensor(c, {gates.dims[0], gates.dims[1], units}, Dtype::f32, result++);
  return {};
}

Status inferRecurrence(InferContext& c) {
  DYN_TRY(Cell cell, cellOf(c.op()));
  DYN_TRY(TensorOperand gates, tensorOperand(c, 0, 3));
  const int directions = c.hasOperand(kSecond) ? 2 : 1, perDirection = resultsOf(cell, flag(c, "stacks"));
  if (static_cast<int>(c.op().results.size()) != directions * perDirection)
    return c.error(DiagnosticId::badOperands,
                   std::to_string(directions * perDirection) + " results are made");
  if (c.hasOperand(kLengths)) {
    DYN_TRY(TensorOperand lengths, tensorOperand(c, kLengths, 1));
    DYN_CHECK(requireDtype(c, lengths, Dtype::i64, "the lengths"));
    DYN_CHECK(c.requireEqual(lengths.dims[0], gates.dims[1], "a length for each sequence"));
  }
  int result = 0;
  for (int direction = 0; direction < directions; ++direction)
    DYN_CHECK(inferDirection(c, cell, direction, gates, result));
  return {};
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// One direction, a unit at a time.
class Steps {
 public:
  Steps(const EvalContext& c, Cell cell, int direction)
      : c_(c),
        cell_(cell),
        gates_(c.operand(placeOf(direction, 0))),
        weights_(c.operand(placeOf(direction, 1))),
        second_(resetsFirst(cell) ? &c.operand(placeOf(direction, 3)) : nullptr),
        bias_(c.hasOperand(placeOf(direction, 4)) ? &c.operand(placeOf(direction, 4)) : nullptr),
        rows_(gates_.shape()[1]),
        columns_(gates_.shape()[2]),
        units_(c.operand(placeOf(direction, 2)).shape()[1]),
        state_(realsOf(c.operand(placeOf(direction, 2)))) {
    if (hasCell(cell)) inner_ = realsOf(c.operand(placeOf(direction, 3)));
  }

  // `stacked`: [steps, rows, units], null where nothing is.
  void run(bool backward, HostTensor* stacked) {
    const int64_t steps = gates_.shape()[0];
    for (int64_t i = 0; i < steps; ++i)
      for (int64_t row = 0; row < rows_; ++row) {
        const int64_t time = backward ? steps - 1 - i : i;
        const bool runs = !c_.hasOperand(kLengths) || time < c_.operand(kLengths).intAt(row);
        if (runs) step(time, row);
        for (int64_t j = 0; j < units_ && stacked; ++j)
          stacked->setReal((i * rows_ + row) * units_ + j, runs ? state_[at(row, j)] : 0);
      }
  }

  const std::vector<double>& state() const { return state_; }
  const std::vector<double>& inner() const { return inner_; }

 private:
  size_t at(int64_t row, int64_t unit) const { return static_cast<size_t>(row * units_ + unit); }
  double rounded(double x) const {
    if (weights_.dtype() != Dtype::bf16) return x;
    HostTensor one = HostTensor::scalar(Dtype::bf16, 0.0);
    one.setReal(0, x);
    return one.realAt(0);
  }
  double product(const HostTensor& weights, int64_t columns, int64_t column) const {
    double sum = bias_ ? bias_->realAt(column) : 0;
    const bool isTransposed = weights.rank() == 2 && flag(c_, "transpose_b");
    for (int64_t k = 0; k < units_; ++k)
      sum += before_[static_cast<size_t>(k)] *
             weights.realAt(isTransposed ? column * units_ + k : k * columns + column);
    return sum;
  }

  void step(int64_t time, int64_t row) {
    before_.clear();
    for (int64_t k = 0; k < units_; ++k) before_.push_back(rounded(state_[at(row, k)]));
    const auto input = [&](int64_t j, int64_t gate) {
      return gates_.realAt((time * rows_ + row) * columns_ + gate * units_ + j);
    };
    const int64_t made = productGatesOf(cell_) * units_;
    const auto own = [&](int64_t j, int64_t gate) { return product(weights_, made, gate * units_ + j); };
    const auto sum = [&](int64_t j, int64_t gate) { return input(j, gate) + own(j, gate); };
    std::vector<double> update;
    if (resetsFirst(cell_)) {
      std::vector<double> reset;
      for (int64_t j = 0; j < units_; ++j) {
        update.push_back(sigmoid(sum(j, 0)));
        reset.push_back(rounded(sigmoid(sum(j, 1)) * state_[at(row, j)]));
      }
      before_ = std::move(reset);
    }
    for (int64_t j = 0; j < units_; ++j) {
      double& h = state_[at(row, j)];
      switch (cell_) {
        case Cell::lstm: {
          double& inner = inner_[at(row, j)];
          inner = sigmoid(sum(j, 2)) * inner + sigmoid(sum(j, 0)) * std::tanh(sum(j, 3));
          h = sigmoid(sum(j, 1)) * std::tanh(inner);
          break;
        }
        case Cell::gru: {
          const double z = sigmoid(sum(j, 0)), reset = sigmoid(sum(j, 1));
          h = (1 - z) * std::tanh(input(j, 2) + reset * own(j, 2)) + z * h;
          break;
        }
        case Cell::gruResetFirst: {
          const double z = update[static_cast<size_t>(j)];
          h = (1 - z) * std::tanh(input(j, 2) + product(*second_, units_, j)) + z * h;
          break;
        }
        case Cell::tanh:
          h = std::tanh(sum(j, 0));
          break;
        case Cell::relu:
          h = sum(j, 0) < 0 ? 0 : sum(j, 0);
          break;
      }
    }
  }

  const EvalContext& c_;
  const Cell cell_;
  const HostTensor &gates_, &weights_, *second_, *bias_;
  const int64_t rows_, columns_, units_;
  std::vector<double> state_, inner_, before_;
};

Result<HostTensor> tensorOf(const std::vector<double>& values, const std::vector<int64_t>& shape) {
  DYN_TRY(HostTensor tensor, newTensor(Dtype::f32, shape));
  for (size_t i = 0; i < values.size(); ++i) tensor.setReal(static_cast<int64_t>(i), values[i]);
  return tensor;
}

Status evaluateRecurrence(EvalContext& c) {
  DYN_TRY(Cell cell, cellOf(c.op()));
  int result = 0;
  for (int direction = 0; direction < (c.hasOperand(kSecond) ? 2 : 1); ++direction) {
    const std::vector<int64_t> shape = c.operand(placeOf(direction, 2)).shape();
    std::vector<int64_t> all = {c.operand(0).shape()[0], shape[0], shape[1]};
    const int64_t made = shape[1] * productGatesOf(cell) * shape[1];
    if (c.operand(placeOf(direction, 1)).elementCount() != made ||
        (resetsFirst(cell) && c.operand(placeOf(direction, 3)).elementCount() != shape[1] * shape[1]))
      return c.error(DiagnosticId::shapeMismatch, "the packed weights are of another number of units");
    HostTensor stacked;
    if (flag(c, "stacks")) {
      DYN_TRY(stacked, newTensor(Dtype::f32, all));
    }
    Steps steps(c, cell, direction);
    steps.run(flag(c, direction == 0 ? "backward" : "second_backward"),
              flag(c, "stacks") ? &stacked : nullptr);
    DYN_TRY(HostTensor state, tensorOf(steps.state(), shape));
    c.setResult(result++, std::move(state));
    if (hasCell(cell)) {
      DYN_TRY(HostTensor inner, tensorOf(steps.inner(), shape));
      c.setResult(result++, std::move(inner));
    }
    if (flag(c, "stacks")) c.setResult(result++, std::move(stacked));
  }
  return {};
}

Status fillRecurrence(const BuiltinRequest& request, CallFields<calls::Recurrence>& call) {
  DYN_TRY(Cell cell, cellOf(request.op));
  const Attributes& attributes = request.op.attributes;
  call.numbers.kind = static_cast<int32_t>(cell);
  call.numbers.backward = attributes.integer("backward", 0) != 0;
  call.numbers.secondBackward = attributes.integer("second_backward", 0) != 0;
  call.numbers.stacks = attributes.integer("stacks", 0) != 0;
  call.numbers.transposed = attributes.integer("transpose_b", 0) != 0;
  return {};
}

}  // namespace

namespace ops {

const OpDef recurrenceOp{
    .name = "recurrence",
    .summary = "all steps of an LSTM, a GRU or an RNN, in one direction or in two",
    .cls = OpClass::opaque,
    .minOperands = 3,
    .maxOperands = kSecond + kOfDirection,
    .results = -1,
    .attributes = kRecurrenceAttributes,
    .infer = inferRecurrence,
    .evaluate = evaluateRecurrence,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::Recurrence, fillRecurrence>,
    .operandRules = kAnyElements,
    .doc =
        "gates of the inputs f32 [s, b, k n], weights packed by pack_b or f32 [n, k n] as they are, state "
        "f32 [b, n], of an LSTM its "
        "cell "
        "[b, n], of a gru_reset_first its second packed weights, of a GRU the bias [k n] of the state's "
        "product, lengths i64 [b], then the same of a second direction but for the lengths -> for each "
        "direction the state, the cell, and where it stacks the states [s, b, n] in the order of the steps. "
        "lstm: k = 4, gates i o f g; gru: k = 3, gates z r n, reset behind the product; gru_reset_first: k = "
        "3, the weights make z and r of the state, the second ones n of what r leaves of it; tanh, relu: k = "
        "1. Behind its length a sequence keeps its state, and 0 is "
        "stacked.",
    .example =
        "fn @main(%g: Tensor[(s, b, 12), f32], %r: Tensor[(3, 12), f32], %h: Tensor[(b, 3), f32], "
        "%c: Tensor[(b, 3), f32]) { %p = pack_b(%r) %z, %d = recurrence(%g, %p, %h, %c) {cell = \"lstm\"} "
        "return %z, %d }",
};

}  // namespace ops
}  // namespace dyn
