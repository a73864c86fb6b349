#include "compiler/codegen/device/device_attention.h"

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

// An accumulation over keys around one over the head.
struct OverKeys {
  const Stmt *keys = nullptr, *head = nullptr;
};

std::optional<OverKeys> overKeys(const Stmt& s, loop::ReduceOp op) {
  const auto isOver = [](const Stmt& sum, loop::ReduceOp by) {
    return sum.kind == StmtKind::accumulate && sum.reduceOp == by && sum.variables.size() == 1 &&
           sum.variable.dtype() == Dtype::f32 && isFixed(sum.extents[0]);
  };
  if (!isOver(s, op)) return std::nullopt;
  std::vector<const Stmt*> inside;
  flatten(s, inside);
  if (inside.size() != 1 || !isOver(*inside[0], loop::ReduceOp::sum) || holdsStatements(*inside[0]))
    return std::nullopt;
  return OverKeys{&s, inside[0]};
}

class AttentionFinder {
 public:
  explicit AttentionFinder(const loop::Kernel& kernel)
      : kernel_(kernel), loops_(*kernel.context), digits_(kernel) {}

  std::optional<TiledAttention> run() {
    if (!kernel_.scratch.empty() || !takeApart() || !isAttention() || !digits_.find(columns_) ||
        !dealDigits())
      return std::nullopt;
    return std::move(made_);
  }

 private:
  bool takeApart() {
    std::vector<const Stmt*> body;
    flatten(*kernel_.body, body);
    size_t at = 0;
    for (; at < body.size() && body[at]->kind == StmtKind::let; ++at) digits_.addLet(*body[at]);
    if (body.size() < at + 3) return false;
    const auto top = overKeys(*body[at], loop::ReduceOp::maximum);
    const auto total = overKeys(*body[at + 1], loop::ReduceOp::sum);
    // Short rows have no loop: their elements are units.
    std::vector<const Stmt*> inside(body.begin() + static_cast<std::ptrdiff_t>(at) + 2, body.end());
    if (inside.size() == 1 && inside[0]->kind == StmtKind::loop) {
      columns_ = inside[0];
      inside.clear();
      flatten(*columns_, inside);
    }
    if (inside.empty()) return false;
    const auto sum = overKeys(*inside[0], loop::ReduceOp::sum);
    if (!top || !total || !sum) return false;
    for (size_t i = 1; i < inside.size(); ++i) {
      if (inside[i]->kind != StmtKind::let && inside[i]->kind != StmtKind::store) return false;
      digits_.addAfter(*inside[i]);
    }
    top_ = *top;
    total_ = *total;
    sum_ = *sum;
    return !digits_.after.empty();
  }

  // In the variables of the first of the three.
  Expr asFirst(const OverKeys& own, Expr e) {
    return loops_.substitute(digits_.through(e), [&](Expr x) {
      if (x.same(own.keys->variables[0])) return top_.keys->variables[0];
      if (x.same(own.head->variables[0])) return top_.head->variables[0];
      if (x.same(own.head->variable)) return top_.head->variable;
      return Expr();
    });
  }

  bool isAttention() {
    for (const OverKeys& other : {total_, sum_})
      if (!other.keys->extents[0].same(top_.keys->extents[0]) ||
          !other.head->extents[0].same(top_.head->extents[0]) ||
          !asFirst(other, other.head->value).same(asFirst(top_, top_.head->value)))
        return false;
    const Expr product = asFirst(top_, top_.head->value), score = asFirst(top_, top_.keys->value);
    const Expr weight = loops_.unary(loop::UnaryOp::exp, score - top_.keys->variable);
    const Expr whole = asFirst(sum_, sum_.keys->value), total = total_.keys->variable;
    if (!isBinary(product, BinaryOp::mul) || !asFirst(total_, total_.keys->value).same(weight) ||
        !isBinary(whole, BinaryOp::mul))
      return false;
    const Expr shares[] = {weight * (loops_.real(1, Dtype::f32) / total), weight / total};
    Expr share = whole.operands()[0];
    const Expr value = whole.operands()[1];
    if (const std::optional<Dtype> kept = keptIn(share)) {
      made_.roundsTo = *kept;
      share = share.operands()[0].operands()[0];
    }
    if (std::none_of(std::begin(shares), std::end(shares), [&](Expr e) { return e.same(share); }))
      return false;
    for (const Expr& own : {top_.keys->variable, total, top_.head->variable, top_.head->variables[0]})
      if (mentions(value, own)) return false;
    digits_.expressions = {product.operands()[0], product.operands()[1], score, value};
    return true;
  }

  // f32(f16(x)): f16.
  static std::optional<Dtype> keptIn(Expr e) {
    if (e.kind() != ExprKind::cast || e.operands()[0].kind() != ExprKind::cast) return std::nullopt;
    const Dtype kept = e.operands()[0].dtype();
    if (!isHalf(kept) || e.operands()[0].operands()[0].dtype() != Dtype::f32) return std::nullopt;
    return kept;
  }

  bool dealDigits() {
    const Expr key = top_.keys->variables[0];
    const bool second = mentions(digits_.expressions[1], key);
    made_.queryPart = digits_.expressions[second ? 0 : 1];
    made_.keyPart = digits_.expressions[second ? 1 : 0];
    made_.score = digits_.expressions[2];
    made_.valuePart = digits_.expressions[3];
    const std::vector<ProductDigit>& all = digits_.digits;
    made_.column = all[0];
    made_.key = {key, top_.keys->extents[0]};
    made_.depth = {top_.head->variables[0], top_.head->extents[0]};
    const auto isHead = [](Expr e) {
      return e.kind() == ExprKind::intConstant && e.intValue() > 0 && e.intValue() <= kLargestHead;
    };
    if (mentions(made_.queryPart, key) || made_.column.extent.isNull() || !isHead(made_.column.extent) ||
        !isHead(made_.depth.extent))
      return false;
    for (const Expr& e : {made_.queryPart, made_.keyPart, made_.score})
      if (mentions(e, made_.column.variable)) return false;
    for (size_t i = all.size(); i-- > 1;) {
      const Expr v = all[i].variable;
      const bool ofRow =
          mentions(made_.queryPart, v) && !mentions(made_.keyPart, v) && !mentions(made_.valuePart, v);
      (ofRow ? made_.rows : made_.batch).push_back(all[i]);
    }
    made_.product = top_.head->variable;
    made_.sum = sum_.keys->variable;
    made_.unitExtents = digits_.unitExtents;
    made_.after = digits_.after;
    return !made_.rows.empty();
  }

  const loop::Kernel& kernel_;
  loop::LoopContext& loops_;
  UnitDigits digits_;
  const Stmt* columns_ = nullptr;
  OverKeys top_, total_, sum_;
  TiledAttention made_;
};

}  // namespace

std::optional<TiledAttention> tiledAttentionOf(const loop::Kernel& kernel) {
  return AttentionFinder(kernel).run();
}

std::string sizesAtLaunch(const loop::Kernel& kernel, const TiledAttention& attention) {
  const std::string rows = extentAtLaunch(kernel, attention.unitExtents, attention.rows);
  const std::string products = extentAtLaunch(kernel, attention.unitExtents, attention.batch);
  return rows.empty() || products.empty() ? "" : rows + ",1,1," + products;
}

}  // namespace dyn
