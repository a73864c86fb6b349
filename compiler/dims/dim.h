// Dim: a size known only at run time, as a symbolic integer expression.
//
// A Dim is a constant, a symbol (`seq`, or the anonymous `?3`), or +, -, *, floordiv, ceildiv, mod, min, max
// of Dims. Dims are interned in a DimContext and kept in canonical form (a sum of products over atoms), so
// that structural equality is pointer equality: `2*(n+1)` and `n+n+2` are the same object. Two different `?`
// are never equal unless a fact says so (see dim_solver.h).
//
//   DimContext c;
//   Dim n = c.symbol("n");
//   (2 * (n + 1)).toString()        → "2*n + 2"
//   evaluate(n * n, {{n, 3}})       → 9
//
// Rewrites hold for all integers for which the written form is defined; (n*m)/m stays, for m may be 0.
// ceilDiv by a positive constant k becomes floorDiv(a + k-1, k). Sums and products past 256 terms are kept in
// parts, printed `group(...)`.
//
// Building never fails: a constant overflow, a product of more than 64 symbolic factors, or a division by a
// constant zero yields the `invalid` Dim, whose evaluation is a dimOverflow / dimDomain error. All arithmetic
// is checked 64-bit. Not thread-safe: one DimContext per compilation; it owns the nodes and must outlive its
// Dims.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/result.h"

namespace dyn {

class DimContext;

enum class DimKind : uint8_t { constant, symbol, add, mul, floorDiv, ceilDiv, mod, min, max, invalid };

// A symbol's number within its DimContext: dense, in order of creation, stable for ever.
using SymbolId = uint32_t;

struct DimNode;

class Dim {
 public:
  Dim() = default;  // null: only good for assignment and operator bool
  explicit operator bool() const { return node_ != nullptr; }
  bool operator==(const Dim& other) const { return node_ == other.node_; }
  bool operator!=(const Dim& other) const { return node_ != other.node_; }

  DimKind kind() const;
  bool isConstant() const { return kind() == DimKind::constant; }
  bool isSymbol() const { return kind() == DimKind::symbol; }
  bool isInvalid() const { return kind() == DimKind::invalid; }
  // The constant's value, or nullopt.
  std::optional<int64_t> constant() const;
  bool isConstant(int64_t value) const { return constant() == value; }
  SymbolId symbol() const;  // precondition: isSymbol()
  // add: terms in canonical order, the constant last. mul: the coefficient first when it is not 1, then
  // atoms. Others: two (min and max of more nest to the left).
  std::span<const Dim> operands() const;
  uint32_t id() const;  // dense id in its context: a deterministic order
  DimContext& context() const;

  // "2*n + 1", "floordiv(n, 2)", "min(a, b)", "?3". Parsed back by parseDim(), in any context, to the same
  // text. Past 64 KiB it is cut with "..." (shared parts are written out each time), and nested past 200
  // levels it is not parsed back.
  std::string toString() const;

 private:
  friend class DimContext;
  friend struct DimBuilder;
  explicit Dim(const DimNode* node) : node_(node) {}
  const DimNode* node_ = nullptr;
};

Dim operator+(Dim a, Dim b);
Dim operator-(Dim a, Dim b);
Dim operator*(Dim a, Dim b);
Dim operator+(Dim a, int64_t b);
Dim operator-(Dim a, int64_t b);
Dim operator*(Dim a, int64_t b);
Dim operator*(int64_t a, Dim b);
Dim floorDiv(Dim a, Dim b);  // toward minus infinity
Dim ceilDiv(Dim a, Dim b);
Dim mod(Dim a, Dim b);  // a - b*floorDiv(a, b): has the sign of b
Dim min(Dim a, Dim b);
Dim max(Dim a, Dim b);

class DimContext {
 public:
  DimContext();
  ~DimContext();
  DimContext(const DimContext&) = delete;
  DimContext& operator=(const DimContext&) = delete;

  Dim constant(int64_t value);
  // The symbol of that name, created on first use. Cleaning: a character outside [A-Za-z0-9_.] becomes `_`,
  // `_` goes before a leading digit or dot; two names that would clean to the same text get different symbols
  // (`a b` → a_b, `a:b` → a_b_2).
  Dim symbol(std::string_view name);
  bool hasSymbol(std::string_view name) const;
  // A new anonymous symbol, printed `?K`; `reason` says why nothing more is known ("NonZero counts values").
  Dim any(std::string reason);
  Dim invalid();

  uint32_t symbolCount() const;
  Dim symbolById(SymbolId id) const;
  std::string symbolName(SymbolId id) const;  // "seq" or "?3"
  bool isAnonymous(SymbolId id) const;
  const std::string& symbolReason(SymbolId id) const;  // where it came from; never empty
  void setSymbolReason(SymbolId id, std::string reason);

 private:
  friend class Dim;
  friend struct DimBuilder;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Values of symbols, dense by SymbolId; nullopt = not bound.
class DimBinding {
 public:
  void set(SymbolId id, int64_t value);
  void set(Dim symbol, int64_t value) { set(symbol.symbol(), value); }
  std::optional<int64_t> get(SymbolId id) const;

 private:
  std::vector<std::optional<int64_t>> values_;
};

// The value of `dim`. Errors: dimOverflow, dimDomain (division or mod by 0), or textName when a symbol is
// unbound.
Result<int64_t> evaluate(Dim dim, const DimBinding& binding);
// Replaces symbols; `replacement` returns null for "keep". Iterative; shared parts are visited once.
Dim substitute(Dim dim, const std::function<Dim(SymbolId)>& replacement);
// Symbols in `dim`, ascending, without repeats.
std::vector<SymbolId> symbolsOf(Dim dim);
// Is one of them anonymous, a `?`?
bool hasAnonymous(Dim dim);
// Parses what Dim::toString prints, and what exporters write as dim_param: "2*seq + 1", "floor(h/2)", "s0 +
// s1", "past-1", "Max(1, s0)", "2*s3//5", "s0**2". `/` only inside floor() or ceiling(); a lone `?` is a new
// anonymous symbol. New names become symbols (also when an error follows). Errors: textSyntax with a column;
// limits: 64 KiB, nesting 200, exponent 16.
Result<Dim> parseDim(DimContext& context, std::string_view text);

// Checked 64-bit arithmetic, shared by compile time and the reference evaluation; nullopt on overflow or
// domain error.
std::optional<int64_t> checkedAdd(int64_t a, int64_t b);
std::optional<int64_t> checkedMul(int64_t a, int64_t b);
std::optional<int64_t> checkedFloorDiv(int64_t a, int64_t b);
std::optional<int64_t> checkedCeilDiv(int64_t a, int64_t b);
std::optional<int64_t> checkedMod(int64_t a, int64_t b);

using Shape = std::vector<Dim>;
// "(batch, seq, 768)"; rank 1 "(n)", rank 0 "()".
std::string toString(const Shape& shape);
// Number of elements: the product of all dims, 1 for rank 0. The context serves rank 0.
Dim elementCount(DimContext& context, const Shape& shape);

}  // namespace dyn
