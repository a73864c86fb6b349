// Seeded random dims, each with its written form and an evaluation that knows nothing of the canonical form.
#pragma once

#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/dims/dim.h"

namespace dyn {

class RandomDims {
 public:
  using Value = std::function<std::optional<int64_t>(const DimBinding&)>;
  struct Pair {
    Dim dim;
    std::string text;
    Value value;  // nullopt where the written form divides by zero
  };

  RandomDims(DimContext& context, std::vector<Dim> symbols, uint64_t seed)
      : context_(context), symbols_(std::move(symbols)), state_(seed * 2 + 1) {}

  // 0 <= result < limit.
  int64_t below(size_t limit) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<int64_t>((state_ * 0x2545f4914f6cdd1dull >> 33) % limit);
  }
  Dim symbol() { return symbols_[static_cast<size_t>(below(symbols_.size()))]; }

  Pair next(int depth) {
    if (depth == 0 || below(6) == 0) return leaf();
    Pair a = next(depth - 1), b = below(2) ? leaf() : next(depth - 1);
    switch (below(8)) {
      case 0:
        return join("(" + a.text + " + " + b.text + ")", a.dim + b.dim, a, b, checkedAdd);
      case 1:
        return join("(" + a.text + " - " + b.text + ")", a.dim - b.dim, a, b, subtract);
      case 2:
        return join("(" + a.text + " * " + b.text + ")", a.dim * b.dim, a, b, checkedMul);
      case 3:
        return join("floordiv(" + a.text + ", " + b.text + ")", floorDiv(a.dim, b.dim), a, b,
                    checkedFloorDiv);
      case 4:
        return join("ceildiv(" + a.text + ", " + b.text + ")", ceilDiv(a.dim, b.dim), a, b, checkedCeilDiv);
      case 5:
        return join("mod(" + a.text + ", " + b.text + ")", mod(a.dim, b.dim), a, b, checkedMod);
      case 6:
        return join("min(" + a.text + ", " + b.text + ")", min(a.dim, b.dim), a, b, smaller);
      default:
        return join("max(" + a.text + ", " + b.text + ")", max(a.dim, b.dim), a, b, larger);
    }
  }

 private:
  using Operation = std::optional<int64_t> (*)(int64_t, int64_t);
  static std::optional<int64_t> subtract(int64_t a, int64_t b) { return a - b; }
  static std::optional<int64_t> smaller(int64_t a, int64_t b) { return a < b ? a : b; }
  static std::optional<int64_t> larger(int64_t a, int64_t b) { return a > b ? a : b; }

  Pair leaf() {
    if (below(3) == 0) {
      int64_t v = below(14) - 4;
      return {context_.constant(v), std::to_string(v),
              [v](const DimBinding&) { return std::optional<int64_t>(v); }};
    }
    Dim s = symbol();
    return {s, s.toString(), [id = s.symbol()](const DimBinding& b) { return b.get(id); }};
  }
  static Pair join(std::string text, Dim dim, const Pair& a, const Pair& b, Operation operation) {
    auto value = [x = a.value, y = b.value, operation](const DimBinding& binding) -> std::optional<int64_t> {
      auto p = x(binding), q = y(binding);
      if (!p || !q) return std::nullopt;
      if (std::llabs(*p) > 1000000 || std::llabs(*q) > 1000000)
        return std::nullopt;  // overflow is tested elsewhere
      return operation(*p, *q);
    };
    return {dim, std::move(text), value};
  }

  DimContext& context_;
  std::vector<Dim> symbols_;
  uint64_t state_;
};

}  // namespace dyn
