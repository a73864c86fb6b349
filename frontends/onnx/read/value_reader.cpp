// The part of ModelReader that reads tensors, types and value infos.
#include "frontends/onnx/read/model_reader.h"

namespace dyn::onnx {

Status ModelReader::readTensor(Text bytes, TensorProto& tensor) {
  tensor.bytes = bytes;
  uint64_t dims = 0, entries = 0;
  int32_t location = 0;
  WireReader first(bytes, source_);
  for (WireField field; first.next(field);) switch (field.number) {
      case 1:
        dims += first.countVarints(field, "TensorProto.dims");
        break;
      case 2:
        first.readInt32(field, "TensorProto.data_type", tensor.dataType);
        break;
      case 3:
        tensor.present |= TensorProto::kSegment;
        break;
      case 4:
        tensor.present |= TensorProto::kFloatData;
        break;
      case 5:
        tensor.present |= TensorProto::kInt32Data;
        break;
      case 6:
        tensor.present |= TensorProto::kStringData;
        break;
      case 7:
        tensor.present |= TensorProto::kInt64Data;
        break;
      case 8:
        first.readText(field, "TensorProto.name", tensor.name);
        break;
      case 9:
        tensor.present |= TensorProto::kRawData;
        first.readText(field, "TensorProto.raw_data", tensor.rawData);
        break;
      case 10:
        tensor.present |= TensorProto::kDoubleData;
        break;
      case 11:
        tensor.present |= TensorProto::kUint64Data;
        break;
      case 13:
        ++entries;
        break;
      case 14:
        first.readInt32(field, "TensorProto.data_location", location);
        break;
      default:
        break;
    }
  if (first.failed()) return first.error();
  if (location != 0 && location != 1)
    return source_.error(
        bytes.data(), DiagnosticId::onnxInvalid,
        "tensor " + quotedText(tensor.name) + " has the unknown data_location " + std::to_string(location));
  tensor.location = static_cast<TensorProto::Location>(location);
  DYN_TRY(tensor.dims, readVarintList(bytes, 1, dims, "TensorProto.dims"));
  DYN_TRY(std::span<StringPair> pairs, arena_.allocate<StringPair>(entries));
  if (entries != 0) {
    size_t filled = 0;
    WireReader reader(bytes, source_);
    for (WireField field; reader.next(field);)
      if (field.number == 13 && reader.expect(field, WireType::bytes, "TensorProto.external_data"))
        DYN_CHECK(readPair(field.bytes, pairs[filled++]));
    if (reader.failed()) return reader.error();
  }
  tensor.externalData = pairs;
  return {};
}

Status ModelReader::readSparseTensor(Text bytes, SparseTensorProto& tensor) {
  tensor.bytes = bytes;
  uint64_t dims = 0;
  WireReader reader(bytes, source_);
  for (WireField field; reader.next(field);) switch (field.number) {
      case 1:
      case 2: {
        if (!reader.expect(field, WireType::bytes, "SparseTensorProto.values or indices")) break;
        const TensorProto*& part = field.number == 1 ? tensor.values : tensor.indices;
        if (part != nullptr)
          return source_.error(field.start, DiagnosticId::onnxMalformed,
                               "a part of SparseTensorProto occurs twice");
        DYN_TRY(std::span<TensorProto> item, arena_.allocate<TensorProto>(1));
        DYN_CHECK(readTensor(field.bytes, item[0]));
        part = item.data();
        break;
      }
      case 3:
        dims += reader.countVarints(field, "SparseTensorProto.dims");
        break;
      default:
        break;
    }
  if (reader.failed()) return reader.error();
  DYN_TRY(tensor.dims, readVarintList(bytes, 3, dims, "SparseTensorProto.dims"));
  return {};
}

Status ModelReader::readValueInfo(Text bytes, ValueInfoProto& info) {
  info.bytes = bytes;
  WireReader reader(bytes, source_);
  for (WireField field; reader.next(field);) switch (field.number) {
      case 1:
        reader.readText(field, "ValueInfoProto.name", info.name);
        break;
      case 2: {
        if (!reader.expect(field, WireType::bytes, "ValueInfoProto.type")) break;
        if (info.type != nullptr)
          return source_.error(field.start, DiagnosticId::onnxMalformed, "ValueInfoProto.type occurs twice");
        DYN_TRY(std::span<TypeProto> type, arena_.allocate<TypeProto>(1));
        DYN_CHECK(readType(field.bytes, type[0]));
        info.type = type.data();
        break;
      }
      default:
        break;
    }
  return reader.failed() ? Status(reader.error()) : Status();
}

// Each iteration goes one wrapper inwards.
Status ModelReader::readType(Text bytes, TypeProto& type) {
  std::vector<TypeWrapper> wrappers;
  Text inner = bytes;
  for (bool more = true; more;) {
    more = false;
    WireReader reader(inner, source_);
    WireField value;
    for (WireField field; reader.next(field);) {
      if (field.number == 6) {
        reader.readText(field, "TypeProto.denotation", type.denotation);
      } else if (field.number == 1 || field.number == 4 || field.number == 5 ||
                 (field.number >= 7 && field.number <= 9)) {
        if (value.number != 0)
          return source_.error(field.start, DiagnosticId::onnxMalformed, "TypeProto holds two types");
        if (reader.expect(field, WireType::bytes, "TypeProto's value")) value = field;
      }
    }
    if (reader.failed()) return reader.error();
    if (value.number == 0) break;
    if (value.number == 1 || value.number == 8) {
      type.kind = value.number == 1 ? TypeProto::Kind::tensor : TypeProto::Kind::sparseTensor;
      DYN_CHECK(readTensorType(value.bytes, type));
      break;
    }
    WireReader content(value.bytes, source_);
    if (value.number == 7) {
      type.kind = TypeProto::Kind::opaque;
      for (WireField field; content.next(field);) {
        if (field.number == 1) content.readText(field, "TypeProto.Opaque.domain", type.opaqueDomain);
        if (field.number == 2) content.readText(field, "TypeProto.Opaque.name", type.opaqueName);
      }
      if (content.failed()) return content.error();
      break;
    }
    TypeWrapper wrapper;
    wrapper.kind = value.number == 4   ? TypeWrapper::Kind::sequence
                   : value.number == 9 ? TypeWrapper::Kind::optional
                                       : TypeWrapper::Kind::map;
    const uint32_t innerField = wrapper.kind == TypeWrapper::Kind::map ? 2 : 1;
    for (WireField field; content.next(field);) {
      if (field.number == innerField) {
        if (more)
          return source_.error(field.start, DiagnosticId::onnxMalformed, "an element type occurs twice");
        content.readText(field, "an element type", inner);
        more = true;
      } else if (field.number == 1) {
        content.readInt32(field, "TypeProto.Map.key_type", wrapper.keyType);
      }
    }
    if (content.failed()) return content.error();
    if (wrappers.size() == kMaxTypeDepth)
      return source_.error(value.start, DiagnosticId::onnxInvalid,
                           "a type is nested deeper than " + std::to_string(kMaxTypeDepth));
    wrappers.push_back(wrapper);
  }
  DYN_TRY(std::span<TypeWrapper> kept, arena_.allocate<TypeWrapper>(wrappers.size()));
  for (size_t i = 0; i != wrappers.size(); ++i) kept[i] = wrappers[i];
  type.wrappers = kept;
  return {};
}

Status ModelReader::readTensorType(Text bytes, TypeProto& type) {
  WireReader reader(bytes, source_);
  for (WireField field; reader.next(field);) switch (field.number) {
      case 1:
        reader.readInt32(field, "TypeProto.Tensor.elem_type", type.elementType);
        break;
      case 2:
        if (!reader.expect(field, WireType::bytes, "TypeProto.Tensor.shape")) break;
        if (type.hasShape)
          return source_.error(field.start, DiagnosticId::onnxMalformed,
                               "TypeProto.Tensor.shape occurs twice");
        type.hasShape = true;
        DYN_CHECK(readShape(field.bytes, type));
        break;
      default:
        break;
    }
  return reader.failed() ? Status(reader.error()) : Status();
}

Status ModelReader::readShape(Text bytes, TypeProto& type) {
  uint64_t count = 0;
  WireReader first(bytes, source_);
  for (WireField field; first.next(field);) count += field.number == 1;
  if (first.failed()) return first.error();
  DYN_TRY(std::span<Dimension> dims, arena_.allocate<Dimension>(count));
  size_t filled = 0;
  WireReader reader(bytes, source_);
  for (WireField field; reader.next(field);)
    if (field.number == 1 && reader.expect(field, WireType::bytes, "TensorShapeProto.dim"))
      DYN_CHECK(readDimension(field.bytes, dims[filled++]));
  if (reader.failed()) return reader.error();
  type.shape = dims;
  return {};
}

Status ModelReader::readDimension(Text bytes, Dimension& dimension) {
  WireReader reader(bytes, source_);
  for (WireField field; reader.next(field);) switch (field.number) {
      case 1:
        reader.readInt64(field, "TensorShapeProto.Dimension.dim_value", dimension.value);
        dimension.kind = Dimension::Kind::value;
        break;
      case 2:
        reader.readText(field, "TensorShapeProto.Dimension.dim_param", dimension.parameter);
        // Exporters write an empty name for "unknown".
        dimension.kind = dimension.parameter.empty() ? Dimension::Kind::unknown : Dimension::Kind::parameter;
        break;
      case 3:
        reader.readText(field, "TensorShapeProto.Dimension.denotation", dimension.denotation);
        break;
      default:
        break;
    }
  return reader.failed() ? Status(reader.error()) : Status();
}

}  // namespace dyn::onnx
