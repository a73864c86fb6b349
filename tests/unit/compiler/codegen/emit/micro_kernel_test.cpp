// The GEMM family: numbers on every machine this host can run, assembly for those it cannot.
#include "compiler/codegen/emit/micro_kernel.h"
#include "compiler/codegen/llvm/machine_catalog.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <random>
#include <sstream>

namespace dyn {
namespace {

std::vector<std::string> runnableNames() {
  std::vector<std::string> names = {"host"};
  for (const std::string& name : machinePresetNames())
    if (auto machine = machinePreset(name); machine.ok() && runsOnThisHost(*machine)) names.push_back(name);
  return names;
}

MachineDescription machineNamed(const std::string& name) {
  auto machine = name == "host" ? detectHost() : machinePreset(name);
  EXPECT_TRUE(machine.ok());
  return *machine;
}

class RunnableMachine : public testing::TestWithParam<std::string> {};

constexpr float kGuard = -12345.5f;

// Floats that end where an inaccessible page begins: generated code that reads or writes beyond them faults.
class FencedFloats {
 public:
  explicit FencedFloats(size_t most) {
    const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    bytes_ = (most * sizeof(float) + page - 1) / page * page;
    base_ = static_cast<char*>(
        ::mmap(nullptr, bytes_ + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(base_ + bytes_, page, PROT_NONE);
    total_ = bytes_ + page;
  }
  ~FencedFloats() { ::munmap(base_, total_); }
  FencedFloats(const FencedFloats&) = delete;
  FencedFloats& operator=(const FencedFloats&) = delete;
  float* lay(const std::vector<float>& values) {
    const size_t size = values.size() * sizeof(float);
    return static_cast<float*>(std::memcpy(base_ + bytes_ - size, values.data(), size));
  }

 private:
  char* base_;
  size_t bytes_, total_;
};

// One call on fresh C surrounded by guards; checks values against double and that nothing else was written.
void checkCall(const DynGemmFamily& family, int rows, int64_t depth, int64_t columns, int accumulate,
               int64_t spareA, int64_t spareC, std::minstd_rand& random) {
  SCOPED_TRACE("rows " + std::to_string(rows) + " depth " + std::to_string(depth) + " columns " +
               std::to_string(columns) + " accumulate " + std::to_string(accumulate) + " spare " +
               std::to_string(spareA) + "," + std::to_string(spareC));
  auto number = [&] { return static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 512.0f; };
  const int64_t lda = depth + spareA, ldc = columns + spareC, width = family.panelWidth;
  // Exactly as long as the contract demands.
  std::vector<float> a(static_cast<size_t>(std::max<int64_t>(1, (rows - 1) * lda + depth)));
  std::vector<float> b(static_cast<size_t>(std::max<int64_t>(1, depth * width)));
  for (float& v : a) v = number();
  for (float& v : b) v = number();
  const int64_t margin = 64, size = (rows - 1) * ldc + columns;
  std::vector<float> c(static_cast<size_t>(size + 2 * margin), kGuard);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < columns; ++j)
      // When C is overwritten, what was there must not matter.
      c[static_cast<size_t>(margin + r * ldc + j)] =
          accumulate ? number() : std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> before = c;
  static FencedFloats fencedA(1 << 14), fencedB(1 << 14), fencedC(1 << 14);
  const std::vector<float> tile(c.begin() + margin, c.begin() + margin + size);
  float* laid = fencedC.lay(tile);
  family.microKernels[rows - 1](depth, fencedA.lay(a), lda, fencedB.lay(b), laid, ldc, columns, accumulate);
  family.microKernels[rows - 1](depth, a.data(), lda, b.data(), c.data() + margin, ldc, columns, accumulate);
  EXPECT_EQ(std::memcmp(laid, c.data() + margin, static_cast<size_t>(size) * sizeof(float)), 0)
      << "two calls differ";
  int wrong = 0, touched = 0;
  for (int64_t i = 0; i < static_cast<int64_t>(c.size()); ++i) {
    const int64_t inside = i - margin, r = inside / ldc, j = inside % ldc;
    if (inside < 0 || inside >= size || j >= columns) {
      touched += std::memcmp(&c[i], &kGuard, sizeof kGuard) != 0;
      continue;
    }
    double exact = accumulate ? before[i] : 0.0, magnitude = std::fabs(exact);
    for (int64_t k = 0; k < depth; ++k) {
      const double product = static_cast<double>(a[r * lda + k]) * b[k * width + j];
      exact += product;
      magnitude += std::fabs(product);
    }
    wrong += !(std::fabs(c[i] - exact) <= magnitude * 6e-8 * static_cast<double>(depth + 2));
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(touched, 0) << "elements outside of C were written";
}

TEST_P(RunnableMachine, ComputesEveryShape) {
  auto engine = KernelEngine::create(machineNamed(GetParam()));
  ASSERT_TRUE(engine.ok()) << engine.error().toString();
  for (SummationOrder order : {SummationOrder::fastest, SummationOrder::sameForAllRows}) {
    auto family = loadGemmFamily(*engine, order);
    ASSERT_TRUE(family.ok()) << family.error().toString();
    const DynGemmFamily& table = family->table();
    EXPECT_EQ(table.panelWidth % 8, 0);
    std::minstd_rand random(7);
    for (int rows = 1; rows <= table.maxRows; ++rows)
      for (int64_t depth : {0, 1, 2, 3, 7, 64, 300})
        for (int64_t columns = 1; columns <= table.panelWidth; ++columns)
          for (int accumulate : {0, 1}) {
            checkCall(table, rows, depth, columns, accumulate, (rows + columns) % 3, (depth + columns) % 5,
                      random);
            if (HasFailure()) return;
          }
  }
}

TEST_P(RunnableMachine, OrderedRowsDoNotDependOnTheTile) {
  auto engine = KernelEngine::create(machineNamed(GetParam()));
  ASSERT_TRUE(engine.ok());
  auto family = loadGemmFamily(*engine, SummationOrder::sameForAllRows);
  ASSERT_TRUE(family.ok());
  const DynGemmFamily& table = family->table();
  const int64_t depth = 301, width = table.panelWidth;
  std::minstd_rand random(3);
  std::vector<float> a(static_cast<size_t>(table.maxRows * depth)), b(static_cast<size_t>(depth * width));
  for (float& v : a) v = static_cast<float>(random()) * 1e-9f - 1.0f;
  for (float& v : b) v = static_cast<float>(random()) * 1e-9f - 1.0f;
  std::vector<float> together(static_cast<size_t>(table.maxRows * width)), alone = together;
  table.microKernels[table.maxRows - 1](depth, a.data(), depth, b.data(), together.data(), width, width, 0);
  for (int64_t r = 0; r < table.maxRows; ++r)
    table.microKernels[0](depth, a.data() + r * depth, depth, b.data(), alone.data() + r * width, width,
                          width - r % 2, 0);
  for (int64_t r = 0; r < table.maxRows; ++r)
    EXPECT_EQ(std::memcmp(&together[r * width], &alone[r * width], static_cast<size_t>(width - r % 2) * 4), 0)
        << "row " << r;
}

TEST_P(RunnableMachine, TallKernelsGiveTheSameBitsWhereverDepthIsCut) {
  auto engine = KernelEngine::create(machineNamed(GetParam()));
  ASSERT_TRUE(engine.ok());
  auto family = loadGemmFamily(*engine, SummationOrder::fastest);
  ASSERT_TRUE(family.ok());
  const DynGemmFamily& table = family->table();
  const int64_t depth = 301, width = table.panelWidth;
  std::minstd_rand random(5);
  std::vector<float> a(static_cast<size_t>(table.maxRows * depth)), b(static_cast<size_t>(depth * width));
  for (float& v : a) v = static_cast<float>(random()) * 1e-9f - 1.0f;
  for (float& v : b) v = static_cast<float>(random()) * 1e-9f - 1.0f;
  for (int64_t rows = (table.maxRows + 2) / 2; rows <= table.maxRows; ++rows)
    for (int64_t columns : {int64_t{1}, width - 3, width})
      for (int64_t cut : {1, 2, 150, 300}) {
        std::vector<float> whole(static_cast<size_t>(rows * columns), kGuard), parts = whole;
        const DynGemmMicroKernel kernel = table.microKernels[rows - 1];
        kernel(depth, a.data(), depth, b.data(), whole.data(), columns, columns, 0);
        kernel(cut, a.data(), depth, b.data(), parts.data(), columns, columns, 0);
        kernel(depth - cut, a.data() + cut, depth, b.data() + cut * width, parts.data(), columns, columns, 1);
        EXPECT_EQ(std::memcmp(whole.data(), parts.data(), whole.size() * sizeof(float)), 0)
            << rows << " rows, " << columns << " columns, cut at " << cut;
      }
}

INSTANTIATE_TEST_SUITE_P(MicroKernel, RunnableMachine, testing::ValuesIn(runnableNames()),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

TEST(MicroKernel, TilesFollowTheRegisters) {
  EXPECT_EQ(gemmTileFor(machineNamed("znver4")).maxRows, 14);
  EXPECT_EQ(gemmTileFor(machineNamed("znver4")).panelWidth, 32);
  EXPECT_EQ(gemmTileFor(machineNamed("haswell")).maxRows, 6);
  EXPECT_EQ(gemmTileFor(machineNamed("haswell")).panelWidth, 16);
  EXPECT_EQ(gemmTileFor(machineNamed("x86-64")).panelWidth, 8);
  EXPECT_EQ(gemmTileFor(machineNamed("cortex-a72")).panelWidth, 8);
}

// No vector register may be saved to the stack: such a kernel runs at a third of the speed. And the FMAs must
// be there, in registers as wide as the machine's.
TEST(MicroKernel, NoSpillsOnAvx2AndAvx512) {
  for (const char* name : {"haswell", "skylake-avx512", "znver4", "sapphirerapids"}) {
    const MachineDescription machine = machineNamed(name);
    const std::string wide = machine.avx512 ? "%zmm" : "%ymm";
    auto engine = KernelEngine::create(machine);
    ASSERT_TRUE(engine.ok()) << engine.error().toString();
    for (const KernelJob& job : gemmKernelJobs(machine)) {
      auto text = engine->assembly(job);
      ASSERT_TRUE(text.ok()) << text.error().toString();
      std::istringstream lines(*text);
      int fused = 0;
      for (std::string line; std::getline(lines, line);) {
        const bool vector = line.find("mm") != std::string::npos && line.find("\tv") != std::string::npos;
        const bool stack = line.find("(%rsp") != std::string::npos;
        EXPECT_EQ(line.find("%rsp, %rbp"), std::string::npos)
            << "a frame pointer: the stack has a second name";
        EXPECT_FALSE(vector && stack) << name << ", " << job.name << ": " << line;
        fused += line.find("vfmadd") != std::string::npos && line.find(wide) != std::string::npos;
      }
      // Four unrolled steps and the single one, two vectors a row, one row at least.
      EXPECT_GE(fused, 5 * 2) << name << ", " << job.name;
    }
  }
}

// The lines of each block of this name ("block", "block5", ...) in an LLVM module's text.
std::vector<std::vector<std::string>> blocksNamed(const std::string& text, const std::string& name) {
  std::vector<std::vector<std::string>> blocks;
  std::istringstream lines(text);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    if (!line.empty() && line[0] != ' ' && colon != std::string::npos) {
      const std::string label = line.substr(0, colon);
      inside = label.rfind(name, 0) == 0 &&
               std::all_of(label.begin() + static_cast<int64_t>(name.size()), label.end(),
                           [](unsigned char c) { return std::isdigit(c) != 0; });
      if (inside) blocks.emplace_back();
    } else if (line.rfind("}", 0) == 0) {
      inside = false;
    } else if (inside) {
      blocks.back().push_back(line);
    }
  }
  return blocks;
}

// Whatever machine is asked for, no kernel of its family wants more registers than it has; and the code holds
// as many sums as is said.
TEST(MicroKernel, D_c_noKernelWantsMoreRegistersThanThereAre) {
  std::minstd_rand random(11);
  for (int i = 0; i < 10000; ++i) {
    MachineDescription machine = machineNamed("znver4");
    machine.vectorBits = 128 << random() % 3;
    machine.vectorRegisters = random() % 2 ? 32 : 16;
    machine.fma = random() % 4 != 0;
    machine.fmaPerCycle = static_cast<int32_t>(random() % 5);
    machine.fmaLatency = static_cast<int32_t>(random() % 12);
    const GemmTile tile = gemmTileFor(machine);
    ASSERT_GE(tile.maxRows, 1);
    const auto rows = 1 + static_cast<int32_t>(random() % static_cast<unsigned>(tile.maxRows));
    for (SummationOrder order : {SummationOrder::fastest, SummationOrder::sameForAllRows})
      ASSERT_LE(gemmRegisters(machine, rows, order), machine.vectorRegisters)
          << rows << " rows of at most " << tile.maxRows << ", " << machine.fmaPerCycle << " FMAs a cycle of "
          << machine.fmaLatency;
  }
  for (const std::string& name : machinePresetNames()) {
    const MachineDescription machine = machineNamed(name);
    int32_t rows = 0;
    for (const KernelJob& job : gemmKernelJobs(machine)) {
      auto module = job.build();
      ASSERT_TRUE(module.ok()) << module.error().toString();
      for (const std::vector<std::string>& block : blocksNamed(module->irText(), "block")) {
        const auto sums = std::count_if(block.begin(), block.end(), [](const std::string& line) {
          return line.find(" = phi <") != std::string::npos;
        });
        // By element (64-bit ARM) a vector of each row, and of B what four steps read.
        const bool byElement = machine.triple.starts_with("aarch64");
        const int32_t wanted = gemmRegisters(machine, ++rows), without = byElement     ? 8 + rows
                                                                         : machine.fma ? 3
                                                                                       : 8;
        EXPECT_EQ(sums + without, wanted) << name << ", " << rows << " rows";
        EXPECT_LE(wanted, machine.vectorRegisters) << name << ", " << rows << " rows";
      }
    }
    EXPECT_EQ(rows, gemmTileFor(machine).maxRows) << name;
  }
}

// Edges are padded where panels are packed and cut off where results are written: the loop in between asks
// nothing but whether it is over.
TEST(MicroKernel, D_f_theInnerLoopHoldsNoBranch) {
  for (const std::string& name : machinePresetNames())
    for (const KernelJob& job : gemmKernelJobs(machineNamed(name))) {
      auto module = job.build();
      ASSERT_TRUE(module.ok()) << module.error().toString();
      for (const char* loop : {"block", "single"}) {
        const auto blocks = blocksNamed(module->irText(), loop);
        EXPECT_FALSE(blocks.empty()) << name << ", " << job.name;
        for (const std::vector<std::string>& block : blocks) {
          int jumps = 0, selects = 0, products = 0;
          for (const std::string& line : block) {
            jumps += line.find("  br ") == 0 || line.find("  switch ") == 0;
            selects += line.find(" select ") != std::string::npos || line.find("masked") != std::string::npos;
            products += line.find("fmuladd") != std::string::npos;
          }
          EXPECT_EQ(jumps, 1) << name << ", " << job.name << ": only the loop's own";
          EXPECT_EQ(selects, 0) << name << ", " << job.name;
          EXPECT_GT(products, 0) << name << ", " << job.name;
        }
      }
    }
}

// Whole tiles over padding, and tiles that are cut: the same whole numbers, exactly.
TEST_P(RunnableMachine, D_f_paddedAndCutTilesAgreeOnIntegers) {
  auto engine = KernelEngine::create(machineNamed(GetParam()));
  ASSERT_TRUE(engine.ok());
  auto family = loadGemmFamily(*engine);
  ASSERT_TRUE(family.ok());
  const DynGemmFamily& table = family->table();
  const int64_t depth = 37, width = table.panelWidth;
  std::minstd_rand random(9);
  const auto whole = [&] { return static_cast<float>(static_cast<int>(random() % 41) - 20); };
  for (int64_t rows = 1; rows <= table.maxRows; ++rows)
    for (int64_t columns = 1; columns <= width; ++columns) {
      std::vector<float> a(static_cast<size_t>(table.maxRows * depth), 0.0f),
          b(static_cast<size_t>(depth * width), 0.0f);
      for (int64_t i = 0; i < rows * depth; ++i) a[static_cast<size_t>(i)] = whole();
      for (int64_t k = 0; k < depth; ++k)
        for (int64_t j = 0; j < columns; ++j) b[static_cast<size_t>(k * width + j)] = whole();
      std::vector<float> padded(static_cast<size_t>(table.maxRows * width), kGuard),
          cut(static_cast<size_t>(rows * columns), kGuard);
      table.microKernels[table.maxRows - 1](depth, a.data(), depth, b.data(), padded.data(), width, width, 0);
      table.microKernels[rows - 1](depth, a.data(), depth, b.data(), cut.data(), columns, columns, 0);
      for (int64_t r = 0; r < table.maxRows; ++r)
        for (int64_t j = 0; j < width; ++j) {
          int64_t exact = 0;
          for (int64_t k = 0; k < depth; ++k)
            exact += static_cast<int64_t>(a[static_cast<size_t>(r * depth + k)]) *
                     static_cast<int64_t>(b[static_cast<size_t>(k * width + j)]);
          ASSERT_EQ(padded[static_cast<size_t>(r * width + j)], static_cast<float>(exact));
          if (r >= rows || j >= columns) continue;
          ASSERT_EQ(cut[static_cast<size_t>(r * columns + j)], static_cast<float>(exact));
        }
    }
}

TEST(MicroKernel, M_c_CompilesForEveryPreset) {
  for (const std::string& name : machinePresetNames()) {
    const MachineDescription machine = machineNamed(name);
    auto engine = KernelEngine::create(machine);
    ASSERT_TRUE(engine.ok()) << engine.error().toString();
    auto objects = engine->compileAll(gemmFamilyJobs(machine));
    ASSERT_TRUE(objects.ok()) << objects.error().toString();
    for (const ObjectCode& object : *objects) {
      ASSERT_GT(object.bytes.size(), 500u);
      EXPECT_EQ(object.bytes.substr(0, 4),
                "\x7f"
                "ELF");
      const int elfMachine = static_cast<unsigned char>(object.bytes[18]);  // e_machine
      const std::string processor = machine.triple.substr(0, machine.triple.find('-'));
      EXPECT_EQ(elfMachine, processor == "x86_64"    ? 62
                            : processor == "aarch64" ? 183
                            : processor == "riscv64" ? 243
                                                     : 40)  // Arm
          << name;
    }
  }
}

}  // namespace
}  // namespace dyn
