// Versions of a kernel, each for shapes that a guard tells apart at run time: the program launches the first
// whose guard holds, else the kernel itself.
//
//   kernel @add      y[u, i] = x0[u, select(m == 1, 0, i)] + x1[u, select(b == 1, 0, i)]
//   kernel @add.no_broadcast      if m != 1 and b != 1:       y[u, i] = x0[u, i] + x1[u, i]
//   kernel @exp.mod16_3           if m mod 16 == 3:           for i < 16*floordiv(m, 16) + 3 vector
//
//   kernel @softmax.rows_in_lanes if m <= 31:                 each lane has a row of its own
//
//   kernel @softmax.short_lanes   if k <= 4, of [n, m, k]:    lanes are all of n and k, each reduces over m
//
//   kernel @transpose.unit        if n == 1:                  y[w, c] = x[0, c, w], where the kernel itself is y[w, c, n] = x[n, c, w]
//
//   kernel @reduce_sum.parts, @reduce_sum.whole    if m > 32768 and n <= 64: compiler/kernel/split_reduction.h
//
// no_broadcast: nothing that the vector loop walks along is held fixed, so every load takes neighbours.
// mod16_r: what is left after the last full vector is a constant number of elements: no test of the boundary
// is left, and none of the tail where it is nothing. Guards decide speed alone: the kernel itself is right
// for all shapes. rows_in_lanes: rows too short to fill vectors are reduced side by side; it sums a row in
// order, the kernel itself in lanes, so which is taken may only depend on how long the row is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/loop/kernel.h"

namespace dyn {

struct VersionPolicy {
  bool withoutBroadcast = true;
  bool rowsInLanes = true;
  bool splitReductions = true;
  bool unitInnermost = true;
  bool shortLanes = true;
  int residues = 0;  // so many of 0, ..., kVersionTile - 1 have a version of their own

  bool operator==(const VersionPolicy&) const = default;
};
inline constexpr int64_t kVersionTile = 16;  // a multiple of the lanes of every machine
// Elements, up to which rows stand in lanes that are not staged (staged_rows.h): each lane reads from its own
// row, slower than neighbours by far.
inline constexpr int64_t kShortRow = 4;

// Elements of an axis that stands in lanes, up to which lanes go on from row to row: each lane reads from a
// place of its own, slower than neighbours, but most lanes would be empty.
inline constexpr int64_t kShortLanes = 4;

// "auto" (no_broadcast, rows_in_lanes), "generic" (none), "residues1" to "residues16" (besides no_broadcast).
// Error usageError for another text.
Result<VersionPolicy> parseVersionPolicy(std::string_view text);

struct VersionGuard {
  enum class Relation : uint8_t { equal, differs, atMost, above };
  Dim dim;
  Relation relation = Relation::equal;
  int64_t value = 0;
};
const char* toString(VersionGuard::Relation relation);  // "==", "!=", "<=", ">"

// ", if m <= 4 and n != 1"; "" without guards.
std::string guardsText(const std::vector<VersionGuard>& guards);

struct KernelVersion {
  loop::Kernel kernel;               // of the same buffers; units, steps and scalars are its own
  std::vector<VersionGuard> guards;  // all must hold; their dims are computed from the kernel's scalars
};

// The same kernel with its rows in lanes, and how long they are.
struct RowsInLanes {
  loop::Kernel kernel;
  Dim rowLength;
};

// The same kernel for an innermost axis of one element, and the size of that axis.
struct UnitInnermost {
  loop::Kernel kernel;
  Dim size;
};

// The same kernel whose lanes go on from row to row of an axis, and how long that is.
struct ShortLanes {
  loop::Kernel kernel;
  Dim length;
};

// In the order in which they are tried.
std::vector<KernelVersion> kernelVersionsOf(const loop::Kernel& kernel,
                                            const std::optional<RowsInLanes>& rows,
                                            const std::optional<ShortLanes>& lanes,
                                            const std::optional<UnitInnermost>& unit,
                                            const VersionPolicy& policy);

}  // namespace dyn
