#include "compiler/codegen/device/device_digits.h"

#include <algorithm>

namespace dyn {

using loop::BinaryOp;
using loop::Expr;
using loop::ExprKind;
using loop::Stmt;
using loop::StmtKind;
using loop::StmtRef;

namespace {

StmtRef rewritten(const Stmt& s, const std::function<Expr(Expr)>& by) {
  if (s.kind == StmtKind::let) return loop::let(s.variable, by(s.value));
  std::vector<Expr> index;
  for (const Expr& e : s.index) index.push_back(by(e));
  return loop::store(s.buffer, std::move(index), by(s.value));
}

}  // namespace

std::string knownAtLaunch(const loop::Kernel& kernel, Expr e) {
  if (e.kind() == ExprKind::intConstant) return std::to_string(e.intValue());
  if (e.kind() != ExprKind::dim) return "";
  for (size_t i = 0; i < kernel.scalars.size(); ++i)
    if (kernel.scalars[i] == e.dimValue()) return "#" + std::to_string(i);
  return "";
}

void flatten(const Stmt& stmt, std::vector<const Stmt*>& found) {
  for (const StmtRef& child : stmt.children)
    if (child->kind == StmtKind::block)
      flatten(*child, found);
    else
      found.push_back(child.get());
}

bool holdsStatements(const Stmt& stmt) {
  std::vector<const Stmt*> inside;
  flatten(stmt, inside);
  return !inside.empty();
}

// The product of the digits' extents, computed from left to right.
std::string extentAtLaunch(const loop::Kernel& kernel, const std::vector<Expr>& unitExtents,
                           const std::vector<ProductDigit>& digits) {
  std::string text;
  for (const ProductDigit& digit : digits) {
    std::string one = digit.extent.isNull() ? "u" : knownAtLaunch(kernel, digit.extent);
    for (const Expr& other : digit.extent.isNull() ? unitExtents : std::vector<Expr>()) {
      const std::string by = knownAtLaunch(kernel, other);
      if (by.empty()) return "";
      one += "/" + by;
    }
    if (one.empty()) return "";
    text += (text.empty() ? "" : "*") + one;
  }
  return text.empty() ? "1" : text;
}

bool isFixed(Expr root) {
  for (const Expr& e : loop::postorder(std::span(&root, 1)))
    if (e.kind() == ExprKind::variable || e.kind() == ExprKind::load || e.kind() == ExprKind::call)
      return false;
  return true;
}

Expr mostIterations(Expr extent) {
  if (isFixed(extent)) return extent;
  if (isBinary(extent, BinaryOp::min))
    for (const Expr& part : extent.operands())
      if (isFixed(part)) return part;
  return Expr();
}

Expr UnitDigits::through(Expr e) {
  return loops_.substitute(e, [&](Expr part) {
    const auto found = part.kind() == ExprKind::variable ? lets_.find(part.id()) : lets_.end();
    return found == lets_.end() ? Expr() : found->second;
  });
}

void UnitDigits::addLet(const Stmt& let) { lets_[let.variable.id()] = through(let.value); }

void UnitDigits::addAfter(const Stmt& s) {
  after.push_back(rewritten(s, [&](Expr e) { return through(e); }));
}

std::vector<Expr> UnitDigits::roots() const {
  std::vector<Expr> all = expressions;
  for (const StmtRef& s : after)
    for (const Expr& e : loop::expressionsOf(*s)) all.push_back(e);
  if (!columnExtent_.isNull()) all.push_back(columnExtent_);
  return all;
}

// In everything that there is.
void UnitDigits::replace(const std::function<Expr(Expr)>& by) {
  const auto done = [&](Expr e) { return loops_.substitute(e, by); };
  for (Expr& e : expressions) e = done(e);
  if (!columnExtent_.isNull()) columnExtent_ = done(columnExtent_);
  for (StmtRef& s : after) s = rewritten(*s, done);
}

bool UnitDigits::isLeft(Expr part) const {
  const std::vector<Expr> all = roots();
  return std::any_of(all.begin(), all.end(), [&](Expr e) { return mentions(e, part); });
}

bool UnitDigits::find(const Stmt* columns) {
  if (columns) columnExtent_ = through(columns->extent);
  Expr rest = kernel_.unit;
  for (;;) {
    Expr divisor;
    const std::vector<Expr> all = roots();
    for (const Expr& e : loop::postorder(all)) {
      const bool divides = isBinary(e, BinaryOp::mod) || isBinary(e, BinaryOp::floorDiv);
      if (!divides || !e.operands()[0].same(rest)) continue;
      if (!divisor.isNull() && !divisor.same(e.operands()[1])) return false;
      divisor = e.operands()[1];
    }
    if (divisor.isNull()) break;
    if (!isFixed(divisor)) return false;
    const Expr variable = loops_.variable("digit"), digit = mod(rest, divisor);
    digits.push_back({variable, divisor});
    unitExtents.push_back(divisor);
    replace([&](Expr e) { return e.same(digit) ? variable : Expr(); });
    rest = floorDiv(rest, divisor);
  }
  const Expr last = loops_.variable("digit");
  replace([&](Expr e) { return e.same(rest) ? last : Expr(); });
  digits.push_back({last, Expr()});
  if (isLeft(kernel_.unit)) return false;
  return !columns || mergeColumns(columns->variable);
}

bool UnitDigits::mergeColumns(Expr e) {
  if (isFixed(columnExtent_)) {
    digits.insert(digits.begin(), {e, columnExtent_});
    return true;
  }
  const ProductDigit block = digits[0];
  if (!isBinary(columnExtent_, BinaryOp::min) || block.extent.isNull()) return false;
  Expr width, left;
  for (const Expr& part : columnExtent_.operands())
    (part.kind() == ExprKind::intConstant ? width : left) = part;
  if (width.isNull() || left.isNull() || !isBinary(left, BinaryOp::sub) || !isFixed(left.operands()[0]))
    return false;
  const Expr start = block.variable * width, all = left.operands()[0], place = start + e;
  if (!left.operands()[1].same(start)) return false;
  const Expr column = loops_.variable("column");
  columnExtent_ = Expr();
  replace([&](Expr x) { return x.same(place) ? column : Expr(); });
  digits[0] = {column, all};
  return !isLeft(block.variable) && !isLeft(e);
}

}  // namespace dyn
