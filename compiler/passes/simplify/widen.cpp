// Products and convolutions of f16 and bf16 are computed in f32.
//   requires: types.  provides: no matmul, convolution or transposed convolution is of f16 or bf16, but for
//   devices beside the host.
//   before  %y = matmul(%a, %b)                      with %a, %b f16
//   after   %p = cast(%a) {to = f32}  %q = cast(%b) {to = f32}  %r = matmul(%p, %q)  %y = cast(%r) {to = f16}
// That is what such a product means here (sums in f32, rounded once), so no bit of a result depends on it but
// by the order of sums. Casts are fused with what makes their operands; `prepack` takes those of constants
// into the packing, where matrices stay narrow. Those of transposes go before them, where `fold_transposes`
// finds the transposes. It runs after `fold`, which would keep constants in f32. Cost in IR size: three
// operations per product.
// With the option f16=relaxed all arithmetic of f16 is computed so, and what one operation hands to the next
// stays f32: numbers are rounded where they are moved, returned, or cast by the model itself.
#include <algorithm>
#include <unordered_map>

#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/pass/pass.h"

namespace dyn::passes {

namespace {

enum class Rounding : uint8_t { eachOperation, relaxed };

class Widener {
 public:
  Widener(const Function& function, IrContext& ir, Rounding rounding)
      : function_(function), ir_(ir), rounding_(rounding) {
    for (const Parameter& p : function.parameters) types_[p.id] = p.type;
    for (const Op* op : function.ops)
      for (const ValueDef& r : op->results) {
        types_[r.id] = r.type;
        definitions_[r.id] = op;
      }
  }

  const Function* run() {
    for (const Op* op : function_.ops) {
      if (isNarrowProduct(*op) || (rounding_ == Rounding::relaxed && isNarrowArithmetic(*op))) {
        widen(*op);
        ++widened_;
      } else {
        ops_.push_back(op);
        if (rounding_ == Rounding::relaxed && op->def->cls == OpClass::view && op->results.size() == 1)
          if (auto it = wide_.find(op->operands[0]); it != wide_.end()) moveWide(*op, it->second, op->place);
      }
    }
    if (widened_ == 0) return &function_;
    Function result = function_;
    result.ops = std::move(ops_);
    return ir_.own(std::move(result));
  }

  int64_t widened() const { return widened_; }

 private:
  static bool isOfHalves(Type type) { return type.isTensor() && isHalf(type.dtype()); }
  static bool isNarrowProduct(const Op& op) {
    return (op.def == &ops::matmulOp || op.def == &ops::convOp || op.def == &ops::conv_transposeOp) &&
           isOfHalves(op.results[0].type);
  }

  // An operation that computes the same of f32 where its operands of f16 are f32, and rounds the result.
  bool isNarrowArithmetic(const Op& op) const {
    const auto isF16 = [](Type type) { return type.isTensor() && type.dtype() == Dtype::f16; };
    if (op.results.size() != 1 || !isF16(op.results[0].type) || op.def->hasEffects ||
        op.attributes.has("to") || op.attributes.has("dtype"))
      return false;
    return (op.def->cls == OpClass::elementwise || op.def->cls == OpClass::reduction) &&
           std::any_of(op.operands.begin(), op.operands.end(),
                       [&](ValueId v) { return v != kNoValue && isF16(types_.at(v)); });
  }

  ValueId emit(Op op, Type type) {
    op.results = {{ir_.newValue(), ir_.tensorType(type.dims(), Dtype::f32)}};
    ops_.push_back(ir_.own(std::move(op)));
    return ops_.back()->results[0].id;
  }

  // The value in f32, made once for all that read it. Transposes come behind the cast.
  ValueId wide(ValueId narrow, const SourceLocation& place) {
    if (narrow == kNoValue) return narrow;
    if (auto it = wide_.find(narrow); it != wide_.end()) return it->second;
    const auto definition = definitions_.find(narrow);
    if (definition == definitions_.end() || definition->second->def != &ops::transposeOp)
      return cast(narrow, place);
    return moveWide(*definition->second, cast(definition->second->operands[0], place), place);
  }

  ValueId moveWide(const Op& view, ValueId operand, const SourceLocation& place) {
    Op made = view;
    made.place = place;
    made.operands[0] = operand;
    return wide_[view.results[0].id] = emit(std::move(made), view.results[0].type);
  }

  ValueId cast(ValueId narrow, const SourceLocation& place) {
    if (auto it = wide_.find(narrow); it != wide_.end()) return it->second;
    Op made;
    made.def = &ops::castOp;
    made.operands = {narrow};
    made.attributes.set("to", Dtype::f32);
    made.place = place;
    return wide_[narrow] = emit(std::move(made), types_.at(narrow));
  }

  void widen(const Op& op) {
    Op product = op;
    for (ValueId& operand : product.operands)
      if (operand != kNoValue && isOfHalves(types_.at(operand))) operand = wide(operand, op.place);
    Op rounded;
    rounded.def = &ops::castOp;
    rounded.attributes.set("to", op.results[0].type.dtype());
    rounded.operands = {emit(std::move(product), op.results[0].type)};
    rounded.results = op.results;
    rounded.place = op.place;
    if (rounding_ == Rounding::relaxed && op.results[0].type.dtype() == Dtype::f16)
      wide_[op.results[0].id] = rounded.operands[0];
    ops_.push_back(ir_.own(std::move(rounded)));
  }

  const Function& function_;
  IrContext& ir_;
  const Rounding rounding_;
  std::unordered_map<ValueId, Type> types_;
  std::unordered_map<ValueId, const Op*> definitions_;
  std::unordered_map<ValueId, ValueId> wide_;  // by the narrow value
  std::vector<const Op*> ops_;
  int64_t widened_ = 0;
};

Result<Module> runWiden(const Module& module, PassContext& context) {
  Rounding rounding = Rounding::eachOperation;
  if (const auto it = context.options.find("f16"); it != context.options.end()) {
    if (it->second != "rounded" && it->second != "relaxed")
      return makeError(DiagnosticId::badAttribute, "widen: f16 is rounded or relaxed, not " + it->second);
    if (it->second == "relaxed") rounding = Rounding::relaxed;
  }
  // A device's generated products widen what they read, and its tensor cores take it as it is.
  if (!context.target.isHostOnly()) {
    if (rounding == Rounding::relaxed)
      return makeError(DiagnosticId::unsupportedFeature, "unsupported: relaxed f16 on a device");
    return module;
  }
  int64_t widened = 0;
  DYN_TRY(Module result, rewriteFunctions(module, [&](const Function& function) -> Result<const Function*> {
            Widener widener(function, *module.context, rounding);
            const Function* rewritten = widener.run();
            widened += widener.widened();
            return rewritten;
          }));
  context.counters["widened_products"] = widened;
  return result;
}

}  // namespace

PassDef widenPass() {
  return {.name = "widen",
          .summary = "computes f16 and bf16 products in f32 and rounds the results",
          .requiredProperties = Property::types,
          .forbiddenProperties = Property::destinations,
          .options = {{"f16",
                       "rounded after each operation of the model, or relaxed: f32 from one operation to the "
                       "next; default rounded"}},
          .run = runWiden};
}

}  // namespace dyn::passes
