// Signed packages: what was changed after signing is refused, also where all sums were made right again.
#include "vm/isa/package_signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/temporary_folder.h"
#include "vm/include/dyn_load.h"
#include "vm/isa/assembler.h"
#include "vm/isa/program_file.h"

namespace dyn::vm {
namespace {

using ::testing::HasSubstr;

constexpr size_t kHeaderBytes = 64, kRowBytes = 128;

class PackageSignature : public testing::Test {
 protected:
  void SetUp() override {
    if (!missingForSignatures().empty()) GTEST_SKIP() << missingForSignatures();
    for (size_t i = 0; i < seed_.size(); ++i) seed_[i] = static_cast<uint8_t>(i);
    std::string signature;
    ASSERT_TRUE(signPieces({}, seed_, signature).ok());
    std::memcpy(key_.data(), signature.data(), key_.size());
  }
  // With a constant of 100 bytes and no code.
  std::string package(bool isSigned) {
    Program program;
    EXPECT_TRUE(parseProgramText("constant \"a\" f32 [25] offset 0\noutput \"y\" tensor f32 [25]\n"
                                 "function main results 1\n loadconst v0 c0\n ret [v0]\nmain main\n",
                                 program)
                    .ok());
    layOutConstants(program);
    const std::string weights(100, 'w');
    const void* data = weights.data();
    PackageBytes made;
    const PackageSigner signer = [&](const std::vector<std::string_view>& pieces, std::string& signature) {
      return signPieces(pieces, seed_, signature);
    };
    const Status status = makePackage(program, {&data, 1}, {}, made, isSigned ? signer : PackageSigner());
    EXPECT_TRUE(status.ok()) << status.message;
    std::string bytes;
    for (std::string_view piece : made.pieces) bytes += piece;
    return bytes;
  }
  Status verify(const std::string& bytes, const VerifyKey& key) {
    std::vector<PackageSection> sections;
    if (Status status = readPackageTable(bytes.data(), bytes.size(), sections); !status.ok()) return status;
    return verifySignature(bytes.data(), sections, key);
  }
  // Makes the sums of a changed package right.
  static void mend(std::string& bytes, size_t row) {
    char* at = bytes.data() + kHeaderBytes + row * kRowBytes;
    uint64_t offset = 0, size = 0;
    std::memcpy(&offset, at + 64, 8);
    std::memcpy(&size, at + 72, 8);
    uint64_t sum = checksumBytes(bytes.data() + offset, size);
    std::memcpy(at + 80, &sum, 8);
    uint32_t count = 0;
    std::memcpy(&count, bytes.data() + 12, 4);
    sum = checksumBytes(bytes.data() + kHeaderBytes, count * kRowBytes);
    std::memcpy(bytes.data() + 24, &sum, 8);
  }

  SigningSeed seed_;
  VerifyKey key_;
};

TEST_F(PackageSignature, ItsKeyTakesItAndNoOther) {
  const std::string bytes = package(true);
  EXPECT_TRUE(verify(bytes, key_).ok());
  VerifyKey other = key_;
  other[0] ^= 1;
  EXPECT_THAT(verify(bytes, other).message, HasSubstr("another key"));
  EXPECT_THAT(verify(package(false), key_).message, HasSubstr("not signed"));
  EXPECT_EQ(bytes, package(true)) << "the same model, the same bytes";
}

TEST_F(PackageSignature, EveryByteOfEverySectionCounts) {
  const std::string good = package(true);
  std::vector<PackageSection> sections;
  ASSERT_TRUE(readPackageTable(good.data(), good.size(), sections).ok());
  ASSERT_EQ(sections.size(), 3u);
  for (size_t row = 0; row < sections.size(); ++row)
    for (uint64_t i = 0; i < sections[row].sizeBytes; ++i) {
      std::string forged = good;
      forged[sections[row].offset + i] = static_cast<char>(forged[sections[row].offset + i] ^ 4);
      mend(forged, row);
      EXPECT_FALSE(verify(forged, key_).ok()) << sections[row].name << " byte " << i;
    }
}

// A section may not be renamed, be of another kind, or be shorter.
TEST_F(PackageSignature, RowsOfTheTableCount) {
  const std::string good = package(true);
  for (const size_t field : {size_t{0}, size_t{72}, size_t{88}})
    for (size_t row = 0; row < 3; ++row) {
      std::string forged = good;
      forged[kHeaderBytes + row * kRowBytes + field] ^= 1;
      mend(forged, row);
      EXPECT_FALSE(verify(forged, key_).ok()) << field << " of row " << row;
    }
}

TEST_F(PackageSignature, TheCInterfaceChecksBeforeItLoads) {
  test::TemporaryFolder folder;
  std::string bytes = package(true);
  const std::string good = folder.write("good", bytes);
  dyn_load_options options{};
  options.verify_key = key_.data();
  dyn_module* module = nullptr;
  EXPECT_EQ(dyn_module_load_file_with(good.c_str(), nullptr, &options, &module), DYN_OK)
      << dyn_last_message();
  dyn_module_release(module);
  EXPECT_EQ(
      dyn_module_load_file_with(folder.write("plain", package(false)).c_str(), nullptr, &options, &module),
      DYN_BAD_PROGRAM);
  EXPECT_EQ(module, nullptr);
  EXPECT_THAT(dyn_last_message(), HasSubstr("not signed"));
}

}  // namespace
}  // namespace dyn::vm
