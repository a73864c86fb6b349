#include "app/session/history_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/temporary_folder.h"

namespace dyn {
namespace {

class HistoryFileTest : public testing::Test {
 protected:
  size_t linesInFile() const {
    std::ifstream file(path_);
    size_t count = 0;
    for (std::string line; std::getline(file, line);) ++count;
    return count;
  }
  const test::TemporaryFolder folder_;
  const std::string path_ = folder_ / "history";
};

TEST_F(HistoryFileTest, entriesOfSeveralLinesComeBackWhole) {
  HistoryFile history(path_);
  EXPECT_TRUE(history.load().empty());
  history.append("x = [1,\n2]");
  history.append("a \\n that was typed, and a \\");
  EXPECT_EQ(HistoryFile(path_).load(),
            (std::vector<std::string>{"x = [1,\n2]", "a \\n that was typed, and a \\"}));
}

TEST_F(HistoryFileTest, isTrimmedToTheNewestWhenReadAndWhileItGrows) {
  {
    std::ofstream file(path_);
    for (int i = 0; i < 250; ++i) file << "entry " << i << "\n";
  }
  HistoryFile history(path_, 100);
  const std::vector<std::string> entries = history.load();
  ASSERT_EQ(entries.size(), 100u);
  EXPECT_EQ(entries.front(), "entry 150");
  EXPECT_EQ(linesInFile(), 100u);
  for (int i = 0; i < 1000; ++i) {
    history.append("later " + std::to_string(i));
    ASSERT_LE(linesInFile(), 121u);
  }
  EXPECT_EQ(HistoryFile(path_, 100).load().back(), "later 999");
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    files += entry.is_regular_file();
  EXPECT_EQ(files, 1u) << "a temporary file was left";
}

TEST_F(HistoryFileTest, shellsSideBySideLoseNothing) {
  // Each trims while the others append: of 4 x 300 entries the limit of 2000 keeps all, that of 150 the
  // newest.
  for (size_t limit : {2000u, 150u}) {
    std::filesystem::remove(path_);
    std::vector<std::thread> shells;
    for (int shell = 0; shell < 4; ++shell)
      shells.emplace_back([&, shell] {
        HistoryFile history(path_, limit);
        history.load();
        for (int i = 0; i < 300; ++i)
          history.append("shell " + std::to_string(shell) + " entry " + std::to_string(i));
      });
    for (std::thread& shell : shells) shell.join();
    const std::vector<std::string> entries = HistoryFile(path_, limit).load();
    ASSERT_EQ(entries.size(), std::min<size_t>(limit, 1200));
    for (const std::string& entry : entries) ASSERT_EQ(entry.compare(0, 6, "shell "), 0) << entry;
  }
}

TEST_F(HistoryFileTest, aFolderThatCanNotBeWrittenIsNoError) {
  HistoryFile history(folder_ / "none/history");
  EXPECT_TRUE(history.load().empty());
  history.append("x");
  EXPECT_TRUE(HistoryFile("").load().empty());
}

}  // namespace
}  // namespace dyn
