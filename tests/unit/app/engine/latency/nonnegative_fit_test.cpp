#include "app/engine/latency/nonnegative_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace dyn {
namespace {

using Columns = std::vector<std::vector<double>>;

double restOf(const Columns& columns, const std::vector<double>& x) {
  double sum = 0;
  for (size_t row = 0; row < columns[0].size(); ++row) {
    double value = -1;
    for (size_t i = 0; i < columns.size(); ++i) value += columns[i][row] * x[i];
    sum += value * value;
  }
  return sum;
}

TEST(NonnegativeFit, findsWhatMadeTheNumbers) {
  // 1 = 2 * a + 0.5 * b in every row.
  const Columns columns = {{0.5, 0.25, 0.1}, {0, 1, 1.6}, {1, 0, 0.2}};
  const std::vector<double> x = nonnegativeFit(columns);
  ASSERT_EQ(x.size(), 3u);
  EXPECT_NEAR(x[0], 2, 1e-9);
  EXPECT_NEAR(x[1], 0.5, 1e-9);
  EXPECT_NEAR(x[2], 0, 1e-9);
}

TEST(NonnegativeFit, nothingBecomesNegative) {
  // The best without the demand is -1 of the second column.
  const std::vector<double> x = nonnegativeFit({{1, 2, 3}, {0, 1, 2}});
  EXPECT_EQ(x[1], 0);
  EXPECT_NEAR(x[0], 6.0 / 14, 1e-9);
}

TEST(NonnegativeFit, columnsThatAreZeroOrDependOnOthers) {
  const std::vector<double> x = nonnegativeFit({{1, 1}, {2, 2}, {0, 0}});
  EXPECT_NEAR(x[0] + 2 * x[1], 1, 1e-9);
  EXPECT_EQ(x[2], 0);
  EXPECT_TRUE(nonnegativeFit({}).empty());
}

// No step along a column, up or down, shortens the rest: what the conditions of Karush, Kuhn and Tucker say.
TEST(NonnegativeFit, nothingNearbyIsBetter) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> number(0, 1);
  for (int iteration = 0; iteration < 200; ++iteration) {
    const size_t rows = 4 + static_cast<size_t>(iteration) % 20,
                 count = 1 + static_cast<size_t>(iteration) % 9;
    Columns columns(count, std::vector<double>(rows));
    for (std::vector<double>& column : columns)
      for (double& value : column) value = number(random) < 0.2 ? 0 : number(random);
    const std::vector<double> x = nonnegativeFit(columns);
    const double rest = restOf(columns, x);
    for (size_t i = 0; i < count; ++i) {
      ASSERT_GE(x[i], 0);
      for (const double step : {1e-4, -1e-4}) {
        std::vector<double> other = x;
        other[i] = std::max(0.0, other[i] + step);
        EXPECT_GE(restOf(columns, other), rest - 1e-9) << "iteration " << iteration << ", column " << i;
      }
    }
  }
}

}  // namespace
}  // namespace dyn
