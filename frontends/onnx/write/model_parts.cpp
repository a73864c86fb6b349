#include "frontends/onnx/write/model_parts.h"

#include <algorithm>

#include "compiler/ir/op_def.h"
#include "frontends/onnx/import/operator_schemas.h"

namespace dyn::onnx {
namespace {

constexpr int64_t kSmallBytes = 256;  // up to here equal elements are one initialiser wherever they lie

// "i:" of "axis:i!" for the attribute `axis`; false where the schema has no such attribute.
bool hasAttribute(const OperatorSchema& schema, std::string_view name) {
  std::string_view words = schema.attributes;
  while (!words.empty()) {
    const size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, std::min(words.find(':'), end)) == name) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

// The first version from `least` on that has the operator with all of these attributes.
int64_t versionFor(const NodeMessage& node, int64_t least) {
  const auto takesAll = [&](const OperatorSchema& schema) {
    return std::all_of(node.attributes.names().begin(), node.attributes.names().end(),
                       [&](const std::string& name) { return hasAttribute(schema, name); });
  };
  const OperatorSchema* known = schemaOf(node.domain, node.op, least);
  if (known != nullptr && takesAll(*known)) return least;
  for (const OperatorSchema& schema : schemasOf(node.domain, node.op))
    if (schema.since > least && takesAll(schema)) return schema.since;
  return least;
}

// The operator set of which tensors may first have these elements.
int64_t versionOf(Dtype dtype) {
  switch (dtype) {
    case Dtype::f4e2m1:
      return 23;
    case Dtype::f8e8m0:
      return 24;
    case Dtype::i2:
    case Dtype::u2:
      return 25;
    default:
      return 0;
  }
}

}  // namespace

int64_t leastOpset(std::string_view domain) { return domain.empty() ? 21 : domain == "ai.onnx.ml" ? 4 : 1; }

std::string ModelParts::freshName(std::string_view base) {
  std::string name(base.empty() ? "value" : base);
  if (names_.insert(name).second) return name;
  uint32_t& number = nextNumber_.try_emplace(name, 2).first->second;
  for (;;) {
    std::string numbered = name + "_" + std::to_string(number++);
    if (names_.insert(numbered).second) return numbered;
  }
}

void ModelParts::reserve(const std::string& name) {
  names_.insert(name);
  reserved_.insert(name);
}

std::string ModelParts::takeReserved(const std::string& name) {
  return reserved_.erase(name) != 0 ? name : freshName(name);
}

std::string ModelParts::initializer(const HostTensor& tensor, std::string_view base) {
  std::string key = std::string(toString(tensor.dtype()));
  for (int64_t dim : tensor.shape()) key += "," + std::to_string(dim);
  if (tensor.dtype() == Dtype::string) {
    for (const std::string& text : tensor.stringValues())
      key += ";" + std::to_string(text.size()) + ":" + text;
  } else if (tensor.sizeBytes() <= kSmallBytes) {
    key += ";" + std::string(reinterpret_cast<const char*>(tensor.bytes()),
                             static_cast<size_t>(tensor.sizeBytes()));
  } else {
    key += "@" + std::to_string(reinterpret_cast<uintptr_t>(tensor.bytes()));
  }
  const auto known = byContent_.find(key);
  if (known != byContent_.end()) return known->second;
  use(tensor.dtype());
  const std::string name = freshName(base);
  initializers_.push_back({name, tensor});
  return byContent_.emplace(std::move(key), name).first->second;
}

std::string ModelParts::integers(std::span<const int64_t> values) {
  std::string base = "integers";
  for (size_t i = 0; i < values.size() && i < 4; ++i) base += "_" + std::to_string(values[i]);
  return initializer(HostTensor::vectorInt(Dtype::i64, values), base);
}

std::string ModelParts::integer(int64_t value) {
  return initializer(HostTensor::scalarInt(Dtype::i64, value), "integer_" + std::to_string(value));
}

std::string ModelParts::nodeName(const SourceLocation& place) {
  // "/layer.0/MatMul (MatMul, opset 17)"; a node without a name is called "-> y (Relu, opset 17)".
  std::string name = place.node.substr(0, place.node.rfind(" ("));
  if (name.empty() || name.rfind("-> ", 0) == 0) return "";
  std::string unique = name;
  for (uint32_t number = nextNumber_.try_emplace("node " + name, 2).first->second;
       !nodeNames_.insert(unique).second; ++number) {
    unique = name + "_" + std::to_string(number);
    nextNumber_["node " + name] = number + 1;
  }
  return unique;
}

void ModelParts::use(const NodeMessage& node) {
  useVersion(node.domain, versionFor(node, leastOpset(node.domain)));
}

void ModelParts::useVersion(std::string_view domain, int64_t version) {
  int64_t& least = opsets_.try_emplace(std::string(domain), leastOpset(domain)).first->second;
  least = std::max(least, version);
}

void ModelParts::use(Dtype dtype) { useVersion("", versionOf(dtype)); }

void ModelParts::use(Type type) {
  while (type && (type.kind() == TypeKind::list || type.kind() == TypeKind::optional)) type = type.element();
  if (type && type.isTensor()) use(type.dtype());
}

void ModelParts::problem(const Op& op, const std::string& why) {
  std::string value;
  if (!op.results.empty()) value = " (%" + ir_.valueName(op.results[0].id) + ")";
  problem(std::string(op.def->name) + value, why);
  problems_.back().place = op.place;
  problems_.back().op = op.def->name;
}

void ModelParts::problem(const std::string& what, const std::string& why) {
  Diagnostic diagnostic;
  diagnostic.id = DiagnosticId::unsupportedFeature;
  diagnostic.message = "unsupported: an ONNX model cannot hold " + what + ": " + why;
  problems_.push_back(std::move(diagnostic));
}

void ModelParts::leaveOut(const Op& op) { ++leftOut_[std::string(op.def->name)]; }

void ModelParts::setType(ValueId id, Type type) {
  if (!type) return;
  if (id >= types_.size()) types_.resize(std::max<size_t>(id + 1, ir_.valueCount()));
  types_[id] = type;
}

}  // namespace dyn::onnx
