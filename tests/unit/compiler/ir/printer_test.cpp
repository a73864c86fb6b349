#include "compiler/ir/printer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/ir/op_def.h"
#include "tests/unit/compiler/ir/module_builder.h"

namespace dyn {
namespace {

using testing::Builder;
using testing::findSmallOp;
using ::testing::HasSubstr;

TEST(Printer, largeConstantsAreReferencesUnlessAskedFor) {
  IrContext c;
  HostTensor weight = *HostTensor::create(Dtype::f32, {4, 5});
  weight.setReal(7, 1.5);
  Builder b(c, "main");
  const ValueId w =
      b.op("constant", {}, c.tensorType(std::vector<int64_t>{4, 5}, Dtype::f32), {{"value", weight}});
  c.setValueName(w, "encoder.w");
  Module m;
  m.context = &c;
  m.functions = {b.done({w}, {Type()})};
  EXPECT_THAT(print(m),
              HasSubstr("%encoder.w = constant() {value = f32[4, 5] <weight \"encoder.w\", crc32 0x"));
  EXPECT_THAT(print(m, {.checksums = PrintOptions::Checksums::leaveOut}),
              HasSubstr("<weight \"encoder.w\">"));
  EXPECT_THAT(print(m, {.maxInlineElements = -1}), HasSubstr("[[0, 0, 0, 0, 0], [0, 0, 1.5, 0, 0], [0"));
  const auto weights = weightsOf(m);
  ASSERT_EQ(weights.size(), 1u);
  EXPECT_TRUE(weights.at("encoder.w").identical(weight));
  EXPECT_TRUE(weightsOf(m, {.maxInlineElements = -1}).empty());
}

TEST(Printer, placesAreComments) {
  IrContext c;
  Builder b(c, "main");
  Op op{findSmallOp("check"),
        {b.parameter(Type(), "x")},
        {},
        {},
        {},
        SourceLocation{.file = "m.onnx", .node = "N\n1"}};
  b.function.ops.push_back(c.own(std::move(op)));
  const Function* f = b.done({}, {});
  EXPECT_EQ(print(c, *f, {.places = PrintOptions::Places::print}),
            "fn @main(%x) -> () {\n  check(%x)  # at m.onnx: node N 1\n  return\n}\n");
  EXPECT_EQ(print(c, *f->ops[0]), "check(%x)");
}

TEST(Printer, linesOfOperations) {
  IrContext c;
  const Module m = testing::nestedIfs(c, 3);
  std::vector<PrintedLine> lines;
  const std::string text = print(m, {}, &lines);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].op, m.main()->ops[0]);
  EXPECT_EQ(lines[0].line, 2u);
  EXPECT_EQ(lines[2].line, 4u);
  EXPECT_EQ(print(c, *m.main()->ops[0]).find('\n'), std::string::npos);
  EXPECT_THAT(print(c, *m.main()->ops[0]), HasSubstr("then {...} else {...} : Tensor[(), bool]"));
}

TEST(Printer, brokenModulesPrintToo) {
  IrContext c;
  Function f;
  f.name = "";
  f.ops = {c.own(Op{nullptr,
                    {kNoValue, 4711},
                    {{kNoValue, Type()}, {3, Type()}},
                    {{"t", HostTensor()}, {"d", Shape{Dim()}}},
                    {nullptr},
                    {}})};
  f.results = {kNoValue};
  Module m;
  m.context = &c;
  m.functions = {c.own(std::move(f)), nullptr};
  EXPECT_EQ(print(m),
            "fn @\"\"() -> () {\n  _, %3 = (no operator)(_, %4711) {d = dims((no dim)), t = (no tensor)} "
            "body (no body)\n  return _\n}\n");
  EXPECT_EQ(print(Module()), "");
}

}  // namespace
}  // namespace dyn
