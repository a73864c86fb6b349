#include "frontends/text/operators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/ir/printer.h"
#include "compiler/ops/op_table.h"

namespace dyn::text {
namespace {

using ::testing::HasSubstr;

Result<OperatorFile> parse(std::string text) {
  ParseOptions options;
  options.findOp = findOp;
  for (const OpDef* op : opTable()) options.opNames.push_back(op->name);
  options.file = "ops.dyn";
  return OperatorFile::parse(std::move(text), options);
}

std::string expanded(const std::string& text, const OperatorAttributes& attributes, size_t index = 0) {
  Result<OperatorFile> file = parse(text);
  if (!file.ok()) return file.error().toString();
  IrContext context;
  Result<OperatorBody> body = file->expand(context, file->definitions()[index], attributes);
  if (!body.ok()) return body.error().toString();
  Module module;
  module.context = &context;
  module.functions.push_back(body->function);
  return print(module);
}

TEST(OperatorFile, ListsWhatItDefines) {
  const Result<OperatorFile> file = parse(R"(
# a comment
operator "a.b::Two"(x, bias?, alpha: float = 0.5, axes: ints) { return x, x * alpha }
fn @twice(x: Tensor[(n), f32]) -> Tensor[(n), f32] { return x * 2.0 }
type Tree { Leaf(Tensor[(), f32]), Node(Tree, Tree) }
operator Plain(x, mode: int == 1) { return relu(x) }
)");
  ASSERT_TRUE(file.ok()) << file.error().toString();
  ASSERT_EQ(file->definitions().size(), 2u);
  const OperatorDefinition& two = file->definitions()[0];
  EXPECT_EQ(two.name, "a.b::Two");
  EXPECT_EQ(two.results, 2u);
  EXPECT_EQ(two.place.line, 3u);
  EXPECT_FALSE(two.inputs[0].optional);
  EXPECT_TRUE(two.inputs[1].optional);
  EXPECT_FALSE(two.attributes[0].required);
  EXPECT_TRUE(two.attributes[1].required);
  EXPECT_TRUE(two.takes({true}));
  EXPECT_TRUE(two.takes({true, false}));
  EXPECT_FALSE(two.takes({false, true}));
  EXPECT_FALSE(two.takes({true, true, true}));
  EXPECT_TRUE(identical(*file->definitions()[1].attributes[0].demanded, AttributeValue(int64_t{1})));
  EXPECT_TRUE(file->defines("Plain"));
  EXPECT_FALSE(file->defines("a.b::Plain"));
  IrContext context;
  const Result<Module> beside = file->functions(context);
  ASSERT_TRUE(beside.ok()) << beside.error().toString();
  EXPECT_EQ(beside->functions.size(), 1u);
  EXPECT_EQ(beside->dataTypes.size(), 1u);
}

// Each kind of attribute, as an operand and as an attribute; given values take the place of defaults.
TEST(OperatorFile, AttributesAreConstantsOfTheBody) {
  const std::string text =
      "operator K(x, i: int = 3, f: float = 0.5, s: string = \"constant\", l: ints = [1, 2],\n"
      "  g: floats = [0.5], d: dtype = f16, t: tensor = f32[2] [1, 2]) {\n"
      "  a = cast(x * f + t, to = d)\n"
      "  b = softmax(pad(a, l, mode = s), axis = i)\n"
      "  return b[i:], transpose(b, perm = l), g\n"
      "}\n";
  const std::string plain = expanded(text, {});
  EXPECT_THAT(plain, HasSubstr("f32[] 0.5"));
  EXPECT_THAT(plain, HasSubstr("f32[2] [1, 2]"));
  EXPECT_THAT(plain, HasSubstr("{to = f16}"));
  EXPECT_THAT(plain, HasSubstr("i64[2] [1, 2]"));
  EXPECT_THAT(plain, HasSubstr("{mode = \"constant\"}"));
  EXPECT_THAT(plain, HasSubstr("{axis = 3}"));
  EXPECT_THAT(plain, HasSubstr("{perm = [1, 2]}"));
  EXPECT_THAT(plain, HasSubstr("f32[1] [0.5]"));
  HostTensor given = HostTensor::scalar(Dtype::f16, 7);
  const std::string other = expanded(text, {{"i", int64_t{-9}},
                                            {"f", -1e-30},
                                            {"s", std::string("edge\"\n")},
                                            {"l", std::vector<int64_t>{}},
                                            {"g", std::vector<double>{-2, 1e20}},
                                            {"d", Dtype::i64},
                                            {"t", given}});
  EXPECT_THAT(other, HasSubstr("f32[] -1e-30"));
  EXPECT_THAT(other, HasSubstr("f16[] 7"));
  EXPECT_THAT(other, HasSubstr("{to = i64}"));
  EXPECT_THAT(other, HasSubstr("i64[0] []"));
  EXPECT_THAT(other, HasSubstr("{mode = \"edge\\\"\\n\"}"));
  EXPECT_THAT(other, HasSubstr("{axis = -9}"));
  EXPECT_THAT(other, HasSubstr("{perm = []}"));
  EXPECT_THAT(other, HasSubstr("f32[2] [-2, 1e+20]"));
}

// -1 as a value is one operand: the power of it is 1, its difference no subtraction of names.
TEST(OperatorFile, AValueIsOneOperand) {
  const std::string text = expanded("operator P(x, i: float = 1.0) { return x - i ** 2 }", {{"i", -1.0}});
  EXPECT_THAT(text, HasSubstr("f32[] -1"));
  EXPECT_THAT(text, HasSubstr("pow("));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("neg(")));
}

TEST(OperatorFile, AParameterOfABodyHidesAnAttribute) {
  const std::string text = expanded(
      "operator L(x, k: int = 4) { y = loop(k, _, x) {carried = 1} body (i, k) { return true, k + k }\n"
      "return y }",
      {});
  EXPECT_THAT(text, HasSubstr("i64[] 4"));
  EXPECT_THAT(text, HasSubstr("add(%k, %k)"));
}

struct Wrong {
  const char* text;
  const char* message;
  uint32_t line, column;
};

TEST(OperatorFile, FaultsAreFoundBeforeAModelUsesThem) {
  const Wrong kWrong[] = {
      {"operator A(x) { return rleu(x) }", "unknown operator 'rleu', did you mean 'relu'?", 1, 24},
      {"operator A(x) {\n  return y }", "unknown value 'y'", 2, 10},
      {"operator A(x: Tensor[(n), f32]) { return x }", "an input of an operator has no type", 1, 15},
      {"operator A(x: flaot) { return x }", "unknown kind of attribute 'flaot', did you mean 'float'?", 1,
       15},
      {"operator A(x: int = 0.5) { return x }", "the attribute 'x' is of kind int, not real", 1, 21},
      {"operator A(x, x) { return x }", "the parameter 'x' is given twice", 1, 15},
      {"operator A(x) { return softmax(x, axis = x) }", "axis", 1, 42},
      {"operator A(x, a: string) { return softmax(x, axis = a) }", "is of kind string, not integer", 1, 53},
      {"operator A(x) { f = fn (v: Tensor[(n), f32]) { v }\n return f(x) }", "a named size in the body", 1,
       36},
      {"operator A(x) { return x", "'}' is expected", 1, 25},
      {"dim n in 1..4", "'operator', 'fn' or 'type' is expected", 1, 1},
      {"fn @f(x: Tensor[(n), f32]) { return rleu(x) }", "unknown operator 'rleu'", 1, 37},
  };
  for (const Wrong& wrong : kWrong) {
    const Result<OperatorFile> file = parse(wrong.text);
    ASSERT_FALSE(file.ok()) << wrong.text;
    EXPECT_THAT(file.error().message, HasSubstr(wrong.message)) << wrong.text;
    EXPECT_EQ(file.error().place.line, wrong.line) << wrong.text;
    EXPECT_EQ(file.error().place.column, wrong.column) << wrong.text;
  }
}

TEST(OperatorFile, AModuleDefinesNone) {
  IrContext context;
  ParseOptions options;
  options.findOp = findOp;
  const Result<Module> module = parseModule(context, "operator A(x) { return x }", options);
  ASSERT_FALSE(module.ok());
  EXPECT_THAT(module.error().message, HasSubstr("--ops FILE"));
}

}  // namespace
}  // namespace dyn::text
