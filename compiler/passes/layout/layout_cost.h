// What a region of images takes with its channels last beside what it takes in planes, in multiplications of
// a well filled kernel. Sizes that are open stand for an image of 224 x 224: only the ratio is used.
//
//   LayoutCost cost(target.machine.vectorBits / 32);
//   cost.convolution(window, outputDims, weightsDims);   ...
//   if (cost.last() < cost.planes()) turn();
//
// In planes the lanes of a vector are places of an image, with channels last they are channels: few
// channels, or a number of them that does not fill vectors, are what decides. Then small images are better
// with channels last, as their rows do not fill vectors either. The factors are rounded means of measured
// chains of equal convolutions (tests/bench/RESULTS.md, "layouts of convolutions").
#pragma once

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
  void add(const LayoutCost& other) { planes_ += other.planes_, last_ += other.last_; }

  double planes() const { return planes_; }
  double last() const { return last_; }

 private:
  int64_t lanes_;
  double planes_ = 0, last_ = 0;
};

}  // namespace dyn::passes
