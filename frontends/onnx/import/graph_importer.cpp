#include "frontends/onnx/import/graph_importer.h"

#include <algorithm>

#include "compiler/ops/op_table.h"
#include "compiler/support/suggestion.h"
#include "frontends/onnx/import/batched_scan.h"
#include "frontends/onnx/import/file_rules.h"
#include "frontends/onnx/import/operator_schemas.h"
#include "frontends/onnx/import/search_graph.h"
#include "frontends/onnx/import/search_steps.h"
#include "frontends/onnx/read/dim_metadata.h"

namespace dyn::onnx {
namespace {

constexpr std::string_view kContribDomain = "com.microsoft";

std::string functionKey(Text domain, Text name) {
  return std::string(standardDomain(domain)) + ":" + std::string(name);
}

std::string nearestOperator(Text name) {
  std::vector<std::string_view> names;
  for (const MapRow& row : mapTable()) names.push_back(row.name);
  return suggestion(name, names);
}

// How to do without an operator that is not taken.
std::string adviceWithout(Text domain, Text name) {
  if (domain == "ai.onnx.ml") return "the standard has no such operator for features and models";
  if (domain == kContribDomain)
    return "this operator of onnxruntime's is not taken, though most are: export the model without it, or "
           "before onnxruntime's optimiser has written it";
  if (!domain.empty())
    return "no operator of this domain is known: define it in a text file (--ops FILE), give it as a "
           "function "
           "of the model, or write it in the standard's operators";
  const std::string near = schemasOf(domain, name).empty() ? nearestOperator(name) : "";
  return near.empty() ? "express the operator by others, or as a function of the model"
                      : "did you mean " + near + "?";
}

// A tensor (or list or optional of such) of a known element type and no shape at all.
bool isOpen(const ValueInfoProto& input) {
  if (input.type == nullptr || input.type->kind != TypeProto::Kind::tensor || input.type->hasShape)
    return false;
  for (const TypeWrapper& wrapper : input.type->wrappers)
    if (wrapper.kind == TypeWrapper::Kind::map) return false;
  return dtypeFromOnnx(input.type->elementType).has_value();
}

bool isMap(const ValueInfoProto& value) {
  return value.type != nullptr && !value.type->wrappers.empty() &&
         value.type->wrappers[0].kind == TypeWrapper::Kind::map;
}

TypeKind importKindOf(const TypeProto& type) {
  if (type.wrappers.empty()) return TypeKind::tensor;
  return type.wrappers[0].kind == TypeWrapper::Kind::sequence ? TypeKind::list : TypeKind::optional;
}

}  // namespace

std::string opLabel(const NodeProto& node) {
  const Text domain = standardDomain(node.domain);
  return domain.empty() ? std::string(node.opType) : std::string(domain) + "::" + std::string(node.opType);
}

GraphImporter::GraphImporter(IrContext& ir, const Model& model, const ImportOptions& options)
    : ir_(ir),
      model_(model),
      options_(options),
      tensors_(model, options.dataRoot),
      types_(ir),
      freeNames_(model),
      main_(ir, values_, nullptr, nullptr),
      operators_(options.operators),
      firstValue_(ir.valueCount()) {
  for (const FunctionProto& function : model.functions)
    functions_[functionKey(function.domain, function.name)].push_back(&function);
}

ImportResult GraphImporter::run() {
  result_.irVersion = model_.irVersion;
  result_.producer = std::string(model_.producerName);
  if (!model_.producerVersion.empty()) result_.producer += " " + std::string(model_.producerVersion);
  for (const StringPair& entry : model_.metadata) {
    if (entry.key == kRelationsKey) result_.dimRelations = std::string(entry.value);
    if (entry.key.starts_with(kRangeKey))
      result_.dimRanges.emplace_back(entry.key.substr(kRangeKey.size()), entry.value);
  }
  FileFaults faults = checkFile(model_);
  for (Diagnostic& error : faults.errors) report(std::move(error), {}, {});
  result_.warnings = std::move(faults.warnings);
  openMain();
  while (!frames_.empty() && !stopped_) {
    Frame& frame = frames_.back();
    if (frame.control) {
      if (frame.control->next < frame.control->graphs.size()) {
        openBody(frame);
      } else {
        closeControl(frame);
      }
    } else if (frame.next < frame.order.size()) {
      const NodeProto& node = frame.nodes[frame.order[frame.next++]];
      step(frame, node);
    } else if (frame.kind == Frame::Kind::body) {
      closeBody();
    } else if (frame.kind == Frame::Kind::function) {
      closeFunction();
    } else {
      closeMain();
    }
  }
  if (hiddenProblems_ != 0 && !result_.problems.empty()) {
    result_.problems.back().notes.push_back("and " + std::to_string(hiddenProblems_) +
                                            " more problems that are not listed");
  }
  return std::move(result_);
}

void GraphImporter::openMain() {
  frames_.emplace_back();
  Frame& frame = frames_.back();
  frame.builder = &main_;
  frame.graph = model_.graph;
  frame.nodes = model_.graph->nodes;
  auto environment = std::make_shared<FunctionEnvironment>();
  const SourceLocation place = model_.place(model_.graph->bytes);
  for (const OperatorSetId& set : model_.opsetImports)
    environment->opsets[std::string(standardDomain(set.domain))] = set.version;
  // Files of before operator sets had names use the first.
  if (model_.opsetImports.empty()) environment->opsets[""] = kOldestOpset;
  if (const auto standard = environment->opsets.find(""); standard != environment->opsets.end())
    result_.opset = standard->second;
  frame.environment = environment;

  addInitializers(frame, *model_.graph);
  for (const ValueInfoProto& input : model_.graph->inputs)
    if (input.type != nullptr) types_.learnNames(*input.type);
  for (const ValueInfoProto& input : model_.graph->inputs) {
    const SourceLocation at = model_.place(input.bytes);
    const std::string what = "input " + quotedText(input.name);
    const auto known = frame.scope.names.find(input.name);
    if (known != frame.scope.names.end() && known->second.kind == Binding::Kind::weight) {
      addDefault(known->second, input, at);
      continue;
    }
    Binding binding;
    if (const auto fixed = options_.fixedInputs.find(std::string(input.name));
        fixed != options_.fixedInputs.end()) {
      binding.kind = Binding::Kind::weight;
      binding.weight = std::make_shared<WeightBinding>();
      binding.weight->tensor = fixed->second;
      define(frame, input.name, binding, at);
      continue;
    }
    std::optional<int> rank;
    if (const auto given = options_.inputRanks.find(std::string(input.name));
        given != options_.inputRanks.end())
      rank = given->second;
    if (isMap(input)) {
      openMap(frame, input, at);
      continue;
    }
    if (isOpen(input) && !rank) {
      const std::optional<Dtype> dtype = dtypeFromOnnx(input.type->elementType);
      binding.value = main_.addParameter(input.name, dtype);
      if (define(frame, input.name, binding, at)) {
        result_.openInputs.push_back({result_.inputNames.size(), *dtype, importKindOf(*input.type)});
        result_.inputNames.emplace_back(input.name);
      }
      continue;
    }
    Result<Type> type = input.type == nullptr
                            ? Result<Type>(makeError(DiagnosticId::onnxInvalid, what + " has no type"))
                            : types_.import(*input.type, what, rank);
    if (!type.ok()) {
      report(type.error(), at, {});
      binding.kind = Binding::Kind::failed;
    } else {
      Type element = *type;
      while (element.kind() == TypeKind::list || element.kind() == TypeKind::optional)
        element = element.element();
      binding.value =
          main_.addParameter(input.name, element.dtype(), type->isTensor() ? type->rank() : -1, *type);
    }
    if (define(frame, input.name, binding, at)) result_.inputNames.emplace_back(input.name);
  }
  if (result_.openInputs.empty()) return orderFrame(frame);
  // What the operations mean depends on ranks: the body waits for them.
  result_.outputNames = outputNames();
  frames_.pop_back();
  if (!result_.problems.empty()) return;
  result_.module.context = &ir_;
  result_.module.functions.push_back(main_.finish("main", {}, place));
}

void GraphImporter::openMap(Frame& frame, const ValueInfoProto& input, const SourceLocation& place) {
  const std::string name(input.name);
  const std::optional<Dtype> keys = dtypeFromOnnx(input.type->wrappers[0].keyType),
                             values = dtypeFromOnnx(input.type->elementType);
  Binding binding;
  if (!keys || !values || input.type->wrappers.size() != 1 || input.type->kind != TypeProto::Kind::tensor) {
    report(DiagnosticId::unsupportedFeature,
           "input " + quotedText(name) + " is a map of other than numbers and strings", place);
    binding.kind = Binding::Kind::failed;
    define(frame, input.name, binding, place);
    return;
  }
  const Dim count = ir_.dims().symbol(name + ".size");
  std::vector<ValueId> parts;
  for (const auto& [part, dtype] : {std::pair(".keys", *keys), std::pair(".values", *values)}) {
    parts.push_back(main_.addParameter(name + part, dtype, 1, ir_.tensorType(Shape{count}, dtype)));
    result_.inputNames.push_back(name + part);
  }
  binding.value = main_.emit(ops::tupleOp, parts, {}, 1, place)[0];
  values_.at(binding.value).mapKeys = keys;
  values_.at(binding.value).dtype = values;
  define(frame, input.name, binding, place);
}

// An input whose initializer is its default: a constant, of another value where the options have one.
void GraphImporter::addDefault(Binding& binding, const ValueInfoProto& input, const SourceLocation& place) {
  const std::string name(input.name);
  if (const auto given = options_.fixedInputs.find(name); given != options_.fixedInputs.end())
    binding.weight->tensor = given->second;
  if (input.type == nullptr) return;
  Result<Type> type = types_.import(*input.type, "input " + quotedText(input.name), std::nullopt);
  if (type.ok())
    result_.defaultedInputs.push_back({name, *type});
  else
    report(type.error(), place, {});
}

void GraphImporter::addInitializers(Frame& frame, const GraphProto& graph) {
  for (const TensorProto& tensor : graph.initializers)
    addWeight(frame, tensor.name, {&tensor, nullptr, {}, {}}, tensor.bytes);
  for (const SparseTensorProto& tensor : graph.sparseInitializers)
    if (tensor.values != nullptr)
      addWeight(frame, tensor.values->name, {nullptr, &tensor, {}, {}}, tensor.bytes);
}

void GraphImporter::addWeight(Frame& frame, Text name, WeightBinding weight, Text bytes) {
  Binding binding;
  binding.kind = Binding::Kind::weight;
  binding.weight = std::make_shared<WeightBinding>(std::move(weight));
  define(frame, name, std::move(binding), model_.place(bytes));
}

void GraphImporter::orderFrame(Frame& frame) {
  size_t outputCount = 0;
  for (const NodeProto& node : frame.nodes) outputCount += node.outputs.size();
  frame.scope.names.reserve(frame.scope.names.size() + outputCount);
  NodeOrder order = orderNodes(frame.nodes, freeNames_);
  frame.order = std::move(order.order);
  if (order.cyclic.empty()) return;
  const NodeProto& first = frame.nodes[order.cyclic[0]];
  report(DiagnosticId::onnxInvalid,
         std::to_string(order.cyclic.size()) + " nodes wait for each other's values: the graph has a cycle",
         placeOf(frame, first), first.opType, "graphs are acyclic; use Loop for repetition");
  for (uint32_t i : order.cyclic) bindFailed(frame, frame.nodes[i]);
}

const FunctionProto* GraphImporter::findFunction(const NodeProto& node) const {
  const auto found = functions_.find(functionKey(node.domain, node.opType));
  if (found == functions_.end()) return nullptr;
  for (const FunctionProto* function : found->second)
    if (function->overload == node.overload) return function;
  return nullptr;
}

// Optimisers of onnxruntime wrote its own operators without importing their domain.
std::optional<int64_t> GraphImporter::versionOf(Frame& frame, const NodeProto& node) {
  const std::string domain(standardDomain(node.domain));
  const auto found = frame.environment->opsets.find(domain);
  if (found != frame.environment->opsets.end()) return found->second;
  if (domain == kContribDomain) {
    if (reportedOnce_.insert("domain " + domain).second)
      warn("operator domain " + quotedText(domain) + " is used but not imported: taken in version 1",
           placeOf(frame, node));
    return 1;
  }
  if (reportedOnce_.insert("domain " + domain).second) {
    report(DiagnosticId::onnxInvalid,
           domain.empty()
               ? std::string("operators of the standard are used, but its operator set is not imported")
               : "operator domain " + quotedText(domain) + " is used but not imported",
           placeOf(frame, node), node.opType, "add the domain to the model's opset_import");
  }
  return std::nullopt;
}

bool GraphImporter::hasForm(Frame& frame, const NodeProto& node, std::optional<Diagnostic> fault) {
  if (!fault) return true;
  report(*std::move(fault), placeOf(frame, node), node.opType);
  bindFailed(frame, node);
  return false;
}

void GraphImporter::step(Frame& frame, const NodeProto& node) {
  if (isProbe_ && nodeCount_ + 1 == stopAt_) {
    stopped_ = true;
    return;
  }
  if (++nodeCount_ > options_.maxNodes) {
    report(
        DiagnosticId::memoryLimit,
        "the model has more than " + std::to_string(options_.maxNodes) + " nodes with its functions expanded",
        placeOf(frame, node), node.opType);
    stopped_ = true;
    return;
  }
  ++result_.opCounts[opLabel(node)];
  if (!hasForm(frame, node, attributeNameFault(node))) return;
  if (definesOperator(node)) return expandOperator(frame, node);
  std::optional<int64_t> version = versionOf(frame, node);
  if (!version) return bindFailed(frame, node);
  if (const FunctionProto* function = findFunction(node)) return openFunction(frame, node, *function);
  const Text domain = standardDomain(node.domain);
  if (*version >= 1 && !hasForm(frame, node, formFault(node, domain, *version))) return;
  if (const std::optional<int64_t> later = takenEarlyAs(domain, node.opType, *version)) {
    if (reportedOnce_.insert("early " + opLabel(node)).second)
      warn("operator " + opLabel(node) + " is newer than the operator set " + std::to_string(*version) +
               ": taken as that of " + std::to_string(*later),
           placeOf(frame, node));
    version = later;
  }
  if (isDeprecated(domain, node.opType, *version) &&
      reportedOnce_.insert("deprecated " + opLabel(node)).second)
    warn("operator " + opLabel(node) + " is out of use in operator set " + std::to_string(*version),
         placeOf(frame, node));
  if (domain.empty() && node.opType == "Scan" && *version < 9) return openBatchedScan(frame, node);
  if (isControlOperator(domain, node.opType)) return openControl(frame, node);
  if (isSearchOperator(domain, node.opType)) return openSearch(frame, node);
  const MapRow* row = findMapRow(domain, node.opType);
  if (row != nullptr) return mapNode(frame, node, *row, *version);
  if (node.opType.empty()) {
    report(DiagnosticId::onnxInvalid, "a node has no operator", placeOf(frame, node));
  } else {
    report(DiagnosticId::unsupportedOp, "operator " + opLabel(node) + " is not supported",
           placeOf(frame, node), node.opType, adviceWithout(domain, node.opType));
  }
  bindFailed(frame, node);
}

void GraphImporter::mapNode(Frame& frame, const NodeProto& node, const MapRow& row, int64_t version) {
  std::optional<std::vector<ValueId>> inputs = resolveInputs(frame, node);
  if (!inputs) return bindFailed(frame, node);
  const SourceLocation place = placeOf(frame, node);
  for (ValueId& value : *inputs) value = frame.builder->localize(value);
  MapContext c = contextOf(frame, node, *std::move(inputs), version, place);
  runMapRow(row, c);
  if (c.failed()) {
    report(c.failure(), place, node.opType);
    return bindFailed(frame, node);
  }
  for (const std::string& message : c.warnings()) warn(message, place);
  if (c.draws()) result_.randomNodes.push_back(place);
  for (size_t i = 0; i != node.outputs.size(); ++i) {
    if (c.outputs()[i] != kNoValue || node.outputs[i].empty()) {
      bindOutput(frame, node, i, c.outputs()[i]);
      continue;
    }
    // Optimisers name outputs that nobody reads: a fault for readers only.
    Binding binding;
    binding.kind = Binding::Kind::absent;
    binding.node = &node;
    binding.output = static_cast<uint32_t>(i);
    define(frame, node.outputs[i], std::move(binding), place);
  }
}

void GraphImporter::openFunction(Frame& frame, const NodeProto& node, const FunctionProto& function,
                                 bool seesAround) {
  const SourceLocation place = placeOf(frame, node);
  for (const FunctionEnvironment* at = frame.environment.get(); at != nullptr; at = at->caller.get()) {
    if (at->function != &function) continue;
    report(DiagnosticId::onnxInvalid, "function " + opLabel(node) + " calls itself", place, node.opType,
           "functions of a model may not be recursive");
    return bindFailed(frame, node);
  }
  std::optional<std::vector<ValueId>> inputs = resolveInputs(frame, node);
  if (!inputs) return bindFailed(frame, node);
  if (inputs->size() > function.inputs.size()) {
    report(DiagnosticId::badOperands,
           std::to_string(inputs->size()) + " inputs for function " + opLabel(node) + ", which has " +
               std::to_string(function.inputs.size()),
           place, node.opType);
    return bindFailed(frame, node);
  }
  auto environment = std::make_shared<FunctionEnvironment>();
  environment->function = &function;
  environment->caller = frame.environment;
  environment->path = frame.environment->path +
                      (node.name.empty() ? std::string(node.opType) : std::string(node.name)) + " / ";
  for (const OperatorSetId& set : function.opsetImports)
    environment->opsets[std::string(standardDomain(set.domain))] = set.version;
  for (const AttributeProto& fallback : function.attributeDefaults)
    environment->attributes[std::string(fallback.name)] = &fallback;
  for (const AttributeProto& given : node.attributes) {
    const AttributeProto* value = &given;
    if (!given.refName.empty()) {
      const auto outer = frame.environment->attributes.find(given.refName);
      if (outer == frame.environment->attributes.end()) continue;
      value = outer->second;
    }
    environment->attributes[std::string(given.name)] = value;
  }

  FunctionBuilder* builder = frame.builder;
  frames_.emplace_back();
  Frame& inner = frames_.back();
  inner.kind = Frame::Kind::function;
  inner.builder = builder;
  if (seesAround) inner.scope.outer = &frame.scope;
  inner.environment = std::move(environment);
  inner.nodes = function.nodes;
  inner.callNode = &node;
  for (size_t i = 0; i != function.inputs.size(); ++i) {
    Binding binding;
    binding.value = i < inputs->size() ? (*inputs)[i] : kNoValue;
    if (binding.value == kNoValue) binding.kind = Binding::Kind::leftOut;
    define(inner, function.inputs[i], binding, place);
  }
  orderFrame(inner);
}

std::vector<OperatorSetId> GraphImporter::opsetsOf(const Frame& frame) const {
  std::vector<OperatorSetId> opsets;
  for (const auto& [domain, version] : frame.environment->opsets) opsets.push_back({domain, version});
  return opsets;
}

void GraphImporter::openWritten(Frame& frame, const NodeProto& node,
                                Result<std::shared_ptr<WrittenGraph>> graph, std::string_view stepName,
                                Result<text::OperatorFile> (*steps)()) {
  if (!graph.ok()) {
    report(graph.error(), placeOf(frame, node), node.opType);
    return bindFailed(frame, node);
  }
  const bool isKnown = std::any_of(operators_.begin(), operators_.end(),
                                   [&](const auto& file) { return file->defines(std::string(stepName)); });
  if (!isKnown) {
    Result<text::OperatorFile> file = steps();
    if (!file.ok()) return report(file.error(), placeOf(frame, node), node.opType);
    operators_.push_back(std::make_shared<const text::OperatorFile>(*std::move(file)));
  }
  written_.push_back(*std::move(graph));
  openFunction(frame, node, written_.back()->function, true);
}

void GraphImporter::openSearch(Frame& frame, const NodeProto& node) {
  openWritten(frame, node, searchGraph(node, opsetsOf(frame)), "dyn.search::Mask", searchSteps);
}

void GraphImporter::openBatchedScan(Frame& frame, const NodeProto& node) {
  openWritten(frame, node, batchedScan(node, opsetsOf(frame), written_.size()), "dyn.scan::Taken",
              batchedScanSteps);
}

void GraphImporter::closeFunction() {
  Frame& inner = frames_.back();
  const NodeProto& node = *inner.callNode;
  const FunctionProto& function = *inner.environment->function;
  Frame& frame = frames_[frames_.size() - 2];
  const SourceLocation place = placeOf(frame, node);
  for (size_t i = 0; i != node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    std::optional<ValueId> value;
    if (i < function.outputs.size()) {
      value = resolve(inner, function.outputs[i], place, node.opType);
    } else {
      report(DiagnosticId::badOperands, "function " + opLabel(node) + " has no output " + std::to_string(i),
             place, node.opType);
    }
    if (value) {
      bindOutput(frame, node, i, *value);
    } else {
      Binding failed;
      failed.kind = Binding::Kind::failed;
      frame.scope.names.emplace(node.outputs[i], failed);
    }
  }
  frames_.pop_back();
}

// As written; a value that is listed again is `y.2`, so that each output has a name of its own.
std::vector<std::string> GraphImporter::outputNames() const {
  std::unordered_set<std::string> written, taken;
  for (const ValueInfoProto& output : model_.graph->outputs) written.emplace(output.name);
  std::vector<std::string> names;
  for (const ValueInfoProto& output : model_.graph->outputs) {
    std::string name(output.name);
    for (int again = 2; !taken.insert(name).second; ++again) {
      name = std::string(output.name) + "." + std::to_string(again);
      if (written.count(name) != 0) name = std::string(output.name);
    }
    names.push_back(std::move(name));
  }
  return names;
}

void GraphImporter::closeMain() {
  Frame& frame = frames_.back();
  const std::vector<std::string> names = outputNames();
  std::vector<ValueId> results;
  std::vector<std::pair<std::string, ValueId>> keysOfMaps;
  for (size_t i = 0; i != names.size(); ++i) {
    const ValueInfoProto& output = model_.graph->outputs[i];
    const SourceLocation place = model_.place(output.bytes);
    if (output.name.empty()) {
      report(DiagnosticId::onnxInvalid, "output " + std::to_string(i) + " has no name", place);
      continue;
    }
    const std::optional<ValueId> value = resolve(frame, output.name, place, {});
    if (value && values_.at(*value).isMap()) {
      const auto part = [&](int64_t index) {
        return main_.emit(ops::tuple_getOp, {*value}, {{"index", index}}, 1, place)[0];
      };
      results.push_back(part(1));
      keysOfMaps.emplace_back(names[i] + ".keys", part(0));
    } else if (value) {
      results.push_back(main_.localize(*value));
    }
    result_.outputNames.push_back(names[i]);
    result_.declaredOutputs.push_back(declaredOutput(output, place));
  }
  SourceLocation place = model_.place(model_.graph->bytes);
  for (const auto& [name, keys] : keysOfMaps) {
    if (std::find(names.begin(), names.end(), name) != names.end())
      report(DiagnosticId::unsupportedFeature,
             "output " + quotedText(name) + " has the name that the keys of a map take", place);
    results.push_back(keys);
    result_.outputNames.push_back(name);
    result_.declaredOutputs.push_back({.name = name, .place = place});
  }
  if (model_.graph->outputs.empty()) report(DiagnosticId::onnxInvalid, "the model has no outputs", place);
  if (options_.listValues)
    for (const auto& [name, binding] : frame.scope.names)
      if (binding.kind == Binding::Kind::value) result_.values.emplace_back(std::string(name), binding.value);
  frames_.pop_back();
  if (!result_.problems.empty()) return;
  result_.module = moduleOf(main_.finish("main", std::move(results), place));
}

}  // namespace dyn::onnx
