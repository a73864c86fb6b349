// What the rows of operators say of their builtins is what the builtins' own rows say.
#include <gtest/gtest.h>

#include "compiler/ops/kernel_kind.h"
#include "compiler/ops/op_table.h"
#include "vm/core/builtin/builtin.h"

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
    const size_t least = def->builtin.handed(Op(), static_cast<size_t>(def->minOperands));
    EXPECT_GE(least, builtin->counts.arguments.least) << def->name;
    if (def->traits.epilogue) {
      EXPECT_TRUE(def->builtin.counts.epilogue) << def->name;
      EXPECT_EQ(def->maxOperands, int{def->builtin.counts.namedArguments}) << def->name;
    }
  }
}

// What only makes its results has no other way to run.
TEST(OpTraits, builtinsThatMakeResultsAreTheOnlyWay) {
  for (const OpDef* def : withBuiltin())
    if (def->builtin.makesResults()) {
      EXPECT_EQ(def->lowering, LoweringKind::builtin) << def->name;
    }
}

TEST(OpTraits, targetsWithoutHeapRefuseRowsThatNeedOne) {
  Target target;
  target.hasHeap = false;
  int refused = 0, taken = 0;
  for (const OpDef* def : withBuiltin()) {
    if (def->lowering != LoweringKind::builtin || def->lower || def->builtinTakes) continue;
    Op op;
    op.def = def;
    const auto choice = chooseLowering(op, {}, target);
    EXPECT_EQ(choice.ok(), !def->builtin.traits.needsHeap()) << def->name;
    if (!choice.ok()) {
      EXPECT_NE(choice.error().message.find("heap"), std::string::npos) << choice.error().message;
    }
    ++(choice.ok() ? taken : refused);
  }
  EXPECT_GT(refused, 10);
  EXPECT_GT(taken, 1);
}

TEST(OpTraits, fitTheWayTheOperatorRuns) {
  for (const OpDef* def : opTable()) {
    const OpTraits& traits = def->traits;
    if (traits.updatesFirst || traits.packsWeights || traits.matrixOperands > 0) {
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
