// Digests of files, which are read when they are first asked for.
#include "app/engine/model/file_digest.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace dyn {
namespace {

TEST(FileDigest, IsTheSumOfTheBytes) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(FileDigest(folder.write("nine", "123456789")).text(), "cbf43926") << "the check value of CRC-32";
  EXPECT_EQ(FileDigest(folder.path() + "/nothing").text(), "");
}

TEST(FileDigest, IsOfTheFileThatWasThere) {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("model", "123456789");
  FileDigest read(path), late(path);
  EXPECT_EQ(read.text(), "cbf43926");
  folder.write("model", "another one");
  EXPECT_EQ(read.text(), "cbf43926");
  EXPECT_EQ(late.text(), "") << "the file that was run is gone";
}

}  // namespace
}  // namespace dyn
