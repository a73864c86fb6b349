#include "tests/unit/compiler/ops/op_test.h"

#include <algorithm>
#include <cmath>

#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"
#include "tests/support/text_module.h"

namespace dyn::test {

Module moduleOf(IrContext& ir, const OpCase& test, DimStyle style) {
  Function main;
  main.name = "main";
  Op op;
  op.def = findOp(test.op);
  op.attributes = test.attributes;
  for (size_t i = 0; i < test.operands.size(); ++i) {
    if (!test.operands[i]) {
      op.operands.push_back(kNoValue);
      continue;
    }
    const HostTensor& tensor = *test.operands[i];
    const ValueId id = ir.newValue("x" + std::to_string(i));
    op.operands.push_back(id);
    const bool isConstant =
        std::find(test.constants.begin(), test.constants.end(), static_cast<int>(i)) != test.constants.end();
    if (isConstant) {
      Op constant;
      constant.def = &ops::constantOp;
      constant.attributes.set("value", tensor);
      constant.results.push_back({id, {}});
      main.ops.push_back(ir.own(std::move(constant)));
      continue;
    }
    Shape dims;
    for (size_t axis = 0; axis < tensor.shape().size(); ++axis) {
      // Vectors of sizes keep their length: it decides ranks.
      const bool isSizes = i > 0 && tensor.rank() == 1 && tensor.dtype() == Dtype::i64;
      dims.push_back(style == DimStyle::fixed || isSizes
                         ? ir.dims().constant(tensor.shape()[axis])
                         : ir.dims().symbol("d" + std::to_string(i) + "_" + std::to_string(axis)));
    }
    main.parameters.push_back({id, ir.tensorType(std::move(dims), tensor.dtype())});
  }
  for (int i = 0; i < test.results; ++i) {
    const ValueId id = ir.newValue("y" + std::to_string(i));
    op.results.push_back({id, {}});
    main.results.push_back(id);
    main.resultTypes.emplace_back();
  }
  main.ops.push_back(ir.own(std::move(op)));
  Module module;
  module.context = &ir;
  module.functions.push_back(ir.own(std::move(main)));
  return module;
}

namespace {

std::vector<Value> inputsOf(const OpCase& test) {
  std::vector<Value> inputs;
  for (size_t i = 0; i < test.operands.size(); ++i) {
    const bool isConstant =
        std::find(test.constants.begin(), test.constants.end(), static_cast<int>(i)) != test.constants.end();
    if (test.operands[i] && !isConstant) inputs.emplace_back(*test.operands[i]);
  }
  return inputs;
}

// The kernel built from the operator's definition must compute what the reference did.
void compareLowered(const OpCase& test, const InferredModule& inferred, std::span<const Value> expected) {
  const Op* op = nullptr;
  for (const Op* candidate : inferred.module.main()->ops) {
    if (candidate->def->name == test.op) op = candidate;
  }
  if (!test.lowers || !op || !op->def->lower) return;
  for (const auto& operand : test.operands) {
    if (operand && operand->dtype() == Dtype::string) return;  // strings are not compiled
  }
  for (const Value& result : expected) {
    if (!result.isTensor() || result.tensor().dtype() == Dtype::string) return;
  }
  std::vector<HostTensor> operands;
  for (const auto& operand : test.operands) operands.push_back(operand.value_or(HostTensor()));
  Result<std::vector<HostTensor>> lowered = runLowered(inferred, *op, operands, expected);
  if (!lowered.ok()) {
    ADD_FAILURE() << "lowering: " << lowered.error().toString() << "\n" << print(inferred.module);
    return;
  }
  for (size_t i = 0; i < lowered->size(); ++i) {
    EXPECT_EQ(difference(expected[i].tensor(), (*lowered)[i], test.tolerance), "") << "lowered result " << i;
  }
}

std::string describe(const Value& value) { return value.toString(16); }

}  // namespace

std::vector<Value> checkOp(const OpCase& test) {
  SCOPED_TRACE("operator " + test.op);
  std::vector<Value> expected;
  for (DimStyle style : {DimStyle::fixed, DimStyle::symbolic}) {
    if (style == DimStyle::symbolic && !test.dynamic) continue;
    SCOPED_TRACE(style == DimStyle::fixed ? "static dims" : "symbolic dims");
    IrContext ir;
    Module module = moduleOf(ir, test, style);
    if (!module.main()->ops.back()->def) {
      ADD_FAILURE() << "there is no operator " << test.op;
      return {};
    }
    Result<InferredModule> inferred = inferTypes(module);
    if (!inferred.ok()) {
      ADD_FAILURE() << inferred.error().toString();
      return {};
    }
    Status valid = verified(inferred->module);
    if (!valid.ok()) {
      ADD_FAILURE() << valid.error().toString() << "\n" << print(inferred->module);
      return {};
    }
    Result<InferredModule> again = inferTypes(inferred->module);
    if (!again.ok()) {
      ADD_FAILURE() << "inferring again: " << again.error().toString() << "\n" << print(inferred->module);
      return {};
    }
    EXPECT_EQ(print(inferred->module), print(again->module)) << "inferring again must change nothing";
    InterpreterOptions options;
    options.shapes = ShapeAssertion::on;
    Result<std::vector<Value>> results = interpret(inferred->module, inputsOf(test), options);
    if (!results.ok()) {
      ADD_FAILURE() << results.error().toString() << "\n" << print(inferred->module);
      return {};
    }
    if (style == DimStyle::fixed) expected = *results;
    compareLowered(test, *inferred, *results);
    if (style == DimStyle::fixed) continue;
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(expected[i].identical((*results)[i]))
          << "result " << i << ": " << describe(expected[i]) << " vs " << describe((*results)[i]);
    }
  }
  return expected;
}

Diagnostic inferError(const OpCase& test) {
  IrContext ir;
  Result<InferredModule> inferred = inferTypes(moduleOf(ir, test, DimStyle::fixed));
  if (!inferred.ok()) return inferred.error();
  ADD_FAILURE() << "operator " << test.op << " was accepted:\n" << print(inferred->module);
  return {};
}

Diagnostic runError(const OpCase& test) {
  IrContext ir;
  Result<InferredModule> inferred = inferTypes(moduleOf(ir, test, DimStyle::symbolic));
  if (!inferred.ok()) {
    ADD_FAILURE() << inferred.error().toString();
    return {};
  }
  Result<std::vector<Value>> results = interpret(inferred->module, inputsOf(test));
  if (!results.ok()) return results.error();
  ADD_FAILURE() << "operator " << test.op << " ran";
  return {};
}

HostTensor real(std::vector<int64_t> shape, Dtype dtype, unsigned seed, double low, double high) {
  HostTensor tensor = *HostTensor::create(dtype, std::move(shape));
  std::mt19937 random(seed);
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    tensor.setReal(i, low + (high - low) * static_cast<double>(random() % 4097) / 4096);
  }
  return tensor;
}

HostTensor integers(std::vector<int64_t> shape, int64_t low, int64_t high, Dtype dtype, unsigned seed) {
  HostTensor tensor = *HostTensor::create(dtype, std::move(shape));
  std::mt19937 random(seed);
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    tensor.setInt(i, low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1)));
  }
  return tensor;
}

HostTensor vec(std::initializer_list<int64_t> values, Dtype dtype) {
  return HostTensor::vectorInt(dtype, std::vector<int64_t>(values));
}
HostTensor scalar(int64_t value, Dtype dtype) { return HostTensor::scalarInt(dtype, value); }
HostTensor reals(std::vector<int64_t> shape, std::initializer_list<double> values, Dtype dtype) {
  return HostTensor::vectorReal(dtype, std::vector<double>(values)).reshaped(std::move(shape));
}

std::vector<int64_t> shapeOf(const std::vector<Value>& results, int i) {
  if (static_cast<size_t>(i) >= results.size() || !results[i].isTensor()) return {-1};
  return results[i].tensor().shape();
}

std::vector<double> elements(const std::vector<Value>& results, int i) {
  std::vector<double> values;
  if (static_cast<size_t>(i) >= results.size() || !results[i].isTensor()) return {NAN};
  for (int64_t k = 0; k < results[i].tensor().elementCount(); ++k)
    values.push_back(results[i].tensor().realAt(k));
  return values;
}

std::string Program::text() const {
  PrintOptions options;
  options.facts = PrintOptions::Facts::leaveOut;
  return print(inferred.module, options);
}

Program parse(std::string_view text) {
  Program program;
  program.ir = std::make_unique<IrContext>();
  Result<Module> module = parseText(*program.ir, text);
  if (!module.ok()) {
    ADD_FAILURE() << module.error().toString();
    return program;
  }
  program.source = *module;
  return program;
}

Program inferText(std::string_view text) {
  Program program = parse(text);
  if (!program.source.context) return program;
  Result<InferredModule> inferred = inferTypes(program.source);
  if (!inferred.ok()) {
    ADD_FAILURE() << inferred.error().toString();
    return program;
  }
  program.inferred = *inferred;
  Status valid = verified(program.inferred.module);
  if (!valid.ok()) ADD_FAILURE() << valid.error().toString() << "\n" << program.text();
  Result<InferredModule> again = inferTypes(program.inferred.module);
  if (!again.ok()) {
    ADD_FAILURE() << "inferring again: " << again.error().toString() << "\n" << program.text();
  } else {
    PrintOptions options;
    options.facts = PrintOptions::Facts::leaveOut;
    EXPECT_EQ(program.text(), print(again->module, options)) << "inferring again must change nothing";
  }
  return program;
}

Diagnostic inferTextError(std::string_view text) {
  Program program = parse(text);
  if (!program.source.context) return {};
  Result<InferredModule> inferred = inferTypes(program.source);
  if (!inferred.ok()) return inferred.error();
  ADD_FAILURE() << "the program was accepted:\n" << print(inferred->module);
  return {};
}

int checkCount(const Module& module) {
  int count = 0;
  std::vector<const Function*> bodies = module.functions;
  for (size_t i = 0; i < bodies.size(); ++i) {
    const Function* body = bodies[i];
    for (const Op* op : body->ops) {
      count += op->def == &ops::checkOp ? 1 : 0;
      bodies.insert(bodies.end(), op->regions.begin(), op->regions.end());
    }
  }
  return count;
}

std::vector<Value> run(const Program& program, std::vector<Value> inputs) {
  if (!program.inferred.module.context) return {};
  InterpreterOptions options;
  options.shapes = ShapeAssertion::on;
  Result<std::vector<Value>> results = interpret(program.inferred.module, std::move(inputs), options);
  if (results.ok()) return *results;
  ADD_FAILURE() << results.error().toString() << "\n" << program.text();
  return {};
}

Diagnostic runTextError(const Program& program, std::vector<Value> inputs) {
  if (!program.inferred.module.context) return {};
  InterpreterOptions options;
  options.shapes = ShapeAssertion::on;
  Result<std::vector<Value>> results = interpret(program.inferred.module, std::move(inputs), options);
  if (!results.ok()) return results.error();
  ADD_FAILURE() << "the program ran:\n" << program.text();
  return {};
}

}  // namespace dyn::test
