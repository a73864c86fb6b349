// Files that lie in no folder.
#include "compiler/support/memory_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "compiler/support/mapped_file.h"
#include "tests/support/temporary_folder.h"

namespace dyn {
namespace {

TEST(MemoryFile, IsReadByItsPathUnderItsName) {
  const std::string bytes(100'000, 'x');
  Result<MemoryFile> made = MemoryFile::make("model (deleted).onnx", bytes);
  ASSERT_TRUE(made.ok()) << made.error().toString();
  const Result<MappedFile> read = MappedFile::open(made->path());
  ASSERT_TRUE(read.ok()) << read.error().toString();
  EXPECT_EQ(read->bytes(), bytes);
  EXPECT_EQ(read->name(), "model (deleted).onnx");
  EXPECT_EQ(shownPath(made->path()), "model (deleted).onnx");
}

TEST(MemoryFile, MayBeEmpty) {
  Result<MemoryFile> made = MemoryFile::make("none", "");
  ASSERT_TRUE(made.ok()) << made.error().toString();
  const Result<MappedFile> read = MappedFile::open(made->path());
  ASSERT_TRUE(read.ok()) << read.error().toString();
  EXPECT_EQ(read->size(), 0u);
}

TEST(MemoryFile, NobodyWritesToIt) {
  Result<MemoryFile> made = MemoryFile::make("model.dyn", "text");
  ASSERT_TRUE(made.ok()) << made.error().toString();
  const FileHandle handle(::open(made->path().c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(handle.valid());
  EXPECT_LT(::write(handle.get(), "x", 1), 0);
  EXPECT_NE(::ftruncate(handle.get(), 0), 0);
}

TEST(MemoryFile, ANameThatIsTooLongIsAnError) {
  const Result<MemoryFile> made = MemoryFile::make(std::string(250, 'n'), "text");
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().id, DiagnosticId::fileError);
}

TEST(ShownPath, OfOtherFilesIsTheirPath) {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("m.dyn", "text");
  EXPECT_EQ(shownPath(path), path);
  EXPECT_EQ(shownPath("/proc/self/fd/x"), "/proc/self/fd/x");
  const FileHandle handle(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const std::string descriptor = "/proc/self/fd/" + std::to_string(handle.get());
  EXPECT_EQ(shownPath(descriptor), descriptor);
}

}  // namespace
}  // namespace dyn
