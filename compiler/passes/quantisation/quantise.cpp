// Products of dequantised bytes become integer products.
//   requires: types.  provides: no f32 matmul or convolution has two sides that are dequantised from 8 bits with scales of whole rows and columns.
//   before  %a = dequantize_linear(%p, %sa, %za)  %b = dequantize_linear(%q, %sb, %zb)  %y = matmul(%a, %b)
//   after   %i = matmul_integer(%p, %q, %za, %zb)  %s = mul(%sa, %sb)  %f = cast(%i) {to = f32}  %y = mul(%f, %s)
//   before  %z = quantize_linear(%y, %t, %zt)   after   %u = div(%s, %t)  %v = mul(%f, %u)  %z = cast(add(round(%v), %zt))
// The integer product is exact, so what is left of rounding is that of one multiplication by both scales:
// results differ from the product of the dequantised numbers by less than its own rounding. A scale of b may
// be one for each column, of a convolution's weights one for each output channel;
// transposes between are taken over to the bytes. Where such a product, its bias and a relu behind it are
// quantised again and read by nothing else, the new scale is divided out of the old ones and of the bias,
// once: a number half way between two steps may then go the other way, as with runtimes that multiply by the
// quotient of the scales. A bias of i32 in units of both scales is added to the sums. It runs before `fold`,
// which would make f32 of quantised weights. The dequantised values that nothing else reads are dead
// afterwards: dce removes them. Before all, bounds that bytes have anyway go (saturation.h), and what follows
// from one byte alone is a table (byte_tables.h).
// A dynamic_quantize_linear becomes its steps, the range and what follows from it: whatever computes its
// operand then runs once, in the epilogue of the product before it, and not once for the range and again for
// the result. Cost in IR size: three to eight operations per product, of which all but the product are fused;
// 14 per dynamic_quantize_linear, in two kernels. A maximum pool between bytes of one scale is one of bytes.
#include <cmath>
#include <numeric>
#include <optional>

#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/shape_rules.h"
#include "compiler/pass/pass.h"
#include "compiler/passes/quantisation/byte_tables.h"
#include "compiler/passes/quantisation/saturation.h"

namespace dyn::passes {

namespace {

using Order = std::vector<int64_t>;

// A dequantised operand: axis i of the operand is axis order[i] of the bytes.
struct OperandSide {
  const Op* dequantize = nullptr;
  Order order;
  bool oneScale = true;

  ValueId bytes() const { return dequantize->operands[0]; }
  ValueId scale() const { return dequantize->operands[1]; }
  ValueId zero() const { return dequantize->operands.size() > 2 ? dequantize->operands[2] : kNoValue; }
};

class Quantiser {
 public:
  Quantiser(const Function& function, IrContext& ir) : function_(function), ir_(ir) {
    for (const Parameter& p : function.parameters) types_[p.id] = p.type;
    for (const Op* op : function.ops)
      for (const ValueDef& r : op->results) {
        types_[r.id] = r.type;
        definitions_[r.id] = op;
      }
    for (const Op* op : function.ops)
      for (ValueId v : op->operands) ++uses_[v];
    for (ValueId v : function.results) ++uses_[v];
  }

  const Function* run() {
    for (const Op* op : function_.ops) {
      const bool changed = op->def == &ops::matmulOp ? product(*op)
                           : op->def == &ops::convOp ? convolution(*op)
                                                     : false;
      if (op->def == &ops::quantize_linearOp && (quantiseProduct(*op) || quantisePool(*op))) continue;
      products_ += changed;
      if (op->def == &ops::addOp && addBias(*op)) continue;
      if (op->def == &ops::dynamic_quantize_linearOp) {
        quantiseByRange(*op);
        ++ranges_;
      } else if (!changed) {
        ops_.push_back(op);
      }
    }
    if (products_ + ranges_ == 0) return &function_;
    Function result = function_;
    result.ops = std::move(ops_);
    return ir_.own(std::move(result));
  }

  int64_t products() const { return products_; }
  int64_t ranges() const { return ranges_; }

 private:
  const Op* definition(ValueId v) const {
    auto it = definitions_.find(v);
    return it == definitions_.end() ? nullptr : it->second;
  }

  // Is it one number for all?
  static bool isSingle(Type type) {
    return type.isTensor() && (type.rank() == 0 || (type.rank() == 1 && type.dims()[0].isConstant(1)));
  }

  // The operand's bytes if it has the one scale, or scales along `axis` of the operand; `swapped`: its last
  // two axes are read the other way round.
  std::optional<OperandSide> sideOf(ValueId v, bool swapped, std::optional<int64_t> axis) const {
    const int rank = types_.at(v).rank();
    OperandSide side;
    side.order.resize(static_cast<size_t>(rank));
    std::iota(side.order.begin(), side.order.end(), 0);
    const Op* op = definition(v);
    if (op && op->def == &ops::transposeOp) {
      side.order = transposeOrder(op->attributes, rank);
      op = definition(op->operands[0]);
    }
    if (!op || op->def != &ops::dequantize_linearOp) return std::nullopt;
    if (swapped) std::swap(side.order[side.order.size() - 1], side.order[side.order.size() - 2]);
    side.dequantize = op;
    const Dtype bytes = types_.at(side.bytes()).dtype();
    if ((bytes != Dtype::i8 && bytes != Dtype::u8) || types_.at(side.scale()).dtype() != Dtype::f32 ||
        op->results[0].type.dtype() != Dtype::f32)
      return std::nullopt;
    int64_t own = op->attributes.integer("axis", 1);
    if (own < 0) own += rank;
    for (ValueId parameter : {side.scale(), side.zero()}) {
      if (parameter == kNoValue || isSingle(types_.at(parameter))) continue;
      if (!axis || side.order[static_cast<size_t>(*axis)] != own) return std::nullopt;
      if (parameter == side.scale()) side.oneScale = false;
    }
    return side;
  }

  ValueId emit(const OpDef& def, std::vector<ValueId> operands, Attributes attributes, Type type,
               SourceLocation place) {
    const ValueId id = ir_.newValue();
    add(def, std::move(operands), std::move(attributes), {id, type}, std::move(place));
    return id;
  }
  void add(const OpDef& def, std::vector<ValueId> operands, Attributes attributes, ValueDef result,
           SourceLocation place) {
    while (!operands.empty() && operands.back() == kNoValue) operands.pop_back();
    Op op;
    op.def = &def;
    op.operands = std::move(operands);
    op.attributes = std::move(attributes);
    op.results = {result};
    op.place = std::move(place);
    types_[result.id] = result.type;
    ops_.push_back(ir_.own(std::move(op)));
  }

  // The bytes with their axes as the operand has them.
  ValueId ordered(const OperandSide& side, SourceLocation place) {
    bool moved = false;
    Shape dims;
    const Type type = types_.at(side.bytes());
    for (size_t i = 0; i < side.order.size(); ++i) {
      moved |= side.order[i] != static_cast<int64_t>(i);
      dims.push_back(type.dims()[static_cast<size_t>(side.order[i])]);
    }
    if (!moved) return side.bytes();
    return emit(ops::transposeOp, {side.bytes()}, {{"perm", side.order}}, ir_.tensorType(dims, type.dtype()),
                std::move(place));
  }

  // Both scales in one: of rank 0 or 1.
  ValueId bothScales(const OperandSide& a, const OperandSide& b, const SourceLocation& place) {
    const Type left = types_.at(a.scale()), right = types_.at(b.scale());
    return emit(ops::mulOp, {a.scale(), b.scale()}, {}, right.rank() >= left.rank() ? right : left, place);
  }

  // A number for each output channel, [m] → [m, 1...], or one for all.
  ValueId overChannels(ValueId v, int rank, const SourceLocation& place) {
    const Type type = types_.at(v);
    if (isSingle(type)) return v;
    std::vector<int64_t> axes(static_cast<size_t>(rank - 2));
    std::iota(axes.begin(), axes.end(), 1);
    const ValueId axesValue = emit(
        ops::constantOp, {}, {{"value", HostTensor::vectorInt(Dtype::i64, axes)}},
        ir_.tensorType(Shape{ir_.dims().constant(static_cast<int64_t>(axes.size()))}, Dtype::i64), place);
    Shape dims = type.dims();
    dims.resize(static_cast<size_t>(rank - 1), ir_.dims().constant(1));
    return emit(ops::unsqueezeOp, {v, axesValue}, {}, ir_.tensorType(dims, type.dtype()), place);
  }

  bool product(const Op& op) {
    const Type type = op.results[0].type;
    const int64_t rank = types_.at(op.operands[1]).rank();
    if (type.dtype() != Dtype::f32 || rank < 2 || types_.at(op.operands[0]).rank() < 2) return false;
    const auto a = sideOf(op.operands[0], op.attributes.integer("transpose_a", 0) != 0, std::nullopt);
    const auto b = sideOf(op.operands[1], op.attributes.integer("transpose_b", 0) != 0, rank - 1);
    if (!a || !b) return false;
    const ValueId left = ordered(*a, op.place), right = ordered(*b, op.place);
    const ValueId sums = emit(ops::matmul_integerOp, {left, right, a->zero(), b->zero()}, {},
                              ir_.tensorType(type.dims(), Dtype::i32), op.place);
    const ValueId scale = bothScales(*a, *b, op.place);
    const ValueId real = emit(ops::castOp, {sums}, {{"to", Dtype::f32}}, type, op.place);
    add(ops::mulOp, {real, scale}, {}, op.results[0], op.place);
    made_[op.results[0].id] = {real, scale, kNoValue, {sums, a->scale(), b->scale()}};
    return true;
  }

  bool convolution(const Op& op) {
    const Type type = op.results[0].type;
    if (type.dtype() != Dtype::f32) return false;
    const auto x = sideOf(op.operands[0], false, std::nullopt), w = sideOf(op.operands[1], false, 0);
    if (!x || !w) return false;
    const ValueId bias = op.operands.size() > 2 ? op.operands[2] : kNoValue;
    const ValueId left = ordered(*x, op.place), right = ordered(*w, op.place);
    const Type integers = ir_.tensorType(type.dims(), Dtype::i32);
    ValueId sums =
        emit(ops::conv_integerOp, {left, right, x->zero(), w->zero()}, op.attributes, integers, op.place);
    const ValueId scale = overChannels(bothScales(*x, *w, op.place), type.rank(), op.place);
    const ValueId whole = bias == kNoValue ? kNoValue : integerBias(bias, x->scale(), w->scale());
    if (whole != kNoValue)
      sums = emit(ops::addOp, {sums, overChannels(whole, type.rank(), op.place)}, {}, integers, op.place);
    const ValueId real = emit(ops::castOp, {sums}, {{"to", Dtype::f32}}, type, op.place);
    if (bias == kNoValue || whole != kNoValue) {
      add(ops::mulOp, {real, scale}, {}, op.results[0], op.place);
      made_[op.results[0].id] = {real, scale, kNoValue, {}};
      return true;
    }
    const ValueId scaled = emit(ops::mulOp, {real, scale}, {}, type, op.place);
    const ValueId added = overChannels(bias, type.rank(), op.place);
    add(ops::addOp, {scaled, added}, {}, op.results[0], op.place);
    made_[op.results[0].id] = {real, scale, added, {}};
    return true;
  }

  // Integer sums of a product without a bias, and the scales of its sides.
  struct Sums {
    ValueId value = kNoValue, left = kNoValue, right = kNoValue;
  };
  // What a value consists of that this pass made: real * scale + bias, the bias perhaps none.
  struct Made {
    ValueId real = kNoValue, scale = kNoValue, bias = kNoValue;
    Sums sums;
  };

  // The i32 of a bias that is such numbers times both scales: they are added to the sums, without rounding,
  // as QLinearConv has it. kNoValue: it is something else.
  ValueId integerBias(ValueId bias, ValueId left, ValueId right) const {
    const Op* op = definition(bias);
    if (!op) return kNoValue;
    ValueId numbers = kNoValue, unit = kNoValue;
    if (op->def == &ops::dequantize_linearOp &&
        isZero(op->operands.size() > 2 ? op->operands[2] : kNoValue)) {
      numbers = op->operands[0];
      unit = op->operands[1];
    } else if (op->def == &ops::mulOp) {
      const Op* cast = definition(op->operands[0]);
      if (!cast || cast->def != &ops::castOp) return kNoValue;
      numbers = cast->operands[0];
      unit = op->operands[1];
    }
    if (numbers == kNoValue || types_.at(numbers).dtype() != Dtype::i32 || types_.at(numbers).rank() > 1 ||
        types_.at(unit).dtype() != Dtype::f32)
      return kNoValue;
    return isProduct(unit, left, right) ? numbers : kNoValue;
  }

  bool isZero(ValueId v) const {
    if (v == kNoValue) return true;
    const HostTensor* value = constantOf(v);
    if (!value) return false;
    for (int64_t i = 0; i < value->elementCount(); ++i)
      if (value->intAt(i) != 0) return false;
    return true;
  }

  // Is it the product of both, but for its last bits?
  bool isProduct(ValueId unit, ValueId left, ValueId right) const {
    if (const Op* op = definition(unit); op && op->def == &ops::mulOp)
      return (op->operands[0] == left && op->operands[1] == right) ||
             (op->operands[0] == right && op->operands[1] == left);
    const HostTensor *product = constantOf(unit), *a = constantOf(left), *b = constantOf(right);
    if (!product || !a || !b) return false;
    const int64_t count = std::max(a->elementCount(), b->elementCount());
    const auto fits = [&](const HostTensor& t) { return t.elementCount() == 1 || t.elementCount() == count; };
    if (product->elementCount() != count || !fits(*a) || !fits(*b)) return false;
    const auto at = [](const HostTensor& t, int64_t i) { return t.realAt(t.elementCount() == 1 ? 0 : i); };
    constexpr double kLastBits = 1.0 / (1 << 21);
    for (int64_t i = 0; i < count; ++i)
      if (!(std::abs(at(*a, i) * at(*b, i) - product->realAt(i)) <= kLastBits * product->realAt(i)))
        return false;
    return true;
  }

  // The sum of such a product with a vector is one, too. False: the addition stays as it is.
  bool addBias(const Op& op) {
    for (size_t side = 0; side < 2; ++side) {
      const ValueId product = op.operands[side], bias = op.operands[1 - side];
      const auto found = made_.find(product);
      if (found == made_.end() || found->second.bias != kNoValue || uses_[product] != 1) continue;
      if (types_.at(bias).rank() > 1 || op.results[0].type.dims() != types_.at(product).dims()) continue;
      const Made made = found->second;
      const Sums& sums = made.sums;
      const ValueId whole = sums.value == kNoValue ? kNoValue : integerBias(bias, sums.left, sums.right);
      if (whole == kNoValue) {
        made_[op.results[0].id] = {made.real, made.scale, bias, {}};
        return false;
      }
      const ValueId more = emit(ops::addOp, {sums.value, whole}, {}, types_.at(sums.value), op.place);
      const ValueId real = emit(ops::castOp, {more}, {{"to", Dtype::f32}}, op.results[0].type, op.place);
      add(ops::mulOp, {real, made.scale}, {}, op.results[0], op.place);
      made_[op.results[0].id] = {real, made.scale, kNoValue, {}};
      return true;
    }
    return false;
  }

  // quantize_linear of such a product or of its relu: one multiplication by all scales.
  bool quantiseProduct(const Op& op) {
    const Type result = op.results[0].type;
    const ValueId scale = op.operands[1], zero = op.operands.size() > 2 ? op.operands[2] : kNoValue;
    if ((result.dtype() != Dtype::u8 && result.dtype() != Dtype::i8) ||
        types_.at(scale).dtype() != Dtype::f32 || !isSingle(types_.at(scale)) ||
        (zero != kNoValue && !isSingle(types_.at(zero))))
      return false;
    ValueId from = op.operands[0];
    const Op* definition = this->definition(from);
    const bool relu = definition && definition->def == &ops::reluOp && uses_[from] == 1;
    if (relu) from = definition->operands[0];
    const auto product = made_.find(from);
    if (product == made_.end() || uses_[from] != 1) return false;
    const Made& made = product->second;
    const auto divided = [&](ValueId v) {
      const Type own = types_.at(v), by = types_.at(scale);
      return emit(ops::divOp, {v, scale}, {}, own.rank() >= by.rank() ? own : by, op.place);
    };
    const Type type = ir_.tensorType(result.dims(), Dtype::f32);
    ValueId y = emit(ops::mulOp, {made.real, divided(made.scale)}, {}, type, op.place);
    if (made.bias != kNoValue) y = emit(ops::addOp, {y, divided(made.bias)}, {}, type, op.place);
    if (relu) y = emit(ops::reluOp, {y}, {}, type, op.place);
    y = emit(ops::roundOp, {y}, {}, type, op.place);
    if (zero != kNoValue) {
      const Type own = ir_.tensorType(types_.at(zero).dims(), Dtype::f32);
      y = emit(ops::addOp, {y, emit(ops::castOp, {zero}, {{"to", Dtype::f32}}, own, op.place)}, {}, type,
               op.place);
    }
    add(ops::castOp, {y}, {{"to", result.dtype()}}, op.results[0], op.place);
    return true;
  }

  // The number, where it is known.
  const HostTensor* constantOf(ValueId v) const {
    const Op* op = v == kNoValue ? nullptr : definition(v);
    return op && op->def == &ops::constantOp ? op->attributes.tensor("value") : nullptr;
  }
  bool isSame(ValueId a, ValueId b) const {
    if (a == b) return true;
    const HostTensor *left = constantOf(a), *right = constantOf(b);
    return left && right && left->dtype() == right->dtype() && left->elementCount() == 1 &&
           right->elementCount() == 1 && left->realAt(0) == right->realAt(0);
  }

  // quantize_linear of the largest of dequantised bytes, by the same scale and zero point: the largest byte.
  bool quantisePool(const Op& op) {
    const Op* pool = definition(op.operands[0]);
    if (!pool || pool->def != &ops::max_poolOp || pool->results.size() != 1 || uses_[op.operands[0]] != 1)
      return false;
    const Op* bytes = definition(pool->operands[0]);
    if (!bytes || bytes->def != &ops::dequantize_linearOp) return false;
    const auto operand = [](const Op& of, size_t i) {
      return i < of.operands.size() ? of.operands[i] : kNoValue;
    };
    const Type type = types_.at(bytes->operands[0]), result = op.results[0].type;
    const HostTensor* scale = constantOf(bytes->operands[1]);
    if ((type.dtype() != Dtype::u8 && type.dtype() != Dtype::i8) || type.dtype() != result.dtype() ||
        !scale || scale->elementCount() != 1 || !(scale->realAt(0) > 0) ||
        !isSame(bytes->operands[1], op.operands[1]) || !isSame(operand(*bytes, 2), operand(op, 2)))
      return false;
    add(ops::max_poolOp, {bytes->operands[0]}, pool->attributes, op.results[0], op.place);
    return true;
  }

  // The arithmetic is that of the operator's definition, step by step in f32.
  void quantiseByRange(const Op& op) {
    const ValueId x = op.operands[0];
    const Type f32 = ir_.tensorType(Shape{}, Dtype::f32), boolean = ir_.tensorType(Shape{}, Dtype::boolean);
    auto number = [&](double value) {
      return emit(ops::constantOp, {}, {{"value", HostTensor::scalar(Dtype::f32, value)}}, f32, op.place);
    };
    auto step = [&](const OpDef& def, std::vector<ValueId> operands) {
      return emit(def, std::move(operands), {}, f32, op.place);
    };
    const ValueId none = number(0), one = number(1), top = number(255);
    const Attributes whole = {{"keepdims", int64_t{0}}};
    const ValueId low = step(ops::minOp, {emit(ops::reduce_minOp, {x}, whole, f32, op.place), none}),
                  high = step(ops::maxOp, {emit(ops::reduce_maxOp, {x}, whole, f32, op.place), none});
    const ValueId flat = emit(ops::equalOp, {high, low}, {}, boolean, op.place),
                  unit = step(ops::divOp, {step(ops::subOp, {high, low}), top});
    add(ops::whereOp, {flat, one, unit}, {}, op.results[1], op.place);
    const ValueId scale = op.results[1].id,
                  place = step(ops::roundOp, {step(ops::divOp, {step(ops::subOp, {none, low}), scale})}),
                  inside = step(ops::minOp, {step(ops::maxOp, {place, none}), top});
    add(ops::castOp, {inside}, {{"to", Dtype::u8}}, op.results[2], op.place);
    add(ops::quantize_linearOp, {x, scale, op.results[2].id}, {}, op.results[0], op.place);
  }

  const Function& function_;
  IrContext& ir_;
  std::unordered_map<ValueId, Type> types_;
  std::unordered_map<ValueId, const Op*> definitions_;
  std::unordered_map<ValueId, int> uses_;  // in the function itself: who else reads has it as an operand, too
  std::unordered_map<ValueId, Made> made_;
  std::vector<const Op*> ops_;
  int64_t products_ = 0, ranges_ = 0;
};

Result<Module> runQuantise(const Module& module, PassContext& context) {
  int64_t products = 0, ranges = 0, tables = 0;
  auto sweep = [&](const Function& function) -> Result<const Function*> {
    const Function* bare = withoutSaturatedBounds(function, *module.context);
    Quantiser quantiser(*withByteTables(*bare, *module.context, tables), *module.context);
    const Function* result = quantiser.run();
    products += quantiser.products();
    ranges += quantiser.ranges();
    return result;
  };
  DYN_TRY(Module result, rewriteFunctions(module, sweep));
  context.counters["integer_products"] = products;
  context.counters["dynamic_ranges"] = ranges;
  context.counters["byte_tables"] = tables;
  return result;
}

}  // namespace

PassDef quantisePass() {
  return {.name = "quantise",
          .summary = "turns products of dequantised bytes into integer products",
          .requiredProperties = Property::types,
          .forbiddenProperties = Property::destinations,
          .options = {},
          .run = runQuantise,
          .makesBuiltins = true};
}

}  // namespace dyn::passes
