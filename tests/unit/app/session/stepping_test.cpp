// Levels that belong together line by line, and runs that are stepped through.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "app/engine/run/run_result.h"
#include "app/session/graph/level_links.h"
#include "app/session/graph/line_groups.h"
#include "app/session/session.h"
#include "app/session/views/code_views.h"
#include "app/session/views/pass_views.h"
#include "app/session/views/stop_views.h"
#include "app/session/views/value_views.h"
#include "app/session/views/view_text.h"
#include "tests/support/paths.h"
#include "tests/support/temporary_folder.h"

namespace dyn {
namespace {

using testing::HasSubstr;

class SteppingTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string file = folder_ / "stepping.dyn";
    std::ofstream(file) << R"(fn @main(%x: Tensor[(n, m), f32], %w: Tensor[(m, 3), f32]) {
  %h = relu(%x)
  %s = matmul(%h, %w)
  %y = softmax(%s, axis = -1)
  %z = tanh(%x)
  return %y, %z
}
)";
    ASSERT_TRUE(session_.execute(*parseCommand(":load " + file))->ok());
  }
  std::shared_ptr<const Outcome> say(const std::string& line) {
    return session_.execute(*parseCommand(line));
  }
  Shared<IrText> text(const char* level) {
    auto outcome = say(std::string(":ir --linked --level ") + level);
    EXPECT_TRUE(outcome->ok()) << outcome->error->message;
    return outcome->share<IrText>();
  }
  static std::vector<std::string> linesOfText(const std::string& text) {
    std::vector<std::string> lines;
    size_t begin = 0;
    while (begin < text.size()) {
      const size_t end = text.find('\n', begin);
      lines.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    return lines;
  }
  static uint32_t lineWith(const IrText& text, const char* what) {
    const std::vector<std::string> lines = linesOfText(text.text);
    for (size_t i = 0; i < lines.size(); ++i)
      if (lines[i].find(what) != std::string::npos) return static_cast<uint32_t>(i) + 1;
    return 0;
  }
  test::TemporaryFolder folder_;  // of this process: tests run beside each other
  Session session_;
};

TEST_F(SteppingTest, anOperationLeadsToItsKernelAndBack) {
  const auto graph = text("graph"), bytecode = text("bytecode"), loops = text("loop");
  const uint32_t softmax = lineWith(*graph, "softmax(");
  ASSERT_GT(softmax, 0u);
  const auto launches = linesOf(*graph, softmax, *bytecode);
  ASSERT_FALSE(launches.empty());
  const std::vector<std::string> code = linesOfText(bytecode->text);
  EXPECT_TRUE(std::any_of(launches.begin(), launches.end(), [&](uint32_t line) {
    return code[line - 1].find("launch k") != std::string::npos;
  }));
  const auto loop = linesOf(*graph, softmax, *loops);
  ASSERT_FALSE(loop.empty());
  EXPECT_THAT(linesOfText(loops->text)[loop.front() - 1], HasSubstr("kernel @"));
  const auto back = linesOf(*loops, loop.front(), *graph);
  EXPECT_NE(std::find(back.begin(), back.end(), softmax), back.end());
}

// Each line of machine code that has one names a statement of its own kernel's loops.
TEST_F(SteppingTest, theCodeOfAKernelMeetsItsLoops) {
  const auto loops = text("loop"), llvm = text("llvm"), assembly = text("asm");
  const std::vector<std::string> lines = linesOfText(loops->text);
  const uint32_t store = lineWith(*loops, "] = ");
  ASSERT_GT(store, 0u);
  const auto inLlvm = linesOf(*loops, store, *llvm);
  const auto inAssembly = linesOf(*loops, store, *assembly);
  ASSERT_FALSE(inLlvm.empty());
  ASSERT_FALSE(inAssembly.empty());
  const std::vector<std::string> code = linesOfText(llvm->text);
  EXPECT_TRUE(std::any_of(inLlvm.begin(), inLlvm.end(), [&](uint32_t line) {
    return code[line - 1].find("store") != std::string::npos;
  })) << "the line of a store has its store";
  EXPECT_EQ(linesOf(*llvm, inLlvm.front(), *loops), std::vector<uint32_t>{store});
  EXPECT_THAT(llvm->text, testing::Not(HasSubstr("DILocation"))) << "the text is that of the code that runs";
  // Behind the code of the kernels stand cards of hand-written ones.
  const auto begins = [](const std::string& text, const std::string& with) {
    return text.rfind(with, 0) == 0;
  };
  EXPECT_TRUE(begins(llvm->text, say(":llvm")->share<IrText>()->text));
  EXPECT_TRUE(begins(assembly->text, say(":asm")->share<IrText>()->text));
  EXPECT_TRUE(begins(loops->text, say(":ir --level loop")->share<IrText>()->text));
}

// What belongs together has one number, in both texts and nowhere else.
TEST_F(SteppingTest, linesOfTwoLevelsMakeGroups) {
  const auto graph = text("graph"), loops = text("loop"), assembly = text("asm"), bytecode = text("bytecode");
  const auto groupsOf = [](const std::vector<const IrText*>& texts) { return lineGroups(texts); };
  const LineGroups kernels = groupsOf({graph.get(), assembly.get()});
  const uint32_t softmax = lineWith(*graph, "softmax("), tanh = lineWith(*graph, "tanh(");
  EXPECT_GE(kernels.count, 2);
  EXPECT_GE(kernels.texts[0][softmax - 1], 0);
  EXPECT_NE(kernels.texts[0][softmax - 1], kernels.texts[0][tanh - 1]);
  for (const uint32_t line : linesOf(*graph, tanh, *assembly))
    EXPECT_EQ(kernels.texts[1][line - 1], kernels.texts[0][tanh - 1]) << "line " << line;
  const LineGroups statements = groupsOf({loops.get(), assembly.get()});
  EXPECT_GT(statements.count, kernels.count) << "loops and code meet statement by statement";
  const uint32_t store = lineWith(*loops, "] = ");
  ASSERT_GE(statements.texts[0][store - 1], 0);
  for (const uint32_t line : linesOf(*loops, store, *assembly))
    EXPECT_EQ(statements.texts[1][line - 1], statements.texts[0][store - 1]);
  const LineGroups operations = groupsOf({graph.get(), bytecode.get()});
  // Of three texts an operation has one number in all.
  const LineGroups three = groupsOf({graph.get(), loops.get(), assembly.get()});
  for (const uint32_t line : linesOf(*graph, tanh, *loops))
    EXPECT_EQ(three.texts[1][line - 1], three.texts[0][tanh - 1]) << "line " << line;
  for (const uint32_t line : linesOf(*graph, tanh, *assembly))
    EXPECT_EQ(three.texts[2][line - 1], three.texts[0][tanh - 1]) << "line " << line;
  for (const LineGroups* groups : {&kernels, &statements, &operations, &three})
    for (int group = 0; group < groups->count; ++group) {
      size_t texts = 0;
      for (const std::vector<int>& lines : groups->texts)
        texts += std::count(lines.begin(), lines.end(), group) > 0;
      EXPECT_GE(texts, 2u) << group;
    }
  const IrText none;
  EXPECT_EQ(groupsOf({graph.get(), &none}).count, 0);
  EXPECT_EQ(groupsOf({graph.get()}).count, 0);
}

TEST_F(SteppingTest, anOperationHasLinesAtEachLevel) {
  const auto graph = text("graph");
  const LineOrigin* tanh = originOf(*graph, lineWith(*graph, "tanh("));
  ASSERT_NE(tanh, nullptr);
  for (const char* level : {"graph", "loop", "llvm", "asm", "bytecode"}) {
    const auto other = text(level);
    EXPECT_FALSE(linesOfPlace(*other, tanh->places.front()).empty()) << level;
    EXPECT_TRUE(linesOfPlace(*other, "nowhere").empty()) << level;
  }
  const auto assembly = text("asm");
  ASSERT_EQ(tanh->kernels.size(), 1u);
  EXPECT_THAT(assembly->kernelPlaces.at(static_cast<size_t>(tanh->kernels[0])),
              testing::Contains(tanh->places.front()));
}

TEST_F(SteppingTest, linesAnswersForAllLevels) {
  auto outcome = say(":lines bytecode " + std::to_string(lineWith(*text("bytecode"), "launch k")));
  ASSERT_TRUE(outcome->ok()) << outcome->error->message;
  const auto* view = outcome->as<LinkedLines>();
  ASSERT_EQ(view->levels.size(), 6u);
  for (const LinkedLines::Level& level : view->levels)
    EXPECT_FALSE(level.lines.empty()) << toString(level.level);
  EXPECT_FALSE(say(":lines bytecode 100000")->ok());
  EXPECT_FALSE(say(":lines nothing 1")->ok());
}

TEST_F(SteppingTest, stepsStopsAndEnds) {
  EXPECT_FALSE(say(":next")->ok()) << "no run is stopped";
  auto outcome = say(":start --dim n=2 --dim m=5");
  ASSERT_TRUE(outcome->ok()) << outcome->error->message;
  const auto* stop = outcome->as<StopView>();
  EXPECT_EQ(stop->why, "start");
  EXPECT_EQ(stop->position, 0u);
  EXPECT_GT(stop->line, 0u);
  outcome = say(":stepi 2");
  const uint32_t after = outcome->as<StopView>()->position;
  EXPECT_GT(after, 0u);
  outcome = say(":next");
  ASSERT_TRUE(outcome->ok()) << outcome->error->message;
  EXPECT_EQ(outcome->as<StopView>()->why, "step");
  EXPECT_GT(outcome->as<StopView>()->position, after);
  ASSERT_TRUE(say(":break softmax")->ok() == false) << "an operator is not an operation";
  ASSERT_TRUE(say(":break y")->ok());
  outcome = say(":continue");
  ASSERT_TRUE(outcome->ok()) << outcome->error->message;
  stop = outcome->as<StopView>();
  EXPECT_EQ(stop->why, "breakpoint 1");
  const auto has = [&](const char* name, const char* value, const char* dims) {
    return std::any_of(stop->registers.begin(), stop->registers.end(), [&](const StopView::Register& held) {
      return held.name.rfind(name, 0) == 0 && held.value.find(value) != std::string::npos &&
             held.dims == dims;
    });
  };
  EXPECT_TRUE(has("r", "2", "n"));
  EXPECT_TRUE(has("r", "5", "m"));
  EXPECT_TRUE(std::any_of(stop->registers.begin(), stop->registers.end(), [](const StopView::Register& held) {
    return held.type == "Tensor[(2, 5), f32]" && !held.value.empty();
  }));
  const BreakpointTable::Row point = say(":break")->as<BreakpointTable>()->rows.at(0);
  EXPECT_EQ(point.hits, 1);
  EXPECT_THAT(point.lines, testing::Contains(stop->line));
  outcome = say(":step");
  ASSERT_NE(outcome->as<StopView>(), nullptr) << ":step steps the run that is stopped";
  ASSERT_TRUE(say(":delete")->ok());
  outcome = say(":continue");
  ASSERT_TRUE(outcome->ok()) << outcome->error->message;
  stop = outcome->as<StopView>();
  EXPECT_TRUE(stop->ended);
  ASSERT_NE(stop->result, nullptr);
  ASSERT_EQ(stop->result->outputs.size(), 2u);
  EXPECT_EQ(stop->result->outputs[0].type, "Tensor[(2, 3), f32]");
  EXPECT_NE(say(":step")->as<DiffView>(), nullptr) << "and the compilation where none is";
}

TEST_F(SteppingTest, breakpointsStandAtLinesOfTheSource) {
  ASSERT_TRUE(say(":start --dim n=2 --dim m=5")->ok());
  ASSERT_TRUE(say(":break stepping.dyn:4")->ok());
  EXPECT_THAT(say(":break")->as<BreakpointTable>()->rows.at(0).where, HasSubstr("stepping.dyn:4"));
  const auto outcome = say(":continue");
  ASSERT_TRUE(outcome->ok()) << outcome->error->message;
  EXPECT_EQ(outcome->as<StopView>()->why, "breakpoint 1");
  EXPECT_THAT(outcome->as<StopView>()->place, HasSubstr("stepping.dyn:4"));
  // What has no instructions stands for the next line that has some.
  EXPECT_TRUE(say(":break stepping.dyn:1")->ok());
  EXPECT_THAT(say(":break stepping.dyn:99")->error->message, HasSubstr("no instructions from line 99 on"));
  EXPECT_THAT(say(":break other.dyn:3")->error->message, HasSubstr("no function 'other.dyn', and no file"));
  EXPECT_THAT(say(":break main:100000")->error->message, HasSubstr("no instruction begins at word 100000"));
}

// A stop is told in words of the source, and its values have their names at the prompt.
TEST_F(SteppingTest, valuesOfAStopHaveTheirNames) {
  ASSERT_TRUE(say(":start --dim n=2 --dim m=5 --input x=ones --input w=ones")->ok());
  ASSERT_TRUE(say(":break y")->ok());
  const auto outcome = say(":continue");
  ASSERT_TRUE(outcome->ok()) << outcome->error->message;
  const auto* stop = outcome->as<StopView>();
  std::set<std::string> names;
  for (const StopView::Register& held : stop->registers)
    if (held.changed && !held.holds.empty()) names.insert(held.holds);
  EXPECT_TRUE(names.count("x") == 0) << "it was there before";
  EXPECT_TRUE(names.count("s") == 1);
  const auto here = std::find_if(stop->source.begin(), stop->source.end(),
                                 [](const StopView::SourceLine& line) { return line.here; });
  ASSERT_NE(here, stop->source.end());
  EXPECT_THAT(here->text, HasSubstr("%y = softmax"));
  const auto value = say("s + 1.0");
  ASSERT_TRUE(value->ok()) << value->error->message;
  EXPECT_THAT(toText(value->view, {}), HasSubstr("[[6., 6., 6.]"));
  // What was taken of it stays when the run goes on.
  ASSERT_TRUE(say("kept = s * 2.0")->ok());
  ASSERT_TRUE(say(":continue")->as<StopView>()->ended);
  EXPECT_THAT(toText(say("kept")->view, {}), HasSubstr("[[10., 10., 10.]"));
  EXPECT_FALSE(say("s + 1.0")->ok());
}

// What is computed step by step is what a run computes.
TEST_F(SteppingTest, theResultIsThatOfARun) {
  const auto run = say(":run --dim n=3 --dim m=4")->share<RunResult>();
  ASSERT_NE(run, nullptr);
  ASSERT_TRUE(say(":start --dim n=3 --dim m=4")->ok());
  std::shared_ptr<const Outcome> outcome;
  for (int steps = 0; steps < 1000; ++steps) {
    outcome = say(":stepi");
    ASSERT_TRUE(outcome->ok());
    if (outcome->as<StopView>()->ended) break;
  }
  const auto stepped = outcome->as<StopView>()->result;
  ASSERT_NE(stepped, nullptr);
  TextOptions all;
  all.full = true;
  all.precision = 9;
  for (size_t i = 0; i < 2; ++i)
    EXPECT_EQ(toText(stepped->outputs[i].value, "", all), toText(run->outputs[i].value, "", all));
}

TEST_F(SteppingTest, watchedRegistersStop) {
  ASSERT_TRUE(say(":start --dim n=7 --dim m=5")->ok());
  EXPECT_FALSE(say(":watch nothing")->ok());
  ASSERT_TRUE(say(":watch n")->ok());
  const auto outcome = say(":continue");
  ASSERT_TRUE(outcome->ok());
  EXPECT_EQ(outcome->as<StopView>()->why, "n changed from 0 to 7");
  EXPECT_TRUE(say(":kill")->ok());
  EXPECT_FALSE(say(":registers")->ok());
}

TEST_F(SteppingTest, registersAreLookedAtAsTensors) {
  EXPECT_FALSE(say(":tensor $v0")->ok()) << "no run is stopped";
  ASSERT_TRUE(say(":start --dim n=2 --dim m=5")->ok());
  ASSERT_TRUE(say(":break y")->ok());
  auto outcome = say(":continue");
  ASSERT_TRUE(outcome->ok());
  std::string name;
  for (const StopView::Register& held : outcome->as<StopView>()->registers)
    if (held.type == "Tensor[(2, 5), f32]") name = held.name;
  ASSERT_FALSE(name.empty());
  outcome = say(":tensor $" + name);
  ASSERT_TRUE(outcome->ok()) << outcome->error->message;
  EXPECT_EQ(outcome->as<TensorView>()->shape, (std::vector<int64_t>{2, 5}));
  EXPECT_FALSE(say(":tensor $v9999")->ok());
  EXPECT_FALSE(say(":tensor $r0")->ok());
}

// Breakpoints are where they are in the program that is there now.
TEST_F(SteppingTest, breakpointsMoveWithTheProgram) {
  ASSERT_TRUE(say(":break tanh_is_gone")->ok() == false);
  ASSERT_TRUE(say(":break z")->ok());
  const std::string file = folder_ / "other.dyn";
  std::ofstream(file)
      << "fn @main(%x: Tensor[(n, m), f32]) {\n  %a = exp(%x)\n  %b = softmax(%a, axis = -1)\n"
         "  %z = tanh(%b)\n  return %z\n}\n";
  ASSERT_TRUE(say(":load " + file)->ok());
  ASSERT_TRUE(say(":start --dim n=2 --dim m=2")->ok());
  const auto outcome = say(":continue");
  ASSERT_TRUE(outcome->ok());
  EXPECT_EQ(outcome->as<StopView>()->why, "breakpoint 1");
  std::ofstream(file) << "fn @main(%x: Tensor[(n, m), f32]) {\n  return relu(%x)\n}\n";
  ASSERT_TRUE(say(":load " + file)->ok());
  ASSERT_TRUE(say(":start --dim n=2 --dim m=2")->ok());
  EXPECT_TRUE(say(":break")->as<BreakpointTable>()->rows.empty()) << "z is no more";
}

TEST_F(SteppingTest, faultsAndOtherModelsEndARun) {
  ASSERT_TRUE(say(":start --dim n=2 --dim m=2")->ok());
  ASSERT_TRUE(say(":reload")->ok());
  EXPECT_FALSE(say(":next")->ok());
  ASSERT_TRUE(say(":start --dim n=2 --dim m=2")->ok());  // and the session may go while one stands
}

TEST_F(SteppingTest, textsAreWrittenToFiles) {
  const std::string file = folder_ / "level.txt";
  ASSERT_TRUE(say(":bytecode -o " + file)->ok());
  std::ifstream in(file);
  const std::string written((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  EXPECT_EQ(written, say(":bytecode")->share<IrText>()->text);
}

}  // namespace
}  // namespace dyn
