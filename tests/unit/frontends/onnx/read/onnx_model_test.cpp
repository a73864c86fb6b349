#include "frontends/onnx/read/onnx_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/frontends/onnx/proto_builder.h"

namespace dyn::onnx {
namespace {

using test::Msg;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<Model> read(const Msg& m) { return readModel(MappedFile::fromBytes(m.bytes, "m.onnx")); }
Result<Model> readNode(const Msg& node) { return read(test::model(Msg().sub(1, node))); }

TEST(OnnxModel, sampleModelIsReadInFull) {
  Result<Model> result = read(test::sampleModel());
  ASSERT_TRUE(result.ok()) << result.error().toString();
  Model& m = *result;
  EXPECT_EQ(m.irVersion, 8);
  EXPECT_EQ(m.producerName, "tests");
  ASSERT_EQ(m.opsetImports.size(), 1u);
  EXPECT_EQ(m.opsetImports[0].version, 17);
  ASSERT_EQ(m.metadata.size(), 1u);
  EXPECT_EQ(m.metadata[0].value, "me");
  ASSERT_EQ(m.functions.size(), 1u);
  const FunctionProto& f = m.functions[0];
  EXPECT_EQ(f.name, "Twice");
  EXPECT_EQ(f.domain, "local");
  EXPECT_EQ(f.overload, "v");
  EXPECT_THAT(f.inputs, ElementsAre("a"));
  EXPECT_THAT(f.attributes, ElementsAre("k"));
  EXPECT_EQ(f.attributeDefaults[0].i, 1);
  EXPECT_EQ(f.nodes[0].opType, "Add");
  EXPECT_EQ(m.deviceConfigurations[0].deviceCount, 2);
  EXPECT_EQ(m.trainingInfos.size(), 1u);

  const GraphProto& g = *m.graph;
  EXPECT_EQ(g.name, "g");
  ASSERT_EQ(g.nodes.size(), 2u);
  const NodeProto& add = g.nodes[0];
  EXPECT_THAT(add.inputs, ElementsAre("x", "w"));
  EXPECT_THAT(add.outputs, ElementsAre("y"));
  EXPECT_EQ(add.docString(), "doc");
  ASSERT_EQ(add.metadata().size(), 1u);
  EXPECT_EQ(add.metadata()[0].key, "key");
  EXPECT_EQ(add.describe(), "add (Add)");
  EXPECT_EQ(add.attribute("axis")->i, -1);
  EXPECT_THAT(add.attribute("ints")->ints(), ElementsAre(1, -2, 300));
  EXPECT_TRUE(add.attribute("ints")->floats().empty());
  EXPECT_THAT(add.attribute("loose")->ints(), ElementsAre(5, 6));
  EXPECT_THAT(add.attribute("floats")->floats(), ElementsAre(1.5f, -2.f, 3.f));
  EXPECT_EQ(add.attribute("alpha")->f, 0.5f);
  EXPECT_THAT(add.attribute("texts")->strings(), ElementsAre("a", "bc"));
  EXPECT_EQ(add.attribute("mode")->s, "linear");
  EXPECT_EQ(add.attribute("value")->tensors()[0].rawData.size(), 16u);
  EXPECT_EQ(add.attribute("sparse")->sparseTensors()[0].values->name, "w");
  EXPECT_EQ(add.attribute("type")->types()[0].elementType, 7);
  EXPECT_EQ(add.attribute("nothing"), nullptr);

  const NodeProto& branch = g.nodes[1];
  ASSERT_EQ(branch.attribute("else_branch")->graphs().size(), 1u);
  const GraphProto& body = branch.attribute("then_branch")->graphs()[0];
  EXPECT_EQ(body.name, "then");
  EXPECT_EQ(body.depth, 1u);
  EXPECT_EQ(body.nodes[0].opType, "Identity");

  const TypeProto& x = *g.inputs[0].type;
  EXPECT_TRUE(x.hasShape);
  EXPECT_EQ(x.shape[0].parameter, "n");
  EXPECT_EQ(x.shape[1].value, 2);
  const TypeProto& s = *g.inputs[1].type;
  ASSERT_EQ(s.wrappers.size(), 2u);
  EXPECT_EQ(s.wrappers[0].kind, TypeWrapper::Kind::optional);
  EXPECT_EQ(s.wrappers[1].kind, TypeWrapper::Kind::sequence);
  EXPECT_EQ(s.kind, TypeProto::Kind::tensor);
  EXPECT_EQ(g.outputs[0].type->shape[1].kind, Dimension::Kind::unknown);
  EXPECT_EQ(g.valueInfos[0].type->kind, TypeProto::Kind::missing);
  EXPECT_EQ(g.quantizationAnnotations[0].parameters[0].value, "s0");
  EXPECT_EQ(g.sparseInitializers[0].dims[0], 10);
  EXPECT_EQ(g.initializers[1].location, TensorProto::Location::external);
  EXPECT_EQ(g.initializers[1].externalData[1].value, "4");
}

TEST(OnnxModel, dataAreViewsIntoTheFile) {
  Result<Model> m = read(test::sampleModel());
  ASSERT_TRUE(m.ok());
  Text all = m->source.file->bytes(), raw = m->graph->initializers[0].rawData;
  EXPECT_GE(raw.data(), all.data());
  EXPECT_LE(raw.data() + raw.size(), all.data() + all.size());
  Model moved = std::move(m).value();
  EXPECT_EQ(moved.graph->nodes[0].opType, "Add");
}

TEST(OnnxModel, errorsNameFileOffsetAndNode) {
  Result<Model> m = readNode(test::node("Relu", {"x"}, {"y"}).sub(5, Msg().sub(1, "a").num(3, 1).num(20, 6)));
  ASSERT_FALSE(m.ok());
  EXPECT_EQ(m.error().id, DiagnosticId::onnxInvalid);
  EXPECT_EQ(m.error().place.file, "m.onnx");
  EXPECT_GT(m.error().place.byteOffset, 0u);
  EXPECT_EQ(m.error().place.node, "-> y (Relu)");
  EXPECT_THAT(m.error().message, HasSubstr("FLOATS but holds INT"));
}

TEST(OnnxModel, attributesThatContradictThemselvesAreRefused) {
  auto attempt = [](Msg attribute) { return readNode(test::node("N", {}, {"y"}).sub(5, attribute)); };
  EXPECT_FALSE(attempt(Msg().sub(1, "a").num(3, 1).f32(2, 1)).ok()) << "two values";
  EXPECT_FALSE(attempt(Msg().sub(1, "a")).ok()) << "neither type nor value";
  EXPECT_FALSE(attempt(Msg().sub(1, "a").num(20, 4)).ok()) << "no tensor";
  EXPECT_FALSE(attempt(Msg().sub(1, "a").num(20, 99).num(3, 1)).ok()) << "unknown type";
  EXPECT_FALSE(attempt(Msg().sub(1, "a").num(20, 2).num(3, 1).sub(21, "r")).ok()) << "reference with a value";
  EXPECT_FALSE(attempt(Msg().sub(1, "a").sub(6, Msg()).sub(6, Msg())).ok()) << "graph twice";
  EXPECT_FALSE(attempt(Msg().sub(1, "a").sub(7, "abc").num(20, 6)).ok()) << "3 bytes of floats";
  EXPECT_FALSE(attempt(Msg().sub(1, "a").sub(8, "\x80").num(20, 7)).ok()) << "cut off packed number";
  Result<Model> reference = attempt(Msg().sub(1, "a").num(20, 2).sub(21, "r"));
  ASSERT_TRUE(reference.ok());
  EXPECT_EQ(reference->graph->nodes[0].attributes[0].refName, "r");
  Result<Model> untyped = attempt(Msg().sub(1, "a").packed(8, {4}));  // IR version 1
  ASSERT_TRUE(untyped.ok());
  EXPECT_THAT(untyped->graph->nodes[0].attributes[0].ints(), ElementsAre(4));
}

// Runs of elements are read at once; what is out of the ordinary ends them: numbers of ten bytes, long texts,
// packed parts between, other fields, tags that are longer than they need be.
TEST(OnnxModel, listsAreReadHoweverTheyAreWritten) {
  const std::string overlong("\xc0\x00\x05", 3);  // the tag of field 8 in two bytes, then 5
  Msg ints =
      Msg().num(8, 1).num(8, -1).num(8, 300).sub(1, "a").num(8, INT64_MIN).packed(8, {7, -8}).num(8, 2);
  ints.bytes += overlong;
  Result<Model> read = readNode(test::node("N", {}, {"y"}).sub(5, ints.num(8, INT64_MAX).num(20, 7)));
  ASSERT_TRUE(read.ok()) << read.error().toString();
  EXPECT_THAT(read->graph->nodes[0].attributes[0].ints(),
              ElementsAre(1, -1, 300, INT64_MIN, 7, -8, 2, 5, INT64_MAX));

  Msg floats =
      Msg().f32(7, 1).f32(7, 2).packedFixed<float>(7, {3, 4}).sub(1, "a").f32(7, 5).num(20, 6).f32(7, 6);
  read = readNode(test::node("N", {}, {"y"}).sub(5, floats));
  ASSERT_TRUE(read.ok()) << read.error().toString();
  EXPECT_THAT(read->graph->nodes[0].attributes[0].floats(), ElementsAre(1, 2, 3, 4, 5, 6));

  const std::string longText(300, 'x'), middle(127, 'y'), above(128, 'z');
  Msg texts =
      Msg().sub(9, "p").sub(9, "").sub(9, longText).sub(9, middle).sub(1, "a").sub(9, above).sub(9, "q");
  read = readNode(test::node("N", {}, {"y"}).sub(5, texts.num(20, 8)));
  ASSERT_TRUE(read.ok()) << read.error().toString();
  EXPECT_THAT(read->graph->nodes[0].attributes[0].strings(),
              ElementsAre("p", "", longText, middle, above, "q"));
}

TEST(OnnxModel, wireFaultsAreRefused) {
  auto attempt = [](std::string bytes) {
    Result<Model> m = readModel(MappedFile::fromBytes(std::move(bytes), "m.onnx"));
    return m.ok() ? DiagnosticId::warning : m.error().id;
  };
  const std::string good = Msg().sub(7, Msg()).bytes;
  EXPECT_EQ(attempt(good), DiagnosticId::warning);
  EXPECT_EQ(attempt(""), DiagnosticId::onnxInvalid);
  EXPECT_EQ(attempt(Msg().num(1, 8).bytes), DiagnosticId::onnxInvalid) << "no graph";
  EXPECT_EQ(attempt(good + good), DiagnosticId::onnxMalformed) << "two graphs";
  EXPECT_EQ(attempt(good + "\x4b\x4c"), DiagnosticId::onnxMalformed) << "group";
  EXPECT_EQ(attempt(good + "\x07"), DiagnosticId::onnxMalformed) << "field 0";
  EXPECT_EQ(attempt(good + "\x0e"), DiagnosticId::onnxMalformed) << "wire type 6";
  EXPECT_EQ(attempt(good + "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), DiagnosticId::onnxMalformed)
      << "length 2^64-1";
  EXPECT_EQ(attempt(good + "\x08" + std::string(10, '\x80') + "\x01"), DiagnosticId::onnxMalformed)
      << "11-byte varint";
  EXPECT_EQ(attempt(good + "\x08" + std::string(9, '\xff') + "\x02"), DiagnosticId::onnxMalformed)
      << "65 bits";
  EXPECT_EQ(attempt(good + "\x0a\x01x"), DiagnosticId::onnxMalformed) << "ir_version as text";
  EXPECT_EQ(attempt("hello, this is not a model"), DiagnosticId::onnxMalformed);
}

// An If in an If ...: what lies before the inner graph is made from the inside out, as it holds the inner
// lengths, and put together from the outside in.
Msg nestedIf(size_t depth) {
  const std::string innermost = Msg().sub(1, test::node("Identity", {"x"}, {"y"})).bytes;
  const std::string attributeStart = Msg().sub(1, "then_branch").num(20, 5).bytes;
  const std::string nodeStart = test::node("If", {"c"}, {"y"}).bytes;
  size_t size = innermost.size();
  auto wrap = [&size](std::string start, char tag) {
    start += tag + Msg::varintOf(size);
    size += start.size();
    return start;
  };
  std::vector<std::string> starts;
  for (size_t i = 0; i != depth; ++i) {
    starts.push_back(wrap(attributeStart, 6 * 8 + 2));
    starts.push_back(wrap(nodeStart, 5 * 8 + 2));
    starts.push_back(wrap("", 1 * 8 + 2));
  }
  Msg graph;
  while (!starts.empty()) {
    graph.bytes += starts.back();
    starts.pop_back();
  }
  return Msg().sub(7, graph.bytes + innermost);
}

TEST(OnnxModel, graphs10000DeepAreReadWithoutRecursion) {
  Result<Model> m = read(nestedIf(10000));
  ASSERT_TRUE(m.ok()) << m.error().toString();
  const GraphProto* graph = m->graph;
  size_t depth = 0;
  while (!graph->nodes[0].attributes.empty()) {
    graph = &graph->nodes[0].attributes[0].graphs()[0];
    ++depth;
  }
  EXPECT_EQ(depth, 10000u);
  EXPECT_EQ(graph->depth, 10000u);
  Result<Model> deeper = read(nestedIf(kMaxGraphDepth + 1));
  ASSERT_FALSE(deeper.ok());
  EXPECT_EQ(deeper.error().id, DiagnosticId::onnxInvalid);
}

TEST(OnnxModel, typesNestToALimit) {
  auto nested = [](size_t depth) {
    Msg type = test::tensorType(1, {"n"});
    for (size_t i = 0; i != depth; ++i) type = Msg().sub(4, Msg().sub(1, type));
    return test::model(Msg().sub(11, test::valueInfo("x", type)));
  };
  Result<Model> m = read(nested(kMaxTypeDepth));
  ASSERT_TRUE(m.ok());
  EXPECT_EQ(m->graph->inputs[0].type->wrappers.size(), kMaxTypeDepth);
  EXPECT_FALSE(read(nested(kMaxTypeDepth + 1)).ok());
}

TEST(OnnxModel, structMemoryIsLimited) {
  std::string nodes;
  for (int i = 0; i != 200000; ++i) nodes += Msg().sub(1, Msg()).bytes;  // 2 bytes each
  Msg m = Msg().sub(7, nodes);
  Result<Model> limited = readModel(MappedFile::fromBytes(m.bytes, "m.onnx"), {.arenaLimitBytes = 1 << 20});
  ASSERT_FALSE(limited.ok());
  EXPECT_EQ(limited.error().id, DiagnosticId::memoryLimit);
  EXPECT_EQ(limited.error().place.file, "m.onnx");
  Result<Model> free = read(m);
  ASSERT_TRUE(free.ok());
  EXPECT_EQ(free->graph->nodes.size(), 200000u);
}

TEST(OnnxModel, aMillionNodesTakeUnder256Megabytes) {
  std::string graph;
  for (int i = 0; i != 1000000; ++i) {
    std::string in = "v" + std::to_string(i), out = "v" + std::to_string(i + 1);
    graph += Msg().sub(1, test::node("Relu", {in.c_str()}, {out.c_str()})).bytes;
  }
  Msg m = test::model(Msg{graph});
  Result<Model> result = read(m);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->graph->nodes[999999].outputs[0], "v1000000");
  EXPECT_LT(result->arena.usedBytes() + m.bytes.size(), uint64_t{256} << 20);
}

TEST(OnnxModel, namesInDiagnosticsAreEscapedAndCut) {
  EXPECT_EQ(quotedText("a\n\xff"), "'a\\x0a\\xff'");
  EXPECT_LT(quotedText(std::string(10000, 'x')).size(), 100u);
}

TEST(OnnxModel, enumsPrint) {
  EXPECT_EQ(elementTypeName(1), "FLOAT");
  EXPECT_EQ(elementTypeName(28), "FLOAT6E3M2");
  EXPECT_EQ(elementTypeName(-1), "#-1");
  EXPECT_EQ(toString(AttributeType::types), "TYPE_PROTOS");
}

}  // namespace
}  // namespace dyn::onnx
