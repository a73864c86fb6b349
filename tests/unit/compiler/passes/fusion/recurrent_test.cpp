// Loops over the steps of LSTM, GRU and RNN as one kernel (pass `recurrent`): the same results as the loops,
// for any sizes and lengths; and loops that are none of these.
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

using test::Compiled;
using test::expectClose;
using test::randomTensor;

constexpr int64_t kUnits = 5;

// Of a program with one loop.
struct Steps {
  std::string cell;
  bool backward = false, lengths = false;
  std::string product = "matmul(%h, %w)";
};

// f32 [rows, columns], or [columns] for 0 rows.
std::string numbersText(int64_t rows, int64_t columns, uint32_t seed) {
  const HostTensor values = randomTensor(Dtype::f32, {std::max<int64_t>(rows, 1), columns}, seed);
  const auto rowText = [&](int64_t row) {
    std::string text = "[";
    for (int64_t i = 0; i < columns; ++i)
      text += (i ? ", " : "") + std::to_string(0.4 * values.realAt(row * columns + i));
    return text + "]";
  };
  if (rows == 0) return "f32[" + std::to_string(columns) + "] " + rowText(0);
  std::string text = "f32[" + std::to_string(rows) + ", " + std::to_string(columns) + "] [";
  for (int64_t row = 0; row < rows; ++row) text += (row ? ", " : "") + rowText(row);
  return text + "]";
}

int64_t gatesOf(const std::string& cell) { return cell == "lstm" ? 4 : cell.starts_with("gru") ? 3 : 1; }

std::string cellText(const std::string& cell) {
  if (cell == "lstm")
    return "    %i, %o, %f, %g = split(add(%p, %u)) {axis = -1, parts = 4}\n"
           "    %m = add(mul(sigmoid(%f), %c), mul(sigmoid(%i), tanh(%g)))\n"
           "    %n = mul(sigmoid(%o), tanh(%m))\n";
  if (cell == "gru")
    return "    %a0, %a1, %a2 = split(%p) {axis = -1, parts = 3}\n"
           "    %s0, %s1, %s2 = split(add(%u, " +
           numbersText(0, 3 * kUnits, 8) +
           ")) {axis = -1, parts = 3}\n"
           "    %z = sigmoid(add(%a0, %s0))\n"
           "    %v = tanh(add(%a2, mul(sigmoid(add(%a1, %s1)), %s2)))\n"
           "    %n = add(mul(sub(f32[] 1, %z), %v), mul(%z, %h))\n";
  if (cell == "gru_reset_first")
    return "    %a0, %a1, %a2 = split(%p) {axis = -1, parts = 3}\n"
           "    %s0, %s1 = split(%u) {axis = -1, parts = 2}\n"
           "    %z = sigmoid(add(%a0, %s0))\n"
           "    %v = tanh(add(%a2, matmul(mul(sigmoid(add(%a1, %s1)), %h), " +
           numbersText(kUnits, kUnits, 8) +
           ")))\n"
           "    %n = add(mul(sub(f32[] 1, %z), %v), mul(%z, %h))\n";
  return "    %n = " + cell + "(add(%p, %u))\n";
}

std::string recurrentProgram(const Steps& steps) {
  const bool two = steps.cell == "lstm";
  const std::string units = std::to_string(kUnits), columns = std::to_string(gatesOf(steps.cell) * kUnits),
                    step = steps.backward ? "%t" : "%k";
  const auto kept = [&](const std::string& next, const std::string& before) {
    return steps.lengths ? "where(%runs, " + next + ", " + before + ")" : next;
  };
  return "fn @main(%x: Tensor[(s, b, " + columns + "), f32], %h0: Tensor[(b, " + units +
         "), f32], %c0: Tensor[(b, " + units +
         "), f32], %l: Tensor[(b), i64]) {\n"
         "  %count = gather(shape(%x), i64[] 0)\n  %end = sub(%count, i64[] 1)\n  %last" +
         (two ? ", %cell" : "") + ", %all = loop(%count, _, %h0" + (two ? ", %c0" : "") +
         ", %x, %end, %l) {carried = " + (two ? "2" : "1") + "} body (%k: Tensor[(), i64], %h: Tensor[(b, " +
         units + "), f32]" + (two ? ", %c: Tensor[(b, " + units + "), f32]" : "") + ", %y: Tensor[(s, b, " +
         columns + "), f32], %e: Tensor[(), i64], %lengths: Tensor[(b), i64]) {\n" +
         (steps.backward ? "    %t = sub(%e, %k)\n" : "") + "    %w = identity(" +
         numbersText(kUnits, (gatesOf(steps.cell) - (steps.cell == "gru_reset_first" ? 1 : 0)) * kUnits, 7) +
         ")\n    %p = gather(%y, " + step + ") {axis = 0}\n    %u = " + steps.product + "\n" +
         cellText(steps.cell) + "    %runs = unsqueeze(less(" + step +
         ", %lengths), i64[1] [1])\n    return true, " + kept("%n", "%h") +
         (two ? ", " + kept("%m", "%c") : "") + ", " + kept("%n", "f32[] 0") + "\n  }\n  return %last, %all" +
         (two ? ", %cell" : "") + "\n}";
}

std::unique_ptr<Compiled> recurrentCompiledOf(IrContext& context, const std::string& text,
                                              const std::string& passes, int threads = 1) {
  Result<Module> parsed = test::parseText(context, text);
  EXPECT_TRUE(parsed.ok()) << parsed.error().toString() << text;
  if (!parsed.ok()) return nullptr;
  CompileOptions options;
  options.passes = passes;
  Result<std::unique_ptr<Compiled>> compiled = Compiled::make(*parsed, options, threads);
  EXPECT_TRUE(compiled.ok()) << compiled.error().toString();
  return compiled.ok() ? std::move(*compiled) : nullptr;
}

int64_t recurrentRecurrencesIn(const Compiled& compiled) {
  const auto& counters = compiled.model->trace.find("recurrent")->counters;
  const auto found = counters.find("recurrences");
  return found == counters.end() ? 0 : found->second;
}

std::vector<HostTensor> recurrentInputsFor(const std::string& cell, int64_t s, int64_t b, uint32_t seed) {
  HostTensor lengths = *HostTensor::create(Dtype::i64, {b});
  std::mt19937 random(seed);
  for (int64_t i = 0; i < b; ++i)
    lengths.setInt(i, static_cast<int64_t>(random() % static_cast<uint64_t>(s + 1)));
  return {randomTensor(Dtype::f32, {s, b, gatesOf(cell) * kUnits}, seed),
          randomTensor(Dtype::f32, {b, kUnits}, 2), randomTensor(Dtype::f32, {b, kUnits}, 3),
          std::move(lengths)};
}

TEST(Recurrent, AsTheLoop) {
  for (const char* cell : {"lstm", "gru", "gru_reset_first", "tanh", "relu"})
    for (bool both : {false, true}) {
      const std::string text = recurrentProgram({cell, both, both});
      IrContext context;
      const auto one = recurrentCompiledOf(context, text, "-pack_sequences"),
                 loop = recurrentCompiledOf(context, text, "-pack_sequences,-recurrent");
      ASSERT_TRUE(one && loop);
      ASSERT_EQ(recurrentRecurrencesIn(*one), 1) << text;
      for (const auto& [s, b] : std::vector<std::pair<int64_t, int64_t>>{
               {1, 1}, {7, 1}, {5, 3}, {1, 5}, {13, 17}, {0, 3}, {3, 0}, {0, 0}}) {
        const std::vector<HostTensor> inputs =
            recurrentInputsFor(cell, s, b, static_cast<uint32_t>(s + 20 * b));
        Result<std::vector<HostTensor>> found = one->run(inputs), wanted = loop->run(inputs);
        const std::string what =
            std::string(cell) + ", s = " + std::to_string(s) + ", b = " + std::to_string(b);
        ASSERT_TRUE(found.ok()) << what << found.error().toString();
        ASSERT_TRUE(wanted.ok()) << what << wanted.error().toString();
        for (size_t i = 0; i < wanted->size(); ++i) expectClose((*found)[i], (*wanted)[i], what, 2e-6);
      }
    }
}

// Weights that come with the inputs: packed once by the kernel.
TEST(Recurrent, WeightsThatAreInputs) {
  const std::string units = std::to_string(kUnits);
  for (const bool transposed : {false, true})
    for (const std::string cell : {"lstm", "gru", "gru_reset_first", "relu"}) {
      const bool two = cell == "gru_reset_first";
      const int64_t columns = (gatesOf(cell) - (two ? 1 : 0)) * kUnits;
      const auto shapeOf = [&](int64_t n) {
        return transposed ? std::vector<int64_t>{n, kUnits} : std::vector<int64_t>{kUnits, n};
      };
      const auto typeText = [&](int64_t n) {
        return "Tensor[(" + std::to_string(shapeOf(n)[0]) + ", " + std::to_string(shapeOf(n)[1]) + "), f32]";
      };
      const std::string by = transposed ? " {transpose_b = 1}" : "";
      std::string text = recurrentProgram({cell, false, true, "matmul(%h, %outer)" + by});
      const auto replace = [&](const std::string& from, const std::string& to) {
        const size_t at = text.find(from);
        ASSERT_NE(at, std::string::npos) << from << text;
        text.replace(at, from.size(), to);
      };
      replace("%l: Tensor[(b), i64])",
              "%l: Tensor[(b), i64], %own: " + typeText(columns) + ", %own2: " + typeText(kUnits) + ")");
      replace("%end, %l)", "%end, %l, %own, %own2)");
      replace("%lengths: Tensor[(b), i64])", "%lengths: Tensor[(b), i64], %outer: " + typeText(columns) +
                                                 ", %second: " + typeText(kUnits) + ")");
      if (two) replace("%h), " + numbersText(kUnits, kUnits, 8) + ")", "%h), %second)" + by);
      IrContext context;
      const auto one = recurrentCompiledOf(context, text, "-pack_sequences"),
                 loop = recurrentCompiledOf(context, text, "-pack_sequences,-recurrent");
      ASSERT_TRUE(one && loop);
      ASSERT_EQ(recurrentRecurrencesIn(*one), 1) << text;
      for (const auto& [s, b] :
           std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {7, 1}, {5, 3}, {0, 3}, {3, 0}}) {
        std::vector<HostTensor> inputs = recurrentInputsFor(cell, s, b, static_cast<uint32_t>(s + 20 * b));
        inputs.push_back(randomTensor(Dtype::f32, shapeOf(columns), 31));
        inputs.push_back(randomTensor(Dtype::f32, shapeOf(kUnits), 32));
        Result<std::vector<HostTensor>> found = one->run(inputs), wanted = loop->run(inputs);
        ASSERT_TRUE(found.ok()) << found.error().toString();
        ASSERT_TRUE(wanted.ok()) << wanted.error().toString();
        for (size_t i = 0; i < wanted->size(); ++i) expectClose((*found)[i], (*wanted)[i], cell, 5e-6);
      }
    }
}

TEST(Recurrent, WhereAllPositionsAreKept) {
  IrContext context;
  const auto compiled = recurrentCompiledOf(context, recurrentProgram({"lstm", true, true}), "");
  ASSERT_TRUE(compiled);
  EXPECT_EQ(recurrentRecurrencesIn(*compiled), 1);
}

TEST(Recurrent, OthersStayLoops) {
  IrContext context;
  const std::string folded = "matmul(%h, mul(%w, 2.0))",
                    broadcast = "matmul(%h, " + numbersText(kUnits, 1, 6) + ")";
  for (const std::string& product :
       {folded, std::string("matmul(tanh(%h), %w)"), std::string("sub(matmul(%h, %w), %p)"), broadcast}) {
    const auto compiled = recurrentCompiledOf(context, recurrentProgram({"tanh", false, false, product}), "");
    ASSERT_TRUE(compiled);
    EXPECT_EQ(recurrentRecurrencesIn(*compiled), product == folded ? 1 : 0) << product;
  }
}

}  // namespace
}  // namespace dyn
