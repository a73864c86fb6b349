#include "compiler/ir/tensor.h"

#include <gtest/gtest.h>

#include "compiler/ir/checksum.h"

namespace dyn {
namespace {

TEST(HostTensor, createsZeroFilledAndAligned) {
  auto t = HostTensor::create(Dtype::f32, {2, 3});
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(t->elementCount(), 6);
  EXPECT_EQ(t->sizeBytes(), 24);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(t->data()) % 64, 0u);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(t->realAt(i), 0);
  EXPECT_EQ(HostTensor::create(Dtype::i64, {0, 5})->elementCount(), 0);
  EXPECT_FALSE(HostTensor().valid());
}

TEST(HostTensor, sizesThatDoNotFitAreErrors) {
  const int64_t big = int64_t{1} << 40;
  EXPECT_EQ(HostTensor::create(Dtype::f32, {big, big}).error().id, DiagnosticId::dimOverflow);
  EXPECT_EQ(HostTensor::create(Dtype::f64, {int64_t{1} << 61}).error().id, DiagnosticId::dimOverflow);
  EXPECT_EQ(HostTensor::create(Dtype::u8, {INT64_MAX}).error().id, DiagnosticId::memoryLimit);
  EXPECT_EQ(HostTensor::create(Dtype::f32, {-1}).error().id, DiagnosticId::dimDomain);
  EXPECT_TRUE(HostTensor::create(Dtype::f32, {big, big, 0}).ok());
}

TEST(HostTensor, copiesShareUntilWritten) {
  HostTensor a = HostTensor::vectorInt(Dtype::i32, std::vector<int64_t>{1, 2, 3});
  HostTensor b = a;
  EXPECT_EQ(a.data(), b.data());
  b.setInt(0, 7);
  EXPECT_NE(a.data(), b.data());
  EXPECT_EQ(a.intAt(0), 1);
  EXPECT_EQ(b.intAt(0), 7);
  const std::byte* before = b.data();
  b.setInt(1, 8);
  EXPECT_EQ(b.data(), before) << "a tensor that is not shared is written in place";
}

TEST(HostTensor, borrowedBytesAreNeverWritten) {
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2});
  HostTensor t = HostTensor::borrow(Dtype::f32, {2}, owner->data(), owner);
  EXPECT_EQ(owner.use_count(), 2);
  t.setReal(0, 5);
  EXPECT_EQ((*owner)[0], 1.0f);
  EXPECT_EQ(t.realAt(0), 5);
  EXPECT_EQ(owner.use_count(), 1);
}

TEST(HostTensor, elementsConvertToTheirType) {
  HostTensor i4 = HostTensor::vectorInt(Dtype::i4, std::vector<int64_t>{7, 8, -8, 15});
  EXPECT_EQ(toString(i4), "i4[4] = [7, -8, -8, -1]");
  EXPECT_EQ(toString(HostTensor::vectorInt(Dtype::u2, std::vector<int64_t>{3, 4, -1})), "u2[3] = [3, 0, 3]");
  EXPECT_EQ(toString(HostTensor::vectorReal(Dtype::i8, std::vector<double>{-1.9, 300, 1e300})),
            "i8[3] = [-1, 44, -1]");
  EXPECT_EQ(toString(HostTensor::vectorReal(Dtype::f16, std::vector<double>{0.1, 1e9})),
            "f16[2] = [0.099975586, inf]");
  EXPECT_EQ(toString(HostTensor::vectorReal(Dtype::boolean, std::vector<double>{0, 0.5})),
            "bool[2] = [false, true]");
  EXPECT_EQ(toString(HostTensor::scalarInt(Dtype::u64, -1)), "u64[] = 18446744073709551615");
  EXPECT_EQ(toString(HostTensor::scalar(Dtype::f64, 0.1)), "f64[] = 0.1");
  EXPECT_EQ(toString(HostTensor::scalar(Dtype::c64, 2)), "c64[] = (2, 0)");
  EXPECT_EQ(toString(HostTensor::strings({2}, {"a\"", "b\n"})), "string[2] = [\"a\\\"\", \"b\\n\"]");
  EXPECT_EQ(HostTensor::scalar(Dtype::f32, -2.9).intAt(0), -2);
}

TEST(HostTensor, textShowsNestingAndElides) {
  auto t = HostTensor::create(Dtype::i32, {2, 20});
  for (int i = 0; i < 40; ++i) t->setInt(i, i);
  EXPECT_EQ(toString(*t, 10), "i32[2, 20] = [[0, 1, 2, …, 17, 18, 19], [20, 21, 22, …, 37, 38, 39]]");
  EXPECT_EQ(toString(HostTensor::vectorInt(Dtype::i32, std::vector<int64_t>{1, 2, 3, 4}).reshaped({2, 2})),
            "i32[2, 2] = [[1, 2], [3, 4]]");
  EXPECT_EQ(toString(*HostTensor::create(Dtype::f32, {2, 0})), "f32[2, 0] = []");
  EXPECT_FALSE(t->reshaped({3}).valid());
}

TEST(HostTensor, identicalComparesBits) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(HostTensor::scalar(Dtype::f32, nan).identical(HostTensor::scalar(Dtype::f32, nan)));
  EXPECT_FALSE(HostTensor::scalar(Dtype::f32, 0.0).identical(HostTensor::scalar(Dtype::f32, -0.0)));
  EXPECT_FALSE(HostTensor::scalar(Dtype::f32, 1).identical(HostTensor::scalar(Dtype::f64, 1)));
  EXPECT_FALSE(HostTensor::strings({1}, {"a"}).identical(HostTensor::strings({1}, {"b"})));
}

TEST(Checksum, isTheCrcOfZip) {
  EXPECT_EQ(crc32("123456789", 9), 0xcbf43926u);
  const std::string text = "a longer text, so that the steps of eight bytes are used too";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(crc32(text.data() + cut, text.size() - cut, crc32(text.data(), cut)),
              crc32(text.data(), text.size()));
  }
}

}  // namespace
}  // namespace dyn
