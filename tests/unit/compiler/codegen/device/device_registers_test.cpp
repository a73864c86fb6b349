// What CUDA's assembler makes of kernels for each generation of chips: registers, spills and shared memory,
// beside recorded numbers (tests/device/registers.txt; DYN_UPDATE=1 records them anew). Less is fine;
// a tenth more registers, any spill, or more shared memory is not. Without ptxas, or with another version
// than that of the recorded numbers, nothing is compared.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "compiler/codegen/device/device_code.h"
#include "compiler/loop/kernel.h"
#include "tests/support/paths.h"
#include "tests/unit/compiler/codegen/device/device_kernel_texts.h"

#ifdef DYN_HAVE_LLVM
namespace dyn {
namespace {

struct Used {
  int registers = 0, spilledBytes = 0, sharedBytes = 0;
};
using Table = std::map<std::string, Used>;  // by "sm_80 softmax_block"

const std::pair<const char*, std::string> kKernels[] = {
    {"gelu", test::kGeluText},
    {"softmax", test::kSoftmaxText},
    {"product", test::kProductText},
    {"scratch", test::kScratchText},
    {"running", test::kRunningText},
    {"first",
     R"(kernel @first(in x: f32[n, m], out y: f32[n, q], out p: i64[n, q]) scalars (n; m; q; m*n) units u < dim(m*n) steps (m*m*n) {
  let i: i64 = mod(u, m)
  let i_1: i64 = floorDiv(u, m)
  let own: f32 = x[i_1, i]
  accumulate place: i64 = sum over j < m vector {
    let other: f32 = x[i_1, j]
    i64(select(j < i, !(other < own), own < other))
  }
  if 0 <= place && place < q {
    y[i_1, place] = x[i_1, i]
    p[i_1, place] = i
  }
}
)"},
    {"scatter",
     R"(kernel @scatter(in x: f32[n, 4], in w: i64[k, 1], in v: f32[k, 4], out y: f32[n, 4]) scalars (n; k; 4*floordiv(n + 63, 64)) units u < dim(4*floordiv(n + 63, 64)) steps (4*k*floordiv(n + 63, 64) + 4*n) {
  let i: i64 = mod(u, 4)
  let i_1: i64 = floorDiv(u, 4)
  for t < min(64, n - i_1 * 64) vector {
    y[i_1 * 64 + t, i] = x[i_1 * 64 + t, i]
  }
  for k_1 < k {
    let given: i64 = w[k_1, 0]
    let at: i64 = select(given < 0, given + n, given)
    check 0 <= at && at < n fault 9 of given
    if i_1 * 64 <= at && at < i_1 * 64 + 64 {
      let old: f32 = y[at, i]
      y[at, i] = old + v[k_1, i]
    }
  }
}
)"},
    {"heads", test::attentionText(64)},
    {"heads_f16", test::attentionText(64, "f16")},
    {"gather", test::kGatherText}};

std::string outputOf(const std::string& command) {
  std::string text;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return text;
  char buffer[4096];
  while (const size_t got = fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, got);
  return pclose(pipe) == 0 ? text : "failed: " + text;
}

// The number before `word`; 0: there is none.
int before(const std::string& line, const std::string& word) {
  const size_t at = line.find(word);
  if (at == std::string::npos) return 0;
  size_t begin = at;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(line[begin - 1]))) --begin;
  return std::atoi(line.substr(begin, at - begin).c_str());
}

// ptxas -v says of each function in turn: "... for 'k_block' ...", spills, registers.
void read(const std::string& text, const std::string& prefix, Table& table) {
  std::istringstream lines(text);
  std::string function;
  for (std::string line; std::getline(lines, line);) {
    if (const size_t at = line.find("entry function '"); at != std::string::npos)
      function = line.substr(at + 16, line.find('\'', at + 16) - at - 16);
    Used& used = table[prefix + function];
    used.spilledBytes += before(line, " bytes spill stores") + before(line, " bytes spill loads");
    if (line.find("Used ") == std::string::npos) continue;
    used.registers = before(line, " registers");
    used.sharedBytes = before(line, " bytes smem");
  }
  table.erase(prefix);
}

TEST(DeviceRegisters, areThoseOfTheRecord) {
  const std::string version = outputOf("ptxas --version | grep -o 'V[0-9]*[.][0-9]*' | head -n 1");
  if (version.empty() || version[0] != 'V') GTEST_SKIP() << "unavailable: ptxas";
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("dyn_registers_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  Table found;
  for (const auto& [name, loops] : kKernels) {
    DimContext dims;
    Result<loop::Kernel> kernel = loop::parseKernel(dims, loops);
    ASSERT_TRUE(kernel.ok()) << kernel.error().toString();
    const std::string file = (folder / "k.ptx").string();
    const auto assemble = [&](const std::string& ptx, std::initializer_list<const char*> chips) {
      std::ofstream(file) << ptx;
      for (const char* chip : chips) {
        const std::string text =
            outputOf("ptxas -v -arch=sm_" + std::string(chip) + " " + file + " -o /dev/null");
        ASSERT_NE(text.find("registers"), std::string::npos) << chip << ": " << text;
        read(text, "sm_" + std::string(chip) + " ", found);
      }
    };
    Result<DeviceKernel> made = emitDeviceKernel(*kernel, name);
    ASSERT_TRUE(made.ok()) << made.error().toString();
    assemble(made->ptx, {"75", "80", "90", "100", "120"});
    for (const char* math : {"tf32", "bf16"}) {  // of tensor cores, where f32 may be rounded
      DimContext own;
      made = emitDeviceKernel(*loop::parseKernel(own, loops), name + std::string("_") + math,
                              deviceMathOf(math));
      ASSERT_TRUE(made.ok()) << made.error().toString();
      if (!made->tensorPtx.empty()) assemble(made->tensorPtx, {"80", "90", "100", "120"});
    }
  }
  std::filesystem::remove_all(folder);

  const std::string golden = test::sourceFolder() + "/tests/device/registers.txt";
  if (getenv("DYN_UPDATE")) {
    std::ofstream file(golden);
    file << "# ptxas " << version << "# chip, function, registers, bytes spilled, bytes of shared memory\n";
    for (const auto& [name, used] : found)
      file << name << " " << used.registers << " " << used.spilledBytes << " " << used.sharedBytes << "\n";
    return;
  }
  std::ifstream file(golden);
  std::string line;
  ASSERT_TRUE(std::getline(file, line)) << golden;
  if (line + "\n" != "# ptxas " + version)
    GTEST_SKIP() << "unavailable: the ptxas of the recorded numbers; here is " << version;
  size_t compared = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string chip, function;
    Used recorded;
    words >> chip >> function >> recorded.registers >> recorded.spilledBytes >> recorded.sharedBytes;
    const auto now = found.find(chip + " " + function);
    ASSERT_NE(now, found.end()) << chip << " " << function << " is gone";
    EXPECT_LE(now->second.registers, recorded.registers + recorded.registers / 10) << line;
    EXPECT_LE(now->second.spilledBytes, recorded.spilledBytes) << line;
    EXPECT_LE(now->second.sharedBytes, recorded.sharedBytes) << line;
    // What a block of 256 threads may have.
    EXPECT_LE(now->second.registers * 256, 65536) << line;
    ++compared;
  }
  EXPECT_EQ(compared, found.size()) << "DYN_UPDATE=1 records what is new";
}

}  // namespace
}  // namespace dyn
#endif
