// Versions of generated kernels: what their loops hold, when they are taken, and that they compute the same.
#include <cmath>
#include <cstring>
#include <fstream>
#include <regex>

#include "app/engine/run/run_result.h"
#include "app/session/views/code_views.h"
#include "app/session/views/shell_views.h"
#include "compiler/kernel/versions.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/app/session/checklist.h"

namespace dyn {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kSoftmax = R"(fn @main(%x: Tensor[(n, m), f32]) {
  %y = softmax(%x)
  return %y
}
)";

// Whether m and b, n and a are equal or 1 is known at run time alone.
constexpr const char* kTwoShapes = R"(fn @main(%x: Tensor[(n, m), f32], %y: Tensor[(a, b), f32]) {
  %s = add(%x, %y)
  %r = exp(%s)
  return %r
}
)";

struct VersionsTest : testing::Test {
  test::TemporaryFolder folder;

  std::unique_ptr<Session> sessionOf(const char* text, const std::string& policy, int threads = 1) {
    std::ofstream(folder.path() + "/m.dyn") << text;
    SessionOptions options;
    options.threadCount = threads;
    options.cacheDirectory = "none";
    if (policy != "auto") options.policies["loop"] = policy;
    auto session = std::make_unique<Session>(options);
    std::shared_ptr<const Outcome> loaded =
        session->execute(Command::of(CommandId::load).add("model", folder.path() + "/m.dyn"));
    EXPECT_TRUE(loaded->ok()) << loaded->error->toString();
    return session;
  }
  // The values, and the kernels that were launched.
  struct Ran {
    std::vector<double> values;
    std::vector<std::string> kernels;
  };
  static Ran run(Session& session, const std::vector<std::string>& dims) {
    Command command = Command::of(CommandId::run);
    command.add("profile");
    for (const std::string& dim : dims) command.add("dim", dim);
    std::shared_ptr<const Outcome> outcome = session.execute(command);
    Ran ran;
    EXPECT_TRUE(outcome->ok()) << outcome->error->toString();
    if (!outcome->ok()) return ran;
    const HostTensor& y = outcome->as<RunResult>()->outputs.at(0).value.tensor();
    for (int64_t i = 0; i < y.elementCount(); ++i) ran.values.push_back(y.realAt(i));
    for (const TimelineEvent& event : outcome->as<RunResult>()->timeline)
      if (event.kind == "kernel") ran.kernels.push_back(event.name);
    return ran;
  }
  static std::string text(Session& session, Command command) {
    std::shared_ptr<const Outcome> outcome = session.execute(command);
    EXPECT_TRUE(outcome->ok()) << outcome->error->toString();
    if (!outcome->ok()) return "";
    const IrText* ir = outcome->as<IrText>();
    return ir ? ir->text : outcome->as<TextView>()->text;
  }
  // The loops of this kernel.
  static std::string loopsOf(const std::string& all, const std::string& kernel) {
    const size_t begin = all.find("kernel @" + kernel + "(");
    if (begin == std::string::npos) return "";
    const size_t body = all.find('\n', begin);
    return all.substr(body, all.find("\n}\n", begin) - body);
  }
  static int64_t count(const std::string& text, const std::string& pattern) {
    const std::regex expression(pattern);
    return std::distance(std::sregex_iterator(text.begin(), text.end(), expression), std::sregex_iterator());
  }
};

TEST_F(VersionsTest, C29_residueKernelsHaveNoBoundaryInTheirLoops) {
  std::unique_ptr<Session> session = sessionOf(kSoftmax, "residues16");
  const std::string loops = text(*session, Command::of(CommandId::ir).add("level", "loop"));
  for (int r = 0; r < 16; ++r) {
    const std::string kernel = loopsOf(loops, "softmax.mod16_" + std::to_string(r));
    ASSERT_NE(kernel, "") << r;
    // Each loop's extent has one remainder for all m; nothing in the body asks where the end is.
    const std::string extent =
        "< dim\\(16\\*floordiv\\(m, 16\\)" + (r ? " \\+ " + std::to_string(r) : "") + "\\) vector";
    EXPECT_EQ(count(kernel, " vector"), 4) << kernel;
    EXPECT_EQ(count(kernel, extent), 4) << kernel;
    EXPECT_EQ(count(kernel, "select|min\\(| if |check"), 0) << kernel;
  }
  // In the code a remainder of nothing leaves no tail at all, any other one that is not asked for: only the
  // loops' own jumps are conditional.
  const auto jumps = [&](const std::string& kernel) {
    return count(text(*session, Command::of(CommandId::llvm).add("kernel", kernel)), "br i1 ");
  };
  const int64_t generic = jumps("softmax");
  EXPECT_EQ(jumps("softmax.mod16_0"), jumps("softmax.mod16_5"));
  EXPECT_EQ(generic - jumps("softmax.mod16_0"), 4) << "one test for each of the four loops";
}

TEST_F(VersionsTest, C29_fewerCopiesThanResiduesLeaveTheRestToTheKernelItself) {
  std::unique_ptr<Session> generic = sessionOf(kSoftmax, "generic"), some = sessionOf(kSoftmax, "residues3"),
                           all = sessionOf(kSoftmax, "residues16");
  for (int m : {0, 1, 2, 3, 15, 16, 17, 18, 19, 31, 32, 64, 67, 257}) {
    const std::vector<std::string> dims{"n=3", "m=" + std::to_string(m)};
    const Ran expected = run(*generic, dims), few = run(*some, dims), every = run(*all, dims);
    EXPECT_EQ(few.values, expected.values) << m;  // to the bit
    EXPECT_EQ(every.values, expected.values) << m;
    EXPECT_THAT(expected.kernels, testing::ElementsAre("softmax"));
    EXPECT_THAT(few.kernels, testing::ElementsAre(m % 16 < 3 ? "softmax.mod16_" + std::to_string(m % 16)
                                                             : std::string("softmax")));
    EXPECT_THAT(every.kernels, testing::ElementsAre("softmax.mod16_" + std::to_string(m % 16)));
  }
}

TEST_F(VersionsTest, M9_broadcastFreeVersionIsTakenIffTheShapesAllowIt) {
  std::unique_ptr<Session> generic = sessionOf(kTwoShapes, "generic"),
                           versions = sessionOf(kTwoShapes, "auto"),
                           both = sessionOf(kTwoShapes, "residues2");
  const std::string loops = text(*versions, Command::of(CommandId::ir).add("level", "loop"));
  EXPECT_EQ(count(loopsOf(loops, "add_exp"), "select\\([mb] == 1"), 2) << loops;
  const std::string fast = loopsOf(loops, "add_exp.no_broadcast");
  EXPECT_EQ(count(fast, "select\\([mb] == 1"), 0) << fast;
  EXPECT_THAT(fast, HasSubstr(", i_1] + x1["));
  EXPECT_THAT(
      loopsOf(text(*generic, Command::of(CommandId::ir).add("level", "loop")), "add_exp.no_broadcast"), "");
  struct Shape {
    int n, m, a, b;
  };
  for (const Shape& s : {Shape{3, 7, 3, 7},
                         {3, 7, 1, 7},
                         {1, 33, 5, 33},
                         {3, 1, 3, 7},
                         {3, 7, 3, 1},
                         {1, 1, 1, 1},
                         {4, 32, 4, 32},
                         {0, 7, 0, 7},
                         {2, 0, 2, 0},
                         {2, 49, 1, 1}}) {
    const std::vector<std::string> dims{"n=" + std::to_string(s.n), "m=" + std::to_string(s.m),
                                        "a=" + std::to_string(s.a), "b=" + std::to_string(s.b)};
    const std::string what = "m=" + std::to_string(s.m) + " b=" + std::to_string(s.b);
    const Ran expected = run(*generic, dims), ran = run(*versions, dims), residues = run(*both, dims);
    EXPECT_EQ(ran.values, expected.values) << what;
    EXPECT_EQ(residues.values, expected.values) << what;
    const bool free = s.m != 1 && s.b != 1;
    EXPECT_THAT(ran.kernels, testing::ElementsAre(free ? "add_exp.no_broadcast" : "add_exp")) << what;
    const int size = s.m == 1 ? s.b : s.m;
    EXPECT_THAT(residues.kernels,
                testing::ElementsAre(std::string(free ? "add_exp.no_broadcast" : "add_exp") +
                                     (size % 16 < 2 ? ".mod16_" + std::to_string(size % 16) : "")))
        << what;
  }
}

// The list of kernels says when each is taken.
TEST_F(VersionsTest, M10_kernelsNameTheirGuards) {
  std::unique_ptr<Session> session = sessionOf(kTwoShapes, "auto");
  std::shared_ptr<const Outcome> kernels = session->execute(Command::of(CommandId::kernels));
  ASSERT_TRUE(kernels->ok());
  std::map<std::string, std::string> rows;
  for (const KernelRow& row : kernels->as<KernelTable>()->rows) rows[row.name] = row.description;
  EXPECT_EQ(rows["add_exp.no_broadcast"], "loop, 2 operations, if m != 1 and b != 1");
  EXPECT_EQ(rows["add_exp"], "loop, 2 operations");
}

// Along memory: a row in a vector, or, where rows are short, a row in each lane. Either does the same for
// every number of threads, to the bit.
TEST_F(VersionsTest, M10_rowReductionsPickTheirScheduleByColumns) {
  const std::pair<const char*, const char*> programs[] = {
      {"softmax", kSoftmax},
      {"reduce_sum",
       "fn @main(%x: Tensor[(n, m), f32]) { %i = constant() {value = i64[1] [1]} %y = reduce_sum(%x, %i) "
       "return "
       "%y }"}};
  for (const auto& [name, program] : programs) {
    std::unique_ptr<Session> generic = sessionOf(program, "generic"), one = sessionOf(program, "auto"),
                             three = sessionOf(program, "auto", 3);
    std::shared_ptr<const Outcome> kernels = one->execute(Command::of(CommandId::kernels));
    ASSERT_TRUE(kernels->ok());
    std::map<std::string, std::string> rows;
    for (const KernelRow& row : kernels->as<KernelTable>()->rows) rows[row.name] = row.description;
    const std::string shortRows = std::string(name) + ".rows_in_lanes";
    EXPECT_EQ(rows[shortRows], "loop, 1 operation, if m <= 31");
    EXPECT_THAT(loopsOf(text(*generic, Command::of(CommandId::ir).add("level", "loop")), shortRows), "");
    for (int n : {0, 1, 2, 63, 64, 65, 200, 20000})
      for (int m : {0, 1, 2, 3, 4, 5, 16, 31, 32, 59}) {
        if (n == 20000 && m > 5) continue;
        const std::vector<std::string> dims{"n=" + std::to_string(n), "m=" + std::to_string(m)};
        const Ran expected = run(*generic, dims), ran = run(*one, dims), shared = run(*three, dims);
        EXPECT_EQ(shared.values, ran.values) << name << " " << n << " x " << m;
        ASSERT_EQ(ran.values.size(), expected.values.size());
        for (size_t i = 0; i < ran.values.size(); ++i)
          ASSERT_NEAR(ran.values[i], expected.values[i], 1e-6 * (1 + std::fabs(expected.values[i])))
              << name << " " << n << " x " << m << " at " << i;
        EXPECT_THAT(ran.kernels, testing::ElementsAre(m <= 31 ? shortRows : std::string(name)))
            << n << " x " << m;
      }
  }
}

TEST_F(VersionsTest, M10_shortRowsOfAKnownLengthNeedNoGuard) {
  std::unique_ptr<Session> boxes = sessionOf(
                               "fn @main(%x: Tensor[(n, 4), f32]) { %y = softmax(%x) return %y }", "auto"),
                           longer = sessionOf(
                               "fn @main(%x: Tensor[(n, 32), f32]) { %y = softmax(%x) return %y }", "auto");
  EXPECT_THAT(run(*boxes, {"n=70"}).kernels, testing::ElementsAre("softmax.rows_in_lanes"));
  EXPECT_THAT(run(*longer, {"n=70"}).kernels, testing::ElementsAre("softmax"));
  std::shared_ptr<const Outcome> kernels = boxes->execute(Command::of(CommandId::kernels));
  EXPECT_EQ(kernels->as<KernelTable>()->rows.size(), 1u) << "the other one is not compiled";
}

// Across memory: neighbouring columns side by side, in blocks that threads share, and each column reduced
// once however many rows there are.
TEST_F(VersionsTest, M10_columnReductionsAreSharedInBlocksAndDoneOnce) {
  const std::pair<const char*, const char*> programs[] = {
      {"softmax", "fn @main(%x: Tensor[(n, m, k), f32]) { %y = softmax(%x) {axis = 1} return %y }"},
      {"softmax", "fn @main(%x: Tensor[(m, n, k), f32]) { %y = softmax(%x) {axis = 0} return %y }"},
      {"reduce_sum",
       "fn @main(%x: Tensor[(n, m, k), f32]) { %i = constant() {value = i64[1] [1]} %y = reduce_sum(%x, %i) "
       "return %y }"}};
  for (const auto& [name, program] : programs) {
    std::unique_ptr<Session> one = sessionOf(program, "auto"), three = sessionOf(program, "auto", 3);
    const std::string loops = loopsOf(text(*one, Command::of(CommandId::ir).add("level", "loop")), name);
    // The loop over lanes is the outermost; within it reductions first, then what is stored for each element.
    const size_t lanes = loops.find(" vector {"), reduction = loops.rfind("accumulate"),
                 rows = loops.rfind("for ");
    EXPECT_THAT(loops.substr(0, lanes), HasSubstr("min(64, ")) << loops;
    EXPECT_LT(lanes, loops.find("accumulate")) << loops;
    if (name == std::string("softmax")) {
      EXPECT_LT(reduction, rows) << "a reduction stands in the loop over rows, once for each:\n" << loops;
    }
    std::vector<std::vector<HostTensor>> inputs;
    for (std::vector<int64_t> shape : {std::vector<int64_t>{2, 3, 5},
                                       {1, 1, 1},
                                       {3, 7, 64},
                                       {2, 33, 65},
                                       {0, 3, 4},
                                       {3, 4, 0},
                                       {5, 2, 131}})
      inputs.push_back({test::reals(shape, 3)});
    test::expectSame(program, inputs);
    for (const char* k : {"k=1", "k=64", "k=700"}) {
      const std::vector<std::string> dims{"n=3", "m=200", k};
      EXPECT_EQ(run(*one, dims).values, run(*three, dims).values) << name << " " << k;
    }
  }
}

// One long reduction of few elements goes in parts of a fixed length, which threads share: the parts decide
// the bits, not the threads.
TEST_F(VersionsTest, M10_longReductionsGoInPartsThatThreadsShare) {
  const std::tuple<const char*, const char*, const char*> programs[] = {{"reduce_sum", "(n, m)", "[1]"},
                                                                        {"reduce_max", "(n, m)", "[1]"},
                                                                        {"reduce_mean", "(m, n)", "[0]"},
                                                                        {"reduce_sum", "(m)", "[0]"}};
  for (const auto& [name, shape, axes] : programs) {
    const bool flat = shape == std::string("(m)");
    const std::string program = "fn @main(%x: Tensor[" + std::string(shape) +
                                ", f32]) { %i = constant() {value = i64[1] " + axes + "} %y = " + name +
                                "(%x, %i) {keepdims = " + (flat ? "0" : "1") + "} return %y }";
    std::unique_ptr<Session> generic = sessionOf(program.c_str(), "generic"),
                             one = sessionOf(program.c_str(), "auto"),
                             three = sessionOf(program.c_str(), "auto", 3);
    const std::string parts = std::string(name) + ".parts", whole = std::string(name) + ".whole";
    std::shared_ptr<const Outcome> kernels = one->execute(Command::of(CommandId::kernels));
    ASSERT_TRUE(kernels->ok());
    std::map<std::string, std::string> rows;
    for (const KernelRow& row : kernels->as<KernelTable>()->rows) rows[row.name] = row.description;
    EXPECT_THAT(rows[parts], HasSubstr(flat ? ", if m > 32768" : ", if m > 32768 and n <= 64"));
    EXPECT_THAT(rows[whole], HasSubstr(" of parts, if m > 32768"));
    for (int n : {0, 1, 3, 64, 65})
      for (int m : {0, 7, 16384, 32768, 32769, 49152, 50000}) {
        if ((flat && n != 1) || (n > 3 && m > 0 && m < 32768)) continue;
        std::vector<std::string> dims{"m=" + std::to_string(m)};
        if (!flat) dims.push_back("n=" + std::to_string(n));
        const std::string what =
            std::string(name) + shape + " n=" + std::to_string(n) + " m=" + std::to_string(m);
        const Ran expected = run(*generic, dims), ran = run(*one, dims), shared = run(*three, dims);
        ASSERT_EQ(ran.values.size(), expected.values.size()) << what;
        for (size_t i = 0; i < ran.values.size(); ++i) {
          const bool same = ran.values[i] == expected.values[i] ||
                            (std::isnan(ran.values[i]) && std::isnan(expected.values[i]));
          if (!same) {
            ASSERT_NEAR(ran.values[i], expected.values[i], 3e-8 * m + 1e-4 * std::fabs(expected.values[i]))
                << what;
          }
          EXPECT_EQ(std::memcmp(&shared.values[i], &ran.values[i], sizeof(double)), 0) << what;
        }
        if (m > 32768 && n <= 64) {
          EXPECT_THAT(ran.kernels, testing::ElementsAre(parts, whole)) << what;
        } else {
          EXPECT_THAT(ran.kernels, testing::Each(testing::Not(testing::EndsWith("parts")))) << what;
        }
      }
  }
}

TEST_F(VersionsTest, fewElementsBehindAReductionShareLanesWithOtherRows) {
  for (const char* name : {"softmax", "argmax"})
    for (const char* type : {"f32", "f64"}) {
      const std::string program = "fn @main(%x: Tensor[(n, m, k), " + std::string(type) +
                                  "]) { %y = " + name + "(%x) {axis = 1} return %y }";
      std::unique_ptr<Session> automatic = sessionOf(program.c_str(), "auto"),
                               generic = sessionOf(program.c_str(), "generic");
      for (const int n : {1, 15, 16, 17, 50})
        for (const int m : {1, 2, 17})
          for (const int k : {1, 2, 3, 4, 5}) {
            const std::vector<std::string> dims = {"n=" + std::to_string(n), "m=" + std::to_string(m),
                                                   "k=" + std::to_string(k)};
            const Ran a = run(*automatic, dims), b = run(*generic, dims);
            EXPECT_EQ(a.values, b.values) << program << " " << testing::PrintToString(dims);
            const std::string kernel = k <= kShortLanes ? std::string(name) + ".short_lanes" : name;
            EXPECT_THAT(a.kernels, testing::ElementsAre(kernel)) << testing::PrintToString(dims);
          }
    }
}

// The quotient and the root are made once for 32 rows; what comes out is what it is where each row makes
// them.
TEST_F(VersionsTest, slowPartsThatRowsShareAreKept) {
  constexpr const char* kRows =
      R"(fn @main(%x: Tensor[(n, c), f64], %s: Tensor[(c), f64], %b: Tensor[(c), f64], %m: Tensor[(c), f64],
         %v: Tensor[(c), f64]) {
  %e = exp(%v)
  %y = batch_norm(%x, %s, %b, %m, %e)
  return %y
}
)";
  constexpr const char* kRank3 =
      R"(fn @main(%x: Tensor[(n, c), f64], %s: Tensor[(c), f64], %b: Tensor[(c), f64], %m: Tensor[(c), f64],
         %v: Tensor[(c), f64]) {
  %e = exp(%v)
  %r = unsqueeze(%x, [2])
  %z = batch_norm(%r, %s, %b, %m, %e)
  %y = squeeze(%z, [2])
  return %y
}
)";
  std::unique_ptr<Session> shared = sessionOf(kRows, "auto"), alone = sessionOf(kRank3, "auto");
  EXPECT_THAT(text(*shared, Command::of(CommandId::ir).add("level", "loop")),
              HasSubstr("scratch t0: f64[1024]"));
  for (const char* n : {"n=1", "n=31", "n=33", "n=97"})
    for (const char* c : {"c=1", "c=7", "c=67", "c=1025"}) {
      const Ran a = run(*shared, {n, c}), b = run(*alone, {n, c});
      ASSERT_EQ(a.values.size(), b.values.size());
      for (size_t i = 0; i < a.values.size(); ++i)
        ASSERT_NEAR(a.values[i], b.values[i], 1e-12 * (1 + std::abs(b.values[i]))) << n << " " << c;
    }
}

TEST_F(VersionsTest, whatIsKnownNeedsNoVersion) {
  for (const char* text :
       {"fn @main(%x: Tensor[(n, 48), f32]) { %y = softmax(%x) return %y }",
        "fn @main(%x: Tensor[(n, m), f32], %b: Tensor[(m), f32]) { %y = add(%x, %b) return %y }",
        "fn @main(%x: Tensor[(n, m), f32], %b: Tensor[(1, 1), f32]) { %y = add(%x, %b) return %y }"}) {
    std::unique_ptr<Session> session = sessionOf(text, "auto");
    EXPECT_THAT(this->text(*session, Command::of(CommandId::ir).add("level", "loop")),
                Not(HasSubstr("no_broadcast")));
  }
  std::unique_ptr<Session> session =
      sessionOf("fn @main(%x: Tensor[(n, 48), f32]) { %y = softmax(%x) return %y }", "residues16");
  EXPECT_THAT(text(*session, Command::of(CommandId::ir).add("level", "loop")), Not(HasSubstr("mod16")));
}

TEST(VersionPolicyTest, textsAreRead) {
  EXPECT_EQ(*parseVersionPolicy("auto"), VersionPolicy());
  EXPECT_FALSE(parseVersionPolicy("generic")->withoutBroadcast);
  EXPECT_EQ(parseVersionPolicy("residues16")->residues, 16);
  for (const char* text : {"", "residues", "residues0", "residues17", "residues1x", "Auto"})
    EXPECT_FALSE(parseVersionPolicy(text).ok()) << text;
}

}  // namespace
}  // namespace dyn
