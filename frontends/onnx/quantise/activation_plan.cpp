#include "frontends/onnx/quantise/activation_plan.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "frontends/onnx/read/onnx_tensor.h"

namespace dyn::onnx {
namespace {

// Functions of elements: a result element needs those of the same place only, and constants.
constexpr auto kElementwise = std::to_array<std::string_view>({"Abs",
                                                               "Add",
                                                               "BatchNormalization",
                                                               "Celu",
                                                               "Clip",
                                                               "Div",
                                                               "Elu",
                                                               "Erf",
                                                               "Gelu",
                                                               "HardSigmoid",
                                                               "HardSwish",
                                                               "LeakyRelu",
                                                               "Max",
                                                               "Min",
                                                               "Mish",
                                                               "Mul",
                                                               "Neg",
                                                               "PRelu",
                                                               "Relu",
                                                               "Selu",
                                                               "Sigmoid",
                                                               "Softplus",
                                                               "Softsign",
                                                               "Sqrt",
                                                               "Sub",
                                                               "Swish",
                                                               "Tanh",
                                                               "ThresholdedRelu"});
// Those of them that take many instructions: from bytes to bytes they are tables.
constexpr auto kSlowFunctions = std::to_array<std::string_view>(
    {"Celu", "Elu", "Erf", "Gelu", "Mish", "Selu", "Sigmoid", "Softplus", "Swish", "Tanh"});
// Each element of the result is one of the operand.
constexpr auto kMoves = std::to_array<std::string_view>(
    {"DepthToSpace", "Dropout", "Flatten", "GlobalMaxPool", "Identity", "MaxPool", "Reshape", "Slice",
     "SpaceToDepth", "Split", "Squeeze", "Transpose", "Unsqueeze"});
// Each element of the result follows from several, or is new.
constexpr auto kMixes =
    std::to_array<std::string_view>({"AveragePool", "GlobalAveragePool", "Pad", "Resize", "Upsample"});

template <size_t count>
bool isOneOf(const std::array<std::string_view, count>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool isStandard(const NodeProto& node) { return standardDomain(node.domain).empty(); }

double realOf(const NodeProto& node, Text name, double missing) {
  const AttributeProto* attribute = node.attribute(name);
  return attribute ? attribute->f : missing;
}

bool isSet(const NodeProto& node, Text name) {
  const AttributeProto* attribute = node.attribute(name);
  return attribute && attribute->i != 0;
}

class Planner {
 public:
  Planner(const Model& model, const GraphUses& uses, const TypesByName& types,
          const std::set<std::string, std::less<>>& excluded)
      : graph_(*model.graph), uses_(uses), types_(types), excluded_(excluded) {}

  ActivationPlan run() {
    for (const TensorProto& weight : graph_.initializers) constants_[weight.name] = {&weight, false};
    for (const ValueInfoProto& input : graph_.inputs)
      if (constants_.count(input.name) == 0) inputs_.push_back(input.name);
    for (const NodeProto& node : graph_.nodes) lookForward(node);
    for (size_t i = graph_.nodes.size(); i > 0; --i) lookBackward(graph_.nodes[i - 1]);
    for (const NodeProto& node : graph_.nodes) findBytes(node);
    collectValues();
    return std::move(plan_);
  }

 private:
  enum class Kind { other, product, elementwise, join, move, mix };
  struct NodeFacts {
    Kind kind = Kind::other;
    bool readsConvolution = false;  // all that it reads but constants comes from convolutions
  };

  // Null: it computes from constants only, or there is no such node.
  const NodeFacts* factsOf(const NodeProto* node) const {
    const auto found = facts_.find(node);
    return found == facts_.end() ? nullptr : &found->second;
  }
  const NodeFacts* factsOfMaker(Text name) const {
    const auto found = makers_.find(name);
    return found == makers_.end() ? nullptr : factsOf(found->second);
  }

  bool isFloat(Text name) const {
    const auto type = types_.find(name);
    return type != types_.end() && type->second && type->second.isTensor() &&
           type->second.dtype() == Dtype::f32;
  }

  // f32 inputs that a run gives.
  std::vector<size_t> activationsOf(const NodeProto& node) const {
    std::vector<size_t> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (!node.inputs[i].empty() && constants_.count(node.inputs[i]) == 0 && isFloat(node.inputs[i]))
        inputs.push_back(i);
    return inputs;
  }

  Kind kindOf(const NodeProto& node) const {
    if (!isStandard(node) || node.outputs.empty() || node.outputs[0].empty()) return Kind::other;
    const std::string_view op = node.opType;
    if (op == "Conv" || op == "ConvTranspose" || op == "MatMul" || op == "Gemm") return Kind::product;
    const bool isOneResult = op == "Split" || node.outputs.size() == 1 || node.outputs[1].empty();
    if (!isOneResult || !isFloat(node.outputs[0])) return Kind::other;
    if (isOneOf(kElementwise, op)) return Kind::elementwise;
    const AttributeProto* mode = node.attribute("mode");
    if ((op == "Resize" || op == "Upsample") && (!mode || mode->s == "nearest")) return Kind::move;
    if (isOneOf(kMoves, op)) return Kind::move;
    if (op == "Concat") return Kind::join;
    return isOneOf(kMixes, op) || isSpatialMean(node) ? Kind::mix : Kind::other;
  }

  // A mean over the places of an image, by its axes.
  bool isSpatialMean(const NodeProto& node) const {
    if (node.opType != "ReduceMean") return false;
    const AttributeProto* axes = node.attribute("axes");
    const auto type = types_.find(node.inputs.empty() ? Text() : node.inputs[0]);
    if (!axes || axes->ints().empty() || type == types_.end() || !type->second) return false;
    const auto rank = static_cast<int64_t>(type->second.rank());
    return std::all_of(axes->ints().begin(), axes->ints().end(),
                       [&](int64_t axis) { return (axis < 0 ? axis + rank : axis) >= 2; });
  }

  void lookForward(const NodeProto& node) {
    for (const Text output : node.outputs)
      if (!output.empty()) makers_[output] = &node;
    if (noteConstant(node)) return;
    NodeFacts& facts = facts_[&node];
    facts.kind = kindOf(node);
    const bool isExcluded =
        excluded_.count(node.name) != 0 || (node.inputs.size() > 1 && excluded_.count(node.inputs[1]) != 0);
    if (facts.kind == Kind::product) {
      plan_.products.push_back(productOf(node));
      if (isExcluded) plan_.products.back().why = "excluded";
      if (!plan_.products.back().why.empty()) {
        facts.kind = Kind::other;
        return;
      }
    }
    if (isExcluded) facts.kind = Kind::other;
    const std::vector<size_t> inputs = activationsOf(node);
    facts.readsConvolution = !inputs.empty() && std::all_of(inputs.begin(), inputs.end(), [&](size_t i) {
      return isBehindConvolution_.count(node.inputs[i]) != 0;
    });
    if (facts.kind == Kind::other) return;
    if (node.opType == "Conv" || facts.readsConvolution)
      for (const Text output : node.outputs) isBehindConvolution_.insert(output);
  }

  // True where the node computes from constants only.
  bool noteConstant(const NodeProto& node) {
    const bool isConstant = std::all_of(node.inputs.begin(), node.inputs.end(), [&](Text input) {
      return input.empty() || constants_.count(input) != 0;
    });
    const bool hasBodies = std::any_of(node.attributes.begin(), node.attributes.end(),
                                       [](const AttributeProto& one) { return !one.graphs().empty(); });
    if (!isConstant || hasBodies || (node.inputs.empty() && node.opType != "Constant")) return false;
    for (const Text output : node.outputs) constants_[output] = {};
    if (!isStandard(node) || node.outputs.size() != 1) return true;
    FileConstant& made = constants_[node.outputs[0]];
    if (node.opType == "Constant") {
      const AttributeProto* value = node.attribute("value");
      if (value && value->tensors().size() == 1) made.tensor = &value->tensors()[0];
    } else if (node.inputs.size() == 1 && (node.opType == "Identity" || node.opType == "Transpose")) {
      const FileConstant from = constants_.at(node.inputs[0]);
      const bool turns = node.opType == "Transpose";
      if (from.tensor && (!turns || (from.tensor->dims.size() == 2 && transposesMatrix(node))))
        made = {from.tensor, from.isTransposed != turns};
    }
    return true;
  }

  PlannedProduct productOf(const NodeProto& node) const {
    PlannedProduct product;
    product.node = &node;
    product.why = whyItStays(node, product);
    return product;
  }

  std::string whyItStays(const NodeProto& node, PlannedProduct& product) const {
    const std::string_view op = node.opType;
    if (node.inputs.size() < 2) return "it has no weight";
    const auto weight = constants_.find(node.inputs[1]);
    if (weight == constants_.end()) return "its right factor is no constant";
    product.weight = weight->second;
    if (!product.weight.tensor) return "its weight is computed";
    if (op == "ConvTranspose") return "it is no product of bytes";
    const TensorProto& tensor = *product.weight.tensor;
    if (tensor.dataType != kFloat) return "its weight is " + elementTypeName(tensor.dataType);
    if (op == "Conv" ? tensor.dims.size() < 3 : tensor.dims.size() != 2)
      return "its weight has " + std::to_string(tensor.dims.size()) + " axes";
    if (std::count(tensor.dims.begin(), tensor.dims.end(), 0) > 0) return "its weight has no elements";
    if (!isFloat(node.inputs[0]) || constants_.count(node.inputs[0]) != 0)
      return constants_.count(node.inputs[0]) != 0 ? "its left factor is a constant"
                                                   : "its left factor is not known to be f32";
    const bool transposed = product.weight.isTransposed != (op == "Gemm" && isSet(node, "transB"));
    product.channels = op == "Conv" || transposed ? 0 : 1;
    if (op == "MatMul") return "";
    if (op == "Gemm") {
      if (isSet(node, "transA")) return "it transposes its left factor";
      if (realOf(node, "alpha", 1) != 1 || realOf(node, "beta", 1) != 1) return "it has factors";
    }
    if (node.inputs.size() < 3 || node.inputs[2].empty()) return "";
    const auto bias = constants_.find(node.inputs[2]);
    if (bias == constants_.end() || !bias->second.tensor) return "its bias is no constant of the file";
    product.bias = bias->second;
    if (product.bias.tensor->dataType != kFloat) return "its bias is not f32";
    const bool isOneEach = product.bias.tensor->dims.size() == 1 &&
                           product.bias.tensor->dims[0] == tensor.dims[product.channels];
    return isOneEach ? "" : "its bias is not one number for each channel";
  }

  // Bytes are wanted of a value that a product reads, by way of nodes that keep bytes.
  void lookBackward(const NodeProto& node) {
    const NodeFacts* facts = factsOf(&node);
    if (facts && facts->kind == Kind::product) isWanted_.insert(node.inputs[0]);
    if (!keepsBytes(facts) || !isWantedOf(node)) return;
    for (const size_t input : activationsOf(node)) isWanted_.insert(node.inputs[input]);
  }

  static bool keepsBytes(const NodeFacts* facts) {
    return facts && facts->kind != Kind::other && facts->kind != Kind::product && facts->readsConvolution;
  }
  bool isWantedOf(const NodeProto& node) const {
    return std::any_of(node.outputs.begin(), node.outputs.end(),
                       [&](Text output) { return isWanted_.count(output) != 0; });
  }

  // A product computes a function of its sums by itself, where that costs less than a table for bytes: they
  // need not be bytes in between.
  bool isWithinProduct(Text name) const {
    const NodeFacts* facts = factsOfMaker(name);
    if (!facts || facts->kind != Kind::product) return false;
    const auto readers = uses_.readers(name);
    if (readers.size() != 1 || uses_.isResult(name) || uses_.isReadByBody(name)) return false;
    return activationsOf(*readers[0].node).size() == 1 && !isOneOf(kSlowFunctions, readers[0].node->opType);
  }

  void findBytes(const NodeProto& node) {
    const NodeFacts* facts = factsOf(&node);
    if (facts && facts->kind == Kind::product) isBytes_.insert(node.inputs[0]);
    if (!keepsBytes(facts) || !isWantedOf(node)) return;
    for (const size_t i : activationsOf(node)) {
      const Text input = node.inputs[i];
      if (facts->kind == Kind::elementwise) {
        const NodeFacts* made = factsOfMaker(input);
        const bool isChain = made && (made->kind == Kind::elementwise || made->kind == Kind::join);
        if (isChain || isWithinProduct(input)) continue;
      }
      isBytes_.insert(input);
    }
  }

  void collectValues() {
    for (const Text input : inputs_) collect(input, nullptr);
    for (const NodeProto& node : graph_.nodes)
      for (const Text output : node.outputs) collect(output, &node);
  }

  void collect(Text name, const NodeProto* maker) {
    if (isBytes_.count(name) == 0) return;
    PlannedValue value;
    value.name = name;
    value.maker = maker;
    for (const ValueReader& reader : uses_.readers(name)) {
      const NodeFacts* facts = factsOf(reader.node);
      const bool isFactor = facts && facts->kind == Kind::product && reader.input == 0;
      if (isFactor || (keepsBytes(facts) && isWantedOf(*reader.node))) value.readers.push_back(reader);
    }
    const NodeFacts* facts = factsOf(maker);
    if (keepsBytes(facts) && facts->kind == Kind::move && isBytes_.count(maker->inputs[0]) != 0)
      value.likeValue = maker->inputs[0];
    plan_.values.push_back(std::move(value));
  }

  const GraphProto& graph_;
  const GraphUses& uses_;
  const TypesByName& types_;
  const std::set<std::string, std::less<>>& excluded_;
  std::vector<Text> inputs_;
  std::unordered_map<Text, FileConstant> constants_;  // and what is computed from such only
  std::unordered_map<Text, const NodeProto*> makers_;
  std::unordered_map<const NodeProto*, NodeFacts> facts_;  // not of nodes that compute constants
  std::unordered_set<Text> isBehindConvolution_, isWanted_, isBytes_;
  ActivationPlan plan_;
};

}  // namespace

ActivationPlan planActivations(const Model& model, const GraphUses& uses, const TypesByName& types,
                               const std::set<std::string, std::less<>>& excluded) {
  return Planner(model, uses, types, excluded).run();
}

}  // namespace dyn::onnx
