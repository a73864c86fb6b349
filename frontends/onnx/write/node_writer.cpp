#include "frontends/onnx/write/node_writer.h"

#include "compiler/ops/op_table.h"
#include "frontends/onnx/read/onnx_tensor.h"
#include "frontends/onnx/write/dim_nodes.h"

namespace dyn::onnx {
namespace {

// Where `name` stands in "block=blocksize -way": the name it has there, "" where it is left out.
std::string renamed(std::string_view words, std::string_view name) {
  while (!words.empty()) {
    const size_t end = std::min(words.find(' '), words.size());
    const std::string_view word = words.substr(0, end);
    words.remove_prefix(std::min(end + 1, words.size()));
    if (word[0] == '-' && word.substr(1) == name) return "";
    const size_t equals = word.find('=');
    if (equals != std::string_view::npos && word.substr(0, equals) == name)
      return std::string(word.substr(equals + 1));
  }
  return std::string(name);
}

}  // namespace

std::string tensorMessage(const HostTensor& tensor, std::string_view name) {
  DecodedTensor decoded;
  decoded.name = name;
  decoded.onnxType = onnxCode(tensor.dtype());
  decoded.dims = tensor.shape();
  if (tensor.dtype() == Dtype::string) {
    decoded.strings = tensor.stringValues();
  } else {
    decoded.data = tensor.bytes();
    decoded.sizeBytes = static_cast<uint64_t>(tensor.sizeBytes());
  }
  Result<std::string> bytes = writeTensorProto(decoded);
  return bytes.ok() ? std::move(*bytes) : "";  // of a valid tensor there are bytes
}

std::string NodeWriter::dimsTensor(const Op& made) {
  const Shape dims = made.attributes.dims("value");
  DimNodes nodes(parts_, scope_);
  const bool isVector = made.def == &ops::dims_valueOp;
  std::optional<std::string> tensor = isVector ? nodes.vector(dims) : nodes.scalar(dims.at(0));
  if (!tensor) unsupported("no tensor shows the size " + nodes.missing());
  return tensor.value_or("");
}

std::string NodeWriter::tensorOf(const Bound& bound) {
  switch (bound.kind) {
    case Bound::Kind::tensor:
      return bound.name;
    case Bound::Kind::constant:
      return parts_.initializer(*bound.op->attributes.tensor("value"),
                                parts_.ir().valueName(bound.op->results[0].id));
    case Bound::Kind::dims:
      return bound.name.empty() ? dimsTensor(*bound.op) : bound.name;
    case Bound::Kind::packed:
      unsupported("these are weights in the order of one machine");
      return "";
    case Bound::Kind::tuple:
      unsupported("it is a tuple, which ONNX has not");
      return "";
  }
  return "";
}

std::string NodeWriter::operand(size_t i) {
  if (!has(i) || failed()) return "";
  const Bound* found = bound(i);
  if (found == nullptr) {
    unsupported("nothing has written its operand %" + parts_.ir().valueName(op_.operands[i]));
    return "";
  }
  if (found->kind != Bound::Kind::dims) return tensorOf(*found);
  // Nodes that are there now serve who comes later.
  Bound made = *found;
  made.name = tensorOf(made);
  if (!failed()) scope_.values[op_.operands[i]] = made;
  return made.name;
}

std::vector<std::string> NodeWriter::operands() {
  std::vector<std::string> names;
  for (size_t i = 0; i < op_.operands.size(); ++i) names.push_back(operand(i));
  return names;
}

std::string NodeWriter::inI64(size_t i) {
  const std::string tensor = operand(i);
  const Type type = operandType(i);
  if (tensor.empty() || !type || !type.isTensor() || type.dtype() == Dtype::i64) return tensor;
  return cast(tensor, Dtype::i64);
}

std::optional<Shape> NodeWriter::dims(size_t i) const {
  const Bound* found = bound(i);
  if (found == nullptr || found->kind != Bound::Kind::dims) return std::nullopt;
  return found->op->attributes.dims("value");
}

std::string NodeWriter::node(std::string_view op, std::vector<std::string> inputs,
                             AttributeMessages attributes) {
  if (failed()) return "";
  const std::string base = op_.results.empty() ? "" : parts_.ir().valueName(op_.results[0].id);
  NodeMessage message{std::string(op),
                      std::move(inputs),
                      {parts_.freshName(base + "." + std::string(op))},
                      std::move(attributes)};
  message.name = parts_.nodeName(op_.place);
  parts_.use(message);
  scope_.graph->add(message);
  return message.outputs[0];
}

std::string NodeWriter::cast(const std::string& tensor, Dtype dtype) {
  AttributeMessages attributes;
  attributes.integer("to", onnxCode(dtype));
  parts_.use(dtype);
  return node("Cast", {tensor}, std::move(attributes));
}

std::string NodeWriter::dimVector(const Shape& dims) {
  DimNodes nodes(parts_, scope_);
  std::optional<std::string> tensor = nodes.vector(dims);
  if (!tensor) unsupported("no tensor shows the size " + nodes.missing());
  return tensor.value_or("");
}

std::string NodeWriter::dimScalar(Dim dim) {
  DimNodes nodes(parts_, scope_);
  std::optional<std::string> tensor = nodes.scalar(dim);
  if (!tensor) unsupported("no tensor shows the size " + nodes.missing());
  return tensor.value_or("");
}

void NodeWriter::finish(std::string_view op, std::vector<std::string> inputs, AttributeMessages attributes,
                        std::string_view domain, size_t least) {
  if (failed()) return;
  while (inputs.size() > least && inputs.back().empty()) inputs.pop_back();
  NodeMessage message{std::string(op), std::move(inputs), results_, std::move(attributes),
                      std::string(domain)};
  message.name = parts_.nodeName(op_.place);
  parts_.use(message);
  scope_.graph->add(message);
}

AttributeMessages NodeWriter::ownAttributes(std::string_view words) {
  AttributeMessages messages;
  for (const auto& [name, value] : op_.attributes.all()) {
    const std::string there = renamed(words, name);
    if (there.empty()) continue;
    switch (kindOf(value)) {
      case AttributeKind::integer:
        messages.integer(there, std::get<int64_t>(value));
        break;
      case AttributeKind::real:
        messages.real(there, std::get<double>(value));
        break;
      case AttributeKind::string:
        messages.text(there, std::get<std::string>(value));
        break;
      case AttributeKind::integers:
        messages.integers(there, std::get<std::vector<int64_t>>(value));
        break;
      case AttributeKind::reals:
        messages.reals(there, std::get<std::vector<double>>(value));
        break;
      case AttributeKind::strings:
        messages.texts(there, std::get<std::vector<std::string>>(value));
        break;
      case AttributeKind::dtype:
        parts_.use(std::get<Dtype>(value));
        messages.integer(there, onnxCode(std::get<Dtype>(value)));
        break;
      case AttributeKind::tensor:
        messages.tensor(there, tensorMessage(std::get<HostTensor>(value)));
        break;
      case AttributeKind::type:
        messages.type(there, std::get<Type>(value));
        break;
      case AttributeKind::dims:
        unsupported("its attribute " + name + " is a list of symbolic sizes");
        break;
    }
  }
  return messages;
}

void NodeWriter::unsupported(std::string why) {
  if (failure_.empty()) failure_ = std::move(why);
}

}  // namespace dyn::onnx
