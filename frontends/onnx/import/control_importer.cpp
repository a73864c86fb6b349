// Operators with bodies: If becomes `if`; Loop, Scan and SequenceMap become `loop`; those of FlexAttention
// are expanded in place.
#include "compiler/ops/op_table.h"
#include "frontends/onnx/import/batched_scan.h"
#include "frontends/onnx/import/graph_importer.h"

namespace dyn::onnx {

bool isControlOperator(std::string_view domain, std::string_view name) {
  if (domain == "ai.onnx.preview") return name == "FlexAttention";
  if (isScanOfWritten(domain, name)) return true;
  return domain.empty() && (name == "If" || name == "Loop" || name == "Scan" || name == "SequenceMap");
}

namespace {

const GraphProto* bodyOf(const NodeProto& node, Text name) {
  const AttributeProto* attribute = node.attribute(name);
  if (attribute == nullptr || attribute->graphs().size() != 1) return nullptr;
  return &attribute->graphs()[0];
}

// Axis lists of Scan: all zeros when they are not given.
std::vector<int64_t> listOf(const NodeProto& node, Text name, size_t count) {
  std::vector<int64_t> values(count, 0);
  const AttributeProto* attribute = node.attribute(name);
  if (attribute == nullptr) return values;
  for (size_t i = 0; i < count && i < attribute->ints().size(); ++i) values[i] = attribute->ints()[i];
  return values;
}

}  // namespace

ValueId GraphImporter::emit(Frame& frame, std::string_view op, std::vector<ValueId> operands,
                            Attributes attributes, const SourceLocation& place) {
  const OpDef* def = findOp(op);
  if (def == nullptr) {
    report(DiagnosticId::unsupportedOp,
           "it needs the operator `" + std::string(op) + "`, which Dyn does not have yet", place);
    return kNoValue;
  }
  return frame.builder->emit(*def, std::move(operands), std::move(attributes), 1, place)[0];
}

void GraphImporter::openControl(Frame& frame, const NodeProto& node) {
  auto control = std::make_unique<ControlNode>();
  control->node = &node;
  control->place = placeOf(frame, node);
  std::optional<std::vector<ValueId>> inputs = resolveInputs(frame, node);
  if (!inputs) {
    // Its bodies are still looked at for more problems.
    control->failed = true;
    inputs.emplace(node.inputs.size(), kNoValue);
  }
  control->inputs = std::move(*inputs);
  for (ValueId& value : control->inputs) value = frame.builder->localize(value);
  std::vector<Text> bodies = {"body"};
  if (node.opType == "If") {
    bodies = {"then_branch", "else_branch"};
  } else if (node.opType == "Loop") {
    control->kind = ControlNode::Kind::loop;
    if (control->inputs.size() < 2) control->inputs.resize(2, kNoValue);
  } else if (node.opType == "Scan") {
    control->kind = ControlNode::Kind::scan;
  } else if (node.opType == "FlexAttention") {
    control->kind = ControlNode::Kind::flexAttention;
    bodies = openFlex(*control);
  } else {
    control->kind = ControlNode::Kind::sequenceMap;
  }
  for (Text name : bodies) {
    const GraphProto* body = bodyOf(node, name);
    if (body == nullptr) {
      report(DiagnosticId::badAttribute, "attribute " + quotedText(name) + " with the body is missing",
             control->place, node.opType);
      return bindFailed(frame, node);
    }
    control->graphs.push_back(body);
  }
  if (control->kind == ControlNode::Kind::scan) prepareScan(*control);
  frame.control = std::move(control);
}

void GraphImporter::prepareScan(ControlNode& control) {
  const NodeProto& node = *control.node;
  const AttributeProto* count = node.attribute("num_scan_inputs");
  const int64_t scans = count != nullptr ? count->i : 0;
  const auto inputs = static_cast<int64_t>(node.inputs.size());
  if (scans < 1 || scans > inputs) {
    report(DiagnosticId::badAttribute,
           "num_scan_inputs is " + std::to_string(scans) + " for " + std::to_string(inputs) + " inputs",
           control.place, node.opType);
    control.failed = true;
    control.stateCount = static_cast<size_t>(inputs);
    return;
  }
  control.stateCount = static_cast<size_t>(inputs - scans);
  control.inputAxes = listOf(node, "scan_input_axes", static_cast<size_t>(scans));
  control.inputDirections = listOf(node, "scan_input_directions", static_cast<size_t>(scans));
  const size_t outputs =
      node.outputs.size() < control.stateCount ? 0 : node.outputs.size() - control.stateCount;
  control.outputAxes = listOf(node, "scan_output_axes", outputs);
  control.outputDirections = listOf(node, "scan_output_directions", outputs);
}

void GraphImporter::openBody(Frame& frame) {
  ControlNode& control = *frame.control;
  const GraphProto& graph = *control.graphs[control.next++];
  NameScope* outer = &frame.scope;
  FunctionBuilder* builder = frame.builder;
  frames_.emplace_back();
  Frame& body = frames_.back();
  body.kind = Frame::Kind::body;
  body.builder = builder;
  if (control.kind != ControlNode::Kind::flexAttention) {
    body.ownBuilder = std::make_unique<FunctionBuilder>(ir_, values_, builder, &control.captures);
    body.builder = body.ownBuilder.get();
  }
  body.scope.outer = outer;
  body.environment = frame.environment;
  body.graph = &graph;
  body.nodes = graph.nodes;
  bindBodyInputs(body, control);
  addInitializers(body, graph);
  orderFrame(body);
}

void GraphImporter::bindBodyInputs(Frame& body, ControlNode& control) {
  switch (control.kind) {
    case ControlNode::Kind::branch:
      if (!body.graph->inputs.empty()) {
        report(DiagnosticId::onnxInvalid, "a branch of If has inputs", control.place, "If",
               "branches use the values around them by name");
        control.failed = true;
      }
      return;
    case ControlNode::Kind::loop:
      return bindLoopInputs(body, control);
    case ControlNode::Kind::scan:
      return bindScanInputs(body, control);
    case ControlNode::Kind::sequenceMap:
      return bindMapInputs(body, control);
    case ControlNode::Kind::flexAttention:
      return bindFlexInput(body, control);
  }
}

namespace {

Binding valueBinding(ValueId value) {
  Binding binding;
  binding.value = value;
  if (value == kNoValue) binding.kind = Binding::Kind::failed;
  return binding;
}

}  // namespace

namespace {

int declaredRank(const ValueInfoProto& value) {
  const bool isTensor =
      value.type != nullptr && value.type->kind == TypeProto::Kind::tensor && value.type->wrappers.empty();
  return isTensor && value.type->hasShape ? static_cast<int>(value.type->shape.size()) : -1;
}

}  // namespace

void GraphImporter::bindLoopInputs(Frame& body, ControlNode& control) {
  const GraphProto& graph = *body.graph;
  const size_t carried = control.inputs.size() - 2;
  if (graph.inputs.size() != 2 + carried) {
    report(DiagnosticId::badOperands,
           "the body has " + std::to_string(graph.inputs.size()) + " inputs where iteration, condition and " +
               std::to_string(carried) + " carried values are passed",
           control.place, "Loop");
    control.failed = true;
  }
  ValueId iteration = body.builder->addParameter("", Dtype::i64, 0);
  for (size_t i = 0; i != carried; ++i) {
    const ValueTable::Entry initial =
        control.inputs[2 + i] == kNoValue ? ValueTable::Entry() : values_.at(control.inputs[2 + i]);
    // A value keeps its rank from one iteration to the next.
    const int rank = initial.isList || initial.rank >= 0 || 2 + i >= graph.inputs.size()
                         ? initial.rank
                         : declaredRank(graph.inputs[2 + i]);
    const ValueId value = body.builder->addParameter(
        2 + i < graph.inputs.size() ? graph.inputs[2 + i].name : Text(), initial.dtype, rank);
    values_.at(value).isList = initial.isList;
    if (2 + i < graph.inputs.size())
      define(body, graph.inputs[2 + i].name, valueBinding(value), control.place);
  }
  // Some exporters declare iteration and condition as [1].
  const auto asDeclared = [&](ValueId value, const ValueInfoProto& info) {
    if (info.type == nullptr || !info.type->hasShape || info.type->shape.size() != 1) return value;
    const ValueId axes =
        body.builder->constant(HostTensor::vectorInt(Dtype::i64, std::vector<int64_t>{0}), control.place);
    return emit(body, "unsqueeze", {value, axes}, {}, control.place);
  };
  if (!graph.inputs.empty())
    define(body, graph.inputs[0].name, valueBinding(asDeclared(iteration, graph.inputs[0])), control.place);
  if (graph.inputs.size() > 1) {
    const ValueId yes = body.builder->constant(HostTensor::scalarInt(Dtype::boolean, 1), control.place);
    define(body, graph.inputs[1].name, valueBinding(asDeclared(yes, graph.inputs[1])), control.place);
  }
}

void GraphImporter::bindScanInputs(Frame& body, ControlNode& control) {
  const GraphProto& graph = *body.graph;
  if (graph.inputs.size() != control.inputs.size()) {
    report(DiagnosticId::badOperands,
           "the body has " + std::to_string(graph.inputs.size()) + " inputs, the node " +
               std::to_string(control.inputs.size()),
           control.place, "Scan");
    control.failed = true;
  }
  const ValueId iteration = body.builder->addParameter("", Dtype::i64, 0);
  for (size_t i = 0; i < control.stateCount; ++i) {
    const Text name = i < graph.inputs.size() ? graph.inputs[i].name : Text();
    const ValueId outer = control.inputs[i];
    const ValueId value =
        body.builder->addParameter(name, outer == kNoValue ? std::nullopt : values_.at(outer).dtype);
    if (!name.empty()) define(body, name, valueBinding(value), control.place);
  }
  for (size_t i = control.stateCount; i < control.inputs.size() && i < graph.inputs.size(); ++i) {
    const ValueId sequence = control.inputs[i];
    const size_t k = i - control.stateCount;
    ValueId slice = kNoValue;
    if (sequence != kNoValue && !control.failed) {
      ValueId index = iteration;
      const int64_t axis = control.inputAxes[k];
      if (control.inputDirections[k] != 0) {
        Attributes range;
        range.set("start", axis);
        if (axis != -1) range.set("end", axis + 1);
        ValueId last = emit(body, "shape", {sequence}, range, control.place);
        last = emit(body, "squeeze", {last}, {}, control.place);
        const ValueId one = body.builder->constant(HostTensor::scalarInt(Dtype::i64, 1), control.place);
        last = emit(body, "sub", {last, one}, {}, control.place);
        index = emit(body, "sub", {last, iteration}, {}, control.place);
      }
      slice = emit(body, "gather", {sequence, index}, {{"axis", axis}}, control.place);
    }
    if (slice != kNoValue && !ir_.hasName(slice)) ir_.setValueName(slice, graph.inputs[i].name);
    define(body, graph.inputs[i].name, valueBinding(slice), control.place);
  }
}

void GraphImporter::bindMapInputs(Frame& body, ControlNode& control) {
  const GraphProto& graph = *body.graph;
  const ValueId iteration = body.builder->addParameter("", Dtype::i64, 0);
  for (size_t k = 0; k != graph.outputs.size(); ++k) {
    const ValueId list = body.builder->addParameter("", std::nullopt);
    values_.at(list).isList = true;
  }
  if (graph.inputs.size() != control.inputs.size()) {
    report(DiagnosticId::badOperands,
           "the body has " + std::to_string(graph.inputs.size()) + " inputs, the node " +
               std::to_string(control.inputs.size()),
           control.place, "SequenceMap");
    control.failed = true;
  }
  for (size_t i = 0; i < control.inputs.size() && i < graph.inputs.size(); ++i) {
    ValueId value = control.inputs[i];
    if (value != kNoValue && values_.at(value).isList)
      value = emit(body, "list_at", {value, iteration}, {}, control.place);
    define(body, graph.inputs[i].name, valueBinding(value), control.place);
  }
}

void GraphImporter::closeBody() {
  Frame& body = frames_.back();
  ControlNode& control = *frames_[frames_.size() - 2].control;
  std::vector<ValueId> results;
  for (const ValueInfoProto& output : body.graph->outputs) {
    const std::optional<ValueId> value = resolve(body, output.name, control.place, control.node->opType);
    if (!value) control.failed = true;
    results.push_back(value ? body.builder->localize(*value) : kNoValue);
  }
  if (control.kind == ControlNode::Kind::flexAttention && !results.empty()) control.flexValue = results[0];
  control.bodies.push_back({std::move(body.ownBuilder), std::move(results)});
  frames_.pop_back();
}

void GraphImporter::closeControl(Frame& frame) {
  const std::unique_ptr<ControlNode> control = std::move(frame.control);
  if (control->failed) return bindFailed(frame, *control->node);
  switch (control->kind) {
    case ControlNode::Kind::branch:
      return finishBranch(frame, *control);
    case ControlNode::Kind::loop:
      return finishLoop(frame, *control);
    case ControlNode::Kind::scan:
      return finishScan(frame, *control);
    case ControlNode::Kind::sequenceMap:
      return finishMap(frame, *control);
    case ControlNode::Kind::flexAttention:
      return finishFlex(frame, *control);
  }
}

void GraphImporter::finishBranch(Frame& frame, ControlNode& control) {
  const NodeProto& node = *control.node;
  ControlNode::Body& thenBody = control.bodies[0];
  ControlNode::Body& elseBody = control.bodies[1];
  const size_t count = thenBody.results.size();
  if (count != elseBody.results.size() || count < node.outputs.size() || control.inputs.size() != 1 ||
      control.inputs[0] == kNoValue) {
    report(DiagnosticId::badOperands,
           "the node has " + std::to_string(node.outputs.size()) + " outputs, its branches " +
               std::to_string(count) + " and " + std::to_string(elseBody.results.size()) +
               "; it needs one condition",
           control.place, node.opType);
    return bindFailed(frame, node);
  }
  std::vector<ValueTable::Entry> kinds;
  for (size_t i = 0; i != count; ++i) {
    ValueTable::Entry entry = values_.at(thenBody.results[i]);
    const ValueTable::Entry other = values_.at(elseBody.results[i]);
    if (!entry.dtype) entry.dtype = other.dtype;
    entry.isList = entry.isList || other.isList;
    kinds.push_back(entry);
  }
  const std::string name = ir_.uniqueFunctionName("main.if");
  // The second body may have added captures, so both are finished now.
  const Function* thenFunction =
      thenBody.builder->finish(name + ".then", std::move(thenBody.results), control.place);
  const Function* elseFunction =
      elseBody.builder->finish(name + ".else", std::move(elseBody.results), control.place);
  std::vector<ValueId> operands = {control.inputs[0]};
  operands.insert(operands.end(), control.captures.outer.begin(), control.captures.outer.end());
  const std::vector<ValueId> results = frame.builder->emit(ops::ifOp, std::move(operands), {}, count,
                                                           control.place, {thenFunction, elseFunction});
  for (size_t i = 0; i != count; ++i) {
    values_.at(results[i]).dtype = kinds[i].dtype;
    values_.at(results[i]).isList = kinds[i].isList;
    if (i < node.outputs.size()) bindOutput(frame, node, i, results[i]);
  }
}

std::vector<ValueId> GraphImporter::emitLoop(Frame& frame, ControlNode& control, ValueId trip,
                                             ValueId condition, const std::vector<ValueId>& carried,
                                             size_t stackedCount) {
  ControlNode::Body& body = control.bodies[0];
  std::vector<ValueTable::Entry> kinds;
  for (size_t i = 1; i < body.results.size(); ++i) kinds.push_back(values_.at(body.results[i]));
  const Function* function =
      body.builder->finish(ir_.uniqueFunctionName("main.loop"), std::move(body.results), control.place);
  std::vector<ValueId> operands = {trip, condition};
  operands.insert(operands.end(), carried.begin(), carried.end());
  operands.insert(operands.end(), control.captures.outer.begin(), control.captures.outer.end());
  const std::vector<ValueId> results = frame.builder->emit(
      ops::loopOp, std::move(operands), {{"carried", static_cast<int64_t>(carried.size())}},
      carried.size() + stackedCount, control.place, {function});
  for (size_t i = 0; i != results.size(); ++i) {
    values_.at(results[i]).dtype = kinds[i].dtype;
    values_.at(results[i]).isList = kinds[i].isList;
  }
  return results;
}

namespace {

bool isOptional(const ValueInfoProto& value) {
  return value.type != nullptr && !value.type->wrappers.empty() &&
         value.type->wrappers[0].kind == TypeWrapper::Kind::optional;
}

// Carried values that the body takes as optional ones and gives without that: from the first iteration on
// there is a value.
std::vector<size_t> filledByBody(const GraphProto& body, size_t carried) {
  std::vector<size_t> filled;
  for (size_t i = 0; i < carried; ++i)
    if (2 + i < body.inputs.size() && 1 + i < body.outputs.size() && isOptional(body.inputs[2 + i]) &&
        body.outputs[1 + i].type != nullptr && !isOptional(body.outputs[1 + i]))
      filled.push_back(i);
  return filled;
}

}  // namespace

void GraphImporter::finishLoop(Frame& frame, ControlNode& control) {
  const NodeProto& node = *control.node;
  const size_t carried = control.inputs.size() - 2;
  const size_t count = control.bodies[0].results.size();
  if (count < 1 + carried || count - 1 < node.outputs.size()) {
    report(DiagnosticId::badOperands,
           "the body gives " + std::to_string(count) + " results where a condition, " +
               std::to_string(carried) + " carried values and the other outputs of the node are demanded",
           control.place, node.opType);
    return bindFailed(frame, node);
  }
  const std::vector<ValueId> initial(control.inputs.begin() + 2, control.inputs.end());
  const std::vector<size_t> filled = filledByBody(*control.graphs[0], carried);
  for (const size_t i : filled) {
    ValueId& value = control.bodies[0].results[1 + i];
    const bool isList = values_.at(value).isList;
    value = control.bodies[0].builder->emit(ops::optional_someOp, {value}, {}, 1, control.place)[0];
    values_.at(value).isList = isList;
  }
  std::vector<ValueId> results =
      emitLoop(frame, control, control.inputs[0], control.inputs[1], initial, count - 1 - carried);
  for (const size_t i : filled) {
    const bool isList = values_.at(results[i]).isList;
    results[i] = frame.builder->emit(ops::optional_getOp, {results[i]}, {}, 1, control.place)[0];
    values_.at(results[i]).isList = isList;
  }
  for (size_t i = 0; i != node.outputs.size(); ++i) bindOutput(frame, node, i, results[i]);
}

// Size of the axis that scan input k runs along.
ValueId GraphImporter::scanLength(Frame& frame, const ControlNode& control, size_t k) {
  const int64_t axis = control.inputAxes[k];
  Attributes range;
  range.set("start", axis);
  if (axis != -1) range.set("end", axis + 1);
  return emit(frame, "shape", {control.inputs[control.stateCount + k]}, range, control.place);
}

void GraphImporter::requireSameLengths(Frame& frame, const ControlNode& control, ValueId trip) {
  for (size_t k = 1; k < control.inputAxes.size(); ++k) {
    const Attributes demand = {{"elements", std::string("in_range")},
                               {"what", "Scan: length of scan input " + std::to_string(k)}};
    frame.builder->emit(ops::check_valuesOp, {scanLength(frame, control, k), trip, trip}, demand, 0,
                        control.place);
  }
}

void GraphImporter::finishScan(Frame& frame, ControlNode& control) {
  const NodeProto& node = *control.node;
  const size_t count = control.bodies[0].results.size();
  if (count < control.stateCount || count < node.outputs.size()) {
    report(DiagnosticId::badOperands,
           "the body gives " + std::to_string(count) + " results, the node has " +
               std::to_string(node.outputs.size()) + " outputs",
           control.place, node.opType);
    return bindFailed(frame, node);
  }
  FunctionBuilder& body = *control.bodies[0].builder;
  control.bodies[0].results.insert(control.bodies[0].results.begin(),
                                   body.constant(HostTensor::scalarInt(Dtype::boolean, 1), control.place));
  const ValueId trip = scanLength(frame, control, 0);
  requireSameLengths(frame, control, trip);
  const std::vector<ValueId> initial(
      control.inputs.begin(), control.inputs.begin() + static_cast<std::ptrdiff_t>(control.stateCount));
  const GraphProto& graph = *control.graphs[0];
  std::vector<ValueId> results =
      emitLoop(frame, control, trip, kNoValue, initial, count - control.stateCount);
  for (size_t i = 0; i != node.outputs.size(); ++i) {
    ValueId value = results[i];
    const size_t k = i - control.stateCount;
    if (i >= control.stateCount && control.outputDirections[k] != 0) {
      const auto list = [&](int64_t element) {
        return frame.builder->constant(HostTensor::vectorInt(Dtype::i64, std::vector<int64_t>{element}),
                                       control.place);
      };
      const ValueId start = list(-1), end = list(INT64_MIN), axes = list(0), step = list(-1);
      value = emit(frame, "slice", {value, start, end, axes, step}, {}, control.place);
    }
    if (i >= control.stateCount && control.outputAxes[k] != 0) {
      const TypeProto* type = graph.outputs[i].type;
      const int64_t rank =
          type != nullptr && type->hasShape ? static_cast<int64_t>(type->shape.size()) + 1 : 0;
      const int64_t to = control.outputAxes[k] < 0 ? control.outputAxes[k] + rank : control.outputAxes[k];
      if (to < 0 || to >= rank) {
        report(DiagnosticId::unsupportedFeature,
               "the rank of output " + std::to_string(i) + " of the body must be declared for its axis " +
                   std::to_string(control.outputAxes[k]),
               control.place, node.opType, "write the shape of the body's output into the model");
        return bindFailed(frame, node);
      }
      std::vector<int64_t> permutation;
      for (int64_t d = 1; d < rank; ++d) permutation.push_back(d);
      permutation.insert(permutation.begin() + to, 0);
      value = emit(frame, "transpose", {value}, {{"perm", permutation}}, control.place);
    }
    bindOutput(frame, node, i, value);
  }
}

void GraphImporter::finishMap(Frame& frame, ControlNode& control) {
  const NodeProto& node = *control.node;
  ControlNode::Body& body = control.bodies[0];
  const size_t count = body.results.size();
  if (count < node.outputs.size() || control.inputs.empty() || control.inputs[0] == kNoValue ||
      !values_.at(control.inputs[0]).isList) {
    report(DiagnosticId::badOperands, "it needs a sequence, and a body with a result for each output",
           control.place, node.opType);
    return bindFailed(frame, node);
  }
  std::vector<ValueId> results;
  results.push_back(body.builder->constant(HostTensor::scalarInt(Dtype::boolean, 1), control.place));
  std::vector<ValueId> empty;
  const Type bottom = ir_.listType(ir_.tupleType({}));
  for (size_t k = 0; k != count; ++k) {
    const ValueId list = body.builder->parameter(1 + k);
    results.push_back(
        body.builder->emit(ops::list_appendOp, {list, body.results[k]}, {}, 1, control.place)[0]);
    values_.at(results.back()) = {body.builder->serial(), values_.at(body.results[k]).dtype, nullptr, -1,
                                  true};
    empty.push_back(frame.builder->emit(ops::listOp, {}, {}, 1, control.place, {}, bottom)[0]);
  }
  body.results = std::move(results);
  const ValueId trip = emit(frame, "list_length", {control.inputs[0]}, {}, control.place);
  const std::vector<ValueId> lists = emitLoop(frame, control, trip, kNoValue, empty, 0);
  for (size_t i = 0; i != node.outputs.size(); ++i) bindOutput(frame, node, i, lists[i]);
}

}  // namespace dyn::onnx
