#include "frontends/onnx/write/messages.h"

#include "frontends/onnx/read/onnx_model.h"
#include "frontends/onnx/read/wire_writer.h"

namespace dyn::onnx {
namespace {

constexpr size_t kLongestDimText = 200;

// "unk_7 + 1" of "?7 + 1".
std::string withWord(const std::string& text, std::string_view unknown) {
  std::string named;
  for (char c : text) {
    if (c == '?') {
      named += unknown;
    } else {
      named += c;
    }
  }
  return named;
}

std::string shapeMessage(const Shape& dims, std::string_view unknown) {
  WireWriter shape;
  for (Dim dim : dims) {
    WireWriter one;
    if (const std::optional<int64_t> value = dim.constant()) {
      one.varint(1, static_cast<uint64_t>(*value));
    } else if (!dim.isInvalid() && (!unknown.empty() || !hasAnonymous(dim))) {
      const std::string text = withWord(dim.toString(), unknown);
      if (text.size() <= kLongestDimText) one.bytes(2, text);
    }
    shape.bytes(1, one.str());
  }
  return shape.take();
}

}  // namespace

void AttributeMessages::add(std::string_view name, int64_t kind, std::string content) {
  WireWriter out;
  out.bytes(1, name);
  WireWriter type;
  type.varint(20, static_cast<uint64_t>(kind));
  WireWriter field;
  field.bytes(5, out.take() + content + type.take());
  bytes_ += field.str();
  names_.emplace_back(name);
}

namespace {

int64_t attributeKindOf(AttributeType type) { return static_cast<int64_t>(type); }

}  // namespace

void AttributeMessages::integer(std::string_view name, int64_t value) {
  WireWriter out;
  out.varint(3, static_cast<uint64_t>(value));
  add(name, attributeKindOf(AttributeType::integer), out.take());
}

void AttributeMessages::real(std::string_view name, double value) {
  WireWriter out;
  out.real(2, static_cast<float>(value));
  add(name, attributeKindOf(AttributeType::real), out.take());
}

void AttributeMessages::text(std::string_view name, std::string_view value) {
  WireWriter out;
  out.bytes(4, value);
  add(name, attributeKindOf(AttributeType::text), out.take());
}

void AttributeMessages::integers(std::string_view name, std::span<const int64_t> values) {
  WireWriter out;
  for (int64_t value : values) out.varint(8, static_cast<uint64_t>(value));
  add(name, attributeKindOf(AttributeType::integers), out.take());
}

void AttributeMessages::reals(std::string_view name, std::span<const double> values) {
  WireWriter out;
  for (double value : values) out.real(7, static_cast<float>(value));
  add(name, attributeKindOf(AttributeType::reals), out.take());
}

void AttributeMessages::texts(std::string_view name, std::span<const std::string> values) {
  WireWriter out;
  for (const std::string& value : values) out.bytes(9, value);
  add(name, attributeKindOf(AttributeType::texts), out.take());
}

void AttributeMessages::tensor(std::string_view name, std::string_view message) {
  WireWriter out;
  out.bytes(5, message);
  add(name, attributeKindOf(AttributeType::tensor), out.take());
}

void AttributeMessages::graph(std::string_view name, std::string_view message) {
  WireWriter out;
  out.bytes(6, message);
  add(name, attributeKindOf(AttributeType::graph), out.take());
}

void AttributeMessages::type(std::string_view name, Type type) {
  WireWriter out;
  out.bytes(14, typeMessage(type));
  add(name, attributeKindOf(AttributeType::type), out.take());
}

std::string typeMessage(Type type, std::string_view unknown) {
  // Lists and optionals from the outside to the tensor, then written from the inside.
  std::vector<uint32_t> wrappers;
  while (type && (type.kind() == TypeKind::list || type.kind() == TypeKind::optional)) {
    wrappers.push_back(type.kind() == TypeKind::list ? 4 : 9);
    type = type.element();
  }
  if (!type || !type.isTensor()) return "";
  WireWriter tensor;
  tensor.varint(1, static_cast<uint64_t>(onnxCode(type.dtype())));
  tensor.bytes(2, shapeMessage(type.dims(), unknown));
  WireWriter leaf;
  leaf.bytes(1, tensor.str());
  std::string bytes = leaf.take();
  for (size_t i = wrappers.size(); i-- > 0;) {
    WireWriter element;
    element.bytes(1, bytes);
    WireWriter wrapper;
    wrapper.bytes(wrappers[i], element.str());
    bytes = wrapper.take();
  }
  return bytes;
}

std::string valueMessage(std::string_view name, Type type) {
  WireWriter out;
  out.bytes(1, name);
  if (const std::string bytes = typeMessage(type); !bytes.empty()) out.bytes(2, bytes);
  return out.take();
}

std::string entryMessage(std::string_view key, std::string_view value) {
  WireWriter out;
  out.bytes(1, key);
  out.bytes(2, value);
  return out.take();
}

void GraphMessage::add(const NodeMessage& node) {
  WireWriter out;
  for (const std::string& input : node.inputs) out.bytes(1, input);
  for (const std::string& output : node.outputs) out.bytes(2, output);
  if (!node.name.empty()) out.bytes(3, node.name);
  out.bytes(4, node.op);
  if (!node.domain.empty()) out.bytes(7, node.domain);
  WireWriter field;
  field.head(1, out.str().size() + node.attributes.bytes().size());
  nodes += field.str();
  nodes += out.str();
  nodes += node.attributes.bytes();
  made.insert(node.outputs.begin(), node.outputs.end());
  ++nodeCount;
}

std::string GraphMessage::bytes(std::string_view name) const {
  WireWriter title;
  title.bytes(2, name);
  return nodes + title.str() + inputs + outputs + values;
}

}  // namespace dyn::onnx
