#include "compiler/support/file_origin.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <memory>

#include "compiler/support/mapped_file.h"
#include "tests/support/temporary_folder.h"

namespace dyn {
namespace {

// A file that nobody writes: this program.
TEST(FileOrigins, NameBytesByFileAndPlace) {
  Result<MappedFile> first = MappedFile::open("/proc/self/exe"), second = MappedFile::open("/proc/self/exe");
  ASSERT_TRUE(first.ok() && second.ok());
  const FileOrigins origins;
  const std::string name = origins.of(first->bytes().data() + 100, 50);
  if (name.empty()) GTEST_SKIP() << "this program is too new, or the system lists no mappings";
  EXPECT_EQ(name, origins.of(second->bytes().data() + 100, 50)) << "mapped twice";
  EXPECT_EQ(name, FileOrigins().of(first->bytes().data() + 100, 50));
  EXPECT_NE(name, origins.of(first->bytes().data() + 101, 50));
  EXPECT_EQ(origins.of(first->bytes().data() + 100, first->bytes().size() + 8192), "") << "beyond its end";
}

TEST(FileOrigins, WhatMayStillChangeHasNone) {
  test::TemporaryFolder folder;
  Result<MappedFile> fresh = MappedFile::open(folder.write("fresh", std::string(10000, 'x')));
  ASSERT_TRUE(fresh.ok());
  EXPECT_EQ(FileOrigins().of(fresh->bytes().data(), 100), "");
  const std::string memory(100, 'x');
  EXPECT_EQ(FileOrigins().of(memory.data(), 100), "");
  EXPECT_EQ(FileOrigins().of(nullptr, 0), "");
  // Memory that may be written holds what the process wrote.
  void* pages = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  EXPECT_EQ(FileOrigins().of(pages, 100), "");
  munmap(pages, 8192);
}

}  // namespace
}  // namespace dyn
