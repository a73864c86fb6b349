// What the rows of operators say of their builtins is what the builtins' own rows say.
#include <gtest/gtest.h>

#include "compiler/ops/op_table.h"
#include "vm/core/builtin.h"

namespace dyn {
namespace {

std::vector<const OpDef*> withBuiltin() {
  std::vector<const OpDef*> rows;
  for (const OpDef* def : opTable())
    if (!def->builtin.empty()) rows.push_back(def);
  return rows;
}

TEST(OpTraits, builtinsAreInTheTable) {
  for (const OpDef* def : withBuiltin())
    EXPECT_NE(vm::findBuiltin(def->builtin.row), nullptr) << def->name << ": " << def->builtin.row;
}

// What lowering hands over is what the row takes: the operands have arguments, and the row's calls are those
// the operator describes.
TEST(OpTraits, operandsAreArgumentsOfTheBuiltin) {
  for (const OpDef* def : withBuiltin()) {
    const vm::BuiltinRow* builtin = vm::findBuiltin(def->builtin.row);
    ASSERT_NE(builtin, nullptr) << def->builtin.row;
    EXPECT_EQ(def->builtin.fields(), builtin->fields()) << def->name;
    const size_t least = def->builtin.handed(static_cast<size_t>(def->minOperands));
    EXPECT_GE(least, builtin->counts.arguments.least) << def->name;
    if (def->traits.epilogue) {
      EXPECT_TRUE(def->builtin.counts.epilogue) << def->name;
      EXPECT_EQ(def->maxOperands, int{def->builtin.counts.namedArguments}) << def->name;
    }
  }
}

// A program without the machine's matrix kernels would run on the portable ones, many times slower, and say
// nothing.
TEST(OpTraits, matrixKernelsAreAskedForWhereTheyRun) {
  for (const OpDef* def : withBuiltin()) {
    const vm::BuiltinRow* builtin = vm::findBuiltin(def->builtin.row);
    ASSERT_NE(builtin, nullptr) << def->builtin.row;
    EXPECT_EQ(def->traits.gemmFamily, builtin->is(vm::BuiltinRow::kGemmFamily)) << def->name;
  }
}

// A strided operand given to a builtin that takes it for dense would be refused when it runs, at best.
TEST(OpTraits, stridedOperandsAreTakenByTheBuiltin) {
  for (const OpDef* def : opTable()) {
    if (def->traits.stridedOperands == 0) continue;
    const vm::BuiltinRow* builtin = vm::findBuiltin(def->builtin.row);
    ASSERT_NE(builtin, nullptr) << def->name << " has no builtin";
    EXPECT_LE(static_cast<uint32_t>(def->traits.stridedOperands), builtin->stridedArguments()) << def->name;
  }
}

TEST(OpTraits, fitTheWayTheOperatorRuns) {
  for (const OpDef* def : opTable()) {
    const OpTraits& traits = def->traits;
    if (traits.updatesFirst || traits.packsWeights || traits.gemmFamily || traits.matrixOperands > 0) {
      EXPECT_FALSE(def->builtin.empty()) << def->name << " has no builtin";
    }
    if (traits.view) {
      EXPECT_GE(def->minOperands, 1) << def->name;
    }
    if (traits.contentsKnown) {
      EXPECT_EQ(def->maxOperands, 0) << def->name;
    }
    if (traits.cost != ElementCost::arithmetic) {
      EXPECT_EQ(def->cls, OpClass::elementwise) << def->name;
    }
    if (traits.flatPositions) {
      EXPECT_TRUE(traits.epilogue) << def->name;
    }
    if (traits.onlyReads) {
      EXPECT_TRUE(def->cls == OpClass::structural || def->cls == OpClass::check ||
                  def->lowering == LoweringKind::structural)
          << def->name << ": loops and builtins keep no reference anyway";
    }
  }
}

}  // namespace
}  // namespace dyn
