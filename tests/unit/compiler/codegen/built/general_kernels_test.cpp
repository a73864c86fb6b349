// The list of general kernels that the build compiles: all of it is there for the processors it is for, and
// what is there is what the emitters of today make.
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "compiler/codegen/built/built_objects.h"
#include "compiler/codegen/emit/general_code.h"
#include "compiler/codegen/llvm/machine_catalog.h"
#include "compiler/loop/builder/general_text.h"
#include "compiler/loop/widened_byte.h"
#include "tests/support/paths.h"

namespace dyn {
namespace {

class GeneralKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ifstream in(test::sourceFolder() + "/compiler/codegen/built/general_kernels.txt");
    Result<std::vector<loop::GeneralText>> read = loop::readGeneralTexts(in);
    ASSERT_TRUE(read.ok()) << read.error().toString();
    kernels_ = *std::move(read);
    ASSERT_GT(kernels_.size(), 100u);
  }

  std::vector<loop::GeneralText> kernels_;
};

KernelEngine engineFor(const std::string& preset) {
  EngineSettings settings;
  settings.built = builtObjects();
  return *KernelEngine::create(*machinePreset(preset), settings);
}

TEST_F(GeneralKernels, areWellFormedAndDiffer) {
  std::set<std::string> keys;
  for (const loop::GeneralText& one : kernels_) {
    EXPECT_TRUE(loop::verify(one.kernel).ok()) << one.text;
    EXPECT_EQ(loop::print(one.kernel), one.text);
    EXPECT_TRUE(keys.insert(one.key).second) << "twice: " << one.text;
  }
}

// Whose code follows from instructions of the very machine, not from its level.
TEST_F(GeneralKernels, lookNoBytesUp) {
  for (const loop::GeneralText& one : kernels_)
    for (const loop::Buffer* buffer : one.kernel.buffers)
      EXPECT_FALSE(loop::isByteTable(*buffer)) << one.text;
}

// To make code is to make dims, and threads do so for several at the same time.
TEST_F(GeneralKernels, haveDimsOfTheirOwn) {
  std::set<const DimContext*> contexts;
  for (const loop::GeneralText& one : kernels_) {
    EXPECT_EQ(&one.kernel.context->dims(), one.dims.get());
    EXPECT_TRUE(contexts.insert(one.dims.get()).second);
  }
}

#ifdef __x86_64__
TEST_F(GeneralKernels, areBuiltForLevels3And4) {
  for (const char* preset : {"x86-64-v3", "x86-64-v4", "haswell", "sapphirerapids", "znver4"}) {
    const KernelEngine engine = engineFor(preset);
    for (const loop::GeneralText& one : kernels_)
      EXPECT_TRUE(engine.isBuilt(generalCodeOf(one.key, engine.machine()).key)) << preset << ": " << one.text;
  }
  for (const char* preset : {"x86-64-v2", "aarch64"}) {
    const KernelEngine engine = engineFor(preset);
    EXPECT_FALSE(engine.isBuilt(generalCodeOf(kernels_[0].key, engine.machine()).key)) << preset;
  }
}

// Every hundredth of them.
TEST_F(GeneralKernels, areWhatIsCompiledToday) {
  for (const char* preset : {"x86-64-v3", "x86-64-v4"}) {
    KernelEngine taking = engineFor(preset);
    Result<KernelEngine> compiling = KernelEngine::create(taking.machine());
    ASSERT_TRUE(compiling.ok());
    for (size_t i = 0; i < kernels_.size(); i += 100) {
      const loop::GeneralText& one = kernels_[i];
      const KernelJob job = generalCodeJob(one.kernel, one.openSizes,
                                           generalCodeOf(one.key, taking.machine()), taking.machine());
      Result<ObjectCode> built = taking.compile(job), compiled = compiling->compile(job);
      ASSERT_TRUE(built.ok() && compiled.ok());
      EXPECT_TRUE(built->bytes == compiled->bytes) << preset << ": " << one.text;
    }
    EXPECT_EQ(taking.statistics().compiled, 0);
  }
}
#endif

}  // namespace
}  // namespace dyn
