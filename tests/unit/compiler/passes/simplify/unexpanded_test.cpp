// Operands that only repeat something: elementwise operators take what is repeated, where they broadcast.
#include <gtest/gtest.h>

#include "compiler/infer/infer.h"
#include "compiler/ops/op_table.h"
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

using test::expectSame;
using test::randomTensor;

HostTensor positive(std::vector<int64_t> shape, uint32_t seed) {
  HostTensor tensor = randomTensor(Dtype::f32, std::move(shape), seed);
  for (int64_t i = 0; i < tensor.elementCount(); ++i) tensor.setReal(i, std::abs(tensor.realAt(i)) + 0.5);
  return tensor;
}

// As PyTorch writes a batch normalisation without weights: its scale is one 1, repeated for each channel.
TEST(Unexpanded, aNumberForEachChannelStaysOne) {
  std::vector<std::vector<HostTensor>> inputs;
  for (const int64_t channels : {1, 2, 7})
    inputs.push_back({randomTensor(Dtype::f32, {3, channels, 5}, 1), randomTensor(Dtype::f32, {channels}, 2),
                      positive({channels}, 3)});
  expectSame(R"(fn @main(%x: Tensor[(n, c, h), f32], %m: Tensor[(c), f32], %v: Tensor[(c), f32]) {
    %one = constant() {value = f32[1] [1]}
    %half = constant() {value = f32[1] [0.5]}
    %sizes = shape(%m)
    %scale = expand(%one, %sizes)
    %bias = expand(%half, %sizes)
    %y = batch_norm(%x, %scale, %bias, %m, %v)
    return %y
  })",
             inputs);
}

TEST(Unexpanded, aScaleForEachChannelStaysOne) {
  std::vector<std::vector<HostTensor>> inputs;
  for (const int64_t channels : {1, 2, 7})
    inputs.push_back(
        {randomTensor(Dtype::f32, {3, channels, 5}, 1), randomTensor(Dtype::f32, {channels}, 2)});
  expectSame(R"(fn @main(%x: Tensor[(n, c, h), f32], %m: Tensor[(c), f32]) {
    %one = constant() {value = f32[1] [0.25]}
    %zero = constant() {value = u8[1] [3]}
    %sizes = shape(%m)
    %scale = expand(%one, %sizes)
    %zeros = expand(%zero, %sizes)
    %q = quantize_linear(%x, %scale, %zeros) {axis = 1}
    %y = dequantize_linear(%q, %scale, %zeros) {axis = 1}
    return %q, %y
  })",
             inputs);
}

// The whole table: with operands of one element for each axis the result is what it was, or the row says that
// they do not broadcast.
TEST(Unexpanded, elementwiseOperatorsBroadcastOrSayThatTheyDoNot) {
  int tried = 0;
  for (const OpDef* def : opTable()) {
    if (def->cls != OpClass::elementwise || def->minOperands < 2 || def->traits.channelOperands) continue;
    IrContext context;
    const Result<Module> parsed = test::parseText(context, def->example);
    ASSERT_TRUE(parsed.ok()) << def->name << ": " << parsed.error().toString();
    const Function& main = *parsed->main();
    for (size_t i = 1; i < main.parameters.size(); ++i) {
      const Type type = main.parameters[i].type;
      if (!type.isTensor()) continue;
      Function changed = main;
      changed.parameters[i].type = context.tensorType(
          Shape(static_cast<size_t>(type.rank()), context.dims().constant(1)), type.dtype());
      Module module = *parsed;
      module.functions = {context.own(std::move(changed))};
      const auto before = inferTypes(*parsed), after = inferTypes(module);
      ASSERT_TRUE(before.ok()) << def->name;
      ASSERT_TRUE(after.ok()) << def->name << " does not broadcast its operand " << i << ": "
                              << after.error().toString();
      const Type is = after->module.main()->resultTypes[0], was = before->module.main()->resultTypes[0];
      EXPECT_EQ(is.toString(), was.toString()) << def->name << ", operand " << i;
      for (const Op* op : after->module.main()->ops)
        EXPECT_NE(op->def, &ops::checkOp) << def->name << " demands something of its operand " << i;
      ++tried;
    }
  }
  EXPECT_GT(tried, 15);
}

}  // namespace
}  // namespace dyn
