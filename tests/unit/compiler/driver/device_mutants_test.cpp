// Each barrier of generated kernels is needed, and the simulated driver sees when one is missing: it is taken
// out of the text, and the launch must end with a fault. A fault ends the device, so each runs in a process
// of its own.
#ifdef DYN_HAVE_LLVM
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "compiler/codegen/emit/device_code.h"
#include "compiler/loop/kernel.h"
#include "tests/unit/compiler/driver/on_device.h"
#include "vm/device/cuda/cuda_device.h"
#include "vm/include/dynvm.h"

namespace dyn::test {
namespace {

struct Case {
  const char* name;
  const char* loops;
  const char* function;
  std::vector<uint64_t> buffers;  // elements, the last is written
  std::vector<int64_t> scalars;
  int64_t units;
  uint32_t threads;
};

const Case kCases[] = {
    {"softmax",
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
)",
     "k_block",
     {3 * 300, 3 * 300},
     {3, 300},
     3,
     128},
    {"scratch",
     R"(kernel @kept(in x: f32[n, 64], out y: f32[n, 64]) scalars (n) units u < n steps (64*n) {
  scratch t: f32[64]
  for i < 64 vector {
    t[i] = x[u, i] * 2.0
  }
  for q < 64 vector {
    y[u, q] = t[63 - q]
  }
}
)",
     "k_block",
     {3 * 64, 3 * 64},
     {3},
     3,
     128},
    {"product",
     R"(kernel @product(in x: f32[n, k], in w: f32[k, 64], out y: f32[n, 64]) scalars (n; k) units u < n steps (64*k*n) {
  for e < 64 vector {
    accumulate s: f32 = sum over j < k vector {
      x[u, j] * w[j, e]
    }
    y[u, e] = s
  }
}
)",
     "k_tile",
     {20 * 40, 40 * 64, 20 * 64},
     {20, 40},
     20,
     256},
};

// 0: it ran to its end without a fault.
int runs(const Case& c, const std::string& ptx) {
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

class Barriers : public testing::TestWithParam<Case> {};

TEST_P(Barriers, eachIsNeeded) {
  if (!useSimulatedDriver()) GTEST_SKIP() << "unavailable: the simulated driver is not built";
  DimContext dims;
  Result<loop::Kernel> kernel = loop::parseKernel(dims, GetParam().loops);
  ASSERT_TRUE(kernel.ok()) << kernel.error().toString();
  Result<DeviceKernel> made = emitDeviceKernel(*kernel, "k");
  ASSERT_TRUE(made.ok()) << made.error().toString();
  EXPECT_EXIT(_exit(runs(GetParam(), made->ptx)), testing::ExitedWithCode(0), "");
  size_t mutants = 0;
  for (size_t at = made->ptx.find("bar.sync"); at != std::string::npos;
       at = made->ptx.find("bar.sync", at + 1)) {
    std::string without = made->ptx;
    without.erase(at, without.find('\n', at) - at);
    EXPECT_EXIT(_exit(runs(GetParam(), without)), testing::ExitedWithCode(1), "") << "barrier " << mutants;
    ++mutants;
  }
  EXPECT_GE(mutants, 2u);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Barriers, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace dyn::test
#endif
