// Operators that the user defines in text files: a node of one becomes the operations of its definition.
#include "compiler/ir/walk.h"
#include "frontends/onnx/import/graph_importer.h"

namespace dyn::onnx {
namespace {

std::optional<AttributeValue> definedValue(MapContext& node, const text::OperatorAttribute& attribute) {
  const std::string& name = attribute.name;
  switch (attribute.kind) {
    case AttributeKind::integer:
      return node.integer(name, 0);
    case AttributeKind::real:
      return node.real(name, 0);
    case AttributeKind::string:
      return node.text(name, "");
    case AttributeKind::integers:
      return node.integers(name);
    case AttributeKind::reals:
      return node.reals(name);
    case AttributeKind::strings:
      return node.texts(name);
    case AttributeKind::dtype:
      if (const std::optional<Dtype> dtype = node.dtype(name)) return *dtype;
      return std::nullopt;
    default:
      if (std::optional<HostTensor> tensor = node.tensor(name)) return *std::move(tensor);
      return std::nullopt;
  }
}

bool hasDemanded(MapContext& node, const text::OperatorDefinition& definition) {
  for (const text::OperatorAttribute& attribute : definition.attributes) {
    if (!attribute.demanded) continue;
    if (!node.hasAttribute(attribute.name)) return false;
    const std::optional<AttributeValue> value = definedValue(node, attribute);
    if (node.failed() || !value || !identical(*value, *attribute.demanded)) return false;
  }
  return true;
}

}  // namespace

bool GraphImporter::definesOperator(const NodeProto& node) const {
  if (operators_.empty()) return false;
  const std::string name = opLabel(node);
  for (const auto& file : operators_)
    if (file->defines(name)) return true;
  return false;
}

MapContext GraphImporter::contextOf(Frame& frame, const NodeProto& node, std::vector<ValueId> inputs,
                                    int64_t version, const SourceLocation& place) {
  return MapContext(ir_, values_, *frame.builder, tensors_, node, version, place,
                    frame.environment->function ? &frame.environment->attributes : nullptr, std::move(inputs),
                    this);
}

void GraphImporter::expandOperator(Frame& frame, const NodeProto& node) {
  const SourceLocation place = placeOf(frame, node);
  const std::optional<std::vector<ValueId>> inputs = resolveInputs(frame, node);
  if (!inputs) return bindFailed(frame, node);
  const auto refuse = [&](Diagnostic why) {
    report(std::move(why), place, node.opType);
    bindFailed(frame, node);
  };
  const auto wrong = [&](const std::string& why) {
    refuse({.id = DiagnosticId::badOperands, .message = "operator " + opLabel(node) + why});
  };
  std::vector<bool> given;
  for (const ValueId input : *inputs) given.push_back(input != kNoValue);
  const std::string name = opLabel(node);
  const text::OperatorFile* file = nullptr;
  const text::OperatorDefinition* definition = nullptr;
  for (const auto& candidates : operators_)
    for (const text::OperatorDefinition& candidate : candidates->definitions()) {
      if (definition != nullptr || candidate.name != name || !candidate.takes(given)) continue;
      MapContext c = contextOf(frame, node, *inputs, 1, place);
      if (!hasDemanded(c, candidate)) continue;
      file = candidates.get();
      definition = &candidate;
    }
  if (definition == nullptr)
    return wrong(" is defined, but not for these " + std::to_string(inputs->size()) +
                 " inputs and attributes");
  if (node.outputs.size() > definition->results)
    return wrong(" has " + std::to_string(node.outputs.size()) + " outputs here, and is defined with " +
                 std::to_string(definition->results));
  MapContext c = contextOf(frame, node, *inputs, 1, place);
  std::optional<text::OperatorBody> body = expansionOf(c, *file, *definition);
  if (!body) return refuse(c.failure());
  addFunctionsOf(*file, place);
  userFunctions_.insert(userFunctions_.end(), body->closures.begin(), body->closures.end());
  const std::optional<std::vector<ValueId>> results = frame.builder->expand(
      *body->function, *inputs, place.node, std::string(node.name.empty() ? node.opType : node.name) + "/");
  if (!results) return wrong(" returns an input that is left out here");
  for (size_t i = 0; i != node.outputs.size(); ++i)
    if (!node.outputs[i].empty()) bindOutput(frame, node, i, (*results)[i]);
}

std::optional<text::OperatorBody> GraphImporter::expansionOf(MapContext& node, const text::OperatorFile& file,
                                                             const text::OperatorDefinition& definition) {
  text::OperatorAttributes attributes;
  for (const text::OperatorAttribute& attribute : definition.attributes) {
    if (!node.hasAttribute(attribute.name)) {
      if (attribute.required)
        node.fail(DiagnosticId::badAttribute, "attribute " + quotedText(attribute.name) + " is missing");
      continue;
    }
    if (std::optional<AttributeValue> value = definedValue(node, attribute))
      attributes.emplace(attribute.name, *std::move(value));
  }
  for (const std::string& other : node.unreadAttributes())
    node.fail(DiagnosticId::badAttribute,
              "attribute " + quotedText(other) + " is not in the definition of the operator");
  if (node.failed()) return std::nullopt;
  std::vector<std::optional<Dtype>> dtypes;
  for (size_t i = 0; i != definition.inputs.size(); ++i)
    dtypes.push_back(node.dtypeOf(node.optionalInput(static_cast<int>(i))));
  Result<text::OperatorBody> body = file.expand(ir_, definition, attributes, dtypes);
  if (body.ok()) return *std::move(body);
  node.fail(body.error());
  return std::nullopt;
}

// Once for each file.
void GraphImporter::addFunctionsOf(const text::OperatorFile& file, const SourceLocation& place) {
  if (!usedFiles_.insert(&file).second) return;
  Result<Module> beside = file.functions(ir_);
  if (!beside.ok()) return report(beside.error(), place, {});
  userFunctions_.insert(userFunctions_.end(), beside->functions.begin(), beside->functions.end());
  userTypes_.insert(userTypes_.end(), beside->dataTypes.begin(), beside->dataTypes.end());
}

// With what the user's operators refer to.
Module GraphImporter::moduleOf(const Function* main) const {
  Module module;
  module.context = &ir_;
  module.functions.push_back(main);
  module.functions.insert(module.functions.end(), userFunctions_.begin(), userFunctions_.end());
  module.dataTypes = userTypes_;
  return module;
}

}  // namespace dyn::onnx
