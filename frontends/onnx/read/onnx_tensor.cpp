#include "frontends/onnx/read/onnx_tensor.h"

#include <cstring>
#include <new>

namespace dyn::onnx {
namespace {

constexpr uint32_t kDataFields = TensorProto::kFloatData | TensorProto::kInt32Data |
                                 TensorProto::kStringData | TensorProto::kInt64Data | TensorProto::kRawData |
                                 TensorProto::kDoubleData | TensorProto::kUint64Data;

// The typed field that may hold elements of the type, and its number in the message.
struct TypedField {
  uint32_t flag;
  uint32_t number;
  const char* name;
};

TypedField typedFieldOf(int32_t type) {
  switch (type) {
    case kFloat:
    case kComplex64:
      return {TensorProto::kFloatData, 4, "float_data"};
    case kDouble:
    case kComplex128:
      return {TensorProto::kDoubleData, 10, "double_data"};
    case kInt64:
      return {TensorProto::kInt64Data, 7, "int64_data"};
    case kUint32:
    case kUint64:
      return {TensorProto::kUint64Data, 11, "uint64_data"};
    case kString:
      return {TensorProto::kStringData, 6, "string_data"};
    default:
      return {TensorProto::kInt32Data, 5, "int32_data"};
  }
}

struct AlignedBytes {
  std::shared_ptr<std::byte> bytes;  // null: no memory
};

AlignedBytes allocateAligned(uint64_t sizeBytes) {
  constexpr std::align_val_t kAlignment{64};
  void* memory =
      ::operator new(static_cast<size_t>(sizeBytes == 0 ? 1 : sizeBytes), kAlignment, std::nothrow);
  if (memory == nullptr) return {};
  return {std::shared_ptr<std::byte>(static_cast<std::byte*>(memory),
                                     [kAlignment](std::byte* p) { ::operator delete(p, kAlignment); })};
}

bool isSigned(int32_t type) { return type == kInt4 || type == kInt2; }

// Element `index` of a packed byte stream of 4 or 2 bit elements, the first in the low bits.
std::byte unpackElement(uint8_t byte, unsigned slot, unsigned bits, bool extendSign) {
  unsigned value = (byte >> (slot * bits)) & ((1u << bits) - 1);
  if (extendSign && (value >> (bits - 1)) != 0) value |= 0xffu << bits;
  return static_cast<std::byte>(value & 0xff);
}

class TensorDecoder {
 public:
  TensorDecoder(const TensorProto& tensor, const WireSource& source, ExternalData* external)
      : tensor_(tensor), source_(source), external_(external) {}

  Result<DecodedTensor> decode() {
    out_.name = std::string(tensor_.name);
    out_.onnxType = tensor_.dataType;
    if (tensor_.present & TensorProto::kSegment)
      return fault(DiagnosticId::unsupportedFeature, "is stored in segments");
    if (tensor_.dataType == 0) return fault(DiagnosticId::onnxInvalid, "has no element type");
    if (storageBits(tensor_.dataType) == 0)
      return fault(DiagnosticId::unsupportedDtype,
                   "has the element type " + elementTypeName(tensor_.dataType));
    DYN_CHECK(computeSizes());
    const uint32_t data = tensor_.present & kDataFields;
    if ((data & (data - 1)) != 0) return fault(DiagnosticId::onnxInvalid, "holds its data in two fields");
    Status status;
    if (tensor_.location == TensorProto::Location::external) {
      status = data != 0 ? Status(fault(DiagnosticId::onnxInvalid, "holds data inside and outside the file"))
                         : decodeExternal();
    } else if (tensor_.dataType == kString) {
      status = decodeStrings();
    } else if (data == TensorProto::kRawData) {
      out_.keepAlive = out_.file = source_.file;
      status = decodeRaw(tensor_.rawData);
    } else {
      status = decodeTyped();
    }
    if (!status.ok()) return status.takeError();
    return std::move(out_);
  }

 private:
  Error fault(DiagnosticId id, const std::string& what) const {
    return source_.error(tensor_.bytes.data(), id, "tensor " + quotedText(tensor_.name) + " " + what);
  }

  Status computeSizes() {
    out_.dims.assign(tensor_.dims.begin(), tensor_.dims.end());
    int64_t count = 1;
    bool zero = false;
    for (int64_t dim : out_.dims) {
      if (dim < 0) return fault(DiagnosticId::onnxInvalid, "has the negative dim " + std::to_string(dim));
      if (dim == 0) {
        zero = true;  // the product of the others must fit all the same: strides are computed from it
      } else if (__builtin_mul_overflow(count, dim, &count)) {
        return fault(DiagnosticId::dimOverflow, "has more elements than 64 bits can count");
      }
    }
    int64_t bits = 0;
    if (__builtin_mul_overflow(count, int64_t{storageBits(tensor_.dataType)}, &bits))
      return fault(DiagnosticId::dimOverflow, "needs more bytes than 64 bits can count");
    out_.elementCount = zero ? 0 : count;
    out_.sizeBytes = static_cast<uint64_t>(zero ? 0 : bits / 8);
    return {};
  }

  uint64_t fileBytes() const {
    uint64_t count = static_cast<uint64_t>(out_.elementCount);
    unsigned bits = fileBits(tensor_.dataType);
    return bits >= 8 ? count * (bits / 8) : count / (8 / bits) + (count % (8 / bits) != 0);
  }

  Status allocate() {
    AlignedBytes memory = allocateAligned(out_.sizeBytes);
    if (memory.bytes == nullptr)
      return fault(DiagnosticId::memoryLimit, "needs " + std::to_string(out_.sizeBytes) + " bytes of memory");
    target_ = memory.bytes.get();
    out_.data = target_;
    out_.keepAlive = std::move(memory.bytes);
    out_.borrowed = false;
    return {};
  }

  Status decodeExternal() {
    SourceLocation place = source_.place(tensor_.bytes.data());
    place.node = "tensor " + quotedText(tensor_.name);
    if (tensor_.dataType == kString)
      return makeError(DiagnosticId::onnxExternalData, "strings cannot be external data", std::move(place));
    if (external_ == nullptr)
      return makeError(DiagnosticId::onnxExternalData, "external data need a model that comes from a file",
                       std::move(place));
    DYN_TRY(ExternalSlice slice, external_->resolve(tensor_.externalData, fileBytes(), place));
    out_.keepAlive = out_.file = slice.file;
    return decodeRaw(slice.bytes);
  }

  // keepAlive holds the file of `raw`.
  Status decodeRaw(Text raw) {
    if (raw.size() != fileBytes())
      return fault(DiagnosticId::onnxInvalid, "has " + std::to_string(raw.size()) +
                                                  " bytes of data, its dims need " +
                                                  std::to_string(fileBytes()));
    const unsigned bits = fileBits(tensor_.dataType);
    if (bits < 8) {
      std::shared_ptr<const void> hold = out_.keepAlive;  // allocate() replaces it
      DYN_CHECK(allocate());
      const unsigned perByte = 8 / bits;
      for (uint64_t i = 0; i != out_.sizeBytes; ++i)
        target_[i] = unpackElement(static_cast<uint8_t>(raw[i / perByte]), i % perByte, bits,
                                   isSigned(tensor_.dataType));
      return {};
    }
    bool plain = true;
    if (tensor_.dataType == kBool)
      for (char c : raw) plain &= static_cast<uint8_t>(c) <= 1;
    if (!plain) {                                         // true is written as some other number than 1
      std::shared_ptr<const void> hold = out_.keepAlive;  // allocate() replaces it
      DYN_CHECK(allocate());
      for (uint64_t i = 0; i != out_.sizeBytes; ++i) target_[i] = static_cast<std::byte>(raw[i] != 0);
      return {};
    }
    out_.data = reinterpret_cast<const std::byte*>(raw.data());
    out_.borrowed = true;
    return {};
  }

  Status decodeStrings() {
    if (tensor_.present & kDataFields & ~uint32_t{TensorProto::kStringData})
      return fault(DiagnosticId::onnxInvalid, "holds strings in a field for numbers");
    out_.sizeBytes = 0;
    uint64_t count = 0;
    WireReader first(tensor_.bytes, source_);
    for (WireField field; first.next(field);)
      if (field.number == 6) count += first.expect(field, WireType::bytes, "TensorProto.string_data");
    if (first.failed()) return first.error();
    DYN_CHECK(checkCount(count, static_cast<uint64_t>(out_.elementCount), "string_data"));
    out_.strings.reserve(count);
    WireReader reader(tensor_.bytes, source_);
    for (WireField field; reader.next(field);)
      if (field.number == 6) out_.strings.emplace_back(field.bytes);
    return {};
  }

  Status checkCount(uint64_t found, uint64_t needed, const char* field) const {
    if (found == needed) return {};
    return fault(DiagnosticId::onnxInvalid, "has " + std::to_string(found) + " values in " + field +
                                                ", its dims and element type need " + std::to_string(needed));
  }

  // Values are counted before memory is taken: it is never more than the bytes in the file justify.
  Status decodeTyped() {
    const TypedField typed = typedFieldOf(tensor_.dataType);
    const uint32_t data = tensor_.present & kDataFields;
    if (data != 0 && data != typed.flag)
      return fault(DiagnosticId::onnxInvalid, "of element type " + elementTypeName(tensor_.dataType) +
                                                  " holds its data in another field than " + typed.name);
    const bool fixed = typed.flag == TensorProto::kFloatData || typed.flag == TensorProto::kDoubleData;
    const WireType width = typed.flag == TensorProto::kFloatData ? WireType::fixed32 : WireType::fixed64;
    const std::string name = std::string("TensorProto.") + typed.name;
    uint64_t count = 0;
    WireReader first(tensor_.bytes, source_);
    for (WireField field; first.next(field);)
      if (field.number == typed.number)
        count += fixed ? first.countFixed(field, width, name) : first.countVarints(field, name);
    if (first.failed()) return first.error();
    const uint64_t elements = static_cast<uint64_t>(out_.elementCount);
    const bool complex = tensor_.dataType == kComplex64 || tensor_.dataType == kComplex128;
    // Packed types: each number holds one byte's worth of elements.
    DYN_CHECK(checkCount(count,
                         fileBits(tensor_.dataType) < 8 ? fileBytes()
                         : complex                      ? elements * 2
                                                        : elements,
                         typed.name));
    DYN_CHECK(allocate());
    uint64_t index = 0;
    bool inRange = true;
    WireReader reader(tensor_.bytes, source_);
    for (WireField field; reader.next(field);) {
      if (field.number != typed.number) continue;
      if (fixed)
        reader.forEachFixed(field, width, name, [&](uint64_t bits) {
          size_t bytes = width == WireType::fixed32 ? 4 : 8;
          std::memcpy(target_ + index++ * bytes, &bits, bytes);
        });
      else
        reader.forEachVarint(field, name, [&](uint64_t value) { inRange &= storeVarint(value, index++); });
    }
    if (reader.failed()) return reader.error();
    if (!inRange)
      return fault(DiagnosticId::onnxInvalid, std::string("has a number in ") + typed.name + " that is no " +
                                                  elementTypeName(tensor_.dataType));
    return {};
  }

  template <typename T>
  void put(uint64_t index, T value) {
    std::memcpy(target_ + index * sizeof(T), &value, sizeof(T));
  }

  // False when the number is out of the element type's range.
  bool storeVarint(uint64_t value, uint64_t index) {
    // Protobuf keeps the low 32 bits of an int32 field.
    const int32_t narrow = static_cast<int32_t>(static_cast<uint32_t>(value));
    switch (tensor_.dataType) {
      case kInt64:
      case kUint64:
        put(index, value);
        return true;
      case kUint32:
        put(index, static_cast<uint32_t>(value));
        return value <= UINT32_MAX;
      case kInt32:
        put(index, narrow);
        return true;
      case kInt16:
        put(index, static_cast<int16_t>(narrow));
        return narrow == static_cast<int16_t>(narrow);
      case kInt8:
        put(index, static_cast<int8_t>(narrow));
        return narrow == static_cast<int8_t>(narrow);
      case kBool:
        put(index, static_cast<uint8_t>(narrow != 0));
        return true;
      case kUint16:
      case kFloat16:
      case kBfloat16:
        put(index, static_cast<uint16_t>(narrow));
        return narrow >= 0 && narrow <= UINT16_MAX;
      case kUint4:
      case kInt4:
      case kFloat4E2M1:
      case kUint2:
      case kInt2: {
        const unsigned bits = fileBits(tensor_.dataType);
        for (unsigned slot = 0; slot != 8 / bits; ++slot) {
          uint64_t element = index * (8 / bits) + slot;
          if (element < out_.sizeBytes)
            target_[element] =
                unpackElement(static_cast<uint8_t>(narrow), slot, bits, isSigned(tensor_.dataType));
        }
        return narrow >= INT8_MIN && narrow <= UINT8_MAX;
      }
      default:
        put(index, static_cast<uint8_t>(narrow));
        return narrow >= 0 && narrow <= UINT8_MAX;
    }
  }

  const TensorProto& tensor_;
  const WireSource& source_;
  ExternalData* external_;
  DecodedTensor out_;
  std::byte* target_ = nullptr;
};

}  // namespace

unsigned storageBits(int32_t elementType) {
  switch (elementType) {
#define DYN_DTYPE(name, text, bits, kind, code) \
  case code:                                    \
    return bits;
#include "vm/include/abi/dyn_dtype.def"
#undef DYN_DTYPE
    default:
      return 0;
  }
}

unsigned fileBits(int32_t elementType) {
  switch (elementType) {
    case kUint4:
    case kInt4:
    case kFloat4E2M1:
      return 4;
    case kUint2:
    case kInt2:
      return 2;
    default:
      return storageBits(elementType);
  }
}

int64_t fileBytes(const TensorProto& tensor) {
  int64_t bits = fileBits(tensor.dataType);
  for (const int64_t size : tensor.dims) bits *= size;
  return bits / 8;
}

Result<DecodedTensor> decodeTensor(const TensorProto& tensor, const WireSource& source,
                                   ExternalData* external) {
  return TensorDecoder(tensor, source, external).decode();
}

}  // namespace dyn::onnx
