#include "frontends/onnx/map/map_table.h"

#include <algorithm>

#include "compiler/ops/op_table.h"
#include "frontends/onnx/map/map_functions.h"

namespace dyn::onnx {
namespace {

// Operators of ONNX Runtime.
constexpr std::string_view kContrib = "com.microsoft";

constexpr MapRow ofSizes(MapRow row) {
  row.sizes = SizeRole::computed;
  return row;
}
constexpr MapRow givesSizes(MapRow row) {
  row.sizes = SizeRole::given;
  return row;
}

constexpr MapRow kMapRows[] = {
    {"Abs", "abs"},
    {"Acos", "acos"},
    {"Acosh", "acosh"},
    ofSizes({"Add", "add"}),
    {"Affine", "", mapAffine},
    {"AffineGrid", "affine_grid"},
    {"And", "logical_and"},
    {"ArgMax", "argmax"},
    {"ArgMin", "argmin"},
    {"Asin", "asin"},
    {"Asinh", "asinh"},
    {"Atan", "atan"},
    {"Atanh", "atanh"},
    {"Attention", "", mapAttention},
    {"AveragePool", "average_pool"},
    {"BatchNormalization", "", mapBatchNormalization, "momentum spatial"},
    {"Bernoulli", "", mapBernoulli},
    {"BitCast", "bitcast"},
    {"BitShift", "", mapBitShift},
    {"BitwiseAnd", "bit_and"},
    {"BitwiseNot", "bit_not"},
    {"BitwiseOr", "bit_or"},
    {"BitwiseXor", "bit_xor"},
    {"BlackmanWindow", "", mapBlackmanWindow},
    ofSizes({"Cast", "", mapCast}),
    {"CastLike", "", mapCastLike},
    {"CausalConvWithState", "", mapCausalConvWithState},
    ofSizes({"Ceil", "ceil"}),
    {"Celu", "celu"},
    {"CenterCropPad", "center_crop_pad"},
    {"Clip", "", mapClip},
    {"Col2Im", "col2im"},
    {"Compress", "", mapCompress},
    ofSizes({"Concat", "", mapConcat}),
    {"ConcatFromSequence", "", mapConcatFromSequence},
    {"Constant", "", mapConstant},
    {"ConstantOfShape", "", mapConstantOfShape},
    {"Conv", "conv"},
    {"ConvInteger", "", mapConvInteger},
    {"ConvTranspose", "conv_transpose"},
    {"Cos", "cos"},
    {"Cosh", "cosh"},
    {"Crop", "", mapCrop},
    {"CumProd", "cumprod"},
    {"CumSum", "cumsum"},
    {"DFT", "", mapDft},
    {"DeformConv", "deform_conv"},
    {"DepthToSpace", "", mapDepthToSpace},
    {"DequantizeLinear", "", mapQuantizeLinear},
    {"Det", "det"},
    ofSizes({"Div", "div"}),
    {"Dropout", "", mapDropout, "seed ratio is_test"},
    {"DynamicQuantizeLinear", "dynamic_quantize_linear"},
    {"DynamicSlice", "slice"},
    {"Einsum", "einsum"},
    {"Elu", "elu"},
    {"Equal", "equal"},
    {"Erf", "erf"},
    {"Exp", "exp"},
    {"Expand", "expand"},
    {"EyeLike", "eye_like"},
    {"Flatten", "", mapFlatten},
    ofSizes({"Floor", "floor"}),
    {"GRU", "", mapGru},
    ofSizes({"Gather", "", mapGather}),
    {"GatherElements", "gather_elements"},
    {"GatherND", "gather_nd"},
    {"Gelu", "gelu"},
    {"Gemm", "", mapGemm},
    {"GlobalAveragePool", "", mapGlobalPool},
    {"GlobalLpPool", "", mapGlobalLpPool},
    {"GlobalMaxPool", "", mapGlobalPool},
    {"Greater", "greater"},
    {"GreaterOrEqual", "greater_equal"},
    {"GridSample", "", mapGridSample},
    {"GroupNormalization", "", mapGroupNormalization, "stash_type"},
    {"HammingWindow", "", mapHammingWindow},
    {"HannWindow", "", mapHannWindow},
    {"HardSigmoid", "hard_sigmoid"},
    {"HardSwish", "hard_swish"},
    {"Hardmax", "", mapSoftmax},
    {"Identity", "", mapIdentity},
    {"ImageDecoder", "", mapImageDecoder},
    {"ImageScaler", "", mapImageScaler},
    {"InstanceNormalization", "instance_norm"},
    {"IsInf", "is_inf"},
    {"IsNaN", "is_nan"},
    {"LRN", "lrn"},
    {"LSTM", "", mapLstm},
    {"LayerNormalization", "layer_norm", nullptr, "stash_type"},
    {"LeakyRelu", "leaky_relu"},
    {"Less", "less"},
    {"LessOrEqual", "less_equal"},
    {"LinearAttention", "", mapLinearAttention, "chunk_size"},
    {"Log", "log"},
    {"LogSoftmax", "", mapSoftmax},
    {"LpNormalization", "lp_normalization"},
    {"LpPool", "lp_pool"},
    {"MatMul", "matmul"},
    {"MatMulInteger", "matmul_integer"},
    ofSizes({"Max", "", mapMax}),
    {"MaxPool", "max_pool"},
    {"MaxRoiPool", "", mapMaxRoiPool},
    {"MaxUnpool", "", mapMaxUnpool},
    {"Mean", "", mapMean},
    {"MeanVarianceNormalization", "mean_variance_normalization"},
    {"MelWeightMatrix", "", mapMelWeightMatrix},
    ofSizes({"Min", "", mapMin}),
    {"Mish", "mish"},
    ofSizes({"Mod", "", mapMod}),
    ofSizes({"Mul", "mul"}),
    {"Multinomial", "", mapMultinomial},
    ofSizes({"Neg", "neg"}),
    {"NegativeLogLikelihoodLoss", "", mapLosses},
    {"NonMaxSuppression", "non_max_suppression"},
    {"NonZero", "nonzero"},
    {"Not", "logical_not"},
    {"OneHot", "", mapOneHot},
    {"Optional", "", mapOptional},
    {"OptionalGetElement", "optional_get"},
    {"OptionalHasElement", "optional_has"},
    {"Or", "logical_or"},
    {"PRelu", "prelu"},
    {"Pad", "", mapPad},
    {"ParametricSoftplus", "", mapParametricSoftplus},
    ofSizes({"Pow", "pow"}),
    {"QLinearConv", "", mapQLinearConv},
    {"QLinearMatMul", "", mapQLinearMatMul},
    {"QuantizeLinear", "", mapQuantizeLinear},
    {"RMSNormalization", "rms_norm", nullptr, "stash_type"},
    {"RNN", "", mapRnn},
    {"RandomNormal", "", mapRandomNormal},
    {"RandomNormalLike", "", mapRandomNormalLike},
    {"RandomUniform", "", mapRandomUniform},
    {"RandomUniformLike", "", mapRandomUniformLike},
    {"Range", "", mapRange},
    {"Reciprocal", "reciprocal"},
    {"ReduceL1", "", mapReduce},
    {"ReduceL2", "", mapReduce},
    {"ReduceLogSum", "", mapReduce},
    {"ReduceLogSumExp", "", mapReduce},
    {"ReduceMax", "", mapReduce},
    {"ReduceMean", "", mapReduce},
    {"ReduceMin", "", mapReduce},
    {"ReduceProd", "", mapReduce},
    {"ReduceSum", "", mapReduce},
    {"ReduceSumSquare", "", mapReduce},
    {"RegexFullMatch", "regex_full_match"},
    {"Relu", "relu"},
    ofSizes({"Reshape", "reshape"}),
    {"Resize", "", mapResize},
    {"ReverseSequence", "reverse_sequence"},
    {"RoiAlign", "", mapRoiAlign},
    {"RotaryEmbedding", "", mapRotaryEmbedding},
    {"Round", "round"},
    {"STFT", "", mapStft},
    {"Scale", "", mapScale},
    {"ScaledTanh", "", mapScaledTanh},
    {"Scatter", "", mapScatter},
    {"ScatterElements", "", mapScatter},
    {"ScatterND", "", mapScatter},
    {"Selu", "selu"},
    {"SequenceAt", "list_at"},
    {"SequenceConstruct", "", mapSequenceConstruct},
    {"SequenceEmpty", "", mapSequenceEmpty},
    {"SequenceErase", "list_erase"},
    {"SequenceInsert", "list_insert"},
    {"SequenceLength", "list_length"},
    givesSizes({"Shape", "shape"}),
    {"Shrink", "", mapShrink},
    {"Sigmoid", "sigmoid"},
    {"Sign", "sign"},
    {"SimplifiedLayerNormalization", "", mapSimplifiedNormalization},
    {"Sin", "sin"},
    {"Sinh", "sinh"},
    {"Size", "size"},
    ofSizes({"Slice", "", mapSlice}),
    {"Softmax", "", mapSoftmax},
    {"SoftmaxCrossEntropyLoss", "", mapLosses},
    {"Softplus", "softplus"},
    {"Softsign", "softsign"},
    {"SpaceToDepth", "", mapSpaceToDepth},
    {"Split", "", mapSplit},
    {"SplitToSequence", "", mapSplitToSequence},
    {"Sqrt", "sqrt"},
    ofSizes({"Squeeze", "", mapSqueeze}),
    {"StringConcat", "string_concat"},
    {"StringNormalizer", "", mapStringNormalizer, "locale"},
    {"StringSplit", "string_split"},
    ofSizes({"Sub", "sub"}),
    {"Sum", "", mapSum},
    {"SwiGLU", "", mapSwiGlu},
    {"Swish", "", mapSwish},
    {"Tan", "tan"},
    {"Tanh", "tanh"},
    {"TensorScatter", "tensor_scatter"},
    {"TfIdfVectorizer", "", mapTfIdfVectorizer},
    {"ThresholdedRelu", "thresholded_relu"},
    {"Tile", "tile"},
    {"TopK", "", mapTopK},
    {"Transpose", "transpose"},
    {"Trilu", "trilu"},
    {"Unique", "unique"},
    ofSizes({"Unsqueeze", "", mapUnsqueeze}),
    {"Upsample", "", mapUpsample},
    {"Where", "where"},
    {"Xor", "logical_xor"},
    {"ArrayFeatureExtractor", "", mapArrayFeatureExtractor, "", "ai.onnx.ml"},
    {"Binarizer", "", mapBinarizer, "", "ai.onnx.ml"},
    {"CastMap", "", mapCastMap, "", "ai.onnx.ml"},
    {"CategoryMapper", "", mapCategoryMapper, "", "ai.onnx.ml"},
    {"DictVectorizer", "", mapDictVectorizer, "", "ai.onnx.ml"},
    {"FeatureVectorizer", "", mapFeatureVectorizer, "", "ai.onnx.ml"},
    {"Imputer", "", mapImputer, "", "ai.onnx.ml"},
    {"LabelEncoder", "", mapLabelEncoder, "", "ai.onnx.ml"},
    {"LinearClassifier", "", mapLinearClassifier, "", "ai.onnx.ml"},
    {"LinearRegressor", "", mapLinearRegressor, "", "ai.onnx.ml"},
    {"Normalizer", "", mapNormalizer, "", "ai.onnx.ml"},
    {"OneHotEncoder", "", mapOneHotEncoder, "", "ai.onnx.ml"},
    {"SVMClassifier", "", mapSvmClassifier, "", "ai.onnx.ml"},
    {"SVMRegressor", "", mapSvmRegressor, "", "ai.onnx.ml"},
    {"Scaler", "", mapScaler, "", "ai.onnx.ml"},
    {"TreeEnsemble", "", mapTreeEnsemble, "", "ai.onnx.ml"},
    {"TreeEnsembleClassifier", "", mapTreeEnsembleClassifier, "", "ai.onnx.ml"},
    {"TreeEnsembleRegressor", "", mapTreeEnsembleRegressor, "", "ai.onnx.ml"},
    {"ZipMap", "", mapZipMap, "", "ai.onnx.ml"},
    {"Adagrad", "", mapAdagrad, "", "ai.onnx.preview.training"},
    {"Adam", "", mapAdam, "", "ai.onnx.preview.training"},
    {"Momentum", "", mapMomentum, "", "ai.onnx.preview.training"},
    {"Attention", "", mapContribAttention, "", kContrib},
    {"BiasAdd", "", mapBiasAdd, "", kContrib},
    {"BiasGelu", "", mapBiasGelu, "", kContrib},
    {"BiasSplitGelu", "", mapBiasSplitGelu, "", kContrib},
    {"BranchwiseRMSNorm", "", mapBranchwiseRmsNorm, "", kContrib},
    {"CDist", "", mapCDist, "", kContrib},
    {"CausalConvWithState", "", mapContribCausalConv, "", kContrib},
    {"ConvTransposeWithDynamicPads", "", mapConvTransposeWithDynamicPads, "", kContrib},
    {"CropAndResize", "", mapCropAndResize, "", kContrib},
    {"DecoderMaskedMultiHeadAttention", "", mapDecoderMaskedAttention, "", kContrib},
    {"DequantizeLinear", "", mapQuantizeLinear, "", kContrib},
    {"DynamicQuantizeLSTM", "", mapLstm, "", kContrib},
    {"DynamicQuantizeMatMul", "", mapDynamicQuantizeMatMul, "", kContrib},
    {"EmbedLayerNormalization", "", mapEmbedLayerNormalization, "", kContrib},
    {"ExpandDims", "", mapExpandDims, "", kContrib},
    {"FastGelu", "", mapBiasGelu, "", kContrib},
    {"FusedConv", "", mapFusedConv, "", kContrib},
    {"FusedGemm", "", mapFusedGemm, "", kContrib},
    {"FusedMatMul", "", mapFusedMatMul, "", kContrib},
    {"FusedMatMulActivation", "", mapFusedMatMul, "activation_axis activation_gamma", kContrib},
    {"GatedAdd", "", mapGatedAdd, "", kContrib},
    {"GatedRMSNorm", "", mapGatedRmsNorm, "", kContrib},
    {"GatherBlockQuantized", "", mapGatherBlockQuantized, "", kContrib},
    {"GatherND", "gather_nd", nullptr, "", kContrib},
    {"Gelu", "gelu", nullptr, "", kContrib},
    {"GridSample", "", mapGridSample, "", kContrib},
    {"GroupQueryAttention", "", mapGroupQueryAttention, "", kContrib},
    {"HyperConnectionPostMix", "", mapHyperConnectionPostMix, "", kContrib},
    {"HyperConnectionPreMix", "", mapHyperConnectionPreMix, "", kContrib},
    {"Inverse", "inverse", nullptr, "", kContrib},
    {"LayerNormalization", "layer_norm", nullptr, "stash_type", kContrib},
    {"LinearAttention", "", mapContribLinearAttention, "chunk_size", kContrib},
    {"LinearAttentionGate", "", mapLinearAttentionGate, "", kContrib},
    {"MRotaryEmbedding", "", mapMRotaryEmbedding, "", kContrib},
    {"MatMulBnb4", "", mapMatMulBnb4, "", kContrib},
    {"MatMulInteger16", "", mapMatMulInteger16, "", kContrib},
    {"MatMulIntegerToFloat", "", mapMatMulIntegerToFloat, "", kContrib},
    {"MatMulNBits", "", mapMatMulNBits, "", kContrib},
    {"MoE", "", mapMoE, "", kContrib},
    {"MultiHeadAttention", "", mapMultiHeadAttention, "", kContrib},
    {"NGramRepeatBlock", "", mapNGramRepeatBlock, "", kContrib},
    {"NhwcMaxPool", "", mapNhwcMaxPool, "", kContrib},
    {"Pad", "", mapContribPad, "", kContrib},
    {"QAttention", "", mapQAttention, "", kContrib},
    {"QGemm", "", mapQGemm, "", kContrib},
    {"QLinearAdd", "", mapQLinearAdd, "", kContrib},
    {"QLinearAveragePool", "", mapQLinearPool, "", kContrib},
    {"QLinearConcat", "", mapQLinearConcat, "", kContrib},
    {"QLinearConv", "", mapQLinearConv, "", kContrib},
    {"QLinearGlobalAveragePool", "", mapQLinearPool, "", kContrib},
    {"QLinearLeakyRelu", "", mapQLinearUnary, "", kContrib},
    {"QLinearMul", "", mapQLinearMul, "", kContrib},
    {"QLinearReduceMean", "", mapQLinearReduceMean, "", kContrib},
    {"QLinearSigmoid", "", mapQLinearUnary, "", kContrib},
    {"QLinearSoftmax", "", mapQLinearSoftmax, "", kContrib},
    {"QLinearWhere", "", mapQLinearWhere, "", kContrib},
    {"QMoE", "", mapQMoE, "", kContrib},
    {"QuantizeLinear", "", mapQuantizeLinear, "", kContrib},
    {"QuickGelu", "", mapQuickGelu, "", kContrib},
    {"Range", "", mapContribRange, "", kContrib},
    {"RotaryEmbedding", "", mapContribRotaryEmbedding, "", kContrib},
    {"ScaledSiLU", "", mapScaledSilu, "", kContrib},
    {"SimplifiedLayerNormalization", "", mapSimplifiedNormalization, "", kContrib},
    {"SkipLayerNormalization", "", mapSkipNormalization, "", kContrib},
    {"SkipSimplifiedLayerNormalization", "", mapSkipNormalization, "", kContrib},
    {"SparseToDenseMatMul", "", mapSparseToDenseMatMul, "", kContrib},
    {"Tokenizer", "", mapTokenizer, "", kContrib},
    {"TransposeMatMul", "", mapFusedMatMul, "", kContrib},
    {"Trilu", "trilu", nullptr, "", kContrib},
    {"UnfoldTensor", "", mapUnfoldTensor, "", kContrib},
    {"Unique", "", mapContribUnique, "", kContrib},
};

bool listed(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

// nullopt: it says that it is not given.
std::optional<AttributeValue> attributeAs(MapContext& c, const AttributeSpec& spec) {
  switch (spec.kind) {
    case AttributeKind::integer:
      return c.integer(spec.name, 0);
    case AttributeKind::real:
      return c.real(spec.name, 0);
    case AttributeKind::string:
      return c.text(spec.name, "");
    case AttributeKind::integers:
      return c.integers(spec.name);
    case AttributeKind::reals:
      return c.reals(spec.name);
    case AttributeKind::strings:
      return c.texts(spec.name);
    case AttributeKind::dtype:
      if (const std::optional<Dtype> dtype = c.dtype(spec.name)) return *dtype;
      return std::nullopt;
    case AttributeKind::tensor:
      return c.tensor(spec.name).value_or(HostTensor());
    case AttributeKind::dims:
    case AttributeKind::type:
      break;
  }
  c.fail(DiagnosticId::internalError, "attribute " + std::string(spec.name) + " cannot come from a file");
  return int64_t{0};
}

}  // namespace

std::span<const MapRow> mapTable() { return kMapRows; }

const MapRow* findMapRow(std::string_view domain, std::string_view name) {
  const auto key = [](const MapRow& row) { return std::pair(row.domain, row.name); };
  const auto found =
      std::lower_bound(std::begin(kMapRows), std::end(kMapRows), std::pair(domain, name),
                       [&](const MapRow& row, const auto& wanted) { return key(row) < wanted; });
  return found != std::end(kMapRows) && key(*found) == std::pair(domain, name) ? found : nullptr;
}

void mapDirect(MapContext& c, std::string_view target) {
  std::vector<ValueId> operands;
  for (int i = 0; i < c.inputCount(); ++i) operands.push_back(c.optionalInput(i));
  Attributes attributes;
  const OpDef* def = findOp(target);
  if (def != nullptr) {
    for (const AttributeSpec& spec : def->attributes)
      if (std::optional<AttributeValue> value; c.hasAttribute(spec.name) && (value = attributeAs(c, spec)))
        attributes.set(std::string(spec.name), std::move(*value));
  }
  int outputs = c.outputCount();
  while (outputs > 1 && !c.wantsOutput(outputs - 1)) --outputs;
  const int results = def == nullptr || def->results < 0 ? outputs : def->results;
  const std::vector<ValueId> values =
      c.emitMany(target, std::move(operands), std::move(attributes), static_cast<size_t>(results));
  for (int i = 0; i < std::min(outputs, results); ++i) c.setOutput(i, values[static_cast<size_t>(i)]);
}

void runMapRow(const MapRow& row, MapContext& c) {
  const bool isOld = row.domain.empty() && mapOldVersion(c);
  if (!isOld && row.map != nullptr) row.map(c);
  if (!isOld && row.map == nullptr) mapDirect(c, row.target);
  for (const std::string& name : c.unreadAttributes()) {
    if (listed(row.ignored, name)) continue;
    c.fail(DiagnosticId::badAttribute, "attribute " + quotedText(name) + " is not known for this operator");
  }
}

}  // namespace dyn::onnx
