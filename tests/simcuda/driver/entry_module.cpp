// Entry points: modules, functions, launches.
#include <algorithm>
#include <cstring>
#include <deque>

#include "tests/simcuda/driver/entry.h"

using namespace simcuda;

namespace {

// CUjit_option: where the text of an error goes.
constexpr int kErrorLog = 5, kErrorLogBytes = 6;

// Variables of the module in device memory, with their values.
void placeVariables(Driver& d, Module& module, GlobalAddresses& addresses) {
  for (const Variable& v : module.parsed.variables) {
    if (v.space == Space::Shared) continue;
    Allocation* a = d.memory->allocate(std::max<uint64_t>(v.bytes, 1), module.device);
    if (!a) throw std::bad_alloc();
    std::memset(a->data, 0, v.bytes);
    std::copy(v.values.begin(), v.values.end(), a->data);
    a->setWritten(0, v.bytes, true);
    a->constant = v.space == Space::Const;
    module.variables.push_back(a->begin);
    addresses[v.name] = a->begin;
  }
}

Status load(Driver& d, void** handle, const void* image) {
  static const char kElf[] = {0x7f, 'E', 'L', 'F'};
  if (!handle || !image) return d.fail(kInvalidValue, "cuModuleLoadData: no image");
  if (std::memcmp(image, kElf, 4) == 0)
    return d.fail(kNoBinary, "cuModuleLoadData: machine code; only PTX runs here");
  auto module = std::make_shared<Module>();
  module->text = static_cast<const char*>(image);
  module->device = currentDevice;
  module->parsed = parseModule(module->text);
  const ModuleText& parsed = module->parsed;
  if (parsed.target > d.options.arch || (parsed.targetIsExact && parsed.target != d.options.arch)) {
    return d.fail(kNoBinary, "cuModuleLoadData: made for sm_" + std::to_string(parsed.target) +
                                 ", the device is sm_" + std::to_string(d.options.arch));
  }
  GlobalAddresses addresses;
  placeVariables(d, *module, addresses);
  for (const KernelText& kernel : parsed.kernels) {
    auto function = std::make_unique<Function>();
    function->module = module.get();
    function->code = decodeKernel(parsed, kernel, addresses);
    d.functions.insert(function.get());
    module->functions[kernel.name] = std::move(function);
  }
  d.trace("load module, " + std::to_string(parsed.kernels.size()) + " kernels");
  *handle = module.get();
  d.modules[*handle] = std::move(module);
  return kSuccess;
}

Status checkShape(Driver& d, const Function& f, const Launch& launch) {
  const KernelCode& code = *f.code;
  auto fail = [&](Status status, const std::string& text) {
    return d.fail(status, "cuLaunchKernel: kernel " + code.name + ": " + text);
  };
  const uint32_t gridLimits[] = {2147483647, 65535, 65535}, blockLimits[] = {1024, 1024, 64};
  for (int i = 0; i < 3; i++) {
    if (launch.grid[i] == 0 || launch.threads[i] == 0)
      return fail(kInvalidValue, "a grid or block of size 0");
    if (launch.grid[i] > gridLimits[i])
      return fail(kInvalidValue,
                  "a grid of " + std::to_string(launch.grid[i]) + " blocks along axis " + std::to_string(i));
    if (launch.threads[i] > blockLimits[i])
      return fail(kInvalidValue, "a block of " + std::to_string(launch.threads[i]) + " threads along axis " +
                                     std::to_string(i));
    if (code.maxThreads[i] && launch.threads[i] > code.maxThreads[i])
      return fail(kInvalidValue, "a block of more threads than .maxntid");
    if (code.requiredThreads[i] && launch.threads[i] != code.requiredThreads[i])
      return fail(kInvalidValue, "a block of other than .reqntid");
  }
  if (uint64_t{launch.threads[0]} * launch.threads[1] * launch.threads[2] > 1024)
    return fail(kInvalidValue, "a block of more than 1024 threads");
  bool extended = f.dynamicLimit > 49152;
  if (launch.dynamicShared > f.dynamicLimit ||
      (!extended && uint64_t{code.sharedBytes} + launch.dynamicShared > 49152)) {
    return fail(kInvalidValue, std::to_string(code.sharedBytes) + " + " +
                                   std::to_string(launch.dynamicShared) +
                                   " bytes of shared memory; cuFuncSetAttribute allows more than 49152");
  }
  return kSuccess;
}

// Either a pointer to each argument, or one block of bytes with its size (CU_LAUNCH_PARAM_BUFFER_POINTER,
// _SIZE).
Status copyArguments(Driver& d, const KernelCode& code, void** arguments, void** extra,
                     std::vector<uint8_t>& to) {
  to.assign(code.parameterBytes, 0);
  if (code.parameters.empty()) return kSuccess;
  if (arguments) {
    for (size_t i = 0; i < code.parameters.size(); i++) {
      auto [offset, bytes] = code.parameters[i];
      if (!arguments[i]) return d.fail(kInvalidValue, "cuLaunchKernel: no argument " + std::to_string(i));
      std::memcpy(to.data() + offset, arguments[i], bytes);
    }
    return kSuccess;
  }
  const void* block = nullptr;
  size_t bytes = 0;
  for (; extra && extra[0]; extra += 2) {
    if (extra[0] == reinterpret_cast<void*>(1)) block = extra[1];
    if (extra[0] == reinterpret_cast<void*>(2)) bytes = *static_cast<size_t*>(extra[1]);
  }
  if (!block || bytes < code.parameterBytes)
    return d.fail(kInvalidValue, "cuLaunchKernel: fewer arguments than kernel " + code.name + " takes");
  std::memcpy(to.data(), block, code.parameterBytes);
  return kSuccess;
}

void add(dyn_simcuda_counters_t& sum, const dyn_simcuda_counters_t& more) {
  auto* to = reinterpret_cast<uint64_t*>(&sum);
  auto* from = reinterpret_cast<const uint64_t*>(&more);
  for (size_t i = 0; i < sizeof sum / sizeof(uint64_t); i++) to[i] += from[i];
}

// What a launch touched: the declared buffers, or else whole allocations.
std::vector<Range> touchedBy(const Launch& launch) {
  std::vector<Range> ranges;
  for (const dyn_simcuda_buffer& b : launch.buffers)
    ranges.push_back({b.begin, b.end, b.writable != DYN_SIMCUDA_INPUT});
  if (!ranges.empty()) return ranges;
  for (const Allocation* a : launch.touched) {
    if (!a->constant) ranges.push_back({a->begin, a->end(), a->writtenIn == launch.number});
  }
  return ranges;
}

std::vector<Range> runLaunch(Driver& d, void* handle, Launch run, uint64_t number) {
  if (!d.functions.count(handle)) throw Fault(FaultCode::LaunchFailed, "a kernel whose module was unloaded");
  if (number == d.options.faultAt)
    throw Fault(static_cast<FaultCode>(d.options.faultCode),
                "launch " + std::to_string(number) + ": ends so on request (DYN_SIMCUDA_FAULT)");
  run.number = ++d.launches;
  run.seed = d.options.seed ? d.options.seed + run.number : 0;
  if (d.kept.isWanted(number)) d.kept.keep(run, d.modules.at(static_cast<Function*>(handle)->module));
  run.run();
  add(d.counters, run.counters);
  d.log.done(number, run.counters);
  d.queue.spend(run.counters.warp_instructions / 64);
  return touchedBy(run);
}

std::string triple(const std::array<uint32_t, 3>& v) {
  return "(" + std::to_string(v[0]) + "," + std::to_string(v[1]) + "," + std::to_string(v[2]) + ")";
}

Function* functionOf(Driver& d, void* handle) {
  return d.functions.count(handle) ? static_cast<Function*>(handle) : nullptr;
}

}  // namespace

SIMCUDA_ENTRY cuModuleLoadDataEx(void** module, const void* image, unsigned count, int* options,
                                 void** values) {
  return enter("cuModuleLoadDataEx", Needs::Context, [&](Driver& d) {
    Status status;
    try {
      status = load(d, module, image);
    } catch (const LoadError& error) {
      status = d.fail(kInvalidPtx, error.what());
    }
    char* log = nullptr;
    size_t bytes = 0;
    for (unsigned i = 0; i < count; i++) {
      if (options[i] == kErrorLog) log = static_cast<char*>(values[i]);
      if (options[i] == kErrorLogBytes) bytes = reinterpret_cast<size_t>(values[i]);
    }
    if (log && bytes > 0) std::snprintf(log, bytes, "%s", status == kSuccess ? "" : d.lastFault.c_str());
    return status;
  });
}

SIMCUDA_ENTRY cuModuleLoadData(void** module, const void* image) {
  return enter("cuModuleLoadData", Needs::Context, [&](Driver& d) { return load(d, module, image); });
}

SIMCUDA_ENTRY cuModuleUnload(void* handle) {
  return enter("cuModuleUnload", Needs::Context, [&](Driver& d) {
    auto it = d.modules.find(handle);
    if (it == d.modules.end()) return d.fail(kInvalidHandle, "cuModuleUnload: that is not a module");
    d.trace("unload module");
    d.queue.waitAll();
    for (auto& [name, function] : it->second->functions) d.functions.erase(function.get());
    for (uint64_t variable : it->second->variables) d.memory->free(variable);
    d.modules.erase(it);
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuModuleGetFunction(void** function, void* handle, const char* name) {
  return enter("cuModuleGetFunction", Needs::Context, [&](Driver& d) {
    auto module = d.modules.find(handle);
    if (module == d.modules.end()) return d.fail(kInvalidHandle, "cuModuleGetFunction: that is not a module");
    auto found = module->second->functions.find(name);
    if (found == module->second->functions.end())
      return d.fail(kNotFound, std::string("cuModuleGetFunction: there is no kernel ") + name);
    *function = found->second.get();
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuFuncSetAttribute(void* handle, int attribute, int value) {
  return enter("cuFuncSetAttribute", Needs::Context, [&](Driver& d) {
    Function* f = functionOf(d, handle);
    if (!f) return d.fail(kInvalidHandle, "cuFuncSetAttribute: that is not a function");
    if (attribute == 9) return kSuccess;  // a wish about the share of caches
    if (attribute != 8)
      return d.fail(kNotSupported, "cuFuncSetAttribute: unsupported attribute " + std::to_string(attribute));
    if (value < 0 || static_cast<uint32_t>(value) + f->code->sharedBytes > 166912) {
      return d.fail(kInvalidValue, "cuFuncSetAttribute: a block has at most 166912 bytes of shared memory");
    }
    f->dynamicLimit = static_cast<uint32_t>(value);
    return kSuccess;
  });
}

SIMCUDA_ENTRY cuFuncGetAttribute(int* value, int attribute, void* handle) {
  return enter("cuFuncGetAttribute", Needs::Context, [&](Driver& d) {
    Function* f = functionOf(d, handle);
    if (!f) return d.fail(kInvalidHandle, "cuFuncGetAttribute: that is not a function");
    const KernelCode& code = *f->code;
    uint32_t limit = code.maxThreads[0] ? code.maxThreads[0] * code.maxThreads[1] * code.maxThreads[2] : 1024;
    switch (attribute) {
      case 0:
        *value = static_cast<int>(std::min(limit, 1024u));
        return kSuccess;
      case 1:
        *value = static_cast<int>(code.sharedBytes);
        return kSuccess;
      case 2:
        *value = 0;
        return kSuccess;
      case 3:
        *value = static_cast<int>(code.localBytes);
        return kSuccess;
      case 4:
        *value = 32;
        return kSuccess;  // nobody allocates registers here: a plausible number
      case 5:
        *value = f->module->parsed.version;
        return kSuccess;
      case 6:
        *value = d.options.arch;
        return kSuccess;
      case 8:
        *value = static_cast<int>(f->dynamicLimit);
        return kSuccess;
      default:
        return d.fail(kNotSupported,
                      "cuFuncGetAttribute: unsupported attribute " + std::to_string(attribute));
    }
  });
}

SIMCUDA_ENTRY cuLaunchKernel(void* handle, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                             unsigned blockY, unsigned blockZ, unsigned sharedBytes, void* stream,
                             void** arguments, void** extra) {
  auto buffers = std::move(nextBuffers);
  nextBuffers.clear();
  return enter("cuLaunchKernel", Needs::Context, [&](Driver& d) {
    Function* f = functionOf(d, handle);
    Stream* s = d.stream(stream);
    if (!f || !s)
      return d.fail(kInvalidHandle, std::string("cuLaunchKernel: that is no ") + (f ? "stream" : "function"));
    Launch launch;
    launch.code = f->code.get();
    launch.memory = d.memory.get();
    launch.grid = {gridX, gridY, gridZ};
    launch.threads = {blockX, blockY, blockZ};
    launch.dynamicShared = sharedBytes;
    launch.buffers = std::move(buffers);
    launch.device = currentDevice;
    launch.checks = d.options.checks;
    Status status = checkShape(d, *f, launch);
    if (status == kSuccess) status = copyArguments(d, *f->code, arguments, extra, launch.parameters);
    if (status != kSuccess) return status;
    std::string name = "launch " + f->code->name;
    d.trace(name + " grid " + triple(launch.grid) + " block " + triple(launch.threads) + " shared " +
            std::to_string(sharedBytes) + " stream " + std::to_string(s->number));
    // A graph asks for it again and again: those that wait, by their numbers.
    auto asked = std::make_shared<std::deque<uint64_t>>();
    CommandPtr command;
    status = d.issue(*s,
                     {name, [&d, asked, launch] { asked->push_back(d.log.add(launch)); },
                      [&d, asked, handle, launch] {
                        uint64_t number = asked->front();
                        asked->pop_front();
                        return runLaunch(d, handle, launch, number);
                      }},
                     &command);
    if (d.options.blocks && command) d.queue.wait(command);
    return status;
  });
}
