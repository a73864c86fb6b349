// Code objects for AMD's GPUs: they are assembled here and looked at; nothing runs them, and no hardware has.
#ifdef DYN_HAVE_LLVM
#include "tests/unit/compiler/codegen/device/amd_code.h"

#include <gmock/gmock.h>

#include <cstring>

#include "tests/unit/compiler/codegen/device/device_kernel_texts.h"

namespace dyn {
namespace {

using testing::HasSubstr;
using testing::Not;

Result<AmdKernel> made(const std::string& text, DeviceMapping mapping) {
  DimContext dims;
  DYN_TRY(loop::Kernel kernel, loop::parseKernel(dims, text));
  return emitAmdKernel(kernel, "k", mapping);
}

// A number of the code object's notes, as ".vgpr_spill_count: 0".
int noted(const std::string& assembly, const std::string& name) {
  const size_t at = assembly.find("." + name + ":");
  return at == std::string::npos ? -1 : std::atoi(assembly.c_str() + at + name.size() + 2);
}

void expectCode(const AmdKernel& kernel) {
  ASSERT_GT(kernel.object.size(), 64u);
  EXPECT_EQ(kernel.object.substr(0, 4), "\177ELF");
  uint16_t machine = 0;
  std::memcpy(&machine, kernel.object.data() + 18, sizeof machine);
  EXPECT_EQ(machine, 224) << "amdgpu";
  EXPECT_THAT(kernel.object, HasSubstr("k.kd")) << "what a runtime launches by";
  EXPECT_THAT(kernel.assembly, HasSubstr(".amdhsa_kernel k"));
  EXPECT_EQ(noted(kernel.assembly, "vgpr_spill_count"), 0);
  EXPECT_EQ(noted(kernel.assembly, "sgpr_spill_count"), 0);
  EXPECT_EQ(noted(kernel.assembly, "wavefront_size"), 32);
}

TEST(AmdCode, elementsByThreads) {
  for (const char* text : {test::kGeluText, test::kSoftmaxText, test::kProductText, test::kGatherText}) {
    SCOPED_TRACE(text);
    Result<AmdKernel> kernel = made(text, DeviceMapping::thread);
    ASSERT_TRUE(kernel.ok()) << kernel.error().toString();
    expectCode(*kernel);
    EXPECT_EQ(noted(kernel->assembly, "max_flat_workgroup_size"), 256);
    EXPECT_EQ(noted(kernel->assembly, "group_segment_fixed_size"), 0);
    EXPECT_THAT(kernel->assembly, Not(HasSubstr("s_barrier")));
  }
}

TEST(AmdCode, unitsByBlocksWithShufflesAndBarriers) {
  Result<AmdKernel> kernel = made(test::kSoftmaxText, DeviceMapping::block);
  ASSERT_TRUE(kernel.ok()) << kernel.error().toString();
  expectCode(*kernel);
  EXPECT_EQ(noted(kernel->assembly, "max_flat_workgroup_size"), 128);
  EXPECT_EQ(noted(kernel->assembly, "group_segment_fixed_size"), 16) << "a float of each wave";
  EXPECT_THAT(kernel->assembly, HasSubstr("ds_bpermute_b32"));
  EXPECT_THAT(kernel->assembly, HasSubstr("s_barrier"));
  for (const char* text : {test::kScratchText, test::kRunningText}) {
    SCOPED_TRACE(text);
    Result<AmdKernel> other = made(text, DeviceMapping::block);
    ASSERT_TRUE(other.ok()) << other.error().toString();
    expectCode(*other);
    EXPECT_THAT(other->assembly, HasSubstr("s_barrier"));
    EXPECT_GT(noted(other->assembly, "group_segment_fixed_size"), 0);
  }
}

// Every element type, and large arguments of sin, which are reduced by products of 128 bits.
TEST(AmdCode, elementTypesAndFunctions) {
  for (const std::string type : {"f16", "bf16", "f32", "f64", "i8", "u8", "i32", "i64"}) {
    const std::string text = "kernel @sum(in x: " + type + "[n, m], out y: " + type +
                             "[n]) scalars (n; m) units u < n steps (m*n) {\n  accumulate s: " + type +
                             " = maximum over j < m vector {\n    x[u, j]\n  }\n  y[u] = s\n}\n";
    for (const DeviceMapping mapping : {DeviceMapping::thread, DeviceMapping::block}) {
      Result<AmdKernel> kernel = made(text, mapping);
      ASSERT_TRUE(kernel.ok()) << text << kernel.error().toString();
      expectCode(*kernel);
    }
  }
  for (const char* function : {"sin", "tan", "exp", "log", "erf", "tanh"})
    for (const char* type : {"f32", "f64"}) {
      const std::string text = std::string("kernel @f(in x: ") + type + "[n], out y: " + type +
                               "[n]) scalars (n) units u < n steps (n) {\n  y[u] = " + function +
                               "(x[u])\n}\n";
      Result<AmdKernel> kernel = made(text, DeviceMapping::thread);
      ASSERT_TRUE(kernel.ok()) << text << kernel.error().toString();
      expectCode(*kernel);
    }
}

TEST(AmdCode, otherFormsAreRefused) {
  for (const DeviceMapping mapping : {DeviceMapping::tile, DeviceMapping::tensor, DeviceMapping::attention}) {
    Result<AmdKernel> kernel = made(test::kProductText, mapping);
    ASSERT_FALSE(kernel.ok());
    EXPECT_THAT(kernel.error().toString(), HasSubstr("unsupported"));
  }
}

}  // namespace
}  // namespace dyn
#endif
