// Kernels that differ in sizes alone have one machine code.
#include "compiler/driver/shared_code.h"

#include <cstring>

#include "compiler/export/package.h"
#include "tests/unit/compiler/driver/run_both.h"

namespace dyn {
namespace {

// Layers of several widths over a height that is halved from one to the next: kernels of one kind.
std::string layers(const std::vector<int>& widths) {
  std::string text = "fn @main(%x0: Tensor[(n, h), f32]";
  for (size_t i = 0; i < widths.size(); ++i) {
    const std::string at = std::to_string(i), c = std::to_string(widths[i]);
    text += ", %a" + at + ": Tensor[(h, " + c + "), f32], %b" + at + ": Tensor[(" + c + "), f32]";
  }
  text += ") {\n";
  std::string results;
  for (size_t i = 0; i < widths.size(); ++i) {
    const std::string at = std::to_string(i);
    text += "  %s" + at + " = add(%a" + at + ", %b" + at + ")\n  %y" + at + " = tanh(%s" + at + ")\n";
    results += (i ? ", %y" : "%y") + at;
  }
  return text + "  return " + results + "\n}\n";
}

std::vector<HostTensor> sharedCodeInputsOf(const std::vector<int>& widths, int64_t n, int64_t h) {
  std::vector<HostTensor> inputs = {test::randomTensor(Dtype::f32, {n, h}, 1)};
  for (size_t i = 0; i < widths.size(); ++i) {
    inputs.push_back(test::randomTensor(Dtype::f32, {h, widths[i]}, static_cast<uint32_t>(2 * i + 2)));
    inputs.push_back(test::randomTensor(Dtype::f32, {widths[i]}, static_cast<uint32_t>(2 * i + 3)));
  }
  return inputs;
}

TEST(SharedCode, LayersOfAllWidthsAreCompiledOnce) {
  const std::vector<int> widths = {80, 96, 144, 1152, 40, 24};
  IrContext ir;
  Result<Module> module = test::parseText(ir, layers(widths));
  ASSERT_TRUE(module.ok()) << module.error().toString();
  CompileOptions options;
  options.cacheDirectory = "none";
  Result<CompiledModel> compiled = compileModel(*module, options);
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  EXPECT_EQ(compiled->statistics.kernelsCount, 6);
  // Multiples of 16, and of 8.
  EXPECT_EQ(compiled->statistics.kernelsCompiledCount, 2);
  const SharedCode shared(compiled->lowered.kernels);
  EXPECT_EQ(shared.groups(), (std::vector<std::vector<size_t>>{{0, 1, 2, 3}, {4, 5}}));
}

TEST(SharedCode, ComputesTheSame) {
  const std::vector<int> widths = {80, 96, 144, 1152, 40, 24, 8};
  CompileOptions options;
  options.cacheDirectory = "none";
  test::expectSame(
      layers(widths),
      {sharedCodeInputsOf(widths, 1, 1), sharedCodeInputsOf(widths, 2, 7), sharedCodeInputsOf(widths, 0, 0)},
      options);
}

// Of one form, but their sizes stand in another order among what a launch gives.
TEST(SharedCode, SizesOfAnyOrderAreOneCode) {
  const std::string text =
      "fn @main(%x: Tensor[(p, q, 96), f32], %z: Tensor[(q, p, 144), f32], %a: Tensor[(p, 1, 96), f32],"
      " %b: Tensor[(q, 1, 144), f32]) {\n  %s = add(%x, %a)\n  %t = tanh(%s)\n"
      "  %u = add(%z, %b)\n  %v = tanh(%u)\n  return %t, %v\n}\n";
  IrContext ir;
  Result<Module> module = test::parseText(ir, text);
  ASSERT_TRUE(module.ok()) << module.error().toString();
  CompileOptions options;
  options.cacheDirectory = "none";
  Result<CompiledModel> compiled = compileModel(*module, options);
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  EXPECT_EQ(compiled->statistics.kernelsCount, 2);
  EXPECT_EQ(compiled->statistics.kernelsCompiledCount, 1);
  const SharedCode shared(compiled->lowered.kernels);
  ASSERT_TRUE(shared.generalOf(0) && shared.generalOf(1));
  EXPECT_NE(shared.generalOf(0)->given, shared.generalOf(1)->given);
  const auto inputs = [](int64_t p, int64_t q) {
    return std::vector<HostTensor>{
        test::randomTensor(Dtype::f32, {p, q, 96}, 1), test::randomTensor(Dtype::f32, {q, p, 144}, 2),
        test::randomTensor(Dtype::f32, {p, 1, 96}, 3), test::randomTensor(Dtype::f32, {q, 1, 144}, 4)};
  };
  test::expectSame(text, {inputs(3, 5), inputs(1, 7), inputs(4, 0), inputs(2, 2)}, options);
}

// What is shown of a kernel is what it runs: the general code, and its own call of it.
TEST(SharedCode, IsShownWithTheSizesOfTheKernel) {
  IrContext ir;
  Result<Module> module = test::parseText(ir, layers({96, 144}));
  ASSERT_TRUE(module.ok()) << module.error().toString();
  CompileOptions options;
  options.cacheDirectory = "none";
  Result<CompiledModel> compiled = compileModel(*module, options);
  ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
  Result<KernelListing> second = kernelListing(*compiled, 1, KernelText::llvm);
  ASSERT_TRUE(second.ok()) << second.error().toString();
  EXPECT_NE(second->text.find("[1 x i64] [i64 9]"), std::string::npos) << second->text;
  EXPECT_NE(second->text.find("@dyn_kernel_1("), std::string::npos);
  EXPECT_EQ(second->text.find("@dyn_kernel_0("), std::string::npos);
  EXPECT_TRUE(std::any_of(second->loopLines.begin(), second->loopLines.end(),
                          [](uint32_t line) { return line > 1; }));
}

TEST(SharedCode, PackagesAreEqualBytes) {
  std::string bytes[2];
  for (std::string& all : bytes) {
    IrContext ir;
    Result<Module> module = test::parseText(ir, layers({96, 144, 40, 24}));
    ASSERT_TRUE(module.ok()) << module.error().toString();
    CompileOptions options;
    options.cacheDirectory = "none";
    Result<CompiledModel> compiled = compileModel(*module, options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().toString();
    Result<PackagePieces> package = makePackage(*compiled, {});
    if (!package.ok()) GTEST_SKIP() << package.error().message;
    for (std::string_view piece : package->pieces) all += piece;
  }
  EXPECT_EQ(bytes[0], bytes[1]);
}

}  // namespace
}  // namespace dyn
