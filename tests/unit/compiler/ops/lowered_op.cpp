#include "tests/unit/compiler/ops/lowered_op.h"

#include <algorithm>

#include "compiler/ir/printer.h"
#include "compiler/loop/builder/lower_context.h"
#include "compiler/loop/interpreter/kernel_interpreter.h"

namespace dyn::test {

using loop::Expr;

namespace {

// Every operand lies in memory; constants are known, as after folding.
class SingleOpContext : public loop::LowerContext {
 public:
  SingleOpContext(const Op& op, const std::vector<std::optional<Contents>>& known, DimSolver& solver,
                  const std::vector<Type>& types)
      : op_(op),
        known_(known),
        solver_(solver),
        types_(types),
        loops_(std::make_shared<loop::LoopContext>(solver.context())) {
    for (size_t i = 0; i < types.size(); ++i) {
      buffers.push_back(types[i] ? buffer("x" + std::to_string(i), types[i], loop::BufferRole::input)
                                 : nullptr);
    }
    output = buffer("y", op.results[0].type, loop::BufferRole::output);
  }

  const Op& op() const override { return op_; }
  loop::LoopContext& loops() override { return *loops_; }
  const DimSolver& solver() const override { return solver_; }
  Type operandType(int i) const override { return types_[static_cast<size_t>(i)]; }
  Result<Expr> read(int i, std::span<const Expr> index) override {
    return loops_->load(buffers[static_cast<size_t>(i)], {index.begin(), index.end()});
  }
  Result<Expr> contents(int i, int64_t k) override {
    const std::optional<Contents>& known = known_[static_cast<size_t>(i)];
    if (known && (*known)[static_cast<size_t>(k)]) return dim((*known)[static_cast<size_t>(k)]);
    const Expr at = integer(k);
    const bool isScalar = operandType(i).rank() == 0;
    DYN_TRY(Expr value, read(i, isScalar ? std::span<const Expr>() : std::span<const Expr>(&at, 1)));
    return loops_->cast(value, Dtype::i64);
  }
  Expr checked(Expr condition, Expr value, const loop::Check& check) override {
    checks.push_back(loop::check(condition, check.code));
    return value;
  }
  std::shared_ptr<loop::LoopContext> shared() const { return loops_; }

  std::vector<const loop::Buffer*> buffers;
  const loop::Buffer* output = nullptr;
  std::vector<loop::StmtRef> checks;

 private:
  const loop::Buffer* buffer(const std::string& name, Type type, loop::BufferRole role) {
    std::vector<Expr> shape;
    for (Dim d : type.dims()) shape.push_back(dim(d));
    return loops_->buffer(name, type.dtype(), std::move(shape), role);
  }

  const Op& op_;
  const std::vector<std::optional<Contents>>& known_;
  DimSolver& solver_;
  const std::vector<Type>& types_;
  std::shared_ptr<loop::LoopContext> loops_;
};

struct LoweredRun {
  int32_t fault = 0;
  HostTensor result;
};

Result<LoweredRun> runLoweredCase(const OpCase& test, DimStyle style,
                                  const std::vector<int64_t>& resultShape) {
  IrContext ir;
  DYN_TRY(InferredModule inferred, inferTypes(moduleOf(ir, test, style)));
  const Op& op = *inferred.module.main()->ops.back();
  std::vector<Type> types(test.operands.size());
  std::vector<std::optional<Contents>> known(test.operands.size());
  std::map<SymbolId, int64_t> values;
  const auto bind = [&](Type type, const std::vector<int64_t>& shape) {
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (type.dims()[axis].isSymbol()) values[type.dims()[axis].symbol()] = shape[axis];
    }
  };
  const auto typeOf = [&](ValueId id) {
    for (const Parameter& parameter : inferred.module.main()->parameters)
      if (parameter.id == id) return parameter.type;
    for (const Op* other : inferred.module.main()->ops)
      for (const ValueDef& result : other->results)
        if (result.id == id) return result.type;
    return Type();
  };
  for (size_t i = 0; i < op.operands.size(); ++i) {
    if (op.operands[i] == kNoValue) continue;
    types[i] = typeOf(op.operands[i]);
    bind(types[i], test.operands[i]->shape());
    const auto found = inferred.contents.find(op.operands[i]);
    if (found == inferred.contents.end()) continue;
    known[i] = found->second;
    for (size_t k = 0; k < known[i]->size(); ++k) {
      const Dim d = (*known[i])[k];
      if (d && d.isSymbol()) values[d.symbol()] = test.operands[i]->intAt(static_cast<int64_t>(k));
    }
  }
  bind(op.results[0].type, resultShape);

  SingleOpContext context(op, known, ir.facts(), types);
  loop::Kernel kernel;
  kernel.name = test.op;
  kernel.context = context.shared();
  std::vector<Expr> index;
  for (int axis = 0; axis < op.results[0].type.rank(); ++axis) {
    index.push_back(context.loops().variable("i"));
    context.loops().bound(index.back(), context.output->shape[static_cast<size_t>(axis)]);
  }
  DYN_TRY(Expr element, op.def->lower(context, 0, index));
  std::vector<loop::StmtRef> inner = context.checks;
  inner.push_back(loop::store(context.output, index, element));
  loop::StmtRef body = loop::block(std::move(inner));
  for (size_t axis = index.size(); axis-- > 0;)
    body = loop::loopOver(index[axis], context.output->shape[axis], loop::LoopKind::serial, body);
  kernel.body = body;
  kernel.unit = context.loops().variable("unit");
  kernel.unitCount = context.integer(1);
  std::vector<void*> pointers;
  for (size_t i = 0; i < context.buffers.size(); ++i) {
    if (!context.buffers[i]) continue;
    kernel.buffers.push_back(context.buffers[i]);
    pointers.push_back(const_cast<std::byte*>(test.operands[i]->data()));
  }
  kernel.buffers.push_back(context.output);
  std::vector<int64_t> scalars;
  for (const auto& [symbol, value] : values) {
    kernel.scalars.push_back(ir.dims().symbolById(symbol));
    scalars.push_back(value);
  }
  LoweredRun run;
  DYN_TRY(run.result, HostTensor::create(op.results[0].type.dtype(), resultShape));
  pointers.push_back(run.result.mutableData());
  Result<loop::KernelInterpreter> program = loop::KernelInterpreter::compile(kernel);
  if (!program.ok()) return program.takeError().note(loop::print(kernel));
  Result<int32_t> fault = program->run(pointers, scalars, 0, 1);
  if (!fault.ok()) return fault.takeError().note(loop::print(kernel));
  run.fault = *fault;
  return run;
}

}  // namespace

std::vector<Value> checkLowered(const OpCase& test) {
  std::vector<Value> expected = checkOp(test);
  if (expected.empty()) return expected;
  const HostTensor& reference = expected[0].tensor();
  for (DimStyle style : {DimStyle::fixed, DimStyle::symbolic}) {
    if (style == DimStyle::symbolic && !test.dynamic) continue;
    SCOPED_TRACE("kernel of " + test.op + (style == DimStyle::fixed ? ", static dims" : ", symbolic dims"));
    Result<LoweredRun> run = runLoweredCase(test, style, reference.shape());
    if (!run.ok()) {
      ADD_FAILURE() << run.error().toString()
                    << (run.error().notes.empty() ? "" : "\n" + run.error().notes.back());
      continue;
    }
    EXPECT_EQ(run->fault, 0);
    EXPECT_TRUE(run->result.identical(reference))
        << "kernel: " << toString(run->result) << "\nreference: " << toString(reference);
  }
  return expected;
}

int32_t loweredFault(const OpCase& test) {
  std::vector<int64_t> shape;
  IrContext ir;
  Result<InferredModule> inferred = inferTypes(moduleOf(ir, test, DimStyle::fixed));
  if (inferred.ok()) {
    for (Dim d : inferred->module.main()->ops.back()->results[0].type.dims())
      shape.push_back(d.constant().value_or(0));
  }
  Result<LoweredRun> run = runLoweredCase(test, DimStyle::fixed, shape);
  if (run.ok()) return run->fault;
  ADD_FAILURE() << run.error().toString();
  return -1;
}

}  // namespace dyn::test
