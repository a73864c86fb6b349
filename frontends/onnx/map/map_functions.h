// The mappings that are more than an operator's name, by family; map_table.cpp lists them.
#pragma once

#include "frontends/onnx/map/map_context.h"

namespace dyn::onnx {

#define DYN_ONNX_MAPPING(name) void map##name(MapContext& c)
// map_old_versions.cpp: nodes of operator sets below 7; false where nothing but the table's row is needed.
bool mapOldVersion(MapContext& c);
// map_elementwise.cpp
DYN_ONNX_MAPPING(Max);
DYN_ONNX_MAPPING(Min);
DYN_ONNX_MAPPING(Sum);
DYN_ONNX_MAPPING(Mean);
DYN_ONNX_MAPPING(Clip);
DYN_ONNX_MAPPING(Cast);
DYN_ONNX_MAPPING(CastLike);
DYN_ONNX_MAPPING(BitShift);
DYN_ONNX_MAPPING(Mod);
DYN_ONNX_MAPPING(Shrink);
DYN_ONNX_MAPPING(Swish);
DYN_ONNX_MAPPING(Identity);
// map_constants.cpp
DYN_ONNX_MAPPING(Constant);
DYN_ONNX_MAPPING(ConstantOfShape);
DYN_ONNX_MAPPING(Range);
DYN_ONNX_MAPPING(OneHot);
DYN_ONNX_MAPPING(HannWindow);
DYN_ONNX_MAPPING(HammingWindow);
DYN_ONNX_MAPPING(BlackmanWindow);
// map_shape.cpp
DYN_ONNX_MAPPING(Flatten);
DYN_ONNX_MAPPING(Gather);
DYN_ONNX_MAPPING(Compress);
DYN_ONNX_MAPPING(Squeeze);
DYN_ONNX_MAPPING(Unsqueeze);
DYN_ONNX_MAPPING(Slice);
DYN_ONNX_MAPPING(Split);
DYN_ONNX_MAPPING(Concat);
DYN_ONNX_MAPPING(Pad);
DYN_ONNX_MAPPING(Upsample);
DYN_ONNX_MAPPING(Resize);
DYN_ONNX_MAPPING(DepthToSpace);
DYN_ONNX_MAPPING(SpaceToDepth);
DYN_ONNX_MAPPING(TopK);
DYN_ONNX_MAPPING(Scatter);
// map_reduce.cpp
DYN_ONNX_MAPPING(Reduce);
DYN_ONNX_MAPPING(Softmax);
DYN_ONNX_MAPPING(GlobalPool);
DYN_ONNX_MAPPING(GlobalLpPool);
// map_nn.cpp
DYN_ONNX_MAPPING(Gemm);
DYN_ONNX_MAPPING(BatchNormalization);
DYN_ONNX_MAPPING(GroupNormalization);
DYN_ONNX_MAPPING(Losses);
// map_quant.cpp
DYN_ONNX_MAPPING(QuantizeLinear);
DYN_ONNX_MAPPING(QLinearMatMul);
DYN_ONNX_MAPPING(QLinearConv);
DYN_ONNX_MAPPING(ConvInteger);
// map_sequence.cpp
DYN_ONNX_MAPPING(SequenceEmpty);
DYN_ONNX_MAPPING(SequenceConstruct);
DYN_ONNX_MAPPING(ConcatFromSequence);
DYN_ONNX_MAPPING(SplitToSequence);
DYN_ONNX_MAPPING(Optional);
// map_recurrent.cpp
DYN_ONNX_MAPPING(Lstm);
DYN_ONNX_MAPPING(Gru);
DYN_ONNX_MAPPING(Rnn);
// map_linear_attention.cpp
DYN_ONNX_MAPPING(LinearAttention);
DYN_ONNX_MAPPING(CausalConvWithState);
DYN_ONNX_MAPPING(SwiGlu);
// map_contrib_norm.cpp
DYN_ONNX_MAPPING(SkipNormalization);
DYN_ONNX_MAPPING(SimplifiedNormalization);
DYN_ONNX_MAPPING(EmbedLayerNormalization);
DYN_ONNX_MAPPING(BiasGelu);
DYN_ONNX_MAPPING(QuickGelu);
DYN_ONNX_MAPPING(BiasAdd);
DYN_ONNX_MAPPING(BiasSplitGelu);
// map_contrib_matmul.cpp
DYN_ONNX_MAPPING(FusedMatMul);
DYN_ONNX_MAPPING(FusedGemm);
DYN_ONNX_MAPPING(FusedConv);
DYN_ONNX_MAPPING(MatMulNBits);
DYN_ONNX_MAPPING(MatMulIntegerToFloat);
DYN_ONNX_MAPPING(DynamicQuantizeMatMul);
// map_contrib_quant.cpp
DYN_ONNX_MAPPING(QLinearAdd);
DYN_ONNX_MAPPING(QLinearMul);
DYN_ONNX_MAPPING(QLinearUnary);
DYN_ONNX_MAPPING(QLinearConcat);
DYN_ONNX_MAPPING(QLinearSoftmax);
DYN_ONNX_MAPPING(QLinearReduceMean);
DYN_ONNX_MAPPING(QLinearPool);
DYN_ONNX_MAPPING(QLinearWhere);
DYN_ONNX_MAPPING(QGemm);
// map_contrib_attention.cpp
DYN_ONNX_MAPPING(ContribAttention);
DYN_ONNX_MAPPING(MultiHeadAttention);
DYN_ONNX_MAPPING(GroupQueryAttention);
DYN_ONNX_MAPPING(ContribRotaryEmbedding);
DYN_ONNX_MAPPING(QAttention);
DYN_ONNX_MAPPING(MRotaryEmbedding);
DYN_ONNX_MAPPING(DecoderMaskedAttention);
// map_contrib_plain.cpp
DYN_ONNX_MAPPING(ExpandDims);
DYN_ONNX_MAPPING(ContribRange);
DYN_ONNX_MAPPING(ContribUnique);
DYN_ONNX_MAPPING(ContribPad);
DYN_ONNX_MAPPING(CDist);
DYN_ONNX_MAPPING(MatMulInteger16);
DYN_ONNX_MAPPING(SparseToDenseMatMul);
DYN_ONNX_MAPPING(NhwcMaxPool);
DYN_ONNX_MAPPING(ConvTransposeWithDynamicPads);
DYN_ONNX_MAPPING(ScaledSilu);
DYN_ONNX_MAPPING(GatedAdd);
DYN_ONNX_MAPPING(GatedRmsNorm);
DYN_ONNX_MAPPING(BranchwiseRmsNorm);
DYN_ONNX_MAPPING(UnfoldTensor);
DYN_ONNX_MAPPING(LinearAttentionGate);
DYN_ONNX_MAPPING(HyperConnectionPreMix);
DYN_ONNX_MAPPING(HyperConnectionPostMix);
DYN_ONNX_MAPPING(Affine);
DYN_ONNX_MAPPING(Scale);
DYN_ONNX_MAPPING(ImageScaler);
DYN_ONNX_MAPPING(ScaledTanh);
DYN_ONNX_MAPPING(ParametricSoftplus);
DYN_ONNX_MAPPING(Crop);
DYN_ONNX_MAPPING(CropAndResize);
// map_contrib_experts.cpp
DYN_ONNX_MAPPING(MoE);
DYN_ONNX_MAPPING(QMoE);
// map_contrib_words.cpp
DYN_ONNX_MAPPING(GatherBlockQuantized);
DYN_ONNX_MAPPING(MatMulBnb4);
DYN_ONNX_MAPPING(NGramRepeatBlock);
DYN_ONNX_MAPPING(ContribLinearAttention);
DYN_ONNX_MAPPING(ContribCausalConv);
// map_attention.cpp
DYN_ONNX_MAPPING(Attention);
DYN_ONNX_MAPPING(RotaryEmbedding);
// map_image.cpp
DYN_ONNX_MAPPING(GridSample);
DYN_ONNX_MAPPING(ImageDecoder);
DYN_ONNX_MAPPING(RoiAlign);
DYN_ONNX_MAPPING(MaxRoiPool);
DYN_ONNX_MAPPING(MaxUnpool);
// map_spectral.cpp
DYN_ONNX_MAPPING(Dft);
DYN_ONNX_MAPPING(Stft);
DYN_ONNX_MAPPING(MelWeightMatrix);
// map_text.cpp
DYN_ONNX_MAPPING(StringNormalizer);
DYN_ONNX_MAPPING(TfIdfVectorizer);
DYN_ONNX_MAPPING(LabelEncoder);
DYN_ONNX_MAPPING(Tokenizer);
// map_features.cpp
DYN_ONNX_MAPPING(ArrayFeatureExtractor);
DYN_ONNX_MAPPING(Binarizer);
DYN_ONNX_MAPPING(CategoryMapper);
DYN_ONNX_MAPPING(FeatureVectorizer);
DYN_ONNX_MAPPING(Imputer);
DYN_ONNX_MAPPING(Normalizer);
DYN_ONNX_MAPPING(OneHotEncoder);
DYN_ONNX_MAPPING(Scaler);
// map_linear_models.cpp
DYN_ONNX_MAPPING(LinearClassifier);
DYN_ONNX_MAPPING(LinearRegressor);
// map_support_vectors.cpp
DYN_ONNX_MAPPING(SvmClassifier);
DYN_ONNX_MAPPING(SvmRegressor);
// map_maps.cpp
DYN_ONNX_MAPPING(ZipMap);
DYN_ONNX_MAPPING(DictVectorizer);
DYN_ONNX_MAPPING(CastMap);
// map_trees.cpp
DYN_ONNX_MAPPING(TreeEnsemble);
DYN_ONNX_MAPPING(TreeEnsembleClassifier);
DYN_ONNX_MAPPING(TreeEnsembleRegressor);
// map_training.cpp
DYN_ONNX_MAPPING(Momentum);
DYN_ONNX_MAPPING(Adagrad);
DYN_ONNX_MAPPING(Adam);
// map_random.cpp
DYN_ONNX_MAPPING(RandomUniform);
DYN_ONNX_MAPPING(RandomNormal);
DYN_ONNX_MAPPING(RandomUniformLike);
DYN_ONNX_MAPPING(RandomNormalLike);
DYN_ONNX_MAPPING(Bernoulli);
DYN_ONNX_MAPPING(Multinomial);
DYN_ONNX_MAPPING(Dropout);
#undef DYN_ONNX_MAPPING

// Steps that several mappings share.
// x [...] → [product of dims before axis, product of the others].
ValueId flattened(MapContext& c, ValueId x, int64_t axis);
// x cast to that type, or x itself when it has it.
ValueId castTo(MapContext& c, ValueId x, Dtype dtype);
// x in f64 where its elements are integers, for arithmetic with real attributes; x itself where they are
// real.
ValueId asReal(MapContext& c, ValueId x);
// x with axes of size 1 behind it, so that its first axis falls on axis `axis` of `like` when both are
// aligned at the right.
ValueId alignedAt(MapContext& c, ValueId x, ValueId like, int64_t axis);
// (sum of |x|^p)^(1/p) over all axes behind the second, which stay as 1.
ValueId globalNorm(MapContext& c, ValueId x, double p);
// The axes `first`..rank-1 as a vector: works for any rank.
ValueId axesFrom(MapContext& c, ValueId x, int64_t first);
// The size of one axis, as a vector of one element; -1 is the last axis.
ValueId dimAt(MapContext& c, ValueId x, int64_t axis);
ValueId joinedShape(MapContext& c, const std::vector<ValueId>& pieces);
// A value of one element as a scalar.
ValueId scalarOf(MapContext& c, ValueId x);
// Input i as a scalar, with a warning where it is [1]: the standard says [], files and ONNX Runtime take
// both. kNoValue when left out.
ValueId scalarInput(MapContext& c, int i);
ValueId reshaped(MapContext& c, ValueId x, ValueId shape);
ValueId transposed(MapContext& c, ValueId x, std::vector<int64_t> perm);
// x with axes of size 1 at these places of the result.
ValueId unsqueezed(MapContext& c, ValueId x, std::vector<int64_t> axes);
// Elements of x along that axis, as Gather takes them; strings of a constant vector are looked up.
ValueId elementsAt(MapContext& c, ValueId x, ValueId places, int64_t axis);
// 0, 1, ... size-1, of a vector or scalar that holds the size.
ValueId counting(MapContext& c, ValueId size);
// [b, s, heads * d] → [b, s, heads, d]
ValueId headsApart(MapContext& c, ValueId x, int64_t heads);
// [b, s, heads * d] → [b, heads, s, d], and back.
ValueId splitHeads(MapContext& c, ValueId x, int64_t heads);
ValueId joinHeads(MapContext& c, ValueId x);
// x * sigmoid(alpha * x)
ValueId swish(MapContext& c, ValueId x, double alpha);
// (x - zero) * scale; `axis` is that of several scales. And back, to the type of `zero` (or `dtype` when
// there is none).
ValueId dequantized(MapContext& c, ValueId x, ValueId scale, ValueId zero, int64_t axis);
ValueId quantized(MapContext& c, ValueId x, ValueId scale, ValueId zero, Dtype dtype = Dtype::u8);
Attributes convolutionAttributes(MapContext& c);
// The activation of a fused node: its name (any case) and up to two parameters; x itself for "".
ValueId activated(MapContext& c, ValueId x, std::string name, const std::vector<double>& parameters);

}  // namespace dyn::onnx
