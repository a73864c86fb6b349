// Relations between dims that a user states: what the solver learns, what a run checks, what is refused.
#include "app/engine/model/dim_relation.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "app/engine/run/run_result.h"
#include "app/session/views/memory_views.h"
#include "app/session/views/predict_views.h"
#include "app/session/views/why_views.h"
#include "tests/support/session_fixture.h"
#ifdef DYN_HAVE_ONNX
#include "frontends/onnx/read/wire_writer.h"
#include "frontends/onnx/write/messages.h"
#endif

namespace dyn {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

constexpr const char* kTwo = R"(fn @main(%a: Tensor[(n), f32], %b: Tensor[(m), f32]) {
  %s = concat(%a, %a) {axis = 0}
  %t = add(%s, %b)
  return %t
}
)";

class DimRelations : public test::SessionFixture {
 protected:
  std::vector<std::string> factsOf(const std::string& symbol) {
    const auto outcome = line(":dims " + symbol);
    EXPECT_TRUE(outcome->ok());
    return outcome->as<DimsTable>()->rows.at(0).facts;
  }
};

TEST(DimRelation, ReadsComparisonsAndExpressions) {
  EXPECT_TRUE(isDimRelation("seq=2*n"));
  EXPECT_TRUE(isDimRelation("a=b"));
  EXPECT_TRUE(isDimRelation("1<=seq<=512"));
  EXPECT_FALSE(isDimRelation("seq=59"));
  EXPECT_FALSE(isDimRelation("seq=1..512:8"));
  EXPECT_FALSE(isDimRelation("seq=@lengths.txt"));
  const auto chain = parseDimRelations("1 <= seq < 512");
  ASSERT_TRUE(chain.ok());
  ASSERT_EQ(chain->size(), 2u);
  EXPECT_EQ((*chain)[1].left, "seq + 1");
  EXPECT_EQ((*chain)[1].right, "512");
  for (const char* bad : {"seq<=", "<=4", "seq<=2+", "seq<=?", "seq==="})
    EXPECT_FALSE(parseDimRelations(bad).ok()) << bad;
  EXPECT_THAT(splitRelations("batch>=1, seq<=min(8, n) ,"),
              testing::ElementsAre("batch>=1", "seq<=min(8, n)"));
}

TEST_F(DimRelations, AreFactsWithTheirReason) {
  ASSERT_TRUE(loadText(kTwo, "--dim m=2*n")->ok());
  EXPECT_THAT(factsOf("m"), Contains(HasSubstr("m = 2*n (user: --dim m=2*n)")));
  const auto check = line(":dims");
  EXPECT_TRUE(check->as<DimsTable>()->checks.empty()) << "the sum needs no check any more";
  ASSERT_TRUE(loadText(kTwo, "--dim n<=m --dim 1<=n<=512")->ok());
  EXPECT_THAT(factsOf("n"), Contains(HasSubstr("user: --dim n<=m")));
  EXPECT_EQ(line(":dims n")->as<DimsTable>()->rows.at(0).high, 512);
}

TEST_F(DimRelations, OtherNamesStandForAnyNumber) {
  ASSERT_TRUE(loadText(kTwo, "--dim n=32*k --dim m=64*k")->ok());
  EXPECT_EQ(line(":dims n")->as<DimsTable>()->rows.at(0).multiple, 32);
  EXPECT_TRUE(line(":dims")->as<DimsTable>()->checks.empty()) << "2*n = m follows";
}

TEST_F(DimRelations, WhatContradictsIsRefusedWithItsReason) {
  const auto outcome = loadText(kTwo, "--dim n=4..8 --dim m=2*n --dim m<=6");
  ASSERT_FALSE(outcome->ok());
  const std::string text = outcome->error->toString();
  EXPECT_THAT(text, HasSubstr("user: --dim m<=6"));
}

TEST_F(DimRelations, GiveTheSizesThatFollow) {
  ASSERT_TRUE(loadText(kTwo, "--dim m=2*n")->ok());
  const auto forward = line(":run --dim n=3");
  ASSERT_TRUE(forward->ok()) << forward->error->toString();
  EXPECT_EQ(forward->as<RunResult>()->outputs.at(0).type, "Tensor[(6), f32]");
  const auto backward = line(":run --dim m=8");
  ASSERT_TRUE(backward->ok()) << backward->error->toString();
  EXPECT_EQ(backward->as<RunResult>()->outputs.at(0).type, "Tensor[(8), f32]");
  EXPECT_EQ(line(":run --input b=[1,2,3,4]")->as<RunResult>()->outputs.at(0).type, "Tensor[(4), f32]");
  EXPECT_TRUE(line(":predict --dim n=3")->ok());
  for (const char* none : {":run", ":run --dim m=7", ":run --dim n=3 --dim m=7"})
    EXPECT_FALSE(line(none)->ok()) << none;
  EXPECT_THAT(line(":run --dim m=7")->error->toString(),
              HasSubstr("contradicts m = 2*n (user: --dim m=2*n)"));
  ASSERT_TRUE(loadText(kTwo, "--dim m=2*n --dim n<=64")->ok());
  EXPECT_THAT(line(":run --dim n=65")->error->toString(), HasSubstr("contradicts n <= 64"));
  ASSERT_TRUE(loadText(kTwo)->ok());
  EXPECT_EQ(line(":run --dim n=3")->error->id, DiagnosticId::inputMissing) << "m may be 1, too";
}

TEST_F(DimRelations, UnknownNamesAreRefused) {
  for (const char* text : {"--dim m=k", "--dim k<=m", "--dim m=k*l", "--dim m=2*k+n"}) {
    const auto outcome = loadText(kTwo, text);
    ASSERT_FALSE(outcome->ok()) << text;
    EXPECT_EQ(outcome->error->id, DiagnosticId::usageError) << text;
  }
  const std::string named =
      "fn @main(%a: Tensor[(batch), f32], %b: Tensor[(seq), f32]) {\n  return %a, %b\n}\n";
  const auto slip = loadText(named, "--dim seq=2*bath");
  ASSERT_FALSE(slip->ok());
  EXPECT_THAT(slip->error->toString(), HasSubstr("did you mean batch?"));
}

TEST_F(DimRelations, ARunChecksThem) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  const std::string text = kTwo;
  for (const std::string& said :
       {std::string("dim m == 2*n because \"pairs\"\n"), std::string("dim n + n <= m\ndim m <= 2*n\n")}) {
    ASSERT_TRUE(loadText(said + text)->ok()) << said;
    EXPECT_TRUE(line(":run --dim n=3 --dim m=6")->ok()) << said;
    EXPECT_FALSE(line(":run --dim n=3 --dim m=5")->ok()) << said;
  }
  ASSERT_TRUE(loadText(text, "--dim m=2*n")->ok());
  EXPECT_TRUE(line(":run --dim n=3 --dim m=6")->ok());
  const auto outcome = line(":run --dim n=3 --dim m=5");
  ASSERT_FALSE(outcome->ok());
  EXPECT_THAT(outcome->error->message, HasSubstr("m = 2*n (user: --dim m=2*n)"));
}

TEST_F(DimRelations, TravelInAPackage) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  const std::string package = folder_ / "said.dynpkg";
  ASSERT_TRUE(loadText(kTwo)->ok());
  ASSERT_TRUE(line(":compile -o " + package + " --dim m=2*n --dim 1<=n<=64")->ok());
  ASSERT_TRUE(line(":load " + package)->ok());
  EXPECT_THAT(factsOf("m"), testing::ElementsAre("m = 2*n (user: --dim m=2*n)"));
  const auto table = line(":dims");
  EXPECT_EQ(table->as<DimsTable>()->rows.at(0).high, 64);
  EXPECT_EQ(table->as<DimsTable>()->rows.at(1).high, 128);
  EXPECT_EQ(line(":dims o")->error->id, DiagnosticId::textName);
  EXPECT_EQ(line(":run --dim n=3")->as<RunResult>()->outputs.at(0).type, "Tensor[(6), f32]");
  EXPECT_EQ(line(":run --dim m=8")->as<RunResult>()->outputs.at(0).type, "Tensor[(8), f32]");
  EXPECT_THAT(line(":run --dim n=3 --dim m=5")->error->message, HasSubstr("m = 2*n (user: --dim m=2*n)"));
  EXPECT_FALSE(line(":run --dim m=7")->ok());
  EXPECT_THAT(line(":load " + package + " --dim m=3*n")->error->message,
              HasSubstr("declared when it was compiled"));
  // The bytes of two compilations are the same, and nothing is said where nothing is known.
  ASSERT_TRUE(loadText(kTwo)->ok());
  ASSERT_TRUE(line(":compile -o " + package)->ok());
  ASSERT_TRUE(line(":load " + package)->ok());
  EXPECT_TRUE(factsOf("m").empty());
  EXPECT_FALSE(line(":run --dim n=3")->ok());
}

TEST_F(DimRelations, TravelInATextModule) {
  ASSERT_TRUE(loadText(kTwo, "--dim m=2*n --dim n=8..64:8")->ok());
  const std::string saved = folder_ / "saved.dyn";
  ASSERT_TRUE(line(":save model " + saved)->ok());
  ASSERT_TRUE(line(":load " + saved)->ok());
  EXPECT_THAT(factsOf("m"), Contains("m = 2*n (user: --dim m=2*n)"));
  EXPECT_EQ(line(":dims n")->as<DimsTable>()->rows.at(0).multiple, 8);
}

TEST_F(DimRelations, LimitsAreOfDimsThatDoNotFollow) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  ASSERT_TRUE(loadText(kTwo, "--dim m=2*n")->ok());
  const auto limit = line(":limit 1MB");
  ASSERT_TRUE(limit->ok()) << limit->error->toString();
  ASSERT_EQ(limit->as<LimitView>()->rows.size(), 1u);
  const int64_t largest = *limit->as<LimitView>()->rows[0].largest;
  EXPECT_GT(largest, 1000) << "m grows with n";
  EXPECT_TRUE(line(":sweep n 1..64 --points 3")->ok());
  EXPECT_EQ(line(":sweep m 2..64 --points 3")->as<SweepView>()->others.size(), 0u);
}

#ifdef DYN_HAVE_ONNX
TEST_F(DimRelations, TravelInAnOnnxFile) {
  ASSERT_TRUE(loadText(kTwo, "--dim m=2*n --dim n=1..64")->ok());
  const std::string saved = folder_.path() + "/saved.onnx", typed = folder_.path() + "/typed.onnx";
  ASSERT_TRUE(line(":save " + saved)->ok());
  ASSERT_TRUE(line(":load " + saved)->ok());
  EXPECT_THAT(factsOf("m"), Contains("m = 2*n (file: m=2*n)"));
  EXPECT_EQ(line(":dims m")->as<DimsTable>()->rows.at(0).high, 128);
  EXPECT_TRUE(line(":dims")->as<DimsTable>()->checks.empty());
  // What is said of that file besides joins what it says.
  ASSERT_TRUE(line(":load " + saved + " --dim n<=8 --dim m=2*n")->ok());
  ASSERT_TRUE(line(":infer " + typed)->ok());
  ASSERT_TRUE(line(":load " + typed)->ok());
  EXPECT_THAT(factsOf("n"), Contains("n <= 8 (file: n<=8)"));
  EXPECT_THAT(factsOf("m"), Contains("m = 2*n (file: m=2*n)"));
  // Both reasons of a contradiction.
  const auto contradiction = line(":load " + saved + " --dim m=3*n+1");
  ASSERT_FALSE(contradiction->ok());
  EXPECT_THAT(contradiction->error->toString(),
              testing::AllOf(HasSubstr("file: m=2*n"), HasSubstr("user: --dim m=3*n+1")));
}

// Of dims that a part does not have nothing is said; those that are numbers are written as numbers.
TEST_F(DimRelations, OfTheDimsOfANewFileAreWritten) {
  ASSERT_TRUE(loadText("dim 2*p <= m\n"
                       "fn @main(%a: Tensor[(n), f32], %b: Tensor[(m), f32], %c: Tensor[(p), f32]) {\n"
                       "  %s = concat(%a, %a) {axis = 0}\n  %r = relu(%b)\n  %t = add(%s, %r)\n"
                       "  %u = relu(%c)\n  return %t, %u\n}\n",
                       "--dim m=2*n --dim p=4*k --dim n=1..64:8 --dim p=2..100")
                  ->ok());
  const std::string whole = folder_.path() + "/whole.onnx", made = folder_.path() + "/made.onnx";
  ASSERT_TRUE(line(":save " + whole)->ok());
  const auto loaded = [&](const std::string& file) {
    const auto outcome = line(":load " + file);
    EXPECT_TRUE(outcome->ok());
    EXPECT_TRUE(outcome->warnings.empty()) << outcome->warnings.at(0).toString();
  };
  loaded(whole);
  EXPECT_THAT(factsOf("p"),
              IsSupersetOf({"m - 2*p >= 0 (file: m - 2*p>=0)", "p is a multiple of 4 (file: p=4*k)"}));
  EXPECT_THAT(factsOf("n"), Contains(HasSubstr("n is a multiple of 8")));
  ASSERT_TRUE(line(":extract " + made + " --to u")->ok());
  loaded(made);
  EXPECT_THAT(factsOf("p"), Contains("p is a multiple of 4 (file: p=4*k)"));
  EXPECT_EQ(line(":dims p")->as<DimsTable>()->rows.at(0).high, 100);
  ASSERT_TRUE(line(":load " + whole + " --dim n=16 --dim p=0..50")->ok());
  ASSERT_TRUE(line(":infer " + made)->ok());
  loaded(made);
  EXPECT_THAT(factsOf("m"), Contains("m = 32 (file: m=2*16)"));
  EXPECT_THAT(factsOf("p"), Contains(HasSubstr("p in 4..50")));
  // What stood for any number is a dim of the opened model.
  ASSERT_TRUE(loadText("fn @main(%x: Tensor[(1, n), f32]) {\n  %y = relu(%x)\n  return %y\n}\n",
                       "--dim n=32*batch --dim n+1<=96")
                  ->ok());
  ASSERT_TRUE(line(":save " + whole)->ok());
  loaded(whole);
  ASSERT_TRUE(line(":generalise " + made + " --at x.0=batch --at x.1=n:32")->ok());
  loaded(made);
  EXPECT_THAT(factsOf("n"),
              AllOf(Contains("n + 1 <= 96 (file: n+1<=96)"), Not(Contains(HasSubstr("batch")))));
}

// A file is not lost by what its metadata says, and makes no other file be read.
TEST_F(DimRelations, OfAFileThatAreNoneArePassedOverAloud) {
  ASSERT_TRUE(loadText(kTwo)->ok());
  const std::string plain = folder_.path() + "/plain.onnx";
  ASSERT_TRUE(line(":save " + plain)->ok());
  std::ifstream in(plain, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  onnx::WireWriter more;
  more.bytes(14, onnx::entryMessage("dyn.dims", "n<=, n=@/etc/passwd, a<=b, n<=m"));
  more.bytes(14, onnx::entryMessage("dyn.dim.m", "8..2"));
  const std::string file = folder_.write("said.onnx", bytes + more.take());
  const auto loaded = line(":load " + file);
  ASSERT_TRUE(loaded->ok());
  EXPECT_THAT(factsOf("n"), Contains(HasSubstr("file: n<=m")));
  std::string warnings;
  for (const Diagnostic& warning : loaded->warnings) warnings += warning.toString() + "\n";
  for (const char* said : {"n<=: ", "n=@/etc/passwd: it names a file", "a<=b: ", "m=8..2: "})
    EXPECT_THAT(warnings, HasSubstr(said));
}
#endif

}  // namespace
}  // namespace dyn
