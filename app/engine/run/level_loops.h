// Views of what a run computed together: nodes of trees and graphs, a level at a time, and sequences of
// different lengths, one behind the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace dyn {

// The caches of the machine that ran a loop; 0: unknown or none.
struct Caches {
  int64_t l1Bytes = 0, l2Bytes = 0, l3Bytes = 0;  // a core's, a core's, of all
  int64_t registerBytes = 0;                      // of vectors
};

// A loop over levels of nodes in a profiled run (pass `batch_levels`), level by level from the leaves up.
struct LevelLoop {
  std::string function, place;      // of the program, and of the model
  std::string oneByOne;             // why each node is a level by itself; "": nodes of a height are together
  std::optional<int64_t> leaves;    // computed before the levels; nothing: the program does not say
  std::vector<int64_t> nodes;       // of each level
  int64_t beginNs = 0;              // of the first level, since the start of the run
  std::vector<int64_t> timesNs;     // of each level; empty: not known
  std::vector<int64_t> takenBytes;  // memory that a level asks for while it runs; empty: not known
  std::optional<int64_t> weightsBytes;  // weights and constants that each level reads; nothing: not known
  int64_t weightsCount = 0;             // so many tensors of them

  int64_t nodesCount() const { return std::accumulate(nodes.begin(), nodes.end(), int64_t{0}); }
  int64_t timeNs() const { return std::accumulate(timesNs.begin(), timesNs.end(), int64_t{0}); }
  int64_t widest() const { return nodes.empty() ? 0 : *std::max_element(nodes.begin(), nodes.end()); }
  int64_t mostBytes() const {
    return takenBytes.empty() ? 0 : *std::max_element(takenBytes.begin(), takenBytes.end());
  }
};

// The sequences of a value: of a ragged one, or of a batch that a mask or lengths pad.
struct SequenceRows {
  std::string value;              // "x"; of a padded batch its mask
  std::string lengthsName;        // the input that holds the lengths
  bool isPadded = false;          // given with padding
  bool isComputedPadded = false;  // and computed with it
  std::vector<int64_t> lengths;

  int64_t sum() const { return std::accumulate(lengths.begin(), lengths.end(), int64_t{0}); }
  int64_t longest() const { return lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end()); }
  // Of all positions up to the longest sequence, those that are not there: 0 to 1.
  double paddingShare() const {
    const double all = static_cast<double>(longest()) * static_cast<double>(lengths.size());
    return all > 0 ? 1 - static_cast<double>(sum()) / all : 0;
  }
};

struct LevelsView {
  std::vector<LevelLoop> loops;
  std::vector<SequenceRows> sequences;
  int64_t runNs = 0, peakBytes = 0;  // of the run
  Caches caches;                     // of the machine that ran it
  bool all = false;                  // to be shown level by level, however many there are
};

// Neighbours of a list as at most so many parts, as even as can be: where each begins, and the end.
inline std::vector<size_t> evenParts(size_t count, size_t most) {
  const size_t parts = std::min(count, std::max<size_t>(most, 1));
  std::vector<size_t> begins;
  for (size_t i = 0; i <= parts; ++i) begins.push_back(parts == 0 ? 0 : count * i / parts);
  return begins;
}

}  // namespace dyn
