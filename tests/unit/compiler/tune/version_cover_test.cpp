// Which versions cover the likely shapes: compared with trying everything.
#include "compiler/tune/version_cover.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "vm/shared/dyn_contraction.h"

namespace dyn {
namespace {

std::vector<MeasuredVersion> named(std::vector<std::vector<double>> times) {
  std::vector<MeasuredVersion> versions;
  for (size_t i = 0; i < times.size(); ++i)
    versions.push_back(
        {i == 0 ? contraction::Version() : contraction::scheduleVersion(i), std::move(times[i])});
  return versions;
}

// Two clusters: the weights alone decide which of two versions stands for both.
TEST(VersionCover, D_a_weightsAloneChangeTheChoice) {
  const std::vector<MeasuredVersion> versions = named({{10, 100}, {5, 100}, {10, 50}});
  const std::vector<int64_t> rows{8, 800};
  EXPECT_EQ(coverVersions(versions, rows, {0.99, 0.01}, 1).version, versions[1].version);
  EXPECT_EQ(coverVersions(versions, rows, {0.5, 0.5}, 1).version, versions[2].version);
  EXPECT_EQ(textOf(coverVersions(versions, rows, {0.5, 0.5}, 2).version),
            textOf(versions[1].version) + "<=404," + textOf(versions[2].version));
  EXPECT_EQ(coverVersions(versions, rows, {0.5, 0.5}, 2).versionsCount, 2);
}

TEST(VersionCover, smallGainsChooseNothing) {
  EXPECT_TRUE(
      contraction::isAutomatic(coverVersions(named({{100, 100}, {98, 98}}), {1, 2}, {0.5, 0.5}, 4).version));
  EXPECT_EQ(coverVersions(named({{100, 100}, {90, 90}, {90, 89}}), {1, 2}, {0.5, 0.5}, 4).versionsCount, 1);
}

// Up to 12 versions and 8 shapes: no choice of ranges and versions is better by more than what a version more
// must be worth.
TEST(VersionCover, D_e_withinItsBoundOfTryingEverything) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 60; ++trial) {
    const size_t versionsCount = 1 + random() % 12, shapes = 1 + random() % 8;
    std::vector<std::vector<double>> times(versionsCount, std::vector<double>(shapes));
    for (auto& row : times)
      for (double& time : row) time = std::uniform_real_distribution<double>(50, 150)(random);
    std::vector<int64_t> rows(shapes);
    std::vector<double> weights(shapes, 1.0 / static_cast<double>(shapes));
    for (int64_t& r : rows) r = 1 + static_cast<int64_t>(random() % 30);
    const int most = 1 + static_cast<int>(random() % 4);
    const VersionCover cover = coverVersions(named(times), rows, weights, most);
    ASSERT_LE(cover.versionsCount, most);
    const std::string text = textOf(cover.version);
    const auto pieces = contraction::parseDispatch(text);
    ASSERT_TRUE(pieces.has_value()) << text;
    EXPECT_EQ(pieces->size(), static_cast<size_t>(cover.versionsCount));
    // What is dispatched takes what is said.
    double dispatched = 0;
    for (size_t s = 0; s < shapes; ++s)
      for (const contraction::DispatchPiece& piece : *pieces)
        if (rows[s] <= piece.mostRows) {
          dispatched += weights[s] * times[piece.schedule < 0 ? 0 : static_cast<size_t>(piece.schedule)][s];
          break;
        }
    EXPECT_NEAR(dispatched, cover.timeNs, 1e-9);
    // Every way to cut the rows in at most `most` ranges, each with its best version.
    std::vector<int64_t> distinct = rows;
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    double best = 1e300;
    for (uint32_t cuts = 0; cuts < (1u << (distinct.size() - 1)); ++cuts) {
      if (__builtin_popcount(cuts) + 1 > most) continue;
      double sum = 0;
      for (size_t begin = 0; begin < distinct.size();) {
        size_t end = begin + 1;
        while (end < distinct.size() && !(cuts >> (end - 1) & 1)) ++end;
        double least = 1e300;
        for (const auto& row : times) {
          double time = 0;
          for (size_t s = 0; s < shapes; ++s)
            if (rows[s] >= distinct[begin] && rows[s] <= distinct[end - 1]) time += weights[s] * row[s];
          least = std::min(least, time);
        }
        sum += least;
        begin = end;
      }
      best = std::min(best, sum);
    }
    // Each range more that is left out, and "auto", may cost up to 3 %.
    EXPECT_LE(cover.timeNs * std::pow(0.97, most), best + 1e-9) << text;
    EXPECT_GE(cover.timeNs, best - 1e-9);
  }
}

}  // namespace
}  // namespace dyn
