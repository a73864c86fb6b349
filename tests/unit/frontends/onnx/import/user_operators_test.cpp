// Nodes of operators that a text file defines (frontends/text/operators.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/infer/infer.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"
#include "compiler/ops/op_table.h"
#include "compiler/reference/reference_interpreter.h"
#include "frontends/onnx/import/importer.h"
#include "tests/unit/frontends/onnx/node_fields.h"

namespace dyn::onnx::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Msg acme(std::string_view op, std::initializer_list<const char*> in, std::initializer_list<const char*> out) {
  return node(op, in, out).sub(7, "acme").sub(3, "at_" + std::string(op));
}

// x [n, 2] → y, by these nodes.
Msg graphOf(std::initializer_list<Msg> nodes) {
  Msg graph = Msg().sub(2, "g");
  for (const Msg& n : nodes) graph.sub(1, n);
  return graph.sub(11, valueInfo("x", tensorType(1, {"n", "2"}))).sub(12, valueInfo("y", Msg()));
}

ImportOptions definedBy(std::initializer_list<const char*> texts) {
  ImportOptions options;
  for (const char* text : texts) {
    text::ParseOptions parsing;
    parsing.findOp = findOp;
    parsing.file = "ops.dyn";
    Result<text::OperatorFile> file = text::OperatorFile::parse(text, parsing);
    EXPECT_TRUE(file.ok()) << file.error().toString();
    options.operators.push_back(std::make_shared<const text::OperatorFile>(*std::move(file)));
  }
  return options;
}

Result<ImportResult> importGraph(IrContext& ir, const Msg& graph, ImportOptions options,
                                 const Msg& more = {}) {
  Msg bytes = Msg().num(1, 8).sub(8, Msg().num(2, 17)).sub(7, graph);
  bytes.bytes += more.bytes;
  return importModel(ir, MappedFile::fromBytes(bytes.bytes, "test.onnx"), options);
}

std::vector<double> valuesOf(const Msg& graph, ImportOptions options, std::vector<double> x,
                             const Msg& more = {}) {
  IrContext ir;
  Result<ImportResult> imported = importGraph(ir, graph, std::move(options), more);
  EXPECT_TRUE(imported.ok()) << imported.error().toString();
  if (!imported.ok()) return {};
  Result<InferredModule> typed = inferTypes(imported->module);
  EXPECT_TRUE(typed.ok()) << typed.error().toString();
  if (!typed.ok()) return {};
  for (const Diagnostic& fault : verify(typed->module)) ADD_FAILURE() << fault.toString();
  const auto rows = static_cast<int64_t>(x.size() / 2);
  Result<std::vector<Value>> results =
      interpret(typed->module, {Value(HostTensor::vectorReal(Dtype::f32, x).reshaped({rows, 2}))}, {});
  EXPECT_TRUE(results.ok()) << results.error().toString();
  std::vector<double> numbers;
  if (results.ok())
    for (int64_t i = 0; i < (*results)[0].tensor().elementCount(); ++i)
      numbers.push_back((*results)[0].tensor().realAt(i));
  return numbers;
}

const Msg kImports = Msg().sub(8, Msg().sub(1, "acme").num(2, 1));

std::string refusalOf(const Msg& graph, ImportOptions options) {
  IrContext ir;
  const Result<ImportResult> imported = importGraph(ir, graph, std::move(options), kImports);
  return imported.ok() ? "" : imported.error().toString();
}

constexpr const char* kScale = "operator \"acme::Scale\"(x, by: float = 2.0) { return x * by }";

TEST(UserOperators, ANodeTakesTheDefaultOrItsOwnAttribute) {
  EXPECT_THAT(valuesOf(graphOf({acme("Scale", {"x"}, {"y"})}), definedBy({kScale}), {1, 2}),
              ElementsAre(2, 4));
  EXPECT_THAT(valuesOf(graphOf({acme("Scale", {"x"}, {"y"}) + floatAttribute("by", -0.5f)}),
                       definedBy({kScale}), {1, 2}),
              ElementsAre(-0.5, -1));
  EXPECT_THAT(valuesOf(graphOf({acme("Scale", {"x"}, {"y"})}), definedBy({kScale}), {}), ElementsAre());
}

// Whatever the input's element type is.
TEST(UserOperators, LiteralsAndAttributesTakeTheTypeOfTheInput) {
  const char* text = "operator \"acme::F\"(x, by: int = 3) { return where(x * 2 == by, by, x - 1) }";
  for (const int64_t dtype : {1, 6, 7, 10, 11}) {
    Msg graph = Msg().sub(2, "g").sub(1, acme("F", {"x"}, {"y"}));
    graph.sub(11, valueInfo("x", tensorType(dtype, {"n", "2"}))).sub(12, valueInfo("y", Msg()));
    IrContext ir;
    Result<ImportResult> imported = importGraph(ir, graph, definedBy({text}), kImports);
    ASSERT_TRUE(imported.ok()) << imported.error().toString();
    Result<InferredModule> typed = inferTypes(imported->module);
    EXPECT_TRUE(typed.ok()) << dtype << ": " << typed.error().toString();
  }
}

// The definition is looked for by inputs and demanded attributes, file by file, in the order of the text.
TEST(UserOperators, TheFirstDefinitionThatFitsCounts) {
  const char* one =
      "operator \"acme::F\"(x, mode: int == 1) { return x + 1.0 }\n"
      "operator \"acme::F\"(x, y, mode: int) { return x * y }\n";
  const char* two = "operator \"acme::F\"(x, mode: int) { return x - 1.0 }";
  const auto value = [&](std::initializer_list<const char*> in, int64_t mode) {
    return valuesOf(graphOf({acme("F", in, {"y"}) + intAttribute("mode", mode)}), definedBy({one, two}),
                    {3, 4});
  };
  EXPECT_THAT(value({"x"}, 1), ElementsAre(4, 5));
  EXPECT_THAT(value({"x"}, 0), ElementsAre(2, 3));
  EXPECT_THAT(value({"x", "x"}, 1), ElementsAre(9, 16));
  EXPECT_THAT(refusalOf(graphOf({acme("F", {"x", "x", "x"}, {"y"}) + intAttribute("mode", int64_t{1})}),
                        definedBy({one})),
              HasSubstr("not for these 3 inputs and attributes"));
}

// An operator of the standard, and a function of the model, give way.
TEST(UserOperators, ComeBeforeWhatIsKnown) {
  EXPECT_THAT(valuesOf(graphOf({node("Relu", {"x"}, {"y"})}),
                       definedBy({"operator Relu(x) { return x * 10.0 }"}), {-1, 2}),
              ElementsAre(-10, 20));
  const Msg function = Msg().sub(25, Msg()
                                         .sub(1, "Scale")
                                         .sub(4, "a")
                                         .sub(5, "b")
                                         .sub(10, "acme")
                                         .sub(7, node("Neg", {"a"}, {"b"}))
                                         .sub(9, Msg().num(2, 17)));
  EXPECT_THAT(valuesOf(graphOf({acme("Scale", {"x"}, {"y"})}), {}, {1, 2}, kImports + function),
              ElementsAre(-1, -2));
  EXPECT_THAT(
      valuesOf(graphOf({acme("Scale", {"x"}, {"y"})}), definedBy({kScale}), {1, 2}, kImports + function),
      ElementsAre(2, 4));
}

// Control flow, functions, function values and data types of the file; several nodes of one operator.
TEST(UserOperators, BodiesAreWholePrograms) {
  const char* text = R"(
type Pair { Two(Tensor[(?, ?), f32], Tensor[(), f32]) }
fn @half(v: Tensor[(n, m), f32]) -> Tensor[(n, m), f32] { return v / 2.0 }
operator "acme::Grow"(x, times: int = 3) {
  last = loop(times, _, x) {carried = 1} body (i, v) { return true, v + v }
  p = Two(last, 1.0)
  y = match(p) case Two(t, one) { return t + one }
  return @half(y)
}
operator "acme::Map"(x) {
  half = fn (v: Tensor[(?, ?), f32]) { v / 2.0 }
  return concat_from_sequence(map(half, list(x, x)), axis = 0)
}
)";
  EXPECT_THAT(valuesOf(graphOf({acme("Grow", {"x"}, {"a"}), acme("Map", {"a"}, {"b"}),
                                acme("Grow", {"b"}, {"y"}) + intAttribute("times", int64_t{0})}),
                       definedBy({text}), {1, 2}),
              ElementsAre(1.625, 2.625, 1.625, 2.625));
}

// What a node behind it asks of ranks and element types goes through the body.
TEST(UserOperators, NodesBehindKnowRanks) {
  EXPECT_THAT(valuesOf(graphOf({acme("Sum", {"x"}, {"a"}),
                                node("Flatten", {"a"}, {"y"}) + intAttribute("axis", int64_t{-1})}),
                       definedBy({"operator \"acme::Sum\"(x) { return reduce_sum(x, [1], keepdims = 0) }"}),
                       {1, 2, 3, 4}),
              ElementsAre(3, 7));
}

// Values of the body are called by the node, the result as the file has it; errors of a run name both
// places.
TEST(UserOperators, NamesAndPlaces) {
  IrContext ir;
  const Result<ImportResult> imported =
      importGraph(ir, graphOf({acme("F", {"x"}, {"y"})}),
                  definedBy({"operator \"acme::F\"(x) {\n  y = exp(x)\n  return y * y }"}));
  ASSERT_TRUE(imported.ok()) << imported.error().toString();
  const std::vector<const Op*>& ops = imported->module.main()->ops;
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_EQ(ir.valueName(ops[0]->results[0].id), "at_F/y");
  EXPECT_EQ(ir.valueName(ops[1]->results[0].id), "y");
  EXPECT_EQ(ops[0]->place.toString(), "ops.dyn:2:7: node at_F (F)");
}

TEST(UserOperators, Faults) {
  EXPECT_THAT(
      refusalOf(graphOf({acme("Scale", {"x"}, {"y"}) + intAttribute("by", int64_t{3})}), definedBy({kScale})),
      HasSubstr("attribute 'by' is INT where FLOAT is demanded"));
  EXPECT_THAT(
      refusalOf(graphOf({acme("Scale", {"x"}, {"y"}) + floatAttribute("bye", 3.0f)}), definedBy({kScale})),
      HasSubstr("attribute 'bye' is not in the definition of the operator"));
  EXPECT_THAT(refusalOf(graphOf({acme("F", {"x"}, {"y"})}),
                        definedBy({"operator \"acme::F\"(x, a: int) { return x * a }"})),
              HasSubstr("attribute 'a' is missing"));
  EXPECT_THAT(refusalOf(graphOf({acme("Scale", {"x"}, {"y", "z"})}), definedBy({kScale})),
              HasSubstr("has 2 outputs here, and is defined with 1"));
  EXPECT_THAT(refusalOf(graphOf({acme("F", {"x", ""}, {"y"})}),
                        definedBy({"operator \"acme::F\"(x, b?) { return b }"})),
              HasSubstr("returns an input that is left out here"));
  EXPECT_THAT(refusalOf(graphOf({acme("Other", {"x"}, {"y"})}), definedBy({kScale})),
              HasSubstr("--ops FILE"));
}

}  // namespace
}  // namespace dyn::onnx::test
