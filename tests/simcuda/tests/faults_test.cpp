// Seeded faults are named with kernel, block, thread and line; sound kernels that look alike are silent in
// every order.
#include <gtest/gtest.h>

#include "tests/simcuda/tests/api.h"

namespace {

struct Case {
  const char* kernel;
  int n;
  unsigned blocks;
  int status;          // 0: sound
  const char* report;  // a part of what is said
};

const Case kCases[] = {
    {"barrier_for_some", 32, 1, 719, "race: read"},
    {"return_before_barrier", 40, 1, 719, "have ended"},
    {"shuffle_for_some", 16, 1, 719, "lanes of one warp wait for each other"},
    {"tree_without_barriers", 1, 1, 719, "race:"},
    {"tree_with_barriers", 1, 1, 0, ""},
    {"blocks_write_the_same", 1, 2, 719, "race: write of 4 bytes"},
    {"blocks_write_the_same", 1, 1, 0, ""},
    {"lane_to_warp", 1, 1, 719, "race: read"},
    {"lane_to_warp_ordered", 1, 1, 0, ""},
    {"warp_overwrites", 1, 1, 719, "race: "},
    {"past_the_tile", 1, 1, 700, "out of bounds: write of 4 bytes at offset 0x100 of shared memory"},
    {"past_the_tile", 0, 1, 0, ""},
    {"tail_guard", 64, 1, 0, ""},
    {"global_as_shared", 0, 1, 700, "of shared memory"},
    {"misaligned", 1, 1, 716, "misaligned"},
    {"reads_output", 1, 1, 719, "nothing has written"},
    {"local_array", 3, 1, 0, ""},
    {"bytes_side_by_side", 3, 1, 0, ""},
    {"divergent_loops", 3, 1, 0, ""},
};

class Faults : public DriverTest {
 protected:
  int runCase(const Case& c, unsigned seed) {
    begin({{"DYN_SIMCUDA_SEED", std::to_string(seed)}});
    DevicePointer out = allocate(64 * 4);
    return run(load(kernelText("faults"), c.kernel), {c.blocks, 64}, out, c.n);
  }
};

TEST_F(Faults, are_reported_in_every_order) {
  for (const Case& c : kCases) {
    for (unsigned seed = 0; seed < 9; seed++) {
      ASSERT_EQ(runCase(c, seed), c.status) << c.kernel << " with seed " << seed << ": " << api().fault();
      if (c.status == 0) continue;
      std::string report = api().fault();
      EXPECT_NE(report.find(std::string("kernel ") + c.kernel), report.npos) << report;
      EXPECT_NE(report.find("PTX line "), report.npos) << report;
      EXPECT_NE(report.find("(faults.c:"), report.npos) << report;
      // In another order another of its accesses may be the first that shows it.
      if (seed == 0) {
        EXPECT_NE(report.find(c.report), report.npos) << c.kernel << ": " << report;
      }
    }
  }
}

TEST_F(Faults, a_host_pointer_and_a_write_behind_the_end) {
  void* f = load(kernelText("faults"), "tail_guard");
  std::vector<float> host(64);
  EXPECT_EQ(run(f, {1, 64}, host.data(), 10), 700);
  EXPECT_NE(api().fault().find("no address of a device"), std::string::npos) << api().fault();
  begin({});
  f = load(kernelText("faults"), "tail_guard");
  DevicePointer out = allocate(40);
  EXPECT_EQ(run(f, {1, 64}, out, 10), 700);
  EXPECT_NE(api().fault().find("thread (10,0,0)"), std::string::npos) << api().fault();
  EXPECT_NE(api().fault().find("0 bytes past the end of allocation #1 of 40 bytes"), std::string::npos)
      << api().fault();
}

TEST_F(Faults, declared_buffers_are_the_bounds) {
  DevicePointer arena = allocate(4096);
  ASSERT_EQ(api().call("cuMemsetD8Async", arena, static_cast<unsigned char>(0), size_t{4096},
                       static_cast<void*>(nullptr)),
            0);
  auto attempt = [&](uint64_t bytes, uint32_t writable, const char* kernel, int n) {
    dyn_simcuda_buffer buffer{arena, arena + bytes, writable};
    EXPECT_EQ(
        api().call("dyn_simcuda_next_buffers", static_cast<const dyn_simcuda_buffer*>(&buffer), size_t{1}),
        0);
    int status = run(load(kernelText("faults"), kernel), {1, 64}, arena, n);
    std::string text = status ? api().fault() : "";
    begin({});
    arena = allocate(4096);
    EXPECT_EQ(api().call("cuMemsetD8Async", arena, static_cast<unsigned char>(0), size_t{4096},
                         static_cast<void*>(nullptr)),
              0);
    return text;
  };
  EXPECT_EQ(attempt(40, DYN_SIMCUDA_OUTPUT, "tail_guard", 9), "");
  EXPECT_NE(attempt(40, DYN_SIMCUDA_OUTPUT, "tail_guard", 10).find("in none of the 1 declared buffers"),
            std::string::npos);
  EXPECT_NE(attempt(256, DYN_SIMCUDA_INPUT, "tail_guard", 9).find("write to an input, declared buffer 0"),
            std::string::npos);
  EXPECT_EQ(attempt(256, DYN_SIMCUDA_INPUT_OUTPUT, "reads_output", 1), "");
  EXPECT_NE(attempt(256, DYN_SIMCUDA_OUTPUT, "reads_output", 1).find("nothing has written"),
            std::string::npos);
}

TEST_F(Faults, atomics_of_several_blocks_are_sound) {
  for (unsigned seed = 0; seed < 9; seed++) {
    begin({{"DYN_SIMCUDA_SEED", std::to_string(seed)}});
    DevicePointer sum = upload(std::vector<int>{0});
    ASSERT_EQ(run(load(kernelText("faults"), "sum_by_atomics"), {3, 64}, sum, 1), 0) << api().fault();
    EXPECT_EQ(download<int>(sum, 1)[0], 3 * (64 * 63 / 2 + 64));
  }
}

TEST_F(Faults, results_do_not_depend_on_the_order) {
  for (const char* kernel : {"divergent_loops", "local_array", "tree_with_barriers"}) {
    std::vector<uint32_t> first;
    for (unsigned seed = 0; seed < 9; seed++) {
      begin({{"DYN_SIMCUDA_SEED", std::to_string(seed)}});
      DevicePointer out = upload(std::vector<uint32_t>(64));
      ASSERT_EQ(run(load(kernelText("faults"), kernel), {1, 64}, out, 5), 0) << api().fault();
      auto bits = download<uint32_t>(out, 64);
      if (seed == 0) first = bits;
      EXPECT_EQ(bits, first) << kernel << " with seed " << seed;
    }
  }
}

TEST_F(Faults, checks_off_looks_at_bounds_alone) {
  begin({{"DYN_SIMCUDA_CHECKS", "0"}});
  DevicePointer out = allocate(64 * 4);
  EXPECT_EQ(run(load(kernelText("faults"), "reads_output"), {1, 64}, out, 1), 0);
  EXPECT_EQ(run(load(kernelText("faults"), "misaligned"), {1, 64}, out, 1), 716);
}

// What the text was for: an unknown opcode is an error that names its line.
TEST_F(Faults, what_is_not_known_does_not_load) {
  std::string text = kernelText("elementwise");
  size_t at = text.find("mul.rn.f32");
  ASSERT_NE(at, text.npos);
  text.replace(at, 10, "mul.zz.f32");
  void* module = nullptr;
  EXPECT_EQ(api().call("cuModuleLoadData", &module, static_cast<const void*>(text.c_str())), 218);
  int line = 1;
  for (size_t i = 0; i < at; i++) line += text[i] == '\n';
  EXPECT_EQ(api().fault(), "PTX line " + std::to_string(line) + ": mul.zz.f32: unknown opcode");
}

}  // namespace
