#include "app/engine/generate/end_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace dyn {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(EndTokens, AreReadBesideTheModelOrTheTokenizer) {
  test::TemporaryFolder folder;
  const std::string model = folder.path() + "/model.onnx", tokenizer = folder.path() + "/tokenizer.json";
  EXPECT_THAT(endTokensBeside(model, tokenizer).ids, IsEmpty());
  folder.write("tokenizer_config.json", R"({"eos_token": {"content": "</s>"}})");
  EXPECT_EQ(endTokensBeside(model, tokenizer).token, "</s>");
  folder.write("config.json", R"({"eos_token_id": 7})");
  EXPECT_THAT(endTokensBeside(model, tokenizer).ids, ElementsAre(7));
  folder.write("generation_config.json", R"({"eos_token_id": [3, 4]})");
  EXPECT_THAT(endTokensBeside(model, tokenizer).ids, ElementsAre(3, 4));
  EXPECT_EQ(endTokensBeside(model, tokenizer).file, "generation_config.json");
}

// Of files that come with a model from elsewhere: one that nests a million levels is passed over.
TEST(EndTokens, AFileThatNestsWithoutEndIsPassedOver) {
  test::TemporaryFolder folder;
  const std::string nested = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  folder.write("generation_config.json", "{\"eos_token_id\": " + nested + "}");
  folder.write("config.json", R"({"eos_token_id": 7})");
  EXPECT_THAT(endTokensBeside(folder.path() + "/model.onnx", "").ids, ElementsAre(7));
}

}  // namespace
}  // namespace dyn
