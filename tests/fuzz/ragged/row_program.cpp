#include "tests/fuzz/ragged/row_program.h"

#include "tests/fuzz/differential/random_source.h"

namespace dyn::ragged {

using differential::RandomSource;

namespace {

constexpr int64_t kWidth = 4;

// A value (b, length, 4).
struct Rows {
  std::string name, length;
};

class RowWriter {
 public:
  explicit RowWriter(uint64_t seed) : random_(seed ^ 0x13198a2e03707344u) {}

  std::string run() {
    rows_ = {{"x", "len"}, {"y", "len"}, {"z", "more"}};
    const int64_t steps = random_.number(4, 12);
    for (int64_t i = 0; i < steps; ++i) step();
    std::string text =
        "fn @main(%x: Tensor[(b, len[b], 4), f32], %y: Tensor[(b, len[b], 4), f32], %z: Tensor[(b, "
        "more[b], 4), f32], %c: Tensor[(b, 1, 4), f32], %w: Tensor[(4, 4), f32], %g: Tensor[(4), "
        "f32], %k: Tensor[(4, 4, 3), f32], %d: Tensor[(4, 1, 3), f32], %len: Tensor[(b), i64], %more: "
        "Tensor[(b), i64]) {\n" +
        text_ + "  return %" + rows_.back().name;
    for (const size_t i : {rows_.size() - 2, rows_.size() / 2}) text += ", %" + rows_[i].name;
    if (!pooled_.empty()) text += ", %" + pooled_.back();
    if (!scores_.empty()) text += ", %" + scores_.back();
    return text + "\n}\n";
  }

 private:
  bool oneOf(int64_t n) { return random_.number(1, n) == 1; }
  // Mostly one of the last.
  const Rows& any() {
    const auto count = static_cast<int64_t>(rows_.size());
    return rows_[static_cast<size_t>(oneOf(3) ? random_.number(0, count - 1)
                                              : random_.number(count - 3, count - 1))];
  }
  // Another of the same lengths; the same where there is none.
  Rows like(const Rows& rows) {
    for (int i = 0; i < 8; ++i)
      if (const Rows& other = any(); other.length == rows.length) return other;
    return rows;
  }
  std::string fresh() { return "v" + std::to_string(++count_); }
  std::string line(const std::string& expression) {
    const std::string name = fresh();
    text_ += "  %" + name + " = " + expression + "\n";
    return name;
  }
  void add(const std::string& expression, const std::string& length) {
    rows_.push_back({line(expression), length});
  }

  void step() {
    const Rows a = any();
    const std::string x = "%" + a.name;
    switch (random_.number(0, 14)) {
      case 0: {
        static const char* const kUnary[] = {"relu", "tanh", "neg", "sigmoid", "gelu"};
        return add(std::string(kUnary[random_.number(0, 4)]) + "(" + x + ")", a.length);
      }
      case 1: {
        static const char* const kBinary[] = {"add", "sub", "mul", "max"};
        return add(std::string(kBinary[random_.number(0, 3)]) + "(" + x + ", %" + like(a).name + ")",
                   a.length);
      }
      case 2:
        return add("tanh(matmul(" + x + ", %w))", a.length);
      case 3:
        // A row of numbers that are nearly one is made of their last bits; they must not become all of it.
        return add("layer_norm(" + x + ", %g, %g) {axis = -1, epsilon = 0.1}", a.length);
      case 4:
        return add("add(" + x + ", " + (oneOf(2) || frames_.empty() ? "%c" : "%" + frames_.back()) + ")",
                   a.length);
      case 5: {
        static const char* const kFolds[] = {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min"};
        const std::string folded =
            std::string(kFolds[random_.number(0, 3)]) + "(" + x + ", i64[1] [1]) {keepdims = ";
        if (oneOf(2)) {
          // Extremes of nothing are infinite, and a score of -inf is less than what hides a key.
          frames_.push_back(line("tanh(" + folded + "1})"));
        } else {
          pooled_.push_back(line(folded + "0}"));
        }
        return;
      }
      case 6:
        return add("softmax(" + x + ") {axis = " + (oneOf(2) ? "1" : "2") + "}", a.length);
      case 7: {
        if (a.length.size() > 24) return;
        if (oneOf(3)) return add("concat(%c, " + x + ") {axis = 1}", "1 " + a.length);
        const Rows b = any();
        return add("concat(" + x + ", %" + b.name + ") {axis = 1}", a.length + " " + b.length);
      }
      case 8:
        return attention(a);
      case 9: {
        const std::string turned = line("transpose(" + x + ") {perm = [2, 0, 1]}");
        return add("transpose(abs(%" + turned + ")) {perm = [1, 2, 0]}", a.length);
      }
      case 10:
        return windows(a);
      case 11:
        return recurrence(a);
      case 12:
        return between(a);
      case 13: {
        // Along the positions, in a way that only a sequence by itself has.
        static const char* const kAlong[] = {"cumsum(%, i64[] 1)", "trilu(%) {upper = 0}",
                                             "reduce_l2(%, i64[1] [1]) {keepdims = 1}"};
        std::string along = kAlong[random_.number(0, 2)];
        along.replace(along.find('%'), 1, x);
        return add("tanh(add(" + x + ", " + along + "))", a.length);
      }
      default: {
        const std::string heads = line("reshape(" + x + ", i64[4] [0, 0, 2, 2])");
        const std::string folded = line("reduce_sum(%" + heads + ", i64[1] [3]) {keepdims = 1}");
        return add("reshape(mul(%" + heads + ", %" + folded + "), i64[3] [0, 0, 4])", a.length);
      }
    }
  }

  // Convolutions and pools: those that keep the length, and those with a stride.
  void windows(const Rows& a) {
    const std::string turned = line("transpose(%" + a.name + ") {perm = [0, 2, 1]}");
    const bool keeps = a.length.size() > 24 || oneOf(2);
    const std::string steps = keeps ? "" : ", strides = [2]";
    static const char* const kPools[] = {"max_pool", "average_pool"};
    const std::string made = oneOf(2)   ? "relu(conv(%" + turned + ", %k) {pads = [1, 1]" + steps + "})"
                             : oneOf(2) ? "conv(%" + turned + ", %d) {group = 4, pads = [1, 1]" + steps + "}"
                                        : std::string(kPools[random_.number(0, 1)]) + "(%" + turned +
                                              ") {kernel_shape = [3], pads = [1, 1]" + steps + "}";
    add("transpose(%" + line(made) + ") {perm = [0, 2, 1]}", keeps ? a.length : "half(" + a.length + ")");
  }

  void recurrence(const Rows& a) {
    const std::string count = line("gather(shape(%" + a.name + "), i64[] 1) {axis = 0}"),
                      last = line("sub(%" + count + ", i64[] 1)"), state = line("squeeze(%c, i64[1] [1])");
    const bool backward = oneOf(2);
    const std::string rows = line("transpose(%" + a.name + ") {perm = [1, 0, 2]}"), end = fresh(),
                      made = fresh();
    text_ += "  %" + end + ", %" + made + " = loop(%" + count + ", _, %" + state + ", %" + rows + ", %w, %" +
             last + ") {carried = 1} body (%i_" + made + ": Tensor[(), i64], %h_" + made +
             ": Tensor[(b, 4), f32], %g_" + made + ": Tensor[(?, b, 4), f32], %w_" + made +
             ": Tensor[(4, 4), f32], %l_" + made + ": Tensor[(), i64]) {\n" + "    %t_" + made +
             (backward ? " = sub(%l_" + made + ", %i_" + made + ")" : " = add(%i_" + made + ", i64[] 0)") +
             "\n    %n_" + made + " = tanh(add(gather(%g_" + made + ", %t_" + made +
             ") {axis = 0}, matmul(%h_" + made + ", %w_" + made + ")))\n    return true, %n_" + made +
             ", %n_" + made + "\n  }\n";
    pooled_.push_back(end);
    add("transpose(%" + made + ") {perm = [1, 0, 2]}", a.length);
  }

  // Attention to sequences that may have other lengths.
  void between(const Rows& a) {
    const Rows b = any();
    const std::string scores =
        line("mul(matmul(%" + a.name + ", transpose(%" + b.name + ") {perm = [0, 2, 1]}), f32[] 0.5)");
    const std::string shares = line("softmax(%" + scores + ")");
    if (oneOf(3)) scores_.push_back(oneOf(2) ? scores : shares);
    add("matmul(%" + shares + ", %" + b.name + ")", a.length);
  }

  void attention(const Rows& a) {
    const std::string x = "%" + a.name;
    std::string scores =
        line("mul(matmul(" + x + ", transpose(%" + like(a).name + ") {perm = [0, 2, 1]}), f32[] 0.5)");
    if (oneOf(3)) {
      const std::string keys =
          line("transpose(reduce_sum(%" + like(a).name + ", i64[1] [2]) {keepdims = 1}) {perm = [0, 2, 1]}");
      // Elements of the inputs are multiples of 1/700: no sum of them is rounded to either side of this.
      const std::string kept = "greater(%" + keys + ", f32[] 0.0007)";
      scores = line(oneOf(3)   ? "add(%" + scores + ", %" + keys + ")"
                    : oneOf(2) ? "where(" + kept + ", %" + scores + ", f32[] -1.0e9)"
                               : "where(" + kept + ", f32[] -2.5, %" + scores + ")");
    } else if (oneOf(2)) {
      const std::string size = line("gather(shape(" + x + "), i64[] 1) {axis = 0}");
      const std::string range = line("range(i64[] 0, %" + size + ", i64[] 1)");
      const std::string key = "unsqueeze(%" + range + ", i64[1] [0])",
                        query = "unsqueeze(%" + range + ", i64[1] [1])";
      scores = line(oneOf(2) ? "where(less_equal(" + key + ", " + query + "), %" + scores + ", f32[] -1.0e9)"
                             : "where(less(" + query + ", " + key + "), f32[] -1.0e9, %" + scores + ")");
    }
    if (oneOf(4)) scores_.push_back(scores);
    add("matmul(softmax(%" + scores + ") {axis = -1}, %" + like(a).name + ")", a.length);
  }

  RandomSource random_;
  std::vector<Rows> rows_;
  std::vector<std::string> frames_, pooled_;  // (b, 1, 4) and (b, 4)
  std::vector<std::string> scores_;           // (b, a length, a length), to be results
  std::string text_;
  int count_ = 0;
};

}  // namespace

std::string rowProgramOf(uint64_t seed) { return RowWriter(seed).run(); }

std::vector<std::vector<HostTensor>> rowInputsFor(uint64_t seed) {
  RandomSource random(seed ^ 0xa4093822299f31d0u);
  std::vector<std::vector<HostTensor>> all;
  for (int64_t round = 0; round < 5; ++round) {
    const int64_t batch = round == 0 ? 0 : random.number(1, 5);
    std::vector<int64_t> lengths[2];
    int64_t sums[2] = {0, 0};
    for (int which = 0; which < 2; ++which)
      for (int64_t i = 0; i < batch; ++i) {
        const int64_t kind = random.number(0, 3);
        lengths[which].push_back(kind < 2 ? kind : random.number(0, 17));
        sums[which] += lengths[which].back();
      }
    std::vector<HostTensor> inputs;
    for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{sums[0], kWidth},
                                                                               {sums[0], kWidth},
                                                                               {sums[1], kWidth},
                                                                               {batch, 1, kWidth},
                                                                               {kWidth, kWidth},
                                                                               {kWidth},
                                                                               {kWidth, kWidth, 3},
                                                                               {kWidth, 1, 3}}) {
      HostTensor tensor = *HostTensor::create(Dtype::f32, shape);
      for (int64_t i = 0; i < tensor.elementCount(); ++i)
        tensor.setReal(i, static_cast<double>(random.number(-1000, 1000)) / 700);
      inputs.push_back(std::move(tensor));
    }
    for (const std::vector<int64_t>& one : lengths) inputs.push_back(HostTensor::vectorInt(Dtype::i64, one));
    all.push_back(std::move(inputs));
  }
  return all;
}

}  // namespace dyn::ragged
