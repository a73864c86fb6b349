#include "compiler/ir/verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/ir/op_def.h"
#include "tests/unit/compiler/ir/module_builder.h"

namespace dyn {
namespace {

using testing::Builder;
using testing::findSmallOp;
using ::testing::HasSubstr;

class VerifierTest : public ::testing::Test {
 protected:
  IrContext c;
  Type f32 = c.tensorType({c.dims().symbol("n")}, Dtype::f32);
  Type boolean = c.tensorType(Shape{}, Dtype::boolean);
  Type i64 = c.tensorType(Shape{}, Dtype::i64);

  // All faults, one a line, of a module of these functions.
  std::string faults(std::vector<const Function*> functions, TypePresence types = TypePresence::required) {
    Module module;
    module.context = &c;
    module.functions = std::move(functions);
    module.dataTypes = dataTypes;
    std::string text;
    for (const Diagnostic& d : verify(module, {.types = types})) text += d.message + "\n";
    return text;
  }
  std::vector<std::shared_ptr<const DataType>> dataTypes;
};

TEST_F(VerifierTest, acceptsAGoodModule) {
  Builder b(c, "main");
  const ValueId x = b.parameter(f32);
  const ValueId y = b.op("relu", {x}, f32);
  EXPECT_EQ(faults({b.done({y}, {f32})}), "");
}

TEST_F(VerifierTest, definitionsAndUses) {
  Builder b(c, "main");
  const ValueId x = b.parameter(f32, "x");
  const ValueId late = c.newValue("late");
  b.op("relu", {late}, f32);
  b.function.ops.push_back(c.own(Op{findSmallOp("relu"), {x}, {{late, f32}}, {}, {}, {}}));
  b.function.ops.push_back(c.own(Op{findSmallOp("relu"), {x}, {{x, f32}}, {}, {}, {}}));
  b.op("relu", {9999}, f32);
  EXPECT_EQ(faults({b.done({kNoValue}, {f32})}),
            "%late is used before it is defined\n%x is defined twice\na used value has an id of another "
            "context\n"
            "result 0 of the function is left out\n");
}

TEST_F(VerifierTest, valuesOfOtherFunctionsAreNotCaptured) {
  Builder outer(c, "main");
  const ValueId condition = outer.parameter(boolean, "c");
  Builder then(c, "then"), other(c, "else");
  const Function* a = then.done({condition}, {boolean});
  const Function* b = other.done({other.op("relu", {condition}, boolean)}, {boolean});
  const ValueId y = outer.op("if", {condition}, boolean, {}, {a, b});
  EXPECT_THAT(faults({outer.done({y}, {boolean})}), HasSubstr("%c belongs to another function"));
}

TEST_F(VerifierTest, countsAgainstTheRow) {
  Builder b(c, "main");
  const ValueId x = b.parameter(f32);
  b.op("add", {x}, f32);
  b.op("split", {x, x, x}, f32);
  b.op("add", {x, kNoValue}, f32);
  b.op("concat", {}, f32);
  b.op("minmax", {x}, f32);
  EXPECT_EQ(faults({b.done({}, {})}),
            "add takes 2 operands, not 1\nsplit takes 1 to 2 operands, not 3\noperand 1 of add cannot be "
            "left out\n"
            "concat takes at least 1 operands, not 0\nminmax gives 2 results, not 1\n");
}

TEST_F(VerifierTest, attributesAgainstTheRow) {
  Builder b(c, "main");
  const ValueId x = b.parameter(f32);
  b.op("softmax", {x}, f32, {{"axis", 1.0}});
  b.op("softmax", {x}, f32, {{"axes", int64_t{1}}});
  b.op("cast", {x}, f32);
  b.op("everything", {x}, f32, {{"t", HostTensor()}, {"ty", Type()}, {"dims", Shape{Dim()}}});
  b.op("everything", {x}, f32, {{"dims", Shape{c.dims().invalid()}}});
  EXPECT_EQ(faults({b.done({}, {})}),
            "attribute 'axis' of softmax is of kind real, not integer\nsoftmax has no attribute 'axes'\n"
            "cast needs the attribute 'to'\na dim is missing\nattribute 't' holds no tensor\nattribute 'ty' "
            "holds no type\n"
            "a dim does not fit in 64 bits, or divides by zero\n");
}

TEST_F(VerifierTest, typesArePresentDeclaredAndOfThisContext) {
  IrContext other;
  Builder b(c, "main");
  const ValueId x = b.parameter(Type());
  b.op("relu", {x}, c.listType(c.dataType("Tree")));
  b.op("relu", {x}, c.tensorType({other.dims().symbol("m")}, Dtype::f32));
  const Function* f = b.done({x}, {f32});
  EXPECT_EQ(faults({f}),
            "%0 has no type\nthe data type Tree is not declared\nthe dim m belongs to another context\n");
  EXPECT_THAT(faults({f}, TypePresence::optional), ::testing::Not(HasSubstr("has no type")));
}

TEST_F(VerifierTest, functionsAndTheirResults) {
  Builder a(c, "f"), b(c, "f"), main(c, "main");
  const ValueId x = main.parameter(f32);
  const Function* fa = a.done({}, {f32});
  const Function* fb = b.done({}, {});
  const Function* fm = main.done({x}, {i64});
  EXPECT_EQ(faults({fa, fb, fm}),
            "@main must be the first function\ntwo functions have the name @f\nthe function returns 0 values "
            "but has 1 result type\n"
            "result 0 of the function is Tensor[(n), f32], not Tensor[(), i64]\n");
  EXPECT_THAT(faults({fa, fa, nullptr}), HasSubstr("is listed twice"));
}

TEST_F(VerifierTest, bodiesOfIf) {
  auto identity = [&](std::string name, Type type, int extra = 0) {
    Builder b(c, std::move(name));
    const ValueId p = b.parameter(type);
    for (int i = 0; i < extra; ++i) b.parameter(type);
    return b.done({p}, {type});
  };
  Builder b(c, "main");
  const ValueId condition = b.parameter(boolean), x = b.parameter(f32);
  const Function* good = identity("good", f32);
  b.op("if", {condition, x}, f32, {}, {good});
  b.op("if", {condition, x}, f32, {}, {good, identity("a", f32, 1)});
  b.op("if", {condition, x}, f32, {}, {identity("b", f32), identity("wrong", i64)});
  b.op("if", {condition, x}, f32, {}, {nullptr, identity("d", f32)});
  b.op("relu", {x}, f32, {}, {identity("e", f32)});
  EXPECT_EQ(
      faults({b.done({}, {})}),
      "the body @good is used twice\na body of the operation is null\nif has 1 bodies, not 2\n"
      "the body @a has 2 parameters, not 1\nparameter 0 of @wrong is Tensor[(n), f32], not Tensor[(), i64]\n"
      "result 0 of @wrong is Tensor[(), i64], not Tensor[(n), f32]\nrelu cannot have bodies\n");
}

TEST_F(VerifierTest, bodiesOfLoop) {
  auto body = [&](std::string name, Type iteration, Type condition, Type scan) {
    Builder b(c, std::move(name));
    b.parameter(iteration);
    const ValueId carried = b.parameter(f32);
    const ValueId again = b.op("cast", {carried}, condition, {{"to", Dtype::boolean}});
    const ValueId item = b.op("relu", {carried}, scan);
    return b.done({again, carried, item}, {condition, f32, scan});
  };
  const Type stacked = c.tensorType({c.dims().any("steps"), c.dims().symbol("n")}, Dtype::f32);
  Builder b(c, "main");
  const ValueId x = b.parameter(f32);
  auto loop = [&](const Function* region, int64_t carried) {
    b.function.ops.push_back(c.own(Op{findSmallOp("loop"),
                                      {kNoValue, kNoValue, x},
                                      {{c.newValue(), f32}, {c.newValue(), stacked}},
                                      {{"carried", carried}},
                                      {region},
                                      {}}));
  };
  loop(body("good", i64, boolean, f32), 1);
  loop(body("iteration", boolean, boolean, f32), 1);
  loop(body("condition", i64, i64, f32), 1);
  loop(body("scan", i64, boolean, stacked), 1);
  loop(body("many", i64, boolean, f32), 7);
  EXPECT_EQ(faults({b.done({}, {})}),
            "the iteration number of @iteration is Tensor[(), bool], not Tensor[(), i64]\n"
            "the condition that @condition returns is Tensor[(), i64], not Tensor[(), bool]\n"
            "scan 0 stacks " +
                stacked.toString() + " into " + stacked.toString() +
                "\n"
                "carried = 7 is more than the loop has operands or results\n");
}

TEST_F(VerifierTest, casesOfMatch) {
  const Type tree = c.dataType("Tree");
  dataTypes.push_back(
      std::make_shared<DataType>(DataType{"Tree", {{"Leaf", {f32}}, {"Node", {tree, tree}}}}));
  int number = 0;
  auto body = [&](std::vector<Type> parameters) {
    Builder b(c, "case" + std::to_string(++number));
    for (Type t : parameters) b.parameter(t);
    return b.done({b.op("everything", {}, f32)}, {f32});
  };
  Builder b(c, "main");
  const ValueId t = b.parameter(tree), x = b.parameter(f32);
  auto match = [&](ValueId value, std::vector<std::string> names, std::vector<const Function*> regions) {
    b.op("match", {value}, f32, {{"constructors", std::move(names)}}, std::move(regions));
  };
  match(t, {"Leaf", "Node"}, {body({f32}), body({tree, tree})});
  match(t, {"Leaf"}, {body({f32})});
  match(t, {"Leaf", "Nod"}, {body({f32}), body({tree, tree})});
  match(t, {"Leaf", "Node"}, {body({i64}), body({tree})});
  match(x, {"Leaf"}, {body({f32})});
  EXPECT_EQ(
      faults({b.done({}, {})}),
      "the match on Tree has no case Node\nTree has no constructor Nod\nthe match on Tree has no case Node\n"
      "parameter 0 of @case6 is Tensor[(n), f32], not Tensor[(), i64]\nthe body @case7 has 1 parameter, not "
      "2\n"
      "match takes a value of a data type, not Tensor[(n), f32]\n");
}

TEST_F(VerifierTest, callees) {
  Builder f(c, "f");
  const ValueId p = f.parameter(f32);
  const Function* callee = f.done({p}, {f32});
  Builder b(c, "main");
  const ValueId x = b.parameter(f32), i = b.parameter(i64);
  b.op("call", {x}, f32, {{"callee", std::string("f")}});
  b.op("call", {x}, f32, {{"callee", std::string("g")}});
  b.op("call", {x, x}, f32, {{"callee", std::string("f")}});
  b.op("call", {i}, f32, {{"callee", std::string("f")}});
  b.op("closure", {x, x}, f32, {{"callee", std::string("f")}});
  EXPECT_EQ(faults({b.done({}, {}), callee}),
            "there is no function @g\nthe body @f has 1 parameter, not 2\n"
            "parameter 0 of @f is Tensor[(), i64], not Tensor[(n), f32]\nthe closure captures more values "
            "than @f has parameters\n");
}

TEST_F(VerifierTest, bodyOfAGroup) {
  Builder body(c, "main.fused1");
  const ValueId p = body.parameter(f32);
  const Function* region = body.done({p}, {f32});
  Builder b(c, "main");
  const ValueId i = b.parameter(i64);
  b.op("fused", {i}, i64, {}, {region});
  EXPECT_EQ(faults({b.done({}, {})}),
            "parameter 0 of @main.fused1 is Tensor[(), i64], not Tensor[(n), f32]\n"
            "result 0 of @main.fused1 is Tensor[(n), f32], not Tensor[(), i64]\n");
}

TEST_F(VerifierTest, firstFaultAsAnErrorNamesOperatorAndPlace) {
  Builder b(c, "main");
  const ValueId x = b.parameter(f32);
  Op op{findSmallOp("add"), {x}, {{c.newValue(), f32}}, {}, {}, {}};
  op.place = SourceLocation{.file = "a.dyn", .line = 4};
  b.function.ops.push_back(c.own(std::move(op)));
  Module module;
  module.context = &c;
  module.functions = {b.done({}, {})};
  const Status status = verified(module);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().op, "add");
  EXPECT_EQ(status.error().place.line, 4u);
  EXPECT_EQ(status.error().notes, std::vector<std::string>{"in function @main"});
}

TEST_F(VerifierTest, deepNestingNeedsNoStack) { EXPECT_TRUE(verify(testing::nestedIfs(c, 10000)).empty()); }

}  // namespace
}  // namespace dyn
