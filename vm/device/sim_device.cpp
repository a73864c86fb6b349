#include "vm/device/sim_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "vm/base/allocator.h"
#include "vm/base/device_text.h"
#include "vm/base/machine_share.h"
#include "vm/device/cpu_device.h"
#include "vm/include/dyn_gpu.h"

namespace dyn::vm {
namespace {

// Of addresses; nothing lies behind them. A small memory has fewer, and so has a process that has few itself.
constexpr uint64_t kMostSpaceBytes = uint64_t{1} << 36, kLeastSpaceBytes = uint64_t{1} << 30;
constexpr uint64_t kSimUnit = 256;  // addresses of allocations; as much lies between two
constexpr int kFresh = 0xcb, kAwaited = 0xfe;

struct SimFault {
  dyn_status status = DYN_OK;
  std::string text;
};

enum class Kind : uint8_t { copyTo, copyFrom, copyWithin, fill, launch, deallocate, record, wait };

struct Command {
  Kind kind;
  void* target = nullptr;
  const void* source = nullptr;
  uint64_t bytes = 0;
  uint8_t value = 0;
  uint32_t event = 0;
  uint64_t generation = 0;  // of the event
  DynLaunch launch{};
  std::vector<void*> buffers = {};
  std::vector<int64_t> scalars = {};
};

struct Stream {
  std::deque<Command> commands;
  SimFault fault;  // the first since the last synchronise
};

struct Event {
  uint64_t recorded = 0, done = 0;
};

struct Block {
  uint64_t bytes;
  std::byte* shadow;  // where the bytes really are
};

}  // namespace

class SimDevice {
 public:
  explicit SimDevice(const SimOptions& options)
      : random_(options.seed), totalBytes_(std::min(options.memoryBytes, usableMemoryBytes())) {
    streams_[0];
  }
  ~SimDevice() {
    for (auto& [address, block] : blocks_) deallocateAligned({}, block.shadow, block.bytes);
    if (space_) munmap(space_, spaceBytes_);
  }
  SimDevice(const SimDevice&) = delete;

  std::mutex& mutex() { return mutex_; }

  SimFault open() {
    if (space_) return {};
    constexpr uint64_t kAddressesOfByte = 64;
    spaceBytes_ =
        std::clamp(totalBytes_, kLeastSpaceBytes / kAddressesOfByte, kMostSpaceBytes / kAddressesOfByte) *
        kAddressesOfByte;
    for (; spaceBytes_ >= kLeastSpaceBytes; spaceBytes_ /= 4) {
      void* space = mmap(nullptr, spaceBytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (space == MAP_FAILED) continue;
      space_ = static_cast<std::byte*>(space);
      next_ = base();
      return {};
    }
    return {DYN_UNAVAILABLE, "the system gives no addresses for a second space"};
  }

  SimFault allocate(uint64_t bytes, void*& memory) {
    const uint64_t taken = (bytes + 2 * kSimUnit - 1) / kSimUnit * kSimUnit;
    if (bytes > totalBytes_ - usedBytes_ || taken < bytes || !findRoom(taken))
      return {DYN_OUT_OF_MEMORY,
              std::to_string(bytes) + " bytes, of " + std::to_string(totalBytes_ - usedBytes_)};
    auto* shadow = static_cast<std::byte*>(allocateAligned({}, bytes, 64));
    if (!shadow) return {DYN_OUT_OF_MEMORY, "the system gives no memory"};
    memset(shadow, kFresh, bytes);
    blocks_[next_] = {bytes, shadow};
    memory = reinterpret_cast<void*>(next_);
    next_ += taken;
    usedBytes_ += bytes;
    return {};
  }
  uint64_t freeBytes() const { return totalBytes_ - usedBytes_; }
  uint64_t totalBytes() const { return totalBytes_; }

  SimFault loadCode(const void* code, uint64_t bytes, uint64_t& module) {
    if (!code || bytes != sizeof(DynHostCode))
      return {DYN_BAD_PROGRAM, "code that is not a table of functions"};
    module = ++lastModule_;
    modules_[module] = *static_cast<const DynHostCode*>(code);
    return {};
  }
  SimFault unloadCode(uint64_t module) {
    if (modules_.erase(module) == 0) return {DYN_INVALID_ARGUMENT, "code that is not loaded"};
    return {};
  }
  SimFault findKernel(uint64_t module, const char* name, uint64_t& kernel) const {
    auto found = modules_.find(module);
    if (found == modules_.end()) return {DYN_INVALID_ARGUMENT, "code that is not loaded"};
    for (uint32_t i = 0; i < found->second.kernelCount; ++i)
      if (strcmp(found->second.kernels[i].name, name) == 0) {
        kernel = reinterpret_cast<uintptr_t>(&found->second.kernels[i]);
        return {};
      }
    return {DYN_OUT_OF_RANGE, std::string("there is no kernel ") + name};
  }

  uint32_t createStream() {
    streams_[++lastStream_];
    return lastStream_;
  }
  void destroyStream(uint32_t stream) {
    if (stream == 0) return;
    finish(stream);
    streams_.erase(stream);
  }
  SimFault synchronise(uint32_t stream) {
    if (!streams_.count(stream)) return {DYN_INVALID_ARGUMENT, "a stream that is not there"};
    finish(stream);
    return std::exchange(streams_[stream].fault, {});
  }

  uint32_t createEvent() {
    events_[++lastEvent_];
    return lastEvent_;
  }
  void destroyEvent(uint32_t event) {
    if (auto found = events_.find(event); found != events_.end()) {
      while (found->second.done < found->second.recorded) step();
      events_.erase(found);
    }
  }
  SimFault record(uint32_t stream, uint32_t event) { return putEvent(Kind::record, stream, event); }
  SimFault wait(uint32_t stream, uint32_t event) { return putEvent(Kind::wait, stream, event); }
  // Each query lets one command run, so that who asks again and again sees an end.
  SimFault query(uint32_t event, bool& done) {
    auto found = events_.find(event);
    if (found == events_.end()) return {DYN_INVALID_ARGUMENT, "an event that is not there"};
    done = found->second.done == found->second.recorded;
    if (!done) step();
    return {};
  }

  // Checks what can be told now, and puts the command into the stream.
  SimFault put(uint32_t stream, Command command) {
    auto found = streams_.find(stream);
    if (found == streams_.end()) return {DYN_INVALID_ARGUMENT, "a stream that is not there"};
    if (SimFault fault = check(command); fault.status != DYN_OK) return fault;
    if (command.kind == Kind::copyFrom) memset(command.target, kAwaited, command.bytes);
    found->second.commands.push_back(std::move(command));
    return {};
  }

 private:
  uint64_t base() const { return reinterpret_cast<uintptr_t>(space_); }
  bool isOurs(const void* address) const {
    return space_ && reinterpret_cast<uintptr_t>(address) - base() < spaceBytes_;
  }
  // The bytes behind an address of the device; null: they do not all lie in one allocation.
  std::byte* find(const void* address, uint64_t bytes) const {
    const uint64_t at = reinterpret_cast<uintptr_t>(address);
    auto after = blocks_.upper_bound(at);
    if (after == blocks_.begin()) return nullptr;
    const auto& [begin, block] = *--after;
    const uint64_t offset = at - begin;
    return offset <= block.bytes && bytes <= block.bytes - offset ? block.shadow + offset : nullptr;
  }

  // Sets next_ to addresses that nothing has; those of what was freed come again late.
  bool findRoom(uint64_t bytes) {
    if (bytes > spaceBytes_) return false;
    if (next_ + bytes <= base() + spaceBytes_ && isGap(next_, bytes)) return true;
    uint64_t begin = base();
    for (const auto& [address, block] : blocks_) {
      if (address - begin >= bytes) break;
      begin = (address + block.bytes + 2 * kSimUnit - 1) / kSimUnit * kSimUnit;
    }
    next_ = begin;
    return begin + bytes <= base() + spaceBytes_;
  }
  bool isGap(uint64_t begin, uint64_t bytes) const {
    auto after = blocks_.lower_bound(begin);
    return after == blocks_.end() || after->first - begin >= bytes;
  }

  const DynKernelEntry* kernelOf(const DynLaunch& launch) const {
    const uint64_t size = sizeof(DynKernelEntry);
    for (const auto& [number, code] : modules_) {
      const uint64_t offset = launch.kernel - reinterpret_cast<uintptr_t>(code.kernels);
      if (offset % size == 0 && offset / size < code.kernelCount) return code.kernels + offset / size;
    }
    return nullptr;
  }

  // Null when `address` lies in `ours` space (the device's, or the host's) with all its bytes.
  const char* checkAddress(const void* address, uint64_t bytes, bool ours) const {
    if (isOurs(address) != ours)
      return ours ? "an address of the host where one of the device is due"
                  : "an address of the device where one of the host is due";
    if (ours && !find(address, bytes)) return "bytes that no allocation holds";
    return nullptr;
  }
  SimFault check(const Command& command) const {
    const char* problem = nullptr;
    const Kind kind = command.kind;
    if (kind == Kind::launch) return checkLaunch(command);
    if (kind == Kind::deallocate)
      problem = blocks_.count(reinterpret_cast<uintptr_t>(command.target))
                    ? nullptr
                    : "a free of memory that is not allocated";
    const bool copies = kind <= Kind::copyWithin;
    if (copies || kind == Kind::fill)
      problem = checkAddress(command.target, command.bytes, kind != Kind::copyFrom);
    if (copies && !problem) problem = checkAddress(command.source, command.bytes, kind != Kind::copyTo);
    if (copies && !problem && overlap(command.target, command.source, command.bytes))
      problem = "source and target of a copy overlap";
    if (problem) return {DYN_INVALID_ARGUMENT, problem};
    return {};
  }
  SimFault checkLaunch(const Command& command) const {
    const DynLaunch& launch = command.launch;
    const char* problem = nullptr;
    if (!kernelOf(launch)) problem = "a kernel that is not loaded";
    if (launch.units <= 0 || launch.gridX == 0) problem = "a launch without units or tasks";
    for (const void* buffer : command.buffers)
      if (buffer && !problem) problem = checkAddress(buffer, 1, true);
    if (launch.scratchBytes > 0 && !problem)
      problem = checkAddress(launch.scratch, launch.scratchBytes * launch.gridX, true);
    if (problem) return {DYN_INVALID_ARGUMENT, problem};
    return {};
  }
  SimFault putEvent(Kind kind, uint32_t stream, uint32_t event) {
    auto found = events_.find(event);
    if (found == events_.end()) return {DYN_INVALID_ARGUMENT, "an event that is not there"};
    if (!streams_.count(stream)) return {DYN_INVALID_ARGUMENT, "a stream that is not there"};
    Command command{kind};
    command.event = event;
    command.generation = kind == Kind::record ? ++found->second.recorded : found->second.recorded;
    return put(stream, std::move(command));
  }

  bool isReady(const Stream& stream) const {
    if (stream.commands.empty()) return false;
    const Command& first = stream.commands.front();
    if (first.kind != Kind::wait) return true;
    auto event = events_.find(first.event);
    return event == events_.end() || event->second.done >= first.generation;
  }
  // Runs one command of those that may be next. A wait is for a record that was put earlier, so that there is
  // always one.
  void step() {
    std::vector<Stream*> ready;
    for (auto& [number, stream] : streams_)
      if (isReady(stream)) ready.push_back(&stream);
    if (ready.empty()) return;
    Stream& stream = *ready[random_() % ready.size()];
    const Command command = std::move(stream.commands.front());
    stream.commands.pop_front();
    run(stream, command);
  }
  void finish(uint32_t stream) {
    while (!streams_[stream].commands.empty()) step();
  }

  void run(Stream& stream, const Command& command) {
    switch (command.kind) {
      case Kind::record:
        events_[command.event].done = command.generation;
        return;
      case Kind::wait:
        return;
      case Kind::deallocate:
        deallocate(command.target);
        return;
      default:
        break;
    }
    if (stream.fault.status != DYN_OK) return;
    if (SimFault fault = check(command); fault.status != DYN_OK) {  // what was there when the command was put
      stream.fault = {fault.status, "when its turn came: " + fault.text};
      return;
    }
    if (command.kind == Kind::launch)
      runLaunch(stream, command);
    else if (command.kind == Kind::fill)
      memset(find(command.target, command.bytes), command.value, command.bytes);
    else
      memcpy(command.kind == Kind::copyFrom ? command.target : find(command.target, command.bytes),
             command.kind == Kind::copyTo ? command.source : find(command.source, command.bytes),
             command.bytes);
  }
  void deallocate(void* memory) {
    auto found = blocks_.find(reinterpret_cast<uintptr_t>(memory));
    if (found == blocks_.end()) return;  // freed twice: refused when it was put, unless both stood in streams
    usedBytes_ -= found->second.bytes;
    deallocateAligned({}, found->second.shadow, found->second.bytes);
    blocks_.erase(found);
  }
  void runLaunch(Stream& stream, const Command& command) {
    std::vector<void*> buffers;
    for (const void* buffer : command.buffers) buffers.push_back(buffer ? find(buffer, 1) : nullptr);
    DynLaunch launch = command.launch;
    launch.buffers = buffers.data();
    launch.scalars = command.scalars.data();
    if (launch.scratchBytes > 0) launch.scratch = find(launch.scratch, launch.scratchBytes * launch.gridX);
    launch.context = nullptr;
    DynDeviceText text;
    const DynDevice& cpu = cpuDevice();
    if (const int32_t status = cpu.functions->launch(&cpu, 0, &launch, &text); status != DYN_OK)
      stream.fault = {static_cast<dyn_status>(status), text.text};
  }

  std::mutex mutex_;  // of all that follows; held while commands run
  std::mt19937_64 random_;
  std::byte* space_ = nullptr;
  uint64_t spaceBytes_ = 0;
  uint64_t next_ = 0;  // where the next allocation is tried
  uint64_t totalBytes_, usedBytes_ = 0;
  std::map<uint64_t, Block> blocks_;  // by address
  std::map<uint64_t, DynHostCode> modules_;
  std::map<uint32_t, Stream> streams_;
  std::map<uint32_t, Event> events_;
  uint64_t lastModule_ = 0;
  uint32_t lastStream_ = 0, lastEvent_ = 0;
};

namespace {

// Every function of the row: alone, with nothing thrown, and its fault told.
template <typename Body>
int32_t simGuarded(const DynDevice* device, DynDeviceText* text, Body&& body) {
  try {
    auto& sim = *static_cast<SimDevice*>(device->state);
    std::lock_guard lock(sim.mutex());
    const SimFault fault = body(sim);
    return fault.status == DYN_OK ? DYN_OK : deviceFailure(text, fault.status, fault.text.c_str());
  } catch (const std::bad_alloc&) {
    return deviceFailure(text, DYN_OUT_OF_MEMORY, "the system gives no memory");
  }
}

template <Kind kKind>
int32_t simCopy(const DynDevice* device, uint32_t stream, void* target, const void* source, uint64_t bytes,
                DynDeviceText* text) {
  if (bytes == 0) return DYN_OK;
  return simGuarded(device, text, [&](SimDevice& sim) {
    return sim.put(stream, {kKind, target, source, bytes});
  });
}

int32_t simLaunch(const DynDevice* device, uint32_t stream, const DynLaunch* launch, DynDeviceText* text) {
  return simGuarded(device, text, [&](SimDevice& sim) {
    Command command{Kind::launch};
    command.launch = *launch;
    command.buffers.assign(launch->buffers, launch->buffers + launch->bufferCount);
    command.scalars.assign(launch->scalars, launch->scalars + launch->scalarCount);
    return sim.put(stream, std::move(command));
  });
}

constexpr DynDeviceFunctions kSimFunctions = {
    .open = [](const DynDevice* d,
               DynDeviceText* t) { return simGuarded(d, t, [&](SimDevice& sim) { return sim.open(); }); },
    .allocate =
        [](const DynDevice* d, uint32_t, uint64_t bytes, void** memory, DynDeviceText* t) {
          *memory = nullptr;
          if (bytes == 0) return static_cast<int32_t>(DYN_OK);
          return simGuarded(d, t, [&](SimDevice& sim) { return sim.allocate(bytes, *memory); });
        },
    .deallocate =
        [](const DynDevice* d, uint32_t stream, void* memory, DynDeviceText* t) {
          if (!memory) return static_cast<int32_t>(DYN_OK);
          return simGuarded(d, t, [&](SimDevice& sim) {
            return sim.put(stream, {Kind::deallocate, memory});
          });
        },
    .memoryInfo =
        [](const DynDevice* d, uint64_t* freeBytes, uint64_t* totalBytes, DynDeviceText* t) {
          return simGuarded(d, t, [&](SimDevice& sim) {
            *freeBytes = sim.freeBytes();
            *totalBytes = sim.totalBytes();
            return SimFault{};
          });
        },
    .copyTo = simCopy<Kind::copyTo>,
    .copyFrom = simCopy<Kind::copyFrom>,
    .copyWithin = simCopy<Kind::copyWithin>,
    .fill =
        [](const DynDevice* d, uint32_t stream, void* target, uint8_t value, uint64_t bytes,
           DynDeviceText* t) {
          if (bytes == 0) return static_cast<int32_t>(DYN_OK);
          return simGuarded(d, t, [&](SimDevice& sim) {
            return sim.put(stream, {Kind::fill, target, nullptr, bytes, value});
          });
        },
    .loadCode =
        [](const DynDevice* d, const void* code, uint64_t bytes, uint64_t* module, DynDeviceText* t) {
          return simGuarded(d, t, [&](SimDevice& sim) { return sim.loadCode(code, bytes, *module); });
        },
    .unloadCode =
        [](const DynDevice* d, uint64_t module, DynDeviceText* t) {
          return simGuarded(d, t, [&](SimDevice& sim) { return sim.unloadCode(module); });
        },
    .findKernel =
        [](const DynDevice* d, uint64_t module, const char* name, uint64_t* kernel, DynDeviceText* t) {
          return simGuarded(d, t, [&](SimDevice& sim) { return sim.findKernel(module, name, *kernel); });
        },
    .launch = simLaunch,
    .createStream =
        [](const DynDevice* d, uint32_t* stream, DynDeviceText* t) {
          return simGuarded(d, t, [&](SimDevice& sim) {
            *stream = sim.createStream();
            return SimFault{};
          });
        },
    .destroyStream =
        [](const DynDevice* d, uint32_t stream, DynDeviceText* t) {
          return simGuarded(d, t, [&](SimDevice& sim) {
            sim.destroyStream(stream);
            return SimFault{};
          });
        },
    .synchronise =
        [](const DynDevice* d, uint32_t stream, DynDeviceText* t) {
          return simGuarded(d, t, [&](SimDevice& sim) { return sim.synchronise(stream); });
        },
    .createEvent =
        [](const DynDevice* d, uint32_t* event, DynDeviceText* t) {
          return simGuarded(d, t, [&](SimDevice& sim) {
            *event = sim.createEvent();
            return SimFault{};
          });
        },
    .destroyEvent =
        [](const DynDevice* d, uint32_t event, DynDeviceText* t) {
          return simGuarded(d, t, [&](SimDevice& sim) {
            sim.destroyEvent(event);
            return SimFault{};
          });
        },
    .recordEvent =
        [](const DynDevice* d, uint32_t stream, uint32_t event, DynDeviceText* t) {
          return simGuarded(d, t, [&](SimDevice& sim) { return sim.record(stream, event); });
        },
    .waitEvent =
        [](const DynDevice* d, uint32_t stream, uint32_t event, DynDeviceText* t) {
          return simGuarded(d, t, [&](SimDevice& sim) { return sim.wait(stream, event); });
        },
    .queryEvent =
        [](const DynDevice* d, uint32_t event, int32_t* done, DynDeviceText* t) {
          return simGuarded(d, t, [&](SimDevice& sim) {
            bool isDone = false;
            SimFault fault = sim.query(event, isDone);
            *done = isDone;
            return fault;
          });
        },
};

DynDevice rowOf(SimDevice* device) {
  return {"sim",          "a device on the host with an address space of its own, for tests",
          &kSimFunctions, device,
          DYN_CODE_HOST,  0,
          nullptr};
}

}  // namespace

const DynDevice& simDevice() {
  // Never destroyed: contexts may outlive whatever ends with the process.
  static const DynDevice* const kRow = new DynDevice(rowOf(new SimDevice(SimOptions{})));
  return *kRow;
}

OwnedSimDevice::OwnedSimDevice(const SimOptions& options)
    : device_(std::make_unique<SimDevice>(options)), row_(rowOf(device_.get())) {}
OwnedSimDevice::~OwnedSimDevice() = default;

}  // namespace dyn::vm
