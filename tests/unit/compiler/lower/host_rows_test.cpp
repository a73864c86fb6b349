// Every operator that the host code does itself has one row (compiler/lower/host_lowering.h).
#include <gtest/gtest.h>

#include <map>

#include "compiler/lower/host_lowering.h"
#include "compiler/ops/op_table.h"

namespace dyn {
namespace {

TEST(HostRows, eachStructuralOperatorHasOne) {
  for (const OpDef* op : opTable()) {
    if (op->lowering != LoweringKind::structural) continue;
    if (op->traits.contentsKnown || op == &ops::fusedOp) continue;  // no code of its own; `into` when placed
    EXPECT_NE(hostFunctionOf(*op), nullptr) << op->name;
  }
}

TEST(HostRows, noOperatorHasTwo) {
  std::map<std::string_view, int> rows;
  for (const HostRow& row : hostRows()) ++rows[row.op->name];
  for (const auto& [name, count] : rows) EXPECT_EQ(count, 1) << name;
}

TEST(HostRows, operatorsOfKernelsHaveNone) {
  EXPECT_EQ(hostFunctionOf(ops::addOp), nullptr);
  EXPECT_EQ(hostFunctionOf(ops::topkOp), nullptr);
}

}  // namespace
}  // namespace dyn
