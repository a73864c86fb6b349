// Each barrier, commit and wait of generated kernels is needed, and the simulated driver sees when one is
// missing: it is taken out of the text, and the launch must end with a fault. A fault ends the device, so
// each runs in a process of its own.
#ifdef DYN_HAVE_LLVM
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "compiler/codegen/device/device_code.h"
#include "compiler/loop/kernel.h"
#include "tests/unit/compiler/codegen/device/device_kernel_texts.h"
#include "tests/unit/compiler/driver/on_device.h"
#include "vm/device/cuda/cuda_device.h"
#include "vm/include/dynvm.h"

namespace dyn::test {
namespace {

// Suppression without a limit: boxes in the order of their scores, all looked at.
const char* const kChoice =
    R"(kernel @choice(in order: i64[n], in overlaps: i32[n, 2], out removed: i32[m, 2], out chosen: i64[m, n]) scalars (n; m) units u < m steps (3*m*n) {
  scratch taken: i64[1]
  taken[0] = 0
  for v < 2 vector {
    removed[u, v] = 0:i32
  }
  for p < n {
    if taken[0] < n {
      let e: i64 = order[p]
      let bits: i32 = removed[u, floorDiv(e, 32)]
      if bitAnd(shiftRight(bits, i32(mod(e, 32))), 1:i32) == 0:i32 {
        chosen[u, taken[0]] = e
        taken[0] = taken[0] + 1
        for v_1 < 2 vector {
          removed[u, v_1] = bitOr(removed[u, v_1], overlaps[e, v_1])
        }
      }
    }
  }
}
)";

// What buffers hold before the launch.
enum class Contents : uint8_t { halves, counting };

struct DeviceMutantsCase {
  const char* name;
  std::string loops;
  const char* function;
  std::vector<uint64_t> buffers;  // words of 4 bytes, the last is written
  std::vector<int64_t> scalars;
  int64_t units;
  uint32_t threads;
  DeviceMath math = DeviceMath::fp32;
  Contents contents = Contents::halves;
};

const DeviceMutantsCase kCases[] = {
    {"softmax", kSoftmaxText, "k_block", {3 * 300, 3 * 300}, {3, 300}, 3, 128},
    {"scratch", kScratchText, "k_block", {3 * 64, 3 * 64}, {3}, 3, 128},
    {"running", kRunningText, "k_block", {3 * 300, 3 * 300}, {3, 300}, 3, 128},
    {"running_narrow",
     R"(kernel @running(in x: i64[n, m], out y: i64[n, m]) scalars (n; m) units u < n steps (2*m*n) {
  scratch acc: i64[1]
  acc[0] = 0:i64
  for k < m {
    y[u, k] = acc[0]
    acc[0] = acc[0] + x[u, k]
  }
}
)",
     "k_block_narrow",
     {2 * 3 * 300, 2 * 3 * 300},
     {3, 300},
     3,
     128},
    {"choice",
     kChoice,
     "k_block",
     {2 * 40, 40 * 2, 3 * 2, 2 * 3 * 40},
     {40, 3},
     3,
     128,
     DeviceMath::fp32,
     Contents::counting},
    {"product", kProductText, "k_tile", {20 * 40, 40 * 64, 20 * 64}, {20, 40}, 20, 256},
    {"square",
     R"(kernel @product(in x: f32[n, k], in w: f32[k, 128], out y: f32[n, 128]) scalars (n; k) units u < n steps (128*k*n) {
  for e < 128 vector {
    accumulate s: f32 = sum over j < k vector {
      x[u, j] * w[j, e]
    }
    y[u, e] = s
  }
}
)",
     "k_square",
     {20 * 40, 40 * 128, 20 * 128},
     {20, 40},
     20,
     256},
    {"tensor",
     R"(kernel @product(in x: bf16[n, k], in w: bf16[k, 128], out y: f32[n, 128]) scalars (n; k) units u < n steps (128*k*n) {
  for e < 128 vector {
    accumulate s: f32 = sum over j < k vector {
      f32(x[u, j]) * f32(w[j, e])
    }
    y[u, e] = s
  }
}
)",
     "k_tensor",
     {20 * 80 / 2, 80 * 128 / 2, 20 * 128},
     {20, 80},
     20,
     128},
    {"attention", attentionText(16), "k_attention", {40 * 16, 40 * 16, 40 * 16, 40 * 16}, {40, 40}, 40, 256},
    {"attention_tf32",
     attentionText(16),
     "k_attention_tensor",
     {40 * 16, 40 * 16, 40 * 16, 40 * 16},
     {40, 40},
     40,
     256,
     DeviceMath::tf32},
    {"attention_bf16",
     attentionText(16),
     "k_attention_tensor",
     {40 * 16, 40 * 16, 40 * 16, 40 * 16},
     {40, 40},
     40,
     256,
     DeviceMath::bf16},
    {"attention_of_f16",
     attentionText(16, "f16"),
     "k_attention_tensor",
     {40 * 16 / 2, 40 * 16 / 2, 40 * 16 / 2, 40 * 16 / 2},
     {40, 40},
     40,
     256},
};

// 0: it ran to its end without a fault.
int deviceMutantsRuns(const DeviceMutantsCase& c, const std::string& ptx) {
  const DynDevice* device = vm::cudaDevice(0);
  const DynDeviceFunctions& call = *device->functions;
  DynDeviceText text{};
  uint64_t module = 0, kernel = 0;
  if (call.open(device, &text) != DYN_OK) return 2;
  if (call.loadCode(device, ptx.data(), ptx.size(), &module, &text) != DYN_OK) return 3;
  if (call.findKernel(device, module, c.function, &kernel, &text) != DYN_OK) return 4;
  std::vector<void*> buffers;
  std::vector<std::vector<float>> contents;
  for (uint64_t elements : c.buffers) {
    contents.emplace_back(elements, 0.5f);
    if (c.contents == Contents::counting) {
      std::vector<int64_t> numbers(elements / 2);
      std::iota(numbers.begin(), numbers.end(), 0);
      memcpy(contents.back().data(), numbers.data(), numbers.size() * sizeof(int64_t));
    }
    void* memory = nullptr;
    if (call.allocate(device, 0, elements * 4, &memory, &text) != DYN_OK) return 5;
    buffers.push_back(memory);
    if (buffers.size() < c.buffers.size() &&
        call.copyTo(device, 0, memory, contents.back().data(), elements * 4, &text) != DYN_OK)
      return 6;
  }
  DynLaunch launch{};
  launch.kernel = kernel;
  launch.buffers = buffers.data();
  launch.bufferCount = static_cast<uint32_t>(buffers.size());
  launch.scalars = c.scalars.data();
  launch.scalarCount = static_cast<uint32_t>(c.scalars.size());
  launch.gridX = launch.gridY = launch.gridZ = launch.blockY = launch.blockZ = 1;  // one block does all units
  launch.blockX = c.threads;
  launch.units = c.units;
  int32_t status = call.launch(device, 0, &launch, &text);
  if (status == DYN_OK) status = call.synchronise(device, 0, &text);
  return status == DYN_OK ? 0 : 1;
}

class Waits : public testing::TestWithParam<DeviceMutantsCase> {};

TEST_P(Waits, eachIsNeeded) {
  if (!useSimulatedDriver()) GTEST_SKIP() << "unavailable: the simulated driver is not built";
  DimContext dims;
  Result<loop::Kernel> kernel = loop::parseKernel(dims, GetParam().loops);
  ASSERT_TRUE(kernel.ok()) << kernel.error().toString();
  Result<DeviceKernel> made = emitDeviceKernel(*kernel, "k", GetParam().math);
  ASSERT_TRUE(made.ok()) << made.error().toString();
  const bool isTensor = strstr(GetParam().function, "_tensor") != nullptr;
  const bool copies = isTensor && GetParam().math == DeviceMath::fp32;
  const std::string& whole = isTensor ? made->tensorPtx : made->ptx;
  EXPECT_EXIT(_exit(deviceMutantsRuns(GetParam(), whole)), testing::ExitedWithCode(0), "");
  const std::string entry = std::string(".entry ") + GetParam().function + "(";
  const size_t begin = whole.find(entry), end = std::min(whole.find(".entry", begin + 1), whole.size());
  for (const char* wait : {"bar.sync", "cp.async.commit_group", "cp.async.wait_group"}) {
    size_t mutants = 0;
    for (size_t at = whole.find(wait, begin); at < end; at = whole.find(wait, at + 1)) {
      std::string without = whole;
      without.erase(at, without.find('\n', at) - at);
      EXPECT_EXIT(_exit(deviceMutantsRuns(GetParam(), without)), testing::ExitedWithCode(1), "")
          << wait << " " << mutants;
      ++mutants;
    }
    EXPECT_GE(mutants, wait[0] == 'b' ? 2u : copies ? 1u : 0u) << wait;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Waits, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace dyn::test
#endif
