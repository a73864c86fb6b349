// Products and convolutions of f16 and bf16 are computed in f32.
//   needs: types.  establishes: no matmul, convolution or transposed convolution is of f16 or bf16, but for
//   devices beside the host.
//   before  %y = matmul(%a, %b)                      with %a, %b f16
//   after   %p = cast(%a) {to = f32}  %q = cast(%b) {to = f32}  %r = matmul(%p, %q)  %y = cast(%r) {to = f16}
// That is what such a product means here (sums in f32, rounded once), so no bit of a result depends on it but
// by the order of sums. Casts are fused with what makes their operands; `prepack` takes those of constants
// into the packing, which widens once, at load. Those of transposes go before them, where `absorb` finds the
// transposes. It runs after `fold`, which would keep constants in f32. Cost in IR size: three operations per
// product.
#include <unordered_map>

#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/pass/pass.h"

namespace dyn::passes {

namespace {

class Widener {
 public:
  Widener(const Function& function, IrContext& ir) : function_(function), ir_(ir) {
    for (const Parameter& p : function.parameters) types_[p.id] = p.type;
    for (const Op* op : function.ops)
      for (const ValueDef& r : op->results) {
        types_[r.id] = r.type;
        definitions_[r.id] = op;
      }
  }

  const Function* run() {
    for (const Op* op : function_.ops) {
      if (isNarrowProduct(*op)) {
        widen(*op);
        ++widened_;
      } else {
        ops_.push_back(op);
      }
    }
    if (widened_ == 0) return &function_;
    Function result = function_;
    result.ops = std::move(ops_);
    return ir_.own(std::move(result));
  }

  int64_t widened() const { return widened_; }

 private:
  static bool isNarrowProduct(const Op& op) {
    if (op.def != &ops::matmulOp && op.def != &ops::convOp && op.def != &ops::conv_transposeOp) return false;
    const Dtype dtype = op.results[0].type.dtype();
    return dtype == Dtype::f16 || dtype == Dtype::bf16;
  }

  ValueId emit(Op op, Type type) {
    op.results = {{ir_.newValue(), ir_.tensorType(type.dims(), Dtype::f32)}};
    ops_.push_back(ir_.own(std::move(op)));
    return ops_.back()->results[0].id;
  }

  // The value in f32, made once for all that read it.
  ValueId wide(ValueId narrow, const SourcePlace& place) {
    if (narrow == kNoValue) return narrow;
    if (auto it = wide_.find(narrow); it != wide_.end()) return it->second;
    auto definition = definitions_.find(narrow);
    Op made;
    made.place = place;
    if (definition != definitions_.end() && definition->second->def == &ops::transposeOp) {
      made = *definition->second;
      made.operands[0] = cast(made.operands[0], place);
    } else {
      return cast(narrow, place);
    }
    return wide_[narrow] = emit(std::move(made), types_.at(narrow));
  }

  ValueId cast(ValueId narrow, const SourcePlace& place) {
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
    for (ValueId& operand : product.operands) operand = wide(operand, op.place);
    Op rounded;
    rounded.def = &ops::castOp;
    rounded.attributes.set("to", op.results[0].type.dtype());
    rounded.operands = {emit(std::move(product), op.results[0].type)};
    rounded.results = op.results;
    rounded.place = op.place;
    ops_.push_back(ir_.own(std::move(rounded)));
  }

  const Function& function_;
  IrContext& ir_;
  std::unordered_map<ValueId, Type> types_;
  std::unordered_map<ValueId, const Op*> definitions_;
  std::unordered_map<ValueId, ValueId> wide_;  // by the narrow value
  std::vector<const Op*> ops_;
  int64_t widened_ = 0;
};

Result<Module> runWiden(const Module& module, PassContext& context) {
  // A device's generated products widen what they read, and its tensor cores take it as it is.
  if (context.target.device != DeviceKind::cpu) return module;
  int64_t widened = 0;
  DYN_TRY(Module result, rewriteFunctions(module, [&](const Function& function) -> Result<const Function*> {
            Widener widener(function, *module.context);
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
          .summary = "products of f16 and bf16 are computed in f32, and rounded",
          .needs = Property::types,
          .before = Property::destinations,
          .options = {},
          .run = runWiden};
}

}  // namespace dyn::passes
