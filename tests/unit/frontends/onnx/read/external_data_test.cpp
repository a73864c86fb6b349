#include "frontends/onnx/read/external_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frontends/onnx/read/onnx_tensor.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/frontends/onnx/proto_builder.h"

namespace dyn::onnx {
namespace {

namespace fs = std::filesystem;
using test::Msg;
using ::testing::HasSubstr;

class ExternalDataTest : public ::testing::TestWithParam<ExternalData::Resolver> {
 protected:
  void SetUp() override {
    folder_.write("secret.bin", "0123456789");
    folder_.write("model/w.bin", "0123456789");
    folder_.write("model/sub/v.bin", "abcdefghij");
  }
  Result<ExternalSlice> resolve(std::vector<StringPair> entries, uint64_t bytes = 4) {
    if (!external_) {
      Result<ExternalData> made = ExternalData::atFolder(folder_ / "model", GetParam());
      if (!made.ok()) return made.takeError();
      external_ = std::make_unique<ExternalData>(std::move(made).value());
    }
    return external_->resolve(entries, bytes, SourceLocation{.file = "m.onnx", .byteOffset = 9});
  }
  void refused(std::vector<StringPair> entries, const std::string& why, uint64_t bytes = 4) {
    Result<ExternalSlice> slice = resolve(entries, bytes);
    ASSERT_FALSE(slice.ok()) << why;
    EXPECT_EQ(slice.error().id, DiagnosticId::onnxExternalData);
    EXPECT_EQ(slice.error().place.byteOffset, 9u);
    EXPECT_THAT(slice.error().message, HasSubstr(why));
  }
  dyn::test::TemporaryFolder folder_;
  std::unique_ptr<ExternalData> external_;
};

// As Hugging Face's cache lays a model: snapshots/X/model.onnx_data -> ../../blobs/HASH.
TEST_P(ExternalDataTest, linksAreTakenThatStayBelowTheFolderThatIsNamed) {
  folder_.write("hub/blobs/hash", "0123456789");
  fs::create_directories(folder_ / "hub/snapshots/x");
  fs::create_symlink("../../blobs/hash", folder_ / "hub/snapshots/x/model.onnx_data");
  fs::create_symlink("../../../secret.bin", folder_ / "hub/snapshots/x/out");
  fs::create_symlink("gone", folder_ / "hub/snapshots/x/dangling");
  fs::create_directory_symlink("../../blobs", folder_ / "hub/snapshots/x/folder");
  Result<ExternalData> made = ExternalData::atFolder(folder_ / "hub/snapshots/x", GetParam());
  ASSERT_TRUE(made.ok());
  external_ = std::make_unique<ExternalData>(std::move(made).value());
  refused({{"location", "model.onnx_data"}}, "passes a symbolic link");
  EXPECT_THAT(resolve({{"location", "model.onnx_data"}}).error().notes,
              ::testing::Contains(HasSubstr("--data-root")));
  EXPECT_FALSE(external_->allowLinks(folder_ / "none").ok());
  ASSERT_TRUE(external_->allowLinks(folder_ / "hub").ok());
  for (const char* location : {"model.onnx_data", "folder/hash"}) {
    Result<ExternalSlice> slice = resolve({{"location", location}, {"offset", "2"}, {"length", "4"}});
    ASSERT_TRUE(slice.ok()) << slice.error().toString();
    EXPECT_EQ(slice->bytes, "2345");
  }
  refused({{"location", "out"}}, "leaves the data root");
  refused({{"location", "dangling"}}, "leaves the data root");
  refused({{"location", "../../blobs/hash"}}, "'..'");
  ASSERT_EQ(::link((folder_ / "secret.bin").c_str(), (folder_ / "hub/blobs/hard").c_str()), 0);
  fs::create_symlink("../../blobs/hard", folder_ / "hub/snapshots/x/hard");
  refused({{"location", "hard"}}, "hard link");
}

TEST_P(ExternalDataTest, slicesShareOneMapping) {
  Result<ExternalSlice> a = resolve({{"location", "w.bin"}, {"offset", "3"}, {"length", "4"}});
  ASSERT_TRUE(a.ok()) << a.error().toString();
  EXPECT_EQ(a->bytes, "3456");
  Result<ExternalSlice> b = resolve({{"location", "./w.bin"}, {"unknown", "x"}});
  ASSERT_TRUE(b.ok());
  EXPECT_EQ(b->bytes, "0123");
  EXPECT_EQ(a->file, b->file);
  Result<ExternalSlice> c = resolve({{"location", "sub//v.bin"}, {"offset", "6"}});
  ASSERT_TRUE(c.ok());
  external_.reset();
  EXPECT_EQ(c->bytes, "ghij") << "a slice keeps its file";
  Result<ExternalSlice> end = resolve({{"location", "w.bin"}, {"offset", "10"}}, 0);
  ASSERT_TRUE(end.ok());
}

TEST_P(ExternalDataTest, pathsThatLeaveTheFolderAreRefused) {
  refused({{"location", "../secret.bin"}}, "'..'");
  refused({{"location", "sub/../../secret.bin"}}, "'..'");
  refused({{"location", "sub/../w.bin"}}, "'..'");
  refused({{"location", ".."}}, "'..'");
  refused({{"location", folder_ / "secret.bin"}}, "absolute");
  refused({{"location", "//etc/passwd"}}, "absolute");
  refused({{"location", ""}}, "empty");
  refused({{"location", "."}}, "folder");
  refused({{"location", "w.bin/"}}, "folder");
  refused({{"location", std::string_view("w.bin\0x", 7)}}, "zero byte");
  refused({{"location", "nothing.bin"}}, "does not exist");
  refused({{"location", "sub"}}, "not a regular file");
  refused({{"location", std::string(5000, 'a')}}, "too long");
  refused({{"location", std::string(300, 'a')}}, "too long");
}

TEST_P(ExternalDataTest, linksAreRefused) {
  fs::create_symlink("../secret.bin", folder_ / "model/final.bin");
  fs::create_symlink("w.bin", folder_ / "model/inside.bin");
  fs::create_directory_symlink("..", folder_ / "model/up");
  fs::create_directory_symlink("sub", folder_ / "model/sublink");
  fs::create_hard_link(folder_ / "secret.bin", folder_ / "model/hard.bin");
  refused({{"location", "final.bin"}}, "symbolic link");
  refused({{"location", "inside.bin"}}, "symbolic link");
  refused({{"location", "up/secret.bin"}}, "symbolic link");
  refused({{"location", "sublink/v.bin"}}, "symbolic link");
  refused({{"location", "hard.bin"}}, "hard link");
}

TEST_P(ExternalDataTest, pipesAndDevicesAreRefusedWithoutBlocking) {
  ASSERT_EQ(::mkfifo((folder_ / "model/pipe").c_str(), 0600), 0);
  refused({{"location", "pipe"}}, "not a regular file");
  if (::mknod((folder_ / "model/null").c_str(), S_IFCHR | 0600, 0x103) == 0)
    refused({{"location", "null"}}, "not a regular file");
}

TEST_P(ExternalDataTest, rangesOutsideTheFileAreRefused) {
  refused({{"location", "w.bin"}, {"offset", "7"}}, "leave their file");
  refused({{"location", "w.bin"}, {"offset", "11"}}, "leave their file", 0);
  refused({{"location", "w.bin"}, {"offset", "-1"}}, "not a number");
  refused({{"location", "w.bin"}, {"offset", "9223372036854775807"}}, "leave their file");
  refused({{"location", "w.bin"}, {"offset", "9223372036854775808"}}, "not a number");
  refused({{"location", "w.bin"}, {"offset", "18446744073709551620"}}, "not a number");
  refused({{"location", "w.bin"}, {"offset", " 1"}}, "not a number");
  refused({{"location", "w.bin"}, {"offset", "0x1"}}, "not a number");
  refused({{"location", "w.bin"}, {"offset", ""}}, "not a number");
  refused({{"location", "w.bin"}, {"length", "-4"}}, "not a number");
  refused({{"location", "w.bin"}, {"length", "3"}}, "3 bytes long");
  refused({{"location", "w.bin"}, {"length", "1125899906842624"}}, "1125899906842624 bytes",
          uint64_t{1} << 50);
  refused({{"location", "w.bin"}, {"location", "sub/v.bin"}}, "twice");
  refused({{"offset", "0"}}, "no location");
}

TEST_P(ExternalDataTest, aTensorIsReadFromTheFolderOfItsModel) {
  Msg tensor =
      Msg().num(1, 6).num(2, kInt4).sub(8, "t").num(14, 1).sub(13, Msg().sub(1, "location").sub(2, "w.bin"));
  folder_.write("model/m.onnx", test::model(Msg().sub(5, tensor)).bytes);
  Result<Model> model = openModel(folder_ / "model/m.onnx");
  ASSERT_TRUE(model.ok());
  Result<ExternalData> external = ExternalData::atFolder(model->folder, GetParam());
  ASSERT_TRUE(external.ok());
  Result<DecodedTensor> t = decodeTensor(model->graph->initializers[0], model->source, &*external);
  ASSERT_TRUE(t.ok()) << t.error().toString();
  EXPECT_EQ(t->sizeBytes, 6u);
  EXPECT_EQ(t->data[2], std::byte{1});  // '1' = 0x31, low nibble first
  EXPECT_EQ(t->data[3], std::byte{3});
}

INSTANTIATE_TEST_SUITE_P(Both, ExternalDataTest,
                         ::testing::Values(ExternalData::Resolver::kernel,
                                           ExternalData::Resolver::componentwise),
                         [](const auto& info) {
                           return info.param == ExternalData::Resolver::kernel ? "kernel" : "componentwise";
                         });

TEST(ExternalData, aModelFromMemoryHasNone) {
  Result<ExternalData> none = ExternalData::atFolder("");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().id, DiagnosticId::onnxExternalData);
}

}  // namespace
}  // namespace dyn::onnx
