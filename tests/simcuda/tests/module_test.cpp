// What stands around instructions: module variables, parameters, generic addresses, shared memory.
#include <gtest/gtest.h>

#include "tests/simcuda/tests/api.h"

namespace {

class Module : public DriverTest {};

const char* const kText = R"(
.version 7.0
.target sm_75
.address_size 64
.const .align 4 .b8 table[8] = {1, 0, 0, 0, 2, 0, 0, 0};
.global .align 4 .u32 total = 5;
.extern .shared .align 16 .b8 dynamic[];
.visible .entry k(.param .align 8 .b8 args[24])
.maxntid 64, 1, 1
{
  .reg .b32 %r<16>;
  .reg .b64 %rd<16>;
  .reg .pred %p<2>;
  ld.param.u64 %rd1, [args];                 // where results go
  ld.param.v2.u32 {%r1, %r2}, [args+8];
  mov.u32 %r3, %tid.x;
  mov.u64 %rd2, table;
  ld.const.u32 %r4, [table+4];
  ld.global.u32 %r5, [total];
  mov.u64 %rd3, dynamic;
  cvta.shared.u64 %rd4, %rd3;
  mul.wide.u32 %rd5, %r3, 4;
  add.s64 %rd6, %rd4, %rd5;
  add.u32 %r6, %r1, %r3;
  st.u32 [%rd6], %r6;                        // shared memory by a generic address
  bar.sync 0;
  xor.b32 %r7, %r3, 1;
  shl.b32 %r7, %r7, 2;
  mov.u32 %r8, dynamic;
  add.u32 %r8, %r8, %r7;
  ld.shared.u32 %r9, [%r8];
  add.u32 %r9, %r9, %r2;
  add.u32 %r9, %r9, %r4;
  add.u32 %r9, %r9, %r5;
  add.s64 %rd7, %rd1, %rd5;
  st.u32 [%rd7], %r9;
  ret;
}
)";

struct Arguments {
  DevicePointer out;
  uint32_t first, second;
  uint64_t unused;
};

TEST_F(Module, variables_parameters_and_generic_addresses) {
  for (const char* seed : {"0", "1", "2"}) {
    begin({{"DYN_SIMCUDA_SEED", seed}});
    DevicePointer out = allocate(256);
    ASSERT_EQ(run(load(kText, "k"), {1, 64, 1, 1, 256}, Arguments{out, 100, 1000, 0}), 0) << api().fault();
    auto got = download<uint32_t>(out, 64);
    for (uint32_t t = 0; t < 64; t++) EXPECT_EQ(got[t], 100 + (t ^ 1) + 1000 + 2 + 5);
  }
}

TEST_F(Module, dynamic_memory_ends_where_the_launch_says) {
  DevicePointer out = allocate(256);
  EXPECT_EQ(run(load(kText, "k"), {1, 64, 1, 1, 128}, Arguments{out, 100, 1000, 0}), 700);
  EXPECT_NE(api().fault().find("shared memory, which has 128 bytes"), std::string::npos) << api().fault();
}

TEST_F(Module, limits_of_the_kernel_hold) {
  DevicePointer out = allocate(512);
  EXPECT_EQ(run(load(kText, "k"), {1, 128, 1, 1, 512}, Arguments{out, 100, 1000, 0}), 1);
  EXPECT_NE(api().fault().find(".maxntid"), std::string::npos) << api().fault();
}

TEST_F(Module, made_for_a_later_chip) {
  std::string text = kText;
  text.replace(text.find("sm_75"), 5, "sm_90");
  void* module = nullptr;
  EXPECT_EQ(api().call("cuModuleLoadData", &module, static_cast<const void*>(text.c_str())), 209);
}

}  // namespace
