#include "frontends/onnx/write/part_writer.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "compiler/support/suggestion.h"
#include "frontends/onnx/read/onnx_tensor.h"
#include "frontends/onnx/read/wire_writer.h"
#include "frontends/onnx/write/messages.h"

namespace dyn::onnx {
namespace {

// Names that a node reads: its inputs, and what its bodies take from outside.
std::vector<Text> namesRead(const NodeProto& node) {
  std::vector<Text> names;
  for (const Text input : node.inputs)
    if (!input.empty()) names.push_back(input);
  std::vector<const GraphProto*> open;
  const auto addBodies = [&](const NodeProto& owner) {
    for (const AttributeProto& attribute : owner.attributes)
      for (const GraphProto& body : attribute.graphs()) open.push_back(&body);
  };
  addBodies(node);
  std::unordered_set<Text> inside;
  std::vector<Text> outside;
  while (!open.empty()) {
    const GraphProto& body = *open.back();
    open.pop_back();
    for (const ValueInfoProto& input : body.inputs) inside.insert(input.name);
    for (const TensorProto& weight : body.initializers) inside.insert(weight.name);
    for (const NodeProto& one : body.nodes) {
      for (const Text output : one.outputs) inside.insert(output);
      for (const Text input : one.inputs)
        if (!input.empty()) outside.push_back(input);
      addBodies(one);
    }
    for (const ValueInfoProto& output : body.outputs) outside.push_back(output.name);
  }
  for (const Text name : outside)
    if (inside.count(name) == 0) names.push_back(name);
  return names;
}

Result<std::string> valueField(uint32_t number, Text name, const TypesByName& types) {
  const auto type = types.find(name);
  const std::string message = type == types.end() || !type->second ? "" : typeMessage(type->second, "unk_");
  if (message.empty())
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: the type of " + std::string(name) + " is unknown, or has no form in ONNX");
  WireWriter value, out;
  value.bytes(field::kNameOfValue, name);
  value.bytes(field::kTypeOfValue, message);
  out.bytes(number, value.str());
  return out.take();
}

class PartWriter {
 public:
  PartWriter(const Model& model, const PartRequest& request, const TypesByName& types)
      : model_(model), graph_(*model.graph), request_(request), types_(types) {
    for (const TensorProto& weight : graph_.initializers) weights_.insert(weight.name);
    for (const SparseTensorProto& weight : graph_.sparseInitializers)
      if (weight.values) weights_.insert(weight.values->name);
    for (const ValueInfoProto& input : graph_.inputs)
      if (weights_.count(input.name) == 0) inputs_.push_back(input.name);
    for (size_t i = 0; i < graph_.nodes.size(); ++i)
      for (const Text output : graph_.nodes[i].outputs)
        if (!output.empty()) maker_[output] = i;
  }

  Result<ModelPart> write() {
    DYN_CHECK(findEnds());
    DYN_CHECK(findNodes());
    return emit();
  }

 private:
  bool isKnown(Text name) const {
    return maker_.count(name) != 0 || weights_.count(name) != 0 ||
           std::find(inputs_.begin(), inputs_.end(), name) != inputs_.end();
  }

  Status findEnds() {
    const auto check = [&](const std::string& name, const char* option) -> Status {
      if (isKnown(name)) return {};
      std::vector<std::string_view> names(inputs_.begin(), inputs_.end());
      for (const auto& entry : maker_) names.push_back(entry.first);
      const std::string near = suggestion(name, names);
      Error error = makeError(DiagnosticId::usageError,
                              std::string(option) + " " + name + ": the model's graph has no such value");
      if (!near.empty()) return std::move(error).note("did you mean " + near + "?");
      return error;
    };
    for (const std::string& name : request_.from) {
      DYN_CHECK(check(name, "--from"));
      from_.push_back(name);
    }
    for (const std::string& name : request_.to) {
      DYN_CHECK(check(name, "--to"));
      to_.push_back(name);
    }
    if (from_.empty()) from_.assign(inputs_.begin(), inputs_.end());
    if (to_.empty())
      for (const ValueInfoProto& output : graph_.outputs) to_.push_back(output.name);
    starts_.insert(from_.begin(), from_.end());
    return {};
  }

  // Nodes that follow from `from`, and those that follow from weights alone.
  void findReach() {
    isBehind_.resize(graph_.nodes.size());
    isConstant_.resize(graph_.nodes.size());
    for (const size_t i : order()) {
      bool constant = true;
      for (const Text name : namesRead(graph_.nodes[i])) {
        if (starts_.count(name) != 0) isBehind_[i] = 1;
        const auto maker = maker_.find(name);
        if (maker == maker_.end()) {
          constant = constant && weights_.count(name) != 0 && starts_.count(name) == 0;
          continue;
        }
        constant = constant && isConstant_[maker->second] != 0 && starts_.count(name) == 0;
        // Behind a start that stands in between nothing is behind for the sake of those before it.
        if (isBehind_[maker->second] && starts_.count(name) == 0) isBehind_[i] = 1;
      }
      isConstant_[i] = constant;
    }
  }

  // The nodes in an order in which values are made before they are read.
  std::vector<size_t> order() const {
    std::vector<size_t> order;
    std::vector<uint8_t> state(graph_.nodes.size());  // 0: new, 1: open, 2: done
    for (size_t root = 0; root < graph_.nodes.size(); ++root) {
      std::vector<size_t> open{root};
      while (!open.empty()) {
        const size_t i = open.back();
        if (state[i] != 0) {
          if (state[i] == 1) order.push_back(i);
          state[i] = 2;
          open.pop_back();
          continue;
        }
        state[i] = 1;
        for (const Text name : namesRead(graph_.nodes[i])) {
          const auto maker = maker_.find(name);
          if (maker != maker_.end() && state[maker->second] == 0) open.push_back(maker->second);
        }
      }
    }
    return order;
  }

  // Whole numbers of rank 0 or 1: shapes, axes, lengths.
  bool isShapeLike(Text name) const {
    const auto type = types_.find(name);
    return type != types_.end() && type->second && type->second.isTensor() && type->second.rank() <= 1 &&
           !isReal(type->second.dtype()) && type->second.dtype() != Dtype::string;
  }

  Status findNodes() {
    findReach();
    taken_.resize(graph_.nodes.size());
    std::vector<Text> open;
    std::unordered_set<Text> seen;
    const auto need = [&](Text name) {
      if (seen.insert(name).second) open.push_back(name);
    };
    for (const Text name : to_) {
      const auto maker = maker_.find(name);
      if (maker == maker_.end() || !isBehind_[maker->second])
        return makeError(DiagnosticId::usageError,
                         "--to " + std::string(name) + " does not follow from " +
                             (request_.from.empty() ? "the inputs" : "--from " + request_.from[0]));
      need(name);
    }
    while (!open.empty()) {
      const Text name = open.back();
      open.pop_back();
      if (starts_.count(name) != 0) {
        used_.insert(name);
        continue;
      }
      if (weights_.count(name) != 0) {
        used_.insert(name);
        continue;
      }
      const auto maker = maker_.find(name);
      const bool isMade = maker != maker_.end();
      if (isMade && (isBehind_[maker->second] || isConstant_[maker->second] || isShapeLike(name))) {
        taken_[maker->second] = 1;
        for (const Text read : namesRead(graph_.nodes[maker->second])) need(read);
      } else {
        further_.insert(name);
      }
    }
    return {};
  }

  // Does the part have the tensors that it is about?
  bool holds(const TensorAnnotation& annotation, const std::unordered_set<Text>& made,
             const std::vector<std::string>& inputs) const {
    const auto has = [&](Text name) {
      const bool isWeight = weights_.count(name) != 0 && used_.count(name) != 0;
      return isWeight || made.count(name) != 0 ||
             std::find(inputs.begin(), inputs.end(), name) != inputs.end();
    };
    return has(annotation.tensorName) &&
           std::all_of(annotation.parameters.begin(), annotation.parameters.end(),
                       [&](const StringPair& parameter) { return has(parameter.value); });
  }

  Result<ModelPart> emit() {
    ModelPart part;
    GraphEdit edit;
    const auto leaveOut = [&](Text bytes) { edit.replaced[bytes.data()] = ""; };
    std::unordered_set<Text> made;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!taken_[i]) {
        leaveOut(graph_.nodes[i].bytes);
        continue;
      }
      ++part.nodesCount;
      for (const Text output : graph_.nodes[i].outputs) made.insert(output);
    }
    for (const TensorProto& weight : graph_.initializers) {
      if (used_.count(weight.name) != 0 && starts_.count(weight.name) == 0)
        part.weightsBytes += fileBytes(weight);
      else
        leaveOut(weight.bytes);
    }
    for (const SparseTensorProto& weight : graph_.sparseInitializers)
      if (weight.values && (used_.count(weight.values->name) == 0 || starts_.count(weight.values->name) != 0))
        leaveOut(weight.bytes);
    for (const ValueInfoProto& value : graph_.valueInfos)
      if (made.count(value.name) == 0 || std::find(to_.begin(), to_.end(), value.name) != to_.end())
        leaveOut(value.bytes);
    for (const ValueInfoProto& value : graph_.inputs) {
      // Old versions of the format list weights among the inputs.
      const bool isWeight = weights_.count(value.name) != 0 && used_.count(value.name) != 0;
      if (!isWeight || starts_.count(value.name) != 0) leaveOut(value.bytes);
    }
    for (const ValueInfoProto& value : graph_.outputs) leaveOut(value.bytes);
    for (const Text name : from_)
      if (used_.count(name) != 0) part.inputs.emplace_back(name);
    part.askedInputsCount = part.inputs.size();
    for (const Text name : further_) part.inputs.emplace_back(name);
    for (const Text name : to_) part.outputs.emplace_back(name);
    for (const std::string& name : part.inputs) {
      DYN_TRY(const std::string field, valueField(field::kInput, name, types_));
      edit.last += field;
    }
    for (const std::string& name : part.outputs) {
      DYN_TRY(const std::string field, valueField(field::kOutput, name, types_));
      edit.last += field;
    }
    for (const TensorAnnotation& annotation : graph_.quantizationAnnotations)
      if (!holds(annotation, made, part.inputs)) leaveOut(annotation.bytes);
    for (const Text training : model_.trainingInfos) leaveOut(training);
    edit.dims = request_.dims ? request_.dims(part.inputs) : Metadata();
    DYN_TRY(part.file, editGraph(model_, std::move(edit)));
    return part;
  }

  const Model& model_;
  const GraphProto& graph_;
  const PartRequest& request_;
  const TypesByName& types_;
  std::unordered_set<Text> weights_;
  std::vector<Text> inputs_, from_, to_;
  std::unordered_map<Text, size_t> maker_;  // the node that makes a value
  std::unordered_set<Text> starts_, used_;
  std::set<Text> further_;
  std::vector<char> isBehind_, isConstant_, taken_;
};

}  // namespace

Result<ModelPart> partOf(const Model& model, const PartRequest& request, const TypesByName& types) {
  return PartWriter(model, request, types).write();
}

Result<FilePieces> withOutputs(const Model& model, const std::vector<std::string>& names,
                               const TypesByName& types) {
  GraphEdit edit;
  const std::set<Text> outputs(names.begin(), names.end());
  for (const ValueInfoProto& output : model.graph->outputs) edit.replaced[output.bytes.data()] = "";
  for (const ValueInfoProto& value : model.graph->valueInfos)
    if (outputs.count(value.name) != 0) edit.replaced[value.bytes.data()] = "";
  for (const std::string& name : names) {
    DYN_TRY(const std::string field, valueField(field::kOutput, name, types));
    edit.last += field;
  }
  return editGraph(model, std::move(edit));
}

int64_t weightsBytes(const Model& model) {
  int64_t bytes = 0;
  for (const TensorProto& weight : model.graph->initializers) bytes += fileBytes(weight);
  return bytes;
}

}  // namespace dyn::onnx
