// Loop kernels as PTX: what stands in the text, and that the assembler of the CUDA toolkit takes it for each
// generation of chips, where it is here. What the kernels compute is tested by running them (tests/simcuda).
#include "compiler/codegen/device/device_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "compiler/loop/kernel.h"
#include "tests/unit/compiler/codegen/device/device_kernel_texts.h"

namespace dyn {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kRowSums =
    R"(kernel @sums(in x: f64[n, m, q], out y: f64[n]) scalars (n; m; q) units u < n steps (m*n*q) {
  accumulate total: f64 = sum over j < m, k < q vector {
    x[u, j, k]
  }
  y[u] = total
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

constexpr const char* kCircular =
    R"(kernel @waves(in x: f32[n], in w: f64[n], out y: f32[n], out z: f64[n]) scalars (n) units u < n steps (n) {
  y[u] = sin(x[u]) + cos(x[u]) * tan(x[u])
  z[u] = mod(sin(w[u]), cos(w[u]))
}
)";
constexpr const char* kProduct =
    R"(kernel @product(in x: f32[n, 64], in w: f32[64, 96], out y: f32[n, 96]) scalars (n) units u < dim(2*n) steps (128*n) {
  let i: i64 = floorDiv(u, 2)
  for e < min(64, 96 - mod(u, 2) * 64) vector {
    accumulate s: f32 = sum over k < 64 vector {
      x[i, k] * w[k, mod(u, 2) * 64 + e]
    }
    y[i, mod(u, 2) * 64 + e] = 2.0 * s
  }
}
)";
constexpr const char* kNarrowProduct =
    R"(kernel @narrow(in x: bf16[n, 64], in w: bf16[64, 96], out y: bf16[n, 96]) scalars (n) units u < n steps (128*n) {
  for e < 96 vector {
    accumulate s: f32 = sum over k < 64 vector {
      f32(x[u, k]) * f32(w[k, e])
    }
    y[u, e] = bf16(s)
  }
}
)";
constexpr const char* kAttention =
    R"(kernel @attention(in q: f32[b, m, 64], in w: f32[b, n, 64], in v: f32[b, n, 64], out y: f32[b, m, 64]) scalars (b; m; n) units u < dim(b*m) steps (b*m*n) {
  let i_1: i64 = mod(u, m)
  let i: i64 = floorDiv(u, m)
  accumulate top: f32 = maximum over j < n vector {
    accumulate s: f32 = sum over k < 64 vector {
      q[i, i_1, k] * w[i, j, k]
    }
    s * 0.125
  }
  accumulate total: f32 = sum over j_1 < n vector {
    accumulate s_1: f32 = sum over k_1 < 64 vector {
      q[i, i_1, k_1] * w[i, j_1, k_1]
    }
    exp(s_1 * 0.125 - top)
  }
  for e < 64 vector {
    accumulate z: f32 = sum over j_2 < n vector {
      accumulate s_2: f32 = sum over k_2 < 64 vector {
        q[i, i_1, k_2] * w[i, j_2, k_2]
      }
      exp(s_2 * 0.125 - top) * (1.0 / total) * v[i, j_2, e]
    }
    y[i, i_1, e] = z
  }
}
)";
constexpr const char* kOtherThanAttention =
    R"(kernel @other(in q: f32[m, 8], in w: f32[n, 8], in v: f32[n, 8], out y: f32[m, 8]) scalars (m; n) units u < m steps (m*n) {
  accumulate top: f32 = maximum over j < n vector {
    accumulate s: f32 = sum over k < 8 vector {
      q[u, k] * w[j, k]
    }
    s
  }
  accumulate total: f32 = sum over j_1 < n vector {
    accumulate s_1: f32 = sum over k_1 < 8 vector {
      q[u, k_1] * w[j_1, k_1]
    }
    exp(s_1)
  }
  for e < 8 vector {
    accumulate z: f32 = sum over j_2 < n vector {
      accumulate s_2: f32 = sum over k_2 < 8 vector {
        q[u, k_2] * w[j_2, k_2]
      }
      exp(s_2 - top) * (1.0 / total) * v[j_2, e]
    }
    y[u, e] = z
  }
}
)";

DeviceKernel emitted(const char* text, DeviceMath math = DeviceMath::fp32) {
  DimContext dims;
  Result<loop::Kernel> kernel = loop::parseKernel(dims, text);
  EXPECT_TRUE(kernel.ok()) << kernel.error().toString();
  Result<DeviceKernel> made = emitDeviceKernel(*kernel, "k", math);
  EXPECT_TRUE(made.ok()) << made.error().toString();
  return made.ok() ? *made : DeviceKernel();
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(DeviceCode, elementsAreThreads) {
  const DeviceKernel kernel = emitted(test::kGeluText);
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
  const DeviceKernel kernel = emitted(test::kSoftmaxText);
  EXPECT_TRUE(kernel.thread);
  EXPECT_TRUE(kernel.block);
  EXPECT_THAT(kernel.ptx, HasSubstr(".visible .entry k_block("));
  // After the parts of either reduction, before the parts of the second, and before the next unit's; with
  // indices of 64 and of 32 bits.
  EXPECT_EQ(count(kernel.ptx, "bar.sync"), 2 * 4u);
  EXPECT_EQ(count(kernel.ptx, "shfl.sync.bfly"), 2 * 10u);
  EXPECT_EQ(count(kernel.ptx, ".version"), 1u) << "one module";
}

// The text of one function.
std::string functionOf(const std::string& ptx, const std::string& name) {
  const size_t begin = ptx.find(".entry " + name + "(");
  return begin == std::string::npos ? "" : ptx.substr(begin, ptx.find("\n}", begin) - begin);
}

// Counters, divisions and addresses are 32 bits wide in a form of their own; data that is computed from them
// is not.
TEST(DeviceCode, indicesOf32BitsHaveAForm) {
  const DeviceKernel kernel = emitted(
      R"(kernel @shuffled(in x: f32[n, m], out y: f32[m, n], out z: i64[m, n]) scalars (n; m; m*n) units u < dim(m*n) steps (m*n) {
  let i: i64 = mod(u, n)
  let j: i64 = floorDiv(u, n)
  y[j, i] = x[i, j]
  z[j, i] = i * 1000000007
}
)");
  EXPECT_TRUE(kernel.narrow);
  const std::string wide = functionOf(kernel.ptx, "k"), narrow = functionOf(kernel.ptx, "k_narrow");
  ASSERT_FALSE(wide.empty() || narrow.empty()) << kernel.ptx;
  for (const char* part : {"setp.ge.s64", "div.s64"}) {
    EXPECT_THAT(wide, HasSubstr(part));
    EXPECT_THAT(narrow, Not(HasSubstr(part)));
  }
  for (const char* part : {"setp.ge.s32", "div.s32"}) EXPECT_THAT(narrow, HasSubstr(part));
  EXPECT_THAT(narrow, HasSubstr("mul.wide.s32")) << "of an address";
  EXPECT_THAT(narrow, testing::ContainsRegex("mul[.](lo|wide)[.]s?(64|32) .*, 1000000007")) << "data";
}

// Each instruction says of which line of the loop IR it is; a module names that file once.
TEST(DeviceCode, hasTheLinesOfTheLoops) {
  const DeviceKernel kernel = emitted(test::kSoftmaxText);
  EXPECT_THAT(kernel.ptx, HasSubstr("\t.loc\t1 2 0"));
  EXPECT_THAT(kernel.ptx, HasSubstr("\t.loc\t1 9 0"));
  EXPECT_EQ(count(kernel.ptx, ".file"), 1u);
  EXPECT_THAT(kernel.ptx, Not(HasSubstr(", debug")));
}

TEST(DeviceCode, faultsEndAThreadAndLeaveAWord) {
  const DeviceKernel kernel = emitted(test::kGatherText);
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

TEST(DeviceCode, nothingIsLeftToALibrary) {
  const DeviceKernel kernel = emitted(kCircular);
  EXPECT_TRUE(kernel.thread);
  EXPECT_THAT(kernel.ptx, Not(HasSubstr("call")));
  EXPECT_THAT(kernel.ptx, Not(HasSubstr(".local"))) << "the table is in registers";
}

TEST(DeviceCode, productsHaveTiles) {
  const DeviceKernel kernel = emitted(kProduct);
  EXPECT_EQ(kernel.sizes, "u/2,96,64,1");
  EXPECT_THAT(kernel.ptx, HasSubstr(".entry k_tile("));
  EXPECT_THAT(kernel.ptx, HasSubstr(".entry k_square("));
  EXPECT_THAT(kernel.ptx, HasSubstr("ld.global.v4")) << "four at once, where they lie in a line";
  EXPECT_EQ(kernel.tensorPtx, "") << "f32 stays f32";
}

TEST(DeviceCode, tensorCoresStandBesideTheRest) {
  const DeviceKernel kernel = emitted(kNarrowProduct);
  EXPECT_EQ(kernel.sizes, "u,96,64,1");
  EXPECT_THAT(kernel.ptx, Not(HasSubstr("mma.sync")));
  EXPECT_THAT(kernel.ptx, HasSubstr(".target sm_75"));
  EXPECT_THAT(kernel.tensorPtx, HasSubstr(".target sm_80"));
  for (const char* part : {".entry k_tensor(", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
                           "cp.async.cg.shared.global", "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
                           "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"})
    EXPECT_THAT(kernel.tensorPtx, HasSubstr(part));
}

TEST(DeviceCode, roundedProductsOnlyWhenAsked) {
  EXPECT_THAT(emitted(kProduct, DeviceMath::tf32).tensorPtx, HasSubstr("m16n8k8.row.col.f32.tf32.tf32.f32"));
  EXPECT_THAT(emitted(kProduct, DeviceMath::bf16).tensorPtx, HasSubstr("m16n8k16.row.col.f32.bf16.bf16.f32"));
  EXPECT_THAT(emitted(kNarrowProduct, DeviceMath::tf32).tensorPtx, HasSubstr("bf16.bf16"))
      << "nothing is lost as it is";
}

TEST(DeviceCode, attentionIsOneKernel) {
  const DeviceKernel kernel = emitted(kAttention);
  EXPECT_TRUE(kernel.attention);
  EXPECT_EQ(kernel.sizes, "#1,1,1,u/#1");
  EXPECT_EQ(count(kernel.ptx, ".entry"), 1u);
  EXPECT_EQ(count(kernel.ptx, "bar.sync"), 6u);
  EXPECT_FALSE(emitted(kOtherThanAttention).attention) << "not the softmax's own largest";
}

class Assembled : public testing::TestWithParam<const char*> {};

TEST_P(Assembled, byPtxasForEveryGeneration) {
  if (std::system("ptxas --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "unavailable: ptxas";
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("dyn_ptx_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const DeviceKernel kernel = emitted(GetParam(), DeviceMath::tf32);
  for (const bool tensor : {false, true}) {
    const std::string& text = tensor ? kernel.tensorPtx : kernel.ptx;
    if (text.empty()) continue;
    const std::string file = (folder / "k.ptx").string();
    std::ofstream(file) << text;
    for (const char* chip : {"75", "80", "90", "100", "120"}) {
      if (tensor && std::string(chip) == "75") continue;  // has no such units
      const std::string command = "ptxas -arch=sm_" + std::string(chip) +
                                  " -warn-spills -warn-lmem-usage -Werror " + file + " -o " + file + ".cubin";
      EXPECT_EQ(std::system(command.c_str()), 0) << chip;
    }
  }
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Assembled,
                         testing::Values(test::kGeluText, test::kSoftmaxText, kRowSums, test::kGatherText,
                                         kScratch, kCircular, kProduct, kNarrowProduct, kAttention),
                         [](const auto& info) {
                           const std::string text = info.param;
                           return text.substr(8, text.find('(') - 8);
                         });

}  // namespace
}  // namespace dyn
