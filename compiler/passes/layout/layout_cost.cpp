#include "compiler/passes/layout/layout_cost.h"

namespace dyn::passes {

namespace {

constexpr int64_t kOpenSize = 224;

int64_t nominal(Dim dim) {
  DimBinding sizes;
  for (SymbolId symbol : symbolsOf(dim)) sizes.set(symbol, kOpenSize);
  const Result<int64_t> value = evaluate(dim, sizes);
  return value.ok() && *value > 0 ? *value : 1;
}

double placesOf(const Shape& image) {
  return static_cast<double>(nominal(image[2])) * static_cast<double>(nominal(image[3]));
}
double elementsOf(const Shape& image) { return placesOf(image) * static_cast<double>(nominal(image[1])); }

// How much of its lanes `count` channels fill.
double filled(int64_t count, int64_t lanes) {
  const int64_t vectors = (count + lanes - 1) / lanes;
  return static_cast<double>(count) / static_cast<double>(vectors * lanes);
}

// How fast channels that fill their lanes are beside planes, by how many places the image has.
struct Gain {
  double small, middle, large;
};
constexpr double kSmall = 300, kMiddle = 4000;  // places
constexpr Gain kPointwise{1.1, 1.0, 0.95}, kWindow{1.1, 1.05, 1.0}, kDepthwise{1.35, 1.2, 0.95};
constexpr Gain kTransposed{1.6, 1.1, 0.95};
constexpr Gain kPointwiseBytes{1.3, 1.1, 1.05}, kWindowBytes{1.6, 1.25, 1.15}, kDepthwiseBytes{2.0, 1.3, 1.0};

double at(const Gain& gain, double places) {
  return places <= kSmall ? gain.small : places <= kMiddle ? gain.middle : gain.large;
}

// A multiplication of a depthwise convolution takes as much as this many of a product, one of a grouped as
// this many.
constexpr double kDepthwiseWork = 4, kGroupedWork = 1.5;
constexpr double kByteWork = 0.3;  // of bytes as much as this of one of f32
// Reading and writing an element of memory takes as much as this many multiplications.
constexpr double kBorderWork = 10, kJoinWork = 4, kWideJoinWork = 40;
constexpr size_t kManyParts = 4;

}  // namespace

void LayoutCost::convolution(const contraction::ConvolutionWindow& window, const Shape& image, bool ofBytes) {
  const bool isDepthwise = window.groups > 1 && window.channels == 1 && window.filters == 1;
  const int64_t filters = isDepthwise ? window.groups : window.filters;
  const double multiplications =
      elementsOf(image) * static_cast<double>(window.taps()) * static_cast<double>(window.channels);
  const double work = multiplications * (ofBytes ? kByteWork : 1) *
                      (isDepthwise         ? kDepthwiseWork
                       : window.groups > 1 ? kGroupedWork
                                           : 1);
  const Gain& gain = isDepthwise          ? (ofBytes ? kDepthwiseBytes : kDepthwise)
                     : window.taps() == 1 ? (ofBytes ? kPointwiseBytes : kPointwise)
                                          : (ofBytes ? kWindowBytes : kWindow);
  planes_ += work;
  last_ += work / (at(gain, placesOf(image)) * filled(filters, lanes_));
}

void LayoutCost::transposed(const contraction::ConvolutionWindow& window, const Shape& operand,
                            const Shape& image) {
  const double work =
      elementsOf(image) * static_cast<double>(window.taps()) * static_cast<double>(window.channels);
  double computed = work;  // with what the pads cut off
  for (size_t axis = 1; axis < 3; ++axis) {
    const auto places = static_cast<double>(nominal(operand[1 + axis]));
    computed *= (places + static_cast<double>(window.kernel[axis] - 1)) / places;
  }
  planes_ += work;
  last_ += computed / (at(kTransposed, placesOf(image)) * filled(window.filters, lanes_));
}

void LayoutCost::border(const Shape& image, int64_t elementBytes) {
  last_ += kBorderWork * elementsOf(image) * static_cast<double>(elementBytes) / 4;
}

void LayoutCost::join(const Shape& image, size_t parts) {
  planes_ += kJoinWork * elementsOf(image);
  last_ += (parts > kManyParts ? kWideJoinWork : kJoinWork) * elementsOf(image);
}

}  // namespace dyn::passes
