#include "frontends/onnx/read/onnx_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/frontends/onnx/proto_builder.h"

namespace dyn::onnx {
namespace {

using test::Msg;
using ::testing::ElementsAre;

std::shared_ptr<const MappedFile> file(const Msg& m) {
  return std::make_shared<const MappedFile>(MappedFile::fromBytes(m.bytes, "t.pb"));
}
Result<DecodedTensor> decode(const Msg& m) {
  Result<DataValue> value = readData(file(m), DataKind::tensor);
  if (!value.ok()) return value.takeError();
  return std::move(value->tensor);
}
DiagnosticId faultOf(const Msg& m) {
  Result<DecodedTensor> t = decode(m);
  return t.ok() ? DiagnosticId::warning : t.error().id;
}
template <typename T>
std::vector<T> values(const Result<DecodedTensor>& t) {
  if (!t.ok()) {
    ADD_FAILURE() << t.error().toString();
    return {};
  }
  std::vector<T> out(t->sizeBytes / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), t->data, t->sizeBytes);
  return out;
}

TEST(OnnxTensor, rawDataAreBorrowed) {
  Result<DecodedTensor> t =
      decode(Msg().packed(1, {2}).num(2, kFloat).packedFixed<float>(9, {1.f, -2.f}).sub(8, "w"));
  EXPECT_THAT(values<float>(t), ElementsAre(1.f, -2.f));
  EXPECT_TRUE(t->borrowed);
  EXPECT_EQ(t->name, "w");
  EXPECT_THAT(t->dims, ElementsAre(2));
}

TEST(OnnxTensor, typedFieldsPackedAndNot) {
  EXPECT_THAT(values<float>(decode(Msg().num(1, 3).num(2, kFloat).packedFixed<float>(4, {1, 2}).f32(4, 3))),
              ElementsAre(1, 2, 3));
  EXPECT_THAT(values<double>(decode(Msg().num(1, 1).num(2, kDouble).packedFixed<double>(10, {0.25}))),
              ElementsAre(0.25));
  EXPECT_THAT(values<int64_t>(decode(Msg().num(1, 3).num(2, kInt64).packed(7, {-1, INT64_MAX}).num(7, 5))),
              ElementsAre(-1, INT64_MAX, 5));
  EXPECT_THAT(values<uint64_t>(decode(Msg().num(1, 1).num(2, kUint64).packed(11, {-1}))),
              ElementsAre(UINT64_MAX));
  EXPECT_THAT(values<uint32_t>(decode(Msg().num(1, 1).num(2, kUint32).packed(11, {UINT32_MAX}))),
              ElementsAre(UINT32_MAX));
  EXPECT_THAT(values<int32_t>(decode(Msg().num(1, 2).num(2, kInt32).packed(5, {-7, 7}))), ElementsAre(-7, 7));
  EXPECT_THAT(values<int16_t>(decode(Msg().num(1, 1).num(2, kInt16).packed(5, {-300}))), ElementsAre(-300));
  EXPECT_THAT(values<int8_t>(decode(Msg().num(1, 2).num(2, kInt8).packed(5, {-128, 127}))),
              ElementsAre(-128, 127));
  EXPECT_THAT(values<uint8_t>(decode(Msg().num(1, 1).num(2, kUint8).packed(5, {255}))), ElementsAre(255));
  EXPECT_THAT(values<uint16_t>(decode(Msg().num(1, 1).num(2, kFloat16).packed(5, {0x3c00}))),
              ElementsAre(0x3c00));
  EXPECT_THAT(values<uint16_t>(decode(Msg().num(1, 1).num(2, kBfloat16).packed(5, {0xff80}))),
              ElementsAre(0xff80));
  EXPECT_THAT(values<uint8_t>(decode(Msg().num(1, 1).num(2, kFloat8E5M2).packed(5, {0x7c}))),
              ElementsAre(0x7c));
  EXPECT_THAT(values<uint8_t>(decode(Msg().num(1, 2).num(2, kBool).packed(5, {0, 2}))), ElementsAre(0, 1));
  EXPECT_THAT(values<float>(decode(Msg().num(1, 1).num(2, kComplex64).packedFixed<float>(4, {1, 2}))),
              ElementsAre(1, 2));
  EXPECT_THAT(values<double>(decode(Msg().num(1, 1).num(2, kComplex128).packedFixed<double>(10, {1, 2}))),
              ElementsAre(1, 2));
}

TEST(OnnxTensor, subByteElementsAreUnpacked) {
  // 0x8f: low nibble 15, high nibble 8.
  EXPECT_THAT(values<int8_t>(decode(Msg().num(1, 3).num(2, kInt4).sub(9, "\x8f\x07"))),
              ElementsAre(-1, -8, 7));
  EXPECT_THAT(values<uint8_t>(decode(Msg().num(1, 3).num(2, kUint4).sub(9, "\x8f\x07"))),
              ElementsAre(15, 8, 7));
  EXPECT_THAT(values<uint8_t>(decode(Msg().num(1, 1).num(2, kFloat4E2M1).sub(9, "\x0c"))), ElementsAre(12));
  // 0b11100100: 0, 1, 2, 3.
  EXPECT_THAT(values<int8_t>(decode(Msg().num(1, 5).num(2, kInt2).sub(9, "\xe4\x01"))),
              ElementsAre(0, 1, -2, -1, 1));
  EXPECT_THAT(values<uint8_t>(decode(Msg().num(1, 4).num(2, kUint2).sub(9, "\xe4"))),
              ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(values<int8_t>(decode(Msg().num(1, 3).num(2, kInt4).packed(5, {0x8f, 7}))),
              ElementsAre(-1, -8, 7));
  EXPECT_THAT(values<int8_t>(decode(Msg().num(1, 5).num(2, kInt2).packed(5, {0xe4, 1}))),
              ElementsAre(0, 1, -2, -1, 1));
}

TEST(OnnxTensor, boolBytesBecomeZeroOrOne) {
  EXPECT_THAT(
      values<uint8_t>(decode(Msg().num(1, 3).num(2, kBool).sub(9, std::string_view("\0\x01\x7f", 3)))),
      ElementsAre(0, 1, 1));
}

TEST(OnnxTensor, stringsAndScalarsAndEmpties) {
  Result<DecodedTensor> t = decode(Msg().num(1, 2).num(2, kString).sub(6, "a").sub(6, ""));
  ASSERT_TRUE(t.ok());
  EXPECT_THAT(t->strings, ElementsAre("a", ""));
  EXPECT_THAT(values<int64_t>(decode(Msg().num(2, kInt64).num(7, 9))), ElementsAre(9));
  Result<DecodedTensor> empty = decode(Msg().packed(1, {0, 7}).num(2, kFloat));
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(empty->elementCount, 0);
}

TEST(OnnxTensor, sizesThatDoNotHoldAreRefused) {
  EXPECT_EQ(faultOf(Msg().num(1, -1).num(2, kFloat)), DiagnosticId::onnxInvalid);
  EXPECT_EQ(faultOf(Msg().num(1, (int64_t{1} << 62) + 2).num(2, kFloat).sub(9, "12345678")),
            DiagnosticId::dimOverflow);
  EXPECT_EQ(faultOf(Msg().packed(1, {65536, 65536, 65536, 65536}).num(2, kInt8)), DiagnosticId::dimOverflow);
  EXPECT_EQ(faultOf(Msg().packed(1, {int64_t{1} << 40, int64_t{1} << 40, 0}).num(2, kInt8)),
            DiagnosticId::dimOverflow);
  EXPECT_EQ(faultOf(Msg().packed(1, {65536, 65536}).num(2, kFloat).sub(9, "")), DiagnosticId::onnxInvalid);
  EXPECT_EQ(faultOf(Msg().num(1, 1000000000000000).num(2, kInt64).packed(7, {1})), DiagnosticId::onnxInvalid);
  EXPECT_EQ(faultOf(Msg().num(1, 1000000000000).num(2, kString).sub(6, "x")), DiagnosticId::onnxInvalid);
  EXPECT_EQ(faultOf(Msg().num(1, 2).num(2, kFloat).sub(9, "1234567")), DiagnosticId::onnxInvalid);
  EXPECT_EQ(faultOf(Msg().num(1, 3).num(2, kInt4).sub(9, "1")), DiagnosticId::onnxInvalid);
  EXPECT_EQ(faultOf(Msg().num(1, 2).num(2, kInt64).packed(7, {1, 2, 3})), DiagnosticId::onnxInvalid);
}

TEST(OnnxTensor, fieldsThatDoNotBelongAreRefused) {
  EXPECT_EQ(faultOf(Msg().num(1, 1).num(2, kFloat).packed(7, {1})), DiagnosticId::onnxInvalid);
  EXPECT_EQ(faultOf(Msg().num(1, 1).num(2, kInt64).packed(7, {1}).sub(9, "12345678")),
            DiagnosticId::onnxInvalid);
  EXPECT_EQ(faultOf(Msg().num(1, 1).num(2, kString).sub(9, "x")), DiagnosticId::onnxInvalid);
  EXPECT_EQ(faultOf(Msg().num(1, 1).num(2, kUint8).packed(5, {256})), DiagnosticId::onnxInvalid);
  EXPECT_EQ(faultOf(Msg().num(1, 1).num(2, kUint8).packed(5, {-1})), DiagnosticId::onnxInvalid);
  EXPECT_EQ(faultOf(Msg().num(1, 1).num(2, kUint32).packed(11, {int64_t{1} << 32})),
            DiagnosticId::onnxInvalid);
  EXPECT_EQ(faultOf(Msg().num(1, 1)), DiagnosticId::onnxInvalid) << "no element type";
  EXPECT_EQ(faultOf(Msg().num(1, 1).num(2, kFloat6E2M3).sub(9, "x")), DiagnosticId::unsupportedDtype);
  EXPECT_EQ(faultOf(Msg().num(1, 1).num(2, 77).sub(9, "x")), DiagnosticId::unsupportedDtype);
  EXPECT_EQ(faultOf(Msg().num(1, 1).num(2, kInt8).sub(9, "x").sub(3, Msg())),
            DiagnosticId::unsupportedFeature);
  EXPECT_EQ(faultOf(Msg().num(1, 1).num(2, kInt8).num(14, 1)), DiagnosticId::onnxExternalData);
  EXPECT_EQ(faultOf(Msg().num(1, 1).num(2, kInt8).num(14, 7).sub(9, "x")), DiagnosticId::onnxInvalid);
}

TEST(OnnxTensor, writtenTensorsReadBackForEveryElementType) {
  for (int32_t type = 1; type <= 26; ++type) {
    DecodedTensor t;
    t.name = "t";
    t.onnxType = type;
    t.dims = {3, 1};
    std::vector<uint8_t> bytes(3 * storageBits(type) / 8);
    for (size_t i = 0; i != bytes.size(); ++i) {
      bytes[i] = static_cast<uint8_t>(i * 37 + 5);
      if (fileBits(type) == 4)
        bytes[i] = type == kInt4 ? static_cast<uint8_t>(-1 - static_cast<int>(i)) : i + 9;
      if (fileBits(type) == 2)
        bytes[i] = type == kInt2 ? static_cast<uint8_t>(-1 - static_cast<int>(i & 1)) : i;
      if (type == kBool) bytes[i] = i & 1;
    }
    if (type == kString) {
      t.strings = {"a", "", "c"};
    } else {
      t.data = reinterpret_cast<const std::byte*>(bytes.data());
      t.sizeBytes = bytes.size();
    }
    Result<std::string> written = writeTensorProto(t);
    ASSERT_TRUE(written.ok()) << written.error().toString();
    Result<DecodedTensor> back = decode(Msg{*written});
    ASSERT_TRUE(back.ok()) << elementTypeName(type) << ": " << back.error().toString();
    EXPECT_EQ(back->dims, t.dims);
    EXPECT_EQ(back->name, "t");
    EXPECT_EQ(back->strings, t.strings);
    EXPECT_EQ(values<uint8_t>(back), type == kString ? std::vector<uint8_t>() : bytes)
        << elementTypeName(type);
  }
}

TEST(OnnxTensor, writingRefusesWhatDimsDoNotHold) {
  DecodedTensor t;
  t.onnxType = kFloat;
  t.dims = {5};
  EXPECT_FALSE(writeTensorProto(t).ok());
  t.dims = {-1};
  EXPECT_FALSE(writeTensorProto(t).ok());
}

TEST(OnnxData, sequencesAndOptionalsReadAndWrite) {
  Msg one = Msg().num(1, 1).num(2, kInt8).sub(9, "\x05"), two = Msg().num(2, kInt8).sub(9, "\x06");
  Msg sequence = Msg().sub(1, "s").num(2, 1).sub(3, one).sub(3, two);
  Result<DataValue> v = readData(file(sequence), DataKind::sequence);
  ASSERT_TRUE(v.ok()) << v.error().toString();
  EXPECT_EQ(v->name, "s");
  ASSERT_EQ(v->elements.size(), 2u);
  EXPECT_EQ(*v->elements[1].tensor.data, std::byte{6});
  EXPECT_TRUE(v->elements[1].tensor.dims.empty());

  Msg optional = Msg().num(2, 3).sub(5, sequence);
  Result<DataValue> o = readData(file(optional), DataKind::optional);
  ASSERT_TRUE(o.ok());
  ASSERT_EQ(o->elements.size(), 1u);
  EXPECT_EQ(o->elements[0].kind, DataKind::sequence);
  EXPECT_EQ(o->elements[0].elements.size(), 2u);
  Result<std::string> written = writeData(*o);
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(*written, optional.bytes);

  Result<DataValue> none = readData(file(Msg().num(2, 1)), DataKind::optional);
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->elements.empty());
  Msg map = Msg().packed(3, {4, -5}).sub(5, Msg().num(2, 1).sub(3, one).sub(3, two));
  Result<DataValue> m = readData(file(map), DataKind::map);
  ASSERT_TRUE(m.ok()) << m.error().toString();
  EXPECT_THAT(m->keys, ElementsAre(4, -5));
  EXPECT_FALSE(readData(file(Msg().packed(3, {4}).sub(5, Msg())), DataKind::map).ok());
}

TEST(OnnxData, nestingIsLimited) {
  Msg value = Msg().num(2, kInt8).sub(9, "x");
  Msg nested = Msg().sub(3, value);
  for (size_t i = 0; i + 1 < kMaxDataDepth; ++i) nested = Msg().sub(7, nested);
  EXPECT_TRUE(readData(file(nested), DataKind::optional).ok());
  Result<DataValue> deeper = readData(file(Msg().sub(7, nested)), DataKind::optional);
  ASSERT_FALSE(deeper.ok());
  EXPECT_EQ(deeper.error().id, DiagnosticId::onnxInvalid);
}

}  // namespace
}  // namespace dyn::onnx
