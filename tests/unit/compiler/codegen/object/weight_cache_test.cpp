// Files of packed weights: bounded, whole or not there, also with several writers.
#include "compiler/codegen/object/weight_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "tests/support/temporary_folder.h"

namespace dyn {
namespace {

namespace fs = std::filesystem;

std::string keyOf(int number) { return WeightCache::keyOf({"test", std::to_string(number)}, "source"); }

TEST(WeightCache, GivesBackWhatWasStoredAtAPage) {
  test::TemporaryFolder folder;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{4096}, size_t{100003}}) {
    WeightCache cache({.directory = folder.path()});
    const std::string bytes(size, static_cast<char>('a' + size % 26));
    const std::string key = keyOf(static_cast<int>(size));
    EXPECT_FALSE(cache.find(key).has_value());
    ASSERT_TRUE(cache.store(key, bytes).has_value());
    WeightCache other({.directory = folder.path()});
    std::optional<MappedFile> file = other.find(key);
    ASSERT_TRUE(file.has_value());
    EXPECT_EQ(WeightCache::bytesOf(*file), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(WeightCache::bytesOf(*file).data()) % 4096, 0u);
  }
}

TEST(WeightCache, KeysKnowEachPartAndTheSource) {
  EXPECT_NE(WeightCache::keyOf({"a", "b"}, "s"), WeightCache::keyOf({"ab"}, "s"));
  EXPECT_NE(WeightCache::keyOf({"a"}, "s"), WeightCache::keyOf({"a"}, "t"));
  EXPECT_EQ(WeightCache::keyOf({"a"}, "s"), WeightCache::keyOf({"a"}, "s"));
}

TEST(WeightCache, StaysWithinItsSizeAndDropsTheOldest) {
  test::TemporaryFolder folder;
  WeightCache cache({.directory = folder.path(), .maxBytes = 100000});
  folder.write("kernel.dynobj", std::string(200000, 'x'));  // of another kind: neither counted nor removed
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(cache.store(keyOf(i), std::string(4000, 'w')).has_value());
    for (const fs::path& file : folder.files())
      if (file.filename().string().starts_with(keyOf(i)))
        fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::seconds(100 - i));
  }
  uintmax_t total = 0;
  for (const fs::path& file : folder.files())
    if (file.extension() == ".dynweights") total += fs::file_size(file);
  EXPECT_LE(total, 100000u);
  EXPECT_FALSE(cache.find(keyOf(0)).has_value());
  EXPECT_TRUE(cache.find(keyOf(39)).has_value());
  EXPECT_TRUE(fs::exists(folder / "kernel.dynobj"));
  EXPECT_FALSE(cache.store(keyOf(99), std::string(200000, 'w')).has_value()) << "never fits";
}

// Processes that begin at the same time both pack; then all map the file that was there first.
TEST(WeightCache, WritersAtTheSameTimeShareOneFile) {
  test::TemporaryFolder folder;
  WeightCache first({.directory = folder.path()}), second({.directory = folder.path()});
  EXPECT_FALSE(first.find(keyOf(1)).has_value());
  EXPECT_FALSE(second.find(keyOf(1)).has_value());
  ASSERT_TRUE(first.store(keyOf(1), std::string(10000, 'q')).has_value());
  ASSERT_EQ(folder.files().size(), 1u);
  struct stat before {
  }, after{};
  ASSERT_EQ(::stat(folder.files()[0].c_str(), &before), 0);
  std::optional<MappedFile> file = second.store(keyOf(1), std::string(10000, 'q'));
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(WeightCache::bytesOf(*file), std::string(10000, 'q'));
  ASSERT_EQ(folder.files().size(), 1u) << "and no temporary file";
  ASSERT_EQ(::stat(folder.files()[0].c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
}

// A mapping outlives its file.
TEST(WeightCache, RemovedFilesStayReadable) {
  test::TemporaryFolder folder;
  WeightCache cache({.directory = folder.path()});
  std::optional<MappedFile> file = cache.store(keyOf(1), std::string(10000, 'q'));
  ASSERT_TRUE(file.has_value());
  for (const fs::path& path : folder.files()) fs::remove(path);
  EXPECT_EQ(WeightCache::bytesOf(*file), std::string(10000, 'q'));
  EXPECT_FALSE(cache.find(keyOf(1)).has_value());
}

TEST(WeightCache, WritersMayMeet) {
  test::TemporaryFolder folder;
  const std::string bytes(300000, 'z');
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      WeightCache cache({.directory = folder.path()});
      for (int round = 0; round < 20; ++round) {
        if (round % 2 == 0) (void)cache.store(keyOf(5), bytes);
        std::optional<MappedFile> file = cache.find(keyOf(5));
        if (!file || WeightCache::bytesOf(*file) != bytes) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(folder.files().size(), 1u) << "nothing half is left";
}

TEST(WeightCache, WhatCanNotBeWrittenIsNotThere) {
  test::TemporaryFolder folder;
  WeightCache absent({.directory = folder.path() + "/absent/deeper"});
  EXPECT_FALSE(absent.on());
  EXPECT_FALSE(absent.store(keyOf(1), "bytes").has_value());
  const std::string vanished = folder.path() + "/vanished";
  WeightCache cache({.directory = vanished});
  ASSERT_TRUE(cache.on());
  fs::remove(vanished);
  EXPECT_FALSE(cache.store(keyOf(1), "bytes").has_value());
  // A full disk: a device that takes no byte.
  if (::access("/dev/full", W_OK) == 0) {
    WeightCache off({.directory = "/dev/full"});
    EXPECT_FALSE(off.on());
  }
}

}  // namespace
}  // namespace dyn
