#include "frontends/onnx/import/batched_scan.h"

#include "compiler/ops/op_table.h"

namespace dyn::onnx {
namespace {

// x [steps, ...] of one entry and its own number of steps.
constexpr std::string_view kEntrySteps = R"dyn(
operator "dyn.scan::Taken"(x, length) {
  check_values(length, 1, shape(x)[0], elements = "in_range", what = "Scan: sequence_lens")
  return x[:length]
}
operator "dyn.scan::Filled"(y, x) {
  sizes = shape(y)
  return pad(y, concat(sizes * 0, shape(x)[:1] - sizes[:1], sizes[1:] * 0, axis = 0))
}
)dyn";

int64_t scanCount(const NodeProto& node) {
  const AttributeProto* count = node.attribute("num_scan_inputs");
  return count != nullptr ? count->i : 0;
}

class ScanWriter {
 public:
  ScanWriter(const NodeProto& node, size_t number)
      : node_(node),
        prefix_("scan_" + std::to_string(number) + "/"),
        scans_(static_cast<size_t>(scanCount(node))),
        states_(node.inputs.size() - 1 - scans_),
        hasLengths_(!node.inputs[0].empty()),
        graph_(std::make_shared<WrittenGraph>()) {}

  std::shared_ptr<WrittenGraph> write(std::vector<OperatorSetId> opsets) {
    std::vector<Text> given = named("input", node_.inputs.size());
    std::vector<Text> over(given.begin() + (hasLengths_ ? 0 : 1), given.end());
    const std::vector<Text> results = named("output", node_.outputs.size());
    std::vector<NodeProto>& nodes = graph_->nodeLists.emplace_back();
    const auto count = static_cast<int64_t>(over.size());
    const GraphProto& entry = entryBody();
    nodes.push_back(graph_->node(
        node_, kScanDomain, "Scan", std::move(over), results,
        {attributeOf("body", AttributeType::graph, &entry, 1), integer("num_scan_inputs", count)}));

    FunctionProto& function = graph_->function;
    function.bytes = node_.bytes;
    function.name = node_.opType;
    function.domain = kScanDomain;
    function.inputs = graph_->list(std::move(given));
    function.outputs = graph_->list(results);
    function.nodes = nodes;
    graph_->opsets = std::move(opsets);
    graph_->opsets.push_back({kScanDomain, 9});
    function.opsetImports = graph_->opsets;
    return std::move(graph_);
  }

 private:
  // Of one entry of the batch.
  const GraphProto& entryBody() {
    std::vector<Text> inputs = named("entry", states_ + scans_);
    std::vector<Text> operands = inputs;
    std::vector<Text> outputs = named("result", node_.outputs.size());
    std::vector<Text> results = outputs;
    const Text length = text("length");
    std::vector<NodeProto>& nodes = graph_->nodeLists.emplace_back();
    for (size_t i = states_; hasLengths_ && i != inputs.size(); ++i) {
      operands[i] = text("taken_" + std::to_string(i));
      nodes.push_back(graph_->node(node_, kScanDomain, "Taken", {inputs[i], length}, {operands[i]}, {}));
    }
    for (size_t i = states_; hasLengths_ && i < results.size(); ++i)
      results[i] = text("short_" + std::to_string(i));
    std::vector<AttributeProto> attributes = {*node_.attribute("body"),
                                              integer("num_scan_inputs", static_cast<int64_t>(scans_))};
    if (const AttributeProto* directions = node_.attribute("directions"); directions != nullptr) {
      attributes.push_back(*directions);
      attributes.back().name = "scan_input_directions";
    }
    nodes.push_back(
        graph_->node(node_, kScanDomain, "Scan", std::move(operands), results, std::move(attributes)));
    for (size_t i = states_; hasLengths_ && i < results.size(); ++i)
      nodes.push_back(
          graph_->node(node_, kScanDomain, "Filled", {results[i], inputs[states_]}, {outputs[i]}, {}));

    GraphProto& body = graph_->graphs.emplace_back();
    body.bytes = node_.bytes;
    body.nodes = nodes;
    if (hasLengths_) inputs.insert(inputs.begin(), length);
    body.inputs = graph_->values(node_, inputs);
    body.outputs = graph_->values(node_, outputs);
    return body;
  }

  Text text(const std::string& name) { return graph_->names.emplace_back(prefix_ + name); }
  std::vector<Text> named(const std::string& name, size_t count) {
    std::vector<Text> all;
    for (size_t i = 0; i != count; ++i) all.push_back(text(name + "_" + std::to_string(i)));
    return all;
  }
  static AttributeProto integer(Text name, int64_t value) {
    AttributeProto attribute = attributeOf(name, AttributeType::integer);
    attribute.i = value;
    return attribute;
  }

  const NodeProto& node_;
  const std::string prefix_;
  const size_t scans_, states_;
  const bool hasLengths_;
  std::shared_ptr<WrittenGraph> graph_;
};

}  // namespace

Result<std::shared_ptr<WrittenGraph>> batchedScan(const NodeProto& node, std::vector<OperatorSetId> opsets,
                                                  size_t number) {
  const AttributeProto* body = node.attribute("body");
  if (body == nullptr || body->graphs().size() != 1)
    return makeError(DiagnosticId::badAttribute, "attribute \"body\" with the body is missing");
  const int64_t scans = scanCount(node), inputs = static_cast<int64_t>(node.inputs.size()) - 1;
  if (scans < 1 || scans > inputs)
    return makeError(DiagnosticId::badAttribute, "num_scan_inputs is " + std::to_string(scans) + " for " +
                                                     std::to_string(inputs) +
                                                     " inputs behind that of the lengths");
  return ScanWriter(node, number).write(std::move(opsets));
}

Result<text::OperatorFile> batchedScanSteps() {
  text::ParseOptions options;
  options.findOp = findOp;
  options.file = "<steps of a batched scan>";
  return text::OperatorFile::parse(std::string(kEntrySteps), std::move(options));
}

}  // namespace dyn::onnx
