// A model whose products compute with bytes: static quantisation with ranges that calibration has measured.
//
//   y = Conv(x, w, b)   becomes   y = Conv(DequantizeLinear(QuantizeLinear(x)), DequantizeLinear(numbers),
//                                          DequantizeLinear(sums))
//
// Activations become u8 with one scale and one zero point for a value, so that 0 stays 0. Weights become i8
// with a scale for each output channel, biases i32 in units of both scales.
//
//   const ActivationQuantiser quantiser(model, types, excluded);
//   for (const std::string& name : quantiser.valuesToMeasure()) ...       // their elements in some runs
//   DYN_TRY(const QuantisedModel made, quantiser.quantise(ranges, dataRoot));
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "frontends/onnx/quantise/activation_plan.h"
#include "frontends/onnx/quantise/weight_quantiser.h"

namespace dyn::onnx {

// Of the elements of a value, finite.
struct ElementRange {
  double low = 0, high = 0;
};
using RangesByName = std::map<std::string, ElementRange, std::less<>>;

class ActivationQuantiser {
 public:
  // `model` and `types`, of values of its graph, outlive this. `excluded`: nodes that stay f32, by
  // their names or those of their weights.
  ActivationQuantiser(const Model& model, const TypesByName& types,
                      const std::set<std::string, std::less<>>& excluded);

  // In the order of the file.
  std::vector<std::string> valuesToMeasure() const;

  // A value without a range stays f32, and so do the products that read it. Errors: those of the weights'
  // data; unsupportedFeature where the operator set has no DequantizeLinear for channels.
  Result<QuantisedModel> quantise(const RangesByName& ranges, const std::string& dataRoot);

 private:
  const Model& model_;
  GraphUses uses_;
  ActivationPlan plan_;
};

}  // namespace dyn::onnx
