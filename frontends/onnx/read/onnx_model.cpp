#include "frontends/onnx/read/onnx_model.h"

#include <iterator>

#include "frontends/onnx/read/model_reader.h"

namespace dyn::onnx {
namespace {

// The message was read once without an error; these look again for fields that were left in place.
const WireSource& nowhere() {
  static const WireSource source(nullptr);
  return source;
}

Text textField(Text message, uint32_t number) {
  Text found;
  WireReader reader(message, nowhere());
  for (WireField field; reader.next(field);)
    if (field.number == number && field.type == WireType::bytes) found = field.bytes;
  return found;
}

std::vector<Text> messageFields(Text message, uint32_t number) {
  std::vector<Text> found;
  WireReader reader(message, nowhere());
  for (WireField field; reader.next(field);)
    if (field.number == number && field.type == WireType::bytes) found.push_back(field.bytes);
  return found;
}

}  // namespace

std::string elementTypeName(int32_t type) {
  static constexpr std::string_view kNames[] = {
      "UNDEFINED",      "FLOAT",      "UINT8",          "INT8",       "UINT16",    "INT16",
      "INT32",          "INT64",      "STRING",         "BOOL",       "FLOAT16",   "DOUBLE",
      "UINT32",         "UINT64",     "COMPLEX64",      "COMPLEX128", "BFLOAT16",  "FLOAT8E4M3FN",
      "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "UINT4",      "INT4",      "FLOAT4E2M1",
      "FLOAT8E8M0",     "UINT2",      "INT2",           "FLOAT6E2M3", "FLOAT6E3M2"};
  if (type < 0 || type >= static_cast<int32_t>(std::size(kNames))) return "#" + std::to_string(type);
  return std::string(kNames[type]);
}

std::string_view toString(AttributeType type) {
  static constexpr std::string_view kNames[] = {
      "UNDEFINED", "FLOAT",   "INT",    "STRING",        "TENSOR",         "GRAPH",      "FLOATS",     "INTS",
      "STRINGS",   "TENSORS", "GRAPHS", "SPARSE_TENSOR", "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"};
  return kNames[static_cast<size_t>(type)];
}

Text AttributeProto::docString() const { return textField(bytes, 13); }
Text NodeProto::docString() const { return textField(bytes, 6); }
std::vector<Text> NodeProto::deviceConfigurations() const { return messageFields(bytes, 10); }

std::vector<StringPair> NodeProto::metadata() const {
  std::vector<StringPair> pairs;
  for (Text entry : messageFields(bytes, 9)) pairs.push_back({textField(entry, 1), textField(entry, 2)});
  return pairs;
}

const AttributeProto* NodeProto::attribute(Text name) const {
  for (const AttributeProto& attribute : attributes)
    if (attribute.name == name) return &attribute;
  return nullptr;
}

std::string placeName(const NodeProto& node, int64_t opset) {
  const std::string name = node.name.empty()
                               ? "-> " + std::string(node.outputs.empty() ? Text("nothing") : node.outputs[0])
                               : std::string(node.name);
  return name + " (" + std::string(node.opType) + (opset > 0 ? ", opset " + std::to_string(opset) : "") + ")";
}

std::string NodeProto::describe() const {
  auto bare = [](Text text) {
    std::string shown = quotedText(text);
    return shown.substr(1, shown.size() - 2);
  };
  std::string text;
  if (!name.empty()) {
    text = bare(name);
  } else if (!outputs.empty() && !outputs[0].empty()) {
    text = "-> " + bare(outputs[0]);
  } else {
    text = "without a name";
  }
  text += " (";
  if (!domain.empty() && domain != "ai.onnx") text += bare(domain) + ".";
  return text + (opType.empty() ? "no operator" : bare(opType)) + ")";
}

SourceLocation Model::place(const NodeProto& node) const {
  SourceLocation at = source.place(node.bytes.data());
  at.node = node.describe();
  return at;
}

Result<Model> readModel(MappedFile file, const ReadOptions& options) {
  auto shared = std::make_shared<const MappedFile>(std::move(file));
  Model model{WireSource(shared), SpanArena(options.arenaLimitBytes)};
  WireSource source(shared);
  ModelReader reader(source, model.arena);
  Status status = reader.readModel(model);
  if (!status.ok()) return status.takeError().at(SourceLocation{.file = shared->name()});
  return model;
}

Result<Model> openModel(const std::string& path, const ReadOptions& options) {
  DYN_TRY(MappedFile file, MappedFile::open(path));
  const bool hasFolder = file.name() == path;  // a file in memory has none
  DYN_TRY(Model model, readModel(std::move(file), options));
  if (!hasFolder) return model;
  size_t slash = path.rfind('/');
  model.folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  return model;
}

Result<const TensorProto*> readTensorProto(Text bytes, const WireSource& source, SpanArena& arena) {
  DYN_TRY(std::span<TensorProto> tensor, arena.allocate<TensorProto>(1));
  ModelReader reader(source, arena);
  DYN_CHECK(reader.readTensor(bytes, tensor[0]));
  return static_cast<const TensorProto*>(tensor.data());
}

}  // namespace dyn::onnx
