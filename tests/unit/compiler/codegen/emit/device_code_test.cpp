// Loop kernels as PTX: what stands in the text, and that the assembler of the CUDA toolkit takes it for each
// generation of chips, where it is here. What the kernels compute is tested by running them (tests/simcuda).
#include "compiler/codegen/emit/device_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "compiler/loop/kernel.h"

namespace dyn {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kElements =
    R"(kernel @gelu(in x: f32[n, m], out y: f32[n, m]) scalars (n; m) units u < n steps (m*n) {
  for i < m vector {
    y[u, i] = 0.5 * x[u, i] * (1.0 + erf(x[u, i] * 0.70710678))
  }
}
)";
constexpr const char* kSoftmax =
    R"(kernel @softmax(in x: f32[n, m], out y: f32[n, m]) scalars (n; m) units u < n steps (m*n) {
  accumulate top: f32 = maximum over j < m vector {
    x[u, j]
  }
  accumulate total: f32 = sum over k < m vector {
    exp(x[u, k] - top)
  }
  for i < m vector {
    y[u, i] = exp(x[u, i] - top) / total
  }
}
)";
constexpr const char* kRowSums =
    R"(kernel @sums(in x: f64[n, m, q], out y: f64[n]) scalars (n; m; q) units u < n steps (m*n*q) {
  accumulate total: f64 = sum over j < m, k < q vector {
    x[u, j, k]
  }
  y[u] = total
}
)";
constexpr const char* kGather =
    R"(kernel @gather(in x: f32[n, m], in i: i64[q], out y: f32[q, m]) scalars (n; m; q) units u < q steps (m*q) {
  let at: i64 = i[u]
  check 0 <= at && at < n fault 1
  for j < m vector {
    y[u, j] = x[at, j]
  }
}
)";
constexpr const char* kScratch =
    R"(kernel @kept(in x: f32[n, 64], out y: f32[n, 64]) scalars (n) units u < n steps (64*n) {
  scratch t: f32[64]
  accumulate total: f32 = sum over j < 64 vector {
    x[u, j]
  }
  for i < 64 vector {
    t[i] = x[u, i] / total
  }
  for q < 64 vector {
    y[u, q] = t[63 - q]
  }
}
)";

DeviceKernel emitted(const char* text) {
  DimContext dims;
  Result<loop::Kernel> kernel = loop::parseKernel(dims, text);
  EXPECT_TRUE(kernel.ok()) << kernel.error().toString();
  Result<DeviceKernel> made = emitDeviceKernel(*kernel, "k");
  EXPECT_TRUE(made.ok()) << made.error().toString();
  return made.ok() ? *made : DeviceKernel();
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(DeviceCode, elementsAreThreads) {
  const DeviceKernel kernel = emitted(kElements);
  EXPECT_TRUE(kernel.thread);
  EXPECT_FALSE(kernel.block) << "nothing to share";
  EXPECT_FALSE(kernel.mayFault);
  EXPECT_THAT(kernel.ptx, HasSubstr(".visible .entry k("));
  EXPECT_THAT(kernel.ptx, HasSubstr(".target sm_75"));
  EXPECT_THAT(kernel.ptx, HasSubstr(".maxntid 256"));
  EXPECT_THAT(kernel.ptx, Not(HasSubstr("bar.sync")));
  EXPECT_THAT(kernel.ptx, Not(HasSubstr("call")));
}

TEST(DeviceCode, reductionsHaveABlockForm) {
  const DeviceKernel kernel = emitted(kSoftmax);
  EXPECT_TRUE(kernel.thread);
  EXPECT_TRUE(kernel.block);
  EXPECT_THAT(kernel.ptx, HasSubstr(".visible .entry k_block("));
  // After the parts of either reduction, before the parts of the second, and before the next unit's.
  EXPECT_EQ(count(kernel.ptx, "bar.sync"), 4u);
  EXPECT_EQ(count(kernel.ptx, "shfl.sync.bfly"), 10u);
  EXPECT_EQ(count(kernel.ptx, ".version"), 1u) << "one module";
}

// Each instruction says of which line of the loop IR it is; a module names that file once.
TEST(DeviceCode, hasTheLinesOfTheLoops) {
  const DeviceKernel kernel = emitted(kSoftmax);
  EXPECT_THAT(kernel.ptx, HasSubstr("\t.loc\t1 2 0"));
  EXPECT_THAT(kernel.ptx, HasSubstr("\t.loc\t1 9 0"));
  EXPECT_EQ(count(kernel.ptx, ".file"), 1u);
  EXPECT_THAT(kernel.ptx, Not(HasSubstr(", debug")));
}

TEST(DeviceCode, faultsEndAThreadAndLeaveAWord) {
  const DeviceKernel kernel = emitted(kGather);
  EXPECT_TRUE(kernel.mayFault);
  EXPECT_FALSE(kernel.block);
  EXPECT_THAT(kernel.ptx, HasSubstr("atom.global.min.u64"));
}

TEST(DeviceCode, scratchIsShared) {
  const DeviceKernel kernel = emitted(kScratch);
  EXPECT_FALSE(kernel.thread) << "a thread has no memory of its own";
  EXPECT_TRUE(kernel.block);
  EXPECT_THAT(kernel.ptx, HasSubstr(".shared"));
  EXPECT_THAT(kernel.ptx, Not(HasSubstr(".local")));
}

TEST(DeviceCode, whatTheLibraryAnswersIsRefused) {
  DimContext dims;
  Result<loop::Kernel> kernel =
      loop::parseKernel(dims, R"(kernel @sine(in x: f32[n], out y: f32[n]) scalars (n) units u < n steps (n) {
  y[u] = sin(x[u])
}
)");
  ASSERT_TRUE(kernel.ok());
  Result<DeviceKernel> made = emitDeviceKernel(*kernel, "k");
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message, HasSubstr("sinf of the C library"));
}

class Assembled : public testing::TestWithParam<const char*> {};

TEST_P(Assembled, byPtxasForEveryGeneration) {
  if (std::system("ptxas --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "unavailable: ptxas";
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("dyn_ptx_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string file = (folder / "k.ptx").string();
  std::ofstream(file) << emitted(GetParam()).ptx;
  for (const char* chip : {"75", "80", "90", "100", "120"}) {
    const std::string command = "ptxas -arch=sm_" + std::string(chip) +
                                " -warn-spills -warn-lmem-usage -Werror " + file + " -o " + file + ".cubin";
    EXPECT_EQ(std::system(command.c_str()), 0) << chip;
  }
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Assembled,
                         testing::Values(kElements, kSoftmax, kRowSums, kGather, kScratch),
                         [](const auto& info) {
                           const std::string text = info.param;
                           return text.substr(8, text.find('(') - 8);
                         });

}  // namespace
}  // namespace dyn
