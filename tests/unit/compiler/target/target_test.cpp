#include "compiler/target/target.h"

#include <gtest/gtest.h>

namespace dyn {
namespace {

Target board() {
  Target target;
  target.hasHeap = false;
  target.hasThreads = false;
  target.machine.name = "board";
  target.machine.triple = "aarch64-unknown-linux-gnu";
  target.machine.cpu = "cortex-a72";
  target.machine.l1Bytes = 32768;
  return target;
}

TEST(Target, readsBackTheSame) {
  const std::string text = printTarget(board());
  const auto parsed = parseTarget(text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  EXPECT_EQ(*parsed, board());
  EXPECT_EQ(printTarget(*parsed), text);
}

TEST(Target, levelsReadBackTheSame) {
  Target target = board();
  target.levels = {"x86-64-v3", "x86-64-v4"};
  const std::string text = printTarget(target);
  EXPECT_NE(text.find("levels = x86-64-v3, x86-64-v4\n"), std::string::npos) << text;
  const auto parsed = parseTarget(text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  EXPECT_EQ(*parsed, target);
}

TEST(Target, aMachineAloneIsOneWithEverything) {
  const auto parsed = parseTarget(printMachine(board().machine));
  ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
  EXPECT_EQ(parsed->machine, board().machine);
  EXPECT_TRUE(parsed->hasHeap && parsed->hasThreads && parsed->hasFiles);
}

TEST(Target, faultsNameTheirLine) {
  const std::string start =
      "dyn-target 1\n# a board\nmachine.triple = aarch64-unknown-linux-gnu\nmachine.cpu = cortex-a72\n";
  ASSERT_TRUE(parseTarget(start).ok());
  for (const char* bad : {"heap = maybe", "heap", "colour = red", "device = abacus", "objectFormat = tar",
                          "machine.vectorBits = 100", "machine.colour = red"}) {
    const auto parsed = parseTarget(start + bad + "\n", "b.target");
    ASSERT_FALSE(parsed.ok()) << bad;
    EXPECT_EQ(parsed.error().id, DiagnosticId::fileFormat) << bad;
    EXPECT_EQ(parsed.error().place.file, "b.target") << bad;
    EXPECT_EQ(parsed.error().place.line, 5u) << bad;
  }
}

TEST(Target, whatIsNoneIsRefused) {
  for (const char* text :
       {"", "\n", "dyn-target 2\n", "dyn-target 1\n", "dyn-target 1\nheap = no\n", "machine.cpu = haswell\n"})
    EXPECT_FALSE(parseTarget(text, "t").ok()) << text;
}

}  // namespace
}  // namespace dyn
