// Packing of constant matrices.
//   needs: types.  establishes: f32 and 8-bit integer products with a constant right matrix read panels packed once at load.
//   before  %y = matmul(%x, %w) with %w constant [k, n]        after  %p = pack_b(%w)  %y = gemm_packed(%x, %p) {k = dims(k), n = dims(n)}
// A transpose of the constant between them is taken into the packing, so no transposed copy of the weight is made.
// Cost in IR size: one operation per matmul; in memory: the panels (the unpacked weight is then not read any more).
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/shape_rules.h"
#include "compiler/pass/pass.h"

namespace dyn::passes {

namespace {

// A product and what it becomes.
struct Packing {
  const OpDef *product, *pack, *packed;
};
constexpr Packing kPackings[] = {
    {&ops::matmulOp, &ops::pack_bOp, &ops::gemm_packedOp},
    {&ops::matmul_integerOp, &ops::pack_bytesOp, &ops::matmul_integer_packedOp},
};

const Packing* packingOf(const Op& op, const std::unordered_map<ValueId, Type>& types) {
  if (op.attributes.integer("transpose_a", 0) != 0) return nullptr;
  std::vector<Type> operandTypes;
  for (ValueId v : op.operands) operandTypes.push_back(v == kNoValue ? Type() : types.at(v));
  for (const Packing& row : kPackings)
    if (op.def == row.product)
      return !op.def->builtinTakes || op.def->builtinTakes(op, operandTypes) ? &row : nullptr;
  return nullptr;
}

Result<Module> runPrepack(const Module& module, PassContext& context) {
  IrContext& ir = *module.context;
  int64_t packed = 0;
  auto sweep = [&](const Function& function) -> Result<const Function*> {
    std::unordered_map<ValueId, const Op*> definitions;
    std::unordered_map<ValueId, Type> types;
    std::unordered_map<ValueId, ValueId> packs[2];  // constant → packed, as it is and transposed
    for (const Parameter& p : function.parameters) types[p.id] = p.type;
    std::vector<const Op*> ops;
    bool changed = false;
    for (const Op* op : function.ops) {
      for (const ValueDef& r : op->results) {
        definitions[r.id] = op;
        types[r.id] = r.type;
      }
      ops.push_back(op);
      const Packing* packing = packingOf(*op, types);
      if (!packing) continue;
      bool transposed = op->attributes.integer("transpose_b", 0) != 0;
      ValueId weight = op->operands[1];
      auto definition = definitions.find(weight);
      if (definition != definitions.end() && definition->second->def == &ops::transposeOp) {
        const Attributes& attributes = definition->second->attributes;
        if (transposeOrder(attributes, types[weight].rank()) == std::vector<int64_t>{1, 0}) {
          weight = definition->second->operands[0];
          transposed = !transposed;
          definition = definitions.find(weight);
        }
      }
      if (definition == definitions.end() || definition->second->def != &ops::constantOp) continue;
      const Type type = types[weight];
      if (type.rank() != 2 || (op->def == &ops::matmulOp && type.dtype() != Dtype::f32)) continue;
      ops.pop_back();
      ValueId& panel = packs[transposed ? 1 : 0].try_emplace(weight, kNoValue).first->second;
      if (panel == kNoValue) {
        Op pack;
        pack.def = packing->pack;
        pack.operands = {weight};
        pack.attributes.set("transpose", int64_t{transposed ? 1 : 0});
        panel = ir.newValue();
        pack.results = {{panel, ir.tensorType(Shape{ir.dims().any("the panels' layout is the machine's")},
                                              type.dtype())}};
        pack.place = op->place;
        ops.push_back(ir.own(std::move(pack)));
      }
      Op gemm = *op;
      gemm.def = packing->packed;
      gemm.operands[1] = panel;
      gemm.attributes = {{"k", Shape{type.dims()[transposed ? 1 : 0]}},
                         {"n", Shape{type.dims()[transposed ? 0 : 1]}}};
      ops.push_back(ir.own(std::move(gemm)));
      ++packed;
      changed = true;
    }
    if (!changed) return &function;
    Function result = function;
    result.ops = std::move(ops);
    return ir.own(std::move(result));
  };
  DYN_TRY(Module result, rewriteFunctions(module, sweep));
  context.counters["packed_matmuls"] = packed;
  return result;
}

}  // namespace

PassDef prepackPass() {
  return {.name = "prepack",
          .summary = "packs constant right matrices of products once, at load",
          .needs = "types",
          .establishes = "packed constant matrices",
          .options = {},
          .run = runPrepack};
}

}  // namespace dyn::passes
