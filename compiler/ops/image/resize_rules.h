// The parts of resize: attributes, output sizes with symbolic inputs, and where each output element looks in the input.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ops/rules/reduce_rules.h"

namespace dyn {

enum class ResizeMode : uint8_t { nearest, linear, cubic };
enum class Coordinates : uint8_t {
  halfPixel,
  halfPixelSymmetric,
  pytorchHalfPixel,
  alignCorners,
  asymmetric,
  cropAndResize,
  halfPixelForNearest
};
// byScale: rounded up along an axis that shrinks, down along others.
enum class NearestMode : uint8_t { roundPreferFloor, roundPreferCeil, floor, ceil, byScale };
enum class AspectPolicy : uint8_t { stretch, notLarger, notSmaller };

struct ResizeOptions {
  ResizeMode mode = ResizeMode::nearest;
  Coordinates coordinates = Coordinates::halfPixel;
  NearestMode nearest = NearestMode::roundPreferFloor;
  AspectPolicy policy = AspectPolicy::stretch;
  double cubicA = -0.75, extrapolation = 0;
  bool excludeOutside = false;
  bool antialias =
      false;  // an axis that shrinks is sampled with its filter stretched over all elements between two results
  std::vector<int> axes;  // the axis of each number of scales, sizes and roi
};
// Errors badAttribute, unsupportedFeature (antialias of a region), with the operation's place.
Result<ResizeOptions> resizeOptions(const Op& op, int rank);

// floor(input * scale) for an f32 scale, by the simplest fraction that rounds to it.
Dim scaledSize(Dim input, float scale);
// The one scale that keeps proportions, from sizes demanded and input sizes; nullopt for stretch.
std::optional<double> commonScale(AspectPolicy policy, std::span<const int64_t> sizes,
                                  std::span<const int64_t> inputs);
int64_t roundedSize(double scale, int64_t input);

}  // namespace dyn
