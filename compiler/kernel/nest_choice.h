// What decides how a nest is walked: along which axes its reductions and reads lie in memory.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "compiler/kernel/nest_axes.h"

namespace dyn {

// Elements between neighbours, up to which reading what lies between is better than a tile.
constexpr int64_t kShortStride = 4;

// Does a reduction over the innermost axis' elements run along memory itself? Then the reduction is the
// vector loop.
bool reductionsRunAlongMemory(const NestAxes& axes);

bool hasReductionOver(const NestAxes& axes, loop::Expr variable);

// The least number of leading axes that some reduction's value depends on, the rank when there is no
// reduction. With those alone as units the reduction is done once: instance norm's mean for a channel, not
// again for each of its rows.
size_t fewestReductionAxes(const NestAxes& axes);

// The axes that all reductions depend on, where that is the same for all and the innermost is none of them:
// means of channels over images and positions. With those as units each reduction is done once, wherever
// they stand.
std::optional<std::vector<size_t>> axesOfReductions(const NestAxes& axes);

// How many axes before `axis` some reduction depends on.
size_t outerReductionAxes(const NestAxes& axes, size_t axis);

// The last axis that some reduction depends on; the rank where there is none.
size_t lastReductionAxis(const NestAxes& axes);

// The one extent of all reductions, and of all axes behind `vectorAxis` together, where elements of a row
// share them; null where they differ.
Dim oneRowLength(const NestAxes& axes, size_t vectorAxis, const DimSolver& facts, DimContext& dims);

// The axis, other than the innermost, along which most of what is read lies in memory.
std::optional<size_t> axisReadAcross(const NestAxes& axes);

// A short axis, other than the innermost, between whose elements something that is read has none: those of
// the innermost axis lie as many apart as it has. What it reads is read once, if all are made in one
// iteration.
std::optional<size_t> axisReadBetween(const NestAxes& axes);

struct NestSharing {
  size_t axis = 0;
  bool isSlow = false;  // what is shared is little, but there are quotients or roots in it
};
// An axis, other than the innermost, whose elements share much of what is computed of values read: where an
// image is sampled, the places are the same for all of its channels. That is then done once for all of them.
std::optional<NestSharing> axisOfSharing(const NestAxes& axes);

// The largest parts that are computed for every element, slow, and the same for all of `element` but not for
// all of `lane`.
std::vector<loop::Expr> slowPartsShared(std::span<const loop::Expr> roots, loop::Expr element,
                                        loop::Expr lane);

bool hasChecks(const NestAxes& axes);

}  // namespace dyn
