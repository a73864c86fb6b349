// A transposed convolution of two spatial axes as a convolution: each place of the operand gives `phases`
// rows and columns of the result, and `taps` neighbours of it have part in them; what the pads cut off is
// computed and left out.
//
//   stride 2, window 4 x 4, pads 1:  phases 2 x 2, taps 2 x 2, cut 1 at each side
//   phase (p, q) of filter m is filter (p * 2 + q) * m of a convolution of steps of one whose pads are
//   taps - 1 at each side; its places (r, c) are those (r * 2 + p, c * 2 + q) of the result before it is cut
#pragma once

#include <array>
#include <optional>

#include "compiler/ir/module.h"
#include "compiler/ir/tensor.h"

namespace dyn::passes {

struct SpreadWindow {
  std::array<int64_t, 2> phases{1, 1}, taps{1, 1}, cutBegin{0, 0}, cutEnd{0, 0};

  bool overlaps() const { return taps[0] > 1 || taps[1] > 1; }
  bool cuts() const { return cutBegin[0] + cutBegin[1] + cutEnd[0] + cutEnd[1] > 0; }
};

// Of `op` over images [n, c, h, w] of dims `x` and finite f32 weights [c, m, h, w]. Nothing where the window
// is no multiple of the step, is in groups or dilated, or where more is added to the result than is cut off.
// Of images of one place the whole window is phases, whatever the step is.
std::optional<SpreadWindow> spreadWindowOf(const Op& op, const HostTensor& weights, const Shape& x);

// [phases * m, c, taps], the filters of a phase side by side.
HostTensor phaseWeights(const HostTensor& weights, const SpreadWindow& window);

}  // namespace dyn::passes
