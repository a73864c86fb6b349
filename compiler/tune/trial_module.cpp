#include "compiler/tune/trial_module.h"

#include "compiler/ops/op_table.h"
#include "compiler/reference/random_tensor.h"

namespace dyn {

Result<Module> trialModule(IrContext& ir, const ContractionSite& site, uint64_t seed) {
  const passes::Contraction& c = site.contraction;
  const bool product = c.kind == passes::ContractionKind::product;
  std::vector<int64_t> weights;
  Shape x;
  if (product) {
    weights = {c.depth, c.columns};
    x = {ir.dims().symbol("rows"), ir.dims().constant(c.depth)};
  } else {
    for (Dim d : site.op->attributes.dims("weights")) weights.push_back(*d.constant());
    x = {ir.dims().symbol("batch"), ir.dims().constant(c.window.channels * c.window.groups)};
    for (int64_t i = 0; i < c.window.rank; ++i) x.push_back(ir.dims().symbol("s" + std::to_string(i)));
  }
  DYN_TRY(HostTensor contents, randomTensor(Dtype::f32, weights, RandomSource(seed, "weights"), 1));
  Op constant;
  constant.def = &ops::constantOp;
  constant.attributes.set("value", std::move(contents));
  constant.results = {{ir.newValue("w"), ir.tensorType(std::span<const int64_t>(weights), Dtype::f32)}};
  Function main;
  main.name = "main";
  main.parameters = {{ir.newValue("x"), ir.tensorType(x, Dtype::f32)}};
  Op op;
  op.def = product ? &ops::matmulOp : &ops::convOp;
  if (!product) op.attributes = site.op->attributes;
  for (const char* name : {"weights", "way"}) op.attributes.erase(name);
  op.operands = {main.parameters[0].id, constant.results[0].id};
  op.results = {{ir.newValue("y"), Type()}};
  Op after;
  after.def = &ops::reluOp;
  after.operands = {op.results[0].id};
  after.results = {{ir.newValue("z"), Type()}};
  main.results = {after.results[0].id};
  main.resultTypes = {Type()};
  main.ops = {ir.own(std::move(constant)), ir.own(std::move(op)), ir.own(std::move(after))};
  Module module;
  module.context = &ir;
  module.functions = {ir.own(std::move(main))};
  return module;
}

}  // namespace dyn
