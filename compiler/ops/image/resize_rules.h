// The parts of resize: attributes, output sizes with symbolic inputs, and where each output element looks in
// the input.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ops/rules/reduce_rules.h"
#include "vm/include/abi/dyn_builtin_numbers.h"

namespace dyn {

enum class ResizeMode : uint8_t {
  nearest = DYN_RESIZE_NEAREST,
  linear = DYN_RESIZE_LINEAR,
  cubic = DYN_RESIZE_CUBIC
};
enum class Coordinates : uint8_t {
  halfPixel = DYN_GRID_HALF_PIXEL,
  halfPixelSymmetric = DYN_GRID_HALF_PIXEL_SYMMETRIC,
  pytorchHalfPixel = DYN_GRID_PYTORCH_HALF_PIXEL,
  alignCorners = DYN_GRID_ALIGN_CORNERS,
  asymmetric = DYN_GRID_ASYMMETRIC,
  cropAndResize = DYN_GRID_REGION,
  halfPixelForNearest = DYN_GRID_HALF_PIXEL_FOR_NEAREST
};
// byScale: rounded up along an axis that shrinks, down along others.
enum class NearestMode : uint8_t {
  roundPreferFloor = DYN_NEAREST_PREFER_FLOOR,
  roundPreferCeil = DYN_NEAREST_PREFER_CEIL,
  floor = DYN_NEAREST_FLOOR,
  ceil = DYN_NEAREST_CEIL,
  byScale = DYN_NEAREST_BY_SCALE
};
enum class AspectPolicy : uint8_t { stretch, notLarger, notSmaller };

struct ResizeOptions {
  ResizeMode mode = ResizeMode::nearest;
  Coordinates coordinates = Coordinates::halfPixel;
  NearestMode nearest = NearestMode::roundPreferFloor;
  AspectPolicy policy = AspectPolicy::stretch;
  double cubicA = -0.75, extrapolation = 0;
  bool excludeOutside = false;
  // An axis that shrinks is sampled with its filter stretched over all elements between two results.
  bool antialias = false;
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
