// Cached weights that were damaged behind their first page are found beside the first run, and removed.
#include "compiler/codegen/object/weight_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/codegen/object/cache_contents.h"
#include "compiler/codegen/object/object_cache.h"
#include "compiler/codegen/object/weight_cache.h"
#include "tests/support/refused_threads.h"
#include "tests/support/temporary_folder.h"

namespace dyn {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string checkedKeyOf(int number) {
  return WeightCache::keyOf({"test", std::to_string(number)}, "source");
}

void flipByte(const fs::path& path, int64_t at) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(at);
  const char byte = static_cast<char>(file.get());
  file.seekp(at);
  file.put(static_cast<char>(byte ^ 1));
}

TEST(WeightCheck, FindsEachFlippedBitAndRemovesTheFile) {
  constexpr int64_t kBytes = 3'000'001;
  for (const int64_t at : {int64_t{0}, int64_t{63}, int64_t{64}, int64_t{1} << 20, kBytes - 1}) {
    test::TemporaryFolder folder;
    WeightCache cache({.directory = folder.path()});
    for (int i = 0; i < 3; ++i)
      ASSERT_TRUE(cache.store(checkedKeyOf(i), std::string(kBytes, static_cast<char>('a' + i))).has_value());
    WeightCheck good;
    for (int i = 0; i < 3; ++i) WeightCache::checkLater(*cache.find(checkedKeyOf(i)), good);
    EXPECT_TRUE(good.wait().ok());
    EXPECT_TRUE(good.wait().ok());
    const std::string path = folder / (checkedKeyOf(1) + ".dynweights");
    flipByte(path, 4096 + at);
    EXPECT_FALSE(WeightCache::isWhole(path));
    WeightCheck check;
    for (int i = 0; i < 3; ++i) WeightCache::checkLater(*cache.find(checkedKeyOf(i)), check);
    const Status status = check.wait();
    ASSERT_FALSE(status.ok()) << at;
    EXPECT_THAT(status.error().message, HasSubstr(path));
    EXPECT_FALSE(fs::exists(path));
    EXPECT_TRUE(cache.find(checkedKeyOf(0)).has_value());
    EXPECT_FALSE(check.wait().ok()) << "it is told each time";
  }
}

TEST(WeightCheck, ComparesByItselfWhereNoThreadIsToBeHad) {
  if (!test::kCanRefuseThreads) GTEST_SKIP() << "the sanitizer makes the threads";
  test::TemporaryFolder folder;
  WeightCache cache({.directory = folder.path()});
  ASSERT_TRUE(cache.store(checkedKeyOf(1), std::string(200'000, 'x')).has_value());
  const std::string path = folder / (checkedKeyOf(1) + ".dynweights");
  flipByte(path, 4096 + 100'000);
  WeightCheck bad;
  {
    const test::RefusedThreads none;
    WeightCache::checkLater(*cache.find(checkedKeyOf(1)), bad);
  }
  const Status status = bad.wait();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr(path));
}

TEST(WeightCheck, EndsEarlyWithItsOwner) {
  test::TemporaryFolder folder;
  WeightCache cache({.directory = folder.path()});
  ASSERT_TRUE(cache.store(checkedKeyOf(1), std::string(50'000'000, 'x')).has_value());
  for (int i = 0; i < 20; ++i) {
    WeightCheck check;
    WeightCache::checkLater(*cache.find(checkedKeyOf(1)), check);
  }
  EXPECT_TRUE(cache.find(checkedKeyOf(1)).has_value()) << "what was not read to its end is not damaged";
}

TEST(WeightSum, DependsOnPlaceAndLength) {
  const auto sumOf = [](std::string_view bytes) {
    WeightSum sum;
    sum.add(bytes);
    return sum.value();
  };
  const std::string zeros(1000, '\0');
  EXPECT_NE(sumOf(zeros), sumOf(zeros.substr(1)));
  std::string swapped(1024, 'a');
  swapped[3] = 'b';
  std::string other(1024, 'a');
  other[3 + 64] = 'b';
  EXPECT_NE(sumOf(swapped), sumOf(other));
  WeightSum pieces;
  pieces.add(std::string_view(swapped).substr(0, 128));
  pieces.add(std::string_view(swapped).substr(128));
  EXPECT_EQ(pieces.value(), sumOf(swapped));
}

TEST(CacheContents, ListsAndVerifiesBothKinds) {
  test::TemporaryFolder folder;
  WeightCache weights({.directory = folder.path()});
  ASSERT_TRUE(weights.store(checkedKeyOf(1), std::string(10'000, 'x')).has_value());
  ObjectCache objects({.directory = folder.path()});
  objects.store(makeObjectKey({"a"}), ObjectCode{.bytes = "code"});
  folder.write("tuning.json", "{}");
  folder.write("x.1.2.dyntmp", "half");
  const std::vector<CachedFile> files = cachedFiles(folder.path());
  ASSERT_EQ(files.size(), 3u);
  for (const CachedFile& file : files) {
    if (file.kind == CachedKind::unfinished) continue;
    EXPECT_TRUE(isWhole(file)) << file.path;
    flipByte(file.path, file.bytes - 1);
    EXPECT_FALSE(isWhole(file)) << file.path;
  }
}

}  // namespace
}  // namespace dyn
