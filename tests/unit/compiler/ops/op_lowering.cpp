// Runs one operation through its definition in loop IR.
#include <cmath>

#include "compiler/loop/builder/kernel_builder.h"
#include "compiler/loop/builder/lower_context.h"
#include "compiler/loop/interpreter/kernel_interpreter.h"
#include "compiler/reference/dim_matching.h"
#include "tests/unit/compiler/ops/op_test.h"

namespace dyn::test {
namespace {

using loop::Expr;

class SingleOpLowering final : public loop::LowerContext {
 public:
  SingleOpLowering(const InferredModule& inferred, const Op& op, loop::LoopContext& loops)
      : inferred_(inferred), op_(op), loops_(loops) {
    for (const Parameter& parameter : inferred.module.main()->parameters)
      types_[parameter.id] = parameter.type;
    for (const Op* other : inferred.module.main()->ops) {
      for (const ValueDef& result : other->results) types_[result.id] = result.type;
    }
  }
  const Op& op() const override { return op_; }
  loop::LoopContext& loops() override { return loops_; }
  const DimSolver& solver() const override { return inferred_.module.context->facts(); }
  Type operandType(int i) const override { return types_.at(op_.operands[static_cast<size_t>(i)]); }
  Result<Expr> read(int i, std::span<const Expr> index) override {
    return loops_.load(buffers[static_cast<size_t>(i)], {index.begin(), index.end()});
  }
  Result<Expr> contents(int i, int64_t k) override {
    auto known = inferred_.contents.find(op_.operands[static_cast<size_t>(i)]);
    if (known != inferred_.contents.end() && known->second[static_cast<size_t>(k)]) {
      return loops_.dim(known->second[static_cast<size_t>(k)]);
    }
    std::vector<Expr> index;
    if (operandType(i).rank() == 1) index.push_back(loops_.integer(k));
    return loops_.cast(loops_.load(buffers[static_cast<size_t>(i)], index), Dtype::i64);
  }
  Expr checked(Expr condition, Expr value, const loop::Check& check) override {
    return loops_.checked(condition, check.code, value, check.subject);
  }

  std::vector<const loop::Buffer*> buffers;  // by operand; null where left out

 private:
  const InferredModule& inferred_;
  const Op& op_;
  loop::LoopContext& loops_;
  std::unordered_map<ValueId, Type> types_;
};

// The values of all symbols in this run: off the shapes of operands and results, and from bound elements.
DimScope scopeOf(const InferredModule& inferred, const Op& op, const SingleOpLowering& context,
                 std::span<const HostTensor> operands, std::span<const Value> expected) {
  DimScope scope;
  std::vector<SymbolId> log;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].valid())
      (void)matchValue(context.operandType(static_cast<int>(i)), Value(operands[i]), &scope, &log);
  }
  for (const Op* bind : inferred.module.main()->ops) {
    if (bind->def != &ops::bind_dimsOp) continue;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (op.operands[i] != bind->operands[0]) continue;
      const Shape dims = bind->attributes.dims("dims");
      const std::vector<int64_t> elements = bind->attributes.integers("elements");
      for (size_t k = 0; k < dims.size(); ++k) scope.bind(dims[k].symbol(), operands[i].intAt(elements[k]));
    }
  }
  for (size_t i = 0; i < expected.size(); ++i)
    (void)matchValue(op.results[i].type, expected[i], &scope, &log);
  return scope;
}

Result<HostTensor> runResult(const InferredModule& inferred, const Op& op, int result,
                             std::span<const HostTensor> operands, std::span<const Value> expected) {
  const DimSolver& solver = inferred.module.context->facts();
  loop::KernelDefinition definition;
  definition.name = "test";
  definition.context = std::make_shared<loop::LoopContext>(inferred.module.context->dims());
  SingleOpLowering context(inferred, op, *definition.context);
  std::vector<HostTensor> inputs;
  for (size_t i = 0; i < operands.size(); ++i) {
    const loop::Buffer* buffer = nullptr;
    if (operands[i].valid()) {
      const Type type = context.operandType(static_cast<int>(i));
      buffer = loop::declareBuffer(*definition.context, solver, "x" + std::to_string(i), type.dtype(),
                                   type.dims());
      definition.inputs.push_back(buffer);
      inputs.push_back(operands[i]);
    }
    context.buffers.push_back(buffer);
  }
  const Type type = op.results[static_cast<size_t>(result)].type;
  definition.iterationSpace = type.dims();
  definition.outputs.push_back({"y", type.dtype(), type.dims(), [&](std::span<const Expr> index) {
                                  return op.def->lower(context, result, index);
                                }});
  DYN_TRY(loop::Kernel kernel, loop::buildKernel(definition, solver));
  DYN_TRY(loop::KernelInterpreter program, loop::KernelInterpreter::compile(kernel));
  DYN_TRY(HostTensor output,
          HostTensor::create(type.dtype(), expected[static_cast<size_t>(result)].tensor().shape()));
  const DimScope scope = scopeOf(inferred, op, context, operands, expected);
  std::vector<int64_t> scalars;
  for (Dim d : kernel.scalars) {
    DYN_TRY(int64_t value, scope.value(d));
    scalars.push_back(value);
  }
  std::byte nothing{};
  std::vector<void*> buffers;
  for (HostTensor& input : inputs) {
    buffers.push_back(input.elementCount() ? static_cast<void*>(input.mutableData()) : &nothing);
  }
  buffers.push_back(output.elementCount() ? static_cast<void*>(output.mutableData()) : &nothing);
  DYN_TRY(int64_t units, program.unitCount(scalars));
  // In two pieces: units must be independent.
  for (auto [begin, end] : {std::pair(int64_t{0}, units / 2), std::pair(units / 2, units)}) {
    DYN_TRY(int32_t fault, program.run(buffers, scalars, begin, end));
    if (fault != 0) return makeError(DiagnosticId::runtimeError, "kernel fault " + std::to_string(fault));
  }
  return output;
}

}  // namespace

Result<std::vector<HostTensor>> runLowered(const InferredModule& inferred, const Op& op,
                                           std::span<const HostTensor> operands,
                                           std::span<const Value> expected) {
  std::vector<HostTensor> results;
  for (size_t i = 0; i < op.results.size(); ++i) {
    DYN_TRY(HostTensor result, runResult(inferred, op, static_cast<int>(i), operands, expected));
    results.push_back(std::move(result));
  }
  return results;
}

std::string difference(const HostTensor& expected, const HostTensor& actual, double tolerance) {
  if (expected.dtype() != actual.dtype() || expected.shape() != actual.shape())
    return "another type or shape";
  for (int64_t i = 0; i < expected.elementCount(); ++i) {
    if (!isReal(expected.dtype())) {
      if (expected.intAt(i) == actual.intAt(i)) continue;
      return "element " + std::to_string(i) + ": " + std::to_string(expected.intAt(i)) + " vs " +
             std::to_string(actual.intAt(i));
    }
    const double a = expected.realAt(i), b = actual.realAt(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (std::fabs(a - b) <= tolerance * std::max(1.0, std::fabs(a))) continue;
    return "element " + std::to_string(i) + ": " + std::to_string(a) + " vs " + std::to_string(b);
  }
  return "";
}

}  // namespace dyn::test
