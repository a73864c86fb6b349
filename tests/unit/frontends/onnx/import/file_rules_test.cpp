// Every rule of file_rules.h has a file here that breaks it, made from one that breaks none.
#include "frontends/onnx/import/file_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "compiler/infer/infer.h"
#include "frontends/onnx/import/importer.h"
#include "frontends/onnx/import/operator_schemas.h"
#include "frontends/onnx/map/map_table.h"
#include "tests/unit/frontends/onnx/proto_builder.h"

namespace dyn::onnx::test {
namespace {

using ::testing::HasSubstr;

// The parts of a file, each to be replaced by a broken one.
struct FileParts {
  Msg version = Msg().num(1, 8);
  Msg opsets = Msg().sub(8, Msg().num(2, 17));
  Msg name = Msg().sub(2, "g");
  Msg input = Msg().sub(11, valueInfo("x", tensorType(1, {"n", "3"})));
  Msg nodes = Msg().sub(1, node("Relu", {"x"}, {"a"})).sub(1, node("Neg", {"a"}, {"y"}));
  Msg output = Msg().sub(12, valueInfo("y", tensorType(1, {"n", "3"})));
  Msg moreOfGraph, moreOfModel;

  std::string bytes() const {
    Msg graph;
    for (const Msg* part : {&nodes, &name, &input, &output, &moreOfGraph}) graph.bytes += part->bytes;
    Msg model = version;
    model.bytes += opsets.bytes;
    return model.sub(7, graph).bytes + moreOfModel.bytes;
  }
};

Msg function(std::string_view name, const Msg& inner) {
  return Msg().sub(25, Msg()
                           .sub(1, name)
                           .sub(10, "local")
                           .sub(4, "v")
                           .sub(5, "w")
                           .sub(7, inner)
                           .sub(9, Msg().num(2, 17))
                           .sub(9, Msg().sub(1, "local").num(2, 1)));
}

Msg dims(int64_t first) {
  return Msg().sub(1, Msg().num(1, 1).sub(2, Msg().sub(1, Msg().num(1, first)).sub(1, Msg().num(1, 3))));
}

const Msg kImportLocal = Msg().sub(8, Msg().num(2, 17)).sub(8, Msg().sub(1, "local").num(2, 1));

struct Violation {
  const char* rule;
  const char* says;  // part of the message
  void (*breakIt)(FileParts&);
};

const Violation kViolations[] = {
    {"ir-version-missing", "no IR version", [](FileParts& f) { f.version = Msg(); }},
    {"ir-version-newer", "IR version 99", [](FileParts& f) { f.version = Msg().num(1, 99); }},
    {"opset-missing", "no operator set", [](FileParts& f) { f.opsets = Msg(); }},
    {"opset-too-early", "IR version 2 has no operator sets",
     [](FileParts& f) { f.version = Msg().num(1, 2); }},
    {"opset-below-1", "operator set 0", [](FileParts& f) { f.opsets = Msg().sub(8, Msg().num(2, 0)); }},
    {"opset-below-1", "operator set -3", [](FileParts& f) { f.opsets = Msg().sub(8, Msg().num(2, -3)); }},
    {"opset-newer", "operator set 29", [](FileParts& f) { f.opsets = Msg().sub(8, Msg().num(2, 29)); }},
    {"opset-twice", "in version 17 and in version 11",
     [](FileParts& f) { f.opsets.sub(8, Msg().sub(1, "ai.onnx").num(2, 11)); }},
    {"opset-repeated", "imported twice", [](FileParts& f) { f.opsets.sub(8, Msg().num(2, 17)); }},
    {"domain-below-1", "'other' is imported in version 0",
     [](FileParts& f) { f.opsets.sub(8, Msg().sub(1, "other").num(2, 0)); }},
    {"domain-not-imported", "not imported",
     [](FileParts& f) { f.nodes = Msg().sub(1, node("Relu", {"x"}, {"y"}).sub(7, "other")); }},
    {"contrib-not-imported", "taken in version 1",
     [](FileParts& f) { f.nodes = Msg().sub(1, node("Gelu", {"x"}, {"y"}).sub(7, "com.microsoft")); }},
    {"graph-unnamed", "no name", [](FileParts& f) { f.name = Msg(); }},
    {"input-unnamed", "an input has no name",
     [](FileParts& f) { f.input.sub(11, valueInfo("", tensorType(1, {"n"}))); }},
    {"output-unnamed", "has no name",
     [](FileParts& f) { f.output.sub(12, valueInfo("", tensorType(1, {"n"}))); }},
    {"output-twice", "output 'y' is listed twice",
     [](FileParts& f) {
       f.output.sub(12, valueInfo("y", tensorType(1, {"n", "3"})));
     }},
    {"output-untyped", "output 'y' has no type",
     [](FileParts& f) { f.output = Msg().sub(12, Msg().sub(1, "y")); }},
    {"dim-negative", "dim 0 is declared as -7",
     [](FileParts& f) { f.input = Msg().sub(11, valueInfo("x", dims(-7))); }},
    {"dim-minus-one", "dim 0 is declared as -1",
     [](FileParts& f) { f.input = Msg().sub(11, valueInfo("x", dims(-1))); }},
    {"initializer-unnamed", "an initializer has no name",
     [](FileParts& f) { f.moreOfGraph.sub(5, Msg().packed(1, {1}).num(2, 1).packedFixed<float>(4, {1})); }},
    {"initializer-negative", "a dim of -2",
     [](FileParts& f) {
       f.moreOfGraph.sub(5, Msg().packed(1, {-2}).num(2, 1).packedFixed<float>(4, {1, 2}).sub(8, "w"));
     }},
    {"initializer-size", "4 bytes of data, its dims need 8",
     [](FileParts& f) {
       f.moreOfGraph.sub(5, Msg().packed(1, {2}).num(2, 1).sub(8, "w").sub(9, std::string_view("abcd")));
     }},
    {"sparse-places", "two values at one place",
     [](FileParts& f) {
       const Msg values = Msg().packed(1, {2}).num(2, 1).packedFixed<float>(4, {1, 2}).sub(8, "w");
       const Msg places = Msg().packed(1, {2}).num(2, 7).packed(7, {1, 1}).sub(8, "p");
       f.moreOfGraph.sub(15, Msg().sub(1, values).sub(2, places).packed(3, {3}));
       f.nodes.sub(1, node("Add", {"a", "w"}, {"z"}));
     }},
    {"sparse-places", "do not go with its values",
     [](FileParts& f) {
       const Msg values = Msg().packed(1, {2}).num(2, 1).packedFixed<float>(4, {1, 2}).sub(8, "w");
       const Msg places = Msg().packed(1, {2, 1, 1}).num(2, 7).packed(7, {0, 1}).sub(8, "p");
       f.moreOfGraph.sub(15, Msg().sub(1, values).sub(2, places).packed(3, {3}));
       f.nodes.sub(1, node("Add", {"a", "w"}, {"z"}));
     }},
    {"initializer-no-input", "not an input of the graph",
     [](FileParts& f) {
       f.version = Msg().num(1, 3);
       f.moreOfGraph.sub(5, Msg().packed(1, {1}).num(2, 1).packedFixed<float>(4, {1}).sub(8, "w"));
     }},
    {"value-twice", "defined twice", [](FileParts& f) { f.nodes.sub(1, node("Abs", {"x"}, {"a"})); }},
    {"value-shadowed", "'a' of a body",
     [](FileParts& f) {
       const auto branch = [](const char* op, const char* result) {
         return Msg()
             .sub(1, node(op, {"x"}, {result}))
             .sub(2, result)
             .sub(12, valueInfo(result, tensorType(1, {"n", "3"})));
       };
       const auto attribute = [](const char* name, const Msg& graph) {
         return Msg().sub(1, name).sub(6, graph).num(20, 5);
       };
       f.moreOfGraph.sub(5, Msg().num(2, 9).packed(5, {1}).sub(8, "c"));
       f.nodes.sub(1, node("If", {"c"}, {"z"})
                          .sub(5, attribute("then_branch", branch("Neg", "a")))
                          .sub(5, attribute("else_branch", branch("Abs", "b"))));
     }},
    {"value-undefined", "'nowhere'", [](FileParts& f) { f.nodes.sub(1, node("Abs", {"nowhere"}, {"b"})); }},
    {"nodes-unsorted", "'a' is used before",
     [](FileParts& f) {
       f.nodes = Msg().sub(1, node("Neg", {"a"}, {"y"})).sub(1, node("Relu", {"x"}, {"a"}));
     }},
    {"body-early", "a body reads value 'y' before",
     [](FileParts& f) {
       const auto branch = [](const char* name, const char* result) {
         const Msg graph = Msg()
                               .sub(1, node("Neg", {"y"}, {result}))
                               .sub(2, result)
                               .sub(12, valueInfo(result, tensorType(1, {"n", "3"})));
         return Msg().sub(1, name).sub(6, graph).num(20, 5);
       };
       f.moreOfGraph.sub(5, Msg().num(2, 9).packed(5, {1}).sub(8, "c"));
       const Msg chooses =
           node("If", {"c"}, {"z"}).sub(5, branch("then_branch", "t")).sub(5, branch("else_branch", "e"));
       f.nodes = Msg().sub(1, chooses).sub(1, node("Relu", {"x"}, {"y"}));
     }},
    {"nodes-cyclic", "cycle",
     [](FileParts& f) {
       f.nodes = Msg().sub(1, node("Neg", {"a"}, {"y"})).sub(1, node("Relu", {"y"}, {"a"}));
     }},
    {"axis-twice", "has axis 1 twice",
     [](FileParts& f) {
       const auto list = [](const char* name, int64_t a, int64_t b) {
         return Msg().packed(1, {2}).num(2, 7).packed(7, {a, b}).sub(8, name);
       };
       f.moreOfGraph.sub(5, list("starts", 0, 0)).sub(5, list("ends", 1, 1)).sub(5, list("axes", 1, 1));
       f.nodes.sub(1, node("Slice", {"x", "starts", "ends", "axes"}, {"z"}));
     }},
    {"axis-twice", "has axis -1 twice",
     [](FileParts& f) {
       f.opsets = Msg().sub(8, Msg().num(2, 9));
       const auto list = [](const char* name, int64_t a, int64_t b) {
         return Msg().sub(1, name).num(20, 7).packed(8, {a, b});
       };
       f.nodes.sub(1, node("Slice", {"x"}, {"z"})
                          .sub(5, list("axes", -1, -1))
                          .sub(5, list("starts", 0, 0))
                          .sub(5, list("ends", 1, 1)));
     }},
    {"operator-newer", "newer than the operator set 17",
     [](FileParts& f) { f.nodes = Msg().sub(1, node("Gelu", {"x"}, {"y"})); }},
    {"operator-early", "taken as that of 10",
     [](FileParts& f) {
       f.opsets = Msg().sub(8, Msg().num(2, 7));
       f.nodes = Msg().sub(1, node("ThresholdedRelu", {"x"}, {"y"}));
     }},
    {"operator-old", "out of use",
     [](FileParts& f) {
       const Msg axes = Msg().sub(1, "axes").num(20, 7).num(8, 0);
       f.nodes.sub(1, node("ArgMax", {"x"}, {"i"}))
           .sub(1, node("ReduceMax", {"x"}, {"u"}).sub(5, axes))
           .sub(1, node("Scatter", {"x", "i", "u"}, {"z"}));
     }},
    {"function-unnamed", "a function has no name",
     [](FileParts& f) { f.moreOfModel = function("", node("Relu", {"v"}, {"w"})); }},
    {"function-twice", "local::f is there twice",
     [](FileParts& f) {
       f.moreOfModel = function("f", node("Relu", {"v"}, {"w"}));
       f.moreOfModel.bytes += f.moreOfModel.bytes;
     }},
    {"function-names", "lists 'w' twice",
     [](FileParts& f) {
       f.moreOfModel = Msg().sub(25, Msg()
                                         .sub(1, "f")
                                         .sub(10, "local")
                                         .sub(4, "v")
                                         .sub(5, "w")
                                         .sub(5, "w")
                                         .sub(7, node("Relu", {"v"}, {"w"}))
                                         .sub(9, Msg().num(2, 17)));
     }},
    {"function-domain", "local::f uses domain 'other'",
     [](FileParts& f) {
       f.opsets = kImportLocal;
       f.moreOfModel = function("f", node("Relu", {"v"}, {"w"}).sub(7, "other"));
     }},
    {"function-recursive", "calls itself",
     [](FileParts& f) {
       f.opsets = kImportLocal;
       f.nodes = Msg().sub(1, node("f", {"x"}, {"y"}).sub(7, "local"));
       f.moreOfModel = function("f", node("f", {"v"}, {"w"}).sub(7, "local"));
     }},
    {"metadata-twice", "'k' twice",
     [](FileParts& f) {
       const Msg property = Msg().sub(1, "k").sub(2, "v");
       f.moreOfModel = Msg().sub(14, property).sub(14, property);
     }},
    {"output-dtype", "to be i64",
     [](FileParts& f) {
       f.output = Msg().sub(12, valueInfo("y", tensorType(7, {"n", "3"})));
     }},
    {"output-shape", "rank 1",
     [](FileParts& f) { f.output = Msg().sub(12, valueInfo("y", tensorType(1, {"n"}))); }},
    {"output-shape", "declared as -7",
     [](FileParts& f) { f.output = Msg().sub(12, valueInfo("y", dims(-7))); }},
};

struct Found {
  std::vector<Diagnostic> errors, warnings;
};

Found faultsOf(const FileParts& parts) {
  IrContext ir;
  ImportOptions options;
  options.collectProblems = true;
  Result<ImportResult> imported = importModel(ir, MappedFile::fromBytes(parts.bytes(), "m.onnx"), options);
  if (!imported.ok()) return {{imported.error()}, {}};
  Found found{imported->problems, imported->warnings};
  if (!found.errors.empty()) return found;
  Result<InferredModule> typed = inferTypes(imported->module);
  if (!typed.ok()) {
    found.errors.push_back(typed.error());
    return found;
  }
  for (Diagnostic& fault : wrongOutputs(imported->declaredOutputs, *typed->module.main(), ir.facts()))
    (fault.severity == Severity::warning ? found.warnings : found.errors).push_back(std::move(fault));
  return found;
}

std::string texts(const std::vector<Diagnostic>& list) {
  std::string all;
  for (const Diagnostic& d : list) all += d.toString() + "\n";
  return all;
}

TEST(FileRules, AFileThatBreaksNoneHasNoFault) {
  const Found found = faultsOf(FileParts());
  EXPECT_EQ(texts(found.errors) + texts(found.warnings), "");
}

TEST(FileRules, EachIsFoundWhereItIsBroken) {
  std::map<std::string_view, const FileRule*> rules;
  for (const FileRule& rule : fileRules()) EXPECT_TRUE(rules.emplace(rule.id, &rule).second) << rule.id;
  std::set<std::string_view> broken;
  for (const Violation& violation : kViolations) {
    SCOPED_TRACE(violation.rule);
    ASSERT_TRUE(rules.count(violation.rule));
    const FileRule& rule = *rules.at(violation.rule);
    broken.insert(violation.rule);
    FileParts parts;
    violation.breakIt(parts);
    const Found found = faultsOf(parts);
    const bool warns = rule.kind == DiagnosticId::warning;
    EXPECT_THAT(texts(warns ? found.warnings : found.errors), HasSubstr(violation.says));
    if (warns) {
      EXPECT_EQ(texts(found.errors), "") << "a warning stops nothing";
    }
    for (const Diagnostic& fault : warns ? found.warnings : found.errors)
      EXPECT_TRUE(fault.place.known()) << fault.toString();
    if (!warns && !found.errors.empty()) {
      EXPECT_EQ(exitCode(found.errors[0].id), rule.kind == DiagnosticId::unsupportedFeature ? 4 : 1);
    }
  }
  for (const FileRule& rule : fileRules())
    EXPECT_TRUE(broken.count(rule.id)) << rule.id << " needs a row in kViolations: a file that breaks it";
}

TEST(FileRules, ManyFaultsOfOneRuleAreCounted) {
  FileParts parts;
  for (int i = 0; i < 100; ++i)
    parts.moreOfGraph.sub(5, Msg().packed(1, {1}).num(2, 1).packedFixed<float>(4, {1}));
  const Found found = faultsOf(parts);
  EXPECT_THAT(texts(found.errors), HasSubstr("95 more"));
}

// --- forms of nodes

TEST(OperatorSchemas, AreSortedAndEveryOperatorOfTheStandardHasOne) {
  const std::set<std::string_view> standard = {"", "ai.onnx.ml", "ai.onnx.preview",
                                               "ai.onnx.preview.training"};
  // Runtimes write the first under the standard's domain; the second comes with the operator set after the
  // newest that is known.
  const std::set<std::string_view> others = {
      "SimplifiedLayerNormalization", "SwiGLU",
      // Experimental until 2018; exporters of that time wrote them, and onnxruntime still takes them.
      "Affine", "Crop", "DynamicSlice", "ImageScaler", "ParametricSoftplus", "Scale", "ScaledTanh"};
  std::tuple<std::string_view, std::string_view, int64_t> before;
  for (const OperatorSchema& row : operatorSchemas()) {
    EXPECT_LT(before, std::tuple(row.domain, row.name, row.since));
    before = {row.domain, row.name, row.since};
    EXPECT_TRUE(standard.count(row.domain)) << row.domain;
  }
  for (const MapRow& row : mapTable())
    if (standard.count(row.domain) && !others.count(row.name)) {
      EXPECT_FALSE(schemasOf(row.domain, row.name).empty()) << row.name;
    }
  for (const char* name : {"If", "Loop", "Scan", "SequenceMap"})
    EXPECT_FALSE(schemasOf("", name).empty()) << name;
}

Msg attribute(std::string_view name, int64_t type, const Msg& value) {
  Msg m = Msg().sub(1, name).num(20, type);
  m.bytes += value.bytes;
  return Msg().sub(5, m);
}
Msg with(Msg m, const Msg& more) {
  m.bytes += more.bytes;
  return m;
}

TEST(OperatorSchemas, NodesOfAnotherFormAreRefused) {
  const Msg axis = attribute("axis", 2, Msg().num(3, 1));
  struct Row {
    Msg node;
    const char* says;
  };
  const Row rows[] = {
      {node("Relu", {"x", "x"}, {"y"}), "2 inputs where 1 are demanded"},
      {node("Add", {"x"}, {"y"}), "1 inputs where 2 are demanded"},
      {node("Relu", {"x"}, {"y", "z"}), "2 outputs where 1 are demanded"},
      {node("Relu", {"x"}, {""}), "its output has no name"},
      {with(node("Relu", {"x"}, {"y"}), axis), "'axis' is not known"},
      {with(node("Softmax", {"x"}, {"y"}), with(axis, axis)), "'axis' is there twice"},
      {with(node("Softmax", {"x"}, {"y"}), attribute("axis", 1, Msg().f32(2, 1))),
       "FLOAT where the standard demands INT"},
      {with(node("Softmax", {"x"}, {"y"}), attribute("", 2, Msg().num(3, 1))), "no name"},
      {with(node("Softmax", {"x"}, {"y"}), attribute("axes", 2, Msg().num(3, 1))), "did you mean axis"},
      {node("Concat", {"x", "x"}, {"y"}), "'axis' is missing"},
      {node("If", {"x"}, {"y"}), "branch' is missing"},
      {with(node("Scan", {"x"}, {"y"}), axis), "'axis' is not known"},
      {with(node("Reshape", {"x", "x"}, {"y"}), attribute("shape", 7, Msg().num(8, 1))),
       "'shape' is not known"},
  };
  for (const Row& row : rows) {
    FileParts parts;
    parts.nodes = Msg().sub(1, row.node);
    const Found found = faultsOf(parts);
    ASSERT_FALSE(found.errors.empty()) << row.says;
    EXPECT_THAT(found.errors[0].toString(), HasSubstr(row.says));
    EXPECT_THAT(found.errors[0].place.toString(), HasSubstr("opset 17")) << "the place names the node";
  }
}

}  // namespace
}  // namespace dyn::onnx::test
