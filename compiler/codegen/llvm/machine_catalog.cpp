#include "compiler/codegen/llvm/machine_catalog.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>

#include "compiler/codegen/llvm/llvm_target.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include "vm/shared/dyn_caches.h"
#include "vm/shared/dyn_processor.h"
#include "vm/shared/dyn_tiles.h"

namespace dyn {
namespace {

// What the instruction sets do not tell: how many vector FMAs a core starts per cycle, and their latency.
struct FmaRow {
  std::string_view cpu;
  int32_t perCycle;
  int32_t latency;
};
constexpr FmaRow kFmaRows[] = {
    {"haswell", 2, 5},       {"broadwell", 2, 5},     {"skylake", 2, 4},        {"skylake-avx512", 2, 4},
    {"cascadelake", 2, 4},   {"cooperlake", 2, 4},    {"icelake-client", 1, 4}, {"icelake-server", 2, 4},
    {"tigerlake", 1, 4},     {"rocketlake", 1, 4},    {"alderlake", 2, 4},      {"sapphirerapids", 2, 4},
    {"emeraldrapids", 2, 4}, {"graniterapids", 2, 4}, {"znver1", 1, 5},         {"znver2", 2, 5},
    {"znver3", 2, 4},        {"znver4", 1, 4},        {"znver5", 2, 4},         {"cortex-a72", 1, 7},
    {"neoverse-n1", 2, 4},   {"neoverse-v1", 4, 4},   {"neoverse-v2", 4, 4},    {"apple-m1", 4, 4},
};

struct PresetRow {
  std::string_view name, triple, cpu, features, abi;
  int64_t l1Bytes, l2Bytes, l3Bytes;
};
// Kernels are made of vectors of 16 bytes.
constexpr const char* kNoScalableVectors = "-sve";
constexpr int64_t kKiB = 1024, kMiB = 1024 * 1024;
constexpr PresetRow kPresets[] = {
    {"aarch64", "aarch64-unknown-linux-gnu", "generic", "", "", 32 * kKiB, 256 * kKiB, 0},
    {"apple-m1", "aarch64-unknown-linux-gnu", "apple-m1", "", "", 128 * kKiB, 12 * kMiB, 0},
    {"armv8.2", "aarch64-unknown-linux-gnu", "generic", "+fullfp16,+dotprod", "", 64 * kKiB, 512 * kKiB, 0},
    {"armv8.6", "aarch64-unknown-linux-gnu", "generic", "+fullfp16,+dotprod,+i8mm,+bf16", "", 64 * kKiB,
     1 * kMiB, 0},
    {"cortex-a72", "aarch64-unknown-linux-gnu", "cortex-a72", "", "", 32 * kKiB, 1 * kMiB, 0},
    {"cortex-m0", "thumbv6m-unknown-none-eabi", "cortex-m0", "", "", 0, 0, 0},
    {"cortex-m4", "thumbv7em-unknown-none-eabihf", "cortex-m4", "", "", 0, 0, 0},
    {"cortex-m55", "thumbv8.1m.main-unknown-none-eabihf", "cortex-m55", "", "", 0, 0, 0},
    {"haswell", "x86_64-unknown-linux-gnu", "haswell", "", "", 32 * kKiB, 256 * kKiB, 8 * kMiB},
    {"neoverse-n1", "aarch64-unknown-linux-gnu", "neoverse-n1", "", "", 64 * kKiB, 1 * kMiB, 32 * kMiB},
    {"neoverse-v1", "aarch64-unknown-linux-gnu", "neoverse-v1", kNoScalableVectors, "", 64 * kKiB, 1 * kMiB,
     32 * kMiB},
    {"riscv64", "riscv64-unknown-linux-gnu", "generic-rv64", "+m,+a,+f,+d,+c", "lp64d", 32 * kKiB, 256 * kKiB,
     0},
    {"rv64gcv", "riscv64-unknown-linux-gnu", "generic-rv64", "+m,+a,+f,+d,+c,+v", "lp64d", 32 * kKiB,
     512 * kKiB, 0},
    {"sapphirerapids", "x86_64-unknown-linux-gnu", "sapphirerapids", "", "", 48 * kKiB, 2 * kMiB, 105 * kMiB},
    {"skylake-avx512", "x86_64-unknown-linux-gnu", "skylake-avx512", "", "", 32 * kKiB, 1 * kMiB, 24 * kMiB},
    {"x86-64", "x86_64-unknown-linux-gnu", "x86-64", "", "", 32 * kKiB, 256 * kKiB, 8 * kMiB},
    {"x86-64-v1", "x86_64-unknown-linux-gnu", "x86-64", "", "", 32 * kKiB, 256 * kKiB, 8 * kMiB},
    {"x86-64-v2", "x86_64-unknown-linux-gnu", "x86-64-v2", "", "", 32 * kKiB, 256 * kKiB, 8 * kMiB},
    {"x86-64-v3", "x86_64-unknown-linux-gnu", "x86-64-v3", "", "", 32 * kKiB, 256 * kKiB, 8 * kMiB},
    {"x86-64-v4", "x86_64-unknown-linux-gnu", "x86-64-v4", "", "", 32 * kKiB, 1 * kMiB, 24 * kMiB},
    {"znver4", "x86_64-unknown-linux-gnu", "znver4", "", "", 32 * kKiB, 1 * kMiB, 32 * kMiB},
};

// Fills the fields that follow from cpu and features.
Status deriveInstructionSets(MachineDescription& machine) {
  DYN_TRY(const llvm::Target* target, lookupTarget(machine));
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      target->createMCSubtargetInfo(machine.triple, machine.cpu, machine.features));
  if (!info || !info->isCPUStringValid(machine.cpu))
    return makeError(DiagnosticId::unsupportedFeature,
                     "the target '" + machine.triple + "' has no processor named '" + machine.cpu + "'");
  llvm::Triple triple(machine.triple);
  if (triple.isX86()) {
    machine.avx512 = info->checkFeatures("+avx512f,+avx512bw,+avx512dq,+avx512vl");
    machine.avx512Bf16 = machine.avx512 && info->checkFeatures("+avx512bf16");
    machine.avx512Vnni = machine.avx512 && info->checkFeatures("+avx512vnni");
    machine.amxTile = info->checkFeatures("+amx-tile");
    machine.amxBf16 = machine.amxTile && info->checkFeatures("+amx-bf16");
    machine.amxInt8 = machine.amxTile && info->checkFeatures("+amx-int8");
    machine.fma = info->checkFeatures("+fma");
    machine.maskedMemory = info->checkFeatures("+avx2");
    machine.vectorBits = machine.avx512 ? 512 : info->checkFeatures("+avx2") ? 256 : 128;
    machine.vectorRegisters = machine.avx512 ? 32 : triple.isArch64Bit() ? 16 : 8;
  } else {
    bool vector = triple.isRISCV() ? info->checkFeatures("+v") : triple.isAArch64();
    machine.vectorBits = 128;  // scalable registers are used as fixed vectors of the guaranteed 128 bits
    machine.vectorRegisters = 32;
    machine.fma = vector;
    machine.maskedMemory = triple.isRISCV() && vector;
  }
  for (const FmaRow& row : kFmaRows) {
    if (row.cpu != machine.cpu) continue;
    machine.fmaPerCycle = row.perCycle;
    machine.fmaLatency = row.latency;
  }
  return {};
}

int64_t systemValue(int name) {
  long value = sysconf(name);
  return value > 0 ? value : 0;
}

int32_t usableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) return CPU_COUNT(&set);
  return static_cast<int32_t>(std::max<int64_t>(1, systemValue(_SC_NPROCESSORS_ONLN)));
}

std::map<std::string, bool> hostFeatures() {
  std::map<std::string, bool> sorted;
  const llvm::StringMap<bool> found = llvm::sys::getHostCPUFeatures();
  for (const auto& entry : found) sorted[entry.first().str()] = entry.second;
#if defined(__aarch64__)
    // LLVM takes what the processor's name promises; a system or a virtual machine may not offer it.
#define DYN_ARM_FEATURE(short, name, word, bit) sorted[name] = vm::armHas(word, bit);
#include "vm/shared/dyn_arm_features.def"
#endif
  return sorted;
}

}  // namespace

Result<MachineDescription> detectHost() {
  MachineDescription machine;
  machine.name = "host";
  machine.triple = llvm::Triple::normalize(llvm::sys::getProcessTriple());
  machine.cpu = llvm::sys::getHostCPUName().str();
  for (const auto& [feature, present] : hostFeatures()) {
    if (!machine.features.empty()) machine.features += ',';
    machine.features += (present ? "+" : "-") + feature;
  }
  if (llvm::Triple(machine.triple).isRISCV64()) machine.abi = "lp64d";
  if (llvm::Triple(machine.triple).isAArch64()) machine.features += std::string(",") + kNoScalableVectors;
  DYN_CHECK(deriveInstructionSets(machine));
  // The processor has them; whether the system lets this process use them is another matter.
  machine.amxBf16 = machine.amxBf16 && tileSupport().bf16;
  machine.amxInt8 = machine.amxInt8 && tileSupport().bytes;
  machine.amxTile = machine.amxBf16 || machine.amxInt8;
  machine.coreCount = usableCores();
#ifdef _SC_LEVEL1_DCACHE_SIZE
  if (int64_t line = systemValue(_SC_LEVEL1_DCACHE_LINESIZE)) machine.lineBytes = line;
#endif
  machine.l1Bytes = cacheBytes(1);
  machine.l2Bytes = cacheBytes(2);
  machine.l3Bytes = cacheBytes(3);
  return machine;
}

std::vector<std::string> machinePresetNames() {
  std::vector<std::string> names;
  for (const PresetRow& row : kPresets) names.emplace_back(row.name);
  return names;
}

Result<MachineDescription> machinePreset(std::string_view name) {
  for (const PresetRow& row : kPresets) {
    if (row.name != name) continue;
    MachineDescription machine;
    machine.name = row.name;
    machine.triple = row.triple;
    machine.cpu = row.cpu;
    machine.features = row.features;
    machine.abi = row.abi;
    machine.l1Bytes = row.l1Bytes;
    machine.l2Bytes = row.l2Bytes;
    machine.l3Bytes = row.l3Bytes;
    DYN_CHECK(deriveInstructionSets(machine));
    return machine;
  }
  Error error = makeError(DiagnosticId::usageError, "no machine preset is named '" + std::string(name) + "'");
  std::string known = "known:";
  for (const PresetRow& row : kPresets) known += " " + std::string(row.name);
  return std::move(error).note(known);
}

bool runsOnThisHost(const MachineDescription& machine) {
  llvm::Triple wanted(machine.triple), here(llvm::sys::getProcessTriple());
  if (wanted.getArch() != here.getArch() || wanted.getOS() != here.getOS()) return false;
  Result<const llvm::Target*> target = lookupTarget(machine);
  if (!target.ok()) return false;
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      (*target)->createMCSubtargetInfo(machine.triple, machine.cpu, machine.features));
  if (!info) return false;
  for (const auto& [feature, present] : hostFeatures())
    if (!present && info->checkFeatures("+" + feature)) return false;
  return true;
}

namespace {

struct FeatureRow {
  const char *shortName, *name;
  int32_t level;
};
constexpr FeatureRow kFeatureRows[] = {
#define DYN_PROCESSOR_FEATURE(short, name, level) {short, name, level},
#include "vm/shared/dyn_processor_features.def"
};

constexpr FeatureRow kArmFeatureRows[] = {
#define DYN_ARM_FEATURE(short, name, word, bit) {short, name, 0},
#include "vm/shared/dyn_arm_features.def"
};

bool hasFeature(const llvm::MCSubtargetInfo& info, const FeatureRow& row) {
  return info.checkFeatures("+" + std::string(row.name));
}

int32_t levelOf(const llvm::MCSubtargetInfo& info) {
  constexpr int32_t kHighestLevel = 4;
  int32_t level = 1;
  while (level < kHighestLevel &&
         std::all_of(std::begin(kFeatureRows), std::end(kFeatureRows),
                     [&](const FeatureRow& row) { return row.level > level + 1 || hasFeature(info, row); }))
    ++level;
  return level;
}

}  // namespace

int32_t processorLevel(const MachineDescription& machine) {
  const llvm::Triple triple(machine.triple);
  const Result<const llvm::Target*> target = lookupTarget(machine);
  if (triple.getArch() != llvm::Triple::x86_64 || !triple.isOSLinux() || !machine.abi.empty() || !target.ok())
    return 0;
  const std::unique_ptr<llvm::MCSubtargetInfo> info(
      (*target)->createMCSubtargetInfo(machine.triple, machine.cpu, machine.features));
  return info ? levelOf(*info) : 0;
}

std::string codeNeeds(const MachineDescription& machine) {
  std::string text = machine.triple.substr(0, machine.triple.find('-'));
  Result<const llvm::Target*> target = lookupTarget(machine);
  const bool arm = text == "aarch64";
  if ((text != "x86_64" && !arm) || !target.ok()) return text;
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      (*target)->createMCSubtargetInfo(machine.triple, machine.cpu, machine.features));
  if (!info) return text;
  char separator = ':';
  const auto add = [&](const std::string& need) {
    text += separator + need;
    separator = '+';
  };
  if (arm) {
    for (const FeatureRow& row : kArmFeatureRows)
      if (hasFeature(*info, row)) add(row.shortName);
    return text;
  }
  const int32_t level = levelOf(*info);
  if (level > 1) add("v" + std::to_string(level));
  for (const FeatureRow& row : kFeatureRows)
    if (row.level > level && hasFeature(*info, row)) add(row.shortName);
  return text;
}

}  // namespace dyn
