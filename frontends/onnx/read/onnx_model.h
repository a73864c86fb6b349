// An ONNX file as plain structs: what onnx.proto3 says up to IR version 14, nothing judged yet (the importer
// does that).
//
//   DYN_TRY(onnx::Model model, onnx::openModel("model.onnx"));
//   for (const onnx::NodeProto& node : model.graph->nodes) ... node.opType, node.inputs, node.attribute("axis")
//
// Contract:
//  - All text and bulk data are views into the mapped file, all lists are spans into the model's arena. They
//    live as long as the Model (moving it keeps them valid); the structs are trivially destructible.
//  - Read without recursion: graphs in attributes are parsed from a work list. At most kMaxGraphDepth graphs
//    lie in each other. Memory is at most a small multiple of the file's size, and limited by ReadOptions.
//  - Unknown fields are ignored; lengths, tags, wire types, doubled sub-messages and contradicting attributes
//    are errors (onnxMalformed, onnxInvalid) that name file, byte offset and node.
//  - Fields that few readers want (documentation, metadata of nodes ...) are read on demand from `bytes`, the
//    message.
//  - Not thread-safe while it is read; afterwards immutable, any number of threads may look.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/mapped_file.h"
#include "compiler/support/result.h"
#include "frontends/onnx/read/span_arena.h"
#include "frontends/onnx/read/wire_reader.h"

namespace dyn::onnx {

inline constexpr int64_t kNewestIrVersion = 14;
inline constexpr uint32_t kMaxGraphDepth = 10100;
inline constexpr size_t kMaxTypeDepth = 100;  // sequence(sequence(...))

using Text = std::string_view;

// "FLOAT", "INT4"; "UNDEFINED" for 0 and "#99" for numbers the standard does not have.
std::string elementTypeName(int32_t type);

struct StringPair {
  Text key, value;
};

// The standard's own operators have two names.
inline Text standardDomain(Text domain) { return domain == "ai.onnx" ? Text() : domain; }

struct OperatorSetId {
  Text domain;  // "" is the standard's own, see standardDomain()
  int64_t version = 0;
};

struct Dimension {
  enum class Kind { unknown, value, parameter };
  Kind kind = Kind::unknown;
  int64_t value = 0;  // as written: may be negative
  Text parameter;     // "batch"
  Text denotation;
};

// A type is one leaf inside zero or more wrappers: optional(sequence(tensor)) has wrappers {optional,
// sequence}.
struct TypeWrapper {
  enum class Kind { sequence, optional, map };
  Kind kind = Kind::sequence;
  int32_t keyType = 0;  // of a map
};

struct TypeProto {
  enum class Kind { missing, tensor, sparseTensor, opaque };
  Kind kind = Kind::missing;
  bool hasShape = false;  // false: even the rank is unknown
  int32_t elementType = 0;
  std::span<const Dimension> shape;
  std::span<const TypeWrapper> wrappers;  // outermost first
  Text denotation;
  Text opaqueDomain, opaqueName;
};

struct ValueInfoProto {
  Text bytes, name;
  const TypeProto* type = nullptr;  // null: not given
};

struct TensorProto {
  enum class Location : int32_t { inside = 0, external = 1 };
  // Which data fields the message holds, as bits of `present`.
  enum Field : uint32_t {
    kFloatData = 1,
    kInt32Data = 2,
    kStringData = 4,
    kInt64Data = 8,
    kRawData = 16,
    kDoubleData = 32,
    kUint64Data = 64,
    kSegment = 128
  };
  Text bytes, name;
  std::span<const int64_t> dims;  // as written: may be negative
  int32_t dataType = 0;
  Location location = Location::inside;
  uint32_t present = 0;
  Text rawData;
  std::span<const StringPair> externalData;
  // Numbers of the typed fields are decoded by onnx_tensor.h.
};

struct SparseTensorProto {
  Text bytes;
  const TensorProto* values = nullptr;
  const TensorProto* indices = nullptr;
  std::span<const int64_t> dims;
};

struct GraphProto;

enum class AttributeType : int32_t {
  undefined = 0,
  real = 1,
  integer = 2,
  text = 3,
  tensor = 4,
  graph = 5,
  reals = 6,
  integers = 7,
  texts = 8,
  tensors = 9,
  graphs = 10,
  sparseTensor = 11,
  sparseTensors = 12,
  type = 13,
  types = 14
};
// "FLOAT", "INTS"
std::string_view toString(AttributeType type);

struct AttributeProto {
  Text bytes, name;
  Text refName;  // not empty: the value is the calling node's attribute of this name
  AttributeType type = AttributeType::undefined;
  float f = 0;
  int64_t i = 0;
  Text s;

  // Empty unless `type` is that kind of list; the singular kinds are lists of one.
  std::span<const float> floats() const { return list<float>(AttributeType::reals); }
  std::span<const int64_t> ints() const { return list<int64_t>(AttributeType::integers); }
  std::span<const Text> strings() const { return list<Text>(AttributeType::texts); }
  std::span<const TensorProto> tensors() const {
    return list<TensorProto>(AttributeType::tensor, AttributeType::tensors);
  }
  std::span<const GraphProto> graphs() const {
    return list<GraphProto>(AttributeType::graph, AttributeType::graphs);
  }
  std::span<const SparseTensorProto> sparseTensors() const {
    return list<SparseTensorProto>(AttributeType::sparseTensor, AttributeType::sparseTensors);
  }
  std::span<const TypeProto> types() const {
    return list<TypeProto>(AttributeType::type, AttributeType::types);
  }
  Text docString() const;

  const void* items = nullptr;  // of the type above
  size_t itemCount = 0;

 private:
  template <typename T>
  std::span<const T> list(AttributeType one, AttributeType many = AttributeType::undefined) const {
    if (itemCount == 0 || (type != one && type != many)) return {};
    return {static_cast<const T*>(items), itemCount};
  }
};

struct NodeProto {
  Text bytes, name, opType, domain, overload;
  std::span<const Text> inputs;  // "" = left out
  std::span<const Text> outputs;
  std::span<const AttributeProto> attributes;

  // Null: there is no such name.
  const AttributeProto* attribute(Text name) const;
  Text docString() const;
  std::vector<StringPair> metadata() const;
  std::vector<Text> deviceConfigurations() const;  // NodeDeviceConfigurationProto messages, not parsed
  // "/layer.0/MatMul (MatMul)", "-> y (Relu)" for a node without a name.
  std::string describe() const;
};

// The same with the operator's version, as errors name it: "/layer.0/MatMul (MatMul, opset 17)".
std::string placeName(const NodeProto& node, int64_t opset);

struct TensorAnnotation {
  Text bytes, tensorName;
  std::span<const StringPair> parameters;
};

struct GraphProto {
  Text bytes, name, docString;
  uint32_t depth = 0;  // 0 = the model's graph and function bodies
  std::span<const NodeProto> nodes;
  std::span<const TensorProto> initializers;
  std::span<const SparseTensorProto> sparseInitializers;
  std::span<const ValueInfoProto> inputs;
  std::span<const ValueInfoProto> outputs;
  std::span<const ValueInfoProto> valueInfos;
  std::span<const TensorAnnotation> quantizationAnnotations;
  std::span<const StringPair> metadata;
};

struct FunctionProto {
  Text bytes, name, domain, overload, docString;
  std::span<const Text> inputs;
  std::span<const Text> outputs;
  std::span<const Text> attributes;  // without default
  std::span<const AttributeProto> attributeDefaults;
  std::span<const NodeProto> nodes;
  std::span<const OperatorSetId> opsetImports;
  std::span<const ValueInfoProto> valueInfos;
  std::span<const StringPair> metadata;
};

struct DeviceConfiguration {
  Text name;
  int32_t deviceCount = 0;
  std::span<const Text> devices;
};

struct Model {
  WireSource source;
  SpanArena arena;
  std::string
      folder;  // where external data lie: the folder of the file; "" when the model did not come from a file

  int64_t irVersion = 0;  // 0: missing
  std::span<const OperatorSetId> opsetImports;
  Text producerName, producerVersion, domain, docString;
  int64_t modelVersion = 0;
  const GraphProto* graph = nullptr;  // never null after readModel
  std::span<const StringPair> metadata;
  std::span<const FunctionProto> functions;
  std::span<const Text> trainingInfos;  // TrainingInfoProto messages, not parsed
  std::span<const DeviceConfiguration> deviceConfigurations;

  // File, byte offset, and the node where there is one.
  SourceLocation place(Text bytes) const { return source.place(bytes.data()); }
  SourceLocation place(const NodeProto& node) const;
};

struct ReadOptions {
  uint64_t arenaLimitBytes = uint64_t{4} << 30;  // for the structs and lists, not for the mapped file
};

// Reads a mapped file, or bytes in memory.
Result<Model> readModel(MappedFile file, const ReadOptions& options = {});
// The same for a path; sets Model::folder.
Result<Model> openModel(const std::string& path, const ReadOptions& options = {});

// Messages that also occur on their own (test data, caches). The result lives in the arena and in the
// source's bytes.
Result<const TensorProto*> readTensorProto(Text bytes, const WireSource& source, SpanArena& arena);

}  // namespace dyn::onnx
