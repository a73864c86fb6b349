// oneDNN as one more version: taken where records or the user say so, never by itself, logged, and with the
// same results. In a build without it, how it is refused.
#include <cmath>
#include <fstream>

#include "app/engine/model/tuning_file.h"
#include "app/engine/run/run_result.h"
#include "app/session/views/code_views.h"
#include "app/session/views/kernel_views.h"
#include "compiler/driver/kernel_library.h"
#include "tests/unit/app/session/checklist.h"

namespace dyn {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string numbers(int count) {
  std::string text = "[";
  for (int i = 0; i < count; ++i) text += (i ? ", " : "") + std::to_string((i * 37 % 19) - 9) + ".25";
  return text + "]";
}

// A product with bias and relu, whose result is also added to a residual; a convolution alike.
const std::string kLibraryProduct =
    "fn @main(%x: Tensor[(n, 24), f32], %r: Tensor[(n, 40), f32]) {\n  %w = constant() {value = f32[24, "
    "40] " +
    numbers(960) + "}\n  %b = constant() {value = f32[40] " + numbers(40) +
    "}\n  %p = matmul(%x, %w)\n  %s = add(%p, %b)\n  %t = relu(%s)\n  %y = add(%t, %r)\n  return %y\n}\n";
const std::string kConvolution =
    "fn @main(%x: Tensor[(n, 6, h, w), f32]) {\n  %w = constant() {value = f32[10, 6, 3, 3] " + numbers(540) +
    "}\n  %b = constant() {value = f32[10] " + numbers(10) +
    "}\n  %c = conv(%x, %w, %b) {pads = [1, 1, 1, 1], strides = [2, 1]}\n  %y = relu(%c)\n  return %y\n}\n";

class LibraryTest : public testing::Test {
 protected:
  SessionOptions options() const {
    SessionOptions o;
    o.threadCount = 1;
    o.cacheDirectory = folder_.path();
    o.tuningFile = file_;
    return o;
  }
  std::unique_ptr<Session> sessionOf(const std::string& text, SessionOptions o) {
    auto session = std::make_unique<Session>(std::move(o));
    loaded_ = session->execute(Command::of(CommandId::load).add("model", folder_.write("m.dyn", text)));
    EXPECT_TRUE(loaded_->ok()) << loaded_->error->toString();
    return session;
  }
  std::unique_ptr<Session> withPolicy(const std::string& text, const std::string& kind,
                                      const std::string& version) {
    SessionOptions o = options();
    o.tuningFile = "none";
    o.policies[kind] = version;
    return sessionOf(text, o);
  }
  static std::string bytecode(Session& session) {
    std::shared_ptr<const Outcome> outcome = session.execute(Command::of(CommandId::bytecode));
    EXPECT_TRUE(outcome->ok()) << outcome->error->toString();
    return outcome->ok() ? outcome->as<IrText>()->text : "";
  }
  static std::shared_ptr<const RunResult> run(Session& session, const std::vector<std::string>& dims) {
    Command command = Command::of(CommandId::run).add("profile");
    for (const std::string& dim : dims) command.add("dim", dim);
    std::shared_ptr<const Outcome> outcome = session.execute(command);
    EXPECT_TRUE(outcome->ok()) << outcome->error->toString();
    return outcome->ok() ? outcome->share<RunResult>() : nullptr;
  }
  // What ran of the builtins that are called so.
  static std::vector<std::string> versions(const RunResult& result, const std::string& builtin) {
    std::vector<std::string> found;
    for (const TimelineEvent& event : result.timeline)
      if (event.name == builtin) found.push_back(event.version);
    return found;
  }
  static ContractionRow onlyRow(Session& session, const std::vector<std::string>& dims) {
    Command command = Command::of(CommandId::kernels);
    for (const std::string& dim : dims) command.add("dim", dim);
    std::shared_ptr<const Outcome> outcome = session.execute(command);
    EXPECT_TRUE(outcome->ok()) << outcome->error->toString();
    if (!outcome->ok() || outcome->as<KernelTable>()->contractions.size() != 1) return {};
    return outcome->as<KernelTable>()->contractions[0];
  }
  static void expectClose(const RunResult& got, const RunResult& expected, const std::string& what) {
    const HostTensor &a = got.outputs.at(0).value.tensor(), &b = expected.outputs.at(0).value.tensor();
    ASSERT_EQ(a.shape(), b.shape()) << what;
    for (int64_t i = 0; i < a.elementCount(); ++i)
      ASSERT_NEAR(a.realAt(i), b.realAt(i), 1e-3 * std::max(1.0, std::fabs(b.realAt(i))))
          << what << " at " << i;
  }
  // The same results, by the library and without, at all these dims.
  void expectSame(const std::string& text, const std::string& kind, const std::string& builtin,
                  const std::vector<std::vector<std::string>>& shapes) {
    std::unique_ptr<Session> own = withPolicy(text, kind, "auto"), library = withPolicy(text, kind, "onednn");
    EXPECT_THAT(bytecode(*library), HasSubstr(builtin));
    EXPECT_THAT(bytecode(*own), Not(HasSubstr("onednn")));
    for (const std::vector<std::string>& dims : shapes) {
      const auto expected = run(*own, dims), got = run(*library, dims);
      ASSERT_TRUE(expected && got);
      expectClose(*got, *expected, testing::PrintToString(dims));
      // Again: nothing is made twice, and nothing changes.
      expectClose(*run(*library, dims), *got, "again");
    }
  }
  // Records of the one contraction of this model, at these dims, with these times for "auto" and for the
  // library.
  void writeRecords(const std::string& text, const std::vector<std::string>& dims, double ownNs,
                    double libraryNs) {
    std::unique_ptr<Session> session = sessionOf(text, options());
    Command tune = Command::of(CommandId::tune).add("seconds", "2");
    for (const std::string& dim : dims) tune.add("dim", dim);
    std::shared_ptr<const Outcome> tuned = session->execute(tune);
    ASSERT_TRUE(tuned->ok()) << tuned->error->toString();
    TunedOperation record = readTuning(file_)->operations.at(0);
    ASSERT_TRUE(contraction::isLibrary(record.candidates.back().version));
    EXPECT_GT(record.candidates.back().timesNs.at(0), 0);
    for (TunedCandidate& candidate : record.candidates)
      for (double& ns : candidate.timesNs) ns = contraction::isLibrary(candidate.version) ? libraryNs : ownNs;
    ASSERT_TRUE(addTuning(file_, record).ok());
    // Chosen anew from these times, without measuring.
    tuned = session->execute(tune);
    ASSERT_TRUE(tuned->ok()) << tuned->error->toString();
    EXPECT_EQ(tuned->as<TuneView>()->measuredCount, 0);
  }

  test::TemporaryFolder folder_;
  const std::string file_ = folder_.path() + "/tuning.json";
  std::shared_ptr<const Outcome> loaded_;
  std::vector<Diagnostic> warnings_;
};

#define NEEDS_ONEDNN \
  if (Status ready = libraryReady("onednn"); !ready.ok()) GTEST_SKIP() << ready.error().message

TEST_F(LibraryTest, C31_recordsDecideBetweenTheLibraryAndOwnKernels) {
  NEEDS_ONEDNN;
  struct Case {
    std::string text, own, library;
    std::vector<std::string> dims;
  };
  for (const Case& c : {Case{kLibraryProduct, "gemm", "onednn_gemm", {"n=17"}},
                        Case{kConvolution, "conv_packed", "onednn_conv", {"n=2", "h=13", "w=11"}}}) {
    for (const bool library : {true, false}) {
      ASSERT_NO_FATAL_FAILURE(writeRecords(c.text, c.dims, library ? 9000 : 1000, library ? 1000 : 9000));
      std::unique_ptr<Session> session = sessionOf(c.text, options());
      EXPECT_TRUE(loaded_->warnings.empty());
      const std::string program = bytecode(*session), packing = c.library + "_pack";
      if (library) {
        EXPECT_THAT(program, testing::AllOf(HasSubstr(c.library), HasSubstr(packing)));
        EXPECT_THAT(program, Not(HasSubstr(" " + c.own)));
      } else {
        EXPECT_THAT(program, testing::AllOf(HasSubstr(c.own), Not(HasSubstr("onednn"))));
      }
      const ContractionRow row = onlyRow(*session, c.dims);
      EXPECT_EQ(row.by, "measured");
      EXPECT_EQ(contraction::isLibrary(row.chosen), library) << textOf(row.chosen);
      bool listed = false;
      for (const VersionTimes& candidate : row.candidates) {
        if (!contraction::isLibrary(candidate.version)) continue;
        listed = true;
        EXPECT_EQ(candidate.measuredNs.value_or(0), library ? 1000 : 9000);
        EXPECT_GT(candidate.predictedNs.value_or(0), 0);
      }
      EXPECT_TRUE(listed);
      const auto ran = run(*session, c.dims);
      ASSERT_TRUE(ran);
      const std::vector<std::string> launched = versions(*ran, library ? c.library : c.own);
      ASSERT_EQ(launched.size(), 1u);
      if (library) {
        EXPECT_THAT(launched[0],
                    testing::AllOf(StartsWith("onednn "), HasSubstr(" for "), HasSubstr(", named")));
      }
      ASSERT_EQ(std::remove(file_.c_str()), 0);
    }
    std::unique_ptr<Session> session = sessionOf(c.text, options());
    EXPECT_THAT(bytecode(*session), Not(HasSubstr("onednn"))) << "without records it is never taken";
  }
}

TEST_F(LibraryTest, C31_productsAreTheSame) {
  NEEDS_ONEDNN;
  expectSame(kLibraryProduct, "matmul", "onednn_gemm",
             {{"n=0"}, {"n=1"}, {"n=2"}, {"n=13"}, {"n=64"}, {"n=131"}, {"n=1"}, {"n=0"}});
  // Stacks of rows; a vector; a transposed matrix; columns and depth of 1.
  const std::string matrix = "  %w = constant() {value = f32[5, 7] " + numbers(35) + "}\n";
  expectSame("fn @main(%x: Tensor[(a, b, 5), f32]) {\n" + matrix + "  %y = matmul(%x, %w)\n  return %y\n}\n",
             "matmul", "onednn_gemm",
             {{"a=2", "b=3"}, {"a=0", "b=3"}, {"a=3", "b=0"}, {"a=1", "b=1"}, {"a=7", "b=11"}});
  expectSame("fn @main(%x: Tensor[(5), f32]) {\n" + matrix + "  %y = matmul(%x, %w)\n  return %y\n}\n",
             "matmul", "onednn_gemm", {{}});
  expectSame("fn @main(%x: Tensor[(n, 7), f32]) {\n" + matrix +
                 "  %t = transpose(%w)\n  %p = matmul(%x, %t)\n  %y = tanh(%p)\n  return %y\n}\n",
             "matmul", "onednn_gemm", {{"n=1"}, {"n=19"}});
  expectSame(
      "fn @main(%x: Tensor[(n, 1), f32]) {\n  %w = constant() {value = f32[1, 1] [3]}\n  %y = matmul(%x, "
      "%w)\n"
      "  return %y\n}\n",
      "matmul", "onednn_gemm", {{"n=0"}, {"n=1"}, {"n=5"}});
}

TEST_F(LibraryTest, C31_convolutionsAreTheSame) {
  NEEDS_ONEDNN;
  expectSame(kConvolution, "conv", "onednn_conv",
             {{"n=1", "h=1", "w=1"},
              {"n=0", "h=5", "w=5"},
              {"n=2", "h=13", "w=7"},
              {"n=3", "h=2", "w=31"},
              {"n=1", "h=37", "w=37"}});
  // Groups, dilations and a residual in the epilogue; one spatial axis; depthwise with automatic pads.
  expectSame(
      "fn @main(%x: Tensor[(n, 8, h, w), f32]) {\n  %w = constant() {value = f32[8, 4, 3, 3] " +
          numbers(288) +
          "}\n  %c = conv(%x, %w) {group = 2, dilations = [2, 2], pads = [2, 2, 2, 2]}\n  %s = add(%c, %x)\n"
          "  %y = relu(%s)\n  return %y\n}\n",
      "conv", "onednn_conv", {{"n=1", "h=5", "w=5"}, {"n=2", "h=17", "w=3"}, {"n=1", "h=1", "w=2"}});
  expectSame("fn @main(%x: Tensor[(n, 5, l), f32]) {\n  %w = constant() {value = f32[9, 5, 3] " +
                 numbers(135) + "}\n  %y = conv(%x, %w) {strides = [2], pads = [0, 3]}\n  return %y\n}\n",
             "conv", "onednn_conv", {{"n=1", "l=1"}, {"n=2", "l=64"}, {"n=1", "l=101"}});
  expectSame("fn @main(%x: Tensor[(n, 12, h, w), f32]) {\n  %w = constant() {value = f32[12, 1, 3, 3] " +
                 numbers(108) +
                 "}\n  %y = conv(%x, %w) {group = 12, strides = [2, 2], auto_pad = \"SAME_UPPER\"}\n  return "
                 "%y\n}\n",
             "conv", "onednn_conv", {{"n=1", "h=1", "w=1"}, {"n=1", "h=14", "w=15"}, {"n=2", "h=7", "w=2"}});
}

// Whose arithmetic is f32.
TEST_F(LibraryTest, productsInBf16AreNotForTheLibrary) {
  NEEDS_ONEDNN;
  SessionOptions o = options();
  o.math = "bf16";
  o.policies["matmul"] = "onednn";
  std::unique_ptr<Session> session = sessionOf(kLibraryProduct, o);
  std::shared_ptr<const Outcome> compiled = session->execute(Command::of(CommandId::compile));
  ASSERT_FALSE(compiled->ok());
  EXPECT_THAT(compiled->error->message, HasSubstr("fits no operation"));
}

// As many bytes as a real run takes are known beforehand, what is reordered for the library included.
TEST_F(LibraryTest, memoryIsKnownBeforehand) {
  NEEDS_ONEDNN;
  std::unique_ptr<Session> session = withPolicy(kConvolution, "conv", "onednn");
  const std::vector<std::string> dims{"n=3", "h=50", "w=60"};
  const auto ran = run(*session, dims);
  ASSERT_TRUE(ran);
  const int64_t reordered = (3 * 6 * 50 * 60 + 3 * 10 * 25 * 60) * 4;
  EXPECT_GT(ran->peakBytes, reordered);
  ASSERT_TRUE(ran->predictedPeakBytes);
  EXPECT_NEAR(static_cast<double>(ran->peakBytes), static_cast<double>(*ran->predictedPeakBytes),
              0.01 * static_cast<double>(reordered));
}

// Records are advice to runs in this process; a package is made for the runtime alone, unless the user's
// policy says otherwise.
TEST_F(LibraryTest, packagesAreMadeWithoutTheLibraryUnlessAsked) {
  NEEDS_ONEDNN;
  ASSERT_NO_FATAL_FAILURE(writeRecords(kLibraryProduct, {"n=17"}, 9000, 1000));
  const std::string package = folder_.path() + "/m.dynpkg";
  const auto programOf = [&](SessionOptions o) {
    std::unique_ptr<Session> session = sessionOf(kLibraryProduct, std::move(o));
    std::shared_ptr<const Outcome> compiled =
        session->execute(Command::of(CommandId::compile).add("o", package));
    if (!compiled->ok()) return std::string(compiled->error->toString());
    warnings_ = compiled->warnings;
    Session other(options());
    std::shared_ptr<const Outcome> loaded = other.execute(Command::of(CommandId::load).add("model", package));
    if (!loaded->ok()) return std::string(loaded->error->toString());
    EXPECT_TRUE(run(other, {"n=3"}));
    return bytecode(other);
  };
  std::string program = programOf(options());
  if (program.find("no linker") != std::string::npos) GTEST_SKIP() << program;
  EXPECT_THAT(program, Not(HasSubstr("onednn")));
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_THAT(warnings_[0].message, HasSubstr("a package runs without onednn"));
  EXPECT_THAT(warnings_[0].notes, testing::ElementsAre("matmul f32 k=24 n=40"));
  SessionOptions asked = options();
  asked.policies["matmul"] = "onednn";
  EXPECT_THAT(programOf(asked), HasSubstr("onednn_gemm"));
  // The runtime alone says what it lacks.
  dyn_module* module = nullptr;
  EXPECT_EQ(dyn_module_load_file(package.c_str(), nullptr, &module), DYN_BAD_PROGRAM);
  EXPECT_THAT(dyn_last_message(), HasSubstr("builtin onednn_gemm"));
}

TEST_F(LibraryTest, C31_withoutTheLibraryItIsRefusedAndRecordsOfItAreSkipped) {
  if (libraryReady("onednn").ok()) GTEST_SKIP() << "this build has oneDNN";
  SessionOptions asked = options();
  asked.policies["matmul"] = "onednn";
  Session refused(asked);
  std::shared_ptr<const Outcome> loaded =
      refused.execute(Command::of(CommandId::load).add("model", folder_.write("m.dyn", kLibraryProduct)));
  ASSERT_FALSE(loaded->ok());
  EXPECT_EQ(loaded->error->id, DiagnosticId::unsupportedFeature);
  EXPECT_THAT(loaded->error->message, StartsWith("unsupported: version onednn: "));
  std::unique_ptr<Session> session = sessionOf(kLibraryProduct, options());
  EXPECT_FALSE(
      session->execute(Command::of(CommandId::policy).add("operator", "conv").add("version", "onednn"))
          ->ok());
  // A record of a build that had it: said, and left.
  TunedOperation record{"matmul f32 k=24 n=40",
                        1,
                        contraction::Library{},
                        {{{17, 24}, 1}},
                        {{contraction::Automatic{}, {9000}}, {contraction::Library{}, {1000}}}};
  ASSERT_TRUE(addTuning(file_, record).ok());
  session = sessionOf(kLibraryProduct, options());
  ASSERT_EQ(loaded_->warnings.size(), 1u);
  EXPECT_THAT(loaded_->warnings[0].message, HasSubstr("tuning records are left out of account"));
  EXPECT_THAT(loaded_->warnings[0].notes, testing::ElementsAre("matmul f32 k=24 n=40"));
  EXPECT_THAT(bytecode(*session), Not(HasSubstr("onednn")));
  EXPECT_TRUE(run(*session, {"n=3"}));
}

}  // namespace
}  // namespace dyn
