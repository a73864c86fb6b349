// com.microsoft: normalisations and activations that ONNX Runtime's optimiser makes of several nodes, taken
// apart again.
#include "frontends/onnx/map/map_functions.h"

namespace dyn::onnx {
namespace {

// layer_norm, or rms_norm for the "Simplified" forms.
ValueId normalized(MapContext& c, ValueId x, ValueId scale, ValueId bias, bool simplified) {
  const Attributes epsilon = {{"axis", int64_t{-1}}, {"epsilon", c.real("epsilon", 1e-12)}};
  if (simplified) return c.emit("rms_norm", {x, scale}, epsilon);
  return c.emit("layer_norm", {x, scale, bias}, epsilon);
}

ValueId withBias(MapContext& c, ValueId x, ValueId bias) {
  return bias == kNoValue ? x : c.emit("add", {x, bias});
}

}  // namespace

// SkipLayerNormalization, SkipSimplifiedLayerNormalization: norm(x + skip + bias), and that sum.
void mapSkipNormalization(MapContext& c) {
  const bool simplified = c.node().opType == "SkipSimplifiedLayerNormalization";
  const int biasInput = simplified ? 3 : 4;
  const ValueId sum = withBias(c, c.emit("add", {c.input(0), c.input(1)}), c.optionalInput(biasInput));
  c.setOutput(0, normalized(c, sum, c.input(2), simplified ? kNoValue : c.optionalInput(3), simplified));
  c.setOutput(3, sum);
}

// SimplifiedLayerNormalization: the root mean square norm under its older name.
void mapSimplifiedNormalization(MapContext& c) {
  c.ignoreAttribute("stash_type");
  const int64_t axis = c.integer("axis", -1);
  c.setOutput(0, c.emit("rms_norm", {c.input(0), c.input(1)},
                        {{"axis", axis}, {"epsilon", c.real("epsilon", 1e-5)}}));
}

// The embeddings of words, positions and segments, added and normalised.
void mapEmbedLayerNormalization(MapContext& c) {
  c.ignoreAttribute("mask_index_type");
  const ValueId ids = c.input(0), words = c.input(2), positions = c.input(3);
  const Attributes rows = {{"axis", int64_t{0}}};
  ValueId sum = c.emit("gather", {words, ids}, rows);
  const ValueId places = c.hasInput(8) ? c.input(8) : counting(c, dimAt(c, ids, 1));
  sum = c.emit("add", {sum, c.emit("gather", {positions, places}, rows)});
  if (c.hasInput(1) && c.hasInput(4))
    sum = c.emit("add", {sum, c.emit("gather", {c.input(4), c.input(1)}, rows)});
  c.setOutput(0, normalized(c, sum, c.input(5), c.input(6), false));
  c.setOutput(2, sum);
  if (!c.wantsOutput(1)) return;
  // How many tokens of each row take part.
  if (c.hasInput(7)) {
    c.setOutput(1, c.emit("reduce_sum", {castTo(c, c.input(7), Dtype::i32), c.integersValue({1})},
                          {{"keepdims", int64_t{0}}}));
  } else {
    const HostTensor zero = HostTensor::vectorInt(Dtype::i32, std::vector<int64_t>{0});
    c.setOutput(1, c.emit("constant_of_shape", {dimAt(c, ids, 0)}, {{"value", zero}}));
  }
}

// FastGelu, BiasGelu: gelu(x + bias), by tanh or exactly.
void mapBiasGelu(MapContext& c) {
  const bool fast = c.node().opType == "FastGelu";
  const ValueId x = withBias(c, c.input(0), c.optionalInput(1));
  c.setOutput(0, c.emit("gelu", {x}, {{"approximate", std::string(fast ? "tanh" : "none")}}));
}

void mapQuickGelu(MapContext& c) { c.setOutput(0, swish(c, c.input(0), c.real("alpha", 1.702))); }

// x + bias + skip
void mapBiasAdd(MapContext& c) {
  c.setOutput(0, c.emit("add", {c.emit("add", {c.input(0), c.input(1)}), c.input(2)}));
}

// Of x + bias the left half times the gelu of the right.
void mapBiasSplitGelu(MapContext& c) {
  const std::vector<ValueId> halves = c.emitMany("split", {c.emit("add", {c.input(0), c.input(1)})},
                                                 {{"axis", int64_t{-1}}, {"parts", int64_t{2}}}, 2);
  c.setOutput(0, c.emit("mul", {halves[0], c.emit("gelu", {halves[1]})}));
}

}  // namespace dyn::onnx
