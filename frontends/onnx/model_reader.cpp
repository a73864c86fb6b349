// The field numbers are those of onnx.proto3 (onnx 1.23, IR version 14).
#include "frontends/onnx/model_reader.h"

#include <bit>

namespace dyn::onnx {
namespace {

// A list whose length is counted first; then it is allocated, then filled in file order.
template <typename T>
struct CountedList {
  uint64_t count = 0;
  std::span<T> items;
  size_t filled = 0;

  Status allocate(SpanArena& arena) {
    DYN_TRY(items, arena.allocate<T>(count));
    return {};
  }
  // Both passes see the same bytes, so there is always room.
  T& add() { return items[filled++]; }
};

Error doubled(const WireSource& source, const WireField& field, Text name) {
  return source.error(field.start, DiagnosticId::onnxMalformed, std::string(name) + " occurs twice");
}

}  // namespace

#define DYN_ONNX_LIST(list, fieldName, read)                                                      \
  if (reader.expect(field, WireType::bytes, fieldName)) DYN_CHECK(read(field.bytes, list.add())); \
  break

Status ModelReader::readModel(Model& model) {
  Text bytes = source_.file->bytes();
  CountedList<OperatorSetId> opsets;
  CountedList<StringPair> metadata;
  CountedList<FunctionProto> functions;
  CountedList<Text> trainings;
  CountedList<DeviceConfiguration> devices;
  Text graphBytes;
  bool hasGraph = false;
  WireReader first(bytes, source_);
  for (WireField field; first.next(field);) switch (field.number) {
      case 1:
        first.readInt64(field, "ModelProto.ir_version", model.irVersion);
        break;
      case 2:
        first.readText(field, "ModelProto.producer_name", model.producerName);
        break;
      case 3:
        first.readText(field, "ModelProto.producer_version", model.producerVersion);
        break;
      case 4:
        first.readText(field, "ModelProto.domain", model.domain);
        break;
      case 5:
        first.readInt64(field, "ModelProto.model_version", model.modelVersion);
        break;
      case 6:
        first.readText(field, "ModelProto.doc_string", model.docString);
        break;
      case 7:
        if (hasGraph) return doubled(source_, field, "ModelProto.graph");
        hasGraph = true;
        first.readText(field, "ModelProto.graph", graphBytes);
        break;
      case 8:
        ++opsets.count;
        break;
      case 14:
        ++metadata.count;
        break;
      case 20:
        ++trainings.count;
        break;
      case 25:
        ++functions.count;
        break;
      case 26:
        ++devices.count;
        break;
      default:
        break;
    }
  if (first.failed()) return first.error();
  if (!hasGraph)
    return source_.error(
        bytes.data(), DiagnosticId::onnxInvalid,
        bytes.empty() ? "the file is empty" : "the file holds no graph: it is no ONNX model");
  DYN_CHECK(opsets.allocate(arena_));
  DYN_CHECK(metadata.allocate(arena_));
  DYN_CHECK(functions.allocate(arena_));
  DYN_CHECK(trainings.allocate(arena_));
  DYN_CHECK(devices.allocate(arena_));
  WireReader reader(bytes, source_);
  for (WireField field; reader.next(field);) switch (field.number) {
      case 8:
        DYN_ONNX_LIST(opsets, "ModelProto.opset_import", readOperatorSet);
      case 14:
        DYN_ONNX_LIST(metadata, "ModelProto.metadata_props", readPair);
      case 20:
        reader.readText(field, "ModelProto.training_info", trainings.add());
        break;
      case 25:
        DYN_ONNX_LIST(functions, "ModelProto.functions", readFunction);
      case 26:
        DYN_ONNX_LIST(devices, "ModelProto.configuration", readDevice);
      default:
        break;
    }
  if (reader.failed()) return reader.error();
  model.opsetImports = opsets.items;
  model.metadata = metadata.items;
  model.functions = functions.items;
  model.trainingInfos = trainings.items;
  model.deviceConfigurations = devices.items;

  DYN_TRY(std::span<GraphProto> graph, arena_.allocate<GraphProto>(1));
  model.graph = graph.data();
  DYN_CHECK(deferGraph(graphBytes, graph[0], 0));
  while (!pending_.empty()) {
    PendingGraph next = pending_.back();
    pending_.pop_back();
    DYN_CHECK(readGraph(next.bytes, *next.graph, next.depth));
  }
  return {};
}

Status ModelReader::deferGraph(Text bytes, GraphProto& graph, uint32_t depth) {
  if (depth > kMaxGraphDepth)
    return source_.error(bytes.data(), DiagnosticId::onnxInvalid,
                         "graphs lie in each other deeper than " + std::to_string(kMaxGraphDepth));
  pending_.push_back({bytes, &graph, depth});
  return {};
}

Status ModelReader::readGraph(Text bytes, GraphProto& graph, uint32_t depth) {
  graph.bytes = bytes;
  graph.depth = depth;
  CountedList<NodeProto> nodes;
  CountedList<TensorProto> initializers;
  CountedList<SparseTensorProto> sparse;
  CountedList<ValueInfoProto> inputs, outputs, infos;
  CountedList<TensorAnnotation> annotations;
  CountedList<StringPair> metadata;
  WireReader first(bytes, source_);
  for (WireField field; first.next(field);) switch (field.number) {
      case 1:
        ++nodes.count;
        break;
      case 2:
        first.readText(field, "GraphProto.name", graph.name);
        break;
      case 5:
        ++initializers.count;
        break;
      case 10:
        first.readText(field, "GraphProto.doc_string", graph.docString);
        break;
      case 11:
        ++inputs.count;
        break;
      case 12:
        ++outputs.count;
        break;
      case 13:
        ++infos.count;
        break;
      case 14:
        ++annotations.count;
        break;
      case 15:
        ++sparse.count;
        break;
      case 16:
        ++metadata.count;
        break;
      default:
        break;
    }
  if (first.failed()) return first.error();
  DYN_CHECK(nodes.allocate(arena_));
  DYN_CHECK(initializers.allocate(arena_));
  DYN_CHECK(sparse.allocate(arena_));
  DYN_CHECK(inputs.allocate(arena_));
  DYN_CHECK(outputs.allocate(arena_));
  DYN_CHECK(infos.allocate(arena_));
  DYN_CHECK(annotations.allocate(arena_));
  DYN_CHECK(metadata.allocate(arena_));
  WireReader reader(bytes, source_);
  for (WireField field; reader.next(field);) switch (field.number) {
      case 1:
        if (reader.expect(field, WireType::bytes, "GraphProto.node"))
          DYN_CHECK(readNode(field.bytes, nodes.add(), depth));
        break;
      case 5:
        DYN_ONNX_LIST(initializers, "GraphProto.initializer", readTensor);
      case 11:
        DYN_ONNX_LIST(inputs, "GraphProto.input", readValueInfo);
      case 12:
        DYN_ONNX_LIST(outputs, "GraphProto.output", readValueInfo);
      case 13:
        DYN_ONNX_LIST(infos, "GraphProto.value_info", readValueInfo);
      case 14:
        DYN_ONNX_LIST(annotations, "GraphProto.quantization_annotation", readAnnotation);
      case 15:
        DYN_ONNX_LIST(sparse, "GraphProto.sparse_initializer", readSparseTensor);
      case 16:
        DYN_ONNX_LIST(metadata, "GraphProto.metadata_props", readPair);
      default:
        break;
    }
  if (reader.failed()) return reader.error();
  graph.nodes = nodes.items;
  graph.initializers = initializers.items;
  graph.sparseInitializers = sparse.items;
  graph.inputs = inputs.items;
  graph.outputs = outputs.items;
  graph.valueInfos = infos.items;
  graph.quantizationAnnotations = annotations.items;
  graph.metadata = metadata.items;
  return {};
}

Status ModelReader::readFunction(Text bytes, FunctionProto& function) {
  function.bytes = bytes;
  CountedList<Text> inputs, outputs, attributes;
  CountedList<AttributeProto> defaults;
  CountedList<NodeProto> nodes;
  CountedList<OperatorSetId> opsets;
  CountedList<ValueInfoProto> infos;
  CountedList<StringPair> metadata;
  WireReader first(bytes, source_);
  for (WireField field; first.next(field);) switch (field.number) {
      case 1:
        first.readText(field, "FunctionProto.name", function.name);
        break;
      case 4:
        ++inputs.count;
        break;
      case 5:
        ++outputs.count;
        break;
      case 6:
        ++attributes.count;
        break;
      case 7:
        ++nodes.count;
        break;
      case 8:
        first.readText(field, "FunctionProto.doc_string", function.docString);
        break;
      case 9:
        ++opsets.count;
        break;
      case 10:
        first.readText(field, "FunctionProto.domain", function.domain);
        break;
      case 11:
        ++defaults.count;
        break;
      case 12:
        ++infos.count;
        break;
      case 13:
        first.readText(field, "FunctionProto.overload", function.overload);
        break;
      case 14:
        ++metadata.count;
        break;
      default:
        break;
    }
  if (first.failed()) return first.error();
  DYN_CHECK(inputs.allocate(arena_));
  DYN_CHECK(outputs.allocate(arena_));
  DYN_CHECK(attributes.allocate(arena_));
  DYN_CHECK(defaults.allocate(arena_));
  DYN_CHECK(nodes.allocate(arena_));
  DYN_CHECK(opsets.allocate(arena_));
  DYN_CHECK(infos.allocate(arena_));
  DYN_CHECK(metadata.allocate(arena_));
  WireReader reader(bytes, source_);
  for (WireField field; reader.next(field);) switch (field.number) {
      case 4:
        reader.readText(field, "FunctionProto.input", inputs.add());
        break;
      case 5:
        reader.readText(field, "FunctionProto.output", outputs.add());
        break;
      case 6:
        reader.readText(field, "FunctionProto.attribute", attributes.add());
        break;
      case 7:
        if (reader.expect(field, WireType::bytes, "FunctionProto.node"))
          DYN_CHECK(readNode(field.bytes, nodes.add(), 0));
        break;
      case 9:
        DYN_ONNX_LIST(opsets, "FunctionProto.opset_import", readOperatorSet);
      case 11:
        if (reader.expect(field, WireType::bytes, "FunctionProto.attribute_proto"))
          DYN_CHECK(readAttribute(field.bytes, defaults.add(), 0));
        break;
      case 12:
        DYN_ONNX_LIST(infos, "FunctionProto.value_info", readValueInfo);
      case 14:
        DYN_ONNX_LIST(metadata, "FunctionProto.metadata_props", readPair);
      default:
        break;
    }
  if (reader.failed()) return reader.error();
  function.inputs = inputs.items;
  function.outputs = outputs.items;
  function.attributes = attributes.items;
  function.attributeDefaults = defaults.items;
  function.nodes = nodes.items;
  function.opsetImports = opsets.items;
  function.valueInfos = infos.items;
  function.metadata = metadata.items;
  return {};
}

Status ModelReader::readNode(Text bytes, NodeProto& node, uint32_t depth) {
  Status status = readNodeFields(bytes, node, depth);
  if (status.ok()) return status;
  Error error = status.takeError();
  if (error.diagnostic.place.node.empty()) error.diagnostic.place.node = node.describe();
  return error;
}

Status ModelReader::readNodeFields(Text bytes, NodeProto& node, uint32_t depth) {
  node.bytes = bytes;
  CountedList<Text> inputs, outputs;
  CountedList<AttributeProto> attributes;
  StringPair unusedPair;
  WireReader first(bytes, source_);
  for (WireField field; first.next(field);) switch (field.number) {
      case 1:
        ++inputs.count;
        break;
      case 2:
        ++outputs.count;
        break;
      case 3:
        first.readText(field, "NodeProto.name", node.name);
        break;
      case 4:
        first.readText(field, "NodeProto.op_type", node.opType);
        break;
      case 5:
        ++attributes.count;
        break;
      case 7:
        first.readText(field, "NodeProto.domain", node.domain);
        break;
      case 8:
        first.readText(field, "NodeProto.overload", node.overload);
        break;
      case 6:
      case 9:
      case 10:
        first.expect(field, WireType::bytes, "NodeProto's documentation or metadata");
        break;
      default:
        break;
    }
  if (first.failed()) return first.error();
  DYN_CHECK(inputs.allocate(arena_));
  DYN_CHECK(outputs.allocate(arena_));
  DYN_CHECK(attributes.allocate(arena_));
  WireReader reader(bytes, source_);
  for (WireField field; reader.next(field);) switch (field.number) {
      case 1:
        reader.readText(field, "NodeProto.input", inputs.add());
        break;
      case 2:
        reader.readText(field, "NodeProto.output", outputs.add());
        break;
      case 5:
        node.outputs = outputs.items;  // names the node in an attribute's error
        if (reader.expect(field, WireType::bytes, "NodeProto.attribute"))
          DYN_CHECK(readAttribute(field.bytes, attributes.add(), depth));
        break;
      case 9:
        DYN_CHECK(readPair(field.bytes, unusedPair));  // checked here, read again by NodeProto::metadata
        break;
      default:
        break;
    }
  if (reader.failed()) return reader.error();
  node.inputs = inputs.items;
  node.outputs = outputs.items;
  node.attributes = attributes.items;
  return {};
}

Status ModelReader::readAttribute(Text bytes, AttributeProto& attribute, uint32_t depth) {
  attribute.bytes = bytes;
  // Which value field belongs to which type, by field number.
  static constexpr AttributeType kTypeOfField[24] = {{},
                                                     {},
                                                     AttributeType::real,
                                                     AttributeType::integer,
                                                     AttributeType::text,
                                                     AttributeType::tensor,
                                                     AttributeType::graph,
                                                     AttributeType::reals,
                                                     AttributeType::integers,
                                                     AttributeType::texts,
                                                     AttributeType::tensors,
                                                     AttributeType::graphs,
                                                     {},
                                                     {},
                                                     AttributeType::type,
                                                     AttributeType::types,
                                                     {},
                                                     {},
                                                     {},
                                                     {},
                                                     {},
                                                     {},
                                                     AttributeType::sparseTensor,
                                                     AttributeType::sparseTensors};
  int32_t type = 0;
  uint32_t valueField = 0;
  uint64_t count = 0;
  WireReader first(bytes, source_);
  for (WireField field; first.next(field);) {
    if (field.number < 24 && kTypeOfField[field.number] != AttributeType::undefined) {
      if (valueField != 0 && valueField != field.number)
        return source_.error(field.start, DiagnosticId::onnxInvalid,
                             "attribute " + quotedText(attribute.name) + " holds values of two types");
      valueField = field.number;
    }
    switch (field.number) {
      case 1:
        first.readText(field, "AttributeProto.name", attribute.name);
        break;
      case 2:
        first.readFloat(field, "AttributeProto.f", attribute.f);
        break;
      case 3:
        first.readInt64(field, "AttributeProto.i", attribute.i);
        break;
      case 4:
        first.readText(field, "AttributeProto.s", attribute.s);
        break;
      case 7:
        count += first.countFixed(field, WireType::fixed32, "AttributeProto.floats");
        break;
      case 8:
        count += first.countVarints(field, "AttributeProto.ints");
        break;
      case 5:
      case 6:
      case 14:
      case 22:
        if (count != 0) return doubled(source_, field, "a value field of AttributeProto");
        [[fallthrough]];
      case 9:
      case 10:
      case 11:
      case 15:
      case 23:
        count += first.expect(field, WireType::bytes, "a value field of AttributeProto");
        break;
      case 13:
        first.expect(field, WireType::bytes, "AttributeProto.doc_string");
        break;
      case 20:
        first.readInt32(field, "AttributeProto.type", type);
        break;
      case 21:
        first.readText(field, "AttributeProto.ref_attr_name", attribute.refName);
        break;
      default:
        break;
    }
  }
  if (first.failed()) return first.error();
  AttributeType found = kTypeOfField[valueField];
  auto invalid = [&](const std::string& what) {
    return source_.error(bytes.data(), DiagnosticId::onnxInvalid,
                         "attribute " + quotedText(attribute.name) + " " + what);
  };
  if (type < 0 || type > static_cast<int32_t>(AttributeType::types))
    return invalid("has the unknown type " + std::to_string(type));
  attribute.type = static_cast<AttributeType>(type);
  // Files of IR version 1 have no type; the field that is present tells it.
  if (attribute.type == AttributeType::undefined) attribute.type = found;
  if (found != AttributeType::undefined && found != attribute.type)
    return invalid("is of type " + std::string(toString(attribute.type)) + " but holds " +
                   std::string(toString(found)));
  if (found != AttributeType::undefined && !attribute.refName.empty())
    return invalid("refers to " + quotedText(attribute.refName) + " and holds a value too");
  if (attribute.refName.empty()) {
    if (attribute.type == AttributeType::undefined) return invalid("has neither type nor value");
    // A number or text of 0 length may be left out, a message may not.
    bool message = attribute.type == AttributeType::tensor || attribute.type == AttributeType::graph ||
                   attribute.type == AttributeType::sparseTensor || attribute.type == AttributeType::type;
    if (message && count == 0) return invalid("has no value");
  }
  return count == 0 ? Status() : readAttributeList(attribute, valueField, count, depth);
}

Status ModelReader::readAttributeList(AttributeProto& attribute, uint32_t fieldNumber, uint64_t count,
                                      uint32_t depth) {
  auto keep = [&](const auto& list) {
    attribute.items = list.data();
    attribute.itemCount = list.size();
    return Status();
  };
  WireReader reader(attribute.bytes, source_);
  // `read(bytes, item)` for each occurrence of the field.
  auto each = [&](auto list, auto&& read) -> Status {
    if (!list.ok()) return list.takeError();
    size_t filled = 0;
    for (WireField field; reader.next(field);)
      if (field.number == fieldNumber) DYN_CHECK(read(field.bytes, (*list)[filled++]));
    return keep(*list);
  };
  switch (fieldNumber) {
    case 7: {
      DYN_TRY(std::span<float> values, arena_.allocate<float>(count));
      size_t filled = 0;
      for (WireField field; reader.next(field);)
        if (field.number == 7)
          reader.forEachFixed(field, WireType::fixed32, "AttributeProto.floats", [&](uint64_t bits) {
            values[filled++] = std::bit_cast<float>(static_cast<uint32_t>(bits));
          });
      return keep(values);
    }
    case 8: {
      DYN_TRY(std::span<const int64_t> values,
              readVarintList(attribute.bytes, 8, count, "AttributeProto.ints"));
      return keep(values);
    }
    case 9:
      return each(arena_.allocate<Text>(count), [](Text bytes, Text& text) {
        text = bytes;
        return Status();
      });
    case 5:
    case 10:
      return each(arena_.allocate<TensorProto>(count),
                  [&](Text b, TensorProto& item) { return readTensor(b, item); });
    case 6:
    case 11:
      return each(arena_.allocate<GraphProto>(count),
                  [&](Text b, GraphProto& item) { return deferGraph(b, item, depth + 1); });
    case 14:
    case 15:
      return each(arena_.allocate<TypeProto>(count),
                  [&](Text b, TypeProto& item) { return readType(b, item); });
    default:
      return each(arena_.allocate<SparseTensorProto>(count),
                  [&](Text b, SparseTensorProto& item) { return readSparseTensor(b, item); });
  }
}

Result<std::span<const int64_t>> ModelReader::readVarintList(Text bytes, uint32_t fieldNumber, uint64_t count,
                                                             Text name) {
  DYN_TRY(std::span<int64_t> values, arena_.allocate<int64_t>(count));
  if (count == 0) return std::span<const int64_t>();
  size_t filled = 0;
  WireReader reader(bytes, source_);
  for (WireField field; reader.next(field);)
    if (field.number == fieldNumber)
      reader.forEachVarint(field, name,
                           [&](uint64_t value) { values[filled++] = static_cast<int64_t>(value); });
  if (reader.failed()) return reader.error();
  return std::span<const int64_t>(values);
}

Status ModelReader::readOperatorSet(Text bytes, OperatorSetId& id) {
  WireReader reader(bytes, source_);
  for (WireField field; reader.next(field);) switch (field.number) {
      case 1:
        reader.readText(field, "OperatorSetIdProto.domain", id.domain);
        break;
      case 2:
        reader.readInt64(field, "OperatorSetIdProto.version", id.version);
        break;
      default:
        break;
    }
  return reader.failed() ? Status(reader.error()) : Status();
}

Status ModelReader::readPair(Text bytes, StringPair& pair) {
  WireReader reader(bytes, source_);
  for (WireField field; reader.next(field);) switch (field.number) {
      case 1:
        reader.readText(field, "StringStringEntryProto.key", pair.key);
        break;
      case 2:
        reader.readText(field, "StringStringEntryProto.value", pair.value);
        break;
      default:
        break;
    }
  return reader.failed() ? Status(reader.error()) : Status();
}

Status ModelReader::readAnnotation(Text bytes, TensorAnnotation& annotation) {
  CountedList<StringPair> pairs;
  WireReader first(bytes, source_);
  for (WireField field; first.next(field);) switch (field.number) {
      case 1:
        first.readText(field, "TensorAnnotation.tensor_name", annotation.tensorName);
        break;
      case 2:
        ++pairs.count;
        break;
      default:
        break;
    }
  if (first.failed()) return first.error();
  DYN_CHECK(pairs.allocate(arena_));
  WireReader reader(bytes, source_);
  for (WireField field; reader.next(field);) switch (field.number) {
      case 2:
        DYN_ONNX_LIST(pairs, "TensorAnnotation.quant_parameter_tensor_names", readPair);
      default:
        break;
    }
  if (reader.failed()) return reader.error();
  annotation.parameters = pairs.items;
  return {};
}

Status ModelReader::readDevice(Text bytes, DeviceConfiguration& device) {
  CountedList<Text> devices;
  WireReader first(bytes, source_);
  for (WireField field; first.next(field);) switch (field.number) {
      case 1:
        first.readText(field, "DeviceConfigurationProto.name", device.name);
        break;
      case 2:
        first.readInt32(field, "DeviceConfigurationProto.num_devices", device.deviceCount);
        break;
      case 3:
        ++devices.count;
        break;
      default:
        break;
    }
  if (first.failed()) return first.error();
  DYN_CHECK(devices.allocate(arena_));
  WireReader reader(bytes, source_);
  for (WireField field; reader.next(field);)
    if (field.number == 3) reader.readText(field, "DeviceConfigurationProto.device", devices.add());
  if (reader.failed()) return reader.error();
  device.devices = devices.items;
  return {};
}

}  // namespace dyn::onnx
