// Building of operations, with the simplifications that the header of expr.h promises. Index arithmetic (i64)
// is kept as sums with the constant at the right; floorDiv and mod take out exact multiples of the divisor;
// arithmetic between dims becomes one dim, unless one of them is long.
#include <cassert>
#include <unordered_set>

#include "compiler/loop/expr_forms.h"
#include "compiler/loop/expr_node.h"
#include "compiler/loop/scalar_math.h"
#include "compiler/loop/widened_byte.h"

namespace dyn::loop {

namespace {

constexpr int kMaxDepth = 24;  // of the range analysis
constexpr int kMaxTerms = 32;  // of a sum taken apart

bool isInt(Expr e) { return e.kind() == ExprKind::intConstant; }
bool isInt(Expr e, int64_t value) { return isInt(e) && e.intValue() == value; }
bool isDim(Expr e) { return e.kind() == ExprKind::dim; }

Dim asDim(Expr e) {
  if (isDim(e)) return e.dimValue();
  if (isInt(e) && e.dtype() == Dtype::i64) return e.context().dims().constant(e.intValue());
  return {};
}

// Is the dim made of more nodes than code for it is worth? A kernel is given such a dim as one scalar; a sum
// or product with it would be a new dim, of all its terms, which the kernel had to compute again.
bool isLong(Dim d) {
  constexpr size_t kMostNodes = 48;
  if (d.operands().empty()) return false;
  std::unordered_set<uint32_t> seen{d.id()};
  std::vector<Dim> work{d};
  while (!work.empty()) {
    const Dim next = work.back();
    work.pop_back();
    for (Dim operand : next.operands())
      if (seen.insert(operand.id()).second) work.push_back(operand);
    if (seen.size() > kMostNodes) return true;
  }
  return false;
}

// D / K when K's factors are among D's, else null. Never divides by something that could be zero at run time
// unless K was there already.
Dim dimQuotient(Dim d, Dim k) {
  const auto factorsOf = [](Dim x) {
    return x.kind() == DimKind::mul ? std::vector<Dim>(x.operands().begin(), x.operands().end())
                                    : std::vector<Dim>{x};
  };
  const auto monomial = [&](Dim m) -> Dim {
    std::vector<Dim> left = factorsOf(m);
    for (Dim f : factorsOf(k)) {
      bool found = false;
      for (Dim& l : left) {
        if (l == f) {
          l = m.context().constant(1);
          found = true;
        } else if (l.constant() && f.constant() && *f.constant() != 0 && *f.constant() != -1 &&
                   *l.constant() % *f.constant() == 0) {
          l = m.context().constant(*l.constant() / *f.constant());
          found = true;
        }
        if (found) break;
      }
      if (!found) return {};
    }
    Dim product = m.context().constant(1);
    for (Dim l : left) product = product * l;
    return product;
  };
  if (d.kind() != DimKind::add) return monomial(d);
  Dim sum = d.context().constant(0);
  for (Dim term : d.operands()) {
    Dim q = monomial(term);
    if (!q) return {};
    sum = sum + q;
  }
  return sum;
}

// e / k when e is provably a multiple of k by its form; else null.
Expr exactQuotient(LoopContext& c, Expr e, Expr k, int depth = 0) {
  if (depth > kMaxDepth) return {};
  if (e.same(k)) return c.integer(1);
  if (isInt(e, 0)) return e;
  const Dim de = asDim(e), dk = asDim(k);
  if (de && dk) {
    Dim q = dimQuotient(de, dk);
    return q && !q.isInvalid() ? c.dim(q) : Expr();
  }
  if (!isBinary(e, BinaryOp::mul)) return {};
  if (Expr q = exactQuotient(c, e.operands()[1], k, depth + 1))
    return c.binary(BinaryOp::mul, e.operands()[0], q);
  if (Expr q = exactQuotient(c, e.operands()[0], k, depth + 1))
    return c.binary(BinaryOp::mul, q, e.operands()[1]);
  return {};
}

}  // namespace

// Has access to the context's facts about variables and sizes.
struct ExprSimplifier {
  LoopContext& c;
  LoopContext::Impl& impl;

  bool dimNonNegative(Dim d) const {
    if (auto v = d.constant()) return *v >= 0;
    if (impl.sizeDims.contains(d.id())) return true;
    if (d.kind() != DimKind::mul && d.kind() != DimKind::add) return false;
    for (Dim o : d.operands())
      if (!(o.constant() ? *o.constant() >= 0 : impl.sizeDims.contains(o.id()))) return false;
    return true;
  }

  bool nonNegative(Expr e, int depth = 0) const {
    if (depth > kMaxDepth) return false;
    switch (e.kind()) {
      case ExprKind::intConstant:
        return e.intValue() >= 0;
      case ExprKind::dim:
        return dimNonNegative(e.dimValue());
      case ExprKind::variable:
        return impl.extents.contains(e.id());
      case ExprKind::binary:
        switch (e.binaryOp()) {
          case BinaryOp::add:
          case BinaryOp::mul:
          case BinaryOp::floorDiv:
          case BinaryOp::min:
            return nonNegative(e.operands()[0], depth + 1) && nonNegative(e.operands()[1], depth + 1);
          case BinaryOp::max:
            return nonNegative(e.operands()[0], depth + 1) || nonNegative(e.operands()[1], depth + 1);
          case BinaryOp::mod:
            return nonNegative(e.operands()[1], depth + 1);
          default:
            return false;
        }
      case ExprKind::cast:
        return !widenedByte(e).isNull();
      default:
        return false;
    }
  }

  // A dim that e never exceeds while its variables are in range; null when none is known.
  Dim upperBound(Expr e, int depth = 0) const {
    if (depth > kMaxDepth) return {};
    if (Dim d = asDim(e)) return d;
    if (e.kind() == ExprKind::variable) {
      auto found = impl.extents.find(e.id());
      if (found == impl.extents.end()) return {};
      Dim extent = asDim(found->second);
      return extent ? extent - 1 : Dim();
    }
    if (!widenedByte(e).isNull()) return c.dims().constant(255);
    if (e.kind() != ExprKind::binary) return {};
    const Expr a = e.operands()[0], b = e.operands()[1];
    switch (e.binaryOp()) {
      case BinaryOp::add: {
        Dim ua = upperBound(a, depth + 1), ub = upperBound(b, depth + 1);
        return ua && ub ? ua + ub : Dim();
      }
      case BinaryOp::mul: {
        if (!nonNegative(a, depth + 1) || !nonNegative(b, depth + 1)) return {};
        Dim ua = upperBound(a, depth + 1), ub = upperBound(b, depth + 1);
        return ua && ub ? ua * ub : Dim();
      }
      case BinaryOp::mod: {
        if (!nonNegative(b, depth + 1)) return {};
        Dim ub = upperBound(b, depth + 1);
        return ub ? ub - 1 : Dim();
      }
      case BinaryOp::floorDiv: {
        if (!isInt(b) || b.intValue() <= 0) return {};
        Dim ua = upperBound(a, depth + 1);
        return ua ? dyn::floorDiv(ua, c.dims().constant(b.intValue())) : Dim();
      }
      default:
        return {};
    }
  }

  // 0 <= e < k for all values of the loop variables.
  bool inRange(Expr e, Expr k) const {
    const Dim dk = asDim(k);
    if (!dk || !nonNegative(e)) return false;
    const Dim upper = upperBound(e);
    if (!upper) return false;
    const Dim slack = dk - upper;  // canonical: a difference of equal expressions is a constant
    return slack.constant() && *slack.constant() >= 1;
  }

  // a = multiple * k + rest; multiple is null when a has no term that is a multiple of k.
  void split(Expr a, Expr k, Expr* multiple, Expr* rest) const {
    std::vector<std::pair<Expr, bool>> stack{{a, false}};
    Expr q, r;
    const auto join = [&](Expr& sum, Expr term, bool negative) {
      if (sum.isNull()) sum = c.integer(0);
      sum = c.binary(negative ? BinaryOp::sub : BinaryOp::add, sum, term);
    };
    int terms = 0;
    while (!stack.empty()) {
      auto [term, negative] = stack.back();
      stack.pop_back();
      if (++terms <= kMaxTerms && (isBinary(term, BinaryOp::add) || isBinary(term, BinaryOp::sub))) {
        stack.push_back({term.operands()[1], negative != isBinary(term, BinaryOp::sub)});
        stack.push_back({term.operands()[0], negative});
      } else if (Expr exact = exactQuotient(c, term, k)) {
        join(q, exact, negative);
      } else if (isInt(term) && isInt(k) && k.intValue() > 0 && !inRange(term, k)) {
        const int64_t value =
            negative ? static_cast<int64_t>(0 - asNatural(term.intValue())) : term.intValue();
        join(q, c.integer(*integerBinary(BinaryOp::floorDiv, Dtype::i64, value, k.intValue())), false);
        join(r, c.integer(*integerBinary(BinaryOp::mod, Dtype::i64, value, k.intValue())), false);
      } else {
        join(r, term, negative);
      }
    }
    *multiple = q && isInt(q, 0) ? Expr() : q;
    *rest = r ? r : c.integer(0);
  }

  Expr divide(BinaryOp op, Expr a, Expr k) const {
    const bool wantsQuotient = op == BinaryOp::floorDiv;
    if (isInt(k, 1)) return wantsQuotient ? a : c.integer(0);
    if (isInt(k, 0)) return {};
    if (inRange(a, k)) return wantsQuotient ? c.integer(0) : a;
    if (isInt(k) && k.intValue() > 0 && wantsQuotient && isBinary(a, BinaryOp::floorDiv) &&
        isInt(a.operands()[1]) && a.operands()[1].intValue() > 0) {
      if (auto product = checkedMul(k.intValue(), a.operands()[1].intValue()))
        return c.binary(BinaryOp::floorDiv, a.operands()[0], c.integer(*product));
    }
    Expr multiple, rest;
    split(a, k, &multiple, &rest);
    if (multiple) {
      if (isInt(rest, 0)) return wantsQuotient ? multiple : rest;
      if (!wantsQuotient) return c.binary(op, rest, k);
      return c.binary(BinaryOp::add, multiple, c.binary(op, rest, k));
    }
    return {};
  }

  Expr dims(BinaryOp op, Expr a, Expr b) const {
    const Dim x = asDim(a), y = asDim(b);
    if (!x || !y) return {};
    if (!isComparison(op) && (isLong(x) || isLong(y))) return {};
    Dim result;
    switch (op) {
      case BinaryOp::add:
        result = x + y;
        break;
      case BinaryOp::sub:
        result = x - y;
        break;
      case BinaryOp::mul:
        result = x * y;
        break;
      case BinaryOp::min:
        result = dyn::min(x, y);
        break;
      case BinaryOp::max:
        result = dyn::max(x, y);
        break;
      case BinaryOp::floorDiv:
      case BinaryOp::mod:
        if (!y.constant() || *y.constant() <= 0) return {};
        result = op == BinaryOp::mod ? dyn::mod(x, y) : dyn::floorDiv(x, y);
        break;
      case BinaryOp::equal:
      case BinaryOp::lessEqual:
      case BinaryOp::less: {
        const Dim difference = y - x;
        if (auto d = difference.constant())
          return c.boolean(op == BinaryOp::equal ? *d == 0 : op == BinaryOp::less ? *d > 0 : *d >= 0);
        return {};
      }
      default:
        return {};
    }
    return result.isInvalid() ? Expr() : c.dim(result);
  }

  // A comparison of a byte, widened, with a number that it never or always is below. Null: neither.
  Expr bytes(BinaryOp op, Expr a, Expr b) const {
    constexpr int64_t kMost = 255;
    const bool below = op == BinaryOp::less;
    if (!below && op != BinaryOp::lessEqual) return {};
    if (isInt(b) && !widenedByte(a).isNull()) {
      if (b.intValue() > kMost || (b.intValue() == kMost && !below)) return c.boolean(true);
      if (b.intValue() < 0 || (b.intValue() == 0 && below)) return c.boolean(false);
    }
    if (isInt(a) && !widenedByte(b).isNull()) {
      if (a.intValue() < 0 || (a.intValue() == 0 && !below)) return c.boolean(true);
      if (a.intValue() > kMost || (a.intValue() == kMost && below)) return c.boolean(false);
    }
    return {};
  }

  // Identities of integers of any width. Null: none applies.
  Expr integers(BinaryOp op, Expr a, Expr b) const {
    const Dtype t = a.dtype();
    const bool same = a.same(b);
    switch (op) {
      case BinaryOp::add:
        if (isInt(b, 0)) return a;
        if (isInt(a)) return c.binary(op, b, a);
        // The constant of a sum stands last: (x + 1) + y → (x + y) + 1.
        if (isBinary(a, BinaryOp::add) && isInt(a.operands()[1])) return addConstantLast(a, b);
        if (isBinary(b, BinaryOp::add) && isInt(b.operands()[1]))
          return c.binary(op, c.binary(op, a, b.operands()[0]), b.operands()[1]);
        if (isBinary(a, BinaryOp::sub) && a.operands()[1].same(b)) return a.operands()[0];
        return {};
      default:
        break;
    }
    switch (op) {
      case BinaryOp::sub:
        if (same) return c.integer(0, t);
        if (isInt(b))
          return c.binary(BinaryOp::add, a, c.integer(integerUnary(UnaryOp::neg, t, b.intValue()), t));
        if (isBinary(a, BinaryOp::add) && a.operands()[1].same(b)) return a.operands()[0];
        if (isBinary(a, BinaryOp::add) && a.operands()[0].same(b)) return a.operands()[1];
        if (isBinary(a, BinaryOp::add) && isInt(a.operands()[1]))
          return c.binary(BinaryOp::add, c.binary(op, a.operands()[0], b), a.operands()[1]);
        return {};
      case BinaryOp::mul:
        if (isInt(b, 0)) return b;
        if (isInt(b, 1)) return a;
        if (isInt(a)) return c.binary(op, b, a);
        if (isInt(b) && isBinary(a, BinaryOp::mul) && isInt(a.operands()[1]))
          return c.binary(op, a.operands()[0], c.binary(op, a.operands()[1], b));
        return {};
      case BinaryOp::div:
        return isInt(b, 1) ? a : Expr();
      case BinaryOp::rem:
        return isInt(b, 1) ? c.integer(0, t) : Expr();
      case BinaryOp::min:
      case BinaryOp::max:
      case BinaryOp::bitAnd:
      case BinaryOp::bitOr:
        return same ? a : Expr();
      case BinaryOp::equal:
      case BinaryOp::lessEqual:
        return same ? c.boolean(true) : Expr();
      case BinaryOp::notEqual:
      case BinaryOp::less:
        return same ? c.boolean(false) : Expr();
      case BinaryOp::logicalAnd:
        if (isInt(a)) return a.intValue() ? b : a;
        if (isInt(b)) return b.intValue() ? a : b;
        return same ? a : Expr();
      case BinaryOp::logicalOr:
        if (isInt(a)) return a.intValue() ? a : b;
        if (isInt(b)) return b.intValue() ? b : a;
        return same ? a : Expr();
      default:
        return {};
    }
  }

  Expr addConstantLast(Expr a, Expr b) const {
    const Expr constant = a.operands()[1];
    if (isInt(b))
      return c.binary(BinaryOp::add, a.operands()[0],
                      c.integer(wrapInteger(a.dtype(), static_cast<int64_t>(asNatural(constant.intValue()) +
                                                                            asNatural(b.intValue()))),
                                a.dtype()));
    return c.binary(BinaryOp::add, c.binary(BinaryOp::add, a.operands()[0], b), constant);
  }
};

namespace {

// Operations whose result every back end computes to the same bits: only these fold over real constants.
bool foldsExactly(UnaryOp op) { return !isFunction(op); }

bool foldsExactly(BinaryOp op) {
  return op == BinaryOp::add || op == BinaryOp::sub || op == BinaryOp::mul || op == BinaryOp::div ||
         op == BinaryOp::min || op == BinaryOp::max;
}

}  // namespace

const char* misuseOf(UnaryOp op, Dtype a) {
  if (!isNumeric(a)) return "kernels compute with numbers";
  if (op == UnaryOp::logicalNot) return a == Dtype::boolean ? nullptr : "logicalNot takes a boolean";
  if (op == UnaryOp::bitNot) return isInteger(a) ? nullptr : "bitNot takes integers";
  if (a == Dtype::boolean) return "arithmetic takes numbers, not booleans";
  if (op >= UnaryOp::sqrt && !isReal(a)) return "this function takes reals";
  return nullptr;
}

const char* misuseOf(BinaryOp op, Dtype a, Dtype b) {
  if (a != b) return "operands of a binary operation have one dtype";
  if (!isNumeric(a)) return "kernels compute with numbers";
  if (isComparison(op) || op == BinaryOp::min || op == BinaryOp::max) return nullptr;
  if (op == BinaryOp::logicalAnd || op == BinaryOp::logicalOr || op == BinaryOp::logicalXor)
    return a == Dtype::boolean ? nullptr : "logical operations take booleans";
  if (op >= BinaryOp::bitAnd) return isReal(a) ? "bit operations take integers" : nullptr;
  return a == Dtype::boolean ? "arithmetic takes numbers, not booleans" : nullptr;
}

Expr LoopContext::unary(UnaryOp op, Expr a) {
  const Dtype t = a.dtype();
  const bool test = op == UnaryOp::isNan || op == UnaryOp::isInf;
  assert(!misuseOf(op, t) && "an operation on a dtype it does not take (misuseOf says which)");
  if (a.kind() == ExprKind::intConstant) return integer(integerUnary(op, t, a.intValue()), t);
  if (a.kind() == ExprKind::realConstant && foldsExactly(op)) {
    const double value = realUnary(op, a.realValue());
    return test ? boolean(value != 0) : real(roundResult(t, value), t);
  }
  const bool rounding =
      op == UnaryOp::floor || op == UnaryOp::ceil || op == UnaryOp::round || op == UnaryOp::trunc;
  if (rounding && !isReal(t)) return a;
  if ((op == UnaryOp::logicalNot || op == UnaryOp::bitNot || op == UnaryOp::neg) &&
      a.kind() == ExprKind::unary && a.unaryOp() == op)
    return a.operands()[0];
  return intern({.kind = ExprKind::unary,
                 .dtype = test ? Dtype::boolean : t,
                 .op = static_cast<uint8_t>(op),
                 .operands = {a}});
}

Expr LoopContext::binary(BinaryOp op, Expr a, Expr b) {
  const Dtype t = a.dtype();
  assert(!misuseOf(op, t, b.dtype()) && "an operation on dtypes it does not take (misuseOf says which)");
  const bool comparison = isComparison(op);
  if (isReal(t)) {
    if (a.kind() == ExprKind::realConstant && b.kind() == ExprKind::realConstant) {
      if (comparison) return boolean(realCompare(op, a.realValue(), b.realValue()));
      if (foldsExactly(op)) return real(roundResult(t, realBinary(op, a.realValue(), b.realValue())), t);
    }
  } else {
    if (isInt(a) && isInt(b))
      if (auto value = integerBinary(op, t, a.intValue(), b.intValue()))
        return integer(*value, comparison ? Dtype::boolean : t);
    ExprSimplifier simplifier{*this, *impl_};
    if (t == Dtype::i64) {
      if (Expr e = simplifier.dims(op, a, b)) return e;
      if (op == BinaryOp::floorDiv || op == BinaryOp::mod)
        if (Expr e = simplifier.divide(op, a, b)) return e;
    }
    if (Expr e = simplifier.bytes(op, a, b)) return e;
    if (Expr e = simplifier.integers(op, a, b)) return e;
  }
  return intern({.kind = ExprKind::binary,
                 .dtype = comparison ? Dtype::boolean : t,
                 .op = static_cast<uint8_t>(op),
                 .operands = {a, b}});
}

Expr LoopContext::select(Expr condition, Expr ifTrue, Expr ifFalse) {
  assert(condition.dtype() == Dtype::boolean && "select has a boolean condition");
  assert(ifTrue.dtype() == ifFalse.dtype() && "both arms of a select have one dtype");
  if (isInt(condition)) return condition.intValue() ? ifTrue : ifFalse;
  if (ifTrue.same(ifFalse)) return ifTrue;
  return intern(
      {.kind = ExprKind::select, .dtype = ifTrue.dtype(), .operands = {condition, ifTrue, ifFalse}});
}

Expr LoopContext::cast(Expr a, Dtype dtype) {
  const Dtype from = a.dtype();
  if (from == dtype) return a;
  assert(isNumeric(from) && isNumeric(dtype) && "kernels compute with numbers");
  if (a.kind() == ExprKind::intConstant) {
    if (isReal(dtype)) return real(integerToReal(from, dtype, a.intValue()), dtype);
    return dtype == Dtype::boolean ? boolean(a.intValue() != 0) : integer(a.intValue(), dtype);
  }
  if (a.kind() == ExprKind::realConstant) {
    if (isReal(dtype)) return real(a.realValue(), dtype);
    return dtype == Dtype::boolean ? boolean(a.realValue() != 0)
                                   : integer(realToInteger(dtype, a.realValue()), dtype);
  }
  return intern({.kind = ExprKind::cast, .dtype = dtype, .operands = {a}});
}

Expr operator+(Expr a, Expr b) { return a.context().binary(BinaryOp::add, a, b); }
Expr operator-(Expr a, Expr b) { return a.context().binary(BinaryOp::sub, a, b); }
Expr operator*(Expr a, Expr b) { return a.context().binary(BinaryOp::mul, a, b); }
Expr operator/(Expr a, Expr b) { return a.context().binary(BinaryOp::div, a, b); }
Expr floorDiv(Expr a, Expr b) { return a.context().binary(BinaryOp::floorDiv, a, b); }
Expr mod(Expr a, Expr b) { return a.context().binary(BinaryOp::mod, a, b); }
Expr min(Expr a, Expr b) { return a.context().binary(BinaryOp::min, a, b); }
Expr max(Expr a, Expr b) { return a.context().binary(BinaryOp::max, a, b); }
Condition operator==(Expr a, Expr b) { return a.context().binary(BinaryOp::equal, a, b); }
Condition operator!=(Expr a, Expr b) { return a.context().binary(BinaryOp::notEqual, a, b); }
Condition operator<(Expr a, Expr b) { return a.context().binary(BinaryOp::less, a, b); }
Condition operator<=(Expr a, Expr b) { return a.context().binary(BinaryOp::lessEqual, a, b); }
Condition operator>(Expr a, Expr b) { return a.context().binary(BinaryOp::less, b, a); }
Condition operator>=(Expr a, Expr b) { return a.context().binary(BinaryOp::lessEqual, b, a); }
Condition operator&&(Expr a, Expr b) { return a.context().binary(BinaryOp::logicalAnd, a, b); }
Condition operator||(Expr a, Expr b) { return a.context().binary(BinaryOp::logicalOr, a, b); }
Condition operator!(Expr a) { return a.context().unary(UnaryOp::logicalNot, a); }
Expr select(Expr condition, Expr ifTrue, Expr ifFalse) {
  return condition.context().select(condition, ifTrue, ifFalse);
}

namespace {

Expr constantLike(Expr a, int64_t b) {
  return isReal(a.dtype()) ? a.context().real(static_cast<double>(b), a.dtype())
                           : a.context().integer(b, a.dtype());
}

}  // namespace

Expr operator+(Expr a, int64_t b) { return a + constantLike(a, b); }
Expr operator-(Expr a, int64_t b) { return a - constantLike(a, b); }
Expr operator*(Expr a, int64_t b) { return a * constantLike(a, b); }

}  // namespace dyn::loop
