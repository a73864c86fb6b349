#include "app/engine/device/simulated_gpu.h"

#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <mutex>

#include "app/engine/device/simulated_gpu_calls.h"
#include "compiler/export/program_folder.h"

namespace dyn {

namespace {

enum class Driver : uint8_t { none, simulated, another };

struct Chosen {
  std::mutex mutex;
  Driver driver = Driver::none;
  SimulatedGpu* gpu = nullptr;
};
Chosen& chosen() {
  static Chosen* const kChosen = new Chosen;  // runs may outlive what ends with the process
  return *kChosen;
}

// Where the environment's DYN_SIMCUDA_FOLDER says, beside Dyn's programs, or beside their folder, as the
// build leaves it.
std::string libraryPath() {
  std::error_code ignored;
  const std::filesystem::path own = programFolder();
  std::vector<std::filesystem::path> folders = {own / "simcuda", own.parent_path() / "simcuda"};
  if (const char* given = std::getenv("DYN_SIMCUDA_FOLDER")) folders.insert(folders.begin(), given);
  for (const std::filesystem::path& folder : folders)
    if (std::filesystem::exists(folder / "libcuda.so.1", ignored)) return (folder / "libcuda.so.1").string();
  return "";
}

DeviceCounts countsOf(const simulated::Launch& from) {
  DeviceCounts to;
  to.function = from.kernel;
  to.index = kernelOfFunction(to.function);
  std::copy(from.grid, from.grid + 3, to.grid.begin());
  std::copy(from.threads, from.threads + 3, to.threads.begin());
  const auto number = [](uint64_t value) { return static_cast<int64_t>(value); };
  to.launchesCount = 1;
  to.instructions = number(from.counters.warpInstructions);
  to.laneInstructions = number(from.counters.laneInstructions);
  to.globalRequests = number(from.counters.globalRequests);
  to.globalSectors = number(from.counters.globalSectors);
  to.sharedRequests = number(from.counters.sharedRequests);
  to.sharedWays = number(from.counters.sharedWays);
  to.branches = number(from.counters.branches);
  to.divergentBranches = number(from.counters.divergentBranches);
  to.barriers = number(from.counters.barriers);
  to.atomics = number(from.counters.atomics);
  return to;
}

}  // namespace

int kernelOfFunction(std::string_view function) {
  constexpr std::string_view kPrefix = "dyn_kernel_";
  int index = -1;
  if (function.substr(0, kPrefix.size()) == kPrefix)
    std::from_chars(function.data() + kPrefix.size(), function.data() + function.size(), index);
  return index;
}

struct SimulatedGpu::Calls {
  uint64_t (*launchCount)();
  int (*launchInfo)(uint64_t, simulated::Launch*);
  void (*keepLaunch)(uint64_t);
  int (*open)(uint32_t, uint32_t);
  int (*step)(uint64_t, int);
  int (*stop)(simulated::Stop*);
  int (*readRegister)(uint32_t, simulated::Register*);
  uint32_t (*readShared)(uint32_t, uint32_t, uint8_t*, uint8_t*);
  const char* (*fault)();
  bool whole = true;
};

SimulatedGpu::SimulatedGpu(void* library) : calls_(std::make_shared<Calls>()) {
  const auto find = [&](const char* name, auto& call) {
    call = reinterpret_cast<std::decay_t<decltype(call)>>(dlsym(library, name));
    calls_->whole = calls_->whole && call != nullptr;
  };
  find("dyn_simcuda_launch_count", calls_->launchCount);
  find("dyn_simcuda_launch_info", calls_->launchInfo);
  find("dyn_simcuda_keep_launch", calls_->keepLaunch);
  find("dyn_simcuda_step_open", calls_->open);
  find("dyn_simcuda_step", calls_->step);
  find("dyn_simcuda_step_stop", calls_->stop);
  find("dyn_simcuda_step_register", calls_->readRegister);
  find("dyn_simcuda_step_shared", calls_->readShared);
  find("dyn_simcuda_fault", calls_->fault);
}

Result<SimulatedGpu*> SimulatedGpu::use() {
  Chosen& now = chosen();
  const std::lock_guard<std::mutex> lock(now.mutex);
  if (now.gpu) return now.gpu;
  if (now.driver == Driver::another)
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: simcuda after cuda: a process keeps the driver that it has run on");
  const std::string path = libraryPath();
  if (path.empty())
    return makeError(DiagnosticId::unsupportedFeature, "unsupported: simcuda was not built")
        .note("it is built with the tests, on Linux");
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* why = dlerror();
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: simcuda does not load: " + std::string(why ? why : path));
  }
  std::unique_ptr<SimulatedGpu> gpu(new SimulatedGpu(library));
  if (!gpu->calls_->whole)
    return makeError(DiagnosticId::unsupportedFeature, "unsupported: " + path + " is another simcuda");
  // How the runtime finds its driver. Nobody has asked it for one yet.
  ::setenv("DYN_CUDA_DRIVER", path.c_str(), 1);
  now.driver = Driver::simulated;
  return now.gpu = gpu.release();
}

std::string SimulatedGpu::howToUse() { return ":set device simcuda, or --device simcuda"; }

Status SimulatedGpu::useAnother() {
  Chosen& now = chosen();
  const std::lock_guard<std::mutex> lock(now.mutex);
  if (now.driver == Driver::simulated)
    return makeError(DiagnosticId::unsupportedFeature,
                     "unsupported: cuda after simcuda: a process keeps the driver that it has run on");
  now.driver = Driver::another;
  return {};
}

SimulatedGpu* SimulatedGpu::used() {
  Chosen& now = chosen();
  const std::lock_guard<std::mutex> lock(now.mutex);
  return now.gpu;
}

std::string SimulatedGpu::lastFault() const { return calls_->fault(); }

int64_t SimulatedGpu::launchCount() const { return static_cast<int64_t>(calls_->launchCount()); }

std::vector<DeviceCounts> SimulatedGpu::launchesAfter(int64_t before) const {
  std::vector<DeviceCounts> counted;
  const int64_t last = launchCount();
  for (int64_t number = before + 1; number <= last; ++number) {
    simulated::Launch launch;
    if (calls_->launchInfo(static_cast<uint64_t>(number), &launch) != 0 || !launch.done) continue;
    counted.push_back(countsOf(launch));
    counted.back().launch = number - before;
  }
  return counted;
}

void SimulatedGpu::keepLaunch(int64_t n) { calls_->keepLaunch(static_cast<uint64_t>(n)); }

Status SimulatedGpu::open(int64_t block, int64_t warp) {
  const bool fits = block >= 0 && warp >= 0 && block <= UINT32_MAX && warp <= UINT32_MAX;
  if (fits && calls_->open(static_cast<uint32_t>(block), static_cast<uint32_t>(warp)) == 0) return {};
  return makeError(DiagnosticId::usageError, fits ? lastFault() : "a block and a warp are numbers from 0 on");
}

Status SimulatedGpu::step(int64_t count, StepBy by) {
  if (count < 1) return makeError(DiagnosticId::usageError, "a number of steps is at least 1");
  simulated::Stop stop;
  if (calls_->stop(&stop) != 0)
    return makeError(DiagnosticId::usageError, "no warp is stepped through").note(":warp 1 opens one");
  (void)calls_->step(static_cast<uint64_t>(count), static_cast<int>(by));
  return {};
}

Result<WarpView> SimulatedGpu::stop(const std::string& registers) const {
  simulated::Stop stop;
  if (calls_->stop(&stop) != 0)
    return makeError(DiagnosticId::usageError, "no warp is stepped through").note(":warp 1 opens one");
  WarpView view;
  view.function = stop.kernel;
  view.language = "PTX";
  std::copy(stop.grid, stop.grid + 3, view.grid.begin());
  std::copy(stop.threads, stop.threads + 3, view.threads.begin());
  view.block = stop.block;
  view.warp = stop.warp;
  view.warpsCount = stop.warps;
  view.active = stop.active;
  view.exists = stop.exists;
  view.ended = stop.ended;
  view.parked = stop.parked;
  view.line = stop.line;
  view.instruction = stop.text;
  view.loopLine = stop.sourceLine;
  view.instructions = static_cast<int64_t>(stop.instructions);
  view.barriers = stop.barriers;
  view.fault = stop.fault;
  view.sharedBytes = stop.sharedBytes;
  for (uint32_t i = 0; i < stop.registers; ++i) {
    simulated::Register held;
    if (calls_->readRegister(i, &held) != 0) break;
    const bool wanted = registers.empty()
                            ? held.used != 0
                            : registers == "all" || registers == held.name || "%" + registers == held.name;
    if (wanted)
      view.registers.push_back({held.name, static_cast<int>(held.bits), {held.values, held.values + 32}});
  }
  if (!registers.empty() && registers != "all" && view.registers.empty())
    return makeError(DiagnosticId::textName, "the kernel has no register " + registers);
  return view;
}

void SimulatedGpu::readShared(WarpView& view, int64_t offset, int64_t count) const {
  if (offset < 0 || offset >= view.sharedBytes || count < 1) return;
  view.sharedOffset = static_cast<uint32_t>(offset);
  const auto bytes = static_cast<uint32_t>(std::min<int64_t>(count, view.sharedBytes - offset));
  view.shared.resize(bytes);
  view.sharedWritten.resize(bytes);
  (void)calls_->readShared(view.sharedOffset, bytes, view.shared.data(), view.sharedWritten.data());
}

}  // namespace dyn
