#include "frontends/onnx/quantise/activation_quantiser.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "frontends/onnx/quantise/new_fields.h"
#include "frontends/onnx/quantise/signed_bytes.h"

namespace dyn::onnx {
namespace {

constexpr double kMostSum = 2147483647;  // of an i32

// How a value becomes bytes, and what the file calls them.
struct ByteForm {
  float scale = 1;
  uint8_t zero = 0;
  std::string scaleName, zeroName, bytesName, realsName;  // reals: what the bytes stand for
};

// The range contains 0, so that 0 is exact.
ByteForm formOf(ElementRange range) {
  const double low = std::min(range.low, 0.0), high = std::max(range.high, 0.0);
  ByteForm form;
  const auto scale = static_cast<float>((high - low) / 255);
  if (scale > 0) form.scale = scale;
  form.zero = static_cast<uint8_t>(std::clamp(std::nearbyint(-low / form.scale), 0.0, 255.0));
  return form;
}

class Writer {
 public:
  Writer(const Model& model, GraphUses& uses, const ActivationPlan& plan, const RangesByName& ranges,
         std::optional<ExternalData> external)
      : model_(model),
        graph_(*model.graph),
        uses_(uses),
        plan_(plan),
        ranges_(ranges),
        external_(std::move(external)) {}

  Result<QuantisedModel> run() {
    DYN_CHECK(makeForms());
    for (const PlannedProduct& product : plan_.products) DYN_CHECK(changeProduct(product));
    DYN_CHECK(writeNodes());
    leaveOutUnread();
    DYN_TRY(result_.file, editGraph(model_, std::move(edit_)));
    return std::move(result_);
  }

 private:
  std::string nameOf(const std::string& base, const char* end) { return uses_.freshName(base + end); }

  // Those of the value that it is like, else its own.
  Status makeForms() {
    for (const PlannedValue& value : plan_.values) {
      const auto like = forms_.find(value.likeValue);
      if (like == forms_.end() && ranges_.count(value.name) == 0) continue;
      ByteForm form = like == forms_.end() ? formOf(ranges_.at(value.name)) : like->second;
      if (like == forms_.end()) {
        form.scaleName = nameOf(value.name, "_scale");
        form.zeroName = nameOf(value.name, "_zero");
        DYN_TRY(const std::string scale, weightFields(model_, {form.scaleName, kFloat, {}, &form.scale}));
        DYN_TRY(const std::string zero, weightFields(model_, {form.zeroName, kUint8, {}, &form.zero}));
        edit_.first += scale + zero;
      }
      form.bytesName = nameOf(value.name, "_u8");
      form.realsName = nameOf(value.name, "_of_u8");
      for (const ValueReader& reader : value.readers) inputs_[reader.node][reader.input] = form.realsName;
      (value.maker ? behind_[value.maker] : edit_.first) += conversions(value.name, form);
      const ElementRange range = ranges_.count(value.name) != 0 ? ranges_.at(value.name) : ElementRange();
      result_.activations.push_back({value.name, range.low, range.high, form.scale, form.zero});
      forms_[value.name] = std::move(form);
    }
    return {};
  }

  static std::string conversions(const std::string& name, const ByteForm& form) {
    return nodeFields({.op = "QuantizeLinear",
                       .inputs = {name, form.scaleName, form.zeroName},
                       .outputs = {form.bytesName}}) +
           nodeFields({.op = "DequantizeLinear",
                       .inputs = {form.bytesName, form.scaleName, form.zeroName},
                       .outputs = {form.realsName}});
  }

  Status changeProduct(const PlannedProduct& product) {
    const NodeProto& node = *product.node;
    QuantisedWeight row;
    row.node = node.name;
    row.op = node.opType;
    row.why = product.why;
    if (node.inputs.size() > 1) row.name = node.inputs[1];
    if (product.weight.tensor) row.bytesBefore = fileBytes(*product.weight.tensor);
    const auto form = forms_.find(std::string(node.inputs.empty() ? Text() : node.inputs[0]));
    if (row.why.empty() && form == forms_.end()) row.why = "the range of its left factor is unknown";
    if (row.why.empty()) DYN_CHECK(changeFactors(product, form->second, row));
    result_.weights.push_back(std::move(row));
    return {};
  }

  Status changeFactors(const PlannedProduct& product, const ByteForm& left, QuantisedWeight& row) {
    const TensorProto& weight = *product.weight.tensor;
    DYN_TRY(const std::vector<float> elements, floatsOf(model_, weight, external_));
    std::vector<float> bias;
    if (product.bias.tensor) {
      DYN_TRY(bias, floatsOf(model_, *product.bias.tensor, external_));
    }
    if (!areFinite(elements) || !areFinite(bias)) {
      row.why = "not all its weights are finite";
      inputs_[product.node].erase(0);  // it reads what it did
      return {};
    }
    // A bias that is large beside its channel's weights has to fit into i32.
    std::vector<float> least(bias.size());
    for (size_t i = 0; i < bias.size(); ++i)
      least[i] = static_cast<float>(std::abs(bias[i]) / (kMostSum / 2) / left.scale);
    const SignedBytes bytes = signedBytes(elements, weight.dims, product.channels, least);
    row.relative = bytes.relative;
    const auto channels = static_cast<int64_t>(bytes.scales.size());
    row.bytesAfter = static_cast<int64_t>(elements.size()) + channels * static_cast<int64_t>(sizeof(float));
    row.form = "u8 x i8, a scale for each channel";
    const int64_t axis = product.weight.isTransposed ? 1 - static_cast<int64_t>(product.channels)
                                                     : static_cast<int64_t>(product.channels);
    std::map<size_t, std::string>& inputs = inputs_[product.node];
    DYN_TRY(inputs[1], addWeight(row.name, product, bytes, axis));
    if (!bias.empty()) {
      std::vector<int32_t> sums(bias.size());
      std::vector<float> units(bias.size());
      for (size_t i = 0; i < bias.size(); ++i) {
        units[i] = left.scale * bytes.scales[i];
        sums[i] = static_cast<int32_t>(
            std::clamp(std::nearbyint(static_cast<double>(bias[i]) / units[i]), -kMostSum, kMostSum));
      }
      DYN_TRY(inputs[2], addBias(std::string(product.node->inputs[2]), sums, units));
    }
    return {};
  }

  // The names of the numbers behind DequantizeLinear.
  Result<std::string> addWeight(const std::string& base, const PlannedProduct& product,
                                const SignedBytes& bytes, int64_t axis) {
    const std::string numbersName = nameOf(base, "_i8"), scalesName = nameOf(base, "_scales"),
                      realsName = nameOf(base, "_of_i8");
    std::vector<int64_t> dims(product.weight.tensor->dims.begin(), product.weight.tensor->dims.end());
    std::vector<int8_t> turned;
    if (product.weight.isTransposed) {
      turned.resize(bytes.numbers.size());
      const auto rows = static_cast<size_t>(dims[0]), columns = static_cast<size_t>(dims[1]);
      for (size_t i = 0; i < rows; ++i)
        for (size_t j = 0; j < columns; ++j) turned[j * rows + i] = bytes.numbers[i * columns + j];
      std::swap(dims[0], dims[1]);
    }
    const std::vector<int8_t>& numbers = product.weight.isTransposed ? turned : bytes.numbers;
    DYN_TRY(const std::string made, weightFields(model_, {numbersName, kInt8, dims, numbers.data()}));
    DYN_CHECK(addDequantized(numbersName, made, scalesName, bytes.scales, realsName, axis));
    return realsName;
  }

  Result<std::string> addBias(const std::string& base, const std::vector<int32_t>& sums,
                              const std::vector<float>& units) {
    const std::string sumsName = nameOf(base, "_i32"), unitsName = nameOf(base, "_scales"),
                      realsName = nameOf(base, "_of_i32");
    DYN_TRY(const std::string made,
            weightFields(model_, {sumsName, kInt32, {static_cast<int64_t>(sums.size())}, sums.data()}));
    DYN_CHECK(addDequantized(sumsName, made, unitsName, units, realsName, 0));
    return realsName;
  }

  Status addDequantized(const std::string& numbersName, const std::string& numbers,
                        const std::string& scalesName, const std::vector<float>& scales,
                        const std::string& realsName, int64_t axis) {
    DYN_TRY(const std::string fields,
            weightFields(model_, {scalesName, kFloat, {static_cast<int64_t>(scales.size())}, scales.data()}));
    NodeMessage node{.op = "DequantizeLinear", .inputs = {numbersName, scalesName}, .outputs = {realsName}};
    node.attributes.integer("axis", axis);
    edit_.first += numbers + fields + nodeFields(node);
    return {};
  }

  Status writeNodes() {
    for (const NodeProto& node : graph_.nodes) {
      const auto inputs = inputs_.find(&node);
      const auto behind = behind_.find(&node);
      const bool isChanged = inputs != inputs_.end() && !inputs->second.empty();
      if (!isChanged && behind == behind_.end()) continue;
      DYN_TRY(std::string fields, nodeFields(model_, node, isChanged ? inputs->second : kSame));
      if (behind != behind_.end()) fields += behind->second;
      edit_.replaced[node.bytes.data()] = std::move(fields);
    }
    return {};
  }

  // Weights, and nodes between them and their products, that nothing reads any more.
  void leaveOutUnread() {
    std::unordered_map<Text, const NodeProto*> makers;
    for (const NodeProto& node : graph_.nodes)
      if (node.outputs.size() == 1) makers[node.outputs[0]] = &node;
    std::unordered_map<Text, size_t> gone;  // readers that read something else now, or are gone themselves
    std::vector<Text> open;
    const auto leave = [&](Text name) {
      const bool isUnread = ++gone[name] == uses_.readers(name).size();
      if (isUnread && !uses_.isResult(name) && !uses_.isReadByBody(name)) open.push_back(name);
    };
    for (const PlannedProduct& product : plan_.products) {
      const auto inputs = inputs_.find(product.node);
      if (inputs == inputs_.end()) continue;
      for (const size_t input : {size_t{1}, size_t{2}})
        if (inputs->second.count(input) != 0) leave(product.node->inputs[input]);
    }
    std::unordered_set<Text> unread;
    while (!open.empty()) {
      const Text name = open.back();
      open.pop_back();
      unread.insert(name);
      const auto maker = makers.find(name);
      if (maker == makers.end()) continue;
      edit_.replaced[maker->second->bytes.data()] = "";
      for (const Text input : maker->second->inputs) leave(input);
    }
    for (const TensorProto& weight : graph_.initializers) {
      const bool isExternal = weight.location == TensorProto::Location::external;
      if (isExternal) result_.externalBytesBefore += fileBytes(weight);
      if (unread.count(weight.name) != 0)
        edit_.replaced[weight.bytes.data()] = "";
      else if (isExternal)
        result_.externalBytesAfter += fileBytes(weight);
    }
    for (const ValueInfoProto& input : graph_.inputs)
      if (unread.count(input.name) != 0) edit_.replaced[input.bytes.data()] = "";
  }

  inline static const std::map<size_t, std::string> kSame;

  const Model& model_;
  const GraphProto& graph_;
  GraphUses& uses_;
  const ActivationPlan& plan_;
  const RangesByName& ranges_;
  std::optional<ExternalData> external_;
  std::map<std::string, ByteForm> forms_;
  std::unordered_map<const NodeProto*, std::map<size_t, std::string>> inputs_;  // other names of inputs
  std::unordered_map<const NodeProto*, std::string> behind_;                    // fields behind a node
  GraphEdit edit_;
  QuantisedModel result_;
};

}  // namespace

ActivationQuantiser::ActivationQuantiser(const Model& model, const TypesByName& types,
                                         const std::set<std::string, std::less<>>& excluded)
    : model_(model), uses_(*model.graph), plan_(planActivations(model, uses_, types, excluded)) {}

std::vector<std::string> ActivationQuantiser::valuesToMeasure() const {
  std::vector<std::string> names;
  for (const PlannedValue& value : plan_.values) names.push_back(value.name);
  return names;
}

Result<QuantisedModel> ActivationQuantiser::quantise(const RangesByName& ranges,
                                                     const std::string& dataRoot) {
  DYN_CHECK(hasChannelScales(model_));
  DYN_TRY(std::optional<ExternalData> external, externalDataOf(model_, dataRoot));
  return Writer(model_, uses_, plan_, ranges, std::move(external)).run();
}

}  // namespace dyn::onnx
