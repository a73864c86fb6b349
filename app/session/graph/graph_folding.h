// Folds what cannot be read in one piece: operations that come again and again ("12 × block") and what is
// left of long chains ("operations 41 to 80") become groups, so that any model is a few boxes at first.
//
// Repetition is found by structure: operators, ranks and dtypes in execution order, not names. Each group is
// a run of neighbours in execution order, so no group is both before and after another one. Groups by name
// and bodies of operations stay what they are; they count as one item of what they stand in.
#pragma once

#include "app/session/views/graph_views.h"

namespace dyn {

struct FoldingLimits {
  int repeatsFrom = 40;  // what holds more items than this is searched for repetition
  int partsFrom = 80;    // and cut into parts where more than this are left
  int partSize = 20;     // about so many items in a part
};

void foldGraph(GraphView& view, const FoldingLimits& limits = {});

}  // namespace dyn
