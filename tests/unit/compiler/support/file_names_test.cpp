#include "compiler/support/file_names.h"

#include <gtest/gtest.h>

#include "compiler/support/utf8.h"

namespace dyn {
namespace {

TEST(FileNames, LettersOfAnyScriptStay) {
  for (const char* name : {"y", "a.b-c_9", "日本", "größe", "выход", "خروجی", "निर्गम", "ผลลัพธ์", "𝛼"})
    EXPECT_EQ(fileNameOf(name), name);
}

TEST(FileNames, AllElseIsAnUnderscore) {
  const std::pair<std::string, const char*> rows[] = {
      {"a/b", "a_b"},
      {"a:b", "a_b"},
      {"", "_"},
      {".", "_"},
      {"..", "_."},
      {".hidden", "_hidden"},
      {"-rf", "_rf"},
      {"a\nb", "a_b"},
      {std::string("a\0b", 3), "a_b"},
      {"a\x1b[31m", "a__31m"},
      {"a\xff", "a_"},
      {"a\xe2\x80\xae"
       "b",
       "a_b"},
      {"a\xc2\xa0"
       "b",
       "a_b"},
      {"a b", "a_b"},
      {"\xed\xa0\x80", "___"},
  };
  for (const auto& [name, file] : rows) EXPECT_EQ(fileNameOf(name), file);
}

TEST(FileNames, NoTwoAreEqual) {
  FileNames names;
  EXPECT_EQ(names.file("a/b", ".npy"), "a_b.npy");
  EXPECT_EQ(names.file("a:b", ".npy"), "a_b_2.npy");
  EXPECT_EQ(names.file("a_b_2", ".npy"), "a_b_2_2.npy");
  EXPECT_EQ(names.file("a_b", ".0.npy"), "a_b.0.npy");
  EXPECT_EQ(names.file("a_b.0", ".npy"), "a_b.0_2.npy");
  EXPECT_EQ(names.file("A_B", ".npy"), "A_B.npy");
}

// A file system takes 255 bytes: of the name, the ending, and what a file is called while it is written.
TEST(FileNames, LongNamesAreCutBetweenLetters) {
  FileNames names;
  const std::string longName(1000, 'a');
  const std::string first = names.file(longName + "1", ".npy"), second = names.file(longName + "2", ".npy");
  EXPECT_NE(first, second);
  EXPECT_LT(second.size() + 30, 255u);
  std::string letters;
  for (int i = 0; i < 300; ++i) letters += "本";
  const std::string cut = fileNameOf(letters);
  EXPECT_LE(cut.size(), 200u);
  EXPECT_EQ(cut.size() % 3, 0u);
}

TEST(CodePointAt, TakesUtf8AndNothingElse) {
  EXPECT_EQ(codePointAt("aé本𝛼", 0).value, U'a');
  EXPECT_EQ(codePointAt("aé本𝛼", 1).value, U'é');
  EXPECT_EQ(codePointAt("aé本𝛼", 3).value, U'本');
  EXPECT_EQ(codePointAt("aé本𝛼", 6).value, U'𝛼');
  for (const char* wrong :
       {"\x80", "\xc0\xaf", "\xc2", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"})
    EXPECT_EQ(codePointAt(wrong, 0).bytes, 0u);
}

}  // namespace
}  // namespace dyn
