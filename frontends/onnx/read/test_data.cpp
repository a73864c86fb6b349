// Test data files: SequenceProto, OptionalProto and MapProto around tensors (onnx-data.proto), reading and
// writing.
#include "frontends/onnx/read/onnx_tensor.h"
#include "frontends/onnx/read/wire_writer.h"

namespace dyn::onnx {
namespace {

// An element takes 2 bytes in a file and some 300 in memory.
constexpr uint64_t kMaxElements = 1000000;

// A message that waits to be read into its value; values do not move once they are listed.
struct Pending {
  DataKind kind;
  Text bytes;
  DataValue* value;
  size_t depth;
};

class DataReader {
 public:
  explicit DataReader(std::shared_ptr<const MappedFile> file) : source_(std::move(file)) {}

  Result<DataValue> read(DataKind kind) {
    DataValue root;
    pending_.push_back({kind, source_.file->bytes(), &root, 0});
    while (!pending_.empty()) {
      Pending next = pending_.back();
      pending_.pop_back();
      if (next.depth > kMaxDataDepth)
        return source_.error(next.bytes.data(), DiagnosticId::onnxInvalid,
                             "values are nested deeper than " + std::to_string(kMaxDataDepth));
      next.value->kind = next.kind;
      switch (next.kind) {
        case DataKind::tensor:
          DYN_CHECK(readTensor(next));
          break;
        case DataKind::sequence:
          DYN_CHECK(readSequence(next));
          break;
        case DataKind::optional:
          DYN_CHECK(readOptional(next));
          break;
        case DataKind::map:
          DYN_CHECK(readMap(next));
          break;
      }
    }
    return root;
  }

 private:
  Status readTensor(const Pending& at) {
    SpanArena arena(uint64_t{1} << 30);
    DYN_TRY(const TensorProto* tensor, readTensorProto(at.bytes, source_, arena));
    DYN_TRY(at.value->tensor, decodeTensor(*tensor, source_));
    at.value->name = at.value->tensor.name;
    return {};
  }

  Error sparse(const WireField& field) {
    return source_.error(field.start, DiagnosticId::unsupportedFeature, "a sparse tensor as test data");
  }

  // SequenceProto: lists 3 tensors, 4 sparse tensors, 5 sequences, 6 maps, 7 optionals; one of them is used.
  Status readSequence(const Pending& at) {
    static constexpr DataKind kKind[8] = {
        {}, {}, {}, DataKind::tensor, {}, DataKind::sequence, DataKind::map, DataKind::optional};
    uint64_t count = 0;
    uint32_t used = 0;
    WireReader first(at.bytes, source_);
    for (WireField field; first.next(field);) {
      if (field.number == 1) {
        Text name;
        first.readText(field, "SequenceProto.name", name);
        at.value->name = std::string(name);
      } else if (field.number == 4) {
        return sparse(field);
      } else if (field.number >= 3 && field.number <= 7) {
        first.expect(field, WireType::bytes, "SequenceProto's values");
        if (used != 0 && used != field.number)
          return source_.error(field.start, DiagnosticId::onnxInvalid,
                               "a sequence holds values of two kinds");
        used = field.number;
        ++count;
      }
    }
    if (first.failed()) return first.error();
    if (count > kMaxElements)
      return source_.error(at.bytes.data(), DiagnosticId::memoryLimit,
                           "a sequence has " + std::to_string(count) + " elements, the limit is " +
                               std::to_string(kMaxElements));
    at.value->elements.resize(count);
    size_t filled = 0;
    WireReader reader(at.bytes, source_);
    for (WireField field; count != 0 && reader.next(field);)
      if (field.number == used)
        pending_.push_back({kKind[used], field.bytes, &at.value->elements[filled++], at.depth + 1});
    return {};
  }

  Status readOptional(const Pending& at) {
    static constexpr DataKind kKind[8] = {
        {}, {}, {}, DataKind::tensor, {}, DataKind::sequence, DataKind::map, DataKind::optional};
    WireField content;
    WireReader reader(at.bytes, source_);
    for (WireField field; reader.next(field);) {
      if (field.number == 1) {
        Text name;
        reader.readText(field, "OptionalProto.name", name);
        at.value->name = std::string(name);
      } else if (field.number == 4) {
        return sparse(field);
      } else if (field.number >= 3 && field.number <= 7 &&
                 reader.expect(field, WireType::bytes, "OptionalProto's value")) {
        if (content.number != 0)
          return source_.error(field.start, DiagnosticId::onnxInvalid, "an optional holds two values");
        content = field;
      }
    }
    if (reader.failed()) return reader.error();
    if (content.number == 0) return {};
    at.value->elements.resize(1);
    pending_.push_back({kKind[content.number], content.bytes, &at.value->elements[0], at.depth + 1});
    return {};
  }

  // MapProto: 3 integer keys, 4 string keys, 5 the sequence of values, which becomes the map's one element at
  // first.
  Status readMap(const Pending& at) {
    WireField values;
    WireReader reader(at.bytes, source_);
    for (WireField field; reader.next(field);) switch (field.number) {
        case 1: {
          Text name;
          reader.readText(field, "MapProto.name", name);
          at.value->name = std::string(name);
          break;
        }
        case 3:
          reader.forEachVarint(field, "MapProto.keys",
                               [&](uint64_t key) { at.value->keys.push_back(static_cast<int64_t>(key)); });
          break;
        case 4:
          if (reader.expect(field, WireType::bytes, "MapProto.string_keys"))
            at.value->stringKeys.emplace_back(field.bytes);
          break;
        case 5:
          if (values.number != 0)
            return source_.error(field.start, DiagnosticId::onnxMalformed, "MapProto.values occurs twice");
          if (reader.expect(field, WireType::bytes, "MapProto.values")) values = field;
          break;
        default:
          break;
      }
    if (reader.failed()) return reader.error();
    if (values.number != 0) DYN_CHECK(readSequence({DataKind::sequence, values.bytes, at.value, at.depth}));
    if (at.value->keys.size() + at.value->stringKeys.size() != at.value->elements.size())
      return source_.error(at.bytes.data(), DiagnosticId::onnxInvalid,
                           "a map has " +
                               std::to_string(at.value->keys.size() + at.value->stringKeys.size()) +
                               " keys and " + std::to_string(at.value->elements.size()) + " values");
    return {};
  }

  WireSource source_;
  std::vector<Pending> pending_;
};

std::string packed(const DecodedTensor& tensor, unsigned bits) {
  const uint64_t perByte = 8 / bits;
  std::string out(tensor.sizeBytes / perByte + (tensor.sizeBytes % perByte != 0), '\0');
  for (uint64_t i = 0; i != tensor.sizeBytes; ++i) {
    unsigned value = static_cast<unsigned>(tensor.data[i]) & ((1u << bits) - 1);
    out[i / perByte] =
        static_cast<char>(static_cast<uint8_t>(out[i / perByte]) | value << (i % perByte * bits));
  }
  return out;
}

// The number of SequenceProto.DataType and OptionalProto.DataType, and the field that holds values of the
// kind.
struct KindCode {
  uint32_t code, field;
};
KindCode codeOf(DataKind kind) {
  switch (kind) {
    case DataKind::tensor:
      return {1, 3};
    case DataKind::sequence:
      return {3, 5};
    case DataKind::map:
      return {4, 6};
    case DataKind::optional:
      return {5, 7};
  }
  return {};
}

// At most kMaxDataDepth calls deep.
Result<std::string> writeNested(const DataValue& value, size_t depth) {
  if (depth > kMaxDataDepth)
    return makeError(DiagnosticId::onnxInvalid,
                     "values are nested deeper than " + std::to_string(kMaxDataDepth));
  if (value.kind == DataKind::tensor) return writeTensorProto(value.tensor);
  if (value.kind == DataKind::map)
    return makeError(DiagnosticId::unsupportedFeature, "writing a map as test data");
  WireWriter out;
  if (!value.name.empty()) out.bytes(1, value.name);
  if (!value.elements.empty()) out.varint(2, codeOf(value.elements[0].kind).code);
  for (const DataValue& element : value.elements) {
    DYN_TRY(std::string bytes, writeNested(element, depth + 1));
    out.bytes(codeOf(element.kind).field, bytes);
  }
  return out.take();
}

}  // namespace

DataKind dataKindOf(const TypeProto& type) {
  if (type.wrappers.empty()) return DataKind::tensor;
  switch (type.wrappers[0].kind) {
    case TypeWrapper::Kind::sequence:
      return DataKind::sequence;
    case TypeWrapper::Kind::optional:
      return DataKind::optional;
    case TypeWrapper::Kind::map:
      return DataKind::map;
  }
  return DataKind::tensor;
}

Result<DataValue> readData(std::shared_ptr<const MappedFile> file, DataKind kind) {
  return DataReader(std::move(file)).read(kind);
}

Result<DataValue> openData(const std::string& path, DataKind kind) {
  DYN_TRY(MappedFile file, MappedFile::open(path));
  return readData(std::make_shared<const MappedFile>(std::move(file)), kind);
}

Result<std::string> writeTensorProto(const DecodedTensor& tensor) {
  if (storageBits(tensor.onnxType) == 0)
    return makeError(DiagnosticId::unsupportedDtype,
                     "writing elements of type " + elementTypeName(tensor.onnxType));
  int64_t count = 1;
  for (int64_t dim : tensor.dims)
    if (dim < 0 || __builtin_mul_overflow(count, dim, &count))
      return makeError(DiagnosticId::dimOverflow,
                       "tensor " + quotedText(tensor.name) + " has dims that are not sizes");
  const bool text = tensor.onnxType == kString;
  const uint64_t held = text ? tensor.strings.size() : tensor.sizeBytes / (storageBits(tensor.onnxType) / 8);
  if (held != static_cast<uint64_t>(count))
    return makeError(DiagnosticId::onnxInvalid, "tensor " + quotedText(tensor.name) + " holds " +
                                                    std::to_string(held) + " elements, its dims need " +
                                                    std::to_string(count));
  WireWriter out;
  for (int64_t dim : tensor.dims) out.varint(1, static_cast<uint64_t>(dim));
  out.varint(2, static_cast<uint64_t>(tensor.onnxType));
  for (const std::string& item : tensor.strings) out.bytes(6, item);
  if (!tensor.name.empty()) out.bytes(8, tensor.name);
  const unsigned bits = fileBits(tensor.onnxType);
  if (!text && bits < 8) {
    out.bytes(9, packed(tensor, bits));
  } else if (!text) {
    out.bytes(9, {reinterpret_cast<const char*>(tensor.data), tensor.data == nullptr ? 0 : tensor.sizeBytes});
  }
  return out.take();
}

Result<std::string> writeData(const DataValue& value) { return writeNested(value, 0); }

}  // namespace dyn::onnx
