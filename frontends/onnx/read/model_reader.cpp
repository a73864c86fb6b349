// The field numbers are those of onnx.proto3 (onnx 1.23, IR version 14).
#include "frontends/onnx/read/model_reader.h"

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

// Reads the field's message into the next item of the list.
#define DYN_ONNX_ADD(list, fieldName, read) \
  if (reader.expect(field, WireType::bytes, fieldName)) DYN_CHECK(read(field.bytes, list.add()))

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
        bytes.empty() ? "the file is empty" : "the file holds no graph: it is not an ONNX model");
  DYN_CHECK(opsets.allocate(arena_));
  DYN_CHECK(metadata.allocate(arena_));
  DYN_CHECK(functions.allocate(arena_));
  DYN_CHECK(trainings.allocate(arena_));
  DYN_CHECK(devices.allocate(arena_));
  WireReader reader(bytes, source_);
  for (WireField field; reader.next(field);) switch (field.number) {
      case 8:
        DYN_ONNX_ADD(opsets, "ModelProto.opset_import", readOperatorSet);
        break;
      case 14:
        DYN_ONNX_ADD(metadata, "ModelProto.metadata_props", readPair);
        break;
      case 20:
        reader.readText(field, "ModelProto.training_info", trainings.add());
        break;
      case 25:
        DYN_ONNX_ADD(functions, "ModelProto.functions", readFunction);
        break;
      case 26:
        DYN_ONNX_ADD(devices, "ModelProto.configuration", readDevice);
        break;
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
                         "graphs are nested deeper than " + std::to_string(kMaxGraphDepth));
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
        DYN_ONNX_ADD(initializers, "GraphProto.initializer", readTensor);
        break;
      case 11:
        DYN_ONNX_ADD(inputs, "GraphProto.input", readValueInfo);
        break;
      case 12:
        DYN_ONNX_ADD(outputs, "GraphProto.output", readValueInfo);
        break;
      case 13:
        DYN_ONNX_ADD(infos, "GraphProto.value_info", readValueInfo);
        break;
      case 14:
        DYN_ONNX_ADD(annotations, "GraphProto.quantization_annotation", readAnnotation);
        break;
      case 15:
        DYN_ONNX_ADD(sparse, "GraphProto.sparse_initializer", readSparseTensor);
        break;
      case 16:
        DYN_ONNX_ADD(metadata, "GraphProto.metadata_props", readPair);
        break;
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
        DYN_ONNX_ADD(opsets, "FunctionProto.opset_import", readOperatorSet);
        break;
      case 11:
        if (reader.expect(field, WireType::bytes, "FunctionProto.attribute_proto"))
          DYN_CHECK(readAttribute(field.bytes, defaults.add(), 0));
        break;
      case 12:
        DYN_ONNX_ADD(infos, "FunctionProto.value_info", readValueInfo);
        break;
      case 14:
        DYN_ONNX_ADD(metadata, "FunctionProto.metadata_props", readPair);
        break;
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
  if (error.diagnostic().place.node.empty()) error.diagnostic().place.node = node.describe();
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
  annotation.bytes = bytes;
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
        DYN_ONNX_ADD(pairs, "TensorAnnotation.quant_parameter_tensor_names", readPair);
        break;
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

#undef DYN_ONNX_ADD

}  // namespace dyn::onnx
