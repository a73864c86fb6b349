// A general kernel as an object of its own, and kernels that call it with their sizes.
#include "compiler/codegen/emit/general_code.h"

#include <gtest/gtest.h>

#include "compiler/codegen/llvm/machine_catalog.h"
#include "vm/include/abi/dyn_kernel.h"

namespace dyn {
namespace {

// y = x + rows * 100 + columns, over [rows, columns]; rows are given, columns are 4 times a given scalar plus
// a size of its own.
constexpr const char* kSum =
    R"(kernel @sum(in x: f32[dim(scalar.0), dim(4*scalar.1 + size.0)], out y: f32[dim(scalar.0), dim(4*scalar.1 + size.0)]) scalars (scalar.0; scalar.1; size.0) units u < dim(scalar.0) {
  for i < dim(4*scalar.1 + size.0) vector {
    y[u, i] = x[u, i] + f32(dim(scalar.0)) * 100.0 + f32(dim(4*scalar.1 + size.0))
  }
}
)";

class GeneralCodeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<loop::Kernel> parsed = loop::parseKernel(dims_, kSum);
    ASSERT_TRUE(parsed.ok()) << parsed.error().toString();
    general_ = *std::move(parsed);
    machine_ = *detectHost();
    if (processorLevel(machine_) < 1) GTEST_SKIP() << "not on Linux on x86-64";
  }

  // Of kernels that are called with `scalars`, how many columns each has.
  void expectColumns(const std::vector<KernelOfSizes>& kernels, const std::vector<int64_t>& scalars,
                     int64_t rows, const std::vector<int64_t>& columns) {
    Result<KernelEngine> engine = KernelEngine::create(machine_);
    ASSERT_TRUE(engine.ok());
    const GeneralCode code = generalCodeOf("sum of a test", machine_);
    Result<std::vector<ObjectCode>> objects = engine->compileAll(
        {generalCodeJob(general_, 1, code, machine_), generalCallsJob({{code.symbol, kernels}}, machine_)});
    ASSERT_TRUE(objects.ok()) << objects.error().toString();
    std::vector<std::string> symbols;
    for (const KernelOfSizes& kernel : kernels) symbols.push_back(kernel.symbol);
    Result<KernelSet> set = engine->load(*objects, symbols);
    ASSERT_TRUE(set.ok()) << set.error().toString();
    for (size_t i = 0; i < kernels.size(); ++i) {
      Result<DynKernelFunction> function = set->function<DynKernelFunction>(symbols[i]);
      ASSERT_TRUE(function.ok());
      const auto count = static_cast<size_t>(rows * columns[i]);
      std::vector<float> x(count), y(count + 1, -1.0f);
      for (size_t k = 0; k < count; ++k) x[k] = static_cast<float>(k) * 0.5f;
      void* buffers[] = {x.data(), y.data()};
      EXPECT_EQ((*function)(buffers, scalars.data(), 0, rows, nullptr), 0);
      for (size_t k = 0; k < count; ++k)
        ASSERT_EQ(y[k], x[k] + static_cast<float>(rows) * 100.0f + static_cast<float>(columns[i]))
            << symbols[i];
      EXPECT_EQ(y[count], -1.0f);
    }
  }

  DimContext dims_;
  loop::Kernel general_;
  MachineDescription machine_;
};

TEST_F(GeneralCodeTest, hasTheSizesOfEachKernel) {
  const std::vector<loop::GivenScalar> same = {{0, 1}, {1, 1}};
  expectColumns({{"dyn_kernel_0", same, {3}}, {"dyn_kernel_1", same, {16}}, {"dyn_kernel_2", same, {0}}},
                {3, 5}, 3, {23, 36, 20});
}

// Scalars that stand elsewhere among those of the kernel, and multiples of what the general one is given.
TEST_F(GeneralCodeTest, takesItsScalarsFromThoseOfTheKernel) {
  expectColumns({{"dyn_kernel_0", {{4, 1}, {1, 16}}, {1}},
                 {"dyn_kernel_1", {{4, 1}, {0, 8}}, {2}},
                 {"dyn_kernel_2", {{3, 2}, {2, 1}}, {7}}},
                {72, 32, 6, 4, 2}, 2, {9, 38, 31});
}

TEST_F(GeneralCodeTest, isNamedAfterWhatItComputes) {
  EXPECT_EQ(generalCodeOf("a", machine_).symbol, generalCodeOf("a", machine_).symbol);
  EXPECT_NE(generalCodeOf("a", machine_).symbol, generalCodeOf("b", machine_).symbol);
  MachineDescription narrow = machine_;
  narrow.vectorBits /= 2;
  EXPECT_NE(generalCodeOf("a", machine_).key, generalCodeOf("a", narrow).key);
}

}  // namespace
}  // namespace dyn
