// argmax, argmin and cumulative sums: operators along one axis.
#include <cmath>

#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/index_rules.h"
#include "compiler/ops/rules/reduce_rules.h"
#include "vm/include/abi/dyn_builtin_numbers.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;
using loop::ReduceOp;

namespace {

enum class Extreme : uint8_t { largest, smallest };

constexpr AttributeSpec kArgAttributes[] = {
    {"axis", AttributeKind::integer, false, "default 0; from the end if negative", Allowed::axis()},
    {"keepdims", AttributeKind::integer, false, "1: the axis stays with size 1; default 1", Allowed::flag()},
    {"select_last_index", AttributeKind::integer, false,
     "1: of equal elements the last; default 0, the first", Allowed::flag()},
};

template <typename Context>
FoldedAxes argFold(const Context& c, int axis, int rank) {
  return foldOnly(rank, std::vector<int>{axis}, c.attributes().integer("keepdims", 1) != 0);
}

Status inferArg(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_CHECK(requireClass(c, x, {DtypeClass::real, DtypeClass::integer, DtypeClass::natural}, "the operand"));
  DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis", 0), x.rank()));
  DYN_CHECK(
      c.requireLessEqual(constantDim(c, 1), x.dims[static_cast<size_t>(axis)], "the axis has an element"));
  setTensor(c, foldedShape(c, argFold(c, axis, x.rank()), x.dims), Dtype::i64);
  return {};
}

template <Extreme extreme>
Status evaluateArg(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  DYN_TRY(int axis, axisOf(c, c.attributes().integer("axis", 0), x.rank()));
  const bool last = c.attributes().integer("select_last_index", 0) != 0;
  const int64_t length = x.shape()[static_cast<size_t>(axis)];
  const int64_t inner = sizeProduct(x.shape(), axis + 1, x.rank());
  const int64_t outer = sizeProduct(x.shape(), 0, axis);
  if (length == 0) return c.error(DiagnosticId::shapeCheckFailed, "the axis has no element");
  DYN_TRY(HostTensor result, newTensor(Dtype::i64, foldedShape(argFold(c, axis, x.rank()), x.shape())));
  // a is better than b; NaN is better than everything.
  auto better = [&](int64_t a, int64_t b) {
    if (isReal(x.dtype())) {
      const double u = x.realAt(a), v = x.realAt(b);
      if (std::isnan(u) || std::isnan(v)) return std::isnan(u) && !std::isnan(v);
      return extreme == Extreme::largest ? u > v : u < v;
    }
    const int64_t u = x.intAt(a), v = x.intAt(b);
    const bool less = isSigned(x.dtype()) ? u < v : static_cast<uint64_t>(u) < static_cast<uint64_t>(v);
    return extreme == Extreme::largest ? !less && u != v : less;
  };
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      const int64_t start = o * length * inner + i;
      int64_t best = 0;
      for (int64_t k = 1; k < length; ++k) {
        const int64_t at = start + k * inner, champion = start + best * inner;
        if (better(at, champion) || (last && !better(champion, at))) best = k;
      }
      result.setInt(o * inner + i, best);
    }
  }
  c.setResult(0, std::move(result));
  return {};
}

// Two reductions: the extreme, then the first (last) place that holds it. A NaN makes the extreme NaN; then
// its place is looked for.
template <Extreme extreme>
Result<Expr> lowerArg(LowerContext& c, int, std::span<const Expr> index) {
  const Type type = c.operandType(0);
  int64_t axis = c.attributes().integer("axis", 0);
  if (axis < 0) axis += type.rank();
  const FoldedAxes folded = argFold(c, static_cast<int>(axis), type.rank());
  const bool last = c.attributes().integer("select_last_index", 0) != 0;
  const ReduceOp op = extreme == Extreme::largest ? ReduceOp::maximum : ReduceOp::minimum;
  DYN_TRY(Expr best, foldAxes(c, op, folded, index, [](Expr x, std::span<const Expr>) { return x; }));
  const Expr nowhere = last ? c.integer(-1) : c.dim(type.dims()[static_cast<size_t>(axis)]);
  return foldAxes(c, last ? ReduceOp::maximum : ReduceOp::minimum, folded, index,
                  [&](Expr x, std::span<const Expr> at) {
                    return select(x == best || isNotANumber(x), at[static_cast<size_t>(axis)], nowhere);
                  });
}

template <Extreme extreme>
constexpr OpDef argRow(std::string_view name, std::string_view summary, std::string_view example) {
  OpDef row;
  row.name = name;
  row.summary = summary;
  row.cls = OpClass::reduction;
  row.minOperands = 1;
  row.maxOperands = 1;
  row.attributes = kArgAttributes;
  row.infer = inferArg;
  row.evaluate = evaluateArg<extreme>;
  row.lowering = LoweringKind::loops;
  row.lower = lowerArg<extreme>;
  row.operandRules = kAnyElements;
  row.doc =
      "[..., a, ...] -> [..., 1, ...] i64 (or without the axis). The axis has at least one element. NaN "
      "wins.";
  row.example = example;
  return row;
}

// --- cumsum, cumprod

enum class Running : uint8_t { sum, product };

constexpr AttributeSpec kRunningAttributes[] = {
    {"exclusive", AttributeKind::integer, false, "1: element i folds those before it; default 0",
     Allowed::flag()},
    {"reverse", AttributeKind::integer, false, "1: from the end; default 0", Allowed::flag()},
};

Status inferRunning(InferContext& c) {
  DYN_TRY(TensorOperand x, tensorOperand(c, 0));
  DYN_CHECK(requireClass(c, x, {DtypeClass::real, DtypeClass::integer, DtypeClass::natural}, "the operand"));
  DYN_TRY(TensorOperand axis, tensorOperand(c, 1));
  DYN_CHECK(requireClass(c, axis, {DtypeClass::integer}, "the axis"));
  if (axis.rank() > 1) return c.error(DiagnosticId::rankMismatch, "the axis is a scalar");
  if (axis.rank() == 1) DYN_CHECK(c.requireEqual(axis.dims[0], constantDim(c, 1), "there is one axis"));
  std::optional<std::vector<int64_t>> known = constantElements(c, 1);
  if (known && known->size() == 1) {
    DYN_CHECK(axisOf(c, (*known)[0], x.rank()));
  } else {
    const Dim given = elementDim(c, 1, 0, "an axis given as a value");
    DYN_CHECK(c.requireLessEqual(constantDim(c, -x.rank()), given, "the axis is in the rank"));
    DYN_CHECK(c.requireLessEqual(given, constantDim(c, x.rank() - 1), "the axis is in the rank"));
  }
  c.setResult(0, x.type);
  return {};
}

template <Running running>
Status evaluateRunning(EvalContext& c) {
  const HostTensor& x = c.operand(0);
  if (c.operand(1).elementCount() != 1) return c.error(DiagnosticId::shapeMismatch, "there is one axis");
  DYN_TRY(int axis, axisOf(c, c.operand(1).intAt(0), x.rank()));
  const bool exclusive = c.attributes().integer("exclusive", 0) != 0;
  const bool reverse = c.attributes().integer("reverse", 0) != 0;
  const int64_t length = x.shape()[static_cast<size_t>(axis)];
  const int64_t inner = sizeProduct(x.shape(), axis + 1, x.rank());
  const int64_t outer = sizeProduct(x.shape(), 0, axis);
  DYN_TRY(HostTensor result, newTensor(x.dtype(), x.shape()));
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      constexpr bool isSum = running == Running::sum;
      double real = isSum ? 0 : 1;
      uint64_t whole = isSum ? 0 : 1;
      for (int64_t k = 0; k < length; ++k) {
        const int64_t at = (o * length + (reverse ? length - 1 - k : k)) * inner + i;
        const double realBefore = real;
        const uint64_t wholeBefore = whole;
        if (isReal(x.dtype())) {
          real = isSum ? real + x.realAt(at) : real * x.realAt(at);
          result.setReal(at, exclusive ? realBefore : real);
        } else {
          const uint64_t value = static_cast<uint64_t>(x.intAt(at));
          whole = isSum ? whole + value : whole * value;
          result.setInt(at, static_cast<int64_t>(exclusive ? wholeBefore : whole));
        }
      }
    }
  }
  c.setResult(0, std::move(result));
  return {};
}

template <Running running>
Status fillRunning(const BuiltinRequest& request, CallFields<calls::Cumsum>& call) {
  call.numbers.exclusive = request.op.attributes.integer("exclusive", 0) != 0;
  call.numbers.reverse = request.op.attributes.integer("reverse", 0) != 0;
  call.numbers.product = running == Running::product;
  return {};
}

constexpr OperandRule kRunningRules[] = {{1, ElementsAre::byRule, "an axis of operand 0"}};

template <Running running>
constexpr OpDef runningRow(std::string_view name, std::string_view summary, std::string_view example) {
  OpDef row;
  row.name = name;
  row.summary = summary;
  row.cls = OpClass::opaque;
  row.traits.keepsRank = true;
  row.minOperands = 2;
  row.maxOperands = 2;
  row.attributes = kRunningAttributes;
  row.infer = inferRunning;
  row.evaluate = evaluateRunning<running>;
  row.lowering = LoweringKind::builtin;
  row.builtin = calling<calls::Cumsum, fillRunning<running>>;
  row.operandRules = kRunningRules;
  row.doc = "x [..., a, ...], axis [] or [1] integer -> [..., a, ...].";
  row.example = example;
  return row;
}

}  // namespace

namespace ops {

constexpr OpDef argmaxOp = argRow<Extreme::largest>(
    "argmax", "the place of the largest element along an axis",
    "fn @main(%x: Tensor[(n, 3), f32]) { %y = argmax(%x) {axis = 1, keepdims = 0} return %y }");
constexpr OpDef argminOp =
    argRow<Extreme::smallest>("argmin", "the place of the smallest element along an axis",
                              "fn @main(%x: Tensor[(n, 3), f32]) { %y = argmin(%x) {axis = -1} return %y }");

constexpr OpDef cumsumOp = runningRow<Running::sum>(
    "cumsum", "running sums along an axis",
    "fn @main(%x: Tensor[(n, 3), f32]) { %a = constant() {value = i64[] 1} %y = cumsum(%x, %a) return %y }");
constexpr OpDef cumprodOp = runningRow<Running::product>(
    "cumprod", "running products along an axis",
    "fn @main(%x: Tensor[(n, 3), f32]) { %a = constant() {value = i64[] 1} %y = cumprod(%x, %a) return %y }");

}  // namespace ops
}  // namespace dyn
