#include "tests/fuzz/ragged/encoder.h"

#include <algorithm>
#include <limits>

#include "tests/fuzz/differential/random_source.h"

namespace dyn::ragged {

using differential::RandomSource;

namespace {

constexpr int64_t kWidth = 8, kHeads = 2, kWithin = 12;

class Writer {
 public:
  explicit Writer(uint64_t seed) : random_(seed ^ 0x452821e638d01377u) {}

  Encoder run() {
    Encoder encoder;
    encoder.mask = oneOf(4) ? MaskInput::lengths : MaskInput::ones;
    encoder.isWhole = true;
    if (encoder.mask == MaskInput::lengths && oneOf(2)) return recurrent();
    mask(encoder.mask);
    std::string x = positionwise("x");
    const int64_t layers = random_.number(1, 2);
    for (int64_t layer = 0; layer < layers; ++layer) {
      x = attention(x);
      if (oneOf(2)) x = feedForward(x);
      if (oneOf(12)) {
        x = looksAcross(x);
        encoder.isWhole = false;
      }
    }
    finish(encoder, epilogue(x, encoder));
    return encoder;
  }

 private:
  void finish(Encoder& encoder, const std::string& results) {
    encoder.text =
        "fn @main(%x: Tensor[(b, s, 8), f32], " +
        std::string(encoder.mask == MaskInput::ones ? "%mask: Tensor[(b, s), i64]"
                                                    : "%mask: Tensor[(b), i64]") +
        ", %places: Tensor[(s, 8), f32], %table: Tensor[(1, 2, s, s), f32], %w: Tensor[(8, 8), f32], "
        "%w2: Tensor[(8, 8), f32], %up: Tensor[(8, 12), f32], %down: Tensor[(12, 8), f32], "
        "%g: Tensor[(8), f32], %h: Tensor[(8), f32]) {\n" +
        body_ + "  return " + results + "\n}\n";
  }

  // Layers of recurrences, each of one direction or both; results of the last, by position or not.
  Encoder recurrent() {
    Encoder encoder;
    encoder.mask = MaskInput::lengths;
    encoder.isWhole = true;
    std::string x = positionwise("x");
    steps_ = say("gather(shape(%x), i64[] 1)");
    last_ = say("sub(%" + steps_ + ", i64[] 1)");
    state_ = say("expand(f32[] 0.25, concat(gather(shape(%x), i64[1] [0]), i64[1] [8]) {axis = 0})");
    x = say("transpose(%" + x + ") {perm = [1, 0, 2]}");
    std::string state;
    for (int64_t layer = random_.number(1, 2); layer > 0; --layer) {
      const int64_t directions = random_.number(0, 2);
      const std::string forward = directions != 1 ? recurrence(x, false, state) : "",
                        backward = directions != 0 ? recurrence(x, true, state) : "";
      x = forward.empty()    ? backward
          : backward.empty() ? forward
                             : say("matmul(concat(%" + forward + ", %" + backward + ") {axis = 2}, " +
                                   "concat(%w, %w2) {axis = 0})");
    }
    const std::string turned = say("transpose(%" + x + ") {perm = [1, 0, 2]}");
    finish(encoder, oneOf(3)   ? "%" + state
                    : oneOf(2) ? "%" + say("reduce_sum(%" + turned + ", i64[1] [1])") + ", %" + state
                               : "%" + turned);
    return encoder;
  }

  std::string recurrence(const std::string& x, bool backward, std::string& state) {
    const std::string gates = say("matmul(%" + x + ", %" + (oneOf(2) ? "w" : "w2") + ")"),
                      n = std::to_string(count_++), stacked = "stacked" + n, step = backward ? "%t" : "%i";
    state = "state" + n;
    body_ += "  %" + state + ", %" + stacked + " = loop(%" + steps_ + ", _, %" + state_ + ", %" + gates +
             ", %mask, %w, %" + last_ +
             ") {carried = 1} body (%i: Tensor[(), i64], %c: Tensor[(b, 8), f32], %xs: Tensor[(s, b, 8), "
             "f32], %lengths: Tensor[(b), i64], %r: Tensor[(8, 8), f32], %last: Tensor[(), i64]) {\n" +
             (backward ? "    %t = sub(%last, %i)\n" : "") + "    %p = gather(%xs, " + step +
             ") {axis = 0}\n    %runs = unsqueeze(less(" + step +
             ", %lengths), i64[1] [1])\n    %n = tanh(add(%p, matmul(%c, %r)))\n"
             "    %next = where(%runs, %n, %c)\n    %y = where(%runs, " +
             (oneOf(3) ? "mul(%n, %p)" : "%n") + ", f32[] 0)\n    return true, %next, %y\n  }\n";
    return backward ? say("slice(%" + stacked +
                          ", i64[1] [-1], i64[1] [-9223372036854775807], i64[1] [0], i64[1] [-1])")
                    : stacked;
  }

  bool oneOf(int64_t count) { return random_.number(1, count) == 1; }

  // A statement: its value's name.
  std::string say(const std::string& expression) {
    const std::string name = "v" + std::to_string(count_++);
    body_ += "  %" + name + " = " + expression + "\n";
    return name;
  }
  std::string unary(const std::string& op, const std::string& x) { return say(op + "(%" + x + ")"); }

  // %held bool [b, s], and what hides keys: `bias` or `keep`, and how.
  void mask(MaskInput input) {
    const std::string range = say("range(i64[] 0, gather(shape(%x), i64[] 1), i64[] 1)");
    if (input == MaskInput::lengths)
      held_ = say("less(unsqueeze(%" + range + ", i64[1] [0]), unsqueeze(%mask, i64[1] [1]))");
    else
      held_ = oneOf(2) ? say("cast(%mask) {to = bool}") : say("greater(%mask, i64[] 0)");
    const std::string keys = say("unsqueeze(%" + held_ + ", i64[2] [1, 2])");
    form_ = random_.number(0, 9);
    const std::string fill = oneOf(2) ? "f32[] -3.0e38" : "f32[] -1.0e9";
    fill_ = fill;
    const std::string rows = say("unsqueeze(%" + range + ", i64[3] [0, 1, 3])"),
                      columns = say("unsqueeze(%" + range + ", i64[3] [0, 1, 2])"),
                      before = say("less_equal(%" + columns + ", %" + rows + ")");
    // What is added to the scores of each sequence: by distances, and by positions that the mask counts.
    far_ = say("expand(add(clip(sub(%" + columns + ", %" + rows +
               "), i64[] -2, i64[] 2), i64[] 2), concat(gather(shape(%x), i64[1] [0]), i64[1] [2], "
               "gather(shape(%x), i64[1] [1]), gather(shape(%x), i64[1] [1])) {axis = 0})");
    counted_ =
        say("unsqueeze(cast(cumsum(cast(%" + held_ + ") {to = i64}, i64[] 1)) {to = f32}, i64[2] [1, 2])");
    switch (form_) {
      case 0:  // as BERT's
        bias_ = say("mul(sub(f32[] 1, cast(%" + keys + ") {to = f32}), f32[] -3.0e38)");
        break;
      case 1:
        bias_ = say("where(%" + keys + ", f32[] 0, " + fill + ")");
        break;
      case 2:
        keep_ = keys;
        break;
      case 3:
        keep_ = say("logical_not(%" + keys + ")");
        break;
      case 4:  // causal and keys in one
        bias_ = say("where(logical_and(%" + before + ", %" + keys + "), f32[] 0, " + fill + ")");
        break;
      case 5:  // the causal choice first, the bias of keys on top
        before_ = before;
        bias_ = say("where(%" + keys + ", f32[] 0, f32[] -3.0e38)");
        break;
      case 6:  // keys near by
        keep_ =
            say("logical_and(%" + keys + ", less_equal(abs(sub(%" + rows + ", %" + columns + ")), i64[] 2))");
        break;
      case 7:
        bias_ = say("where(logical_and(less_equal(abs(sub(%" + rows + ", %" + columns + ")), i64[] 1), %" +
                    keys + "), f32[] 0, " + fill + ")");
        break;
      case 8:  // queries as well as keys
        keep_ = say(oneOf(2) ? "logical_and(%" + keys + ", transpose(%" + keys + ") {perm = [0, 1, 3, 2]})"
                             : "cast(mul(cast(%" + keys + ") {to = i64}, transpose(cast(%" + keys +
                                   ") {to = i64}) {perm = [0, 1, 3, 2]})) {to = bool}");
        break;
      default:  // one choice of both
        keep_ = say("logical_and(%" + keys + ", %" + before + ")");
    }
  }

  std::string positionwise(std::string x) {
    for (int64_t i = random_.number(1, 3); i > 0; --i) switch (random_.number(0, 5)) {
        case 0:
          x = unary("tanh", x);
          break;
        case 1:
          x = say("add(%" + x + ", %places)");
          break;
        case 2:
          x = say("layer_norm(%" + x + ", %g, %h)");
          break;
        case 3:
          x = say("mul(%" + x + ", f32[] 0.5)");
          break;
        case 4:
          x = say("matmul(%" + x + ", %w)");
          break;
        default:
          x = say("concat(slice(%" + x + ", i64[1] [4], i64[1] [8], i64[1] [2]), slice(%" + x +
                  ", i64[1] [0], i64[1] [4], i64[1] [2])) {axis = 2}");
      }
    return x;
  }

  std::string attention(const std::string& x) {
    const bool inOne = oneOf(3), turned = oneOf(3);
    const auto heads = [&](const std::string& weight, const std::string& order) {
      const std::string product =
          inOne ? say("reshape(matmul(reshape(%" + x + ", i64[2] [-1, 8]), %" + weight + "), shape(%x))")
                : say("matmul(%" + x + ", %" + weight + ")");
      return say("transpose(reshape(%" + product + ", i64[4] [0, 0, 2, 4])) {perm = " + order + "}");
    };
    const std::string q = heads("w", "[0, 2, 1, 3]"),
                      k = heads("w2", turned ? "[0, 2, 1, 3]" : "[0, 2, 3, 1]"),
                      v = heads("w", "[0, 2, 1, 3]");
    const std::string product = "matmul(%" + q + ", %" + k + ")" + (turned ? " {transpose_b = 1}" : "");
    std::string scores =
        oneOf(2) ? say("mul(" + product + ", f32[] 0.5)") : say("div(" + product + ", f32[] 2)");
    if (oneOf(4))
      scores = say("add(%" + scores + ", " +
                   (oneOf(2) ? "%table" : "expand(%table, shape(%" + scores + "))") + ")");
    if (oneOf(5))
      scores = say("add(%" + scores + ", gather_elements(matmul(%" + q +
                   ", slice(transpose(%w2) {perm = [1, 0]}, i64[2] [0, 0], i64[2] [4, 5])), %" + far_ +
                   ") {axis = 3})");
    if (oneOf(5)) scores = say("add(%" + scores + ", mul(%" + counted_ + ", f32[] 0.125))");
    if (oneOf(6)) scores = say("mul(tanh(%" + scores + "), f32[] 4)");
    if (!before_.empty()) scores = say("where(%" + before_ + ", %" + scores + ", " + fill_ + ")");
    if (!bias_.empty()) scores = say("add(%" + scores + ", %" + bias_ + ")");
    if (!keep_.empty())
      scores = form_ == 3 ? say("where(%" + keep_ + ", " + fill_ + ", %" + scores + ")")
                          : say("where(%" + keep_ + ", %" + scores + ", " + fill_ + ")");
    const std::string z = say("matmul(softmax(%" + scores + ") {axis = -1}, %" + v + ")"),
                      joined = say("reshape(transpose(%" + z + ") {perm = [0, 2, 1, 3]}, i64[3] [0, 0, 8])");
    const std::string sum = oneOf(3) ? joined : say("add(%" + x + ", %" + joined + ")");
    return say("layer_norm(%" + sum + ", %g, %h)");
  }

  std::string feedForward(const std::string& x) {
    const std::string inner = say("matmul(%" + x + ", %up)");
    return say("add(%" + x + ", matmul(" + (oneOf(2) ? "relu" : "tanh") + "(%" + inner + "), %down))");
  }

  std::string looksAcross(const std::string& x) {
    if (oneOf(2)) return say("sub(%" + x + ", reduce_mean(%" + x + ", i64[1] [1]))");
    return say("cumsum(%" + x + ", i64[] 1)");
  }

  std::string epilogue(const std::string& x, Encoder& encoder) {
    const std::string factor = say("unsqueeze(cast(%" + held_ + ") {to = f32}, i64[1] [2])");
    switch (random_.number(0, 4)) {
      case 0:
        encoder.seesFirst = true;
        return "%" + say("tanh(gather(%" + x + ", i64[] 0) {axis = 1})");
      case 1:
        return "%" + say("mul(%" + x + ", %" + factor + ")");
      case 2: {
        const std::string times = oneOf(2) ? "%" + factor : "expand(%" + factor + ", shape(%x))";
        const std::string sum = say("reduce_sum(mul(%" + x + ", " + times + "), i64[1] [1]) {keepdims = 0}"),
                          count = say("max(reduce_sum(%" + factor + ", i64[1] [1]) {keepdims = 0}, f32[] 1)");
        return "%" + say("div(%" + sum + ", %" + count + ")");
      }
      case 3:
        encoder.isHidden = true;
        return "%" + x;
      default:
        encoder.seesFirst = true;
        return "%" + say("gather(%" + x + ", i64[] 0) {axis = 1}") + ", %" +
               say("mul(%" + x + ", %" + factor + ")");
    }
  }

  RandomSource random_;
  std::string body_, held_, far_, counted_, bias_, keep_, before_, fill_;
  std::string steps_, last_, state_;  // of recurrences
  int64_t form_ = 0;
  int count_ = 0;
};

}  // namespace

Encoder encoderOf(uint64_t seed) { return Writer(seed).run(); }

std::vector<Batch> batchesFor(const Encoder& encoder, uint64_t seed) {
  RandomSource random(seed ^ 0xbe5466cf34e90c6cu);
  std::vector<Batch> batches;
  for (int64_t kind = 0; kind < 6; ++kind) {
    Batch one;
    one.batch = kind == 0 ? 1 : random.number(kind == 5 ? 0 : 1, 4);
    one.sequence = kind == 1 ? 1 : random.number(kind == 5 ? 0 : 2, 11);
    one.held.assign(static_cast<size_t>(one.batch * one.sequence), false);
    const bool holes = kind >= 3 && encoder.mask == MaskInput::ones;
    for (int64_t b = 0; b < one.batch; ++b) {
      // Among the lengths are none, one, and all.
      const int64_t pick = random.number(0, 4);
      const int64_t length = pick == 0   ? 0
                             : pick == 1 ? std::min<int64_t>(1, one.sequence)
                             : pick == 2 ? one.sequence
                                         : random.number(0, one.sequence);
      for (int64_t s = 0; s < one.sequence; ++s)
        one.held[static_cast<size_t>(b * one.sequence + s)] = holes ? random.number(0, 1) != 0 : s < length;
    }
    batches.push_back(std::move(one));
  }
  return batches;
}

std::vector<HostTensor> inputsFor(const Encoder& encoder, const Batch& batch, uint64_t seed,
                                  Padding padding) {
  RandomSource random(seed ^ 0x082efa98ec4e6c89u);
  const auto real = [&](std::vector<int64_t> shape, double scale) {
    HostTensor tensor = *HostTensor::create(Dtype::f32, std::move(shape));
    for (int64_t i = 0; i < tensor.elementCount(); ++i)
      tensor.setReal(i, scale * static_cast<double>(random.number(-100, 100)) / 100);
    return tensor;
  };
  const int64_t b = batch.batch, s = batch.sequence;
  std::vector<HostTensor> inputs{real({b, s, kWidth}, 1)};
  for (int64_t i = 0; padding == Padding::notANumber && i < inputs[0].elementCount(); ++i)
    if (!batch.held[static_cast<size_t>(i / kWidth)])
      inputs[0].setReal(i, std::numeric_limits<double>::quiet_NaN());
  HostTensor mask = *HostTensor::create(
      Dtype::i64, encoder.mask == MaskInput::ones ? std::vector<int64_t>{b, s} : std::vector<int64_t>{b});
  for (int64_t i = 0; i < b; ++i) {
    int64_t length = 0;
    for (int64_t j = 0; j < s; ++j) {
      length += batch.holds(i, j) ? 1 : 0;
      if (encoder.mask == MaskInput::ones) mask.setInt(i * s + j, batch.holds(i, j) ? 1 : 0);
    }
    if (encoder.mask == MaskInput::lengths) mask.setInt(i, length);
  }
  inputs.push_back(std::move(mask));
  inputs.push_back(real({s, kWidth}, 1));
  inputs.push_back(real({1, kHeads, s, s}, 1));
  for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{
           {kWidth, kWidth}, {kWidth, kWidth}, {kWidth, kWithin}, {kWithin, kWidth}, {kWidth}, {kWidth}})
    inputs.push_back(real(shape, 0.8));
  return inputs;
}

}  // namespace dyn::ragged
