// Names, places and reports of the importer.
#include "frontends/onnx/import/graph_importer.h"

namespace dyn::onnx {

SourceLocation GraphImporter::placeOf(const Frame& frame, const NodeProto& node) const {
  SourceLocation place = model_.place(node);
  int64_t version = 0;
  const auto found = frame.environment->opsets.find(std::string(standardDomain(node.domain)));
  if (found != frame.environment->opsets.end()) version = found->second;
  place.node = frame.environment->path + placeName(node, version);
  return place;
}

void GraphImporter::report(Diagnostic diagnostic, const SourceLocation& place, Text op) {
  if (result_.problems.size() >= options_.maxProblems) {
    ++hiddenProblems_;
    return;
  }
  if (!diagnostic.place.known() || !place.node.empty()) diagnostic.place = place;
  diagnostic.op = op;
  result_.problems.push_back(std::move(diagnostic));
}

void GraphImporter::report(DiagnosticId id, std::string message, const SourceLocation& place, Text op,
                           std::string advice) {
  Diagnostic diagnostic;
  diagnostic.id = id;
  diagnostic.message = std::move(message);
  if (!advice.empty()) diagnostic.notes.push_back(std::move(advice));
  report(std::move(diagnostic), place, op);
}

void GraphImporter::warn(std::string message, const SourceLocation& place) {
  Diagnostic warning;
  warning.id = DiagnosticId::warning;
  warning.severity = Severity::warning;
  warning.message = std::move(message);
  warning.place = place;
  result_.warnings.push_back(std::move(warning));
}

bool GraphImporter::define(Frame& frame, Text name, Binding binding, const SourceLocation& place) {
  const auto [found, fresh] = frame.scope.names.emplace(name, std::move(binding));
  if (fresh) return true;
  report(DiagnosticId::onnxInvalid, "value " + quotedText(name) + " is defined twice in its graph", place, {},
         "every value has one producer: rename one of them");
  return false;
}

void GraphImporter::bindOutput(Frame& frame, const NodeProto& node, size_t index, ValueId value) {
  const Text name = node.outputs[index];
  if (name.empty()) return;
  Binding binding;
  binding.value = value;
  if (value == kNoValue) binding.kind = Binding::Kind::leftOut;
  if (!define(frame, name, std::move(binding), placeOf(frame, node))) return;
  if (value != kNoValue && !ir_.hasName(value)) ir_.setValueName(value, name);
}

void GraphImporter::bindFailed(Frame& frame, const NodeProto& node) {
  Binding binding;
  binding.kind = Binding::Kind::failed;
  for (Text name : node.outputs)
    if (!name.empty()) frame.scope.names.emplace(name, binding);
}

std::optional<ValueId> GraphImporter::weight(Frame& frame, Binding& binding, Text name,
                                             const SourceLocation& place) {
  WeightBinding& weight = *binding.weight;
  for (size_t i = weight.constants.size(); i-- > 0;)
    if (weight.constants[i].first == frame.builder->serial()) return weight.constants[i].second;
  if (!weight.tensor) {
    Result<HostTensor> loaded =
        weight.dense != nullptr ? tensors_.load(*weight.dense) : tensors_.loadSparse(*weight.sparse);
    if (!loaded.ok()) {
      SourceLocation where = loaded.error().place;
      if (!where.known()) where = place;
      report(loaded.error(), where, {});
      binding.kind = Binding::Kind::failed;
      return std::nullopt;
    }
    weight.tensor = *loaded;
  }
  SourceLocation where = place;
  where.node.clear();
  if (weight.dense != nullptr) where.byteOffset = model_.place(weight.dense->bytes).byteOffset;
  if (weight.sparse != nullptr) where.byteOffset = model_.place(weight.sparse->bytes).byteOffset;
  const ValueId id = frame.builder->constant(*weight.tensor, where, name);
  weight.constants.push_back({frame.builder->serial(), id});
  return id;
}

Binding* GraphImporter::find(Frame& frame, Text name) {
  // Each scope passed remembers what was found, so a name used at every level of deep nesting is not searched
  // from the top each time.
  Binding* found = nullptr;
  NameScope* end = nullptr;
  for (NameScope* scope = &frame.scope; scope != nullptr && found == nullptr; scope = scope->outer) {
    end = scope;
    if (const auto own = scope->names.find(name); own != scope->names.end()) {
      found = &own->second;
    } else if (const auto seen = scope->around.find(name); seen != scope->around.end()) {
      found = seen->second;
    }
  }
  for (NameScope* scope = &frame.scope; found != nullptr && scope != end; scope = scope->outer)
    scope->around.emplace(name, found);
  return found;
}

std::optional<ValueId> GraphImporter::resolve(Frame& frame, Text name, const SourceLocation& place, Text op) {
  if (Binding* binding = find(frame, name)) {
    switch (binding->kind) {
      case Binding::Kind::failed:
        return std::nullopt;
      case Binding::Kind::leftOut:
        return kNoValue;
      case Binding::Kind::absent:
        report(DiagnosticId::unsupportedFeature,
               "output " + std::to_string(binding->output) + " of " + std::string(binding->node->opType) +
                   " is not supported",
               placeOf(frame, *binding->node), binding->node->opType);
        binding->kind = Binding::Kind::failed;
        return std::nullopt;
      case Binding::Kind::weight:
        return weight(frame, *binding, name, place);
      case Binding::Kind::value:
        return binding->value;
    }
  }
  report(DiagnosticId::onnxInvalid, "value " + quotedText(name) + " is used but nothing defines it", place,
         op, "an input, initializer or node output of this name is missing");
  Binding failed;
  failed.kind = Binding::Kind::failed;
  frame.scope.names.emplace(name, failed);
  return std::nullopt;
}

std::optional<std::vector<ValueId>> GraphImporter::resolveInputs(Frame& frame, const NodeProto& node) {
  std::vector<ValueId> inputs;
  bool good = true;
  const SourceLocation place = placeOf(frame, node);
  for (Text name : node.inputs) {
    const std::optional<ValueId> value =
        name.empty() ? std::optional<ValueId>(kNoValue) : resolve(frame, name, place, node.opType);
    good = good && value.has_value();
    inputs.push_back(value.value_or(kNoValue));
  }
  if (!good) return std::nullopt;
  return inputs;
}

}  // namespace dyn::onnx
