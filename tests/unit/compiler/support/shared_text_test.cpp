#include "compiler/support/shared_text.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace dyn {
namespace {

TEST(SharedText, copiesAreOneText) {
  const SharedText text = std::string("model.onnx");
  SharedText copy = text, other = "model.onnx";
  EXPECT_TRUE(copy.sharesWith(text));
  EXPECT_FALSE(other.sharesWith(text));
  EXPECT_EQ(other, text);
  copy = "else";
  EXPECT_EQ(text, "model.onnx");
  EXPECT_EQ(copy, "else");
  EXPECT_EQ(sizeof(SharedText), sizeof(void*));
}

TEST(SharedText, readsAsAString) {
  const SharedText text = "a (b)";
  const std::string string = text;
  const std::string_view view = text;
  EXPECT_EQ(string, view);
  EXPECT_EQ("<" + text, "<a (b)");
  EXPECT_EQ(text + ">", "a (b)>");
  EXPECT_EQ(text.substr(0, text.find(" (")), "a");
  EXPECT_EQ(text.rfind("b"), 3u);
  EXPECT_EQ(text.size(), 5u);
}

TEST(SharedText, emptyHoldsNothing) {
  SharedText text, empty = std::string();
  EXPECT_TRUE(text.empty());
  EXPECT_TRUE(text.sharesWith(empty));
  EXPECT_EQ(text, "");
  text = "x";
  text.clear();
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(text.str(), "");
}

TEST(SharedText, threadsCopyAndDropIt) {
  const SharedText text = "shared by all";
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) {
        SharedText copy = text, moved = std::move(copy);
        ASSERT_EQ(moved.size(), 13u);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(text, "shared by all");
}

}  // namespace
}  // namespace dyn
