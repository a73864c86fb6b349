// Tables that fit, and the words of IR that have colours.
#include "app/session/views/text_table.h"

#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "app/session/views/text/ir_colors.h"

namespace dyn {
namespace {

TextOptions fitted(int width) {
  TextOptions options;
  options.width = width;
  options.fitted = true;
  return options;
}

std::vector<std::string> tableLinesOf(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(TextTable, isAsWideAsItsCellsUnlessItHasToFit) {
  const TextRows rows = {{"/model/layers.0/attention/query/MatMul", "12"}, {"/model/layers.1/mlp", "3"}};
  EXPECT_EQ(textTable({"name", ">uses"}, rows, {}),
            "name                                    uses\n"
            "/model/layers.0/attention/query/MatMul    12\n"
            "/model/layers.1/mlp                        3\n");
  EXPECT_EQ(textTable({"name", ">uses"}, rows, fitted(100)), textTable({"name", ">uses"}, rows, {}));
}

TEST(TextTable, saysACommonBeginningOnce) {
  const TextRows rows = {{"/model/layers.0/attention/query/MatMul", "12"}, {"/model/layers.1/mlp", "3"}};
  EXPECT_EQ(textTable({"name", ">uses"}, rows, fitted(40)),
            "name                       uses\n"
            "…0/attention/query/MatMul    12\n"
            "…1/mlp                        3\n"
            "… of name: /model/layers.\n");
}

TEST(TextTable, theLastColumnGoesOn) {
  const TextRows rows = {{"matmul", "a product of two matrices and what is added to it"}};
  EXPECT_EQ(textTable({"op", "what"}, rows, fitted(36)),
            "op      what\n"
            "matmul  a product of two matrices\n"
            "        and what is added to it\n");
}

// Whatever is in the cells, no line is wider than it should be while a column can be cut.
TEST(TextTable, fits) {
  std::mt19937 random(7);
  const auto upTo = [&](size_t n) { return random() % (n + 1); };
  for (int round = 0; round < 400; ++round) {
    const size_t columns = 2 + upTo(3);
    std::vector<std::string> head;
    TextRows rows(1 + upTo(6));
    for (size_t c = 0; c < columns; ++c) head.push_back(c % 2 ? ">no" : "head " + std::to_string(c));
    for (auto& row : rows)
      for (size_t c = 0; c < columns; ++c) {
        std::string cell;
        for (size_t n = upTo(60); n > 0; --n) cell += upTo(9) == 0 ? " " : upTo(12) == 0 ? "é" : "x";
        row.push_back(c % 2 ? std::to_string(upTo(99999)) : cell);
      }
    const int width = 60 + static_cast<int>(upTo(60));
    for (const std::string& line : tableLinesOf(textTable(head, rows, fitted(width))))
      EXPECT_LE(columnsOf(line), static_cast<size_t>(width)) << line;
  }
}

TEST(TextTable, wordsAreWrappedAndMiddlesLeftOut) {
  EXPECT_EQ(wrapped("  one two three", 9, 2), "  one two\n  three");
  EXPECT_EQ(wrapped("one two three", 0, 2), "one two three");
  EXPECT_EQ(wrapped("a verylongwordindeed", 8, 0), "a\nverylongwordindeed");
  EXPECT_EQ(columnsOf(wrapped("verylongwordindeed", 8, 0, true)), 8u);
  EXPECT_EQ(shortened("/layer/attention/output", 12), "/la…n/output");
  EXPECT_EQ(shortened("ééééééééé", 5), "é…ééé");
}

std::string words(const std::string& line) {
  std::string text;
  for (const IrSpan& span : irSpans(line))
    text += std::string(1, "kvctnsk/"[static_cast<size_t>(span.word)]) + ":" +
            line.substr(span.begin, span.size) + " ";
  return text;
}

TEST(IrColors, findsTheWordsOfALine) {
  EXPECT_EQ(words(R"(  %y.1 = softmax(%x) {axis = -1} : Tensor[(n, 3), f32])"),
            "v:%y.1 c:softmax v:%x n:1 t:Tensor n:3 t:f32 ");
  EXPECT_EQ(words(R"(fn @main(%x: Tensor[(n), f32]) {)"), "k:fn v:@main v:%x t:Tensor t:f32 ");
  EXPECT_EQ(words(R"(  %"a // name" = constant() // "no" %x)"), R"(v:%"a // name" c:constant k:// "no" %x )");
  EXPECT_EQ(words(""), "");
  EXPECT_EQ(words("\"never closed %x"), "s:\"never closed %x ");
  EXPECT_EQ(colored("fn x\ny"), "\033[35mfn\033[0m x\ny");
}

}  // namespace
}  // namespace dyn
