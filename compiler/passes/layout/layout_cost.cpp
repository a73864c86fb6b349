#include "compiler/passes/layout/layout_cost.h"

#include <cmath>

namespace dyn::passes {

namespace {

int64_t nominal(Dim dim, int64_t openSize) {
  DimBinding sizes;
  for (SymbolId symbol : symbolsOf(dim)) sizes.set(symbol, openSize);
  const Result<int64_t> value = evaluate(dim, sizes);
  return value.ok() && *value > 0 ? *value : 1;
}

double placesOf(const Shape& image, int64_t openSize) {
  return static_cast<double>(nominal(image[2], openSize)) * static_cast<double>(nominal(image[3], openSize));
}
double elementsOf(const Shape& image, int64_t openSize) {
  return placesOf(image, openSize) * static_cast<double>(nominal(image[1], openSize));
}

constexpr double kSmall = 300, kMiddle = 4000;  // places

// How much of its lanes `count` channels fill.
double filled(int64_t count, int64_t lanes) {
  const int64_t vectors = (count + lanes - 1) / lanes;
  return static_cast<double>(count) / static_cast<double>(vectors * lanes);
}

// Those of a 1 x 1 convolution are columns of a product, whose tiles are narrower than a vector's: what is
// left out is little.
double filledOfPointwise(int64_t count, int64_t lanes) {
  constexpr double kNearlyAll = 0.8;
  const double share = filled(count, lanes);
  return share >= kNearlyAll ? 1 : share;
}

// Of groups: where images are small, planes do not fill vectors either.
double filledOfGroups(int64_t count, int64_t lanes, double places) {
  return places <= kSmall ? 1 : 0.2 + 0.8 * filled(count, lanes);
}

// How fast channels that fill their lanes are beside planes, by how many places the image has.
struct Gain {
  double small, middle, large;
};
constexpr Gain kPointwise{1.1, 1.05, 0.92}, kWindow{1.1, 1.05, 1.0}, kDepthwise{1.25, 1.3, 1.1};
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
  const bool isPointwise = !isDepthwise && window.taps() == 1;
  const int64_t filters = isDepthwise ? window.groups : window.filters;
  const Gain& gain = isDepthwise   ? (ofBytes ? kDepthwiseBytes : kDepthwise)
                     : isPointwise ? (ofBytes ? kPointwiseBytes : kPointwise)
                                   : (ofBytes ? kWindowBytes : kWindow);
  const auto shareAt = [&](double places) {
    if (ofBytes || isDepthwise) return filled(filters, lanes_);
    if (window.groups > 1) return filledOfGroups(filters, lanes_, places);
    return isPointwise ? filledOfPointwise(filters, lanes_) : filled(filters, lanes_);
  };
  const double ofOne = (ofBytes ? kByteWork : 1) * (isDepthwise         ? kDepthwiseWork
                                                    : window.groups > 1 ? kGroupedWork
                                                                        : 1);
  for (size_t i = 0; i < kOpenSizes.size(); ++i) {
    const double multiplications = elementsOf(image, kOpenSizes[i]) * static_cast<double>(window.taps()) *
                                   static_cast<double>(window.channels);
    const double work = multiplications * ofOne;
    const double places = placesOf(image, kOpenSizes[i]);
    sums_[i].planes += work;
    sums_[i].last += work / (at(gain, places) * shareAt(places));
  }
}

void LayoutCost::transposed(const contraction::ConvolutionWindow& window, const Shape& operand,
                            const Shape& image) {
  for (size_t i = 0; i < kOpenSizes.size(); ++i) {
    const double work = elementsOf(image, kOpenSizes[i]) * static_cast<double>(window.taps()) *
                        static_cast<double>(window.channels);
    double computed = work;  // with what the pads cut off
    for (size_t axis = 1; axis < 3; ++axis) {
      const auto places = static_cast<double>(nominal(operand[1 + axis], kOpenSizes[i]));
      computed *= (places + static_cast<double>(window.kernel[axis] - 1)) / places;
    }
    sums_[i].planes += work;
    sums_[i].last +=
        computed / (at(kTransposed, placesOf(image, kOpenSizes[i])) * filled(window.filters, lanes_));
  }
}

void LayoutCost::border(const Shape& image, int64_t elementBytes) {
  for (size_t i = 0; i < kOpenSizes.size(); ++i)
    sums_[i].last += kBorderWork * elementsOf(image, kOpenSizes[i]) * static_cast<double>(elementBytes) / 4;
}

void LayoutCost::join(const Shape& image, size_t parts) {
  for (size_t i = 0; i < kOpenSizes.size(); ++i) {
    sums_[i].planes += kJoinWork * elementsOf(image, kOpenSizes[i]);
    sums_[i].last += (parts > kManyParts ? kWideJoinWork : kJoinWork) * elementsOf(image, kOpenSizes[i]);
  }
}

void LayoutCost::add(const LayoutCost& other) {
  for (size_t i = 0; i < kOpenSizes.size(); ++i) {
    sums_[i].planes += other.sums_[i].planes;
    sums_[i].last += other.sums_[i].last;
  }
}

double LayoutCost::ratio() const {
  double product = 1;
  for (const Sums& sums : sums_) product *= sums.last / sums.planes;
  return std::pow(product, 1.0 / static_cast<double>(kOpenSizes.size()));
}

}  // namespace dyn::passes
