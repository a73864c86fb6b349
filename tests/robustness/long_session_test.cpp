// A session lives long: after thousands of commands the next one allocates what the first did, and leaves as
// little behind. Counted in allocations and live bytes, which depend neither on the machine nor on who else
// uses it.
#include <gtest/gtest.h>

#include <functional>

#include "tests/robustness/allocation_hook.h"
#include "tests/robustness/shell.h"
#include "tests/robustness/worker.h"

namespace dyn::robustness {
namespace {

constexpr const char* kModel = R"(fn @squared(%a: Tensor[(k), f32]) -> (Tensor[(k), f32]) {
  %b = mul(%a, %a)
  return %b
}
fn @main(%x: Tensor[(n, 4), f32], %w: Tensor[(4, m), f32], %z: Tensor[(p), f32]) {
  %h = matmul(%x, %w)
  %s = softmax(%h) {axis = 1}
  %k = nonzero(%h)
  %c = concat(%z, %z) {axis = 0}
  %r = reshape(%c, [2, -1])
  %d = add(%z, %z)
  return %s, %k, %r, %d
})";

// What somebody does again and again; `line(i)` is the i-th command.
struct Habit {
  const char* name;
  int period = 2'000;  // commands that are compared; questions start afresh after every 200
  int rounds = 8;      // periods between the first and the last that is measured
  std::function<std::string(int)> line;
  bool fails = false;
};

std::string number(int i) { return std::to_string(i); }

std::vector<Habit> habits() {
  return {
      {"run", 2'000, 8, [](int i) { return ":run --dim n=" + number(i % 40) + " --dim m=3 --dim p=2"; }},
      {"runOfAnySize", 997, 8,
       [](int i) { return ":run --dim n=" + number(i % 997) + " --dim m=" + number(i % 7) + " --dim p=1"; }},
      {"runThatBinds", 2'000, 2,
       [](int) { return std::string(":run --dim n=2 --dim m=3 --dim p=2 --bind"); }},
      {"profile", 500, 2, [](int) { return std::string(":profile --dim n=2 --dim m=3 --dim p=2"); }},
      {"why", 2'000, 8, [](int i) { return std::string(i % 2 ? ":why s.0" : ":why r.1"); }},
      {"whyOfNewExpressions", 2'000, 2,
       [](int i) { return ":why " + number(i % 5 + 1) + "*n+" + number(i); }},
      {"whyEqual", 400, 2, [](int i) { return ":why 2*n+" + number(i) + " m"; }},
      {"bindAgain", 200, 2, [](int i) { return "x = [1.0, " + number(i) + ".0]"; }},
      {"bindAndDrop", 200, 2,
       [](int i) { return i % 2 ? ":drop x" + number(i - 1) : "x" + number(i) + " = [1.0, 2.0]"; }},
      {"expression", 100, 2, [](int i) { return "[1.0, 2.0] + " + number(i) + ".0"; }},
      {"expressionOfAFunction", 200, 1, [](int i) { return "@squared([1.0, " + number(i) + ".0])"; }},
      {"type", 2'000, 2, [](int i) { return ":type @squared([1.0, " + number(i) + ".0])"; }},
      {"unknownValue", 2'000, 4, [](int i) { return "relu(y" + number(i) + ")"; }, true},
      {"unknownInput", 2'000, 8, [](int i) { return ":run --input q" + number(i) + "=ones"; }, true},
      {"setAndUndo", 2'000, 8, [](int i) { return i % 2 ? ":undo" : ":set seed " + number(i); }},
      {"setting", 2'000, 8, [](int i) { return ":set seed " + number(i); }},
      {"views", 1'000, 2,
       [](int i) {
         const char* lines[] = {":info", ":dims",    ":graph",   ":passes",
                                ":vars", ":history", ":ir fuse", ":set"};
         return std::string(lines[i % 8]);
       }},
      {"plan", 500, 2, [](int i) { return ":plan --dim n=" + number(i) + " --dim m=3 --dim p=2"; }},
      {"kernels", 500, 2, [](int i) { return ":kernels --dim n=" + number(i) + " --dim m=3 --dim p=2"; }},
      {"reload", 500, 2, [](int) { return std::string(":reload"); }},
      {"reloadAndRun", 20, 1,
       [](int i) { return std::string(i % 2 ? ":run --dim n=2 --dim m=2 --dim p=2" : ":reload"); }},
  };
}

void PrintTo(const Habit& habit, std::ostream* out) { *out << habit.name; }

class LongSession : public testing::TestWithParam<Habit> {
 protected:
  // False where the build lacks what the habit needs.
  bool begin() {
    shell_.load("m.dyn", kModel);
    return said(*shell_.line(":run --dim n=1 --dim m=1 --dim p=1")).rfind("E0502", 0) != 0;
  }
  AllocationCount period(const Habit& habit, int commands) {
    const AllocationCount before = allocationsOfAllThreads();
    for (int i = 0; i < commands; ++i, ++count_) {
      const std::string text = said(*shell_.line(habit.line(count_)));
      if (text.empty() == habit.fails) ADD_FAILURE() << habit.line(count_) << ": " << text;
    }
    const AllocationCount after = allocationsOfAllThreads();
    return {after.count - before.count, after.bytes - before.bytes};
  }
  Shell shell_{0};
  int count_ = 0;
};

TEST_P(LongSession, IsTheSameAfterManyCommands) {
  const Habit& habit = GetParam();
  if (!begin()) GTEST_SKIP() << "this build runs no programs";
  if (!kMeasures) {
    (void)period(habit, habit.period / 20);
    return;
  }
  (void)period(habit, habit.period);  // what is kept for good is there now
  const AllocationCount first = period(habit, habit.period);
  const int64_t live = liveBytes();
  for (int i = 0; i + 1 < habit.rounds; ++i) (void)period(habit, habit.period);
  const AllocationCount last = period(habit, habit.period);
  const double grown = static_cast<double>(liveBytes() - live);
  EXPECT_LE(static_cast<double>(last.count), 1.1 * static_cast<double>(first.count)) << "allocations";
  EXPECT_LE(static_cast<double>(last.bytes), 1.1 * static_cast<double>(first.bytes)) << "allocated bytes";
  // The journal keeps the lines themselves, up to its limit. What the compiler's threads have in hand when
  // the bytes are counted differs by some kilobytes from one time to the next.
  constexpr double kInHand = 32 << 10;
  EXPECT_LE((grown - kInHand) / (habit.period * habit.rounds), 100) << "bytes left behind by each command";
}

INSTANTIATE_TEST_SUITE_P(Habits, LongSession, testing::ValuesIn(habits()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(LongSession, UndoForgetsWhatKeepsMuchAlive) {
  Shell shell(0);
  shell.load("m.dyn", kModel);
  if (!said(*shell.line(":run --dim n=1 --dim m=1 --dim p=1")).empty()) GTEST_SKIP();
  // A megabyte each: 256 of the former values are remembered, and no more.
  const int64_t live = liveBytes();
  for (int i = 0; i < 60; ++i) ASSERT_EQ(said(*shell.line("x = zeros(f32, [1024, 1024, 2])")), "");
  EXPECT_LE(liveBytes() - live, 300 << 20);
  int undone = 0;
  while (said(*shell.line(":undo")).empty()) ++undone;
  EXPECT_GE(undone, 20);
  EXPECT_LE(undone, 40);
  ASSERT_EQ(said(*shell.line("x")), "");

  for (int i = 0; i < 30; ++i) shell.load("m.dyn", kModel);
  for (undone = 0; said(*shell.line(":undo")).empty();) ++undone;
  EXPECT_EQ(undone, 4) << "models that are kept for :undo";
}

}  // namespace
}  // namespace dyn::robustness
