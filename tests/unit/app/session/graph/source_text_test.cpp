// The text that a model comes from, and the way from its lines to all other levels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "app/session/explain/node_source.h"
#include "app/session/graph/level_links.h"
#include "app/session/views/code_views.h"
#include "tests/support/paths.h"
#include "tests/support/session_fixture.h"

namespace dyn {
namespace {

using testing::HasSubstr;

class SourceTextTest : public test::SessionFixture {
 protected:
  Shared<IrText> text(const std::string& level) {
    const auto outcome = line(":ir --linked --level " + level);
    EXPECT_TRUE(outcome->ok()) << outcome->error->toString();
    return outcome->ok() ? outcome->share<IrText>() : std::make_shared<IrText>();
  }
  static std::string lineOf(const IrText& text, uint32_t number) {
    std::istringstream lines(text.text);
    std::string found;
    while (number-- > 0 && std::getline(lines, found)) {
    }
    return found;
  }
  static uint32_t lineWith(const IrText& text, const std::string& what) {
    std::istringstream lines(text.text);
    std::string one;
    for (uint32_t number = 1; std::getline(lines, one); ++number)
      if (one.find(what) != std::string::npos) return number;
    ADD_FAILURE() << "no line with " << what << " in\n" << text.text;
    return 0;
  }
};

TEST_F(SourceTextTest, aTextModuleIsItsFile) {
  const std::string file = folder_ / "m.dyn", written = R"(# two results
fn @main(%x: Tensor[(n, m), f32]) {
  %h = softmax(
    %x,   # (not a bracket
    axis = -1)
  %y = tanh(%x)
  return %h, %y
}
)";
  std::ofstream(file) << written;
  ASSERT_TRUE(line(":load " + file)->ok());
  const auto source = text("source"), graph = text("graph"), assembly = text("asm");
  EXPECT_EQ(source->text, written);
  const LineOrigin* softmax = originOf(*source, 5);
  ASSERT_NE(softmax, nullptr) << "a statement ends where its brackets end";
  EXPECT_EQ(softmax->line, 3u);
  EXPECT_EQ(softmax->lastLine, 5u);
  EXPECT_EQ(originOf(*source, 7), nullptr);
  const auto made = linesOf(*source, 6, *graph);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_THAT(lineOf(*graph, made[0]), HasSubstr("tanh("));
  EXPECT_EQ(linesOf(*graph, made[0], *source), std::vector<uint32_t>{6}) << "and back";
  EXPECT_FALSE(linesOf(*source, 6, *assembly).empty());
}

TEST_F(SourceTextTest, everyNodeOfAnOnnxFileLeadsToItsOperationsAndBack) {
  const auto loaded = line(":load " + test::sourceFolder() + "/samples/models/bert_new/model.onnx");
  if (!loaded->ok()) GTEST_SKIP() << "this build reads no ONNX files";
  const auto source = text("source"), graph = text("graph"), assembly = text("asm");
  const uint32_t gelu = lineWith(*source, "Gelu \"");
  const LineOrigin* origin = originOf(*source, gelu);
  ASSERT_NE(origin, nullptr);
  std::string all;
  for (uint32_t at = origin->line; at <= origin->lastLine; ++at) all += lineOf(*source, at) + "\n";
  EXPECT_THAT(all, HasSubstr("in   %")) << "its inputs";
  EXPECT_THAT(all, HasSubstr(": Tensor[(batch, seq, ")) << "with their types";
  EXPECT_THAT(all, HasSubstr("approximate = \"none\""));
  EXPECT_THAT(all, HasSubstr("modeling_bert.py\", line ")) << "where it was written";
  EXPECT_THAT(all, HasSubstr(", in forward"));
  EXPECT_THAT(all, HasSubstr("// namespace: "));
  const auto made = linesOf(*source, gelu, *graph);
  ASSERT_FALSE(made.empty());
  EXPECT_THAT(lineOf(*graph, made[0]), HasSubstr("gelu("));
  const auto back = linesOf(*graph, made[0], *source);
  EXPECT_NE(std::find(back.begin(), back.end(), gelu), back.end());
  EXPECT_FALSE(linesOf(*source, gelu, *assembly).empty());
  // No operation of the graph is without its node.
  for (const LineOrigin& operation : graph->origins)
    EXPECT_FALSE(linesOf(*graph, operation.line, *source).empty()) << lineOf(*graph, operation.line);
}

TEST_F(SourceTextTest, bodiesLieInTheirNodes) {
  const auto loaded = line(":load " + test::sourceFolder() + "/samples/models/lstm_loop/model.onnx");
  if (!loaded->ok()) GTEST_SKIP() << "this build reads no ONNX files";
  const auto source = text("source"), graph = text("graph");
  EXPECT_THAT(lineOf(*source, lineWith(*source, "= graph \"")), HasSubstr("  body = graph"));
  for (const LineOrigin& operation : graph->origins)
    EXPECT_FALSE(linesOf(*graph, operation.line, *source).empty()) << lineOf(*graph, operation.line);
  // Brackets are closed.
  EXPECT_EQ(std::count(source->text.begin(), source->text.end(), '{'),
            std::count(source->text.begin(), source->text.end(), '}'));
}

TEST_F(SourceTextTest, whatHasNoneSaysWhy) {
  const std::string file = folder_ / "m.dyn", package = folder_ / "m.dynpkg";
  std::ofstream(file) << "fn @main(%x: Tensor[(n), f32]) {\n  %y = tanh(%x)\n  return %y\n}\n";
  ASSERT_TRUE(line(":load " + file)->ok());
  if (!line(":compile -o " + package)->ok()) GTEST_SKIP() << "this build generates no code";
  ASSERT_TRUE(line(":load " + package)->ok());
  const auto none = line(":ir --level source");
  ASSERT_FALSE(none->ok());
  EXPECT_THAT(none->error->message, HasSubstr("unsupported: a package"));
}

TEST(NodeSource, FramesOfAllFormsOfTraces) {
  const auto frames = framesIn(
      "File \"/m/make.py\", line 43, in forward\n    return self.inner(x)\n"
      "  File \"/m/bert.py\", line 93, in embed\n    y = torch.gather(x)\n");
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].line, 43);
  EXPECT_EQ(frames[0].function, "forward");
  EXPECT_EQ(frames[1].code, "y = torch.gather(x)");
  EXPECT_EQ(frames[1].function, "embed");
  const auto calls = framesIn("/m/conv.py(443): _conv_forward\n/m/net.py(12): forward\n");
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[1].file, "/m/conv.py") << "the innermost is last";
  EXPECT_EQ(calls[1].line, 443);
  EXPECT_EQ(calls[0].function, "forward");
  EXPECT_EQ(sourceIn("# /m/a.py:12:0").line, 12);
  EXPECT_TRUE(framesIn("a plain description").empty());
}

}  // namespace
}  // namespace dyn
