// Properties over random modules and random damage of their text.
#include <gtest/gtest.h>

#include "compiler/ir/fork.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"
#include "compiler/ir/walk.h"
#include "frontends/text/parser.h"
#include "tests/unit/compiler/ir/small_ops.h"
#include "tests/unit/frontends/text/random_module.h"

namespace dyn::text {
namespace {

using dyn::testing::findSmallOp;

std::vector<const OpDef*> plainOps() {
  std::vector<const OpDef*> ops;
  for (const char* name : {"relu", "add", "matmul", "gather", "cast", "constant", "split", "minmax", "concat",
                           "check", "everything"}) {
    ops.push_back(findSmallOp(name));
  }
  return ops;
}

ParseOptions roundTripOptions(const std::map<std::string, HostTensor>* weights) {
  ParseOptions o;
  o.findOp = findSmallOp;
  o.opNames = dyn::testing::smallOpNames();
  o.weights = weights;
  return o;
}

Module randomModule(IrContext& context, uint64_t seed) {
  dyn::testing::RandomModule random(context, plainOps(), findSmallOp("if"), findSmallOp("loop"), seed);
  return random.make(static_cast<int>(1 + seed % 3), static_cast<int>(5 + seed % 20));
}

// The first lines that differ; "" when none does.
std::string firstDifference(const std::string& a, const std::string& b) {
  size_t begin = 0, i = 0;
  while (i < a.size() && i < b.size() && a[i] == b[i]) begin = a[i++] == '\n' ? i : begin;
  if (i == a.size() && i == b.size()) return "";
  auto line = [&](const std::string& t) { return t.substr(begin, t.find('\n', begin) - begin); };
  return line(a) + "\n" + line(b);
}

TEST(RoundTrip, randomModulesPrintParseAndPrintTheSame) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    IrContext context;
    const Module module = randomModule(context, seed);
    const auto faults = verify(module);
    ASSERT_TRUE(faults.empty()) << "seed " << seed << ": " << faults[0].toString() << "\n" << print(module);
    PrintOptions print4;
    print4.maxInlineElements = 4;
    const std::string once = print(module, print4);
    const auto weights = weightsOf(module, print4);
    IrContext other;
    Result<Module> again = parseModule(other, once, roundTripOptions(&weights));
    ASSERT_TRUE(again.ok()) << "seed " << seed << ": " << again.error().toString() << "\n" << once;
    ASSERT_EQ(firstDifference(once, print(*again, print4)), "") << "seed " << seed;
    EXPECT_TRUE(verify(*again).empty()) << "seed " << seed;
    EXPECT_EQ(countOps(*again), countOps(module));
    // In full, without a table of weights.
    PrintOptions full;
    full.maxInlineElements = -1;
    IrContext third;
    Result<Module> whole = parseModule(third, print(module, full), roundTripOptions(nullptr));
    ASSERT_TRUE(whole.ok()) << "seed " << seed << ": " << whole.error().toString();
    ASSERT_EQ(firstDifference(print(module, full), print(*whole, full)), "") << "seed " << seed;
  }
}

TEST(RoundTrip, clonesVerifyAndLeaveTheOriginal) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    IrContext context;
    Module module = randomModule(context, seed);
    const std::string before = print(module);
    module.functions.push_back(cloneWithNewIds(context, *module.functions[0], "copy"));
    const auto faults = verify(module);
    EXPECT_TRUE(faults.empty()) << "seed " << seed << ": " << faults[0].toString();
    EXPECT_EQ(print(module).substr(0, before.size()), before);
  }
}

// Whatever stands in the text: a module or an error with a place in it, never a crash. What is read can be
// verified and printed.
TEST(RoundTrip, copiesInAContextOfTheirOwnPrintTheSame) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    IrContext context, other;
    const Module module = randomModule(context, seed);
    const Module copy = IrFork(context, other).module(module);
    ASSERT_EQ(firstDifference(print(copy), print(module)), "") << "seed " << seed;
    ASSERT_TRUE(verify(copy).empty()) << "seed " << seed;
  }
}

TEST(RoundTrip, damagedTextNeverCrashes) {
  static const std::string kPieces[] = {"(",
                                        ")",
                                        "{",
                                        "}",
                                        "[",
                                        "]",
                                        ",",
                                        ":",
                                        "=",
                                        "->",
                                        "%",
                                        "@",
                                        "?",
                                        "..",
                                        "\"",
                                        "\\",
                                        "_",
                                        "-",
                                        "0x",
                                        "1e",
                                        "9999999999999999999",
                                        "fn",
                                        "type",
                                        "dim",
                                        "return",
                                        "if",
                                        "then",
                                        "else",
                                        "case",
                                        "Tensor",
                                        "List[",
                                        "dims(",
                                        "f32[",
                                        "\n",
                                        "#",
                                        " ",
                                        "<weight \"w\">",
                                        "nan",
                                        "\x80",
                                        std::string(1, '\0')};
  for (uint64_t seed = 1; seed <= 15; ++seed) {
    IrContext context;
    const std::string text = print(randomModule(context, seed));
    std::mt19937_64 random(seed);
    auto below = [&](size_t n) { return static_cast<size_t>(random() % (n + 1)); };
    for (int round = 0; round < 30; ++round) {
      std::string damaged = text;
      for (size_t edits = 1 + below(4); edits > 0; --edits) {
        const size_t at = below(damaged.size());
        const std::string& piece = kPieces[random() % std::size(kPieces)];
        switch (random() % 4) {
          case 0:
            damaged.erase(at, below(20));
            break;
          case 1:
            damaged.insert(at, piece);
            break;
          case 2:
            damaged.replace(at, below(8), piece);
            break;
          default:
            damaged.insert(at, damaged.substr(below(damaged.size()), below(60)));
            break;
        }
      }
      IrContext other;
      Result<Module> module = parseModule(other, damaged, roundTripOptions(nullptr));
      if (!module.ok()) {
        EXPECT_GT(module.error().place.line, 0u) << module.error().toString();
        EXPECT_GE(module.error().notes.size(), 2u);
        continue;
      }
      (void)verify(*module);
      IrContext third;
      const auto weights = weightsOf(*module);
      Result<Module> again = parseModule(third, print(*module), roundTripOptions(&weights));
      ASSERT_TRUE(again.ok()) << "seed " << seed << " round " << round << ": " << again.error().toString()
                              << "\n"
                              << print(*module);
      EXPECT_EQ(firstDifference(print(*module), print(*again)), "");
    }
  }
}

}  // namespace
}  // namespace dyn::text
