#include "compiler/codegen/device/device_products.h"

#include <algorithm>

#include "compiler/codegen/device/device_digits.h"

namespace dyn {
namespace {

using loop::BinaryOp;
using loop::Expr;
using loop::ExprKind;
using loop::Stmt;
using loop::StmtKind;
using loop::StmtRef;

// What is found of a kernel: one accumulation, perhaps in a loop over columns, and what follows it.
struct Parts {
  const Stmt *columns = nullptr, *sum = nullptr;
};

class Finder {
 public:
  explicit Finder(const loop::Kernel& kernel) : kernel_(kernel), digits_(kernel) {}

  std::optional<TiledProduct> run() {
    if (!kernel_.scratch.empty() || !takeApart() || !isProduct()) return std::nullopt;
    if (!digits_.find(parts_.columns) || !dealDigits()) return std::nullopt;
    return std::move(made_);
  }

 private:
  bool takeApart() {
    std::vector<const Stmt*> body;
    flatten(*kernel_.body, body);
    for (size_t i = 0; i < body.size(); ++i) {
      const Stmt& s = *body[i];
      if (s.kind == StmtKind::let && !parts_.sum) {
        digits_.addLet(s);
      } else if (s.kind == StmtKind::accumulate && !parts_.sum) {
        parts_.sum = &s;
      } else if (s.kind == StmtKind::loop && !parts_.sum && i + 1 == body.size() &&
                 s.loopKind == loop::LoopKind::vector) {
        parts_.columns = &s;
        flatten(s, body);
      } else if ((s.kind == StmtKind::store || s.kind == StmtKind::let) && parts_.sum) {
        digits_.addAfter(s);
      } else {
        return false;
      }
    }
    return parts_.sum && !digits_.after.empty();
  }

  bool isProduct() {
    const Stmt& sum = *parts_.sum;
    if (sum.reduceOp != loop::ReduceOp::sum || sum.variables.empty() || holdsStatements(sum) ||
        sum.value.dtype() != Dtype::f32)
      return false;
    const Expr value = digits_.through(sum.value);
    if (!isBinary(value, BinaryOp::mul)) return false;
    digits_.expressions = {value.operands()[0], value.operands()[1]};
    made_.sum = sum.variable;
    for (size_t i = 0; i < sum.variables.size(); ++i) {
      if (!isFixed(sum.extents[i])) return false;
      made_.depth.push_back({sum.variables[i], sum.extents[i]});
    }
    return true;
  }

  bool dealDigits() {
    const Expr first = digits_.expressions[0], second = digits_.expressions[1];
    const std::vector<ProductDigit>& all = digits_.digits;
    const bool inFirst = mentions(first, all[0].variable);
    if (inFirst == mentions(second, all[0].variable)) return false;
    made_.rowIsFirst = !inFirst;
    made_.rowPart = inFirst ? second : first;
    made_.columnPart = inFirst ? first : second;
    for (size_t i = all.size(); i-- > 0;) {
      const bool ofRow = mentions(made_.rowPart, all[i].variable);
      const bool ofColumn = mentions(made_.columnPart, all[i].variable);
      (ofRow == ofColumn ? made_.batch : ofRow ? made_.rows : made_.columns).push_back(all[i]);
    }
    made_.unitExtents = digits_.unitExtents;
    made_.after = digits_.after;
    return !made_.rows.empty() && !made_.columns.empty();
  }

  const loop::Kernel& kernel_;
  UnitDigits digits_;
  Parts parts_;
  TiledProduct made_;
};

// A cast that keeps each value of a real.
bool widens(Expr e) {
  if (e.kind() != ExprKind::cast) return false;
  const Dtype from = e.operands()[0].dtype();
  return isReal(from) && isReal(e.dtype()) && storageBytes(from) < storageBytes(e.dtype());
}

// base + v, where nothing else of the sum mentions v.
bool growsByOne(Expr e, Expr v) {
  if (e.same(v)) return true;
  if (!isBinary(e, BinaryOp::add) && !isBinary(e, BinaryOp::sub)) return false;
  const Expr a = e.operands()[0], b = e.operands()[1];
  if (!mentions(b, v)) return growsByOne(a, v);
  return isBinary(e, BinaryOp::add) && !mentions(a, v) && growsByOne(b, v);
}

bool isDense(Expr load, const std::vector<ProductDigit>& digits) {
  if (digits.size() != 1) return false;
  const Expr v = digits[0].variable;
  const std::span<const Expr> index = load.operands();
  if (index.empty() || !growsByOne(index.back(), v)) return false;
  return std::none_of(index.begin(), index.end() - 1, [&](Expr e) { return mentions(e, v); });
}

}  // namespace

std::optional<TiledProduct> tiledProductOf(const loop::Kernel& kernel) { return Finder(kernel).run(); }

std::string sizesAtLaunch(const loop::Kernel& kernel, const TiledProduct& product) {
  std::string text;
  for (const auto* digits : {&product.rows, &product.columns, &product.depth, &product.batch}) {
    const std::string one = extentAtLaunch(kernel, product.unitExtents, *digits);
    if (one.empty()) return "";
    text += (text.empty() ? "" : ",") + one;
  }
  return text;
}

std::optional<PlainFactor> plainFactorOf(Expr part, const std::vector<ProductDigit>& across,
                                         const std::vector<ProductDigit>& depth) {
  while (widens(part)) part = part.operands()[0];
  if (part.kind() != ExprKind::load) return std::nullopt;
  PlainFactor plain{part, isDense(part, depth), isDense(part, across)};
  return plain;
}

Dtype narrowestOf(Expr part) {
  if (widens(part)) return narrowestOf(part.operands()[0]);
  if (part.kind() == ExprKind::select && part.operands()[2].kind() == ExprKind::realConstant &&
      part.operands()[2].realValue() == 0)
    return narrowestOf(part.operands()[1]);
  return part.dtype();
}

}  // namespace dyn
