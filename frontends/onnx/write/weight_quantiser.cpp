#include "frontends/onnx/write/weight_quantiser.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "frontends/onnx/read/onnx_tensor.h"
#include "frontends/onnx/read/wire_writer.h"
#include "frontends/onnx/write/messages.h"

namespace dyn::onnx {
namespace {

constexpr int64_t kColumnsVersion = 13;  // of ai.onnx: DequantizeLinear takes a scale for each column

// A weight as a matrix of n columns of k elements, whichever way it lies.
struct Matrix {
  std::vector<float> elements;
  int64_t k = 0, n = 0;
  bool transposed = false;  // [n, k]
  float at(int64_t row, int64_t column) const {
    return elements[static_cast<size_t>(transposed ? column * k + row : row * n + column)];
  }
};

DecodedTensor tensorOf(std::string name, int32_t type, std::vector<int64_t> dims, const void* data,
                       uint64_t sizeBytes) {
  DecodedTensor tensor;
  tensor.name = std::move(name);
  tensor.onnxType = type;
  tensor.dims = std::move(dims);
  for (const int64_t size : tensor.dims) tensor.elementCount *= size;
  tensor.data = static_cast<const std::byte*>(data);
  tensor.sizeBytes = sizeBytes;
  return tensor;
}

// Up to this version of the format, weights stand among the inputs, too.
constexpr int64_t kWeightsAreInputs = 3;

Result<std::string> weightFields(const Model& model, const DecodedTensor& tensor) {
  DYN_TRY(const std::string message, writeTensorProto(tensor));
  WireWriter out;
  out.bytes(field::kInitializer, message);
  if (model.irVersion > kWeightsAreInputs) return out.take();
  WireWriter shape, tensorType, type, value;
  for (const int64_t size : tensor.dims) {
    WireWriter dim;
    dim.varint(1, static_cast<uint64_t>(size));
    shape.bytes(1, dim.str());
  }
  tensorType.varint(1, static_cast<uint64_t>(tensor.onnxType));
  tensorType.bytes(2, shape.str());
  type.bytes(1, tensorType.str());
  value.bytes(field::kNameOfValue, tensor.name);
  value.bytes(field::kTypeOfValue, type.str());
  out.bytes(field::kInput, value.str());
  return out.take();
}

std::string nodeFields(const NodeMessage& node) {
  GraphMessage graph;
  graph.add(node);
  return graph.nodes;
}

int64_t opsetOf(const Model& model) {
  for (const OperatorSetId& opset : model.opsetImports)
    if (standardDomain(opset.domain).empty()) return opset.version;
  return 0;
}

// A node that reads a weight, and as which input; `through`: the Transpose between, or null.
struct Reader {
  const NodeProto* node = nullptr;
  size_t input = 0;
  const NodeProto* through = nullptr;
};

// Of a matrix.
bool exchangesAxes(const NodeProto& node) {
  if (node.opType != "Transpose" || !standardDomain(node.domain).empty()) return false;
  const AttributeProto* order = node.attribute("perm");
  return !order || (order->ints().size() == 2 && order->ints()[0] == 1 && order->ints()[1] == 0);
}

class Quantiser {
 public:
  Quantiser(const Model& model, const QuantiseOptions& options, const TypesByName& types,
            std::optional<ExternalData> external)
      : model_(model),
        graph_(*model.graph),
        options_(options),
        types_(types),
        external_(std::move(external)) {}

  Result<QuantisedModel> run() {
    if (options_.bits == 8 && opsetOf(model_) < kColumnsVersion)
      return makeError(DiagnosticId::unsupportedFeature,
                       "unsupported: operator set " + std::to_string(opsetOf(model_)) +
                           " has no DequantizeLinear with a scale for each column; 13 has");
    collectNames();
    for (const TensorProto& weight : graph_.initializers) DYN_CHECK(look(weight));
    if (options_.bits == 4 && isAnyChanged_) edit_.opsets["com.microsoft"] = 1;
    DYN_TRY(result_.file, editGraph(model_, std::move(edit_)));
    return std::move(result_);
  }

 private:
  void collectNames() {
    std::vector<const GraphProto*> open{&graph_};
    while (!open.empty()) {
      const GraphProto& graph = *open.back();
      open.pop_back();
      for (const ValueInfoProto& output : graph.outputs)
        (&graph == &graph_ ? results_ : inBodies_).insert(output.name);
      for (const NodeProto& node : graph.nodes) {
        for (size_t i = 0; i < node.inputs.size(); ++i) {
          if (&graph == &graph_)
            readers_[node.inputs[i]].push_back({&node, i});
          else
            inBodies_.insert(node.inputs[i]);
        }
        for (const Text output : node.outputs) names_.insert(std::string(output));
        for (const AttributeProto& attribute : node.attributes)
          for (const GraphProto& body : attribute.graphs()) open.push_back(&body);
      }
      for (const TensorProto& weight : graph.initializers) names_.insert(std::string(weight.name));
      for (const ValueInfoProto& input : graph.inputs) names_.insert(std::string(input.name));
    }
  }

  std::string freshName(const std::string& base) {
    std::string name = base;
    for (int number = 2; !names_.insert(name).second; ++number) name = base + "_" + std::to_string(number);
    return name;
  }

  // "": this reader can take the weight in few bits.
  std::string whyNot(const TensorProto& weight, const Reader& reader) const {
    const NodeProto& node = *reader.node;
    const bool isProduct = standardDomain(node.domain).empty();
    if (!isProduct || (node.opType != "MatMul" && node.opType != "Gemm"))
      return "read by " + std::string(node.opType);
    if (reader.input != 1) return "not the right factor of its product";
    if (weight.dims.size() != 2) return "it has not two axes";
    if (options_.bits != 4) return "";
    if (node.opType == "MatMul") {
      const auto left = types_.find(node.inputs[0]);
      const bool isKnown = left != types_.end() && left->second && left->second.isTensor();
      return isKnown && left->second.rank() >= 2 ? "" : "the left factor has not two axes";
    }
    const auto real = [&](Text name) {
      const AttributeProto* attribute = node.attribute(name);
      return attribute ? attribute->f : 1.0f;
    };
    const AttributeProto* transposed = node.attribute("transA");
    if (transposed && transposed->i != 0) return "its Gemm transposes the left factor";
    const bool hasBias = node.inputs.size() > 2 && !node.inputs[2].empty();
    return real("alpha") == 1 && (!hasBias || real("beta") == 1) ? "" : "its Gemm has factors";
  }

  // Does it read the weight as [n, k]?
  static bool isTransposed(const Reader& reader) {
    const AttributeProto* attribute = reader.node->attribute("transB");
    const bool byGemm = reader.node->opType == "Gemm" && attribute && attribute->i != 0;
    return byGemm != (reader.through != nullptr);
  }

  // Those behind a Transpose of the matrix in place of it.
  std::vector<Reader> readersOf(const TensorProto& weight) {
    std::vector<Reader> readers;
    for (const Reader& reader : readers_[weight.name]) {
      const Text output = reader.node->outputs.empty() ? Text() : reader.node->outputs[0];
      const bool isOwn = inBodies_.count(output) == 0 && results_.count(output) == 0;
      if (weight.dims.size() != 2 || !exchangesAxes(*reader.node) || !isOwn || readers_[output].empty()) {
        readers.push_back(reader);
        continue;
      }
      for (const Reader& behind : readers_[output])
        readers.push_back({behind.node, behind.input, reader.node});
    }
    return readers;
  }

  Status look(const TensorProto& weight) {
    if (weight.dims.size() < 2) return noteExternal(weight);
    QuantisedWeight row;
    row.name = weight.name;
    row.bytesBefore = fileBits(weight.dataType) / 8;
    for (const int64_t size : weight.dims) row.bytesBefore *= size;
    const std::vector<Reader> readers = readersOf(weight);
    if (!readers.empty()) {
      row.op = readers[0].node->opType;
      row.node = readers[0].node->name;
    }
    row.why = whyItStays(weight, readers);
    if (row.why.empty()) DYN_CHECK(change(weight, readers, row));
    if (row.form.empty())
      DYN_CHECK(noteExternal(weight));
    else if (weight.location == TensorProto::Location::external)
      result_.externalBytesBefore += row.bytesBefore;
    result_.weights.push_back(std::move(row));
    return {};
  }

  Status noteExternal(const TensorProto& weight) {
    if (weight.location != TensorProto::Location::external) return {};
    int64_t bytes = fileBits(weight.dataType) / 8;
    for (const int64_t size : weight.dims) bytes *= size;
    result_.externalBytesBefore += bytes;
    result_.externalBytesAfter += bytes;
    return {};
  }

  std::string whyItStays(const TensorProto& weight, const std::vector<Reader>& readers) const {
    if (weight.dataType != kFloat) return "its elements are " + elementTypeName(weight.dataType);
    if (readers.empty()) return "nothing reads it in the model's graph";
    for (const Reader& reader : readers)
      if (std::string why = whyNot(weight, reader); !why.empty()) return why;
    if (inBodies_.count(weight.name) != 0) return "a body reads it, too";
    if (results_.count(weight.name) != 0) return "it is an output";
    for (const Reader& reader : readers)
      if (isTransposed(reader) != isTransposed(readers[0])) return "it is read both ways";
    return "";
  }

  Result<Matrix> matrixOf(const TensorProto& weight, bool transposed) {
    DYN_TRY(const DecodedTensor decoded,
            decodeTensor(weight, model_.source, external_ ? &*external_ : nullptr));
    Matrix matrix;
    matrix.transposed = transposed;
    matrix.k = weight.dims[transposed ? 1 : 0];
    matrix.n = weight.dims[transposed ? 0 : 1];
    matrix.elements.resize(static_cast<size_t>(decoded.elementCount));
    if (decoded.elementCount > 0) std::memcpy(matrix.elements.data(), decoded.data, decoded.sizeBytes);
    return matrix;
  }

  Status change(const TensorProto& weight, const std::vector<Reader>& readers, QuantisedWeight& row) {
    DYN_TRY(const Matrix matrix, matrixOf(weight, isTransposed(readers[0])));
    if (matrix.elements.empty()) {
      row.why = "it has no elements";
      return {};
    }
    if (!std::all_of(matrix.elements.begin(), matrix.elements.end(),
                     [](float x) { return std::isfinite(x); })) {
      row.why = "not all elements are finite";
      return {};
    }
    if (options_.bits == 4)
      DYN_CHECK(changeToBlocks(weight, matrix, readers, row));
    else
      DYN_CHECK(changeToColumns(weight, matrix, row));
    if (row.form.empty()) return {};
    isAnyChanged_ = true;
    // Files of old versions list weights among the inputs, too.
    for (const ValueInfoProto& input : graph_.inputs)
      if (input.name == weight.name) edit_.replaced[input.bytes.data()] = "";
    return {};
  }

  Status changeToBlocks(const TensorProto& weight, const Matrix& matrix, const std::vector<Reader>& readers,
                        QuantisedWeight& row) {
    const int64_t block = options_.block, blocks = (matrix.k + block - 1) / block, bytes = block / 2;
    row.bytesAfter = matrix.n * blocks * (bytes + static_cast<int64_t>(sizeof(float)));
    if (row.bytesAfter >= row.bytesBefore) {
      row.why = "it would not be smaller";
      return {};
    }
    std::vector<uint8_t> packed(static_cast<size_t>(matrix.n * blocks * bytes));
    std::vector<float> scales(static_cast<size_t>(matrix.n * blocks));
    double squares = 0, errors = 0;
    for (int64_t column = 0; column < matrix.n; ++column)
      for (int64_t b = 0; b < blocks; ++b) {
        const int64_t first = b * block, end = std::min(matrix.k, first + block);
        float largest = 0;
        for (int64_t i = first; i < end; ++i)
          if (std::abs(matrix.at(i, column)) > std::abs(largest)) largest = matrix.at(i, column);
        const float scale = largest / -8.0f;
        scales[static_cast<size_t>(column * blocks + b)] = scale;
        uint8_t* numbers = &packed[static_cast<size_t>((column * blocks + b) * bytes)];
        for (int64_t i = 0; i < block; ++i) {
          const float x = first + i < end ? matrix.at(first + i, column) : 0.0f;
          const float q = scale != 0 ? std::nearbyint(x / scale) : 0.0f;
          const float number = std::clamp(q, -8.0f, 7.0f);
          numbers[i / 2] |= static_cast<uint8_t>(static_cast<int>(number) + 8) << (i % 2 * 4);
          if (first + i < end) addError(x, number * scale, squares, errors);
        }
      }
    row.relative = squares > 0 ? std::sqrt(errors / squares) : 0;
    row.form = "MatMulNBits, 4 bits, blocks of " + std::to_string(block);
    const std::string numbersName = freshName(row.name + "_q4"), scalesName = freshName(row.name + "_scales");
    DYN_TRY(std::string made, weightFields(model_, tensorOf(numbersName, kUint8, {matrix.n, blocks, bytes},
                                                            packed.data(), packed.size())));
    DYN_TRY(const std::string scalesField,
            weightFields(model_, tensorOf(scalesName, kFloat, {matrix.n, blocks}, scales.data(),
                                          scales.size() * sizeof(float))));
    edit_.replaced[weight.bytes.data()] = made + scalesField;
    for (const Reader& reader : readers) {
      const NodeProto& node = *reader.node;
      if (reader.through) edit_.replaced[reader.through->bytes.data()] = "";
      const bool hasBias = node.inputs.size() > 2 && !node.inputs[2].empty();
      const std::string output(node.outputs[0]);
      NodeMessage product{.op = "MatMulNBits",
                          .inputs = {std::string(node.inputs[0]), numbersName, scalesName},
                          .outputs = {hasBias ? freshName(output + "_product") : output}};
      product.domain = "com.microsoft";
      product.name = node.name;
      product.attributes.integer("K", matrix.k);
      product.attributes.integer("N", matrix.n);
      product.attributes.integer("bits", 4);
      product.attributes.integer("block_size", block);
      std::string fields = nodeFields(product);
      if (hasBias) {
        NodeMessage sum{
            .op = "Add", .inputs = {product.outputs[0], std::string(node.inputs[2])}, .outputs = {output}};
        if (!node.name.empty()) sum.name = std::string(node.name) + "_bias";
        fields += nodeFields(sum);
      }
      edit_.replaced[node.bytes.data()] = std::move(fields);
    }
    return {};
  }

  Status changeToColumns(const TensorProto& weight, const Matrix& matrix, QuantisedWeight& row) {
    row.bytesAfter = matrix.k * matrix.n + matrix.n * static_cast<int64_t>(sizeof(float));
    if (row.bytesAfter >= row.bytesBefore) {
      row.why = "it would not be smaller";
      return {};
    }
    std::vector<int8_t> numbers(matrix.elements.size());
    std::vector<float> scales(static_cast<size_t>(matrix.n));
    double squares = 0, errors = 0;
    for (int64_t column = 0; column < matrix.n; ++column) {
      float largest = 0;
      for (int64_t i = 0; i < matrix.k; ++i) largest = std::max(largest, std::abs(matrix.at(i, column)));
      // Of the smallest numbers it would be 0.
      const float scale = largest / 127.0f > 0 ? largest / 127.0f : 1.0f;
      scales[static_cast<size_t>(column)] = scale;
      for (int64_t i = 0; i < matrix.k; ++i) {
        const float x = matrix.at(i, column), number = std::clamp(std::nearbyint(x / scale), -127.0f, 127.0f);
        const int64_t place = matrix.transposed ? column * matrix.k + i : i * matrix.n + column;
        numbers[static_cast<size_t>(place)] = static_cast<int8_t>(number);
        addError(x, number * scale, squares, errors);
      }
    }
    row.relative = squares > 0 ? std::sqrt(errors / squares) : 0;
    row.form = "DequantizeLinear, 8 bits, a scale for each column";
    const std::string numbersName = freshName(row.name + "_q8"), scalesName = freshName(row.name + "_scales");
    DYN_TRY(const std::string made,
            weightFields(model_, tensorOf(numbersName, kInt8, {weight.dims.begin(), weight.dims.end()},
                                          numbers.data(), numbers.size())));
    DYN_TRY(const std::string scalesField,
            weightFields(model_, tensorOf(scalesName, kFloat, {matrix.n}, scales.data(),
                                          scales.size() * sizeof(float))));
    edit_.replaced[weight.bytes.data()] = made + scalesField;
    NodeMessage node{.op = "DequantizeLinear", .inputs = {numbersName, scalesName}, .outputs = {row.name}};
    node.attributes.integer("axis", matrix.transposed ? 0 : 1);
    edit_.first += nodeFields(node);
    return {};
  }

  static void addError(float x, float made, double& squares, double& errors) {
    squares += static_cast<double>(x) * x;
    errors += static_cast<double>(x - made) * (x - made);
  }

  const Model& model_;
  const GraphProto& graph_;
  const QuantiseOptions& options_;
  const TypesByName& types_;
  std::optional<ExternalData> external_;                   // none: the model lies in memory
  std::unordered_map<Text, std::vector<Reader>> readers_;  // in the model's graph
  std::unordered_set<Text> inBodies_, results_;
  std::unordered_set<std::string> names_;
  bool isAnyChanged_ = false;
  GraphEdit edit_;
  QuantisedModel result_;
};

}  // namespace

Result<QuantisedModel> quantiseWeights(const Model& model, const QuantiseOptions& options,
                                       const TypesByName& types) {
  std::optional<ExternalData> external;
  if (!model.folder.empty()) {  // of a file
    DYN_TRY(external, ExternalData::atFolder(model.folder));
    if (!options.dataRoot.empty()) DYN_CHECK(external->allowLinks(options.dataRoot));
  }
  return Quantiser(model, options, types, std::move(external)).run();
}

}  // namespace dyn::onnx
