// R-g: the order in which threads take the runs of attention is a permutation of them, and never ends later
// than the order in which they are given, by more than one in fifty.
#include "vm/kernels/attention/attention_runs.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

namespace dyn::vm::kernels {
namespace {

using Runs = std::vector<AttentionRun>;

Runs runsOf(const std::vector<int64_t>& lengths, const std::vector<int64_t>& keys) {
  Runs runs;
  int64_t begin = 0, firstKey = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    runs.push_back({begin, lengths[i], firstKey, keys[i], static_cast<int64_t>(i)});
    begin += lengths[i];
    firstKey += keys[i];
  }
  return runs;
}

// Lengths of few long sequences among many short ones, as collections of texts have them; sometimes of one
// long one at the end.
std::vector<int64_t> skewedLengths(std::mt19937& random, size_t count) {
  std::vector<int64_t> lengths;
  std::lognormal_distribution<double> length(3.0, 0.9);
  for (size_t i = 0; i < count; ++i)
    lengths.push_back(random() % 9 == 0 ? 0
                                        : std::min<int64_t>(static_cast<int64_t>(length(random)) + 1, 512));
  if (random() % 3 == 0) lengths.back() = 512;
  return lengths;
}

// When the last of `threads` ends, in scores, if each takes the next unit (a head of a run) when it is done
// with one.
int64_t endOf(const Runs& runs, int64_t heads, size_t threads) {
  std::vector<int64_t> busyUntil(threads, 0);
  for (const AttentionRun& run : runs)
    for (int64_t head = 0; head < heads; ++head)
      *std::min_element(busyUntil.begin(), busyUntil.end()) += run.scores();
  return *std::max_element(busyUntil.begin(), busyUntil.end());
}

TEST(AttentionRuns, RgOrderIsAPermutationHeaviestFirst) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const size_t count = random() % 40 + 1;
    const std::vector<int64_t> lengths = skewedLengths(random, count);
    const Runs given = runsOf(lengths, round % 2 ? lengths : skewedLengths(random, count));
    Runs order = given;
    heaviestFirst(order.data(), static_cast<int64_t>(count));
    std::vector<char> seen(count, 0);
    for (size_t i = 0; i < count; ++i) {
      const AttentionRun &run = order[i], &same = given[static_cast<size_t>(run.number)];
      EXPECT_EQ(seen[static_cast<size_t>(run.number)]++, 0);
      EXPECT_TRUE(run.begin == same.begin && run.length == same.length && run.firstKey == same.firstKey &&
                  run.keys == same.keys);
      if (i > 0) {
        EXPECT_GE(order[i - 1].scores(), run.scores());
      }
    }
    Runs again = order;
    std::shuffle(again.begin(), again.end(), random);
    heaviestFirst(again.data(), static_cast<int64_t>(count));
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(again[i].number, order[i].number);  // one order
  }
}

TEST(AttentionRuns, RgHeaviestFirstIsNeverSlower) {
  std::mt19937 random(6);
  double gained = 0;
  int sets = 0;
  for (int round = 0; round < 200; ++round) {
    const size_t count = random() % 60 + 4;
    const std::vector<int64_t> lengths = skewedLengths(random, count);
    const Runs given = runsOf(lengths, lengths);
    Runs order = given;
    heaviestFirst(order.data(), static_cast<int64_t>(count));
    for (const size_t threads : {1, 2, 4, 8, 16})
      for (const int64_t heads : {1, 8, 12}) {
        const int64_t identity = endOf(given, heads, threads), heavy = endOf(order, heads, threads);
        EXPECT_LE(static_cast<double>(heavy), 1.02 * static_cast<double>(identity))
            << count << " sequences, " << threads << " threads, " << heads << " heads";
        gained += static_cast<double>(identity) / static_cast<double>(heavy);
        ++sets;
      }
  }
  EXPECT_GT(gained / sets, 1.01);  // and on the whole faster
}

}  // namespace
}  // namespace dyn::vm::kernels
