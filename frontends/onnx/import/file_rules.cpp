#include "frontends/onnx/import/file_rules.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory_resource>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "frontends/onnx/import/importer.h"
#include "frontends/onnx/import/search_graph.h"
#include "frontends/onnx/read/onnx_tensor.h"
#include "frontends/onnx/read/wire_reader.h"

namespace dyn::onnx {

// What one rule finds.
class FaultList {
 public:
  FaultList(const Model& model, const FileRule& rule, FileFaults& faults)
      : model_(model), rule_(rule), faults_(faults) {}

  void add(std::string message, Text bytes) { add(std::move(message), model_.place(bytes)); }
  void add(std::string message, const SourceLocation& place) {
    if (++count_ > kMost) return;
    Diagnostic fault;
    fault.id = rule_.kind;
    fault.message = std::move(message);
    fault.place = place;
    const bool warns = rule_.kind == DiagnosticId::warning;
    if (warns) fault.severity = Severity::warning;
    fault.notes.push_back("rule " + std::string(rule_.id) + ": " + std::string(rule_.forbids));
    (warns ? faults_.warnings : faults_.errors).push_back(std::move(fault));
  }
  void sayHowMany() {
    if (count_ <= kMost) return;
    std::vector<Diagnostic>& list = rule_.kind == DiagnosticId::warning ? faults_.warnings : faults_.errors;
    list.back().notes.push_back("and " + std::to_string(count_ - kMost) + " more of this kind");
  }

 private:
  static constexpr size_t kMost = 5;
  const Model& model_;
  const FileRule& rule_;
  FileFaults& faults_;
  size_t count_ = 0;
};

namespace {

std::string domainText(Text domain) {
  return standardDomain(domain).empty() ? "the standard's operator set" : "domain " + quotedText(domain);
}

// `check(imports, place)` for the model and for each function.
template <typename Check>
void forEachImports(const FileGraphs& file, Check check) {
  check(file.model.opsetImports, file.model.graph->bytes);
  for (const FunctionProto& function : file.model.functions) check(function.opsetImports, function.bytes);
}

// --- versions

void findMissingIrVersion(const FileGraphs& file, FaultList& faults) {
  if (file.model.irVersion < 1) faults.add("the file has no IR version", file.model.graph->bytes);
}

void findNewerIrVersion(const FileGraphs& file, FaultList& faults) {
  if (file.model.irVersion > kNewestIrVersion)
    faults.add("IR version " + std::to_string(file.model.irVersion) +
                   " is unknown: " + std::to_string(kNewestIrVersion) + " is the newest known",
               file.model.graph->bytes);
}

void findMissingOpsets(const FileGraphs& file, FaultList& faults) {
  if (file.model.opsetImports.empty() && (file.model.irVersion < 1 || file.model.irVersion >= 3))
    faults.add("the model names no operator set", file.model.graph->bytes);
}

void findOpsetsTooEarly(const FileGraphs& file, FaultList& faults) {
  if (!file.model.opsetImports.empty() && (file.model.irVersion == 1 || file.model.irVersion == 2))
    faults.add("IR version " + std::to_string(file.model.irVersion) + " has no operator sets",
               file.model.graph->bytes);
}

void findOpsetBelowOne(const FileGraphs& file, FaultList& faults) {
  forEachImports(file, [&](std::span<const OperatorSetId> sets, Text bytes) {
    for (const OperatorSetId& set : sets)
      if (standardDomain(set.domain).empty() && set.version < kOldestOpset)
        faults.add("operator set " + std::to_string(set.version) + " is imported", bytes);
  });
}

void findForeignOpsetBelowOne(const FileGraphs& file, FaultList& faults) {
  forEachImports(file, [&](std::span<const OperatorSetId> sets, Text bytes) {
    for (const OperatorSetId& set : sets)
      if (!standardDomain(set.domain).empty() && set.version < 1)
        faults.add(domainText(set.domain) + " is imported in version " + std::to_string(set.version), bytes);
  });
}

void findNewerOpset(const FileGraphs& file, FaultList& faults) {
  forEachImports(file, [&](std::span<const OperatorSetId> sets, Text bytes) {
    for (const OperatorSetId& set : sets)
      if (standardDomain(set.domain).empty() && set.version > kNewestOpset)
        faults.add("operator set " + std::to_string(set.version) +
                       " is unknown: " + std::to_string(kOldestOpset) + " to " +
                       std::to_string(kNewestOpset) + " are; the ONNX version converter makes one of these",
                   bytes);
  });
}

enum class Repetition : uint8_t { same, other };
void findOpsetsTwice(const FileGraphs& file, FaultList& faults, Repetition wanted) {
  forEachImports(file, [&](std::span<const OperatorSetId> sets, Text bytes) {
    std::map<Text, int64_t> known;
    for (const OperatorSetId& set : sets) {
      const auto [first, fresh] = known.try_emplace(standardDomain(set.domain), set.version);
      if (fresh || (first->second == set.version) != (wanted == Repetition::same)) continue;
      faults.add(domainText(set.domain) + " is imported twice, in version " + std::to_string(first->second) +
                     " and in version " + std::to_string(set.version),
                 bytes);
    }
  });
}
void findOpsetTwice(const FileGraphs& file, FaultList& faults) {
  findOpsetsTwice(file, faults, Repetition::other);
}
void findOpsetRepeated(const FileGraphs& file, FaultList& faults) {
  findOpsetsTwice(file, faults, Repetition::same);
}

// --- names and types of values

void findUnnamedGraph(const FileGraphs& file, FaultList& faults) {
  for (const GraphProto* graph : file.graphs)
    if (graph->name.empty()) faults.add("a graph has no name", graph->bytes);
}

void findUnnamedInputs(const FileGraphs& file, FaultList& faults) {
  for (const GraphProto* graph : file.graphs)
    for (const ValueInfoProto& input : graph->inputs)
      if (input.name.empty()) faults.add("an input has no name", input.bytes);
}

template <typename IsFault>
void findDims(const FileGraphs& file, FaultList& faults, IsFault isFault) {
  for (const ValueInfoProto& input : file.model.graph->inputs) {
    if (input.type == nullptr) continue;
    for (size_t axis = 0; axis < input.type->shape.size(); ++axis) {
      const Dimension& dim = input.type->shape[axis];
      if (dim.kind == Dimension::Kind::value && isFault(dim.value))
        faults.add("input " + quotedText(input.name) + ": dim " + std::to_string(axis) + " is declared as " +
                       std::to_string(dim.value),
                   input.bytes);
    }
  }
}
void findNegativeDims(const FileGraphs& file, FaultList& faults) {
  findDims(file, faults, [](int64_t size) { return size < -1; });
}
void findMinusOne(const FileGraphs& file, FaultList& faults) {
  findDims(file, faults, [](int64_t size) { return size == -1; });
}

void findUntypedOutputs(const FileGraphs& file, FaultList& faults) {
  for (const ValueInfoProto& output : file.model.graph->outputs)
    if (output.type == nullptr)
      faults.add("output " + quotedText(output.name) + " has no type; it gets the one that follows",
                 output.bytes);
}

void findRepeatedOutputs(const FileGraphs& file, FaultList& faults) {
  std::unordered_set<Text> known;
  for (const ValueInfoProto& output : file.model.graph->outputs)
    if (!output.name.empty() && !known.insert(output.name).second)
      faults.add(
          "output " + quotedText(output.name) + " is listed twice; the second gets a number after its name",
          output.bytes);
}

// --- initializers

template <typename Check>
void forEachInitializer(const FileGraphs& file, Check check) {
  for (const GraphProto* graph : file.graphs) {
    for (const TensorProto& tensor : graph->initializers) check(tensor.name, tensor.dims, tensor.bytes);
    for (const SparseTensorProto& tensor : graph->sparseInitializers)
      if (tensor.values != nullptr) check(tensor.values->name, tensor.dims, tensor.bytes);
  }
}

void findUnnamedInitializers(const FileGraphs& file, FaultList& faults) {
  forEachInitializer(file, [&](Text name, std::span<const int64_t>, Text bytes) {
    if (name.empty()) faults.add("an initializer has no name", bytes);
  });
}

void findNegativeInitializers(const FileGraphs& file, FaultList& faults) {
  forEachInitializer(file, [&](Text name, std::span<const int64_t> dims, Text bytes) {
    for (int64_t size : dims)
      if (size < 0) {
        faults.add("initializer " + quotedText(name) + " has a dim of " + std::to_string(size), bytes);
        break;
      }
  });
}

// Bytes of raw data that these dims need; nullopt: not to be told here.
std::optional<uint64_t> rawBytes(const TensorProto& tensor) {
  uint64_t bits = fileBits(tensor.dataType);
  if (bits == 0) return std::nullopt;
  for (int64_t size : tensor.dims) {
    if (size < 0 || (size > 0 && bits > (uint64_t{1} << 62) / static_cast<uint64_t>(size)))
      return std::nullopt;
    bits *= static_cast<uint64_t>(size);
  }
  return (bits + 7) / 8;
}

// Those that something reads are looked at in full while importing.
void findWrongSizes(const FileGraphs& file, FaultList& faults) {
  for (const GraphProto* graph : file.graphs)
    for (const TensorProto& tensor : graph->initializers) {
      if ((tensor.present & TensorProto::kRawData) == 0) continue;
      const std::optional<uint64_t> wanted = rawBytes(tensor);
      if (wanted && *wanted != tensor.rawData.size())
        faults.add("initializer " + quotedText(tensor.name) + " has " +
                       std::to_string(tensor.rawData.size()) + " bytes of data, its dims need " +
                       std::to_string(*wanted),
                   tensor.bytes);
    }
}

void findInitializersWithoutInput(const FileGraphs& file, FaultList& faults) {
  if (file.model.irVersion < 1 || file.model.irVersion > 3) return;
  std::unordered_set<Text> inputs;
  for (const ValueInfoProto& input : file.model.graph->inputs) inputs.insert(input.name);
  for (const TensorProto& tensor : file.model.graph->initializers)
    if (inputs.count(tensor.name) == 0)
      faults.add("initializer " + quotedText(tensor.name) + " is not an input of the graph", tensor.bytes);
}

// --- nodes

void findUnsortedIn(std::span<const NodeProto> nodes, const FileGraphs& file, FaultList& faults) {
  std::pmr::monotonic_buffer_resource memory;
  std::pmr::unordered_map<Text, size_t> makers(&memory);
  makers.reserve(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i)
    for (Text name : nodes[i].outputs)
      if (!name.empty()) makers.try_emplace(name, i);
  for (size_t i = 0; i < nodes.size(); ++i)
    for (Text name : nodes[i].inputs)
      if (const auto maker = makers.find(name); maker != makers.end() && maker->second > i) {
        faults.add("value " + quotedText(name) + " is used before the node that makes it",
                   file.model.place(nodes[i]));
        break;
      }
}
void findUnsorted(const FileGraphs& file, FaultList& faults) {
  for (const GraphProto* graph : file.graphs) findUnsortedIn(graph->nodes, file, faults);
  for (const FunctionProto& function : file.model.functions) findUnsortedIn(function.nodes, file, faults);
}

// Each once.
std::vector<Text> namesMadeIn(const GraphProto& graph) {
  std::vector<Text> names;
  std::pmr::monotonic_buffer_resource memory;
  std::pmr::unordered_set<Text> known({Text()}, graph.nodes.size(), &memory);
  const auto add = [&](Text name) {
    if (known.insert(name).second) names.push_back(name);
  };
  for (const ValueInfoProto& input : graph.inputs) add(input.name);
  for (const TensorProto& tensor : graph.initializers) add(tensor.name);
  for (const NodeProto& node : graph.nodes)
    for (Text name : node.outputs) add(name);
  return names;
}

// A walk from the outside in: a body may read what the graphs around it have made before its node.
class LateReads {
 public:
  LateReads(const FileGraphs& file, FaultList& faults) : file_(file), faults_(faults) {}

  void find() {
    std::vector<Step> steps{{file_.model.graph, 0, 0, false}};
    while (!steps.empty()) {
      const Step step = steps.back();
      steps.pop_back();
      if (step.leaves) {
        for (Text name : namesMadeIn(*step.graph)) makers_[name].pop_back();
        continue;
      }
      enter(step);
      steps.push_back({step.graph, step.depth, 0, true});
      for (size_t i = 0; i < step.graph->nodes.size(); ++i)
        for (const AttributeProto& attribute : step.graph->nodes[i].attributes)
          for (const GraphProto& body : attribute.graphs())
            steps.push_back({&body, step.depth + 1, i, false});
    }
  }

 private:
  struct Step {
    const GraphProto* graph;
    size_t depth, node;  // the body is one of this node of the graph around it
    bool leaves;
  };
  struct Maker {
    size_t depth, node;
  };

  void enter(const Step& step) {
    path_.resize(step.depth);
    if (step.depth > 0) path_.back() = step.node;
    for (Text name : namesMadeIn(*step.graph)) makers_[name].push_back({step.depth, 0});
    for (size_t i = 0; i < step.graph->nodes.size(); ++i)
      for (Text name : step.graph->nodes[i].outputs)
        if (!name.empty()) makers_[name].back().node = i;
    for (const NodeProto& node : step.graph->nodes)
      for (Text name : node.inputs) {
        const auto found = makers_.find(name);
        if (name.empty() || found == makers_.end() || found->second.empty()) continue;
        const Maker& maker = found->second.back();
        if (maker.depth < step.depth && maker.node > path_[maker.depth])
          faults_.add("a body reads value " + quotedText(name) + " before the graph around it makes it",
                      file_.model.place(node));
      }
  }

  const FileGraphs& file_;
  FaultList& faults_;
  std::unordered_map<Text, std::vector<Maker>> makers_;
  std::vector<size_t> path_;  // of each graph around: the node whose body is looked at
};
void findLateReads(const FileGraphs& file, FaultList& faults) {
  if (file.graphs.size() > 1) LateReads(file, faults).find();
}

// A walk from the outside in that knows the names of all graphs around. The decoder of a search is a graph of
// its own, whose inputs are called as those of the model.
void findShadowed(const FileGraphs& file, FaultList& faults) {
  if (file.graphs.size() == 1) return;  // no bodies
  struct Step {
    const GraphProto* graph;
    bool leaves, isDecoder;
  };
  std::vector<Step> steps{{file.model.graph, false, false}};
  std::unordered_map<Text, int> around;
  while (!steps.empty()) {
    const Step step = steps.back();
    steps.pop_back();
    for (Text name : namesMadeIn(*step.graph)) {
      int& count = around[name];
      if (!step.leaves && !step.isDecoder && count > 0)
        faults.add("value " + quotedText(name) + " of a body has the name of one around it",
                   step.graph->bytes);
      count += step.leaves ? -1 : 1;
    }
    if (step.leaves) continue;
    steps.push_back({step.graph, true, false});
    for (const NodeProto& node : step.graph->nodes)
      for (const AttributeProto& attribute : node.attributes)
        for (const GraphProto& body : attribute.graphs())
          steps.push_back({&body, false, isSearchOperator(node.domain, node.opType)});
  }
}

// Operators that take what they do along each of a list of axes: the standard leaves open what an axis means
// that is there twice.
struct AxesOperand {
  std::string_view op;
  size_t input;  // that holds them; kByAttribute: the attribute "axes" alone
};
constexpr size_t kByAttribute = SIZE_MAX;
constexpr AxesOperand kAxesOperands[] = {
    {"Slice", 3}, {"Pad", 3}, {"Resize", kByAttribute}, {"CenterCropPad", kByAttribute}};

std::vector<int64_t> axesIn(const TensorProto& tensor, const Model& model) {
  constexpr int64_t kMostAxes = 64;
  const bool whole = tensor.dataType == kInt32 || tensor.dataType == kInt64;
  if (!whole || tensor.dims.size() != 1 || tensor.dims[0] > kMostAxes) return {};
  const Result<DecodedTensor> decoded = decodeTensor(tensor, model.source);
  std::vector<int64_t> axes;
  for (int64_t i = 0; decoded.ok() && i < decoded->elementCount; ++i) {
    int32_t narrow = 0;
    int64_t wide = 0;
    if (tensor.dataType == kInt32)
      std::memcpy(&narrow, decoded->data + 4 * i, sizeof narrow);
    else
      std::memcpy(&wide, decoded->data + 8 * i, sizeof wide);
    axes.push_back(tensor.dataType == kInt32 ? narrow : wide);
  }
  return axes;
}

void findRepeatedAxesIn(std::span<const NodeProto> nodes, std::span<const TensorProto> initializers,
                        const Model& model, FaultList& faults) {
  std::unordered_map<Text, const TensorProto*> constants;
  for (const TensorProto& tensor : initializers) constants[tensor.name] = &tensor;
  for (const NodeProto& node : nodes)
    if (const AttributeProto* value = node.opType == "Constant" ? node.attribute("value") : nullptr;
        value && !value->tensors().empty() && !node.outputs.empty())
      constants[node.outputs[0]] = &value->tensors()[0];
  for (const NodeProto& node : nodes) {
    if (!standardDomain(node.domain).empty()) continue;
    for (const AxesOperand& row : kAxesOperands) {
      if (node.opType != row.op) continue;
      std::vector<int64_t> axes;
      if (const AttributeProto* attribute = node.attribute("axes"))
        axes.assign(attribute->ints().begin(), attribute->ints().end());
      const bool byInput = row.input != kByAttribute && row.input < node.inputs.size();
      if (const auto found = byInput ? constants.find(node.inputs[row.input]) : constants.end();
          found != constants.end())
        axes = axesIn(*found->second, model);
      std::sort(axes.begin(), axes.end());
      const auto twice = std::adjacent_find(axes.begin(), axes.end());
      if (twice != axes.end())
        faults.add("node " + node.describe() + " has axis " + std::to_string(*twice) + " twice", node.bytes);
    }
  }
}

void findRepeatedAxes(const FileGraphs& file, FaultList& faults) {
  for (const GraphProto* graph : file.graphs)
    findRepeatedAxesIn(graph->nodes, graph->initializers, file.model, faults);
  for (const FunctionProto& function : file.model.functions)
    findRepeatedAxesIn(function.nodes, {}, file.model, faults);
}

// --- functions and metadata

std::string functionName(const FunctionProto& function) {
  return std::string(function.domain) + "::" + std::string(function.name) +
         (function.overload.empty() ? "" : ":" + std::string(function.overload));
}

void findUnnamedFunctions(const FileGraphs& file, FaultList& faults) {
  for (const FunctionProto& function : file.model.functions)
    if (function.name.empty()) faults.add("a function has no name", function.bytes);
}

void findFunctionsTwice(const FileGraphs& file, FaultList& faults) {
  std::unordered_set<std::string> known;
  for (const FunctionProto& function : file.model.functions)
    if (!known.insert(functionName(function)).second)
      faults.add("function " + functionName(function) + " is there twice", function.bytes);
}

// Functions that a node calls are looked at while importing.
void findDomainsOfUncalled(const FileGraphs& file, FaultList& faults) {
  std::unordered_set<std::string> called;
  const auto call = [&](std::span<const NodeProto> nodes) {
    for (const NodeProto& node : nodes)
      called.insert(std::string(node.domain) + "::" + std::string(node.opType));
  };
  for (const GraphProto* graph : file.graphs) call(graph->nodes);
  for (const FunctionProto& function : file.model.functions) call(function.nodes);
  for (const FunctionProto& function : file.model.functions) {
    if (called.count(std::string(function.domain) + "::" + std::string(function.name))) continue;
    std::unordered_set<Text> known;
    for (const OperatorSetId& set : function.opsetImports) known.insert(standardDomain(set.domain));
    for (const NodeProto& node : function.nodes)
      if (known.insert(standardDomain(node.domain)).second)
        faults.add("function " + functionName(function) + " uses " + domainText(node.domain) +
                       " and does not import it",
                   node.bytes);
  }
}

void findRepeatedNames(const FileGraphs& file, FaultList& faults) {
  for (const FunctionProto& function : file.model.functions)
    for (std::span<const Text> list : {function.inputs, function.outputs, function.attributes}) {
      std::unordered_set<Text> known;
      for (Text name : list)
        if (!known.insert(name).second)
          faults.add("function " + functionName(function) + " lists " + quotedText(name) + " twice",
                     function.bytes);
    }
}

void findRepeatedMetadata(const FileGraphs& file, FaultList& faults) {
  std::unordered_set<Text> known;
  for (const StringPair& property : file.model.metadata)
    if (!known.insert(property.key).second)
      faults.add("metadata has the key " + quotedText(property.key) + " twice", file.model.graph->bytes);
}

constexpr DiagnosticId kError = DiagnosticId::onnxInvalid, kUnsupported = DiagnosticId::unsupportedFeature,
                       kWarning = DiagnosticId::warning;

constexpr FileRule kRules[] = {
    {"ir-version-missing", "a file without IR version", kWarning, findMissingIrVersion},
    {"ir-version-newer", "an IR version that is not known yet", kUnsupported, findNewerIrVersion},
    {"opset-missing", "a model that imports no operator set (from IR version 3 on)", kError,
     findMissingOpsets},
    {"opset-too-early", "operator sets in a file of an IR version without operator sets", kWarning,
     findOpsetsTooEarly},
    {"opset-below-1", "an operator set of the standard below 1", kError, findOpsetBelowOne},
    {"opset-newer", "an operator set that is not known yet", kUnsupported, findNewerOpset},
    {"opset-twice", "one domain in two versions", kError, findOpsetTwice},
    {"opset-repeated", "one domain imported twice in the same version", kWarning, findOpsetRepeated},
    {"domain-below-1", "a version below 1 of another domain", kWarning, findForeignOpsetBelowOne},
    {"domain-not-imported", "an operator of a domain that is not imported", kError},
    {"contrib-not-imported", "an operator of com.microsoft where that is not imported", kWarning},
    {"graph-unnamed", "a graph without name", kWarning, findUnnamedGraph},
    {"input-unnamed", "an input without name", kError, findUnnamedInputs},
    {"output-unnamed", "an output without name", kError},
    {"output-twice", "a value that is listed twice as an output", kWarning, findRepeatedOutputs},
    {"output-untyped", "an output without a type", kWarning, findUntypedOutputs},
    {"dim-negative", "an input with a dim below -1", kError, findNegativeDims},
    {"dim-minus-one", "a dim of -1 where an unknown one is meant", kWarning, findMinusOne},
    {"initializer-unnamed", "an initializer without name", kError, findUnnamedInitializers},
    {"initializer-negative", "an initializer with a negative dim", kError, findNegativeInitializers},
    {"initializer-size", "an initializer whose data are not those of its dims", kError, findWrongSizes},
    {"sparse-places", "a sparse initializer with two values at one place, or places of another form", kError},
    {"initializer-no-input", "an initializer that is not an input, before IR version 4", kWarning,
     findInitializersWithoutInput},
    {"value-twice", "two values of one name in a graph", kError},
    {"value-shadowed", "a value in a body with the name of one around it", kWarning, findShadowed},
    {"value-undefined", "a name that nothing defines", kError},
    {"nodes-unsorted", "a node before those whose results it uses", kWarning, findUnsorted},
    {"body-early", "a body before the nodes around it whose results it uses", kWarning, findLateReads},
    {"nodes-cyclic", "nodes that wait for each other", kError},
    {"axis-twice", "an axis that a Slice, Pad, Resize or CenterCropPad lists twice", kError,
     findRepeatedAxes},
    {"operator-newer", "an operator that is newer than the imported operator set", kError},
    {"operator-early", "an operator that is newer than the operator set, but not for onnxruntime", kWarning},
    {"operator-old", "an operator that is out of use in the imported operator set", kWarning},
    {"function-unnamed", "a function without name", kError, findUnnamedFunctions},
    {"function-twice", "two functions of one domain, name and overload", kError, findFunctionsTwice},
    {"function-names", "an input, output or attribute that a function lists twice", kError,
     findRepeatedNames},
    {"function-domain", "an uncalled function that uses an operator of a domain it does not import", kWarning,
     findDomainsOfUncalled},
    {"function-recursive", "a function that calls itself", kError},
    {"metadata-twice", "a metadata key that is there twice", kWarning, findRepeatedMetadata},
    {"output-dtype", "an output declared with another element type than it has", kError},
    {"output-shape", "an output declared with another rank or dim than it has", kWarning},
};

// Bodies inside of nodes, without recursion: they may be nested deep.
std::vector<const GraphProto*> graphsOf(const Model& model) {
  std::vector<const GraphProto*> graphs{model.graph};
  const auto addBodies = [&](std::span<const NodeProto> nodes) {
    for (const NodeProto& node : nodes)
      for (const AttributeProto& attribute : node.attributes)
        for (const GraphProto& body : attribute.graphs()) graphs.push_back(&body);
  };
  for (const FunctionProto& function : model.functions) addBodies(function.nodes);
  for (size_t i = 0; i < graphs.size(); ++i) addBodies(graphs[i]->nodes);
  return graphs;
}

}  // namespace

std::span<const FileRule> fileRules() { return kRules; }

FileFaults checkFile(const Model& model) {
  const FileGraphs file{model, graphsOf(model)};
  FileFaults faults;
  for (const FileRule& rule : kRules) {
    if (rule.check == nullptr) continue;
    FaultList list(model, rule, faults);
    rule.check(file, list);
    list.sayHowMany();
  }
  return faults;
}

}  // namespace dyn::onnx
