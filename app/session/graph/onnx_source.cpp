#include "app/session/graph/onnx_source.h"

#ifdef DYN_HAVE_ONNX
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "app/session/explain/node_source.h"
#include "compiler/ir/tensor_text.h"
#include "frontends/onnx/emit/tensor_loader.h"
#include "frontends/onnx/emit/type_importer.h"
#include "frontends/onnx/read/onnx_model.h"

namespace dyn {

namespace {

using onnx::AttributeProto;
using onnx::AttributeType;
using onnx::GraphProto;
using onnx::NodeProto;
using onnx::TensorProto;
using onnx::Text;

constexpr size_t kMostSourceElements = 32, kMostCharacters = 400, kMostIndent = 40;
constexpr std::string_view kTraceKey = "pkg.torch.onnx.stack_trace";

std::string quotedSource(Text text) {
  std::string quoted;
  appendQuoted(&quoted, text.substr(0, kMostCharacters));
  if (text.size() > kMostCharacters)
    quoted += fmt::format(" ... {} characters more", text.size() - kMostCharacters);
  return quoted;
}

// %x, %"/layer.0/MatMul_output_0"; "" is an input that is left out.
std::string nameInSource(Text name) {
  if (name.empty()) return "left out";
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
  });
  return plain ? "%" + std::string(name) : "%" + quotedSource(name);
}

std::string operatorOf(const NodeProto& node) {
  const std::string_view domain = onnx::standardDomain(node.domain);
  std::string name = domain.empty() ? "" : std::string(domain) + ".";
  name += node.opType;
  return node.overload.empty() ? name : name + ":" + std::string(node.overload);
}

template <typename Items, typename Write>
std::string sourceList(const Items& items, const Write& write) {
  std::string text = "[";
  for (size_t i = 0; i < items.size() && i < kMostSourceElements; ++i)
    text += (i ? ", " : "") + write(items[i]);
  if (items.size() > kMostSourceElements) text += fmt::format(", ... {} in all", items.size());
  return text + "]";
}

class OnnxSource {
 public:
  OnnxSource(const onnx::Model& model, const KnownNodes& known)
      : model_(model), known_(known), loader_(model), types_(ir_) {}

  IrText build() {
    header();
    for (const onnx::ValueInfoProto& input : model_.graph->inputs)
      if (input.type) types_.learnNames(*input.type);
    openGraph(*model_.graph);
    run();
    for (const onnx::FunctionProto& function : model_.functions) {
      line("");
      line(fmt::format("function {}.{} {{", function.domain, function.name));
      ports("input ", function.inputs);
      ports("output", function.outputs);
      open_.push_back({function.nodes, {}, true});
      run();
    }
    return std::move(text_);
  }

 private:
  // A graph, or the body of a function, whose nodes are written; `attribute` of the node `node` comes next.
  struct Open {
    std::span<const NodeProto> nodes;
    std::unordered_map<Text, std::string> types;
    bool hasEnd = false;  // by a bracket
    size_t node = 0, attribute = 0, graph = 0;
    bool isInNode = false;
  };

  // Bodies lie in their nodes, between brackets; `outwards`: the brackets of the node itself.
  void line(const std::string& text, size_t outwards = 0) {
    static const std::string kSpaces(kMostIndent, ' ');
    size_t depth = 0;
    if (!open_.empty())
      depth = 2 * (open_.size() - 1) + (owner() ? 1 : 0) + (open_.front().hasEnd ? 1 : 0) - outwards;
    ++lines_;
    if (!text.empty()) text_.text += std::string_view(kSpaces).substr(0, std::min(2 * depth, kMostIndent));
    text_.text += text;
    text_.text += '\n';
  }
  // Of the innermost node that is being written.
  void nodeLine(const std::string& text, size_t outwards = 0) {
    line(text, outwards);
    const NodeProto& node = *owner();
    SourceLocation place = model_.place(node);
    place.node = onnx::placeName(node, opsetOf(node.domain));
    own(&node, place);
  }
  // The line that was written belongs to what begins at that byte of the file. What was not imported is
  // named as the graph of the file names it (file_graph.h).
  void own(const void* owner, const SourceLocation& place) {
    std::vector<LineOrigin>& origins = text_.origins;
    if (owned_ == owner && !origins.empty() && origins.back().lastLine + 1 == lines_) {
      origins.back().lastLine = lines_;
      return;
    }
    owned_ = owner;
    LineOrigin& origin = origins.emplace_back();
    origin.line = origin.lastLine = lines_;
    const auto found = known_.places.find(place.byteOffset);
    origin.places = found == known_.places.end() ? std::vector<std::string>{place.toString()} : found->second;
  }
  const NodeProto* owner() const {
    if (open_.empty() || !open_.back().isInNode) return nullptr;
    return &open_.back().nodes[open_.back().node];
  }
  int64_t opsetOf(Text domain) const {
    const auto standard = [](Text name) { return name == "ai.onnx" ? Text() : name; };
    for (const onnx::OperatorSetId& set : model_.opsetImports)
      if (standard(set.domain) == standard(domain)) return set.version;
    return 0;
  }

  void header() {
    std::string sets;
    for (const onnx::OperatorSetId& set : model_.opsetImports)
      sets += fmt::format(", {} {}", set.domain.empty() ? "ai.onnx" : set.domain, set.version);
    line(fmt::format("// ONNX, IR version {}{}", model_.irVersion, sets));
    if (!model_.producerName.empty())
      line(fmt::format("// written by {} {}", model_.producerName, model_.producerVersion));
    comment(model_.docString);
    for (const onnx::StringPair& pair : model_.metadata)
      line("// " + std::string(pair.key) + ": " + quotedSource(pair.value));
  }

  void comment(Text text) {
    for (size_t begin = 0, lines = 0; begin < text.size() && lines < kMostSourceElements; ++lines) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      line("// " + std::string(text.substr(begin, std::min(end - begin, kMostCharacters))));
      begin = end + 1;
    }
  }

  void openGraph(const GraphProto& graph) {
    const bool isBody = !open_.empty();
    Open& opened = open_.emplace_back();
    opened.nodes = graph.nodes;
    opened.hasEnd = isBody;
    if (!isBody) line("graph " + quotedSource(graph.name));
    if (!isBody) comment(graph.docString);
    for (const onnx::ValueInfoProto& value : graph.valueInfos) opened.types[value.name] = typeOf(value);
    for (const onnx::ValueInfoProto& input : graph.inputs) port("input ", input);
    for (const onnx::ValueInfoProto& output : graph.outputs) port("output", output);
    for (const TensorProto& weight : graph.initializers) {
      const std::string type = weightType(weight);
      open_.back().types[weight.name] = type;
      line("weight " + nameInSource(weight.name) + ": " + type);
      own(&weight, model_.place(weight.bytes));
    }
  }
  void port(const char* what, const onnx::ValueInfoProto& value) {
    const std::string type = typeOf(value);
    open_.back().types[value.name] = type;
    line(std::string(what) + " " + nameInSource(value.name) + (type.empty() ? "" : ": " + type));
  }
  void ports(const char* what, std::span<const Text> names) {
    for (const Text name : names) line("  " + std::string(what) + " " + nameInSource(name));
  }
  std::string typeOf(const onnx::ValueInfoProto& value) {
    if (!value.type) return "";
    const Result<Type> type = types_.import(*value.type, std::string(value.name));
    return type.ok() ? type->toString() : "";
  }
  static std::string weightType(const TensorProto& tensor) {
    const std::optional<Dtype> dtype = dtypeFromOnnx(tensor.dataType);
    std::string dims;
    for (const int64_t dim : tensor.dims) dims += (dims.empty() ? "" : ", ") + std::to_string(dim);
    return "Tensor[(" + dims + "), " +
           (dtype ? std::string(toString(*dtype)) : onnx::elementTypeName(tensor.dataType)) + "]";
  }

  // From a list of what is open, as bodies lie as deep in each other as the file says.
  void run() {
    while (!open_.empty()) {
      Open& now = open_.back();
      if (now.isInNode) {
        inNode(now);
      } else if (now.node < now.nodes.size()) {
        if (open_.size() == 1) line("");
        beginNode(now);
      } else {
        const bool hasEnd = now.hasEnd;
        open_.pop_back();
        if (!hasEnd) continue;
        open_.empty() ? line("}") : nodeLine("}");
      }
    }
  }
  void beginNode(Open& now) {
    now.isInNode = true;
    now.attribute = now.graph = 0;
    const NodeProto& node = now.nodes[now.node];
    const int64_t opset = opsetOf(node.domain);
    nodeLine(operatorOf(node) + (node.name.empty() ? "" : " " + quotedSource(node.name)) + " {" +
                 (opset > 0 ? fmt::format("  // operator set {}", opset) : ""),
             1);
    for (const Text input : node.inputs) nodeLine("in   " + typed(input));
    const uint64_t byte = model_.place(node).byteOffset;
    for (const Text output : node.outputs) {
      if (const auto known = known_.types.find({byte, std::string(output)}); known != known_.types.end())
        now.types.try_emplace(output, known->second);
      nodeLine("out  " + typed(output));
    }
  }
  std::string typed(Text name) const {
    for (auto scope = open_.rbegin(); scope != open_.rend() && !name.empty(); ++scope)
      if (const auto type = scope->types.find(name); type != scope->types.end())
        return nameInSource(name) + (type->second.empty() ? "" : ": " + type->second);
    return nameInSource(name);
  }
  void inNode(Open& now) {
    const NodeProto& node = now.nodes[now.node];
    if (now.attribute == node.attributes.size()) {
      notes(node);
      nodeLine("}", 1);
      now.isInNode = false;
      ++now.node;
      return;
    }
    const AttributeProto& attribute = node.attributes[now.attribute];
    if (attribute.refName.empty() && now.graph < attribute.graphs().size()) {
      const GraphProto& body = attribute.graphs()[now.graph++];
      nodeLine(std::string(attribute.name) + " = graph " + quotedSource(body.name) + " {");
      return openGraph(body);
    }
    if (attribute.graphs().empty() || !attribute.refName.empty())
      nodeLine(std::string(attribute.name) + " = " + valueOf(attribute));
    ++now.attribute;
    now.graph = 0;
  }
  std::string valueOf(const AttributeProto& attribute) {
    const auto number = [](auto value) { return fmt::format("{}", value); };
    if (!attribute.refName.empty()) return "attribute " + std::string(attribute.refName) + " of the function";
    switch (attribute.type) {
      case AttributeType::real:
        return number(attribute.f);
      case AttributeType::integer:
        return number(attribute.i);
      case AttributeType::text:
        return quotedSource(attribute.s);
      case AttributeType::reals:
        return sourceList(attribute.floats(), number);
      case AttributeType::integers:
        return sourceList(attribute.ints(), number);
      case AttributeType::texts:
        return sourceList(attribute.strings(), quotedSource);
      case AttributeType::tensor:
      case AttributeType::tensors:
        return sourceList(attribute.tensors(), [this](const TensorProto& tensor) { return valueOf(tensor); });
      default:
        return std::string(toString(attribute.type));
    }
  }
  // Its elements where they are few.
  std::string valueOf(const TensorProto& tensor) {
    int64_t count = 1;
    for (const int64_t dim : tensor.dims)
      count = dim < 0 || count * dim > static_cast<int64_t>(kMostSourceElements) ? kMostSourceElements + 1
                                                                                 : count * dim;
    if (tensor.location != TensorProto::Location::inside || count > static_cast<int64_t>(kMostSourceElements))
      return weightType(tensor);
    const Result<HostTensor> value = loader_.load(tensor);
    if (!value.ok()) return weightType(tensor);
    std::string text = tensorHead(*value) + " ";
    appendElements(&text, *value, kMostSourceElements);
    return text;
  }
  // What the exporter wrote beside the node: the lines of its program as Python's traces name them.
  void notes(const NodeProto& node) {
    std::vector<NodeSource> frames = framesIn(node.docString());
    const bool docIsTrace = !frames.empty();
    for (const onnx::StringPair& pair : node.metadata()) {
      std::vector<NodeSource> more = pair.key == kTraceKey ? framesIn(pair.value) : std::vector<NodeSource>();
      if (more.empty())
        nodeLine("// " + std::string(pair.key) + ": " + quotedSource(pair.value));
      else
        frames = std::move(more);
    }
    if (!docIsTrace && !node.docString().empty()) nodeLine("// doc: " + quotedSource(node.docString()));
    for (const NodeSource& frame : frames) {
      nodeLine(fmt::format("// File \"{}\", line {}{}", frame.file, frame.line,
                           frame.function.empty() ? "" : ", in " + frame.function));
      if (!frame.code.empty()) nodeLine("//     " + frame.code);
    }
  }

  const onnx::Model& model_;
  const KnownNodes& known_;
  onnx::TensorLoader loader_;
  IrContext ir_;
  onnx::TypeImporter types_;
  std::vector<Open> open_;
  const void* owned_ = nullptr;  // of the last origin: a node or a weight
  uint32_t lines_ = 0;
  IrText text_;
};

}  // namespace

Result<IrText> onnxSource(const std::string& path, const KnownNodes& known) {
  DYN_TRY(const onnx::Model model, onnx::openModel(path));
  return OnnxSource(model, known).build();
}

}  // namespace dyn
#else
namespace dyn {

Result<IrText> onnxSource(const std::string&, const KnownNodes&) {
  return makeError(DiagnosticId::unsupportedFeature, "unsupported: this build reads no ONNX files");
}

}  // namespace dyn
#endif
