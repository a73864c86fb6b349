// Programs and inputs of the sweep's rows, for all tests that run them.
#pragma once

#include <algorithm>
#include <iterator>
#include <limits>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/infer/infer.h"
#include "compiler/loop/scalar_math.h"
#include "tests/unit/compiler/driver/operator_sweep.h"

namespace dyn::test {

inline const std::vector<SweepRow>& sweepTable() {
  static const std::vector<SweepRow> table = [] {
    std::vector<SweepRow> all;
    for (auto part : {elementwiseRows, placeRows, foldRows, selectionRows, structureRows}) {
      std::vector<SweepRow> rows = part();
      all.insert(all.end(), rows.begin(), rows.end());
    }
    return all;
  }();
  return table;
}

inline std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

inline std::string programOf(const SweepRow& row, const std::string& dtype, const std::string& attributes) {
  std::string body = replaced(row.body, "<T>", dtype);
  if (body.find("{A") != std::string::npos || body.find(", A}") != std::string::npos) {
    body = replaced(body, "{A}", attributes.empty() ? "" : "{" + attributes + "}");
    body = replaced(replaced(body, "{A, ", "{" + attributes + ", "), ", A}", ", " + attributes + "}");
  }
  if (row.parameters.empty()) return body;
  static const std::regex parameter(R"(%(\w+) (\w+)\[([^\]]*)\])");
  std::string parameters = std::regex_replace(row.parameters, parameter, "%$1: Tensor[($3), $2]");
  parameters = replaced(parameters, "), T]", "), " + dtype + "]");
  if (body.find("return") == std::string::npos) body = "%y = " + body + " return %y";
  return "fn @main(" + parameters + ") { " + body + " }";
}

inline std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

// The limits of an integer type, what is next to them, and small numbers.
inline std::vector<int64_t> specialIntegers(Dtype dtype) {
  if (dtype == Dtype::boolean) return {0, 1};
  const int bits = loop::integerBits(dtype);
  const auto top = static_cast<int64_t>(~uint64_t{0} >> (64 - bits + (isSigned(dtype) ? 1 : 0)));
  std::vector<int64_t> values{0, 1, 2, 3, 7, top - 1, top, top / 2};
  if (isSigned(dtype))
    for (int64_t x : {int64_t{-1}, int64_t{-2}, int64_t{-3}, -top, -top - 1}) values.push_back(x);
  return values;
}

// The inputs of one run.
class Draw {
 public:
  // Plain elements; reals where functions end; integers at the limits of T. The last two only where the row
  // gives no fill.
  enum class Elements : uint8_t { plain, special, limits };
  Draw(const SweepRow& row, IrContext& ir, const Function& main, uint32_t seed)
      : row_(row), ir_(ir), main_(main), random_(seed) {}

  // `size(k)`: the wish for the k-th symbol.
  template <typename Size>
  std::vector<HostTensor> inputs(Size size, Elements elements) {
    std::set<SymbolId> symbols;
    for (const Parameter& parameter : main_.parameters)
      for (SymbolId symbol : symbolsOf(parameter.type)) symbols.insert(symbol);
    size_t k = 0;
    for (SymbolId symbol : symbols) {
      int64_t wish = size(k++);
      const auto allowed = row_.dims.find(ir_.dims().symbolName(symbol));
      if (allowed != row_.dims.end()) {
        const std::vector<int64_t>& sizes = allowed->second;
        if (std::find(sizes.begin(), sizes.end(), wish) == sizes.end())
          wish = sizes[static_cast<size_t>(wish) % sizes.size()];
      }
      binding_.set(symbol, wish);
      byName_[ir_.dims().symbolName(symbol)] = wish;
    }
    std::vector<HostTensor> result;
    for (const Parameter& parameter : main_.parameters) {
      std::vector<int64_t> shape;
      for (Dim dim : parameter.type.dims()) shape.push_back(std::max<int64_t>(0, *evaluate(dim, binding_)));
      result.push_back(
          tensor(ir_.valueName(parameter.id), parameter.type.dtype(), std::move(shape), elements));
    }
    return result;
  }

 private:
  int64_t bound(const std::string& text) const {
    const bool negative = text[0] == '-' && text.size() > 1 && !std::isdigit(text[1]);
    const std::string rest = text.substr(negative ? 1 : 0);
    const size_t end = rest.find('-', 1);
    const auto named = byName_.find(rest.substr(0, end));
    const int64_t value = named != byName_.end() ? named->second : std::stoll(rest);
    return (negative ? -value : value) - (named != byName_.end() && end != std::string::npos ? 1 : 0);
  }
  bool isOfElementType(const std::string& parameter) const {
    return row_.parameters.find("%" + parameter + " T[") != std::string::npos;
  }
  HostTensor tensor(const std::string& name, Dtype dtype, std::vector<int64_t> shape, Elements elements) {
    if (dtype == Dtype::string) return texts(std::move(shape));
    HostTensor made = *HostTensor::create(dtype, std::move(shape));
    const auto fill = std::find_if(row_.fills.begin(), row_.fills.end(),
                                   [&](const Fill& f) { return f.parameter == name; });
    int64_t low = isSigned(dtype) ? -3 : 0, high = dtype == Dtype::boolean ? 1 : 5;
    if (dtype == Dtype::i4) high = 4;
    if (fill != row_.fills.end()) {
      low = bound(fill->low);
      high = dtype == Dtype::boolean ? 1 : std::max(low, bound(fill->high));
    }
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    constexpr double kSpecial[] = {kInfinity, -kInfinity, std::nan(""), -0.0,   0.0,  1.0,
                                   -1.0,      0.5,        88.0,         -104.0, 1e-6, 3e4};
    const bool atLimits = elements == Elements::limits && fill == row_.fills.end() && !isReal(dtype) &&
                          dtype != Dtype::boolean && isOfElementType(name);
    const std::vector<int64_t> limits = atLimits ? specialIntegers(dtype) : std::vector<int64_t>();
    for (int64_t i = 0; i < made.elementCount(); ++i) {
      if (atLimits)
        made.setInt(i, limits[random_() % limits.size()]);
      else if (!isReal(dtype))
        made.setInt(i, std::uniform_int_distribution<int64_t>(low, high)(random_));
      else if (elements == Elements::special && fill == row_.fills.end())
        made.setReal(i, kSpecial[random_() % std::size(kSpecial)]);
      else if (fill != row_.fills.end())
        made.setReal(i, std::uniform_real_distribution<double>(static_cast<double>(low),
                                                               static_cast<double>(high))(random_));
      else
        made.setReal(i, std::normal_distribution<double>(0, 1.5)(random_));
    }
    return made;
  }
  HostTensor texts(std::vector<int64_t> shape) {
    constexpr const char* kTexts[] = {"", "a", "aa", "A,b", "b c", " d  e ", ",x,,y", "\xc3\xa9t\xc3\xa9"};
    int64_t count = 1;
    for (int64_t size : shape) count *= size;
    std::vector<std::string> all;
    for (int64_t i = 0; i < count; ++i) all.push_back(kTexts[random_() % std::size(kTexts)]);
    return HostTensor::strings(std::move(shape), std::move(all));
  }

  const SweepRow& row_;
  IrContext& ir_;
  const Function& main_;
  std::mt19937 random_;
  DimBinding binding_;
  std::map<std::string, int64_t> byName_;
};

}  // namespace dyn::test
