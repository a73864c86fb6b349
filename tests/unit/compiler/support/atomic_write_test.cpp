#include "compiler/support/atomic_write.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "tests/support/temporary_folder.h"

namespace dyn {
namespace {

int filesOf(const std::string& folder) {
  std::error_code fault;
  int count = 0;
  for (std::filesystem::recursive_directory_iterator entry(folder, fault), end; !fault && entry != end;
       entry.increment(fault))
    ++count;
  return count;
}

// Files are written without end on one thread; the other ends the process. Exit code 0: nothing is left.
[[noreturn]] void endWhileFilesAreWritten(const std::string& folder) {
  std::thread writer([&folder] {
    for (int i = 0;; ++i) {
      const std::string file = folder + "/a/" + std::to_string(i);
      if (!writeFileAtomically(file, {std::string(10'000, 'x')}).ok()) return;
      std::error_code gone;
      if (i % 2 == 0) std::filesystem::remove(file, gone);
    }
  });
  while (filesOf(folder) < 20) std::this_thread::yield();
  endWrites();
  std::error_code fault;  // remove_all stops where the writer removes the same file at the same time
  do std::filesystem::remove_all(folder, fault);
  while (fault);
  writer.join();
  std::_Exit(filesOf(folder) == 0 ? 0 : 1);
}

TEST(EndWrites, NothingIsMadeOnceWritesAreEnded) {
  for (int i = 0; i < 10; ++i) {
    test::TemporaryFolder folder;
    EXPECT_EXIT(endWhileFilesAreWritten(folder / "out"), testing::ExitedWithCode(0), "");
  }
}

TEST(TemporaryFiles, FilesThatAreHalfWrittenAreRemoved) {
  test::TemporaryFolder folder;
  const std::string path = folder / "missing/file";
  ASSERT_TRUE(writeFileAtomically(path, {"a", "b"}).ok());
  ASSERT_FALSE(writeFileAtomically(path + "/below", {"a"}).ok());
  ASSERT_FALSE(updateFileAtomically(folder / "missing", {"a"}).ok()) << "a folder is not replaced";
  EXPECT_EQ(filesOf(folder / "missing"), 1);
  EXPECT_EQ(filesOf(folder / "."), 2);
}

}  // namespace
}  // namespace dyn
