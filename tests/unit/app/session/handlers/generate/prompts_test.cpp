#include "app/session/handlers/generate/prompts.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace dyn {
namespace {

TEST(Prompts, TextsIdsAndLinesOfAFile) {
  const test::TemporaryFolder folder;
  const std::string file = folder.write("prompts.txt", "one\r\n\ntwo words\nlast");
  const Result<std::vector<Prompt>> prompts = parsePrompts({"text:a: b", "@" + file, "ids:15,7,3"});
  ASSERT_TRUE(prompts.ok()) << prompts.error().message;
  ASSERT_EQ(prompts->size(), 5U);
  EXPECT_EQ((*prompts)[0].text, "a: b");
  EXPECT_EQ((*prompts)[1].text, "one");
  EXPECT_EQ((*prompts)[2].text, "two words");
  EXPECT_EQ((*prompts)[3].text, "last");
  EXPECT_FALSE((*prompts)[4].isText);
  EXPECT_EQ((*prompts)[4].ids, (std::vector<int64_t>{15, 7, 3}));
}

TEST(Prompts, WhatIsNoPromptIsAnError) {
  for (const char* spec : {"words", "ids:1,x", "ids:-1", "ids:1;2", "@/nowhere/prompts.txt", ""})
    EXPECT_FALSE(parsePrompts({spec}).ok()) << spec;
  EXPECT_FALSE(parsePrompts({}).ok());
}

}  // namespace
}  // namespace dyn
