// What the importer says of element types, ranks and lists without inference, against inference: over the
// examples of all operators.
#include <gtest/gtest.h>

#include "compiler/infer/infer.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "frontends/onnx/emit/result_dtypes.h"
#include "frontends/onnx/emit/result_ranks.h"
#include "tests/support/text_module.h"

namespace dyn::onnx {
namespace {

// As the importer would know the operands: their types where they are tensors.
void learnOperands(const Op& op, const Uses& uses, ValueTable& values) {
  for (const ValueId id : op.operands) {
    if (id == kNoValue) continue;
    const Type type = uses.definition(id).type;
    values.at(id).isList = type.kind() == TypeKind::list;
    if (!type.isTensor()) continue;
    values.at(id).dtype = type.dtype();
    values.at(id).rank = type.rank();
    const bool isVector = type.rank() == 1 && type.dims()[0].constant();
    values.at(id).vectorLength = isVector ? static_cast<int>(*type.dims()[0].constant()) : -1;
  }
}

TEST(SimpleRules, SayWhatInferenceFinds) {
  size_t dtypes = 0, ranks = 0, lists = 0;
  for (const OpDef* row : opTable()) {
    SCOPED_TRACE(std::string(row->name) + ": " + std::string(row->example));
    IrContext ir;
    Result<Module> module = test::parseText(ir, row->example);
    ASSERT_TRUE(module.ok());
    Result<InferredModule> inferred = inferTypes(*module);
    ASSERT_TRUE(inferred.ok());
    const Uses uses(inferred->module);
    forEachOp(inferred->module, [&](const Function&, const Op& op) {
      if (op.def != row) return;
      ValueTable values;
      learnOperands(op, uses, values);
      for (size_t i = 0; i < op.results.size(); ++i) {
        const Type type = op.results[i].type;
        if (type.kind() == TypeKind::list && op.regions.empty()) {
          EXPECT_TRUE(resultIsList(op, values)) << "result " << i;
          ++lists;
        }
        if (!type.isTensor()) continue;
        EXPECT_FALSE(resultIsList(op, values)) << "result " << i;
        if (const std::optional<Dtype> dtype = resultDtype(op, i, values)) {
          EXPECT_EQ(toString(*dtype), toString(type.dtype())) << "result " << i;
          ++dtypes;
        }
        if (const int rank = resultRank(op, i, values); rank >= 0) {
          EXPECT_EQ(rank, type.rank()) << "result " << i;
          ++ranks;
        }
      }
    });
  }
  EXPECT_GE(lists, 5U);
  EXPECT_GT(dtypes, opTable().size() / 2);
  EXPECT_GT(ranks, opTable().size() / 3);
}

}  // namespace
}  // namespace dyn::onnx
