// What a region of images takes with its channels last beside what it takes in planes, in multiplications of
// a well filled kernel. Sizes that are open stand for a large image and for a small one: what is said of them
// is the mean of both ratios.
//
//   LayoutCost cost(target.machine.vectorBits / 32);
//   cost.convolution(window, outputDims, weightsDims);   ...
//   if (cost.ratio() < 1) turn();
//
// In planes the lanes of a vector are places of an image, with channels last they are channels: few
// channels, or a number of them that does not fill vectors, are what decides. Then small images are better
// with channels last, as their rows do not fill vectors either. The factors are rounded means of measured
// chains of equal convolutions (tests/bench/RESULTS.md, "layouts of convolutions").
#pragma once

#include <array>

#include "compiler/dims/dim.h"
#include "compiler/ir/type.h"
#include "vm/shared/dyn_contraction.h"

namespace dyn::passes {

class LayoutCost {
 public:
  explicit LayoutCost(int64_t lanes) : lanes_(lanes) {}

  // `image` is the result's shape (n, c, h, w). ofBytes: what is multiplied.
  void convolution(const contraction::ConvolutionWindow& window, const Shape& image, bool ofBytes = false);
  // A transposed convolution whose windows overlap (spread_window.h): `window` is that of its phases, so its
  // filters are theirs; `operand` and `image` are the shapes of what it reads and makes.
  void transposed(const contraction::ConvolutionWindow& window, const Shape& operand, const Shape& image);
  // An image that is turned once.
  void border(const Shape& image, int64_t elementBytes = 4);
  // `parts` images side by side along their channels.
  void join(const Shape& image, size_t parts);
  void add(const LayoutCost& other);

  // Channels last over planes.
  double ratio() const;

 private:
  static constexpr std::array<int64_t, 2> kOpenSizes = {224, 96};
  struct Sums {
    double planes = 0, last = 0;
  };
  int64_t lanes_;
  std::array<Sums, kOpenSizes.size()> sums_;  // by what an open size stands for
};

}  // namespace dyn::passes
