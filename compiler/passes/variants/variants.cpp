// Variants of the program for some sizes, beside the one for all.
//   requires: types.  provides: nothing that others rely on.
//   before  fn @main(%x: Tensor[(batch, seq), f32]) { ... }
//   after   fn @main(%x: Tensor[(batch, seq), f32]) {
//             variant(%x) {callee = "main.seq_128", lhs = dims(seq), rhs = dims(128), relation = "eq"}
//             ... }
//           fn @main.seq_128(%x: Tensor[(main.seq_128.batch, 128), f32]) { ... }
// A bucket is such a variant with a way to it for fewer rows: copies of the last row are put behind each
// input, and cut off the results.
//           fn @main.up_to_batch_8(%x: Tensor[(batch, seq), f32]) {
//             %more = pad(%x, ...) {mode = "edge"}  %y = call(%more) {callee = "main.batch_8"}  %z = slice(%y, ...)  return %z }
// That is right where rows stay apart (batch_independence.h); where they do not, it is an error that names
// what mixes them. Nothing learnt of a variant holds for the program: its dims are its own. Weights are
// shared, packed ones, too. Cost in IR size: a copy of @main for each.
#include <algorithm>

#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/pass/pass.h"
#include "compiler/passes/analysis/batch_independence.h"
#include "compiler/passes/variants/variant_spec.h"

namespace dyn::passes {

namespace {

constexpr size_t kMostVariants = 64;  // each is a copy of the program

class Variants {
 public:
  Variants(const Module& module, PassContext& context)
      : module_(module), ir_(*module.context), main_(*module.main()), context_(context) {}

  Status add(const FixedSizes& sizes) {
    std::vector<std::pair<SymbolId, int64_t>> fixed;
    for (const auto& [name, size] : sizes) {
      DYN_TRY(SymbolId symbol, inputDim(name, size));
      fixed.emplace_back(symbol, size);
    }
    DYN_TRY(std::string name, fixedCopy(fixed));
    Shape lhs, rhs;
    for (const auto& [symbol, size] : fixed) {
      lhs.push_back(ir_.dims().symbolById(symbol));
      rhs.push_back(ir_.dims().constant(size));
    }
    guard(name, std::move(lhs), std::move(rhs), "eq");
    ++context_.counters["variants"];
    return {};
  }

  Status add(const Buckets& buckets, const InferredModule& inferred) {
    DYN_TRY(SymbolId symbol, inputDim(buckets.dim, buckets.sizes.back()));
    const BatchIndependence apart = batchIndependence(inferred, symbol);
    if (!apart.whyNot.empty())
      return makeError(DiagnosticId::unsupportedFeature,
                       "unsupported: buckets of " + buckets.dim +
                           ": its rows depend on each other: " + apart.whyNot)
          .note("rows of padding would change the results of the others");
    const Dim dim = ir_.dims().symbolById(symbol), one = ir_.dims().constant(1);
    for (int64_t size : buckets.sizes) {
      DYN_TRY(std::string exact, fixedCopy({{symbol, size}}));
      const Dim bucket = ir_.dims().constant(size);
      guard(exact, {dim}, {bucket}, "eq");
      guard(padded(exact, apart, dim, size), {one, dim}, {dim, bucket}, "le");
      ++context_.counters["buckets"];
    }
    return {};
  }

  Result<Module> finish() {
    if (guards_.empty()) return module_;
    Function main = main_;
    main.ops.insert(main.ops.begin(), guards_.begin(), guards_.end());
    Module result = withMain(module_, ir_.own(std::move(main)));
    result.functions.insert(result.functions.end(), made_.begin(), made_.end());
    DYN_TRY(InferredModule inferred, inferTypes(result));
    return inferred.module;
  }

 private:
  // The symbol of that name in the type of an input, which may have that size.
  Result<SymbolId> inputDim(const std::string& name, int64_t size) const {
    std::string known;
    std::vector<SymbolId> seen;
    for (const Parameter& p : main_.parameters)
      for (SymbolId symbol : symbolsOf(p.type)) {
        if (ir_.dims().symbolName(symbol) == name) {
          const Interval range = ir_.facts().interval(ir_.dims().symbolById(symbol));
          if ((range.low && size < *range.low) || (range.high && size > *range.high))
            return makeError(DiagnosticId::usageError,
                             "a variant for " + name + " = " + std::to_string(size) + ": " + name +
                                 " is declared to be from " + std::to_string(range.low.value_or(0)) + " to " +
                                 (range.high ? std::to_string(*range.high) : "any"));
          return symbol;
        }
        if (std::find(seen.begin(), seen.end(), symbol) != seen.end()) continue;
        seen.push_back(symbol);
        known += (known.empty() ? "" : ", ") + ir_.dims().symbolName(symbol);
      }
    return makeError(DiagnosticId::usageError, "a variant for " + name + ": no input has a dim of that name")
        .note(known.empty() ? "all dims of the inputs are fixed" : "dims of the inputs: " + known);
  }

  // The name of a copy of @main for these sizes; made once.
  Result<std::string> fixedCopy(const std::vector<std::pair<SymbolId, int64_t>>& fixed) {
    std::string name = "main";
    for (const auto& [symbol, size] : fixed)
      name += "." + ir_.dims().symbolName(symbol) + "_" + std::to_string(size);
    for (const Function* made : made_)
      if (made->name == name) return name;
    if (made_.size() >= kMostVariants)
      return makeError(DiagnosticId::usageError, "more than " + std::to_string(kMostVariants) +
                                                     " variants: each is a copy of the program");
    Module copy = module_;
    copy.functions = {cloneWithNewIds(ir_, main_, name)};
    copy = substituteDims(copy, [&](SymbolId symbol) {
      for (const auto& [other, size] : fixed)
        if (other == symbol) return ir_.dims().constant(size);
      return Dim();
    });
    made_.push_back(copy.functions[0]);
    return name;
  }

  void guard(const std::string& callee, Shape lhs, Shape rhs, const char* relation) {
    Op op;
    op.def = &ops::variantOp;
    op.place = main_.place;
    for (const Parameter& p : main_.parameters) op.operands.push_back(p.id);
    op.attributes.set("callee", callee);
    op.attributes.set("lhs", std::move(lhs));
    op.attributes.set("rhs", std::move(rhs));
    op.attributes.set("relation", std::string(relation));
    guards_.push_back(ir_.own(std::move(op)));
  }

  // The way to `exact` for 1 <= dim <= size; returns its name.
  std::string padded(const std::string& exact, const BatchIndependence& apart, Dim dim, int64_t size) {
    Function way;
    way.name = "main.up_to" + exact.substr(exact.find('.'));
    way.name[std::string("main.up_to").size()] = '_';
    way.place = main_.place;
    const Dim zero = ir_.dims().constant(0);
    Op call;
    call.def = &ops::callOp;
    call.attributes.set("callee", exact);
    for (size_t i = 0; i < main_.parameters.size(); ++i) {
      const Parameter& p = main_.parameters[i];
      way.parameters.push_back({ir_.newValue(ir_.valueName(p.id)), p.type});
      ValueId argument = way.parameters.back().id;
      if (apart.parameters[i]) {
        Shape pads(2 * static_cast<size_t>(p.type.rank()), zero);
        pads[static_cast<size_t>(p.type.rank() + apart.parameters[i]->axis)] =
            ir_.dims().constant(size) - dim;
        argument =
            append(way, ops::padOp, {argument, sizes(way, std::move(pads))}, {{"mode", std::string("edge")}});
      }
      call.operands.push_back(argument);
    }
    for (size_t i = 0; i < main_.results.size(); ++i) call.results.push_back({ir_.newValue(), Type()});
    way.ops.push_back(ir_.own(call));
    for (size_t i = 0; i < main_.results.size(); ++i) {
      ValueId result = call.results[i].id;
      if (apart.results[i]) {
        const ValueId axes = sizes(way, {ir_.dims().constant(apart.results[i]->axis)});
        const ValueId from = sizes(way, {zero}), to = sizes(way, {apart.results[i]->extent});
        result = append(way, ops::sliceOp, {result, from, to, axes}, {});
      }
      way.results.push_back(result);
      way.resultTypes.push_back(Type());
    }
    made_.push_back(ir_.own(std::move(way)));
    return made_.back()->name;
  }

  ValueId sizes(Function& function, Shape dims) {
    return append(function, ops::dims_valueOp, {}, {{"value", std::move(dims)}});
  }

  ValueId append(Function& function, const OpDef& def, std::vector<ValueId> operands,
                 std::vector<std::pair<std::string, AttributeValue>> attributes) {
    Op op;
    op.def = &def;
    op.place = main_.place;
    op.operands = std::move(operands);
    for (auto& [name, value] : attributes) op.attributes.set(name, std::move(value));
    op.results = {{ir_.newValue(), Type()}};
    const ValueId made = op.results[0].id;
    function.ops.push_back(ir_.own(std::move(op)));
    return made;
  }

  const Module& module_;
  IrContext& ir_;
  const Function& main_;
  PassContext& context_;
  std::vector<const Op*> guards_;
  std::vector<const Function*> made_;
};

std::string option(const PassContext& context, std::string_view name) {
  const auto found = context.options.find(name);
  return found == context.options.end() ? "" : found->second;
}

Result<Module> runVariants(const Module& module, PassContext& context) {
  DYN_TRY(std::vector<FixedSizes> variants, parseVariants(option(context, "sizes")));
  DYN_TRY(std::vector<Buckets> buckets, parseBuckets(option(context, "buckets")));
  if (variants.empty() && buckets.empty()) return module;
  Variants made(module, context);
  for (const FixedSizes& sizes : variants) DYN_CHECK(made.add(sizes));
  if (!buckets.empty()) {
    DYN_TRY(InferredModule inferred, inferTypes(module));
    for (const Buckets& of : buckets) DYN_CHECK(made.add(of, inferred));
  }
  return made.finish();
}

}  // namespace

PassDef variantsPass() {
  return {
      .name = "variants",
      .summary = "adds programs for given sizes, or for up to given numbers of rows, beside the general one",
      .requiredProperties = Property::types,
      .forbiddenProperties = Property::destinations,
      .options = {{"sizes", "\"seq=128;seq=256,batch=1\": a variant for each; default none"},
                  {"buckets", "\"batch=4,8,16\": fewer rows are padded to the next; default none"}},
      .run = runVariants};
}

}  // namespace dyn::passes
