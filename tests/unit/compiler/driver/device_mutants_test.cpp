// Each barrier, commit and wait of generated kernels is needed, and the simulated driver sees when one is
// missing: it is taken out of the text, and the launch must end with a fault. A fault ends the device, so
// each runs in a process of its own.
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

const char* const kAttention =
    R"(kernel @attention(in q: f32[m, 16], in w: f32[n, 16], in v: f32[n, 16], out y: f32[m, 16]) scalars (m; n) units u < m steps (m*n) {
  accumulate top: f32 = maximum over j < n vector {
    accumulate s: f32 = sum over k < 16 vector {
      q[u, k] * w[j, k]
    }
    s
  }
  accumulate total: f32 = sum over j_1 < n vector {
    accumulate s_1: f32 = sum over k_1 < 16 vector {
      q[u, k_1] * w[j_1, k_1]
    }
    exp(s_1 - top)
  }
  for e < 16 vector {
    accumulate z: f32 = sum over j_2 < n vector {
      accumulate s_2: f32 = sum over k_2 < 16 vector {
        q[u, k_2] * w[j_2, k_2]
      }
      exp(s_2 - top) * (1.0 / total) * v[j_2, e]
    }
    y[u, e] = z
  }
}
)";

struct Case {
  const char* name;
  const char* loops;
  const char* function;
  std::vector<uint64_t> buffers;  // words of 4 bytes, the last is written
  std::vector<int64_t> scalars;
  int64_t units;
  uint32_t threads;
  DeviceMath math = DeviceMath::fp32;
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
    {"running",
     R"(kernel @running(in x: f32[n, m], out y: f32[n, m]) scalars (n; m) units u < n steps (2*m*n) {
  scratch acc: f32[1]
  acc[0] = 0.0
  for k < m {
    acc[0] = acc[0] + x[u, k]
    y[u, k] = acc[0]
  }
}
)",
     "k_block",
     {3 * 300, 3 * 300},
     {3, 300},
     3,
     128},
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
    {"attention", kAttention, "k_attention", {40 * 16, 40 * 16, 40 * 16, 40 * 16}, {40, 40}, 40, 256},
    {"attention_tf32",
     kAttention,
     "k_attention_tensor",
     {40 * 16, 40 * 16, 40 * 16, 40 * 16},
     {40, 40},
     40,
     256,
     DeviceMath::tf32},
    {"attention_bf16",
     kAttention,
     "k_attention_tensor",
     {40 * 16, 40 * 16, 40 * 16, 40 * 16},
     {40, 40},
     40,
     256,
     DeviceMath::bf16},
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

class Waits : public testing::TestWithParam<Case> {};

TEST_P(Waits, eachIsNeeded) {
  if (!useSimulatedDriver()) GTEST_SKIP() << "unavailable: the simulated driver is not built";
  DimContext dims;
  Result<loop::Kernel> kernel = loop::parseKernel(dims, GetParam().loops);
  ASSERT_TRUE(kernel.ok()) << kernel.error().toString();
  Result<DeviceKernel> made = emitDeviceKernel(*kernel, "k", GetParam().math);
  ASSERT_TRUE(made.ok()) << made.error().toString();
  const bool isTensor = strstr(GetParam().function, "_tensor") != nullptr;
  const bool copies = strcmp(GetParam().function, "k_tensor") == 0;
  const std::string& whole = isTensor ? made->tensorPtx : made->ptx;
  EXPECT_EXIT(_exit(runs(GetParam(), whole)), testing::ExitedWithCode(0), "");
  const std::string entry = std::string(".entry ") + GetParam().function + "(";
  const size_t begin = whole.find(entry), end = std::min(whole.find(".entry", begin + 1), whole.size());
  for (const char* wait : {"bar.sync", "cp.async.commit_group", "cp.async.wait_group"}) {
    size_t mutants = 0;
    for (size_t at = whole.find(wait, begin); at < end; at = whole.find(wait, at + 1)) {
      std::string without = whole;
      without.erase(at, without.find('\n', at) - at);
      EXPECT_EXIT(_exit(runs(GetParam(), without)), testing::ExitedWithCode(1), "") << wait << " " << mutants;
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
