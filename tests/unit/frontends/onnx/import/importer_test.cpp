#include "frontends/onnx/import/importer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "compiler/infer/infer.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"
#include "compiler/ir/walk.h"
#include "compiler/ops/op_table.h"
#include "compiler/reference/reference_interpreter.h"
#include "frontends/onnx/map/map_table.h"
#include "tests/unit/frontends/onnx/node_fields.h"

namespace dyn::onnx::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Msg opsets(int64_t version) { return Msg().num(2, version); }

std::string modelBytes(const Msg& graph, int64_t opset = 17, const Msg& more = {}) {
  Msg m = Msg().num(1, 8).sub(8, opsets(opset)).sub(7, graph);
  m.bytes += more.bytes;
  return m.bytes;
}

Result<ImportResult> import(IrContext& ir, const std::string& bytes, ImportOptions options = {}) {
  return importModel(ir, MappedFile::fromBytes(bytes, "test.onnx"), options);
}

ImportResult problemsOf(const std::string& bytes) {
  IrContext ir;
  ImportOptions options;
  options.collectProblems = true;
  Result<ImportResult> imported = import(ir, bytes, options);
  EXPECT_TRUE(imported.ok()) << imported.error().toString();
  return imported.ok() ? *imported : ImportResult();
}

HostTensor floats(std::vector<int64_t> shape, std::vector<double> values) {
  return HostTensor::vectorReal(Dtype::f32, values).reshaped(std::move(shape));
}

std::vector<double> numbers(const HostTensor& tensor) {
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.elementCount(); ++i) values.push_back(tensor.realAt(i));
  return values;
}

// Imports, checks the typed module, evaluates; the results.
std::vector<HostTensor> run(const std::string& bytes, std::vector<Value> inputs) {
  IrContext ir;
  Result<ImportResult> imported = import(ir, bytes);
  EXPECT_TRUE(imported.ok()) << (imported.ok() ? "" : imported.error().toString());
  if (!imported.ok()) return {};
  Result<InferredModule> typed = inferTypes(imported->module);
  EXPECT_TRUE(typed.ok()) << (typed.ok() ? "" : typed.error().toString());
  if (!typed.ok()) return {};
  for (const Diagnostic& fault : verify(typed->module)) ADD_FAILURE() << fault.toString();
  InterpreterOptions options;
  options.shapes = ShapeAssertion::on;
  Result<std::vector<Value>> results = interpret(typed->module, std::move(inputs), options);
  EXPECT_TRUE(results.ok()) << (results.ok() ? "" : results.error().toString());
  std::vector<HostTensor> tensors;
  if (results.ok())
    for (const Value& value : *results) tensors.push_back(value.tensor());
  return tensors;
}

Msg input(std::string_view name, std::initializer_list<const char*> dims, int32_t type = 1) {
  return Msg().sub(11, valueInfo(name, tensorType(type, dims)));
}
Msg output(std::string_view name) { return Msg().sub(12, valueInfo(name, Msg())); }
Msg join(std::initializer_list<Msg> parts) {
  Msg all;
  for (const Msg& part : parts) all.bytes += part.bytes;
  return all;
}
Msg nodes(std::initializer_list<Msg> list) {
  Msg all;
  for (const Msg& n : list) all.sub(1, n);
  return all;
}
Msg intsAttribute(std::string_view name, std::initializer_list<int64_t> values) {
  return Msg().sub(5, Msg().sub(1, name).packed(8, values).num(20, 7));
}
Msg textAttribute(std::string_view name, std::string_view value) {
  return Msg().sub(5, Msg().sub(1, name).sub(4, value).num(20, 3));
}
Msg floatTensor(std::string_view name, std::initializer_list<int64_t> dims,
                std::initializer_list<float> values) {
  return Msg().packed(1, dims).num(2, 1).packedFixed<float>(4, values).sub(8, name);
}
TEST(MapTable, RowsAreSortedAndNameOperatorsThatExist) {
  std::pair<std::string_view, std::string_view> before;
  for (const MapRow& row : mapTable()) {
    EXPECT_LT(before, std::pair(row.domain, row.name));
    before = {row.domain, row.name};
    EXPECT_NE(row.target.empty(), row.map == nullptr) << row.name;
    if (!row.target.empty()) {
      EXPECT_NE(findOp(row.target), nullptr) << row.name << " -> " << row.target;
    }
    EXPECT_EQ(findMapRow(row.domain, row.name), &row);
    EXPECT_FALSE(isControlOperator(row.domain, row.name)) << row.name;
  }
  EXPECT_EQ(findMapRow("", "Nothing"), nullptr);
}

TEST(Importer, NamedDimsAreSymbolsOfMain) {
  IrContext ir;
  Result<ImportResult> imported = import(
      ir, modelBytes(join({nodes({node("Add", {"x", "y"}, {"z"})}), input("x", {"batch", "2*batch+1", "a-b"}),
                           input("y", {"batch", "", "3"}), output("z")})));
  ASSERT_TRUE(imported.ok()) << imported.error().toString();
  const Function& main = *imported->module.main();
  ASSERT_EQ(main.parameters.size(), 2u);
  EXPECT_EQ(ir.valueName(main.parameters[0].id), "x");
  const Shape& x = main.parameters[0].type.dims();
  const Dim batch = ir.dims().symbol("batch");
  EXPECT_EQ(x[0], batch);
  EXPECT_EQ(x[1], 2 * batch + 1);
  EXPECT_TRUE(x[2].isSymbol()) << "no dim is called a or b: the text is a name, not " << x[2].toString();
  const Shape& y = main.parameters[1].type.dims();
  EXPECT_TRUE(ir.dims().isAnonymous(y[1].symbol()));
  EXPECT_TRUE(y[2].isConstant(3));
  EXPECT_THAT(imported->inputNames, ElementsAre("x", "y"));
  EXPECT_THAT(imported->outputNames, ElementsAre("z"));
  EXPECT_EQ(imported->opset, 17);
  EXPECT_EQ(imported->opCounts.at("Add"), 1);
}

TEST(Importer, PlacesNameFileNodeOperatorAndOpset) {
  IrContext ir;
  Result<ImportResult> imported =
      import(ir, modelBytes(join({nodes({node("Relu", {"x"}, {"y"}).sub(3, "/first/relu")}),
                                  input("x", {"n"}), output("y")})));
  ASSERT_TRUE(imported.ok());
  const Op& op = *imported->module.main()->ops[0];
  EXPECT_EQ(op.place.file, "test.onnx");
  EXPECT_EQ(op.place.node, "/first/relu (Relu, opset 17)");
  EXPECT_EQ(ir.valueName(op.results[0].id), "y");
}

TEST(Importer, AllProblemsAreReportedAtOnce) {
  const ImportResult result = problemsOf(modelBytes(join(
      {nodes({node("Conf", {"x"}, {"a"}), node("Relu", {"a"}, {"b"}), node("Mystery", {"b"}, {"c"}),
              node("Add", {"x", "nowhere"}, {"d"}), node("Relu", {"x"}, {"e"}), node("Neg", {"x"}, {"e"}),
              node("LeakyRelu", {"x"}, {"f"}).sub(5, Msg().sub(1, "alpha").num(3, 1).num(20, 2)),
              node("Sin", {"x"}, {"g"}).sub(5, Msg().sub(1, "twist").num(3, 1).num(20, 2))}),
       input("x", {"n"}), output("c"), output("d"), output("e"), output("f"), output("g")})));
  std::vector<DiagnosticId> ids;
  for (const Diagnostic& problem : result.problems) ids.push_back(problem.id);
  EXPECT_THAT(ids,
              ElementsAre(DiagnosticId::unsupportedOp, DiagnosticId::unsupportedOp, DiagnosticId::onnxInvalid,
                          DiagnosticId::onnxInvalid, DiagnosticId::badAttribute, DiagnosticId::badAttribute));
  EXPECT_THAT(result.problems[0].toString(), HasSubstr("-> a (Conf, opset 17)"));
  EXPECT_THAT(result.problems[0].toString(), HasSubstr("did you mean Conv?"));
  EXPECT_EQ(result.problems[1].op, "Mystery");
  EXPECT_THAT(result.problems[2].message, HasSubstr("nowhere"));
  EXPECT_THAT(result.problems[3].message, HasSubstr("defined twice"));
  EXPECT_TRUE(result.module.functions.empty());
}

TEST(Importer, FirstProblemIsTheErrorTheOthersAreNotes) {
  IrContext ir;
  const Result<ImportResult> imported =
      import(ir, modelBytes(join({nodes({node("Un", {"x"}, {"a"}), node("Deux", {"x"}, {"b"})}),
                                  input("x", {"n"}), output("a"), output("b")})));
  ASSERT_FALSE(imported.ok());
  EXPECT_EQ(imported.error().id, DiagnosticId::unsupportedOp);
  EXPECT_THAT(imported.error().toString(), HasSubstr("Deux"));
}

TEST(Importer, OpsetsOutOfRangeAndUnknownDomains) {
  const Msg graph = join({nodes({node("Relu", {"x"}, {"y"})}), input("x", {"n"}), output("y")});
  EXPECT_TRUE(problemsOf(modelBytes(graph, 1)).problems.empty());
  EXPECT_TRUE(problemsOf(modelBytes(graph, kNewestOpset)).problems.empty());
  EXPECT_EQ(problemsOf(modelBytes(graph, kNewestOpset + 1)).problems.at(0).id,
            DiagnosticId::unsupportedFeature);
  const Msg foreign =
      join({nodes({node("Relu", {"x"}, {"y"}).sub(7, "other")}), input("x", {"n"}), output("y")});
  EXPECT_EQ(problemsOf(modelBytes(foreign)).problems.at(0).id, DiagnosticId::onnxInvalid);
  EXPECT_EQ(
      problemsOf(modelBytes(foreign, 17, Msg().sub(8, Msg().sub(1, "other").num(2, 1)))).problems.at(0).id,
      DiagnosticId::unsupportedOp);
}

TEST(Importer, NodesMayStandInAnyOrderButNotInACycle) {
  const std::vector<HostTensor> results =
      run(modelBytes(join({nodes({node("Add", {"a", "a"}, {"b"}), node("Neg", {"x"}, {"a"})}),
                           input("x", {"n"}), output("b")})),
          {floats({2}, {1, 2})});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_THAT(numbers(results[0]), ElementsAre(-2, -4));
  const ImportResult cyclic = problemsOf(modelBytes(join(
      {nodes({node("Add", {"x", "b"}, {"a"}), node("Neg", {"a"}, {"b"})}), input("x", {"n"}), output("b")})));
  ASSERT_EQ(cyclic.problems.size(), 1u);
  EXPECT_THAT(cyclic.problems[0].message, HasSubstr("cycle"));
}

// As PyTorch's exporter writes a size: before the convolution, whose window says that it is not 0.
TEST(Importer, SizesAreComputedBehindWhatTellsOfThem) {
  const auto sizeTensor = [](std::string_view name, int64_t value) {
    return Msg().packed(1, {1}).num(2, 7).packed(7, {value}).sub(8, name);
  };
  Msg graph = join(
      {nodes({node("Shape", {"x"}, {"n"}) + intAttribute("start", 2), node("Sub", {"n", "one"}, {"a"}),
              node("Div", {"a", "two"}, {"b"}), node("Add", {"b", "one"}, {"c"}),
              node("Conv", {"x", "w"}, {"p"}) + intsAttribute("pads", {1, 1}) + intsAttribute("strides", {2}),
              node("Reshape", {"p", "c"}, {"y"})}),
       input("x", {"1", "1", "n"}), output("y")});
  graph.sub(5, sizeTensor("one", 1))
      .sub(5, sizeTensor("two", 2))
      .sub(5, floatTensor("w", {1, 1, 3}, {1, 1, 1}));
  IrContext ir;
  Result<ImportResult> imported = import(ir, modelBytes(graph));
  ASSERT_TRUE(imported.ok()) << imported.error().toString();
  Result<InferredModule> typed = inferTypes(imported->module);
  ASSERT_TRUE(typed.ok()) << typed.error().toString();
  EXPECT_THAT(print(typed->module), HasSubstr("%y = reshape(%p, %c) : Tensor[(floordiv(n + 1, 2)), f32]"));
}

TEST(Importer, WeightsAreBorrowedFromTheFile) {
  const std::string raw(64 * 4, '\x01');
  Msg graph = join({nodes({node("Add", {"x", "w"}, {"y"})}), input("x", {"64"}), output("y")});
  graph.sub(5, Msg().packed(1, {64}).num(2, 1).sub(8, "w").sub(9, raw));
  std::string bytes = modelBytes(graph);
  // Documentation in front moves the raw data to an aligned address.
  for (int padding = 0; padding < 4; ++padding) {
    bytes = Msg().sub(6, std::string(static_cast<size_t>(padding), 'd')).bytes + modelBytes(graph);
    if (bytes.find(raw) % 4 == 0) break;
  }
  IrContext ir;
  MappedFile file = MappedFile::fromBytes(bytes, "test.onnx");
  const std::string_view mapped = file.bytes();
  Result<ImportResult> imported = importModel(ir, std::move(file));
  ASSERT_TRUE(imported.ok()) << imported.error().toString();
  const HostTensor& w = *imported->module.main()->ops[0]->attributes.tensor("value");
  const char* data = reinterpret_cast<const char*>(w.data());
  EXPECT_GE(data, mapped.data());
  EXPECT_LT(data, mapped.data() + mapped.size());
}

TEST(Importer, BranchesCaptureWhatTheyUse) {
  const Msg thenGraph = join({nodes({node("Add", {"x", "one"}, {"t"})}), output("t")});
  const Msg elseGraph = join({nodes({node("Mul", {"x", "h"}, {"e"})}), output("e")});
  Msg graph = join({nodes({node("Neg", {"x"}, {"h"}),
                           join({node("If", {"c"}, {"y"}), graphAttribute("then_branch", thenGraph),
                                 graphAttribute("else_branch", elseGraph)})}),
                    input("c", {}, 9), input("x", {"n"}), output("y")});
  graph.sub(5, floatTensor("one", {1}, {1}));
  const std::string bytes = modelBytes(graph);
  const HostTensor yes = HostTensor::scalarInt(Dtype::boolean, 1),
                   no = HostTensor::scalarInt(Dtype::boolean, 0);
  EXPECT_THAT(numbers(run(bytes, {yes, floats({2}, {3, 4})})[0]), ElementsAre(4, 5));
  EXPECT_THAT(numbers(run(bytes, {no, floats({2}, {3, 4})})[0]), ElementsAre(-9, -16));
  IrContext ir;
  Result<ImportResult> imported = import(ir, bytes);
  ASSERT_TRUE(imported.ok());
  const Op& branch = *imported->module.main()->ops.back();
  EXPECT_EQ(branch.operands.size(), 3u) << "the condition, x and h; the constant is made inside";
  EXPECT_EQ(branch.regions[0]->parameters.size(), 2u);
}

// `depth` branches in each other; each level is only what stands before the next, so the bytes are made in
// linear time.
std::string nestedBranches(int depth) {
  const auto header = [](uint32_t field, size_t length) {
    return Msg::varintOf(field * 8 + 2) + Msg::varintOf(length);
  };
  const std::string innermost = join({nodes({node("Neg", {"x"}, {"r"})}), output("r")}).bytes;
  const Msg other = join({nodes({node("Relu", {"x"}, {"r"})}), output("r")});
  const std::string nodeStart = join({node("If", {"c"}, {"r"}), graphAttribute("else_branch", other)}).bytes;
  const std::string attributeStart = Msg().sub(1, "then_branch").num(20, 5).bytes;
  std::vector<std::string> levels;
  size_t length = innermost.size();
  for (int k = 0; k < depth; ++k) {
    std::string level = attributeStart + header(6, length);
    size_t attributeLength = level.size() + length;
    level = nodeStart + header(5, attributeLength) + level;
    const size_t nodeLength = level.size() + length;
    level = output("r").bytes + header(1, nodeLength) + level;
    length += level.size();
    levels.push_back(std::move(level));
  }
  std::string bytes;
  for (size_t k = levels.size(); k-- > 0;) bytes += levels[k];
  return bytes + innermost;
}

TEST(Importer, TenThousandNestedBranchesNeedNoDeepStack) {
  IrContext ir;
  Msg graph;
  graph.bytes = join({input("c", {}, 9), input("x", {"n"})}).bytes + nestedBranches(10'000);
  Result<ImportResult> imported = import(ir, modelBytes(graph));
  ASSERT_TRUE(imported.ok()) << imported.error().toString();
  EXPECT_EQ(imported->opCounts.at("If"), 10'000);
  EXPECT_EQ(countOps(imported->module), 20'001u);
}

TEST(Importer, LoopWithCarriedAndStackedValues) {
  // acc = acc + x; scan out acc; three times, and not at all.
  const Msg body = join({nodes({node("Add", {"acc", "x"}, {"next"}), node("Identity", {"go"}, {"go_on"}),
                                node("Identity", {"next"}, {"seen"})}),
                         input("i", {}, 7), input("go", {}, 9), input("acc", {"n"}), output("go_on"),
                         output("next"), output("seen")});
  const std::string bytes = modelBytes(
      join({nodes({join({node("Loop", {"m", "", "x"}, {"last", "all"}), graphAttribute("body", body)})}),
            input("m", {}, 7), input("x", {"n"}), output("last"), output("all")}));
  std::vector<HostTensor> results = run(bytes, {HostTensor::scalarInt(Dtype::i64, 3), floats({2}, {1, 2})});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_THAT(numbers(results[0]), ElementsAre(4, 8));
  EXPECT_THAT(numbers(results[1]), ElementsAre(2, 4, 3, 6, 4, 8));
  EXPECT_THAT(results[1].shape(), ElementsAre(3, 2));
  results = run(bytes, {HostTensor::scalarInt(Dtype::i64, 0), floats({2}, {1, 2})});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_THAT(numbers(results[0]), ElementsAre(1, 2));
  EXPECT_THAT(results[1].shape(), ElementsAre(0, 2));
}

TEST(Importer, AnOutputListedTwiceIsTwoOutputsWithNamesOfTheirOwn) {
  const std::string bytes =
      modelBytes(join({nodes({node("Neg", {"x"}, {"y"}), node("Abs", {"x"}, {"y.2"})}), input("x", {"n"}),
                       output("y"), output("y"), output("y.2"), output("y"), output("x")}));
  IrContext ir;
  Result<ImportResult> imported = import(ir, bytes);
  ASSERT_TRUE(imported.ok()) << imported.error().toString();
  EXPECT_THAT(imported->outputNames, ElementsAre("y", "y.3", "y.2", "y.4", "x"));
  const std::vector<HostTensor> results = run(bytes, {floats({2}, {1, -2})});
  ASSERT_EQ(results.size(), 5u);
  for (const size_t i : {0, 1, 3}) EXPECT_THAT(numbers(results[i]), ElementsAre(-1, 2));
  EXPECT_THAT(numbers(results[2]), ElementsAre(1, 2));
}

TEST(Importer, LoopCollectsAnEmptySequence) {
  const Msg body =
      join({nodes({node("Add", {"x", "x"}, {"two"}), node("SequenceInsert", {"s", "two"}, {"t"}),
                   node("Identity", {"go"}, {"go_on"})}),
            input("i", {}, 7), input("go", {}, 9),
            Msg().sub(11, valueInfo("s", Msg().sub(4, Msg().sub(1, Msg().sub(1, Msg().num(1, 1)))))),
            output("go_on"), output("t")});
  const std::string bytes =
      modelBytes(join({nodes({node("SequenceEmpty", {}, {"none"}),
                              join({node("Loop", {"m", "", "none"}, {"all"}), graphAttribute("body", body)}),
                              join({node("ConcatFromSequence", {"all"}, {"y"}), intAttribute("axis", 0)})}),
                       input("m", {}, 7), input("x", {"n"}), output("y")}));
  const std::vector<HostTensor> results =
      run(bytes, {HostTensor::scalarInt(Dtype::i64, 2), floats({2}, {1, 2})});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_THAT(numbers(results[0]), ElementsAre(2, 4, 2, 4));
}

TEST(Importer, ScanRunsBackwardAndStacksOnAnyAxis) {
  const Msg body =
      join({nodes({node("Add", {"s", "v"}, {"t"}), node("Identity", {"t"}, {"o"})}), input("s", {"2"}),
            input("v", {"2"}), Msg().sub(12, valueInfo("t", tensorType(1, {"2"}))),
            Msg().sub(12, valueInfo("o", tensorType(1, {"2"})))});
  const auto model = [&](std::initializer_list<Msg> attributes) {
    Msg scan = join({node("Scan", {"s0", "x"}, {"last", "all"}), graphAttribute("body", body),
                     intAttribute("num_scan_inputs", 1), join(attributes)});
    return modelBytes(
        join({nodes({scan}), input("s0", {"2"}), input("x", {"n", "2"}), output("last"), output("all")}));
  };
  const std::vector<Value> inputs = {floats({2}, {0, 0}), floats({3, 2}, {1, 2, 3, 4, 5, 6})};
  std::vector<HostTensor> results = run(model({}), inputs);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_THAT(numbers(results[0]), ElementsAre(9, 12));
  EXPECT_THAT(numbers(results[1]), ElementsAre(1, 2, 4, 6, 9, 12));
  results = run(model({intsAttribute("scan_input_directions", {1}),
                       intsAttribute("scan_output_directions", {1}), intsAttribute("scan_output_axes", {1})}),
                inputs);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_THAT(results[1].shape(), ElementsAre(2, 3));
  EXPECT_THAT(numbers(results[1]), ElementsAre(9, 8, 5, 12, 10, 6));
}

TEST(Importer, FunctionsAreExpandedWithTheirAttributes) {
  const Msg function =
      Msg()
          .sub(1, "Lift")
          .sub(4, "a")
          .sub(5, "b")
          .sub(6, "slope")
          .sub(7,
               node("LeakyRelu", {"a"}, {"inner"}).sub(5, Msg().sub(1, "alpha").sub(21, "slope").num(20, 1)))
          .sub(7, node("Add", {"inner", "inner"}, {"b"}))
          .sub(9, opsets(17))
          .sub(10, "local");
  const Msg graph =
      join({nodes({join({node("Lift", {"x"}, {"y"}).sub(7, "local"), floatAttribute("slope", 0.5f)}),
                   node("Lift", {"y"}, {"z"}).sub(7, "local")}),
            input("x", {"n"}), output("z")});
  const Msg more = Msg().sub(25, function).sub(8, Msg().sub(1, "local").num(2, 1));
  const std::vector<HostTensor> results = run(modelBytes(graph, 17, more), {floats({2}, {-4, 1})});
  ASSERT_EQ(results.size(), 1u);
  // -4 → -2 twice is -4; then the default slope 0.01 of LeakyRelu.
  EXPECT_NEAR(results[0].realAt(0), -0.08, 1e-6);
  EXPECT_EQ(results[0].realAt(1), 4);
}

TEST(Importer, GemmTakesMatrices) {
  const Msg graph =
      join({nodes({node("Gemm", {"x", "x"}, {"y"})}), input("x", {"b", "n", "n"}), output("y")});
  const ImportResult result = problemsOf(modelBytes(graph));
  ASSERT_EQ(result.problems.size(), 1u);
  EXPECT_EQ(result.problems[0].id, DiagnosticId::rankMismatch) << result.problems[0].toString();
}

TEST(Importer, RecursiveFunctionsAreRefused) {
  const Msg function = Msg()
                           .sub(1, "Again")
                           .sub(4, "a")
                           .sub(5, "b")
                           .sub(7, node("Again", {"a"}, {"b"}).sub(7, "local"))
                           .sub(9, opsets(17))
                           .sub(9, Msg().sub(1, "local").num(2, 1))
                           .sub(10, "local");
  const Msg graph =
      join({nodes({node("Again", {"x"}, {"y"}).sub(7, "local")}), input("x", {"n"}), output("y")});
  const ImportResult result =
      problemsOf(modelBytes(graph, 17, Msg().sub(25, function).sub(8, Msg().sub(1, "local").num(2, 1))));
  ASSERT_EQ(result.problems.size(), 1u);
  EXPECT_THAT(result.problems[0].message, HasSubstr("calls itself"));
}

TEST(Importer, FixedInputsBecomeConstants) {
  const std::string bytes = modelBytes(join({nodes({node("ReduceSum", {"x", "axes"}, {"y"})}),
                                             input("x", {"n", "3"}), input("axes", {"1"}, 7), output("y")}));
  IrContext ir;
  ImportOptions options;
  options.fixedInputs["axes"] = HostTensor::vectorInt(Dtype::i64, std::vector<int64_t>{1});
  Result<ImportResult> imported = import(ir, bytes, options);
  ASSERT_TRUE(imported.ok());
  EXPECT_THAT(imported->inputNames, ElementsAre("x"));
  Result<InferredModule> typed = inferTypes(imported->module);
  ASSERT_TRUE(typed.ok()) << typed.error().toString();
  EXPECT_EQ(typed->module.main()->resultTypes[0].toString(), "Tensor[(n, 1), f32]");
}

struct VersionCase {
  const char* name;
  int64_t opset;
  Msg graph;  // input x [2, 3] f32 = 1..6
  std::vector<int64_t> shape;
  std::vector<double> values;
};

class OldForms : public ::testing::TestWithParam<int> {};

std::vector<VersionCase> versionCases() {
  const auto one = [](const Msg& n) { return nodes({n}); };
  const auto shrunk = [](std::initializer_list<Msg> attributes) {
    return join({nodes({join({node("Resize", {"x", "", "s"}, {"y"}), join(attributes)})}),
                 Msg().sub(5, floatTensor("s", {2}, {1, 0.7f}))});
  };
  const auto asIntegers = [](const Msg& n) {
    return nodes({join({node("Cast", {"x"}, {"i"}), intAttribute("to", 6)}), n,
                  join({node("Cast", {"j"}, {"y"}), intAttribute("to", 1)})});
  };
  return {
      {"ReduceSum-11 takes axes as attribute",
       11,
       one(join({node("ReduceSum", {"x"}, {"y"}), intsAttribute("axes", {1}), intAttribute("keepdims", 0)})),
       {2},
       {6, 15}},
      {"ReduceMean-13 takes axes as attribute",
       13,
       one(join({node("ReduceMean", {"x"}, {"y"}), intsAttribute("axes", {0})})),
       {1, 3},
       {2.5, 3.5, 4.5}},
      {"Unsqueeze-11",
       11,
       one(join({node("Unsqueeze", {"x"}, {"y"}), intsAttribute("axes", {0})})),
       {1, 2, 3},
       {1, 2, 3, 4, 5, 6}},
      {"Squeeze-11",
       11,
       nodes({join({node("Unsqueeze", {"x"}, {"u"}), intsAttribute("axes", {1})}),
              join({node("Squeeze", {"u"}, {"y"}), intsAttribute("axes", {1})})}),
       {2, 3},
       {1, 2, 3, 4, 5, 6}},
      {"Slice-1",
       9,
       one(join({node("Slice", {"x"}, {"y"}), intsAttribute("starts", {1}), intsAttribute("ends", {9}),
                 intsAttribute("axes", {1})})),
       {2, 2},
       {2, 3, 5, 6}},
      {"Clip-6",
       7,
       one(join({node("Clip", {"x"}, {"y"}), floatAttribute("min", 2), floatAttribute("max", 4)})),
       {2, 3},
       {2, 2, 3, 4, 4, 4}},
      {"Pad-2",
       7,
       one(join(
           {node("Pad", {"x"}, {"y"}), intsAttribute("pads", {0, 1, 0, 0}), floatAttribute("value", 9)})),
       {2, 4},
       {9, 1, 2, 3, 9, 4, 5, 6}},
      {"Softmax-11 sees a matrix",
       11,
       nodes({join({node("Hardmax", {"x"}, {"y"}), intAttribute("axis", 0)})}),
       {2, 3},
       {0, 0, 0, 0, 0, 1}},
      {"Hardmax-13 has one axis",
       13,
       one(join({node("Hardmax", {"x"}, {"y"}), intAttribute("axis", 0)})),
       {2, 3},
       {0, 0, 0, 1, 1, 1}},
      {"Dropout-7 passes",
       7,
       one(join({node("Dropout", {"x"}, {"y"}), floatAttribute("ratio", 0.5f)})),
       {2, 3},
       {1, 2, 3, 4, 5, 6}},
      {"Flatten of all axes",
       9,
       one(join({node("Flatten", {"x"}, {"y"}), intAttribute("axis", 0)})),
       {1, 6},
       {1, 2, 3, 4, 5, 6}},
      {"Gemm with factors",
       13,
       one(join({node("Gemm", {"x", "x"}, {"y"}), intAttribute("transB", 1), floatAttribute("alpha", 2)})),
       {2, 2},
       {28, 64, 64, 154}},
      {"Resize-10 rounds up where it shrinks",
       10,
       join({one(node("Resize", {"x", "s"}, {"y"})), Msg().sub(5, floatTensor("s", {2}, {1, 0.7f}))}),
       {2, 2},
       {1, 3, 4, 6}},
      {"Resize-11 of Keras",
       11,
       shrunk({textAttribute("coordinate_transformation_mode", "tf_half_pixel_for_nn")}),
       {2, 2},
       {2, 3, 5, 6}},
      {"corners are those of the result's whole elements",
       13,
       shrunk({textAttribute("mode", "linear"),
               textAttribute("coordinate_transformation_mode", "align_corners")}),
       {2, 2},
       {1, 3, 4, 6}},
      {"Shrink of integers is computed in real numbers",
       13,
       asIntegers(
           join({node("Shrink", {"i"}, {"j"}), floatAttribute("lambd", 1.5f), floatAttribute("bias", 1.5f)})),
       {2, 3},
       {0, 0, 1, 2, 3, 4}},
      {"Mod-28 of reals has the sign of the divisor",
       28,
       join({nodes({node("Sub", {"x", "a"}, {"d"}), node("Mod", {"d", "b"}, {"y"})}),
             Msg().sub(5, floatTensor("a", {}, {3.5f})), Msg().sub(5, floatTensor("b", {3}, {2, -2, 2}))}),
       {2, 3},
       {1.5, -1.5, 1.5, 0.5, -0.5, 0.5}},
      {"Gemm of integers with a fraction",
       13,
       asIntegers(
           join({node("Gemm", {"i", "i"}, {"j"}), intAttribute("transB", 1), floatAttribute("alpha", 0.5f)})),
       {2, 2},
       {7, 16, 16, 38}},
      {"bounds of one element",
       13,
       join({one(node("Clip", {"x", "low", "high"}, {"y"})), Msg().sub(5, floatTensor("low", {1}, {2})),
             Msg().sub(5, floatTensor("high", {1}, {4}))}),
       {2, 3},
       {2, 2, 3, 4, 4, 4}},
      {"an element type that is not given, written out",
       21,
       join({nodes({join({node("QuantizeLinear", {"x", "s"}, {"q"}), intAttribute("output_dtype", 0)}),
                    join({node("Cast", {"q"}, {"y"}), intAttribute("to", 1)})}),
             Msg().sub(5, floatTensor("s", {}, {0.5f}))}),
       {2, 3},
       {2, 4, 6, 8, 10, 12}},
      {"a scalar along its one element",
       13,
       nodes({join({node("ReduceSum", {"x"}, {"s"}), intAttribute("keepdims", 0)}),
              join({node("ReduceMax", {"s"}, {"y"}), intsAttribute("axes", {-1}),
                    intAttribute("keepdims", 0)})}),
       {},
       {21}},
      {"Tile-1 repeats along one axis",
       5,
       join({one(node("Tile", {"x", "t", "a"}, {"y"})), Msg().sub(5, floatTensor("t", {1}, {2})),
             Msg().sub(5, floatTensor("a", {1}, {1}))}),
       {2, 6},
       {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}},
      {"BatchNormalization of a vector has one channel",
       13,
       join({nodes({join({node("Reshape", {"x", "all"}, {"r"})}),
                    join({node("BatchNormalization", {"r", "s", "b", "m", "v"}, {"y"}),
                          floatAttribute("epsilon", 0)})}),
             Msg().sub(5, Msg().packed(1, {1}).num(2, 7).packed(7, {-1}).sub(8, "all")),
             Msg().sub(5, floatTensor("s", {1}, {2})), Msg().sub(5, floatTensor("b", {1}, {3})),
             Msg().sub(5, floatTensor("m", {1}, {1})), Msg().sub(5, floatTensor("v", {1}, {4}))}),
       {6},
       {3, 4, 5, 6, 7, 8}},
      {"LpPool-1 has a real order",
       1,
       nodes({join({node("Reshape", {"x"}, {"r"}), intsAttribute("shape", {1, 2, 3})}),
              join({node("LpPool", {"r"}, {"y"}), intsAttribute("kernel_shape", {2}),
                    floatAttribute("p", 1)})}),
       {1, 2, 2},
       {3, 5, 9, 11}},
      {"GlobalLpPool-1 has a real order",
       1,
       nodes({join({node("Reshape", {"x"}, {"r"}), intsAttribute("shape", {1, 2, 3})}),
              join({node("GlobalLpPool", {"r"}, {"y"}), floatAttribute("p", 1)})}),
       {1, 2, 1},
       {6, 15}},
      {"Shape-15 with ends",
       15,
       nodes({join({node("Shape", {"x"}, {"s"}), intAttribute("start", -1)}),
              join({node("Cast", {"s"}, {"y"}), intAttribute("to", 1)})}),
       {1},
       {3}},
  };
}

// An order between two whole numbers: (1^1.5 + 2^1.5)^(1/1.5) and so on.
TEST(Importer, OldPoolsOfAnyOrder) {
  for (const bool global : {false, true}) {
    Msg pool = join({node(global ? "GlobalLpPool" : "LpPool", {"r"}, {"y"}), floatAttribute("p", 1.5f)});
    if (!global) pool = join({pool, intsAttribute("kernel_shape", {3})});
    const Msg graph = nodes({join({node("Reshape", {"x"}, {"r"}), intsAttribute("shape", {1, 2, 3})}), pool});
    const std::vector<HostTensor> results =
        run(modelBytes(join({graph, input("x", {"n", "3"}), output("y")}), 1),
            {floats({2, 3}, {1, 2, 3, -4, 5, 6})});
    ASSERT_EQ(results.size(), 1u);
    EXPECT_EQ(results[0].shape(), (std::vector<int64_t>{1, 2, 1}));
    EXPECT_NEAR(results[0].realAt(0), std::pow(1 + std::pow(2, 1.5) + std::pow(3, 1.5), 1 / 1.5), 1e-5);
    EXPECT_NEAR(results[0].realAt(1), std::pow(8 + std::pow(5, 1.5) + std::pow(6, 1.5), 1 / 1.5), 1e-5);
  }
}

TEST_P(OldForms, MeanTheSame) {
  const VersionCase test = versionCases()[static_cast<size_t>(GetParam())];
  SCOPED_TRACE(test.name);
  const std::vector<HostTensor> results =
      run(modelBytes(join({test.graph, input("x", {"n", "3"}), output("y")}), test.opset),
          {floats({2, 3}, {1, 2, 3, 4, 5, 6})});
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].shape(), test.shape);
  EXPECT_EQ(numbers(results[0]), test.values);
}

INSTANTIATE_TEST_SUITE_P(Versions, OldForms, ::testing::Range(0, static_cast<int>(versionCases().size())));

TEST(Importer, InputsWithoutRankAreOpenUntilItIsGiven) {
  const Msg rankless = Msg().sub(11, valueInfo("x", Msg().sub(1, Msg().num(1, 1))));
  const std::string bytes = modelBytes(join({nodes({node("Relu", {"x"}, {"y"})}), rankless, output("y")}));
  const ImportResult open = problemsOf(bytes);
  EXPECT_TRUE(open.problems.empty());
  ASSERT_EQ(open.openInputs.size(), 1u);
  EXPECT_EQ(open.openInputs[0].dtype, Dtype::f32);
  IrContext ir;
  ImportOptions options;
  options.inputRanks["x"] = 3;
  Result<ImportResult> given = importModel(ir, MappedFile::fromBytes(bytes, "m.onnx"), options);
  ASSERT_TRUE(given.ok()) << given.error().toString();
  EXPECT_TRUE(given->openInputs.empty());
  EXPECT_EQ(given->module.main()->parameters[0].type.rank(), 3);
}

// Mappings whose form depends on a rank know that of values made by other nodes too.
TEST(Importer, RanksFollowFromOtherNodes) {
  const Msg contrib = Msg().sub(8, Msg().sub(1, "com.microsoft").num(2, 1));
  const auto rotary = [](const char* x) {
    return node("RotaryEmbedding", {x, "p", "cos", "sin"}, {"y"}).sub(7, "com.microsoft");
  };
  const Msg rest = join({input("x", {"b", "s", "4"}), input("p", {"b", "s"}, 7), input("cos", {"m", "1"}),
                         input("sin", {"m", "1"}), output("y")});
  const Msg ways[] = {
      nodes({node("Relu", {"x"}, {"a"}), rotary("a")}),
      nodes({node("Add", {"x", "x"}, {"a"}), node("Transpose", {"a"}, {"t"}), rotary("t")}),
      nodes({node("Shape", {"x"}, {"n"}), node("Reshape", {"x", "n"}, {"r"}), rotary("r")}),
      nodes({node("ReduceMax", {"x"}, {"m0"}), node("Mul", {"x", "m0"}, {"a"}), rotary("a")}),
  };
  for (const Msg& way : ways) {
    const ImportResult result = problemsOf(modelBytes(join({way, rest}), 17, contrib));
    EXPECT_TRUE(result.problems.empty()) << result.problems[0].toString();
  }
  // Compress keeps the rank where it has an axis: no simple rule, inference knows.
  const Msg inferred =
      nodes({join({node("Compress", {"x", "c"}, {"a"}), intAttribute("axis", 0)}), rotary("a")});
  EXPECT_TRUE(
      problemsOf(modelBytes(join({inferred, rest, input("c", {"b"}, 9)}), 17, contrib)).problems.empty());
  // A rank that only values tell.
  const Msg unknown =
      nodes({node("Compress", {"x", "c"}, {"a"}), node("Squeeze", {"a"}, {"q"}), rotary("q")});
  const ImportResult result =
      problemsOf(modelBytes(join({unknown, rest, input("c", {"b"}, 9)}), 17, contrib));
  ASSERT_EQ(result.problems.size(), 1u);
  EXPECT_EQ(result.problems[0].id, DiagnosticId::unsupportedFeature);
}

TEST(Importer, NamedOutputsThatAreNotThereAreAFaultOfTheirReaders) {
  const Msg contrib = Msg().sub(8, Msg().sub(1, "com.microsoft").num(2, 1));
  const Msg skip =
      join({node("SkipSimplifiedLayerNormalization", {"x", "x", "g"}, {"y", "mean", "deviation", "sum"}),
            Msg().sub(7, "com.microsoft")});
  const Msg rest = join({input("x", {"n", "4", "3"}), input("g", {"3"}), output("y"), output("z")});
  const auto problems = [&](const char* read) {
    return problemsOf(modelBytes(join({nodes({skip, node("Relu", {read}, {"z"})}), rest}), 17, contrib))
        .problems;
  };
  EXPECT_TRUE(problems("sum").empty());
  ASSERT_EQ(problems("deviation").size(), 1u);
  EXPECT_EQ(problems("deviation")[0].id, DiagnosticId::unsupportedFeature);
  EXPECT_THAT(problems("deviation")[0].message, HasSubstr("output 2 of SkipSimplifiedLayerNormalization"));
}

TEST(Importer, InputsWithInitializersAreDefaults) {
  const std::string bytes =
      modelBytes(join({nodes({node("Mul", {"x", "w"}, {"y"})}), Msg().sub(5, floatTensor("w", {}, {3})),
                       input("x", {"n"}), input("w", {}), output("y")}));
  IrContext ir;
  Result<ImportResult> plain = import(ir, bytes);
  ASSERT_TRUE(plain.ok()) << plain.error().toString();
  EXPECT_THAT(plain->inputNames, ElementsAre("x"));
  ASSERT_EQ(plain->defaultedInputs.size(), 1u);
  EXPECT_EQ(plain->defaultedInputs[0].name, "w");
  for (const double factor : {3.0, 5.0}) {
    IrContext own;
    ImportOptions options;
    if (factor != 3) options.fixedInputs["w"] = HostTensor::scalar(Dtype::f32, factor);
    Result<ImportResult> imported = import(own, bytes, options);
    ASSERT_TRUE(imported.ok()) << imported.error().toString();
    Result<InferredModule> typed = inferTypes(imported->module);
    ASSERT_TRUE(typed.ok()) << typed.error().toString();
    Result<std::vector<Value>> results = interpret(typed->module, {Value(floats({2}, {1, 2}))}, {});
    ASSERT_TRUE(results.ok()) << results.error().toString();
    EXPECT_EQ(numbers((*results)[0].tensor()), (std::vector<double>{factor, 2 * factor}));
  }
}

// Range(start, Cast(limit), delta) of f32, as torch.arange is exported.
Msg realRange(float start, float delta, const Msg& limit) {
  return join({nodes({limit, join({node("Cast", {"k"}, {"r"}), intAttribute("to", 1)}),
                      node("Range", {"start", "r", "delta"}, {"y"})}),
               Msg().sub(5, floatTensor("start", {}, {start})),
               Msg().sub(5, floatTensor("delta", {}, {delta})), output("y")});
}

TEST(Importer, RangesOfRealsUpToASizeHaveThatSize) {
  const Msg size = join({node("Size", {"x"}, {"k"})});
  const auto resultOf = [&](float start, float delta) {
    IrContext ir;
    const Result<ImportResult> imported =
        import(ir, modelBytes(join({realRange(start, delta, size), input("x", {"n"})})));
    EXPECT_TRUE(imported.ok()) << imported.error().toString();
    const Result<InferredModule> typed = inferTypes(imported->module);
    EXPECT_TRUE(typed.ok()) << typed.error().toString();
    return typed->module.main()->resultTypes[0].toString();
  };
  EXPECT_EQ(resultOf(0, 1), "Tensor[(n), f32]");
  EXPECT_EQ(resultOf(0, 2), "Tensor[(floordiv(n + 1, 2)), f32]");
  EXPECT_THAT(resultOf(0.5, 1), HasSubstr("?"));  // what is added to it may round
  EXPECT_THAT(resultOf(0, 0.5), HasSubstr("?"));
  for (const float delta : {1.0F, 2.0F, -1.0F}) {
    const auto results = run(modelBytes(join({realRange(0, delta, size), input("x", {"n"})})),
                             {Value(floats({5}, {7, 7, 7, 7, 7}))});
    ASSERT_EQ(results.size(), 1u);
    EXPECT_EQ(results[0].dtype(), Dtype::f32);
    EXPECT_EQ(numbers(results[0]), delta == 1   ? (std::vector<double>{0, 1, 2, 3, 4})
                                   : delta == 2 ? (std::vector<double>{0, 2, 4})
                                                : std::vector<double>{});
  }
}

// 2^24 + 1 is 2^24 in f32: the standard's range would have one element less than the size says.
TEST(Importer, RangesOfRealsRefuseALimitThatTheirTypeRounds) {
  const std::string bytes =
      modelBytes(join({realRange(0, 1, node("Identity", {"limit"}, {"k"})), input("limit", {}, 7)}));
  IrContext ir;
  const Result<ImportResult> imported = import(ir, bytes);
  ASSERT_TRUE(imported.ok()) << imported.error().toString();
  const Result<InferredModule> typed = inferTypes(imported->module);
  ASSERT_TRUE(typed.ok()) << typed.error().toString();
  constexpr int64_t kExact = int64_t{1} << 24;
  const auto runOf = [&](int64_t limit) {
    return interpret(typed->module, {Value(HostTensor::scalarInt(Dtype::i64, limit))}, {});
  };
  const auto few = runOf(3);
  ASSERT_TRUE(few.ok()) << few.error().toString();
  EXPECT_EQ(numbers((*few)[0].tensor()), (std::vector<double>{0, 1, 2}));
  const auto rounded = runOf(kExact + 1);
  ASSERT_FALSE(rounded.ok());
  EXPECT_THAT(rounded.error().message, HasSubstr("Range: a limit that f32 has exactly"));
}

TEST(Importer, SpaceToDepthUndoesDepthToSpaceInBothModes) {
  std::vector<double> values;
  for (int i = 0; i < 64; ++i) values.push_back(i);
  for (const char* mode : {"DCR", "CRD"}) {
    const Msg there =
        join({node("SpaceToDepth", {"x"}, {"d"}), intAttribute("blocksize", 2), textAttribute("mode", mode)});
    const Msg back =
        join({node("DepthToSpace", {"d"}, {"y"}), intAttribute("blocksize", 2), textAttribute("mode", mode)});
    const std::vector<HostTensor> results =
        run(modelBytes(join({nodes({there, back}), input("x", {"n", "c", "h", "w"}), output("y")}), 28),
            {floats({2, 2, 4, 4}, values)});
    ASSERT_EQ(results.size(), 1u);
    EXPECT_EQ(numbers(results[0]), values) << mode;
  }
}

TEST(Importer, ALengthOfZeroKeepsTheInitialState) {
  const Msg recurrent =
      join({node("RNN", {"x", "w", "w", "", "l", "h"}, {"y", "last"}), intAttribute("hidden_size", 1)});
  const Msg graph =
      join({nodes({recurrent}), Msg().sub(5, floatTensor("w", {1, 1, 1}, {1})), input("x", {"t", "n", "1"}),
            input("l", {"n"}, 6), input("h", {"1", "n", "1"}), output("y"), output("last")});
  const std::vector<HostTensor> results =
      run(modelBytes(graph), {Value(floats({2, 2, 1}, {1, 1, 1, 1})),
                              Value(HostTensor::vectorInt(Dtype::i32, std::vector<int64_t>{0, 2})),
                              Value(floats({1, 2, 1}, {0.25, 0.25}))});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].realAt(0), 0);
  EXPECT_EQ(results[0].realAt(2), 0);
  EXPECT_EQ(results[1].realAt(0), 0.25);
  EXPECT_NE(results[1].realAt(1), 0.25);
}

TEST(Importer, WrongDeclarationsOfOutputsAreWarnings) {
  const auto declared = [](const Msg& type) { return Msg().sub(12, valueInfo("y", type)); };
  struct Row {
    Msg type;
    const char* warning;  // "": none
  };
  const Msg negative =
      Msg().sub(1, Msg().num(1, 1).sub(2, Msg().sub(1, Msg().num(1, -1)).sub(1, Msg().num(1, 3))));
  const Row rows[] = {
      {tensorType(1, {"n", "3"}), ""},          {tensorType(1, {"other", ""}), ""},
      {tensorType(1, {"n"}), "rank 1"},         {tensorType(1, {"n", "4"}), "dim 1 is declared as 4"},
      {tensorType(7, {"n", "3"}), "to be i64"}, {negative, "dim 0 is declared as -1"},
  };
  for (const Row& row : rows) {
    IrContext ir;
    const std::string bytes =
        modelBytes(join({nodes({node("Relu", {"x"}, {"y"})}), input("x", {"n", "3"}), declared(row.type)}));
    Result<ImportResult> imported = importModel(ir, MappedFile::fromBytes(bytes, "m.onnx"));
    ASSERT_TRUE(imported.ok()) << imported.error().toString();
    Result<InferredModule> typed = inferTypes(imported->module);
    ASSERT_TRUE(typed.ok()) << typed.error().toString();
    const std::vector<Diagnostic> warnings =
        wrongOutputs(imported->declaredOutputs, *typed->module.main(), ir.facts());
    ASSERT_EQ(warnings.size(), *row.warning ? 1u : 0u) << row.warning;
    if (warnings.empty()) continue;
    EXPECT_NE(warnings[0].message.find(row.warning), std::string::npos) << warnings[0].message;
    EXPECT_NE(warnings[0].message.find("'y'"), std::string::npos) << warnings[0].message;
  }
}

}  // namespace
}  // namespace dyn::onnx::test
