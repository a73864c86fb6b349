// Strings in .npy files, as NumPy keeps them.
#include "app/engine/inputs/npy_text.h"

#include <gmock/gmock.h>

#include <cstring>

#include "app/engine/inputs/input_spec.h"
#include "tests/support/temporary_folder.h"

namespace dyn {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kTexts = {
    "", "a", "na\xC3\xAFve", "\xE2\x82\xAC", "\xF0\x9F\x8C\xB3 tree", std::string("in\0side", 7)};

TEST(NpyText, stringsComeBack) {
  test::TemporaryFolder folder;
  const std::string file = folder / "a.npy";
  for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{6}, {2, 3}, {6, 1}}) {
    const HostTensor strings = HostTensor::strings(shape, kTexts);
    const Status written = writeNpyTensor(file, strings);
    ASSERT_TRUE(written.ok()) << written.error().message;
    const Result<HostTensor> back = readNpyTensor(file);
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(back->shape(), shape);
    EXPECT_EQ(back->stringValues(), kTexts);
  }
  const Status none = writeNpyTensor(file, HostTensor::strings({0, 3}, {}));
  ASSERT_TRUE(none.ok());
  EXPECT_THAT(readNpyTensor(file)->shape(), testing::ElementsAre(0, 3));
}

TEST(NpyText, asNumPyWritesThem) {
  const Result<NpyArray> array = arrayOfStrings(HostTensor::strings({2}, {"ab", "\xE2\x82\xAC"}), "a.npy");
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(array->kind, NpyKind::text);
  EXPECT_EQ(array->elementBytes, 8u);
  EXPECT_EQ(std::memcmp(array->data.data(), "a\0\0\0b\0\0\0\xAC\x20\0\0\0\0\0\0", 16), 0);
  EXPECT_EQ(arrayOfStrings(HostTensor::strings({1}, {""}), "a.npy")->elementBytes, 4u);
}

TEST(NpyText, bytesAreTextsToo) {
  NpyArray array;
  array.kind = NpyKind::bytes;
  array.elementBytes = 3;
  array.shape = {2};
  for (char c : std::string_view("ab\0xyz", 6)) array.data.push_back(static_cast<std::byte>(c));
  EXPECT_THAT(stringsOf(array, "a.npy")->stringValues(), testing::ElementsAre("ab", "xyz"));
}

TEST(NpyText, whatCanNotBeKeptIsNamed) {
  const auto fault = [](std::vector<std::string> texts) {
    const auto count = static_cast<int64_t>(texts.size());
    const Result<NpyArray> array = arrayOfStrings(HostTensor::strings({count}, std::move(texts)), "a.npy");
    return array.ok() ? "" : array.error().message;
  };
  for (const std::string text : {"\x80", "\xC3", "\xC0\x80", "\xED\xA0\x80", "\xF5\x80\x80\x80", "\xE2\x82"})
    EXPECT_THAT(fault({"a", text}), HasSubstr("a.npy: string 1 is not UTF-8"));
  EXPECT_THAT(fault({std::string("a\0", 2)}), HasSubstr("string 0 ends with a zero"));
  NpyArray array;
  array.kind = NpyKind::text;
  array.elementBytes = 4;
  array.shape = {1};
  for (int i = 0; i < 4; ++i) array.data.push_back(std::byte{0x7F});
  EXPECT_THAT(stringsOf(array, "a.npy").error().message, HasSubstr("text 0 holds what is not a letter"));
  // Texts without letters take no room in the file, but in memory.
  array.elementBytes = 0;
  array.data.clear();
  array.shape = {1 << 30};
  EXPECT_FALSE(stringsOf(array, "a.npy").ok());
}

}  // namespace
}  // namespace dyn
