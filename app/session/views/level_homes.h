// Where the weights of a loop over levels stay from one level to the next, and why not nearer: in the
// smallest cache that holds them beside what a level computes with.
//
//   weights: 1.4 MiB in 2 tensors, read at each level
//     stay in L2 (2.0 MiB) over 9 levels; not in L1 (32.0 KiB): they are larger
//     stay in L3 (16.0 MiB) over 3 levels; not in L2 (2.0 MiB): a level computes with up to 840.0 KiB beside them
#pragma once

#include <string>
#include <vector>

#include "app/engine/run/level_loops.h"

namespace dyn {

struct LevelHome {
  std::string place;                   // "L1", "L2", "L3"; "memory": no cache holds them
  int64_t sizeBytes = 0;               // of the cache
  size_t levelsCount = 0;              // that so many levels have
  std::string nearerPlace, whyNearer;  // the next nearer place, and why they do not stay there
  int64_t nearerBytes = 0;
};

// The nearest first; empty where the weights, what levels take or the caches are not known, or nothing is
// read.
std::vector<LevelHome> homesOf(const LevelLoop& loop, const Caches& caches);

// The lines above; "" where no weights are known.
std::string homesText(const LevelLoop& loop, const Caches& caches);

}  // namespace dyn
