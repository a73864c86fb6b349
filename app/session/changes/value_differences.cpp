#include "app/session/changes/value_differences.h"

#include <cmath>
#include <limits>

#include "compiler/ir/tensor_text.h"
#include "compiler/support/list_text.h"

namespace dyn {

namespace {

double distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double between = std::abs(a - b);
  return std::isnan(between) ? std::numeric_limits<double>::infinity() : between;
}

std::vector<int64_t> indexOf(int64_t flat, const std::vector<int64_t>& shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = flat % shape[axis];
    flat /= shape[axis];
  }
  return index;
}

}  // namespace

void measureError(const Value& actual, const Value& expected, double relativeTolerance, ValueError& error) {
  if (!actual.isTensor() || !expected.isTensor()) {
    if (!actual.identical(expected)) error.mismatch = "values that are no tensors differ";
    error.isWrong = !error.mismatch.empty();
    return;
  }
  const HostTensor& a = actual.tensor();
  const HostTensor& b = expected.tensor();
  error.shape = tensorHead(b);
  if (a.shape() != b.shape()) {
    error.mismatch = "shape " + bracketed(a.shape()) + " instead of " + bracketed(b.shape());
    error.isWrong = true;
    return;
  }
  double squares = 0, errors = 0;
  const int64_t count = b.elementCount();
  for (int64_t i = 0; i < count; ++i) {
    const double wanted = b.realAt(i);
    if (std::isfinite(wanted)) squares += wanted * wanted;
  }
  const double rms = count > 0 ? std::sqrt(squares / static_cast<double>(count)) : 0;
  int64_t worst = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double made = a.realAt(i), wanted = b.realAt(i), between = distance(made, wanted);
    if (between == 0) continue;
    errors += between * between;
    const double magnitude = std::isfinite(wanted) ? std::max(std::abs(wanted), rms) : rms;
    const double relative = magnitude > 0 ? between / magnitude : std::numeric_limits<double>::infinity();
    error.maxRelative = std::max(error.maxRelative, relative);
    if (between > error.maxAbs) {
      error.maxAbs = between;
      worst = i;
    }
  }
  error.relative = errors == 0 ? 0 : std::sqrt(errors / squares);
  error.isWrong = error.maxRelative > relativeTolerance;
  if (count == 0) return;
  error.worstIndex = indexOf(worst, b.shape());
  error.expected = b.realAt(worst);
  error.actual = a.realAt(worst);
}

}  // namespace dyn
