// Shape simplification: dynamic → static, and shapes as expressions.
//   requires: types.  provides: integer values that are known dims are `dims_value` (or constants); views and moves that do nothing are gone.
//   before  %s = shape(%x)  %b = gather(%s, 0)  %t = concat(%b, [-1])  %y = reshape(%x, %t)
//   after   %t = dims_value {value = dims(batch, ...)}  %y = reshape(%x, %t)      (what computed %t is dead: dce removes it)
// What a value's contents are is what type inference found; nothing is evaluated here. Also: identity and
// no-op casts, transposes, expands and reshapes are replaced by their operand, reshapes of reshapes by one.
// Where an elementwise operation has another operand of the result's shape, an expanded operand is read
// unexpanded, and a tensor of one number as that number. x / 2^k is x * 2^-k; of integers b + (a - b) is a.
// Rows normalised by constants are scaled and moved (scaled_rows.h); of two scaled factors of a product one
// is scaled (scaled_factors.h). Attention between whose products the batches are regrouped has one form of
// its rows (regrouped_rows.h). A scatter that writes everything is its updates (whole_scatter.h).
// Cost in IR size: a constant for each of these.
#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "compiler/infer/infer.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/pass/pass.h"
#include "compiler/passes/analysis/path_facts.h"
#include "compiler/passes/simplify/regrouped_rows.h"
#include "compiler/passes/simplify/scaled_factors.h"
#include "compiler/passes/simplify/scaled_rows.h"
#include "compiler/passes/simplify/whole_scatter.h"

namespace dyn::passes {

namespace {

class Simplifier {
 public:
  explicit Simplifier(const InferredModule& inferred)
      : inferred_(inferred),
        ir_(*inferred.module.context),
        facts_(inferred.module),
        contents_(inferred.contents) {}

  Result<const Function*> run(const Function& function) {
    std::unordered_map<ValueId, Type> types;
    std::unordered_map<ValueId, const Op*> definitions;
    for (const Parameter& p : function.parameters) types[p.id] = p.type;
    nameElements(function);
    body_ = facts_.bodyOf(function);
    position_ = 0;
    ValueMap replaced;
    RegroupedRows rows(
        ir_, function, types, definitions,
        [&](Dim a, Dim b) {
          return facts_.equal(a, b, {body_, position_ - 1});
        },
        RegroupedRows::Repeats::shared);
    Function result = function;
    result.ops.clear();
    bool changed = false;
    for (const Op* original : function.ops) {
      ++position_;
      const Op* op = renamed(original, replaced);
      if (op->def == &ops::reshapeOp) op = reshapeOfView(op, definitions);
      for (const ValueDef& r : op->results) types[r.id] = r.type;
      ValueId same = noOp(*op, types);
      if (same == kNoValue) same = minuendOf(*op, types, definitions);
      if (same == kNoValue) same = target(wholeScatter(*original, function, inferred_), replaced);
      if (same != kNoValue) {
        replaced[op->results[0].id] = same;
        ++removed_;
        changed = true;
        continue;
      }
      if (const Op* product = scaledFactors(*op, ir_, types, definitions, result.ops)) op = product;
      if (const Op* known = knownDims(*op)) {
        op = known;
        ++known_;
      } else if (const Op* regrouped = rows.of(*op, result.ops)) {
        op = regrouped;
      } else if (const Op* sum = scaledRows(*op, ir_, definitions, result.ops)) {
        op = sum;
      } else if (op->def->cls == OpClass::elementwise && !op->def->traits.channelOperands &&
                 op->operands.size() > 1) {
        op = unexpanded(op, types, definitions, result.ops);
        if (op->def == &ops::divOp) op = exactProduct(op, types, definitions, result.ops);
      }
      changed |= op != original;
      result.ops.push_back(op);
      for (const ValueDef& r : op->results) definitions[r.id] = op;
    }
    if (!changed) return finished(&function);
    for (ValueId& v : result.results) v = target(v, replaced);
    return finished(ir_.own(std::move(result)));
  }

  int64_t known_ = 0, removed_ = 0, unexpanded_ = 0;

 private:
  static ValueId target(ValueId v, const ValueMap& replaced) {
    auto it = replaced.find(v);
    return it == replaced.end() ? v : it->second;
  }

  const Op* renamed(const Op* op, const ValueMap& replaced) {
    bool any = false;
    for (ValueId v : op->operands) any |= target(v, replaced) != v;
    if (!any) return op;
    Op copy = *op;
    for (ValueId& v : copy.operands) v = target(v, replaced);
    return ir_.own(std::move(copy));
  }

  // The operand that the operation hands on unchanged, or kNoValue.
  static ValueId noOp(const Op& op, const std::unordered_map<ValueId, Type>& types) {
    if (op.operands.empty() || op.results.size() != 1) return kNoValue;
    const ValueId x = op.operands[0];
    if (op.def == &ops::identityOp) return x;
    auto type = types.find(x);
    if (type == types.end() || !(type->second == op.results[0].type)) return kNoValue;
    if (op.def == &ops::castOp || op.def == &ops::reshapeOp || op.def == &ops::expandOp) return x;
    if (op.def == &ops::transposeOp) {
      const std::vector<int64_t> perm = op.attributes.integers("perm");
      if (perm.empty()) return kNoValue;
      for (size_t i = 0; i < perm.size(); ++i)
        if (perm[i] != static_cast<int64_t>(i)) return kNoValue;
      return x;
    }
    return kNoValue;
  }

  // Symbols that name elements of values: those of this function go to namedAt_ with the place where they get
  // their value (1 = first operation), those of inner bodies to namedInside_. Inner bodies were here before:
  // their sets are taken over, the larger one whole.
  void nameElements(const Function& function) {
    namedAt_.clear();
    namedInside_.clear();
    for (size_t i = 0; i < function.ops.size(); ++i) {
      const Op& op = *function.ops[i];
      if (op.def == &ops::bind_dimsOp)
        for (Dim d : op.attributes.dims("dims"))
          if (d.isSymbol()) namedAt_.try_emplace(d.symbol(), i + 1);
      for (const Function* region : op.regions) {
        auto inside = namedBy_.find(region);
        if (inside == namedBy_.end()) continue;
        if (inside->second.size() > namedInside_.size()) namedInside_.swap(inside->second);
        namedInside_.insert(inside->second.begin(), inside->second.end());
        namedBy_.erase(inside);
      }
    }
    fromOutside_.clear();
    for (const Parameter& p : function.parameters)
      for (SymbolId s : symbolsOf(p.type)) fromOutside_.insert(s);
  }

  const Function* finished(const Function* function) {
    for (const auto& [symbol, position] : namedAt_) namedInside_.insert(symbol);
    namedBy_[function] = std::move(namedInside_);
    return function;
  }

  // Not where the symbol is the name of this very value's element: the value must be computed.
  bool hasValueHere(Dim d) const {
    for (SymbolId s : symbolsOf(d)) {
      if (fromOutside_.count(s)) continue;
      auto it = namedAt_.find(s);
      if (it != namedAt_.end() ? it->second > position_ : namedInside_.count(s) != 0) return false;
    }
    return true;
  }

  const Op* knownDims(const Op& op) {
    if (op.results.size() != 1 || op.def->hasEffects || !op.regions.empty()) return nullptr;
    if (op.def == &ops::constantOp || op.def == &ops::dims_valueOp || op.def == &ops::dim_valueOp)
      return nullptr;
    const Type type = op.results[0].type;
    auto it = contents_.find(op.results[0].id);
    if (it == contents_.end() || !type.isTensor()) return nullptr;
    bool constant = true;
    for (Dim d : it->second) {
      if (!d || d.isInvalid() || !hasValueHere(d)) return nullptr;
      constant &= d.isConstant();
    }
    Op known;
    known.results = op.results;
    known.place = op.place;
    if (constant) {
      std::vector<int64_t> shape;
      for (Dim d : type.dims()) {
        if (!d.isConstant()) return nullptr;
        shape.push_back(*d.constant());
      }
      std::vector<int64_t> values;
      for (Dim d : it->second) values.push_back(*d.constant());
      known.def = &ops::constantOp;
      known.attributes.set("value", HostTensor::vectorInt(type.dtype(), values).reshaped(std::move(shape)));
      return ir_.own(std::move(known));
    }
    if (type.dtype() != Dtype::i64 || type.rank() > 1) return nullptr;
    known.def = type.rank() == 0 ? &ops::dim_valueOp : &ops::dims_valueOp;
    known.attributes.set("value", Shape(it->second));
    return ir_.own(std::move(known));
  }

  // reshape(view(x), s) = reshape(x, s) when s is all known sizes (no 0 or -1 that would mean the view's own
  // dims).
  const Op* reshapeOfView(const Op* op, const std::unordered_map<ValueId, const Op*>& definitions) {
    auto inner = definitions.find(op->operands[0]);
    auto shape = definitions.find(op->operands[1]);
    if (inner == definitions.end() || shape == definitions.end()) return op;
    const OpDef* def = inner->second->def;
    if (def != &ops::reshapeOp && def != &ops::squeezeOp && def != &ops::unsqueezeOp) return op;
    auto contents = contents_.find(op->operands[1]);
    if (contents == contents_.end()) return op;
    for (size_t i = 0; i < contents->second.size(); ++i) {
      const Dim d = contents->second[i];
      // -1 is what is left of the element count, which a view does not change.
      if (!d || !(d.isConstant(-1) || d == op->results[0].type.dims()[i])) return op;
    }
    Op merged = *op;
    merged.operands[0] = inner->second->operands[0];
    return ir_.own(std::move(merged));
  }

  // b + (a - b) is a, in integers, which wrap round: the row of a sequence's position, of which that position
  // was made, is that row.
  ValueId minuendOf(const Op& op, const std::unordered_map<ValueId, Type>& types,
                    const std::unordered_map<ValueId, const Op*>& definitions) {
    if (op.def != &ops::addOp || !op.results[0].type.isTensor() || !isInteger(op.results[0].type.dtype()))
      return kNoValue;
    for (size_t side : {size_t{0}, size_t{1}}) {
      const auto made = definitions.find(op.operands[side]);
      if (made == definitions.end() || made->second->def != &ops::subOp ||
          made->second->operands[1] != op.operands[1 - side])
        continue;
      const ValueId minuend = made->second->operands[0];
      const auto type = types.find(minuend);
      if (type != types.end() && type->second.isTensor() &&
          facts_.equalShapes(type->second.dims(), op.results[0].type.dims(), {body_, position_ - 1}))
        return minuend;
    }
    return kNoValue;
  }

  // `op` with operands that only repeat something replaced by what they repeat; constants for that are
  // appended to `before`.
  const Op* unexpanded(const Op* op, std::unordered_map<ValueId, Type>& types,
                       std::unordered_map<ValueId, const Op*>& definitions, std::vector<const Op*>& before) {
    const Type result = op->results[0].type;
    const auto hasResultShape = [&](ValueId v) {
      auto type = types.find(v);
      return type != types.end() && type->second.isTensor() &&
             facts_.equalShapes(type->second.dims(), result.dims(), {body_, position_ - 1});
    };
    Op changed = *op;
    bool any = false;
    for (ValueId& v : changed.operands) {
      auto made = definitions.find(v);
      if (v == kNoValue || made == definitions.end() ||
          (made->second->def != &ops::expandOp && made->second->def != &ops::constant_of_shapeOp))
        continue;
      if (std::none_of(changed.operands.begin(), changed.operands.end(), [&](ValueId other) {
            return other != v && other != kNoValue && hasResultShape(other);
          }))
        continue;
      any = true;
      if (made->second->def == &ops::expandOp) {
        v = made->second->operands[0];
        continue;
      }
      const HostTensor* value = made->second->attributes.tensor("value");
      v = numberBefore(value ? value->reshaped({}) : HostTensor::scalar(Dtype::f32, 0), made->second->place,
                       types, definitions, before);
    }
    if (!any) return op;
    ++unexpanded_;
    return ir_.own(std::move(changed));
  }

  ValueId numberBefore(const HostTensor& number, const SourceLocation& place,
                       std::unordered_map<ValueId, Type>& types,
                       std::unordered_map<ValueId, const Op*>& definitions, std::vector<const Op*>& before) {
    Op constant;
    constant.def = &ops::constantOp;
    constant.place = place;
    constant.attributes.set("value", number);
    Shape shape;
    for (int64_t size : number.shape()) shape.push_back(ir_.dims().constant(size));
    constant.results = {{ir_.newValue(), ir_.tensorType(shape, number.dtype())}};
    const ValueId value = constant.results[0].id;
    types[value] = constant.results[0].type;
    before.push_back(ir_.own(std::move(constant)));
    definitions[value] = before.back();
    return value;
  }

  // x / 2^k = x * 2^-k, to the last bit.
  const Op* exactProduct(const Op* op, std::unordered_map<ValueId, Type>& types,
                         std::unordered_map<ValueId, const Op*>& definitions,
                         std::vector<const Op*>& before) {
    auto made = definitions.find(op->operands[1]);
    if (made == definitions.end() || made->second->def != &ops::constantOp) return op;
    const HostTensor* divisor = made->second->attributes.tensor("value");
    if (!divisor || divisor->elementCount() != 1 ||
        (divisor->dtype() != Dtype::f32 && divisor->dtype() != Dtype::f64))
      return op;
    int exponent = 0;
    constexpr int kLargest = 126;  // the reciprocal is a normal number of either type
    const double value = divisor->realAt(0);
    if (!std::isfinite(value) || std::abs(std::frexp(value, &exponent)) != 0.5 ||
        std::abs(exponent - 1) > kLargest)
      return op;
    HostTensor reciprocal = *HostTensor::create(divisor->dtype(), divisor->shape());
    reciprocal.setReal(0, 1 / value);
    Op product = *op;
    product.def = &ops::mulOp;
    product.operands[1] = numberBefore(reciprocal, made->second->place, types, definitions, before);
    return ir_.own(std::move(product));
  }

  const InferredModule& inferred_;
  IrContext& ir_;
  PathFacts facts_;
  const std::unordered_map<ValueId, Contents>& contents_;
  std::unordered_map<SymbolId, size_t> namedAt_;
  std::unordered_set<SymbolId> namedInside_, fromOutside_;
  std::unordered_map<const Function*, std::unordered_set<SymbolId>> namedBy_;  // of functions done
  size_t body_ = 0, position_ = 0;  // of the function and operation at work; positions count from 1
};

Result<Module> runSimplify(const Module& module, PassContext& context) {
  DYN_TRY(InferredModule inferred, inferTypes(module));
  Simplifier simplifier(inferred);
  DYN_TRY(Module result,
          rewriteFunctions(inferred.module, [&](const Function& f) { return simplifier.run(f); }));
  context.counters["known_shapes"] = simplifier.known_;
  context.counters["removed_ops"] = simplifier.removed_;
  context.counters["unexpanded_ops"] = simplifier.unexpanded_;
  return result;
}

}  // namespace

PassDef simplifyPass() {
  return {.name = "simplify",
          .summary = "turns shape arithmetic into dims and drops operations that change nothing",
          .requiredProperties = Property::types,
          .forbiddenProperties = Property::destinations,
          .options = {},
          .run = runSimplify};
}

}  // namespace dyn::passes
