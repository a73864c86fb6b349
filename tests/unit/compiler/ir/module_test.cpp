#include "compiler/ir/module.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/unit/compiler/ir/small_ops.h"

namespace dyn {
namespace {

TEST(Types, equalTypesAreTheSameNode) {
  IrContext c;
  const Dim n = c.dims().symbol("n");
  const Type a = c.tensorType({2 * (n + 1), n}, Dtype::f32), b = c.tensorType({n + n + 2, n}, Dtype::f32);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c.tensorType({n, n}, Dtype::f32));
  EXPECT_NE(a, c.tensorType({2 * (n + 1), n}, Dtype::f16));
  EXPECT_EQ(c.tupleType({a, b}), c.tupleType({b, a}));
  EXPECT_NE(c.listType(a), c.optionalType(a));
  EXPECT_NE(c.functionType({a}, {}), c.functionType({}, {a}));
  EXPECT_EQ(c.dataType("Tree"), c.dataType("Tree"));
  EXPECT_NE(c.tensorType({c.dims().any("x")}, Dtype::f32), c.tensorType({c.dims().any("x")}, Dtype::f32));
}

TEST(Types, textOfEachKind) {
  IrContext c;
  const Type t = c.tensorType({c.dims().symbol("n"), c.dims().constant(3)}, Dtype::f32);
  EXPECT_EQ(t.toString(), "Tensor[(n, 3), f32]");
  EXPECT_EQ(c.tensorType(Shape{}, Dtype::boolean).toString(), "Tensor[(), bool]");
  EXPECT_EQ(c.tupleType({t}).toString(), "(Tensor[(n, 3), f32],)");
  EXPECT_EQ(c.functionType({t, c.dataType("Tree")}, {c.listType(c.optionalType(t))}).toString(),
            "fn(Tensor[(n, 3), f32], Tree) -> (List[Optional[Tensor[(n, 3), f32]]])");
  EXPECT_EQ(Type().toString(), "(no type)");
  EXPECT_EQ(symbolsOf(c.tupleType({t, c.listType(t)})), symbolsOf(c.dims().symbol("n")));
}

TEST(Types, deepTypesNeedNoStack) {
  IrContext c;
  Type t = c.tensorType({c.dims().symbol("n")}, Dtype::f32);
  for (int i = 0; i < 100000; ++i) t = c.listType(t);
  EXPECT_EQ(t.toString().size(), 600000u + std::string("Tensor[(n), f32]").size());
  EXPECT_EQ(symbolsOf(t).size(), 1u);
}

TEST(IrContext, valueNamesAreUniqueAndFound) {
  IrContext c;
  const ValueId h = c.newValue("h"), none = c.newValue(), again = c.newValue("h"), third = c.newValue("h");
  EXPECT_EQ(c.valueName(h), "h");
  EXPECT_EQ(c.valueName(none), "1");
  EXPECT_EQ(c.valueName(again), "h_2");
  EXPECT_EQ(c.valueName(third), "h_3");
  EXPECT_EQ(c.findValue("h_3"), third);
  EXPECT_EQ(c.findValue("1"), none);
  EXPECT_EQ(c.findValue("nope"), kNoValue);
  EXPECT_EQ(c.valueName(c.newValue("1")), "1_2") << "the number of an unnamed value is taken";
  const ValueId early = c.newValue("7");
  c.newValue();
  const ValueId seven = c.newValue();
  ASSERT_EQ(seven, 7u);
  EXPECT_EQ(c.valueName(early), "7");
  EXPECT_EQ(c.valueName(seven), "7_");
  EXPECT_EQ(c.findValue("7_"), seven);
  EXPECT_EQ(c.valueName(c.newValue(c.valueName(third))), "h_4") << "a copy of a copy";
  c.setValueName(h, "other");
  EXPECT_EQ(c.valueName(c.newValue("h")), "h");
  std::set<std::string> names;
  for (ValueId id = 0; id < c.valueCount(); ++id)
    EXPECT_TRUE(names.insert(c.valueName(id)).second) << c.valueName(id);
}

TEST(IrContext, functionNamesAreUnique) {
  IrContext c;
  EXPECT_EQ(c.uniqueFunctionName("main.loop"), "main.loop1");
  EXPECT_EQ(c.uniqueFunctionName("main.loop"), "main.loop2");
  Function f;
  f.name = "main.loop3";
  c.own(std::move(f));
  EXPECT_EQ(c.uniqueFunctionName("main.loop"), "main.loop4");
}

TEST(Attributes, compareByBitsAndKeepTheirOrder) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Attributes a{{"b", nan}, {"a", int64_t{1}}}, b{{"a", int64_t{1}}, {"b", nan}};
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.all().begin()->first, "a");
  b.set("a", 1.0);
  EXPECT_FALSE(a == b) << "another kind";
  b.erase("a");
  EXPECT_FALSE(b.has("a"));
  EXPECT_EQ(a.integer("a"), 1);
  EXPECT_EQ(a.integer("b", 5), 5) << "of another kind: the fallback";
  a.set("t", HostTensor::scalar(Dtype::f32, 2));
  b = a;
  EXPECT_EQ(a, b);
  b.set("t", HostTensor::scalar(Dtype::f32, 3));
  EXPECT_FALSE(a == b);
  EXPECT_EQ(a.tensor("t")->realAt(0), 2);
  EXPECT_EQ(a.tensor("a"), nullptr);
}

TEST(Attributes, everyKindHasAName) {
  const AttributeValue values[] = {int64_t{1},
                                   0.5,
                                   std::string("s"),
                                   std::vector<int64_t>{},
                                   std::vector<double>{},
                                   std::vector<std::string>{},
                                   Dtype::f32,
                                   Shape{},
                                   HostTensor(),
                                   Type()};
  std::set<std::string> names;
  for (const AttributeValue& value : values) EXPECT_TRUE(names.insert(toString(kindOf(value))).second);
  EXPECT_EQ(names.size(), std::variant_size_v<AttributeValue>);
  EXPECT_STREQ(toString(AttributeKind::type), "type");
  EXPECT_STREQ(toString(OpClass::check), "check");
}

TEST(Module, findsFunctionsAndTypesByName) {
  IrContext c;
  Module m;
  m.context = &c;
  Function f;
  f.name = "main";
  m.functions.push_back(c.own(std::move(f)));
  EXPECT_EQ(m.main(), m.functions[0]);
  EXPECT_EQ(m.find("other"), nullptr);
  EXPECT_EQ(m.findData("Tree"), nullptr);
}

}  // namespace
}  // namespace dyn
