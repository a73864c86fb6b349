#include "tests/unit/ops/lowered_op.h"

#include <algorithm>
#include <cmath>

#include "compiler/ir/printer.h"
#include "compiler/loop/kernel_builder.h"
#include "compiler/loop/kernel_interpreter.h"
#include "compiler/loop/lower_context.h"

namespace dyn::test {

namespace {

using loop::Expr;

// One operation reading its operands from input buffers.
class SingleOpLowering final : public loop::LowerContext {
 public:
  SingleOpLowering(const Op& op, const DimSolver& solver, loop::LoopContext& loops, const OpCase& test,
                   const Function& function)
      : op_(op), solver_(solver), loops_(loops), test_(test) {
    for (size_t i = 0; i < op.operands.size(); ++i) {
      types_.push_back(op.operands[i] == kNoValue ? Type() : typeOf(function, op.operands[i]));
      buffers_.push_back(types_.back() ? loop::declareBuffer(loops, solver, "x" + std::to_string(i),
                                                             types_.back().dtype(), types_.back().dims())
                                       : nullptr);
    }
  }
  const Op& op() const override { return op_; }
  loop::LoopContext& loops() override { return loops_; }
  const DimSolver& solver() const override { return solver_; }
  Type operandType(int i) const override { return types_[static_cast<size_t>(i)]; }
  Result<Expr> read(int i, std::span<const Expr> index) override {
    return loops_.load(buffers_[static_cast<size_t>(i)], {index.begin(), index.end()});
  }
  Result<Expr> contents(int i, int64_t k) override {
    if (std::count(test_.constants.begin(), test_.constants.end(), i))
      return loops_.integer(test_.operands[static_cast<size_t>(i)]->intAt(k));
    const Expr at[] = {loops_.integer(k)};
    DYN_TRY(Expr value, read(i, std::span(at).first(types_[static_cast<size_t>(i)].rank() == 0 ? 0 : 1)));
    return loops_.cast(value, Dtype::i64);
  }
  Expr checked(Expr condition, int32_t fault, Expr value) override {
    return loops_.checked(condition, fault, value);
  }
  const std::vector<const loop::Buffer*>& buffers() const { return buffers_; }

 private:
  static Type typeOf(const Function& function, ValueId id) {
    for (const Parameter& p : function.parameters) {
      if (p.id == id) return p.type;
    }
    for (const Op* op : function.ops) {
      for (const ValueDef& r : op->results) {
        if (r.id == id) return r.type;
      }
    }
    return {};
  }

  const Op& op_;
  const DimSolver& solver_;
  loop::LoopContext& loops_;
  const OpCase& test_;
  std::vector<Type> types_;
  std::vector<const loop::Buffer*> buffers_;
};

// Symbols of the parameters, from the shapes given.
DimBinding bindParameters(const OpCase& test, const Function& main) {
  DimBinding binding;
  size_t next = 0;
  for (size_t i = 0; i < test.operands.size(); ++i) {
    if (!test.operands[i] || std::count(test.constants.begin(), test.constants.end(), static_cast<int>(i)))
      continue;
    const Type type = main.parameters[next++].type;
    for (size_t axis = 0; axis < type.dims().size(); ++axis) {
      if (type.dims()[axis].isSymbol()) binding.set(type.dims()[axis], test.operands[i]->shape()[axis]);
    }
  }
  return binding;
}

bool near(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return true;
  return std::fabs(a - b) <= tolerance * std::max(1.0, std::fabs(a));
}

void compareKernel(const OpCase& test, const Op& op, const Function& main, IrContext& ir, int result,
                   const HostTensor& expected) {
  auto loops = std::make_shared<loop::LoopContext>(ir.dims());
  const DimSolver& solver = ir.facts();
  SingleOpLowering lowering(op, solver, *loops, test, main);
  const Type type = op.results[static_cast<size_t>(result)].type;
  loop::KernelDefinition definition;
  definition.name = test.op;
  definition.context = loops;
  for (const loop::Buffer* buffer : lowering.buffers()) {
    if (buffer) definition.inputs.push_back(buffer);
  }
  definition.iterationSpace = type.dims();
  definition.outputs.push_back({"y", type.dtype(), type.dims(), [&](std::span<const Expr> index) {
                                  return op.def->lower(lowering, result, index);
                                }});
  Result<loop::Kernel> kernel = loop::buildKernel(definition, solver);
  ASSERT_TRUE(kernel.ok()) << kernel.error().toString();
  Result<loop::KernelInterpreter> program = loop::KernelInterpreter::compile(*kernel);
  ASSERT_TRUE(program.ok()) << program.error().toString() << "\n" << loop::print(*kernel);
  const DimBinding binding = bindParameters(test, main);
  std::vector<int64_t> scalars;
  for (Dim d : kernel->scalars) {
    Result<int64_t> value = evaluate(d, binding);
    ASSERT_TRUE(value.ok()) << d.toString() << ": " << value.error().toString();
    scalars.push_back(*value);
  }
  // Every input of the kernel by its name, in the kernel's own order.
  Result<HostTensor> output = HostTensor::create(type.dtype(), expected.shape());
  ASSERT_TRUE(output.ok());
  std::vector<void*> data;
  for (const loop::Buffer* buffer : kernel->buffers) {
    if (buffer->role == loop::BufferRole::output) {
      data.push_back(output->mutableData());
    } else {
      const size_t operand = static_cast<size_t>(std::stoi(buffer->name.substr(1)));
      data.push_back(const_cast<std::byte*>(test.operands[operand]->data()));
    }
  }
  Result<int64_t> units = program->unitCount(scalars, data);
  ASSERT_TRUE(units.ok()) << units.error().toString();
  Result<int32_t> fault = program->run(data, scalars, 0, *units);
  ASSERT_TRUE(fault.ok()) << fault.error().toString() << "\n" << loop::print(*kernel);
  ASSERT_EQ(*fault, 0) << loop::print(*kernel);
  int wrong = 0;
  for (int64_t i = 0; i < expected.elementCount() && wrong < 5; ++i) {
    if (near(expected.realAt(i), output->realAt(i), test.tolerance)) continue;
    ++wrong;
    ADD_FAILURE() << "element " << i << ": reference " << expected.realAt(i) << ", kernel "
                  << output->realAt(i);
  }
  if (wrong > 0) ADD_FAILURE() << loop::print(*kernel);
}

}  // namespace

std::vector<Value> checkLoweredOp(const OpCase& test) {
  std::vector<Value> expected = checkOp(test);
  if (expected.empty()) return expected;
  SCOPED_TRACE("lowered " + test.op);
  for (DimStyle style : {DimStyle::fixed, DimStyle::symbolic}) {
    if (style == DimStyle::symbolic && !test.dynamic) continue;
    SCOPED_TRACE(style == DimStyle::fixed ? "static dims" : "symbolic dims");
    IrContext ir;
    Result<InferredModule> inferred = inferTypes(moduleOf(ir, test, style));
    if (!inferred.ok()) {
      ADD_FAILURE() << inferred.error().toString();
      return {};
    }
    const Function& main = *inferred->module.main();
    const OpDef* def = findOp(test.op);
    for (const Op* op : main.ops) {
      if (op->def != def) continue;
      for (size_t r = 0; r < op->results.size(); ++r)
        compareKernel(test, *op, main, ir, static_cast<int>(r), expected[r].tensor());
    }
  }
  return expected;
}

}  // namespace dyn::test
