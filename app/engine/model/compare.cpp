#include "app/engine/model/compare.h"

#include <cmath>
#include <cstdio>
#include <cstring>

#include "compiler/support/list_text.h"

namespace dyn {

namespace {

std::string indexText(const std::vector<int64_t>& shape, int64_t flat) {
  std::vector<int64_t> index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = shape[axis] ? flat % shape[axis] : 0;
    flat = shape[axis] ? flat / shape[axis] : 0;
  }
  return bracketed(index);
}

std::string realText(double value) {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.9g", value);
  return buffer;
}

bool closeEnough(double a, double b, const Tolerance& tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::abs(a - b) <= tolerance.absolute + tolerance.relative * std::abs(b);
}

// Of the elements that are finite.
double rootMeanSquare(const HostTensor& tensor) {
  double sum = 0;
  int64_t count = 0;
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    const double x = tensor.realAt(i);
    if (!std::isfinite(x)) continue;
    sum += x * x;
    ++count;
  }
  return count ? std::sqrt(sum / static_cast<double>(count)) : 0;
}

std::string compareTensors(const HostTensor& actual, const HostTensor& expected, Tolerance tolerance) {
  if (actual.dtype() != expected.dtype())
    return "element type " + std::string(toString(actual.dtype())) + " instead of " +
           std::string(toString(expected.dtype()));
  if (actual.shape() != expected.shape())
    return "shape " + bracketed(actual.shape()) + " instead of " + bracketed(expected.shape());
  const DtypeClass cls = dtypeClass(actual.dtype());
  if (tolerance.ofTensor && cls == DtypeClass::real)
    tolerance.absolute += tolerance.relative * rootMeanSquare(expected);
  int64_t wrong = 0, first = -1;
  const bool complex = cls == DtypeClass::complex;
  for (int64_t i = 0; i < actual.elementCount(); ++i) {
    bool same = false;
    if (cls == DtypeClass::text) {
      same = actual.stringValues()[static_cast<size_t>(i)] == expected.stringValues()[static_cast<size_t>(i)];
    } else if (cls == DtypeClass::real) {
      same = closeEnough(actual.realAt(i), expected.realAt(i), tolerance);
    } else if (complex) {
      if (actual.dtype() == Dtype::c64) {
        same = closeEnough(actual.as<float>()[2 * i], expected.as<float>()[2 * i], tolerance) &&
               closeEnough(actual.as<float>()[2 * i + 1], expected.as<float>()[2 * i + 1], tolerance);
      } else {
        same = closeEnough(actual.as<double>()[2 * i], expected.as<double>()[2 * i], tolerance) &&
               closeEnough(actual.as<double>()[2 * i + 1], expected.as<double>()[2 * i + 1], tolerance);
      }
    } else {
      same = actual.intAt(i) == expected.intAt(i);
    }
    if (same) continue;
    ++wrong;
    if (first < 0) first = i;
  }
  if (wrong == 0) return "";
  std::string text = "element " + indexText(actual.shape(), first) + " is ";
  if (cls == DtypeClass::text) {
    text += "\"" + actual.stringValues()[static_cast<size_t>(first)] + "\" instead of \"" +
            expected.stringValues()[static_cast<size_t>(first)] + "\"";
  } else if (cls == DtypeClass::real || complex) {
    text += realText(actual.realAt(first)) + " instead of " + realText(expected.realAt(first));
  } else {
    text += std::to_string(actual.intAt(first)) + " instead of " + std::to_string(expected.intAt(first));
  }
  return text + " (" + std::to_string(wrong) + " of " + std::to_string(actual.elementCount()) + " differ)";
}

}  // namespace

std::string compareValues(const Value& actual, const Value& expected, const Tolerance& tolerance) {
  struct Pair {
    const Value *actual, *expected;
    std::string path;
  };
  std::vector<Pair> pending = {{&actual, &expected, ""}};
  while (!pending.empty()) {
    Pair pair = std::move(pending.back());
    pending.pop_back();
    const Value &a = *pair.actual, &e = *pair.expected;
    if (a.kind() != e.kind())
      return pair.path + "a " + std::string(toString(a.kind())) + " instead of a " + toString(e.kind());
    if (a.isTensor()) {
      const std::string difference = compareTensors(a.tensor(), e.tensor(), tolerance);
      if (!difference.empty()) return pair.path + difference;
      continue;
    }
    if (a.parts().size() != e.parts().size())
      return pair.path + std::to_string(a.parts().size()) + " items instead of " +
             std::to_string(e.parts().size());
    for (size_t i = a.parts().size(); i-- > 0;)
      pending.push_back({&a.parts()[i], &e.parts()[i], pair.path + "item " + std::to_string(i) + ": "});
  }
  return "";
}

}  // namespace dyn
