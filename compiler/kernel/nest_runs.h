// Rows of the innermost axis that lie behind each other in all that is read: many of them are one run.
//
//   y[u, i, c] = select(i < n, a[u, i, c], b[u, i - n, c])       over i < n + m, c < k      becomes
//   for e < n * k vector { y[u, e] = a[u, e] }
//   for e < m * k vector { y[u, n * k + e] = b[u, e] }
//
//   y[u, i, c] = select(i < p, x[u, p - i, c], x[u, i - p, c])   over i < n + p, c < k      becomes
//   for i < p { for c < k vector { y[u, i * k + c] = x[u, (p - i) * k + c] } }
//   for e < n * k vector { y[u, p * k + e] = x[u, e] }
//
// So what is cut or joined is a plain copy, and the middle of what is padded, where the channels come last
// and are few.
#pragma once

#include <optional>
#include <vector>

#include "compiler/kernel/nest_axes.h"
#include "compiler/kernel/nest_segments.h"

namespace dyn {

struct NestRun {
  NestSegment segment;  // of the axis outside of the innermost one
  bool isRun = false;   // all is read as it lies: right with `begin` for that axis, and any innermost index
};

// The segments of the axis outside of the innermost one, some of which are runs that read something; nothing
// where there are none, or another walk is better. Then what is read has both axes as one, in `axes` too:
// x[i, j, c] is x[i, j * k + c].
std::optional<std::vector<NestRun>> takeRuns(NestAxes& axes, const DimSolver& facts,
                                             loop::LoopContext& loops);

// Where all are runs: both axes of the nest become one, whose segments are returned.
std::vector<NestSegment> joinRuns(NestAxes& axes, const std::vector<NestRun>& runs, loop::LoopContext& loops);

}  // namespace dyn
