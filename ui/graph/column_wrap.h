// Breaks a tall layout into columns that stand side by side, as text is broken into lines, so that a long
// chain fills the window instead of a thread of it.
//
// Columns end where few edges cross. An edge to another column leaves at the foot of its column and comes in
// over the head of the next one.
#pragma once

#include "ui/graph/layered_layout.h"

namespace dyn::ui {

// `ratio`: the height / width to come near to. Layouts that are not much taller than that stay as they are.
void wrapColumns(const LayoutInput& input, LayoutResult& layout, double ratio = 0.8);

}  // namespace dyn::ui
