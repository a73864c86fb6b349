// ai.onnx.ml: operators of classical models that are a few tensor operations.
#include "frontends/onnx/map_functions.h"

namespace dyn::onnx {

// 1 where x is above the threshold, else 0.
void mapBinarizer(MapContext& c) {
  const ValueId x = c.input(0);
  const ValueId above = c.emit("greater", {x, c.number(c.real("threshold", 0), x)});
  c.setOutput(0, castTo(c, above, c.dtypeOr(x, Dtype::f32)));
}

// The places [k] (or [1, k]) of the last axis; a vector is seen as one row.
void mapArrayFeatureExtractor(MapContext& c) {
  const ValueId places = reshaped(c, c.input(1), c.integersValue({-1}));
  const ValueId y = c.emit("gather", {c.input(0), places}, {{"axis", int64_t{-1}}});
  c.setOutput(0, c.rankOf(c.input(0)) == 1 ? c.emit("unsqueeze", {y, c.integersValue({0})}) : y);
}

}  // namespace dyn::onnx
