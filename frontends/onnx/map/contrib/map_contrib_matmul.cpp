// com.microsoft: products with what stands around them, and products with weights of few bits.
#include "frontends/onnx/map/map_functions.h"

namespace dyn::onnx {

namespace {

std::string loweredProduct(std::string text) {
  for (char& ch : text)
    if (ch >= 'A' && ch <= 'Z') ch = static_cast<char>(ch - 'A' + 'a');
  return text;
}

// Batch axes that come after the first of the matrix: [m, b..., k] → [b..., m, k].
ValueId batchFirst(MapContext& c, ValueId x) {
  const int rank = c.inferredRank(x);
  if (rank < 2) {
    c.unsupported("a batch that is transposed, where the rank is not known");
    return kNoValue;
  }
  std::vector<int64_t> perm;
  for (int64_t axis = 1; axis + 1 < rank; ++axis) perm.push_back(axis);
  perm.push_back(0);
  perm.push_back(rank - 1);
  return transposed(c, x, std::move(perm));
}

// a b with per-tensor or per-column parameters, all in integers: [.., m, k] x [k, n] → f32.
ValueId integerProduct(MapContext& c, ValueId a, ValueId aScale, ValueId aZero, ValueId b, ValueId bScale,
                       ValueId bZero, ValueId bias) {
  const ValueId sums = c.emit("matmul_integer", {a, b, aZero, bZero});
  const ValueId y = c.emit("mul", {castTo(c, sums, Dtype::f32), c.emit("mul", {aScale, bScale})});
  return bias == kNoValue ? y : c.emit("add", {y, bias});
}

}  // namespace

ValueId activated(MapContext& c, ValueId x, std::string name, const std::vector<double>& parameters) {
  name = loweredProduct(std::move(name));
  const auto parameter = [&](size_t i, double fallback) {
    return i < parameters.size() ? parameters[i] : fallback;
  };
  if (name.empty()) return x;
  if (name == "relu" || name == "sigmoid" || name == "tanh" || name == "softplus" || name == "softsign")
    return c.emit(name, {x});
  if (name == "leakyrelu") return c.emit("leaky_relu", {x}, {{"alpha", parameter(0, 0.01)}});
  if (name == "elu") return c.emit("elu", {x}, {{"alpha", parameter(0, 1)}});
  if (name == "thresholdedrelu") return c.emit("thresholded_relu", {x}, {{"alpha", parameter(0, 1)}});
  if (name == "clip")
    return c.emit("clip", {x, c.number(parameter(0, -3.4e38), x), c.number(parameter(1, 3.4e38), x)});
  if (name == "hardsigmoid")
    return c.emit("hard_sigmoid", {x}, {{"alpha", parameter(0, 0.2)}, {"beta", parameter(1, 0.5)}});
  if (name == "gelu") return c.emit("gelu", {x});
  c.unsupported("activation " + quotedText(name));
  return kNoValue;
}

// FusedMatMul (TransposeMatMul, FusedMatMulActivation): activation(alpha * a' b')
void mapFusedMatMul(MapContext& c) {
  ValueId a = c.input(0), b = c.input(1);
  if (c.integer("transBatchA", 0) != 0) a = batchFirst(c, a);
  if (c.integer("transBatchB", 0) != 0) b = batchFirst(c, b);
  Attributes attributes;
  // A vector has nothing to transpose.
  if (c.integer("transA", 0) != 0 && c.inferredRank(a) != 1) attributes.set("transpose_a", int64_t{1});
  if (c.integer("transB", 0) != 0 && c.inferredRank(b) != 1) attributes.set("transpose_b", int64_t{1});
  ValueId y = c.emit("matmul", {a, b}, std::move(attributes));
  const double alpha = c.real("alpha", 1);
  if (alpha != 1) y = c.emit("mul", {y, c.number(alpha, y)});
  if (c.hasAttribute("activation")) {
    const std::vector<double> parameters = {c.real("activation_alpha", 0.01), c.real("activation_beta", 0)};
    y = activated(c, y, c.text("activation", ""), parameters);
  }
  c.setOutput(0, y);
}

void mapFusedGemm(MapContext& c) {
  mapGemm(c);
  std::vector<double> parameters;
  for (const char* name : {"activation_alpha", "activation_beta", "activation_gamma"})
    if (c.hasAttribute(name)) parameters.push_back(c.real(name, 0));
  if (!c.failed()) c.setOutput(0, activated(c, c.outputs()[0], c.text("activation", ""), parameters));
}

// activation(conv(x, w, b) + z)
void mapFusedConv(MapContext& c) {
  ValueId y = c.emit("conv", {c.input(0), c.input(1), c.optionalInput(2)}, convolutionAttributes(c));
  if (c.hasInput(3)) y = c.emit("add", {y, c.input(3)});
  c.setOutput(0, activated(c, y, c.text("activation", ""), c.reals("activation_params")));
}

// The kernel takes f32, and zero points that are packed as the weights are; all else is spelt out.
bool takesPackedWeights(MapContext& c, int64_t bits, int64_t block) {
  const bool plainZero = !c.hasInput(3) || c.dtypeOr(c.input(3), Dtype::u8) == Dtype::u8;
  return bits != 2 && block % 2 == 0 && plainZero && c.dtypeOr(c.input(0), Dtype::f32) == Dtype::f32 &&
         c.dtypeOr(c.input(2), Dtype::f32) == Dtype::f32;
}

// a [.., k] times weights of 2, 4 or 8 bits in blocks along k: b [n, blocks, bytes], scales and zero points
// [n, blocks].
void mapMatMulNBits(MapContext& c) {
  const int64_t bits = c.integer("bits", 4), block = c.requiredInteger("block_size");
  const int64_t k = c.requiredInteger("K"), n = c.requiredInteger("N");
  // The least accuracy that the model asks for: 4 lets rows be of 8 bits, all else is computed in f32.
  const bool roundsRows = c.integer("accuracy_level", 0) == 4;
  if (c.integer("weight_prepacked", 0) != 0) c.unsupported("weights packed for one device");
  if (c.hasInput(4)) c.unsupported("weights in groups of another order (g_idx)");
  if (bits != 2 && bits != 4 && bits != 8) c.unsupported("weights of " + std::to_string(bits) + " bits");
  if (block < 1 || k < 1 || n < 1) c.fail(DiagnosticId::badAttribute, "K, N and block_size are positive");
  if (c.failed()) return;
  const int64_t blocks = (k + block - 1) / block, perByte = 8 / bits;
  const ValueId a = c.input(0);
  if (takesPackedWeights(c, bits, block)) {
    const int64_t zeroBytes = (blocks + perByte - 1) / perByte;
    std::vector<ValueId> operands = {a,
                                     reshaped(c, c.input(1), c.integersValue({n, blocks, block / perByte})),
                                     reshaped(c, c.input(2), c.integersValue({n, blocks}))};
    if (c.hasInput(3)) operands.push_back(reshaped(c, c.input(3), c.integersValue({n, zeroBytes})));
    Attributes attributes{{"bits", bits}, {"block", block}};
    if (roundsRows && bits == 4) attributes.set("round_rows", int64_t{1});
    ValueId y = c.emit("matmul_nbits", std::move(operands), std::move(attributes));
    if (c.hasInput(5)) y = c.emit("add", {y, c.input(5)});
    return c.setOutput(0, y);
  }
  const Dtype dtype = c.dtypeOr(a, Dtype::f32);
  // [n, bytes] → [n, bytes * perByte], the low bits first.
  const auto unpacked = [&](ValueId packed, int64_t columns) {
    packed = castTo(c, packed, Dtype::i32);
    std::vector<ValueId> parts;
    for (int64_t i = 0; i < perByte; ++i) {
      const ValueId divided =
          i == 0 ? packed : c.emit("div", {packed, c.numberOf(1 << (i * bits), Dtype::i32)});
      const ValueId low = bits == 8 ? divided : c.emit("mod", {divided, c.numberOf(1 << bits, Dtype::i32)});
      parts.push_back(unsqueezed(c, low, {2}));
    }
    const ValueId together = parts.size() == 1 ? parts[0] : c.emit("concat", parts, {{"axis", int64_t{2}}});
    return castTo(c, reshaped(c, together, c.integersValue({n, columns})), dtype);
  };
  const int64_t padded = blocks * block;
  const ValueId bytes = reshaped(c, c.input(1), c.integersValue({n, padded / perByte}));
  ValueId weights = reshaped(c, unpacked(bytes, padded), c.integersValue({n, blocks, block}));
  const ValueId each = c.integersValue({n, blocks, 1});
  ValueId zero = c.numberOf(static_cast<double>(int64_t{1} << (bits - 1)), dtype);
  if (c.hasInput(3)) {
    zero = c.input(3);
    if (c.dtypeOr(zero, Dtype::u8) == Dtype::u8) {
      const int64_t bytesPerRow = (blocks + perByte - 1) / perByte;
      zero = unpacked(reshaped(c, zero, c.integersValue({n, bytesPerRow})), bytesPerRow * perByte);
      zero = c.emit("slice", {zero, c.integersValue({0}), c.integersValue({blocks}), c.integersValue({1})});
    }
    zero = reshaped(c, zero, each);
  }
  weights = c.emit("mul", {c.emit("sub", {weights, zero}), reshaped(c, c.input(2), each)});
  weights = reshaped(c, weights, c.integersValue({n, padded}));
  if (padded != k)
    weights = c.emit("slice", {weights, c.integersValue({0}), c.integersValue({k}), c.integersValue({1})});
  ValueId y = c.emit("matmul", {a, weights}, {{"transpose_b", int64_t{1}}});
  if (c.hasInput(5)) y = c.emit("add", {y, c.input(5)});
  c.setOutput(0, y);
}

// a, b, their scales, their zero points, bias
void mapMatMulIntegerToFloat(MapContext& c) {
  c.setOutput(0, integerProduct(c, c.input(0), c.input(2), c.optionalInput(4), c.input(1), c.input(3),
                                c.optionalInput(5), c.optionalInput(6)));
}

// a is quantised by its own range; b, its scale, its zero point, bias
void mapDynamicQuantizeMatMul(MapContext& c) {
  const std::vector<ValueId> a = c.emitMany("dynamic_quantize_linear", {c.input(0)}, {}, 3);
  c.setOutput(
      0, integerProduct(c, a[0], a[1], a[2], c.input(1), c.input(2), c.optionalInput(3), c.optionalInput(4)));
}

}  // namespace dyn::onnx
