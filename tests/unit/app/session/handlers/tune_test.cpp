// Tuning: records are written one by one, read back by later compilations, kept when tuning goes on, and
// never change what a model computes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "app/engine/model/model_info.h"
#include "app/engine/model/tuning_file.h"
#include "app/engine/run/run_result.h"
#include "app/session/session.h"
#include "app/session/views/kernel_views.h"
#include "compiler/driver/kernel_library.h"
#include "tests/support/temporary_folder.h"

namespace dyn {
namespace {

using testing::HasSubstr;

// Two convolutions of different windows and one product, at sizes that are quick to measure.
constexpr const char* kTunedModel =
    R"(fn @main(%x: Tensor[(n, 3, h, w), f32]) -> Tensor[(n, 8, 1, 5), f32] {
  %u = constant() {value = f32[8, 3, 3, 3] WEIGHTS}
  %v = constant() {value = f32[8, 8, 1, 1] POINTS}
  %m = constant() {value = f32[4, 5] MATRIX}
  %a = conv(%x, %u) {pads = [1, 1, 1, 1]}
  %b = conv(%a, %v)
  %from = constant() {value = i64[2] [0, 0]}
  %to = constant() {value = i64[2] [1, 4]}
  %axes = constant() {value = i64[2] [2, 3]}
  %c = slice(%b, %from, %to, %axes)
  %y = matmul(%c, %m)
  return %y
}
)";

std::string tunedNumbers(int count) {
  std::string text = "[";
  for (int i = 0; i < count; ++i) text += (i ? ", " : "") + std::to_string((i * 37 % 19) - 9) + ".5";
  return text + "]";
}

std::string modelText() {
  std::string text = kTunedModel;
  for (const auto& [word, count] :
       {std::pair<std::string, int>{"WEIGHTS", 216}, {"POINTS", 64}, {"MATRIX", 20}})
    text.replace(text.find(word), word.size(), tunedNumbers(count));
  return text;
}

std::string contentsOf(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

class TuneTest : public testing::Test {
 protected:
  TuneTest() : model_(folder_.path() + "/m.dyn"), file_(folder_.path() + "/tuning.json") {
    write(model_, modelText());
  }
  SessionOptions options() const {
    SessionOptions o;
    o.threadCount = 1;
    o.cacheDirectory = folder_.path();
    return o;
  }
  // Of the model's three operations.
  static int64_t tunedCount() { return libraryReady("onednn").ok() ? 3 : 2; }
  static Command tuning() {
    return Command::of(CommandId::tune)
        .add("dim", "n=1")
        .add("dim", "h=7")
        .add("dim", "w=9")
        .add("seconds", "5");
  }
  void load(Session& session) {
    std::shared_ptr<const Outcome> loaded =
        session.execute(Command::of(CommandId::load).add("model", model_));
    ASSERT_TRUE(loaded->ok()) << loaded->error->toString();
    warnings_ = loaded->warnings;
    tuning_ = loaded->as<ModelInfo>()->tuning;
  }
  std::vector<float> run(Session& session) {
    std::shared_ptr<const Outcome> ran =
        session.execute(Command::of(CommandId::run).add("dim", "n=2").add("dim", "h=6").add("dim", "w=5"));
    if (!ran->ok()) {
      ADD_FAILURE() << ran->error->toString();
      return {};
    }
    const HostTensor& y = ran->as<RunResult>()->outputs.at(0).value.tensor();
    std::vector<float> values;
    for (int64_t i = 0; i < y.elementCount(); ++i) values.push_back(static_cast<float>(y.realAt(i)));
    return values;
  }
  std::vector<float> runWith(SessionOptions o) {
    Session session(std::move(o));
    load(session);
    return run(session);
  }
  static void expectClose(const std::vector<float>& got, const std::vector<float>& expected) {
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], expected[i], 1e-4 * std::max(1.0f, std::fabs(expected[i])));
  }

  test::TemporaryFolder folder_;
  std::string model_, file_, tuning_;
  std::vector<Diagnostic> warnings_;
};

TEST_F(TuneTest, recordsAreReadBackKeptAndUsed) {
  SessionOptions plain = options();
  plain.tuningFile = "none";
  const std::vector<float> expected = runWith(plain);
  {
    Session session(options());
    load(session);
    EXPECT_EQ(tuning_, "");
    std::shared_ptr<const Outcome> tuned = session.execute(tuning());
    ASSERT_TRUE(tuned->ok()) << tuned->error->toString();
    // So few rows run on one schedule only: there is something to choose where there is a library.
    EXPECT_EQ(tuned->as<TuneView>()->measuredCount, tunedCount());
    EXPECT_EQ(tuned->as<TuneView>()->skippedCount, 3 - tunedCount());
    EXPECT_EQ(tuned->as<TuneView>()->file, file_);
  }
  Result<TuningRecords> records = readTuning(file_);
  ASSERT_TRUE(records.ok()) << records.error().toString();
  ASSERT_EQ(records->operations.size(), static_cast<size_t>(tunedCount()));
  for (const TunedOperation& record : records->operations) {
    EXPECT_GE(record.candidates.size(), 2u) << record.key;
    ASSERT_EQ(record.shapes.size(), 1u);
    for (const TunedCandidate& candidate : record.candidates) EXPECT_GT(candidate.timesNs.at(0), 0);
  }
  const std::string before = contentsOf(file_);
  Session session(options());
  load(session);
  EXPECT_EQ(tuning_, std::to_string(tunedCount()) + " records of " + file_);
  std::shared_ptr<const Outcome> again = session.execute(tuning());
  ASSERT_TRUE(again->ok());
  EXPECT_EQ(again->as<TuneView>()->keptCount, tunedCount());
  EXPECT_EQ(again->as<TuneView>()->measuredCount, 0);
  EXPECT_EQ(contentsOf(file_), before);
  const std::vector<float> first = run(session), second = run(session);
  EXPECT_EQ(first, second);
  expectClose(first, expected);
}

TEST_F(TuneTest, whatIsMeasuredSurvivesAnEndBetweenTwoOperations) {
  {
    Session session(options());
    int begun = 0;
    session.setListener([&](const Event& event) {
      if (event.kind == EventKind::progress && event.text.rfind("[", 0) == 0 && ++begun == 2)
        session.interrupt();
    });
    load(session);
    std::shared_ptr<const Outcome> tuned = session.execute(tuning());
    ASSERT_FALSE(tuned->ok());
    EXPECT_EQ(tuned->error->id, DiagnosticId::cancelled);
  }
  Result<TuningRecords> records = readTuning(file_);
  ASSERT_TRUE(records.ok());
  ASSERT_EQ(records->operations.size(), 1u);
  const std::vector<double> kept = records->operations[0].candidates[0].timesNs;
  Session session(options());
  load(session);
  std::shared_ptr<const Outcome> tuned = session.execute(tuning());
  ASSERT_TRUE(tuned->ok()) << tuned->error->toString();
  EXPECT_EQ(tuned->as<TuneView>()->keptCount, 1);
  EXPECT_EQ(tuned->as<TuneView>()->measuredCount, tunedCount() - 1);
  EXPECT_EQ(readTuning(file_)->operations[0].candidates[0].timesNs, kept);
}

// Whatever stands in the file, the model runs and computes the same.
TEST_F(TuneTest, damagedAndForeignRecordsAreLeftOut) {
  SessionOptions plain = options();
  plain.tuningFile = "none";
  const std::vector<float> expected = runWith(plain);
  const std::string cpu = tuningCpu(), key = "conv f32 w=8x3x3x3 s=1x1 d=1x1 g=1";
  const std::string record =
      R"({"key": ")" + key + R"(", "threads": 1, "chosen": "CHOSEN", "shapes": [], "candidates": []})";
  auto file = [&](const std::string& name, std::string chosen) {
    std::string text = record;
    text.replace(text.find("CHOSEN"), 6, chosen);
    return R"({"schema": 1, "cpu": ")" + name + R"(", "operations": [)" + text + "]}";
  };
  const std::string damaged[] = {"",
                                 "{",
                                 "[]",
                                 R"({"schema": 2})",
                                 R"({"schema": 1, "cpu": 3})",
                                 file("another", "direct"),
                                 std::string(1000, '['),
                                 R"({"schema": 1, "cpu": ")" + cpu + R"(", "operations": [{"key": 7}]})"};
  for (const std::string& text : damaged) {
    write(file_, text);
    expectClose(runWith(options()), expected);
    ASSERT_EQ(warnings_.size(), 1u) << text;
    EXPECT_THAT(warnings_[0].message, HasSubstr("tuning records"));
    // Nor is such a file overwritten.
    Session session(options());
    load(session);
    EXPECT_FALSE(session.execute(tuning())->ok());
    EXPECT_EQ(contentsOf(file_), text);
  }
  for (const char* chosen : {"direct", "staged", "winograd", "rows", "no such version"}) {
    write(file_, file(cpu, chosen));
    expectClose(runWith(options()), expected);
    EXPECT_TRUE(warnings_.empty()) << chosen;
  }
}

TEST_F(TuneTest, policiesChooseVersionsAndAreRefusedWhereNothingFits) {
  SessionOptions plain = options();
  plain.tuningFile = "none";
  const std::vector<float> expected = runWith(plain);
  for (const char* way : {"staged", "direct", "winograd"}) {
    SessionOptions chosen = plain;
    chosen.policies["conv"] = way;
    Session session(chosen);
    load(session);
    expectClose(run(session), expected);
    std::shared_ptr<const Outcome> kernels = session.execute(
        Command::of(CommandId::kernels).add("dim", "n=1").add("dim", "h=8").add("dim", "w=8"));
    ASSERT_TRUE(kernels->ok()) << kernels->error->toString();
    const std::vector<ContractionRow>& rows = kernels->as<KernelTable>()->contractions;
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(textOf(rows[0].chosen), way);
    EXPECT_EQ(rows[0].by, "policy");
    EXPECT_EQ(rows[0].values, std::vector<std::string>{"%a"});
    for (const VersionTimes& candidate : rows[0].candidates)
      EXPECT_GT(candidate.predictedNs.value_or(0), 0) << textOf(candidate.version);
    // Winograd's way cannot do single places: that convolution stays with its rule.
    EXPECT_EQ(rows[1].by, std::string(way) == "winograd" ? "rule" : "policy");
  }
  SessionOptions refused = plain;
  refused.policies["conv"] = "rows";
  Session session(refused);
  load(session);
  std::shared_ptr<const Outcome> ran = session.execute(Command::of(CommandId::compile));
  ASSERT_FALSE(ran->ok());
  EXPECT_THAT(ran->error->message, HasSubstr("fits no operation"));
  EXPECT_FALSE(
      session.execute(Command::of(CommandId::policy).add("operator", "conv").add("version", "best"))->ok());
  ASSERT_TRUE(
      session.execute(Command::of(CommandId::policy).add("operator", "conv").add("version", "auto"))->ok());
  expectClose(run(session), expected);
}

// Another weight of the same lengths, or another number of versions, chooses anew without measuring.
TEST_F(TuneTest, D_a_D_i_productsAreDispatchedByRowsAndByWeights) {
  std::string text = "fn @main(%x: Tensor[(rows, 800), f32]) -> Tensor[(rows, 24), f32] {\n";
  text += "  %m = constant() {value = f32[800, 24] " + tunedNumbers(800 * 24) + "}\n";
  text += "  %y = matmul(%x, %m)\n  return %y\n}\n";
  write(model_, text);
  const auto tune = [&](const std::string& lengths, int versions) {
    write(folder_.path() + "/lengths.txt", lengths);
    Session session(options());
    load(session);
    std::shared_ptr<const Outcome> tuned =
        session.execute(Command::of(CommandId::tune)
                            .add("dim", "rows=@" + folder_.path() + "/lengths.txt")
                            .add("versions", std::to_string(versions))
                            .add("seconds", "60"));  // all are measured, however slow the machine is
    EXPECT_TRUE(tuned->ok()) << tuned->error->toString();
    return std::shared_ptr<const TuneView>(tuned, tuned->ok() ? tuned->as<TuneView>() : nullptr);
  };
  ASSERT_NE(tune("20\n400\n", 2), nullptr);
  // Measurements that leave no doubt take the place of these.
  TunedOperation record = readTuning(file_)->operations.at(0);
  ASSERT_EQ(record.shapes.size(), 2u);
  ASSERT_GE(record.candidates.size(), 3u);
  for (TunedCandidate& candidate : record.candidates) candidate.timesNs = {900, 9000};
  record.candidates[1].timesNs = {100, 9000};
  record.candidates[2].timesNs = {900, 1000};
  ASSERT_TRUE(addTuning(file_, record).ok());
  const std::string few = textOf(record.candidates[1].version), many = textOf(record.candidates[2].version);
  const auto chosen = [&](const std::string& lengths, int versions) {
    const auto view = tune(lengths, versions);
    EXPECT_EQ(view->measuredCount, 0);
    return textOf(readTuning(file_)->operations.at(0).chosen);
  };
  EXPECT_EQ(chosen("20\n400\n", 2), few + "<=210," + many);
  EXPECT_EQ(chosen("20\n400\n", 1), many);
  EXPECT_EQ(chosen(
                std::string("400\n") +
                    [] {
                      std::string often;
                      for (int i = 0; i < 200; ++i) often += "20\n";
                      return often;
                    }(),
                1),
            few);
  // The program names both, and each launch says which it took, and why.
  ASSERT_EQ(chosen("20\n400\n", 2), few + "<=210," + many);
  Session session(options());
  load(session);
  for (const auto& [rows, version] :
       {std::pair<int, std::string>{20, few}, {210, few}, {211, many}, {400, many}}) {
    std::shared_ptr<const Outcome> ran = session.execute(
        Command::of(CommandId::run).add("dim", "rows=" + std::to_string(rows)).add("profile"));
    ASSERT_TRUE(ran->ok()) << ran->error->toString();
    std::vector<std::string> versions;
    for (const TimelineEvent& event : ran->as<RunResult>()->timeline)
      if (event.name == "gemm") versions.push_back(event.version);
    EXPECT_THAT(versions,
                testing::ElementsAre(testing::StartsWith(version + " for rows=" + std::to_string(rows) +
                                                         " columns=24 depth=800 threads=1, named;")));
    std::shared_ptr<const Outcome> kernels =
        session.execute(Command::of(CommandId::kernels).add("dim", "rows=" + std::to_string(rows)));
    ASSERT_TRUE(kernels->ok());
    const ContractionRow& row = kernels->as<KernelTable>()->contractions.at(0);
    EXPECT_EQ(textOf(row.chosen), version);
    EXPECT_EQ(row.by, "measured");
    EXPECT_EQ(textOf(row.dispatch), few + "<=210," + many);
  }
}

// A product whose schedules differ at eight lengths.
class TuneTrialsTest : public TuneTest {
 protected:
  TuneTrialsTest() {
    std::string text = "fn @main(%x: Tensor[(n, 1600), f32]) { %w = constant() {value = f32[1600, 32] [";
    for (int row = 0; row < 1600; ++row) {
      text += row ? ", [" : "[";
      for (int column = 0; column < 32; ++column)
        text += (column ? ", " : "") + std::to_string((row * 7 + column) % 5 - 2);
      text += "]";
    }
    write(model_, text + "]} %y = matmul(%x, %w) return %y }");
  }
  std::shared_ptr<const Outcome> tune(const std::string& dim, const std::string& trials,
                                      const std::string& file) {
    SessionOptions o = options();
    o.tuningFile = file;
    Session session(o);
    load(session);
    // One length is measured whatever time is left; of few trials none may be left out, on however busy a
    // machine.
    Command command = Command::of(CommandId::tune)
                          .add("dim", dim)
                          .add("seconds", trials.empty() ? "0.5" : "100")
                          .add("o", file);
    if (!trials.empty()) command.add("trials", trials);
    return session.execute(command);
  }
};

TEST_F(TuneTrialsTest, D_h_eightLengthsInOneCallNeedAQuarterOfTheTrials) {
  const std::vector<int> lengths{90, 110, 130, 150, 170, 190, 210, 230};
  int64_t separate = 0;
  std::string list;
  for (int length : lengths) {
    const std::string file = folder_.path() + "/" + std::to_string(length) + ".json";
    std::shared_ptr<const Outcome> tuned = tune("n=" + std::to_string(length), "", file);
    ASSERT_TRUE(tuned->ok()) << tuned->error->toString();
    separate += tuned->as<TuneView>()->trialsCount;
    list += std::to_string(length) + "\n";
  }
  EXPECT_GE(separate, 8 * 5) << "each length has schedules to choose from";
  write(folder_.path() + "/lengths.txt", list);
  const std::string dim = "n=@" + folder_.path() + "/lengths.txt";
  std::shared_ptr<const Outcome> together = tune(dim, std::to_string(separate / 4), file_);
  ASSERT_TRUE(together->ok()) << together->error->toString();
  EXPECT_EQ(together->as<TuneView>()->measuredCount, 1);
  EXPECT_LE(together->as<TuneView>()->trialsCount * 4, separate);
  // Each candidate was measured once at least, the leaders more often; what was not measured says so, and all
  // times are there.
  Result<TuningRecords> records = readTuning(file_);
  ASSERT_TRUE(records.ok()) << records.error().toString();
  ASSERT_EQ(records->operations.size(), 1u);
  const TunedOperation& record = records->operations[0];
  int64_t measured = 0;
  for (const TunedCandidate& candidate : record.candidates) {
    int64_t own = 0;
    ASSERT_EQ(candidate.timesNs.size(), record.shapes.size());
    for (size_t s = 0; s < record.shapes.size(); ++s) {
      EXPECT_GT(candidate.timesNs[s], 0);
      own += candidate.isMeasured(s);
    }
    EXPECT_GE(own, 1) << textOf(candidate.version);
    measured += own;
  }
  EXPECT_EQ(measured, together->as<TuneView>()->trialsCount);
  EXPECT_LT(measured, static_cast<int64_t>(record.shapes.size() * record.candidates.size()));
  // More trials later go on where these ended.
  std::shared_ptr<const Outcome> more = tune(dim, std::to_string(measured + 3), file_);
  ASSERT_TRUE(more->ok());
  EXPECT_EQ(more->as<TuneView>()->trialsCount, 3);
  EXPECT_EQ(tune(dim, std::to_string(measured + 3), file_)->as<TuneView>()->keptCount, 1);
}

TEST_F(TuneTrialsTest, C30_aRangeIsComparedAtItsPowersOfTwo) {
  std::shared_ptr<const Outcome> tuned = tune("n=1..256", "40", file_);
  ASSERT_TRUE(tuned->ok()) << tuned->error->toString();
  Result<TuningRecords> records = readTuning(file_);
  ASSERT_TRUE(records.ok());
  std::vector<int64_t> sizes;
  for (const TunedShape& shape : records->operations.at(0).shapes) sizes.push_back(shape.sizes[0]);
  std::sort(sizes.begin(), sizes.end());
  EXPECT_THAT(sizes, testing::ElementsAre(1, 2, 4, 8, 16, 32, 64, 128, 256));
  EXPECT_LE(tuned->as<TuneView>()->trialsCount, 40);
  EXPECT_FALSE(tune("n=1..256", "0", file_)->ok());
}

// What ran is printed step by step, padding among them, and naming it again runs the same steps to the same
// bits.
TEST_F(TuneTrialsTest, D_g_thePrintedTraceShowsPaddingAndIsReplayed) {
  std::string text = "fn @main(%x: Tensor[(n, 900), f32]) { %w = constant() {value = f32[900, 7] [";
  for (int row = 0; row < 900; ++row) {
    text += row ? ", [" : "[";
    for (int column = 0; column < 7; ++column)
      text += (column ? ", 0." : "0.") + std::to_string(1 + (row * 7 + column) % 9);
    text += "]";
  }
  write(model_, text + "]} %y = matmul(%x, %w) return %y }");
  struct Ran {
    std::string trace;
    std::vector<double> values;
  };
  const auto ran = [&](const std::string& policy) {
    SessionOptions o = options();
    o.tuningFile = "none";
    if (!policy.empty()) o.policies["matmul"] = policy;
    Session session(o);
    load(session);
    std::shared_ptr<const Outcome> outcome =
        session.execute(Command::of(CommandId::run).add("dim", "n=59").add("profile"));
    Ran result;
    EXPECT_TRUE(outcome->ok()) << outcome->error->toString();
    if (!outcome->ok()) return result;
    for (const TimelineEvent& event : outcome->as<RunResult>()->timeline)
      if (event.name == "gemm") result.trace = event.version;
    const HostTensor& y = outcome->as<RunResult>()->outputs.at(0).value.tensor();
    for (int64_t i = 0; i < y.elementCount(); ++i) result.values.push_back(y.realAt(i));
    return result;
  };
  for (const char* policy : {"", "k384r6-panels", "kallr24-rows"}) {
    const Ran first = ran(policy);
    EXPECT_THAT(first.trace, HasSubstr("; tile rows 59 = "));
    EXPECT_THAT(first.trace, HasSubstr("pad columns 7 to ")) << "a panel has 8 columns at least";
    const std::string name = first.trace.substr(0, first.trace.find(' '));
    if (*policy != 0) {
      EXPECT_EQ(name, policy);
    }
    EXPECT_EQ(first.trace.find("block depth 900 by 384") != std::string::npos, name == "k384r6-panels");
    const Ran again = ran(name);
    EXPECT_EQ(again.values, first.values);
    EXPECT_EQ(again.trace.substr(again.trace.find(';')), first.trace.substr(first.trace.find(';')));
  }
}

// Nothing was measured, yet there is a choice and the program runs: the costs alone say which.
TEST_F(TuneTrialsTest, M_c_theFirstChoiceNeedsNoMeasurement) {
  SessionOptions o = options();
  o.tuningFile = "none";
  Session session(o);
  load(session);
  for (int rows : {1, 90, 700}) {
    const std::string dim = "n=" + std::to_string(rows);
    std::shared_ptr<const Outcome> kernels = session.execute(Command::of(CommandId::kernels).add("dim", dim));
    ASSERT_TRUE(kernels->ok());
    const ContractionRow& row = kernels->as<KernelTable>()->contractions.at(0);
    EXPECT_EQ(row.by, "cost");
    double least = HUGE_VAL, chosen = 0;
    for (const VersionTimes& candidate : row.candidates) {
      ASSERT_TRUE(candidate.predictedNs.has_value());
      EXPECT_FALSE(candidate.measuredNs.has_value()) << textOf(candidate.version);
      least = std::min(least, *candidate.predictedNs);
      if (candidate.version == row.chosen) chosen = *candidate.predictedNs;
    }
    EXPECT_GT(chosen, 0);
    EXPECT_LE(chosen, least * 1.1);
    EXPECT_TRUE(session.execute(Command::of(CommandId::run).add("dim", dim))->ok());
  }
}

}  // namespace
}  // namespace dyn
