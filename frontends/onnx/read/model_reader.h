// From bytes to the structs of onnx_model.h: one function per message, each in two passes over the message's fields:
// count the lists (and take the single fields), allocate, fill. So no list is ever larger than the bytes justify.
#pragma once

#include <vector>

#include "frontends/onnx/read/onnx_model.h"

namespace dyn::onnx {

class ModelReader {
 public:
  ModelReader(const WireSource& source, SpanArena& arena) : source_(source), arena_(arena) {}

  // The model and everything in it.
  Status readModel(Model& model);
  Status readTensor(Text bytes, TensorProto& tensor);

 private:
  // A graph that was seen and waits to be parsed.
  struct PendingGraph {
    Text bytes;
    GraphProto* graph;
    uint32_t depth;
  };

  Status readGraph(Text bytes, GraphProto& graph, uint32_t depth);
  Status readFunction(Text bytes, FunctionProto& function);
  Status readNode(Text bytes, NodeProto& node, uint32_t depth);
  Status readNodeFields(Text bytes, NodeProto& node, uint32_t depth);
  Status readAttribute(Text bytes, AttributeProto& attribute, uint32_t depth);
  Status readAttributeList(AttributeProto& attribute, uint32_t fieldNumber, uint64_t count, uint32_t depth);
  Status deferGraph(Text bytes, GraphProto& graph, uint32_t depth);
  Status readSparseTensor(Text bytes, SparseTensorProto& tensor);
  Status readValueInfo(Text bytes, ValueInfoProto& info);
  Status readType(Text bytes, TypeProto& type);
  Status readTensorType(Text bytes, TypeProto& type);
  Status readShape(Text bytes, TypeProto& type);
  Status readDimension(Text bytes, Dimension& dimension);
  Status readPair(Text bytes, StringPair& pair);
  Status readOperatorSet(Text bytes, OperatorSetId& id);
  Status readAnnotation(Text bytes, TensorAnnotation& annotation);
  Status readDevice(Text bytes, DeviceConfiguration& device);
  Result<std::span<const int64_t>> readVarintList(Text bytes, uint32_t fieldNumber, uint64_t count,
                                                  Text name);

  const WireSource& source_;
  SpanArena& arena_;
  std::vector<PendingGraph> pending_;
};

}  // namespace dyn::onnx
