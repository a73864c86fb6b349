// Files mapped into memory.
#include "compiler/support/mapped_file.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace dyn {
namespace {

TEST(MappedFile, WhatIsForgottenIsReadAgain) {
  std::string content;
  for (int i = 0; i < 40'000; ++i) content += static_cast<char>(i % 251);
  const test::TemporaryFolder folder;
  const std::string path = folder.write("mapped", content);
  Result<MappedFile> file = MappedFile::open(path);
  ASSERT_TRUE(file.ok()) << file.error().toString();
  for (auto [from, count] :
       {std::pair<size_t, size_t>{0, 40'000}, {1, 4094}, {4095, 8193}, {39'999, 1}, {7, 0}}) {
    file->forget(file->bytes().substr(from, count));
    EXPECT_EQ(file->bytes(), content) << from << " " << count;
  }
}

TEST(MappedFile, BytesInMemoryAreKept) {
  const MappedFile file = MappedFile::fromBytes(std::string(20'000, 'x'), "here");
  file.forget(file.bytes());
  EXPECT_EQ(file.bytes(), std::string(20'000, 'x'));
}

}  // namespace
}  // namespace dyn
