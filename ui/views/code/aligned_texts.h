// Two texts of the IR beside each other, line by line: what only the earlier one has stands opposite an empty
// line or an addition, and an operation that both have is on one line of both.
//
//   %h = relu(%x)        %h = relu(%x)
//   %g = relu(%x)
//   %s = add(%h, %g)     %s = add(%h, %h)
#pragma once

#include <memory>
#include <vector>

#include "app/session/views/code_views.h"
#include "ui/views/code/code_text.h"

namespace dyn::ui {

struct AlignedTexts {
  // As many lines in both; lines without a number (CodeText::numbers) only keep the distance.
  std::shared_ptr<const CodeText> before, after;
  std::vector<IrLine> beforeLines, afterLines;             // of operations, by the lines of these texts
  int removedCount = 0, addedCount = 0, changedCount = 0;  // lines
};

// Lines are the same line where they start the same operation, and others where they have the same words.
// Costs n log n of the lines, and what differs between words of changed ones.
AlignedTexts alignTexts(const IrText& before, const IrText& after);

}  // namespace dyn::ui
