// A copy in a context of its own prints like the first, and what is done with it leaves nothing there.
#include "compiler/ir/fork.h"

#include <gtest/gtest.h>

#include "compiler/ir/printer.h"
#include "compiler/ir/walk.h"
#include "tests/unit/compiler/ir/module_builder.h"

namespace dyn {
namespace {

using testing::nestedIfs;

// What a context holds: the copy and the original must not differ in it.
struct Held {
  uint32_t symbols, values;
  explicit Held(IrContext& ir) : symbols(ir.dims().symbolCount()), values(ir.valueCount()) {}
  bool operator==(const Held& other) const = default;
};

TEST(IrFork, DimsOfEveryKindPrintTheSame) {
  IrContext first;
  DimContext& c = first.dims();
  const Dim n = c.symbol("n"), m = c.symbol("a b"), any = c.any("NonZero counts values");
  const Dim dims[] = {c.constant(-3),
                      n,
                      n * 2 + m * 3 - 5,
                      n * m * m,
                      floorDiv(n, m),
                      mod(n, m),
                      ceilDiv(n * m, any),
                      min(n, max(m, any)),
                      c.invalid(),
                      any * n + 1,
                      floorDiv(mod(n + 1, m), c.constant(7))};
  IrContext second;
  IrFork fork(first, second);
  for (const Dim dim : dims) {
    const Dim copy = fork.dim(dim);
    EXPECT_EQ(copy.toString(), dim.toString());
    EXPECT_EQ(&copy.context(), &second.dims());
    EXPECT_EQ(fork.dim(dim), copy);
  }
  EXPECT_EQ(Held(second), Held(first));
  for (SymbolId id = 0; id < c.symbolCount(); ++id) {
    EXPECT_EQ(second.dims().symbolName(id), c.symbolName(id));
    EXPECT_EQ(second.dims().symbolReason(id), c.symbolReason(id));
    EXPECT_EQ(second.dims().isAnonymous(id), c.isAnonymous(id));
  }
  // A new one has a number that the first context's have not.
  EXPECT_EQ(second.dims().any("a count").toString(), c.any("a count").toString());
  EXPECT_FALSE(fork.dim(Dim()));
}

// Parts of a long sum may stand in another order.
TEST(IrFork, LongAndDeepDimsHaveTheSameValue) {
  IrContext first;
  DimBinding binding;
  Dim sum = first.dims().constant(1), deep = first.dims().symbol("d");
  for (int i = 0; i < 600; ++i) sum = sum + first.dims().symbol("s" + std::to_string(i)) * (i % 7 + 1);
  for (int i = 0; i < 500; ++i) deep = floorDiv(deep * 2 + 1, first.dims().symbol("q"));
  for (SymbolId id = 0; id < first.dims().symbolCount(); ++id) binding.set(id, 2 + id % 5);
  IrContext second;
  IrFork fork(first, second);
  for (const Dim dim : {sum, deep}) {
    const Result<int64_t> value = evaluate(dim, binding), copied = evaluate(fork.dim(dim), binding);
    ASSERT_TRUE(value.ok() && copied.ok());
    EXPECT_EQ(*copied, *value);
  }
}

TEST(IrFork, ProgramsKeepTheirIdsAndNestAsDeepAsTheyLike) {
  IrContext first;
  const Module module = nestedIfs(first, 3000);
  const Held before(first);
  IrContext second;
  const Module copy = IrFork(first, second).module(module);
  EXPECT_EQ(print(copy), print(module));
  EXPECT_EQ(copy.context, &second);
  EXPECT_EQ(countOps(copy), countOps(module));
  EXPECT_EQ(second.newValue(), first.valueCount());
  EXPECT_NE(second.uniqueFunctionName("level"), "level7");
  EXPECT_EQ(Held(first), before);
}

}  // namespace
}  // namespace dyn
