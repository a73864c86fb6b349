// driver.h — all state behind the entry points, and what each of them begins with.
#pragma once
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/simcuda/driver/commands.h"
#include "tests/simcuda/driver/launch_log.h"
#include "tests/simcuda/driver/status.h"
#include "tests/simcuda/memory/device_memory.h"
#include "tests/simcuda/ptx/code.h"
#include "tests/simcuda/simcuda.h"

namespace simcuda {

// From the environment, when the library is first called or reset.
struct Options {
  uint64_t seed = 0;             // DYN_SIMCUDA_SEED
  bool checks = true;            // DYN_SIMCUDA_CHECKS
  uint64_t memory = 8ull << 30;  // DYN_SIMCUDA_MEMORY: bytes of each device
  uint64_t failAt = 0;           // DYN_SIMCUDA_FAIL: the how many-th call fails; 0: none
  std::string failCall;          // "cuMemAlloc_v2:3" in it: the third of these calls; "": of all calls
  int failCode = 0;      // "7:719" in it; without, allocations are out of memory and others fail as unknown
  uint64_t faultAt = 0;  // DYN_SIMCUDA_FAULT: "3:700", the third launch ends in that error when it runs
  int faultCode = 719;
  std::string skip;     // DYN_SIMCUDA_SKIP: "cuStreamSynchronize:2", the second of these calls does nothing
  bool blocks = false;  // CUDA_LAUNCH_BLOCKING, as the real driver reads it: a launch returns when it is done
  int devices = 1;      // DYN_SIMCUDA_DEVICES
  int arch = 80;        // DYN_SIMCUDA_ARCH
  std::string trace;    // DYN_SIMCUDA_TRACE: a file
  static Options fromEnvironment();
};

struct Device {
  int index = 0;
  int retained = 0;
  Status sticky = kSuccess;  // the fault that ended its context
};

struct Module {
  std::string text;
  ModuleText parsed;
  int device = 0;
  std::vector<uint64_t> variables;  // allocations of them
  std::map<std::string, std::unique_ptr<struct Function>> functions;
};

struct Function {
  Module* module = nullptr;
  std::unique_ptr<KernelCode> code;
  uint32_t dynamicLimit = 49152;
};

class Driver {
 public:
  explicit Driver(Options options);
  ~Driver();

  // One line of the trace; nothing where none is asked for.
  void trace(const std::string& line);
  // An error that a call found by itself: its text is what dyn_simcuda_fault says.
  Status fail(Status status, const std::string& text) {
    lastFault = text;
    return status;
  }
  // A fault ends what is asked of the device.
  void stop(Device& device, const Fault& fault);
  // Whether that is the call that shall do nothing.
  bool skips(const std::string& name);
  bool fails(const std::string& name);
  Device* current();  // of this thread's context
  Stream* stream(void* handle);
  Event* event(void* handle);
  // In the stream, or as a node of the graph that is captured there.
  Status issue(Stream& stream, const Recipe& recipe, CommandPtr* command = nullptr);
  bool isPinned(const void* host, size_t bytes) const;
  // The allocation that holds all these bytes, or nullptr with a text.
  Allocation* range(uint64_t address, uint64_t bytes, const char* what);

  Options options;
  std::unique_ptr<DeviceMemory> memory;
  CommandQueue queue;
  std::vector<Device> devices;
  std::map<void*, std::unique_ptr<Stream>> streams;
  std::map<void*, std::unique_ptr<Event>> events;
  std::map<void*, std::shared_ptr<Module>> modules;
  std::set<void*> functions;
  std::map<void*, std::unique_ptr<Graph>> graphs;
  std::map<void*, std::unique_ptr<GraphExec>> executables;
  std::map<const char*, size_t> pinned;  // begin and bytes of what cuMemHostAlloc gave
  dyn_simcuda_counters_t counters{};
  LaunchLog log;
  KeptLaunch kept;
  std::map<std::string, uint64_t> callsByName;  // where one is to be skipped
  std::string lastFault;
  bool initialized = false;
  uint64_t calls = 0, callsOfFailing = 0;
  uint32_t launches = 0;
  int eventNumber = 0;

 private:
  FILE* traceFile_ = nullptr;
};

// The one of this process; made anew by dyn_simcuda_reset.
std::unique_ptr<Driver>& theDriver();
std::mutex& theLock();
extern thread_local int currentDevice;  // -1: no context is current
extern thread_local std::vector<dyn_simcuda_buffer> nextBuffers;

enum class Needs { Nothing, Initialized, Context };

// What entry points begin with: the lock, the call that shall fail, errors that stay, what the call needs.
// Faults become codes here.
template <class F>
int enter(const char* name, Needs needs, F body) {
  std::lock_guard<std::mutex> lock(theLock());
  try {
    auto& made = theDriver();
    if (!made) made = std::make_unique<Driver>(Options::fromEnvironment());
    Driver& d = *made;
    ++d.calls;
    if (d.options.failAt != 0 && d.fails(name)) {
      Status status = d.options.failCode ? static_cast<Status>(d.options.failCode)
                      : std::string(name).find("Alloc") != std::string::npos ? kOutOfMemory
                                                                             : kUnknown;
      d.trace("failed call " + std::to_string(d.calls) + " " + name);
      return d.fail(status, std::string(name) + ": fails since it is call " + std::to_string(d.calls) +
                                " (DYN_SIMCUDA_FAIL)");
    }
    if (!d.options.skip.empty() && d.skips(name)) return kSuccess;
    if (needs != Needs::Nothing && !d.initialized)
      return d.fail(kNotInitialized, std::string(name) + ": before cuInit");
    if (needs == Needs::Context && !d.current())
      return d.fail(kInvalidContext, std::string(name) + ": no context is current");
    if (needs == Needs::Context && d.current()->sticky != kSuccess) return d.current()->sticky;
    try {
      return body(d);
    } catch (const Fault& fault) {
      if (Device* device = d.current(); device && device->sticky == kSuccess) d.stop(*device, fault);
      return d.fail(static_cast<Status>(fault.code), fault.what());
    } catch (const LoadError& error) {
      return d.fail(kInvalidPtx, error.what());
    }
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  } catch (const std::exception& error) {
    if (theDriver()) theDriver()->lastFault = error.what();
    return kUnknown;
  }
}

}  // namespace simcuda
