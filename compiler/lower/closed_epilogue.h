// Epilogues of a form that hand-written products and convolutions compute themselves
// (vm/shared/dyn_epilogue_form.h): a bias for each column, then bounds.
//
//   y[i, e] = min(high[], max(low[], c[i, e] + bias[e]))              bias, low, high
//   y[i, e] = select(c[i, e] < 0, 0, c[i, e])                         zero
//
// Others are even where each element depends on its own place alone:
//
//   y[i, e] = c[i, e] * sigmoid(c[i, e] + s[]) + x[i, e]               even
#pragma once

#include "compiler/loop/kernel.h"
#include "vm/shared/dyn_epilogue_form.h"

namespace dyn {

// The form of a kernel that works on a tile of the product in `product`, one of its buffers; neither closed
// nor even where it does anything else. A closed one's buffers have one order only.
EpilogueForm closedFormOf(const loop::Kernel& kernel, const loop::Buffer* product);

}  // namespace dyn
