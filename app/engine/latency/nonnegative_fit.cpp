#include "app/engine/latency/nonnegative_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

namespace dyn {

namespace {

using Vector = std::vector<double>;

// The normal equations of the columns that are in use, solved by Cholesky's method; nothing where they
// depend on each other.
std::optional<Vector> solve(const std::vector<Vector>& gram, const Vector& right,
                            const std::vector<size_t>& used) {
  const size_t n = used.size();
  std::vector<Vector> lower(n, Vector(n));
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j <= i; ++j) {
      double sum = gram[used[i]][used[j]];
      for (size_t k = 0; k < j; ++k) sum -= lower[i][k] * lower[j][k];
      if (i != j) {
        lower[i][j] = sum / lower[j][j];
      } else {
        if (sum <= 1e-10) return std::nullopt;  // columns have length 1
        lower[i][i] = std::sqrt(sum);
      }
    }
  Vector x(n);
  for (size_t i = 0; i < n; ++i) {
    double sum = right[used[i]];
    for (size_t k = 0; k < i; ++k) sum -= lower[i][k] * x[k];
    x[i] = sum / lower[i][i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) x[i] -= lower[k][i] * x[k];
    x[i] /= lower[i][i];
  }
  return x;
}

}  // namespace

std::vector<double> nonnegativeFit(const std::vector<std::vector<double>>& columns) {
  const size_t count = columns.size();
  Vector scale(count, 0), right(count, 0), x(count, 0);
  std::vector<Vector> gram(count, Vector(count));
  for (size_t i = 0; i < count; ++i)
    scale[i] = std::sqrt(std::inner_product(columns[i].begin(), columns[i].end(), columns[i].begin(), 0.0));
  for (size_t i = 0; i < count; ++i) {
    if (scale[i] == 0) continue;
    right[i] = std::accumulate(columns[i].begin(), columns[i].end(), 0.0) / scale[i];
    for (size_t j = 0; j < count; ++j)
      if (scale[j] != 0)
        gram[i][j] = std::inner_product(columns[i].begin(), columns[i].end(), columns[j].begin(), 0.0) /
                     (scale[i] * scale[j]);
  }
  std::vector<bool> isUsed(count), isBarred(count);
  std::vector<size_t> used;
  for (size_t iteration = 0; iteration < 10 * count + 10; ++iteration) {
    // The column that would shorten the rest most.
    size_t best = count;
    double most = 1e-9;
    for (size_t i = 0; i < count; ++i) {
      if (isUsed[i] || isBarred[i] || scale[i] == 0) continue;
      double gain = right[i];
      for (const size_t j : used) gain -= gram[i][j] * x[j];
      if (gain > most) {
        most = gain;
        best = i;
      }
    }
    if (best == count) break;
    isUsed[best] = true;
    used.push_back(best);
    while (!used.empty()) {
      const std::optional<Vector> found = solve(gram, right, used);
      if (!found) {  // it depends on those that are there
        isUsed[best] = false;
        isBarred[best] = true;
        std::erase(used, best);
        break;
      }
      double step = 1;
      for (size_t k = 0; k < used.size(); ++k)
        if ((*found)[k] <= 0) step = std::min(step, x[used[k]] / (x[used[k]] - (*found)[k]));
      const bool whole = step >= 1;
      std::vector<size_t> kept;
      for (size_t k = 0; k < used.size(); ++k) {
        const size_t i = used[k];
        x[i] = whole ? (*found)[k] : x[i] + step * ((*found)[k] - x[i]);
        if (x[i] > 1e-14) {
          kept.push_back(i);
        } else {
          x[i] = 0;
          isUsed[i] = false;
        }
      }
      const bool dropped = kept.size() < used.size();
      used = std::move(kept);
      if (whole || !dropped) break;
    }
    if (!isUsed[best]) isBarred[best] = true;  // it came and went
  }
  for (size_t i = 0; i < count; ++i)
    if (scale[i] != 0) x[i] /= scale[i];
  return x;
}

}  // namespace dyn
