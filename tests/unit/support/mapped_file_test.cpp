// Files mapped into memory.
#include "compiler/support/mapped_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace dyn {
namespace {

TEST(MappedFile, WhatIsForgottenIsReadAgain) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("dyn_mapped_" + std::to_string(::getpid()))).string();
  std::string content;
  for (int i = 0; i < 40'000; ++i) content += static_cast<char>(i % 251);
  std::ofstream(path, std::ios::binary) << content;
  Result<MappedFile> file = MappedFile::open(path);
  ASSERT_TRUE(file.ok()) << file.error().toString();
  for (auto [from, count] :
       {std::pair<size_t, size_t>{0, 40'000}, {1, 4094}, {4095, 8193}, {39'999, 1}, {7, 0}}) {
    file->forget(file->bytes().substr(from, count));
    EXPECT_EQ(file->bytes(), content) << from << " " << count;
  }
  std::filesystem::remove(path);
}

TEST(MappedFile, BytesInMemoryAreKept) {
  const MappedFile file = MappedFile::fromBytes(std::string(20'000, 'x'), "here");
  file.forget(file.bytes());
  EXPECT_EQ(file.bytes(), std::string(20'000, 'x'));
}

}  // namespace
}  // namespace dyn
