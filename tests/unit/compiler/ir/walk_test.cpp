#include "compiler/ir/walk.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/ir/diff.h"
#include "compiler/ir/op_def.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"
#include "tests/unit/compiler/ir/module_builder.h"

namespace dyn {
namespace {

using testing::Builder;
using testing::findSmallOp;

class WalkTest : public ::testing::Test {
 protected:
  IrContext c;
  Dim n = c.dims().symbol("n");
  Type f32 = c.tensorType({n}, Dtype::f32);
  Type boolean = c.tensorType(Shape{}, Dtype::boolean);

  // main: a = relu(x); y = if(c, a) { b = neg(p); return b } { return q }; z = add(y, a)
  Module sample() {
    Builder then(c, "main.then"), other(c, "main.else"), main(c, "main");
    const ValueId p = then.parameter(f32, "p");
    const Function* t = then.done({then.op("neg", {p}, f32)}, {f32});
    const ValueId q = other.parameter(f32, "q");
    const Function* e = other.done({q}, {f32});
    const ValueId condition = main.parameter(boolean, "c"), x = main.parameter(f32, "x");
    a = main.op("relu", {x}, f32);
    const ValueId y = main.op("if", {condition, a}, f32, {}, {t, e});
    z = main.op("add", {y, a}, f32);
    Builder second(c, "second");
    const ValueId s = second.parameter(f32, "s");
    Module module;
    module.context = &c;
    module.functions = {main.done({z}, {f32}), second.done({s}, {f32})};
    return module;
  }
  ValueId a = kNoValue, z = kNoValue;
};

TEST_F(WalkTest, visitsOuterBeforeInnerEachOnce) {
  const Module m = sample();
  std::string names;
  for (const FunctionVisit& v : functionsOf(m))
    names += v.function->name + ":" + std::to_string(v.depth) + " ";
  EXPECT_EQ(names, "main:0 main.then:1 main.else:1 second:0 ");
  EXPECT_EQ(countOps(m), 4u);
}

TEST_F(WalkTest, usesAndDefinitions) {
  const Module m = sample();
  const Uses uses(m);
  ASSERT_EQ(uses.of(a).size(), 2u);
  EXPECT_EQ(uses.of(a)[0].op->def->name, "if");
  EXPECT_EQ(uses.of(a)[0].index, 1u);
  EXPECT_EQ(uses.definition(a).op->def->name, "relu");
  ASSERT_EQ(uses.of(z).size(), 1u);
  EXPECT_EQ(uses.of(z)[0].op, nullptr) << "the result of main";
  EXPECT_EQ(uses.definition(m.main()->parameters[0].id).function, m.main());
  EXPECT_EQ(uses.definition(kNoValue).function, nullptr);
  EXPECT_TRUE(uses.of(12345).empty());
}

TEST_F(WalkTest, rewritingSharesWhatDidNotChange) {
  const Module before = sample();
  auto keep = rewriteFunctions(before, [](const Function& f) -> Result<const Function*> { return &f; });
  EXPECT_TRUE(*keep == before);
  auto after = rewriteFunctions(before, [&](const Function& f) -> Result<const Function*> {
    if (f.name != "main.then") return &f;
    Function next = f;
    Op op = *f.ops[0];
    op.def = findSmallOp("relu");
    next.ops[0] = c.own(std::move(op));
    return c.own(std::move(next));
  });
  ASSERT_TRUE(after.ok());
  EXPECT_NE(after->functions[0], before.functions[0]);
  EXPECT_EQ(after->functions[1], before.functions[1]);
  EXPECT_EQ(after->main()->ops[0], before.main()->ops[0]);
  EXPECT_EQ(after->main()->ops[1]->regions[1], before.main()->ops[1]->regions[1]);
  EXPECT_TRUE(verify(*after).empty());
  const ModuleDiff diff = diffModules(before, *after);
  EXPECT_TRUE(diff.added.empty() && diff.removed.empty());
  ASSERT_EQ(diff.changed.size(), 2u);
  EXPECT_TRUE(diff.changed[0].regionsChanged);
  EXPECT_FALSE(diff.changed[0].operandsChanged || diff.changed[0].operatorChanged ||
               diff.changed[0].typesChanged);
  EXPECT_TRUE(diff.changed[1].operatorChanged);
  EXPECT_EQ(diff.unchangedCount, 2u);
  EXPECT_EQ(diff.changedFunctions.size(), 2u);
  EXPECT_TRUE(diffModules(before, before).empty());
  auto failed = rewriteFunctions(before, [](const Function&) -> Result<const Function*> {
    return makeError(DiagnosticId::internalError, "stop");
  });
  EXPECT_FALSE(failed.ok());
}

TEST_F(WalkTest, diffOfAddedAndRemoved) {
  const Module before = sample();
  Function next = *before.main();
  const ValueId fresh = c.newValue();
  next.ops[0] = c.own(Op{findSmallOp("neg"), {next.parameters[1].id}, {{fresh, f32}}, {}, {}, {}});
  const Function* main = replaceValues(c, *c.own(std::move(next)), {{a, fresh}});
  Module after = before;
  after.functions[0] = main;
  EXPECT_TRUE(verify(after).empty());
  const ModuleDiff diff = diffModules(before, after);
  ASSERT_EQ(diff.added.size(), 1u);
  EXPECT_EQ(diff.added[0]->def->name, "neg");
  ASSERT_EQ(diff.removed.size(), 1u);
  EXPECT_EQ(diff.removed[0], before.main()->ops[0]);
  EXPECT_EQ(diff.changed.size(), 2u);
  EXPECT_TRUE(diff.changed[1].operandsChanged);
}

TEST_F(WalkTest, replacingFollowsChainsAndEndsInCycles) {
  const Module m = sample();
  EXPECT_EQ(replaceValues(c, *m.main(), {{99999, 1}}), m.main());
  const ValueId x = m.main()->parameters[1].id;
  const Function* f = replaceValues(c, *m.main(), {{a, 7777}, {7777, x}});
  EXPECT_EQ(f->ops[2]->operands[1], x);
  EXPECT_NE(replaceValues(c, *m.main(), {{a, x}, {x, a}}), nullptr);
}

TEST_F(WalkTest, substitutesDimsInTypesAndAttributes) {
  Module m = sample();
  Function main = *m.main();
  main.ops.push_back(c.own(Op{findSmallOp("everything"),
                              {},
                              {{c.newValue(), c.listType(f32)}},
                              {{"dims", Shape{2 * n + 1}}, {"ty", f32}},
                              {},
                              {}}));
  m.functions[0] = c.own(std::move(main));
  m.dataTypes.push_back(std::make_shared<DataType>(DataType{"D", {{"K", {f32}}}}));
  const Module five =
      substituteDims(m, [&](SymbolId id) { return id == n.symbol() ? c.dims().constant(5) : Dim(); });
  EXPECT_EQ(print(five).find("(n)"), std::string::npos) << print(five);
  EXPECT_NE(print(five).find("dims(11)"), std::string::npos);
  EXPECT_NE(print(five).find("K(Tensor[(5), f32])"), std::string::npos);
  EXPECT_TRUE(verify(five).empty());
  EXPECT_TRUE(substituteDims(m, [](SymbolId) { return Dim(); }) == m);
}

TEST_F(WalkTest, deepNestingNeedsNoStack) {
  const Module m = testing::nestedIfs(c, 10000);
  EXPECT_EQ(countOps(m), 10000u);
  EXPECT_EQ(functionsOf(m).size(), 20001u);
  EXPECT_NE(print(m).find("} else (%"), std::string::npos);
  const Function* copy = cloneWithNewIds(c, *m.main(), "copy");
  EXPECT_EQ(functionsOf(*copy).size(), 20001u);
  auto same = rewriteFunctions(m, [](const Function& f) -> Result<const Function*> { return &f; });
  EXPECT_TRUE(*same == m);
  EXPECT_EQ(Uses(m).of(m.main()->parameters[0].id).size(), 2u);
}

TEST_F(WalkTest, hundredThousandOperations) {
  Builder b(c, "main");
  ValueId v = b.parameter(f32);
  for (int i = 0; i < 100000; ++i) v = b.op("relu", {v}, f32);
  Module m;
  m.context = &c;
  m.functions = {b.done({v}, {f32})};
  EXPECT_TRUE(verify(m).empty());
  EXPECT_EQ(countOps(m), 100000u);
  const std::string text = print(m);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 100003);
  EXPECT_EQ(diffModules(m, substituteDims(m, [&](SymbolId) { return c.dims().constant(2); })).changed.size(),
            100000u);
}

}  // namespace
}  // namespace dyn
