#include "compiler/codegen/built/built_objects.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "compiler/codegen/emit/micro_kernel.h"
#include "compiler/codegen/llvm/machine_catalog.h"

namespace dyn {
namespace {

Result<KernelEngine> engineWithBuilt(const MachineDescription& machine) {
  EngineSettings settings;
  settings.built = builtObjects();
  return KernelEngine::create(machine, settings);
}

// How many of the matrix kernels of a machine are compiled in spite of those that are there.
int64_t compiledFor(const char* preset) {
  Result<MachineDescription> machine = machinePreset(preset);
  EXPECT_TRUE(machine.ok());
  Result<KernelEngine> engine = engineWithBuilt(*machine);
  EXPECT_TRUE(engine.ok());
  Result<std::vector<ObjectCode>> objects = engine->compileAll(gemmFamilyJobs(*machine));
  EXPECT_TRUE(objects.ok()) << preset;
  return engine->statistics().compiled;
}

TEST(BuiltObjects, areThereForProcessorsOfLevels3And4) {
  for (const char* preset :
       {"x86-64-v3", "x86-64-v4", "haswell", "skylake-avx512", "sapphirerapids", "znver4"})
    EXPECT_EQ(compiledFor(preset), 0) << preset;
}

TEST(BuiltObjects, areNotTakenForOthers) {
  for (const char* preset : {"x86-64", "x86-64-v2", "aarch64", "riscv64"})
    EXPECT_GT(compiledFor(preset), 0) << preset;
}

// A processor of level 4 whose description asks for vectors of level 3, or for longer lines.
TEST(BuiltObjects, areNotTakenForOtherTiles) {
  Result<MachineDescription> machine = machinePreset("x86-64-v4");
  ASSERT_TRUE(machine.ok());
  machine->lineBytes = 128;
  Result<KernelEngine> engine = engineWithBuilt(*machine);
  ASSERT_TRUE(engine.ok());
  ASSERT_TRUE(engine->compileAll(gemmFamilyJobs(*machine)).ok());
  EXPECT_GT(engine->statistics().compiled, 0);
}

TEST(BuiltObjects, giveTheBitsOfThoseThatAreCompiledHere) {
  for (const std::string& name : machinePresetNames()) {
    Result<MachineDescription> machine = machinePreset(name);
    ASSERT_TRUE(machine.ok());
    if (!runsOnThisHost(*machine) || processorLevel(*machine) < 3) continue;
    SCOPED_TRACE(name);
    Result<KernelEngine> compiling = KernelEngine::create(*machine), taking = engineWithBuilt(*machine);
    ASSERT_TRUE(compiling.ok() && taking.ok());
    Result<GemmFamily> compiled = loadGemmFamily(*compiling), built = loadGemmFamily(*taking);
    ASSERT_TRUE(compiled.ok() && built.ok());
    const DynGemmFamily &expected = compiled->table(), &got = built->table();
    ASSERT_EQ(got.maxRows, expected.maxRows);
    ASSERT_EQ(got.panelWidth, expected.panelWidth);
    const auto rows = static_cast<size_t>(got.maxRows), width = static_cast<size_t>(got.panelWidth);
    constexpr size_t kDepth = 101;
    std::minstd_rand random(11);
    std::vector<float> a(rows * kDepth), b(kDepth * width);
    for (float& v : a) v = static_cast<float>(random()) * 1e-9f - 1.0f;
    for (float& v : b) v = static_cast<float>(random()) * 1e-9f - 1.0f;
    const auto lda = static_cast<int64_t>(kDepth), ldc = static_cast<int64_t>(width);
    for (size_t r = 0; r < rows; ++r)
      for (int64_t columns = 1; columns <= ldc; ++columns)
        for (int64_t depth : {0, 1, 5, 101})
          for (int accumulate : {0, 1}) {
            std::vector<float> c(rows * width, 0.25f), d = c;
            expected.microKernels[r](depth, a.data(), lda, b.data(), c.data(), ldc, columns, accumulate);
            got.microKernels[r](depth, a.data(), lda, b.data(), d.data(), ldc, columns, accumulate);
            ASSERT_EQ(std::memcmp(c.data(), d.data(), c.size() * sizeof(float)), 0)
                << r + 1 << " rows, " << columns << " columns, depth " << depth;
          }
  }
}

}  // namespace
}  // namespace dyn
