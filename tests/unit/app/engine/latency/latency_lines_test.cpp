// A formula of the time as lines of a package's metadata: read as it was written, and text from anywhere.
#include "app/engine/latency/latency_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace dyn {
namespace {

using testing::HasSubstr;

PlacedLatency example() {
  PlacedLatency latency;
  latency.formula.baseNs = 410'000.25;
  latency.formula.terms = {{"batch*seq", 0, 64, 12'300}, {"batch*seq", 64, std::nullopt, 1.0 / 3}};
  latency.formula.spread = 1.0825;
  latency.formula.measured = {{"batch", {1, 4}}, {"seq", {1, 256}}};
  latency.place = {"a processor", "cpu", 4};
  latency.sizesCount = 24;
  latency.runsCount = 72;
  return latency;
}

std::string faultOfLines(const std::string& text) {
  const Result<PlacedLatency> read = readLatencyLines(text);
  if (read.ok()) return "";
  EXPECT_EQ(read.error().id, DiagnosticId::badPackage);
  return read.error().message;
}

// The example's lines, with one of them replaced.
std::string withLine(const std::string& line, const std::string& other) {
  std::string text = latencyLines(example());
  const size_t at = text.find("\n" + line) + 1, end = text.find('\n', at);
  EXPECT_NE(at, 0u) << line;
  return text.replace(at, end - at, other);
}

TEST(LatencyLines, AreReadAsTheyWereWritten) {
  const PlacedLatency written = example();
  const std::string lines = latencyLines(written);
  const Result<PlacedLatency> read = readLatencyLines(lines);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(latencyLines(*read), lines);
  EXPECT_TRUE(read->place == written.place);
  EXPECT_EQ(read->sizesCount, 24);
  EXPECT_EQ(read->runsCount, 72);
  EXPECT_EQ(read->formula.formula(), written.formula.formula());
  const DimValues dims = {{"batch", 2}, {"seq", 50}};
  ASSERT_TRUE(read->formula.at(dims));
  EXPECT_EQ(read->formula.at(dims)->ns, written.formula.at(dims)->ns);
  EXPECT_EQ(read->formula.at(dims)->highNs, written.formula.at(dims)->highNs);
  EXPECT_EQ(read->formula.at(dims)->outside, "");
  EXPECT_EQ(read->formula.at({{"batch", 2}, {"seq", 300}})->outside,
            "seq = 300 is above 256, the largest measured");
  EXPECT_EQ(read->place.toString(), "a processor, cpu, 4 threads");
}

// A processor's name may be any text; it stays one line.
TEST(LatencyLines, NamesStayWords) {
  PlacedLatency latency = example();
  latency.place.machine = "two\nlines\tand more";
  const Result<PlacedLatency> read = readLatencyLines(latencyLines(latency));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->place.machine, "two lines and more");
}

TEST(LatencyLines, AreTextFromAnywhere) {
  EXPECT_THAT(faultOfLines(""), HasSubstr("there is no line 'base'"));
  EXPECT_THAT(faultOfLines("{}"), HasSubstr("not the lines of a formula"));
  EXPECT_THAT(faultOfLines("latency\t2\nwhatever"),
              HasSubstr("a formula of version 2; this Dyn reads version 1"));
  EXPECT_THAT(faultOfLines("latency\tx"), HasSubstr("the version is no number"));
  EXPECT_THAT(faultOfLines("latency\t1\nbase\t5\n"), HasSubstr("there is no line 'spread'"));
  EXPECT_THAT(faultOfLines(withLine("base", "base\t-1")), HasSubstr("line 2: '-1' is not a number"));
  for (const char* base : {"nan", "inf", "1e300", "5x", "", "0x5"})
    EXPECT_THAT(faultOfLines(withLine("base", std::string("base\t") + base)), HasSubstr("is not a number"))
        << base;
  EXPECT_THAT(faultOfLines(withLine("spread", "spread\t0.5")), HasSubstr("is not a number"));
  EXPECT_THAT(faultOfLines(withLine("spread", "base\t5")), HasSubstr("a second 'base'"));
  EXPECT_THAT(faultOfLines(withLine("spread", "colour\tred")), HasSubstr("there is no line 'colour'"));
  EXPECT_THAT(faultOfLines(withLine("sizes\tseq", "sizes\tseq\t9\t3")), HasSubstr("'3' is not a number"));
  EXPECT_THAT(faultOfLines(withLine("sizes\tseq", "sizes\tbatch\t1\t3")),
              HasSubstr("a second line of the dim"));
  EXPECT_THAT(faultOfLines(withLine("sizes\tseq", "sizes\t\t1\t3")), HasSubstr("a dim has no name"));
  EXPECT_THAT(faultOfLines(withLine("threads", "threads\t0")), HasSubstr("is not a number"));
  EXPECT_THAT(faultOfLines(withLine("counts", "counts\t24")), HasSubstr("is not a number"));
  EXPECT_THAT(faultOfLines(withLine("term", "term\t1\t0\t64\tbatch*(")), HasSubstr("is no formula of dims"));
  EXPECT_THAT(faultOfLines(withLine("term", "term\t1\t5\t2\tbatch")), HasSubstr("'2' is not a number"));
  EXPECT_THAT(faultOfLines(withLine("term", "term\t1\t0\t\t" + std::string(5000, 'n'))),
              HasSubstr("too long"));
  EXPECT_THAT(faultOfLines(withLine("term", "term\t1\t0\t\t" + std::string(2000, '(') + "n")),
              HasSubstr("is no formula of dims"));
  std::string many = latencyLines(example());
  for (int i = 0; i < 100; ++i) many += "term\t1\t0\t\tn\n";
  EXPECT_THAT(faultOfLines(many), HasSubstr("too many terms"));
}

// Any change of a few bytes is read, or refused by a sentence; what is read gives times that are numbers.
TEST(LatencyLines, ChangedBytes) {
  const std::string lines = latencyLines(example());
  std::mt19937 random(7);
  size_t refused = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string text = lines;
    for (unsigned changes = 1 + random() % 3; changes > 0; --changes)
      text[random() % text.size()] = static_cast<char>(random() % 256);
    const Result<PlacedLatency> read = readLatencyLines(text);
    refused += !read.ok();
    if (!read.ok()) {
      EXPECT_FALSE(read.error().message.empty());
    } else if (const auto at = read->formula.at({{"batch", 1LL << 40}, {"seq", 1LL << 20}})) {
      EXPECT_TRUE(at->lowNs >= 0 && at->lowNs <= at->ns && at->ns <= at->highNs) << text;
    }
  }
  EXPECT_GT(refused, 1000u);
}

}  // namespace
}  // namespace dyn
