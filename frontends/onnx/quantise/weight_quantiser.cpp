#include "frontends/onnx/quantise/weight_quantiser.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "frontends/onnx/quantise/graph_uses.h"
#include "frontends/onnx/quantise/new_fields.h"
#include "frontends/onnx/quantise/signed_bytes.h"

namespace dyn::onnx {
namespace {

// A weight as a matrix of n columns of k elements, whichever way it lies.
struct Matrix {
  std::vector<float> elements;
  int64_t k = 0, n = 0;
  bool transposed = false;  // [n, k]
  float at(int64_t row, int64_t column) const {
    return elements[static_cast<size_t>(transposed ? column * k + row : row * n + column)];
  }
};

// A node that reads a weight, and as which input; `through`: the Transpose between, or null.
struct Reader {
  const NodeProto* node = nullptr;
  size_t input = 0;
  const NodeProto* through = nullptr;
};

class Quantiser {
 public:
  Quantiser(const Model& model, const QuantiseOptions& options, const TypesByName& types,
            std::optional<ExternalData> external)
      : model_(model),
        graph_(*model.graph),
        uses_(*model.graph),
        options_(options),
        types_(types),
        external_(std::move(external)) {}

  Result<QuantisedModel> run() {
    if (options_.bits == 8) DYN_CHECK(hasChannelScales(model_));
    for (const TensorProto& weight : graph_.initializers) DYN_CHECK(look(weight));
    if (options_.bits == 4 && isAnyChanged_) edit_.opsets["com.microsoft"] = 1;
    DYN_TRY(result_.file, editGraph(model_, std::move(edit_)));
    return std::move(result_);
  }

 private:
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
    for (const ValueReader& each : uses_.readers(weight.name)) {
      const Reader reader{each.node, each.input};
      const Text output = reader.node->outputs.empty() ? Text() : reader.node->outputs[0];
      const bool isOwn = !uses_.isReadByBody(output) && !uses_.isResult(output);
      if (weight.dims.size() != 2 || !transposesMatrix(*reader.node) || !isOwn ||
          uses_.readers(output).empty()) {
        readers.push_back(reader);
        continue;
      }
      for (const ValueReader& behind : uses_.readers(output))
        readers.push_back({behind.node, behind.input, reader.node});
    }
    return readers;
  }

  Status look(const TensorProto& weight) {
    if (weight.dims.size() < 2) return noteExternal(weight);
    QuantisedWeight row;
    row.name = weight.name;
    row.bytesBefore = fileBytes(weight);
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
    const int64_t bytes = fileBytes(weight);
    result_.externalBytesBefore += bytes;
    result_.externalBytesAfter += bytes;
    return {};
  }

  std::string whyItStays(const TensorProto& weight, const std::vector<Reader>& readers) const {
    if (weight.dataType != kFloat) return "its elements are " + elementTypeName(weight.dataType);
    if (readers.empty()) return "nothing reads it in the model's graph";
    for (const Reader& reader : readers)
      if (std::string why = whyNot(weight, reader); !why.empty()) return why;
    if (uses_.isReadByBody(weight.name)) return "a body reads it, too";
    if (uses_.isResult(weight.name)) return "it is an output";
    for (const Reader& reader : readers)
      if (isTransposed(reader) != isTransposed(readers[0])) return "it is read both ways";
    return "";
  }

  Result<Matrix> matrixOf(const TensorProto& weight, bool transposed) {
    Matrix matrix;
    DYN_TRY(matrix.elements, floatsOf(model_, weight, external_));
    matrix.transposed = transposed;
    matrix.k = weight.dims[transposed ? 1 : 0];
    matrix.n = weight.dims[transposed ? 0 : 1];
    return matrix;
  }

  Status change(const TensorProto& weight, const std::vector<Reader>& readers, QuantisedWeight& row) {
    DYN_TRY(const Matrix matrix, matrixOf(weight, isTransposed(readers[0])));
    if (matrix.elements.empty()) {
      row.why = "it has no elements";
      return {};
    }
    if (!areFinite(matrix.elements)) {
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
    const std::string numbersName = uses_.freshName(row.name + "_q4"),
                      scalesName = uses_.freshName(row.name + "_scales");
    DYN_TRY(std::string made,
            weightFields(model_, {numbersName, kUint8, {matrix.n, blocks, bytes}, packed.data()}));
    DYN_TRY(const std::string scalesField,
            weightFields(model_, {scalesName, kFloat, {matrix.n, blocks}, scales.data()}));
    edit_.replaced[weight.bytes.data()] = made + scalesField;
    for (const Reader& reader : readers) {
      const NodeProto& node = *reader.node;
      if (reader.through) edit_.replaced[reader.through->bytes.data()] = "";
      const bool hasBias = node.inputs.size() > 2 && !node.inputs[2].empty();
      const std::string output(node.outputs[0]);
      NodeMessage product{.op = "MatMulNBits",
                          .inputs = {std::string(node.inputs[0]), numbersName, scalesName},
                          .outputs = {hasBias ? uses_.freshName(output + "_product") : output}};
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
    const size_t columns = matrix.transposed ? 0 : 1;
    const SignedBytes bytes = signedBytes(matrix.elements, weight.dims, columns);
    row.relative = bytes.relative;
    row.form = "DequantizeLinear, 8 bits, a scale for each column";
    const std::string numbersName = uses_.freshName(row.name + "_q8"),
                      scalesName = uses_.freshName(row.name + "_scales");
    DYN_TRY(
        const std::string made,
        weightFields(model_,
                     {numbersName, kInt8, {weight.dims.begin(), weight.dims.end()}, bytes.numbers.data()}));
    DYN_TRY(const std::string scalesField,
            weightFields(model_, {scalesName, kFloat, {matrix.n}, bytes.scales.data()}));
    edit_.replaced[weight.bytes.data()] = made + scalesField;
    NodeMessage node{.op = "DequantizeLinear", .inputs = {numbersName, scalesName}, .outputs = {row.name}};
    node.attributes.integer("axis", static_cast<int64_t>(columns));
    edit_.first += nodeFields(node);
    return {};
  }

  static void addError(float x, float made, double& squares, double& errors) {
    squares += static_cast<double>(x) * x;
    errors += static_cast<double>(x - made) * (x - made);
  }

  const Model& model_;
  const GraphProto& graph_;
  GraphUses uses_;
  const QuantiseOptions& options_;
  const TypesByName& types_;
  std::optional<ExternalData> external_;  // none: the model lies in memory
  bool isAnyChanged_ = false;
  GraphEdit edit_;
  QuantisedModel result_;
};

}  // namespace

Result<QuantisedModel> quantiseWeights(const Model& model, const QuantiseOptions& options,
                                       const TypesByName& types) {
  DYN_TRY(std::optional<ExternalData> external, externalDataOf(model, options.dataRoot));
  return Quantiser(model, options, types, std::move(external)).run();
}

}  // namespace dyn::onnx
