#include "compiler/support/npy.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "compiler/support/atomic_write.h"
#include "compiler/support/file_handle.h"
#include "tests/support/temporary_folder.h"

namespace dyn {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FileTest : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_ / name; }
  size_t fileCount() const { return folder_.files().size(); }
  static Result<NpyArray> parse(std::string bytes) {
    return parseNpy(MappedFile::fromBytes(std::move(bytes), "a.npy"));
  }
  // A file of the version with this dictionary.
  static std::string npy(std::string_view dictionary, std::string_view data, int version = 1) {
    std::string bytes = std::string("\x93NUMPY") + static_cast<char>(version) + '\0';
    uint32_t length = static_cast<uint32_t>(dictionary.size());
    bytes.append(reinterpret_cast<const char*>(&length), version == 1 ? 2 : 4);
    return bytes + std::string(dictionary) + std::string(data);
  }
  test::TemporaryFolder folder_;
};
using Npy = FileTest;
using MappedFiles = FileTest;
using AtomicWrite = FileTest;

TEST_F(Npy, everyElementTypeAndRankComesBack) {
  struct Row {
    NpyKind kind;
    unsigned bytes;
  };
  for (Row row : {Row{NpyKind::boolean, 1},
                  {NpyKind::integer, 1},
                  {NpyKind::integer, 2},
                  {NpyKind::integer, 4},
                  {NpyKind::integer, 8},
                  {NpyKind::natural, 1},
                  {NpyKind::natural, 2},
                  {NpyKind::natural, 4},
                  {NpyKind::natural, 8},
                  {NpyKind::real, 2},
                  {NpyKind::real, 4},
                  {NpyKind::real, 8},
                  {NpyKind::complex, 8},
                  {NpyKind::complex, 16},
                  {NpyKind::text, 12},
                  {NpyKind::text, 0},
                  {NpyKind::bytes, 5}})
    for (const std::vector<int64_t>& shape :
         std::vector<std::vector<int64_t>>{{}, {3}, {2, 3}, {0, 5}, {1, 2, 3}}) {
      NpyArray array{row.kind, row.bytes, shape, {}};
      size_t count = 1;
      for (int64_t dim : shape) count *= static_cast<size_t>(dim);
      for (size_t i = 0; i != count * row.bytes; ++i)
        array.data.push_back(static_cast<std::byte>(row.kind == NpyKind::boolean ? i & 1 : i * 31));
      Status written = writeNpy(at("a.npy"), array);
      ASSERT_TRUE(written.ok()) << written.error().toString();
      Result<NpyArray> back = readNpy(at("a.npy"));
      ASSERT_TRUE(back.ok()) << back.error().toString();
      EXPECT_EQ(back->kind, row.kind);
      EXPECT_EQ(back->elementBytes, row.bytes);
      EXPECT_EQ(back->shape, shape);
      EXPECT_EQ(back->data, array.data);
    }
  EXPECT_EQ(fileCount(), 1u) << "temporary files stay behind";
}

TEST_F(Npy, headerIsAlignedAndAsNumPyWritesIt) {
  Result<std::string> header = npyHeader(NpyKind::real, 4, {2, 3});
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->size() % 64, 0u);
  EXPECT_THAT(*header, HasSubstr("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"));
  EXPECT_THAT(*npyHeader(NpyKind::boolean, 1, {7}),
              HasSubstr("{'descr': '|b1', 'fortran_order': False, 'shape': (7,), }"));
  EXPECT_THAT(*npyHeader(NpyKind::integer, 8, {}), HasSubstr("'shape': (), }"));
  EXPECT_THAT(*npyHeader(NpyKind::text, 20, {1}), HasSubstr("{'descr': '<U5', "));
  EXPECT_FALSE(npyHeader(NpyKind::text, 7, {}).ok());
  Result<std::string> large = npyHeader(NpyKind::natural, 1, std::vector<int64_t>(40000, 1));
  ASSERT_TRUE(large.ok());
  EXPECT_EQ((*large)[6], 2);
  EXPECT_EQ(large->size() % 64, 0u);
  EXPECT_TRUE(parse(*large + "x").ok());
  EXPECT_FALSE(npyHeader(NpyKind::real, 3, {}).ok());
}

TEST_F(Npy, versionsFortranOrderAndByteOrder) {
  const std::string data("\1\0\2\0\3\0\4\0\5\0\6\0", 12);
  for (int version : {1, 2, 3}) {
    Result<NpyArray> a =
        parse(npy("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3)}\n", data, version));
    ASSERT_TRUE(a.ok()) << a.error().toString();
    std::vector<int16_t> values(6);
    std::memcpy(values.data(), a->data.data(), 12);
    EXPECT_THAT(values, ElementsAre(1, 3, 5, 2, 4, 6));
  }
  Result<NpyArray> big = parse(npy("{'shape': (3, 2,), 'fortran_order': False, 'descr': '>u2'}", data));
  ASSERT_TRUE(big.ok());
  EXPECT_EQ(big->data[1], std::byte{1});
  EXPECT_EQ(big->data[0], std::byte{0});
  Result<NpyArray> text = parse(
      npy("{'shape': (1,), 'fortran_order': False, 'descr': '>U2'}", std::string_view("\0\0\0A\0\0\0B", 8)));
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(std::memcmp(text->data.data(), "A\0\0\0B\0\0\0", 8), 0);
}

TEST_F(Npy, damagedFilesAreRefused) {
  const std::string good = npy("{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }", "abcd");
  ASSERT_TRUE(parse(good).ok());
  for (size_t length = 0; length != good.size(); ++length) {
    Result<NpyArray> a = parse(good.substr(0, length));
    ASSERT_FALSE(a.ok()) << length;
    EXPECT_EQ(a.error().id, DiagnosticId::fileFormat);
    EXPECT_EQ(a.error().place.file, "a.npy");
  }
  for (size_t i = 0; i != good.size(); ++i)
    for (int change : {1, 2, 4, 8, 16, 32, 64, 128}) {
      std::string damaged = good;
      damaged[i] = static_cast<char>(static_cast<uint8_t>(damaged[i]) ^ change);
      (void)parse(damaged);
    }
  EXPECT_EQ(parse(good + "x").error().id, DiagnosticId::fileFormat);
  auto id = [](std::string_view dictionary) { return parse(npy(dictionary, "abcd")).error().id; };
  EXPECT_EQ(id("{'descr': '<U9999999999', 'fortran_order': False, 'shape': (1,)}"),
            DiagnosticId::unsupportedDtype);
  EXPECT_EQ(id("{'descr': '<U4x', 'fortran_order': False, 'shape': (1,)}"), DiagnosticId::unsupportedDtype);
  EXPECT_EQ(id("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}"), DiagnosticId::unsupportedDtype);
  EXPECT_EQ(id("{'descr': [('a', '<i2')], 'fortran_order': False, 'shape': (1,)}"),
            DiagnosticId::unsupportedDtype);
  EXPECT_EQ(id("{'descr': '<i2', 'fortran_order': False, 'shape': (-2,)}"), DiagnosticId::fileFormat);
  EXPECT_EQ(id("{'descr': '<i2', 'fortran_order': False, 'shape': (1000000000000,)}"),
            DiagnosticId::fileFormat);
  EXPECT_EQ(id("{'descr': '<i8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}"),
            DiagnosticId::dimOverflow);
  EXPECT_EQ(id("{'descr': '<i2', 'fortran_order': 1, 'shape': (2,)}"), DiagnosticId::fileFormat);
  EXPECT_EQ(id("{'descr': '<i2', 'shape': (2,)}"), DiagnosticId::fileFormat);
  EXPECT_EQ(id("{'descr': '<i2', 'fortran_order': False, 'shape': (2,)} evil"), DiagnosticId::fileFormat);
}

TEST_F(Npy, dataThatDoNotFitTheShapeAreNotWritten) {
  EXPECT_FALSE(writeNpy(at("a.npy"), NpyArray{NpyKind::real, 4, {2}, std::vector<std::byte>(7)}).ok());
  EXPECT_FALSE(fs::exists(at("a.npy")));
}

TEST_F(AtomicWrite, replacesWholeFilesAndKeepsOldOnesOnFailure) {
  ASSERT_TRUE(writeFileAtomically(at("f"), {"ab", "", "c"}).ok());
  ASSERT_TRUE(writeFileAtomically(at("f"), {"second"}).ok());
  Result<MappedFile> file = MappedFile::open(at("f"));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->bytes(), "second");
  EXPECT_EQ(writeFileAtomically(at("f/below"), {"x"}).error().id, DiagnosticId::fileError);
  fs::create_directory(at("folder"));
  EXPECT_EQ(writeFileAtomically(at("folder"), {"x"}).error().id, DiagnosticId::fileError);
  EXPECT_EQ(fileCount(), 2u);
  // No file takes the place of a device or a pipe.
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  const FileHandle reader(::open(at("pipe").c_str(), O_RDONLY | O_NONBLOCK));
  ASSERT_TRUE(writeFileAtomically(at("pipe"), {"a", "b"}).ok());
  char bytes[3] = {};
  EXPECT_EQ(::read(reader.get(), bytes, sizeof bytes), 2);
  EXPECT_STREQ(bytes, "ab");
  EXPECT_EQ(writeFileAtomically("/dev/full", {"x"}).error().id, DiagnosticId::fileError);
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(MappedFiles, onlyRegularFilesAreMapped) {
  std::ofstream(at("f")) << "hello";
  Result<MappedFile> file = MappedFile::open(at("f"));
  ASSERT_TRUE(file.ok());
  MappedFile moved = std::move(file).value();
  EXPECT_EQ(moved.bytes(), "hello");
  EXPECT_EQ(moved.name(), at("f"));
  std::ofstream(at("empty"));
  Result<MappedFile> empty = MappedFile::open(at("empty"));
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(empty->size(), 0u);

  Result<MappedFile> missing = MappedFile::open(at("missing"));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().id, DiagnosticId::fileError);
  EXPECT_THAT(missing.error().message, HasSubstr("No such file"));
  EXPECT_EQ(missing.error().place.file, at("missing"));
  EXPECT_THAT(MappedFile::open(at(".")).error().message, HasSubstr("a folder"));
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_THAT(MappedFile::open(at("pipe")).error().message, HasSubstr("a pipe"));
  EXPECT_THAT(MappedFile::open("/dev/null").error().message, HasSubstr("a device"));
  fs::create_symlink("f", at("link"));
  EXPECT_TRUE(MappedFile::open(at("link")).ok());
  EXPECT_THAT(MappedFile::open(at("link"), SymlinkPolicy::refuse).error().message,
              HasSubstr("symbolic link"));
  EXPECT_FALSE(MappedFile::open(std::string("f\0g", 3)).ok());
}

TEST_F(MappedFiles, streamsAreReadToTheirEndOrLimit) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "stream", 6), 6);
  ::close(ends[1]);
  Result<MappedFile> file = MappedFile::fromStream(ends[0], "<stdin>", 6);
  ::close(ends[0]);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->bytes(), "stream");
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "stream", 6), 6);
  ::close(ends[1]);
  EXPECT_EQ(MappedFile::fromStream(ends[0], "<stdin>", 5).error().id, DiagnosticId::memoryLimit);
  ::close(ends[0]);
}

}  // namespace
}  // namespace dyn
