#include "app/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "app/engine/model/model_info.h"
#include "app/engine/run/run_result.h"
#include "app/session/views/code_views.h"
#include "app/session/views/graph_views.h"
#include "app/session/views/memory_views.h"
#include "app/session/views/node_id.h"
#include "app/session/views/shell_views.h"
#include "app/session/views/value_views.h"
#include "tests/support/sample_modules.h"
#include "tests/support/session_fixture.h"

namespace dyn {
namespace {

using testing::HasSubstr;

constexpr const char* kMlp =
    R"(fn @main(%x: Tensor[(n, 4), f32], %w: Tensor[(4, 2), f32]) -> (Tensor[(n, 2), f32]) {
  %h = relu(%x)
  %y = matmul(%h, %w)
  return %y
}
)";

class SessionTest : public test::SessionFixture {
 protected:
  std::string file(const std::string& name, const std::string& text) { return folder_.write(name, text); }
};

TEST_F(SessionTest, LoadsAndDescribes) {
  auto outcome = line(":load " + file("mlp.dyn", kMlp));
  ASSERT_TRUE(outcome->ok()) << outcome->error->message;
  const ModelInfo* info = outcome->as<ModelInfo>();
  ASSERT_NE(info, nullptr);
  ASSERT_EQ(info->inputs.size(), 2u);
  EXPECT_EQ(info->inputs[0].shape, (std::vector<std::string>{"n", "4"}));
  EXPECT_EQ(info->symbols, std::vector<std::string>{"n"});
  EXPECT_EQ(info->opsCount, 2);
}

TEST_F(SessionTest, EveryCommandAnswersWithoutAModel) {
  for (const CommandSpec& spec : commandTable()) {
    Command command = Command::of(spec.id);
    for (const ArgumentSpec& a : spec.arguments)
      if (a.required) command.add(a.name, "nothing");
    auto outcome = session_.execute(command);
    SCOPED_TRACE(std::string(spec.name));
    if (outcome->error) {
      EXPECT_NE(exitCode(outcome->error->id), 70) << outcome->error->message;
      EXPECT_FALSE(outcome->error->message.empty());
    }
  }
}

TEST_F(SessionTest, AFormerNameOfASettingIsAccepted) {
  auto outcome = line(":set flow interpret");
  ASSERT_TRUE(outcome->ok()) << outcome->error->message;
  const SettingTable* one = outcome->as<SettingTable>();
  ASSERT_NE(one, nullptr);
  ASSERT_EQ(one->rows.size(), 1u);
  EXPECT_EQ(one->rows[0].name, "host-code");
  EXPECT_EQ(one->rows[0].value, "bytecode");
  EXPECT_FALSE(line(":set host-code machine")->ok());
}

TEST_F(SessionTest, RunsAndKeepsTheProgramForEveryShape) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  ASSERT_TRUE(line(":load " + file("mlp.dyn", kMlp))->ok());
  for (int n : {0, 1, 3, 17}) {
    auto outcome = line(":run --dim n=" + std::to_string(n) + " --input w=ones --input x=range");
    ASSERT_TRUE(outcome->ok()) << outcome->error->message;
    const RunResult* run = outcome->as<RunResult>();
    ASSERT_NE(run, nullptr);
    ASSERT_EQ(run->outputs.size(), 1u);
    const HostTensor& y = run->outputs[0].value.tensor();
    ASSERT_EQ(y.shape(), (std::vector<int64_t>{n, 2}));
    for (int row = 0; row < n; ++row) EXPECT_EQ(y.realAt(row * 2), 16 * row + 6) << "row " << row;
    EXPECT_EQ(run->kernelsCompiledAfterLoadCount, 0);
    EXPECT_EQ(run->dims.at("n"), n);
  }
}

// One kernel of two lookups: whichever fails, in whichever lane, is the one that is named.
TEST_F(SessionTest, AnIndexOutOfRangeIsToldWithItsOperationAndAxis) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  constexpr const char* kLookups =
      R"(fn @main(%words: Tensor[(30, 3), f32], %places: Tensor[(m, 3), f32], %a: Tensor[(n), i64], %b: Tensor[(n), i32]) {
  %one = i64[] 1
  %next = add(%a, %one)
  %word = gather(%words, %next)
  %place = gather(%places, %b)
  %sum = add(%word, %place)
  %y = relu(%sum)
  return %y
}
)";
  ASSERT_TRUE(line(":load " + file("lookups.dyn", kLookups))->ok());
  const auto indexes = [](int n, int at, int64_t value, int64_t others) {
    std::string text = "[";
    for (int i = 0; i < n; ++i) text += (i ? "," : "") + std::to_string(i == at ? value : others);
    return text + "]";
  };
  const auto run = [&](int n, const std::string& a, const std::string& b) {
    return line(":run --dim n=" + std::to_string(n) + " --dim m=12 --input a=" + a + " --input b=" + b);
  };
  for (int n : {1, 7, 16, 37})
    for (int at = 0; at < n; ++at) {
      auto outcome = run(n, indexes(n, at, 40 + at, 28), indexes(n, -1, 0, 11));
      ASSERT_FALSE(outcome->ok()) << n << ", " << at;
      EXPECT_THAT(outcome->error->message,
                  HasSubstr("index " + std::to_string(41 + at) + " is out of range: axis 0 has 30 elements"));
      EXPECT_EQ(outcome->error->place.line, 4u);
      outcome = run(n, indexes(n, -1, 0, 3), indexes(n, at, -13 - at, -12));
      ASSERT_FALSE(outcome->ok()) << n << ", " << at;
      EXPECT_THAT(outcome->error->message,
                  HasSubstr("index " + std::to_string(-13 - at) + " is out of range: axis 0 has m elements"));
      EXPECT_EQ(outcome->error->place.line, 5u);
    }
  EXPECT_THAT(run(2, "[1,99999999999]", "[0,0]")->error->message, HasSubstr("index 8388607 or more is out"));
  EXPECT_THAT(run(2, "[1,-99999999999]", "[0,0]")->error->message,
              HasSubstr("index -8388607 or less is out"));
  EXPECT_TRUE(run(2, "[-31,28]", "[-12,11]")->ok());
}

TEST_F(SessionTest, RandomInputsAreReproducible) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  ASSERT_TRUE(line(":load " + file("mlp.dyn", kMlp))->ok());
  auto first = line(":run --dim n=3"), second = line(":run --dim n=3"),
       other = line(":run --dim n=3 --input x=random:7");
  ASSERT_TRUE(first->ok() && second->ok() && other->ok());
  EXPECT_TRUE(first->as<RunResult>()->outputs[0].value.identical(second->as<RunResult>()->outputs[0].value));
  EXPECT_FALSE(first->as<RunResult>()->outputs[0].value.identical(other->as<RunResult>()->outputs[0].value));
}

TEST_F(SessionTest, SaysWhatIsMissing) {
  ASSERT_TRUE(line(":load " + file("mlp.dyn", kMlp))->ok());
  auto outcome = line(":run");
  ASSERT_FALSE(outcome->ok());
  EXPECT_EQ(outcome->error->id, DiagnosticId::inputMissing);
  EXPECT_THAT(outcome->error->notes.at(0), HasSubstr("--dim n=N"));
  outcome = line(":run --dim m=3");
  EXPECT_EQ(outcome->error->id, DiagnosticId::usageError);
  outcome = line(":run --dim n=2 --input w=[1.0,2.0]");
  EXPECT_EQ(outcome->error->id, DiagnosticId::inputMismatch);
}

TEST_F(SessionTest, ExpressionsBindValues) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  ASSERT_TRUE(line("x = range(f32, [2, 3])")->ok());
  auto outcome = line("y = x * 2.0 + 1.0");
  ASSERT_TRUE(outcome->ok()) << outcome->error->message;
  const EvalResult* result = outcome->as<EvalResult>();
  ASSERT_NE(result, nullptr);
  EXPECT_EQ(result->values[0].name, "y");
  EXPECT_EQ(result->values[0].value.tensor().realAt(5), 11);
  EXPECT_EQ(line(":type y")->as<TypeView>()->type, "Tensor[(2, 3), f32]");
  EXPECT_EQ(line(":vars")->as<VariableTable>()->rows.size(), 2u);
}

TEST_F(SessionTest, AFailedCommandChangesNothing) {
  ASSERT_TRUE(line("x = zeros(f32, [2, 3])")->ok());
  auto outcome = line("x = x @ x");
  ASSERT_FALSE(outcome->ok());
  EXPECT_EQ(outcome->error->id, DiagnosticId::shapeMismatch);
  EXPECT_EQ(outcome->error->notes.at(1).find('^'), 4u + 6u)
      << "the caret stands below the product: " << outcome->error->notes.at(1);
  EXPECT_EQ(line(":type x")->as<TypeView>()->type, "Tensor[(2, 3), f32]");
  EXPECT_FALSE(line(":load " + folder_ / "none.onnx")->ok());
  EXPECT_EQ(line(":vars")->as<VariableTable>()->rows.size(), 1u);
}

TEST_F(SessionTest, UndoGoesBack) {
  ASSERT_TRUE(line("x = zeros(f32, [2])")->ok());
  ASSERT_TRUE(line("x = ones(f32, [3])")->ok());
  ASSERT_TRUE(line(":undo")->ok());
  EXPECT_EQ(line(":type x")->as<TypeView>()->type, "Tensor[(2), f32]");
  ASSERT_TRUE(line(":undo")->ok());
  EXPECT_TRUE(line(":vars")->as<VariableTable>()->rows.empty());
  EXPECT_FALSE(line(":undo")->ok());
}

TEST_F(SessionTest, ViewsAreServedBesideARunAndNothingElseIs) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  ASSERT_TRUE(line(":load " + file("loop.dyn", test::kSineLoop))->ok());
  ASSERT_TRUE(line(":run --dim k=4 --input n=2")->ok());
  const Ticket run =
      session_.submit(Command::of(CommandId::run).add("dim", "k=4").add("input", "n=1000000000000"));
  const Ticket graph = session_.submit(Command::of(CommandId::graph));
  const Ticket text = session_.submit(Command::of(CommandId::ir).add("pass", "infer"));
  const Ticket dims = session_.submit(Command::of(CommandId::dims));
  EXPECT_TRUE(session_.wait(graph)->ok());
  EXPECT_TRUE(session_.wait(text)->ok());
  EXPECT_TRUE(session_.wait(dims)->ok());
  // A setting waits for the run, and what comes behind it waits too.
  const Ticket setting = session_.submit(Command::of(CommandId::set).add("name", "seed").add("value", "3"));
  const Ticket behind = session_.submit(Command::of(CommandId::graph));
  EXPECT_EQ(session_.waitFor(behind, std::chrono::milliseconds(30)), nullptr);
  EXPECT_EQ(session_.waitFor(setting, std::chrono::milliseconds(0)), nullptr);
  EXPECT_EQ(session_.waitFor(run, std::chrono::milliseconds(0)), nullptr) << "it should still run";
  session_.interrupt();
  EXPECT_EQ(session_.wait(run)->error->id, DiagnosticId::cancelled);
  EXPECT_TRUE(line(":graph")->ok());
}

TEST_F(SessionTest, ManyShortRunsAndManyViewsEndTogether) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  ASSERT_TRUE(line(":load " + file("loop.dyn", test::kSineLoop))->ok());
  ASSERT_TRUE(line(":run --dim k=4 --input n=2")->ok());
  std::vector<Ticket> tickets;
  for (int i = 0; i < 20; ++i) {
    tickets.push_back(session_.submit(
        Command::of(CommandId::time).add("count", "200").add("dim", "k=4").add("input", "n=20")));
    for (int k = 0; k < 5; ++k) tickets.push_back(session_.submit(Command::of(CommandId::graph)));
  }
  for (const Ticket ticket : tickets) {
    const auto outcome = session_.wait(ticket);
    EXPECT_TRUE(outcome->ok()) << outcome->error->toString();
  }
}

TEST_F(SessionTest, InterruptEndsARunAndTheSessionGoesOn) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  ASSERT_TRUE(line(":load " + file("loop.dyn", test::kSineLoop))->ok());
  ASSERT_TRUE(line(":run --dim k=4 --input n=2")->ok());  // compiled: what is interrupted is the run
  Command run = Command::of(CommandId::run).add("dim", "k=4").add("input", "n=1000000000000");
  const Ticket ticket = session_.submit(run);
  const Ticket waiting = session_.submit(Command::of(CommandId::vars));
  EXPECT_EQ(session_.waitFor(ticket, std::chrono::milliseconds(30)), nullptr) << "it should still run";
  session_.interrupt();
  auto outcome = session_.wait(ticket);
  ASSERT_FALSE(outcome->ok());
  EXPECT_EQ(outcome->error->id, DiagnosticId::cancelled);
  EXPECT_EQ(session_.wait(waiting)->error->id, DiagnosticId::cancelled) << "what waited is dropped too";
  auto after = line(":run --dim k=4 --input n=2");
  EXPECT_TRUE(after->ok()) << after->error->message;
}

// What a profiled run does is told while it goes on: the loop's body is the one launch, again and again.
TEST_F(SessionTest, AProfiledRunSaysHowFarItIs) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<LiveRun> told;
  session_.setListener([&](const Event& event) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (event.live) told.push_back(*event.live);
    changed.notify_all();
  });
  ASSERT_TRUE(line(":load " + file("loop.dyn", test::kSineLoop))->ok());
  const Ticket ticket = session_.submit(
      Command::of(CommandId::run).add("profile", "").add("dim", "k=4").add("input", "n=1000000000000"));
  {
    std::unique_lock<std::mutex> lock(mutex);
    ASSERT_TRUE(changed.wait_for(lock, std::chrono::minutes(2), [&] { return told.size() >= 3; }));
  }
  session_.interrupt();
  EXPECT_EQ(session_.wait(ticket)->error->id, DiagnosticId::cancelled);
  const std::lock_guard<std::mutex> lock(mutex);
  const LiveRun &first = told.front(), &last = told.back();
  EXPECT_EQ(last.runsCount, 1);
  EXPECT_EQ(last.runsDone, 0);
  EXPECT_GE(last.operationsDone, 1);
  EXPECT_LE(last.operationsDone, last.operationsCount);
  ASSERT_EQ(last.times.size(), 1u);
  EXPECT_NE(last.times[0].place.find("loop.dyn:"), std::string::npos) << last.times[0].place;
  EXPECT_EQ(last.place, last.times[0].place);
  EXPECT_GT(last.times[0].totalNs, first.times.empty() ? 0 : first.times[0].totalNs);
  int64_t most = 0;
  for (const LiveRun& run : told) most = std::max(most, run.timesHere);
  EXPECT_GT(most, 1) << "the loop goes round";
}

TEST_F(SessionTest, ManyThreadsMaySubmit) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const std::string name = "v" + std::to_string(t);
        auto outcome = session_.execute(
            Command::of(CommandId::eval).add("rest", name + " = zeros(f32, [" + std::to_string(i) + "])"));
        if (!outcome->ok()) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(line(":vars")->as<VariableTable>()->rows.size(), 4u);
  EXPECT_EQ(session_.journal().size(), 81u);
}

TEST_F(SessionTest, EventsComeInOrder) {
  std::mutex mutex;
  std::vector<EventKind> kinds;
  session_.setListener([&](const Event& event) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (event.kind != EventKind::progress) kinds.push_back(event.kind);
  });
  ASSERT_TRUE(line(":load " + file("mlp.dyn", kMlp))->ok());
  const std::lock_guard<std::mutex> lock(mutex);
  EXPECT_EQ(kinds, (std::vector<EventKind>{EventKind::started, EventKind::model, EventKind::finished}));
}

TEST_F(SessionTest, TheJournalReplaysToTheSame) {
  ASSERT_TRUE(line("x = range(f32, [4])")->ok());
  ASSERT_TRUE(line(":set seed 5")->ok());
  ASSERT_TRUE(line("y = random(f32, [3])")->ok());
  Session again{SessionOptions{.threadCount = 1}};
  for (const std::string& text : session_.journal()) {
    Result<Command> command = parseCommand(text);
    ASSERT_TRUE(command.ok()) << text;
    ASSERT_TRUE(again.execute(*command)->ok()) << text;
  }
  const Command y = Command::of(CommandId::eval).add("rest", "y");
  EXPECT_TRUE(again.execute(y)->as<EvalResult>()->values[0].value.identical(
      session_.execute(y)->as<EvalResult>()->values[0].value));
}

TEST_F(SessionTest, NodesKeepTheirIdsThroughThePasses) {
  ASSERT_TRUE(line(":load " + file("mlp.dyn", kMlp))->ok());
  auto before = line(":graph infer"), after = line(":graph plan");
  ASSERT_TRUE(before->ok() && after->ok());
  const GraphView *first = before->as<GraphView>(), *last = after->as<GraphView>();
  std::map<std::string, NodeId> ids;
  for (const GraphNode& node : first->nodes)
    if (node.kind == NodeKind::operation) ids[node.name] = node.id;
  ASSERT_EQ(ids.size(), 2u);
  size_t kept = 0;
  std::set<NodeId> unique;
  for (const GraphNode& node : last->nodes) {
    EXPECT_TRUE(unique.insert(node.id).second) << node.text;
    if (node.op == "into" && ids.count(node.name) && ids[node.name] == node.id) ++kept;
  }
  EXPECT_EQ(kept, 2u) << "the kernels are the nodes they came from";
  for (const GraphEdge& edge : last->edges)
    EXPECT_TRUE(unique.count(edge.from) && unique.count(edge.to)) << edge.name;
}

TEST_F(SessionTest, TextLinesLeadToNodes) {
  ASSERT_TRUE(line(":load " + file("mlp.dyn", kMlp))->ok());
  auto outcome = line(":ir infer");
  const IrText* text = outcome->as<IrText>();
  ASSERT_NE(text, nullptr);
  ASSERT_EQ(text->lines.size(), 2u);
  EXPECT_EQ(text->lines[0].line, 2u);
  auto graph = line(":graph infer");
  EXPECT_EQ(text->lines[0].node, graph->as<GraphView>()->nodes[2].id);
}

TEST_F(SessionTest, ThePlanIsAnExpressionAndANumber) {
  ASSERT_TRUE(line(":load " + file("mlp.dyn", kMlp))->ok());
  auto open = line(":plan"), closed = line(":plan --dim n=100"), fitted = line(":limit 1MB");
  ASSERT_TRUE(open->ok() && closed->ok() && fitted->ok());
  EXPECT_FALSE(open->as<PlanView>()->predictedPeakBytes.has_value());
  ASSERT_TRUE(closed->as<PlanView>()->predictedPeakBytes.has_value());
  const int64_t largest = fitted->as<LimitView>()->rows.at(0).largest.value_or(0);
  auto at = [&](int64_t n) {
    return line(":plan --dim n=" + std::to_string(n))->as<PlanView>()->predictedPeakBytes.value_or(-1);
  };
  EXPECT_LE(at(largest), 1 << 20);
  EXPECT_GT(at(largest + 1), 1 << 20);
}

TEST_F(SessionTest, CompletesByTheKindOfTheArgument) {
  ASSERT_TRUE(line(":load " + file("mlp.dyn", kMlp))->ok());
  ASSERT_TRUE(line("apple = zeros(f32, [1])")->ok());
  auto candidates = [&](const std::string& text) { return session_.complete(text, text.size()).candidates; };
  EXPECT_EQ(candidates(":pas"), std::vector<std::string>{":passes"});
  EXPECT_THAT(candidates(":run --dim "), testing::ElementsAre("n="));
  EXPECT_THAT(candidates(":run --rep"), testing::ElementsAre("--repeat"));
  EXPECT_THAT(candidates(":ir fus"), testing::ElementsAre("fuse"));
  EXPECT_THAT(candidates(":why x"), testing::ElementsAre("x.0", "x.1"));
  EXPECT_THAT(candidates(":drop "), testing::ElementsAre("apple"));
  EXPECT_THAT(candidates("y = relu(appl"), testing::ElementsAre("apple"));
  EXPECT_THAT(candidates(":explain E020"), testing::Contains("E0203"));
  EXPECT_THAT(candidates(":load " + folder_ / "ml"), testing::ElementsAre(folder_ / "mlp.dyn"));
}

TEST_F(SessionTest, ScriptsStopAtTheFirstErrorWithItsPlace) {
  const std::string script = file("s.dyns", "x = zeros(f32, [2])\n\n:drop nothing\ny = zeros(f32, [1])\n");
  auto outcome = line(":source " + script);
  ASSERT_FALSE(outcome->ok());
  EXPECT_THAT(outcome->error->toString(), HasSubstr("s.dyns:3"));
  EXPECT_EQ(line(":vars")->as<VariableTable>()->rows.size(), 1u);
  EXPECT_FALSE(line(":source " + script + " --keep-going")->ok());
  EXPECT_EQ(line(":vars")->as<VariableTable>()->rows.size(), 2u);
  const std::string endless = folder_ / "endless.dyns";
  file("endless.dyns", ":source " + endless + "\n");
  EXPECT_FALSE(line(":source " + endless)->ok());
}

TEST_F(SessionTest, PackagesRunLikeTheirModel) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  ASSERT_TRUE(line(":load " + file("mlp.dyn", kMlp))->ok());
  auto model = line(":run --dim n=5");
  auto compiled = line(":compile -o " + folder_ / "m.dynpkg");
  if (!compiled->ok() && compiled->error->id == DiagnosticId::unsupportedFeature)
    GTEST_SKIP() << compiled->error->message;
  ASSERT_TRUE(compiled->ok()) << compiled->error->message;
  ASSERT_TRUE(line(":load " + folder_ / "m.dynpkg")->ok());
  auto package = line(":run --dim n=5");
  ASSERT_TRUE(package->ok()) << package->error->message;
  EXPECT_TRUE(package->as<RunResult>()->outputs[0].value.identical(model->as<RunResult>()->outputs[0].value));
}

}  // namespace
}  // namespace dyn
