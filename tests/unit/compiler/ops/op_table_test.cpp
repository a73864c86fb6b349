// Walks the table of operators: every row is complete, and its example is a program that runs.
#include <set>

#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"
#include "compiler/ir/walk.h"
#include "compiler/reference/sequence_values.h"
#include "tests/support/example_kernel.h"
#include "tests/support/text_module.h"
#include "tests/unit/compiler/ops/op_test.h"

namespace dyn::test {
namespace {

TEST(OpTable, RowsAreComplete) {
  std::set<std::string_view> names;
  for (const OpDef* row : opTable()) {
    SCOPED_TRACE(std::string(row->name));
    EXPECT_TRUE(names.insert(row->name).second) << "the name stands twice";
    EXPECT_EQ(findOp(row->name), row);
    EXPECT_FALSE(row->summary.empty());
    EXPECT_FALSE(row->doc.empty());
    EXPECT_FALSE(row->example.empty());
    EXPECT_TRUE(row->infer != nullptr);
    EXPECT_TRUE(row->maxOperands == -1 || row->maxOperands >= row->minOperands);
    EXPECT_TRUE(row->evaluate != nullptr || row->lowering == LoweringKind::structural || isSequenceOp(row) ||
                row == &ops::node_tablesOp)
        << "no reference evaluation";
    for (const AttributeSpec& attribute : row->attributes) {
      EXPECT_FALSE(attribute.doc.empty()) << "attribute " << attribute.name;
    }
    switch (row->lowering) {
      case LoweringKind::loops:
        EXPECT_TRUE(row->lower != nullptr);
        break;
      case LoweringKind::builtin:
        EXPECT_FALSE(row->builtin.empty());
        break;
      case LoweringKind::notSupported:
        EXPECT_FALSE(row->lowerNote.empty()) << "the reason is missing";
        break;
      case LoweringKind::structural:
        break;
    }
  }
  EXPECT_EQ(findOp("no_such_operator"), nullptr);
}

// Inputs for a function: every symbol is 4 (a square fits where dims must agree), numbers small and positive.
std::vector<Value> inputsFor(const Function& function) {
  std::vector<Value> inputs;
  for (const Parameter& parameter : function.parameters) {
    if (!parameter.type.isTensor()) return {};
    DimBinding binding;
    std::vector<int64_t> shape;
    for (SymbolId symbol : symbolsOf(parameter.type)) binding.set(symbol, 4);
    for (Dim d : parameter.type.dims()) shape.push_back(*evaluate(d, binding));
    const Dtype dtype = parameter.type.dtype();
    if (dtype == Dtype::string) {
      int64_t count = 1;
      for (int64_t size : shape) count *= size;
      inputs.emplace_back(
          HostTensor::strings(shape, std::vector<std::string>(static_cast<size_t>(count), "a")));
    } else {
      inputs.emplace_back(isReal(dtype) ? real(shape, dtype, 1, 0.25, 1) : integers(shape, 1, 1, dtype));
    }
  }
  return inputs;
}

// What a row says of ranks without inference is what inference finds.
TEST(OpTable, WhatKeepsTheRankDoes) {
  for (const OpDef* row : opTable()) {
    if (!row->traits.keepsRank) continue;
    SCOPED_TRACE(std::string(row->name));
    IrContext ir;
    Result<Module> module = parseText(ir, row->example);
    ASSERT_TRUE(module.ok());
    Result<InferredModule> inferred = inferTypes(*module);
    ASSERT_TRUE(inferred.ok());
    const Uses uses(inferred->module);
    forEachOp(inferred->module, [&](const Function&, const Op& op) {
      if (op.def == row) {
        EXPECT_EQ(op.results[0].type.rank(), uses.definition(op.operands[0]).type.rank());
      }
    });
  }
}

TEST(OpTable, ExamplesParseTypeCheckAndRun) {
  ASSERT_TRUE(kHasExampleKernel);
  for (const OpDef* row : opTable()) {
    SCOPED_TRACE(std::string(row->name) + ": " + std::string(row->example));
    IrContext ir;
    Result<Module> module = parseText(ir, row->example);
    if (!module.ok()) {
      ADD_FAILURE() << module.error().toString();
      continue;
    }
    Result<InferredModule> inferred = inferTypes(*module);
    if (!inferred.ok()) {
      ADD_FAILURE() << inferred.error().toString();
      continue;
    }
    const std::string text = print(inferred->module);
    Status valid = verified(inferred->module);
    EXPECT_TRUE(valid.ok()) << valid.error().toString() << "\n" << text;
    EXPECT_NE(text.find(" " + std::string(row->name) + "("), std::string::npos)
        << "it shows another operator\n"
        << text;
    InterpreterOptions run;
    run.shapes = ShapeAssertion::on;
    Result<std::vector<Value>> results =
        interpret(inferred->module, inputsFor(*inferred->module.main()), run);
    EXPECT_TRUE(results.ok()) << results.error().toString() << "\n" << text;
  }
}

}  // namespace
}  // namespace dyn::test
