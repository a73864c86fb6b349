#include "compiler/support/read_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "compiler/support/atomic_write.h"
#include "compiler/support/folders.h"
#include "compiler/support/mapped_file.h"
#include "tests/support/temporary_folder.h"

namespace dyn {
namespace {

using testing::HasSubstr;

TEST(ReadFiles, WhatWasReadIsNotWrittenOver) {
  test::TemporaryFolder folder;
  const std::string file = folder.write("in", "1"), link = folder / "link", hard = folder / "hard";
  ASSERT_EQ(::symlink(file.c_str(), link.c_str()), 0);
  ASSERT_EQ(::link(file.c_str(), hard.c_str()), 0);
  ReadFiles read;
  {
    const ReadFilesScope scope(read);
    ASSERT_TRUE(MappedFile::open(file).ok());
    for (const std::string& path : {file, link, hard, folder / "./in"}) {
      const Status status = writeFileAtomically(path, {"2"});
      ASSERT_FALSE(status.ok()) << path;
      EXPECT_EQ(status.error().id, DiagnosticId::usageError);
    }
    EXPECT_TRUE(writeFileAtomically(folder / "other", {"2"}).ok());
    EXPECT_TRUE(updateFileAtomically(file, {"3"}).ok());
  }
  EXPECT_TRUE(writeFileAtomically(file, {"4"}).ok()) << "nothing is refused without a scope";
}

TEST(ReadFiles, AnInnerScopeNotesForThoseAroundItUnlessAlone) {
  test::TemporaryFolder folder;
  const std::string one = folder.write("one", "1"), two = folder.write("two", "2");
  ReadFiles outer, within, alone;
  const ReadFilesScope scope(outer);
  {
    const ReadFilesScope inner(within);
    noteRead(one);
  }
  {
    const ReadFilesScope inner(alone, ReadFilesScope::Nesting::alone);
    noteRead(two);
    EXPECT_TRUE(mayWrite(one).ok());
    EXPECT_FALSE(mayWrite(two).ok());
  }
  EXPECT_FALSE(mayWrite(one).ok());
  EXPECT_TRUE(mayWrite(two).ok());
}

TEST(Folders, AreMadeOrSayWhyNot) {
  test::TemporaryFolder folder;
  EXPECT_TRUE(writeFileAtomically(folder / "a/b/c", {"1"}).ok());
  EXPECT_TRUE(makeFolders(folder / "a/b").ok());
  const Status status = makeFolders(folder / "a/b/c/d");
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("cannot be made: a file has this name"));
  EXPECT_EQ(folderOf("x"), ".");
  EXPECT_EQ(folderOf("/x"), "/");
  EXPECT_EQ(folderOf("a/b/x"), "a/b");
}

}  // namespace
}  // namespace dyn
