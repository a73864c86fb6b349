#include "vm/device/cuda/cuda_device.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vm/device/cuda/cuda_memory.h"
#include "vm/device/cuda/ptx_parts.h"
#include "vm/device/device_text.h"
#include "vm/include/dyn_gpu.h"

namespace dyn::vm {
namespace {

struct Fault {
  dyn_status status = DYN_OK;
  std::string text = {};
  int32_t fault = 0;
  uint32_t launch = 0;
};

constexpr uint64_t kNoFault = ~uint64_t{0};

// Of several kernels each is a module of the driver, made when it is asked for.
struct Module {
  CudaModule whole = nullptr;
  PtxParts parts;
  std::map<std::string, CudaModule> loaded = {};
};

struct Kernel {
  CudaFunction function = nullptr;
  uint64_t module = 0;
  std::string name;
};

struct Stream {
  CudaStream handle = nullptr;
  CudaAddress faultWord = 0;                 // 0: that of the stream `faults`
  uint64_t* seen = nullptr;                  // page-locked; what the fault word was
  std::vector<const Kernel*> launched = {};  // since it was last synchronised
  bool mayFault = false;
  uint32_t faults = 0;  // of a stream beside another: that one
  bool captures = false;
  std::vector<const Kernel*> captured = {};
};

struct Graph {
  CudaGraphExec executable = nullptr;
  std::vector<const Kernel*> kernels;
  bool mayFault = false;
};

// Of PTX: the number behind ".target sm_"; 0: it says none.
int leastChipOf(const std::string& text) {
  constexpr std::string_view kTarget = ".target sm_";
  const size_t at = text.find(kTarget);
  return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + kTarget.size());
}

CudaAddress addressOf(const void* memory) {
  return static_cast<CudaAddress>(reinterpret_cast<uintptr_t>(memory));
}

class CudaDevice {
 public:
  explicit CudaDevice(int index) : index_(index) {}
  std::mutex& mutex() { return mutex_; }

  Fault open() {
    if (!driver_) {
      std::string why;
      const CudaDriver* driver = cudaDriver(why);
      if (!driver) return {DYN_UNAVAILABLE, why};
      if (const int error = driver->init(0)) return unavailable(*driver, "cuInit", error);
      int count = 0;
      if (const int error = driver->deviceGetCount(&count)) return unavailable(*driver, "the devices", error);
      if (count == 0) return {DYN_UNAVAILABLE, "the CUDA driver has no device"};
      const std::string name = "cuda:" + std::to_string(index_);
      if (index_ >= count)
        return {DYN_UNAVAILABLE,
                "there is no device " + name + ": the CUDA driver has " +
                    (count == 1 ? "cuda:0 alone" : "cuda:0 to cuda:" + std::to_string(count - 1))};
      int device = 0;
      if (const int error = driver->deviceGet(&device, index_))
        return unavailable(*driver, "device " + name, error);
      if (const int error = driver->primaryContextRetain(&context_, device))
        return unavailable(*driver, "the context of device " + name, error);
      int major = 0, minor = 0;
      if (const int error = driver->deviceGetAttribute(&major, kCudaCapabilityMajor, device))
        return unavailable(*driver, "what device " + name + " is", error);
      if (const int error = driver->deviceGetAttribute(&minor, kCudaCapabilityMinor, device))
        return unavailable(*driver, "what device " + name + " is", error);
      chip_ = major * 10 + minor;
      driver_ = driver;
      memory_.emplace(*driver);
    }
    if (Fault fault = ready(); fault.status != DYN_OK) return fault;
    if (streams_.count(0)) return {};
    return newStream(0);
  }

  // Every call comes here first: threads have a context each that is the current one.
  Fault ready() {
    if (!driver_) return {DYN_INVALID_ARGUMENT, "the device is not open"};
    if (!lost_.empty())
      return {DYN_UNAVAILABLE, "the device cuda:" + std::to_string(index_) + " stopped earlier: " + lost_};
    return told("the context", driver_->contextSetCurrent(context_));
  }

  Fault allocate(uint32_t stream, uint64_t bytes, void*& memory) {
    if (!streams_.count(stream)) return noStream();
    CudaAddress address = 0;
    const int error = memory_->allocate(stream, bytes, address);
    if (error == kCudaOutOfMemory)
      return {DYN_OUT_OF_MEMORY, std::to_string(bytes) + " bytes: the device has no more memory"};
    memory = reinterpret_cast<void*>(static_cast<uintptr_t>(address));
    return told("memory", error);
  }
  Fault deallocate(uint32_t stream, const void* memory) {
    if (memory_->deallocate(stream, addressOf(memory))) return {};
    return {DYN_INVALID_ARGUMENT, "a free of what is none"};
  }
  Fault memoryInfo(uint64_t& freeBytes, uint64_t& totalBytes) {
    size_t left = 0, whole = 0;
    const int error = driver_->memoryGetInfo(&left, &whole);
    freeBytes = left + memory_->keptBytes();
    totalBytes = whole;
    return told("its memory", error);
  }

  enum class Way : uint8_t { to, from, within };
  Fault copy(Way way, uint32_t stream, void* target, const void* source, uint64_t bytes) {
    const auto found = streams_.find(stream);
    if (found == streams_.end()) return noStream();
    const CudaStream handle = found->second.handle;
    if (!isRight(target, bytes, way != Way::from) || !isRight(source, bytes, way != Way::to))
      return {DYN_INVALID_ARGUMENT, "a copy at an address of the wrong space, or beyond what is allocated"};
    if (overlap(target, source, bytes)) return {DYN_INVALID_ARGUMENT, "source and target of a copy overlap"};
    if (way == Way::to)
      return told("a copy", driver_->copyHostToDevice(addressOf(target), source, bytes, handle));
    if (way == Way::from)
      return told("a copy", driver_->copyDeviceToHost(target, addressOf(source), bytes, handle));
    return told("a copy", driver_->copyDeviceToDevice(addressOf(target), addressOf(source), bytes, handle));
  }
  Fault fill(uint32_t stream, void* target, uint8_t value, uint64_t bytes) {
    const auto found = streams_.find(stream);
    if (found == streams_.end()) return noStream();
    if (!memory_->holds(target, bytes))
      return {DYN_INVALID_ARGUMENT, "a fill at an address of the wrong space, or beyond what is allocated"};
    return told("a fill", driver_->fillBytes(addressOf(target), value, bytes, found->second.handle));
  }

  Fault loadCode(const void* code, uint64_t bytes, uint64_t& module) {
    if (!code || bytes == 0) return {DYN_BAD_PROGRAM, "no code"};
    const std::string text(static_cast<const char*>(code), bytes);  // the driver wants a zero behind it
    if (const int least = leastChipOf(text); least > chip_)
      return {DYN_UNSUPPORTED,
              "code for sm_" + std::to_string(least) + ", the device is sm_" + std::to_string(chip_)};
    Module made{nullptr, splitPtx(text)};
    if (made.parts.entry.size() < 2) {
      made.parts = {};
      if (Fault fault = loadText(text, made.whole); fault.status != DYN_OK) return fault;
    }
    module = ++lastModule_;
    modules_[module] = std::move(made);
    return {};
  }
  Fault unloadCode(uint64_t module) {
    const auto found = modules_.find(module);
    if (found == modules_.end()) return {DYN_INVALID_ARGUMENT, "code that is not loaded"};
    int error = found->second.whole ? driver_->moduleUnload(found->second.whole) : kCudaSuccess;
    for (const auto& [name, part] : found->second.loaded)
      if (const int other = driver_->moduleUnload(part)) error = other;
    modules_.erase(found);
    std::erase_if(kernels_, [&](const auto& kernel) { return kernel.second->module == module; });
    return told("the module", error);
  }
  Fault findKernel(uint64_t module, const char* name, uint64_t& kernel) {
    const auto found = modules_.find(module);
    if (found == modules_.end()) return {DYN_INVALID_ARGUMENT, "code that is not loaded"};
    Module& from = found->second;
    CudaModule handle = from.whole;
    if (!handle) {
      const std::string text = from.parts.moduleOf(name);
      if (text.empty()) return {DYN_OUT_OF_RANGE, std::string("there is no kernel ") + name};
      CudaModule& loaded = from.loaded[name];
      if (!loaded)
        if (Fault fault = loadText(text, loaded); fault.status != DYN_OK) return fault;
      handle = loaded;
    }
    CudaFunction function = nullptr;
    const int error = driver_->moduleGetFunction(&function, handle, name);
    if (error == kCudaNotFound) return {DYN_OUT_OF_RANGE, std::string("there is no kernel ") + name};
    if (error != kCudaSuccess) return told(name, error);
    kernel = ++lastKernel_;
    kernels_[kernel] = std::make_unique<Kernel>(Kernel{function, module, name});
    return {};
  }

  Fault launch(uint32_t stream, const DynLaunch& launch) {
    const auto found = streams_.find(stream);
    if (found == streams_.end()) return noStream();
    const auto kernel = kernels_.find(launch.kernel);
    if (kernel == kernels_.end()) return {DYN_INVALID_ARGUMENT, "a kernel that is not loaded"};
    if (launch.units <= 0 || launch.gridX == 0 || launch.blockX == 0)
      return {DYN_INVALID_ARGUMENT, "a launch without units or blocks"};
    Stream& queue = found->second;
    std::vector<uint64_t> parameters;
    for (uint32_t i = 0; i < launch.bufferCount; ++i) {
      if (launch.buffers[i] && !memory_->holds(launch.buffers[i], 1))
        return {DYN_INVALID_ARGUMENT, "an address of the host where one of the device is due"};
      parameters.push_back(addressOf(launch.buffers[i]));
    }
    for (uint32_t i = 0; i < launch.scalarCount; ++i)
      parameters.push_back(static_cast<uint64_t>(launch.scalars[i]));
    parameters.push_back(static_cast<uint64_t>(launch.units));
    parameters.push_back(queue.faultWord);
    parameters.push_back(queue.launched.size() + queue.captured.size() + 1);
    size_t bytes = parameters.size() * sizeof parameters[0];
    void* extra[] = {kCudaLaunchBufferPointer, parameters.data(), kCudaLaunchBufferSize, &bytes,
                     kCudaLaunchEnd};
    (queue.captures ? queue.captured : queue.launched).push_back(kernel->second.get());
    queue.mayFault |= launch.mayFault != 0;
    if (driver_->declareBuffers && launch.bufferBytes) declareBuffers(launch, queue.faultWord);
    const int error = driver_->launchKernel(kernel->second->function, launch.gridX, launch.gridY,
                                            launch.gridZ, launch.blockX, launch.blockY, launch.blockZ,
                                            launch.sharedBytes, queue.handle, nullptr, extra);
    return told("kernel " + kernel->second->name, error);
  }

  Fault createStream(uint32_t& stream) {
    stream = lastStream_ + 1;
    Fault fault = newStream(stream);
    if (fault.status == DYN_OK) ++lastStream_;
    return fault;
  }
  Fault destroyStream(uint32_t stream) {
    const auto found = streams_.find(stream);
    if (stream == 0 || found == streams_.end()) return {};
    (void)driver_->streamSynchronize(found->second.handle);
    if (found->second.faultWord) (void)driver_->memoryFree(found->second.faultWord);
    (void)driver_->hostFree(found->second.seen);
    memory_->endStream(stream);
    const int error = driver_->streamDestroy(found->second.handle);
    streams_.erase(found);
    return told("a stream", error);
  }

  // Without the lock while it waits: the stream is its caller's.
  Fault synchronise(uint32_t number, std::unique_lock<std::mutex>& lock) {
    const auto found = streams_.find(number);
    if (found == streams_.end()) return noStream();
    Stream& stream = found->second;
    const bool isBeside = stream.faultWord == 0;
    Stream& faulty = isBeside ? streams_.at(stream.faults) : stream;
    int error = kCudaSuccess;
    if (!isBeside && stream.mayFault)
      error = driver_->copyDeviceToHost(stream.seen, stream.faultWord, sizeof *stream.seen, stream.handle);
    lock.unlock();
    if (error == kCudaSuccess) error = driver_->streamSynchronize(stream.handle);
    lock.lock();
    // Of a stream beside, the other's work may go on.
    const std::vector<const Kernel*> launched =
        isBeside ? faulty.launched : std::exchange(stream.launched, {});
    const bool mayFault = std::exchange(stream.mayFault, false);  // beside: faults are noted
    if (error != kCudaSuccess) {
      Fault fault = told(launched.empty() ? "its work" : "kernel " + launched.back()->name, error);
      if (launched.size() > 1)
        fault.text += ", in it or one of the " + std::to_string(launched.size() - 1) + " before it";
      fault.launch = static_cast<uint32_t>(launched.size());
      return fault;
    }
    if (!mayFault || *stream.seen == kNoFault) return {};
    const uint64_t word = *stream.seen;
    Fault fault{DYN_KERNEL_FAULT, "", static_cast<int32_t>(word & 0xffffffff),
                static_cast<uint32_t>(word >> 32)};
    const bool known = fault.launch > 0 && fault.launch <= launched.size();
    fault.text =
        "kernel " + (known ? launched[fault.launch - 1]->name : "") + ": " + kernelFaultText(fault.fault);
    if (!isBeside) (void)driver_->fillBytes(stream.faultWord, 0xff, sizeof word, stream.handle);
    return fault;
  }

  Fault createStreamBeside(uint32_t other, uint32_t& stream) {
    const auto found = streams_.find(other);
    if (found == streams_.end() || found->second.faultWord == 0) return noStream();
    Stream made;
    void* seen = nullptr;
    if (const int error = driver_->streamCreate(&made.handle, kCudaStreamNonBlocking))
      return told("a stream", error);
    if (const int error = driver_->hostAllocate(&seen, sizeof(uint64_t), 0)) {
      (void)driver_->streamDestroy(made.handle);
      return told("a stream", error);
    }
    made.seen = static_cast<uint64_t*>(seen);
    made.faults = other;
    streams_[stream = ++lastStream_] = made;
    return {};
  }

  Fault noteFaults(uint32_t beside) {
    const auto found = streams_.find(beside);
    if (found == streams_.end() || found->second.faultWord != 0) return noStream();
    Stream& stream = found->second;
    const Stream& faulty = streams_.at(stream.faults);
    if (!faulty.mayFault) return {};
    stream.mayFault = true;
    return told("a copy",
                driver_->copyDeviceToHost(stream.seen, faulty.faultWord, sizeof *stream.seen, faulty.handle));
  }

  Fault allocatePinned(uint64_t bytes, void*& memory) {
    return told("memory of the host", driver_->hostAllocate(&memory, bytes, 0));
  }
  Fault freePinned(void* memory) { return told("memory of the host", driver_->hostFree(memory)); }

  Fault elapsed(uint32_t from, uint32_t to, int64_t& ns) {
    const auto first = events_.find(from), last = events_.find(to);
    if (first == events_.end() || last == events_.end()) return noEvent();
    float milliseconds = 0;
    const int error = driver_->eventElapsedTime(&milliseconds, first->second, last->second);
    ns = static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6);
    return told("the time of an event", error);
  }

  Fault beginGraph(uint32_t stream) {
    const auto found = streams_.find(stream);
    if (found == streams_.end()) return noStream();
    const int error = driver_->beginCapture(found->second.handle, kCudaCaptureThreadLocal);
    found->second.captures = error == kCudaSuccess;
    return told("a graph", error);
  }
  Fault endGraph(uint32_t stream, uint64_t& graph) {
    const auto found = streams_.find(stream);
    if (found == streams_.end() || !found->second.captures) return noStream();
    Stream& queue = found->second;
    queue.captures = false;
    Graph made{nullptr, std::exchange(queue.captured, {}), queue.mayFault};
    CudaGraph recorded = nullptr;
    int error = driver_->endCapture(queue.handle, &recorded);
    if (error == kCudaSuccess) error = driver_->graphInstantiate(&made.executable, recorded, 0);
    if (recorded) (void)driver_->graphDestroy(recorded);
    if (error != kCudaSuccess) return told("a graph", error);
    graphs_[graph = ++lastGraph_] = std::move(made);
    return {};
  }
  Fault launchGraph(uint32_t stream, uint64_t graph) {
    const auto found = streams_.find(stream);
    const auto known = graphs_.find(graph);
    if (found == streams_.end()) return noStream();
    if (known == graphs_.end()) return {DYN_INVALID_ARGUMENT, "a graph that is not there"};
    Stream& queue = found->second;
    const Graph& made = known->second;
    queue.launched.insert(queue.launched.end(), made.kernels.begin(), made.kernels.end());
    queue.mayFault |= made.mayFault;
    return told("a graph", driver_->graphLaunch(made.executable, queue.handle));
  }
  Fault destroyGraph(uint64_t graph) {
    const auto known = graphs_.find(graph);
    if (known == graphs_.end()) return {};
    const int error = driver_->graphExecDestroy(known->second.executable);
    graphs_.erase(known);
    return told("a graph", error);
  }

  enum class Timing : uint8_t { off, on };
  Fault createEvent(uint32_t& event, Timing timing = Timing::off) {
    CudaEvent handle = nullptr;
    const int error =
        driver_->eventCreate(&handle, timing == Timing::on ? kCudaEventDefault : kCudaEventDisableTiming);
    if (error == kCudaSuccess) events_[event = ++lastEvent_] = handle;
    return told("an event", error);
  }
  Fault destroyEvent(uint32_t event) {
    const auto found = events_.find(event);
    if (found == events_.end()) return {};
    const int error = driver_->eventDestroy(found->second);
    events_.erase(found);
    return told("an event", error);
  }
  Fault record(uint32_t stream, uint32_t event) { return putEvent(true, stream, event); }
  Fault wait(uint32_t stream, uint32_t event) { return putEvent(false, stream, event); }
  Fault query(uint32_t event, int32_t& done) {
    const auto found = events_.find(event);
    if (found == events_.end()) return noEvent();
    const int error = driver_->eventQuery(found->second);
    done = error == kCudaSuccess;
    return error == kCudaNotReady ? Fault{} : told("an event", error);
  }

 private:
  static Fault noStream() { return {DYN_INVALID_ARGUMENT, "a stream that is not there"}; }
  static Fault noEvent() { return {DYN_INVALID_ARGUMENT, "an event that is not there"}; }
  static std::string errorName(const CudaDriver& driver, int error) {
    const char* name = nullptr;
    if (driver.getErrorName(error, &name) != kCudaSuccess || !name) name = "unknown";
    return std::string(name) + " (" + std::to_string(error) + ")";
  }
  static Fault unavailable(const CudaDriver& driver, const std::string& what, int error) {
    return {DYN_UNAVAILABLE, what + ": " + errorName(driver, error)};
  }

  // An error of the driver. Those of work that ran end the context.
  Fault told(const std::string& what, int error) {
    if (error == kCudaSuccess) return {};
    Fault fault{DYN_INTERNAL, what + ": " + errorName(*driver_, error)};
    if (error == kCudaOutOfMemory) fault.status = DYN_OUT_OF_MEMORY;
    if (error == kCudaInvalidValue) fault.status = DYN_INVALID_ARGUMENT;
    if (isKernelError(error)) fault.status = DYN_KERNEL_FAULT;
    if (isDeviceLost(error)) {
      fault.status = DYN_UNAVAILABLE;
      fault.text = "the device cuda:" + std::to_string(index_) + " is lost: " + fault.text;
    }
    if (isKernelError(error) || isDeviceLost(error)) lost_ = fault.text;
    return fault;
  }

  Fault loadText(const std::string& text, CudaModule& module) {
    const int error = driver_->moduleLoad(&module, text.c_str());
    if (error == kCudaSuccess) return {};
    Fault fault = told("the module", error);
    if (fault.status == DYN_INTERNAL || fault.status == DYN_INVALID_ARGUMENT) fault.status = DYN_BAD_PROGRAM;
    return fault;
  }

  void declareBuffers(const DynLaunch& launch, CudaAddress faultWord) const {
    std::vector<CudaDeclaredBuffer> declared = {{faultWord, faultWord + sizeof(uint64_t), 2}};
    for (uint32_t i = 0; i < launch.bufferCount; ++i) {
      const CudaAddress begin = addressOf(launch.buffers[i]);
      if (begin == 0 || launch.bufferBytes[i] == 0) continue;
      CudaDeclaredBuffer row{begin, begin + launch.bufferBytes[i],
                             i + launch.outputCount >= launch.bufferCount ? 1u : 0u};
      // What a kernel updates is among its inputs and its outputs.
      bool known = false;
      for (CudaDeclaredBuffer& other : declared) {
        if (other.begin != row.begin || other.end != row.end) continue;
        if (other.use != row.use) other.use = 2;
        known = true;
      }
      if (!known) declared.push_back(row);
    }
    (void)driver_->declareBuffers(declared.data(), declared.size());
  }

  bool isRight(const void* address, uint64_t bytes, bool ours) const {
    return ours ? memory_->holds(address, bytes) : !memory_->holds(address, 1);
  }

  Fault newStream(uint32_t number) {
    Stream stream;
    void* seen = nullptr;
    int error = driver_->streamCreate(&stream.handle, kCudaStreamNonBlocking);
    if (error != kCudaSuccess) return told("a stream", error);
    error = driver_->memoryAllocate(&stream.faultWord, sizeof(uint64_t));
    if (error == kCudaSuccess) error = driver_->hostAllocate(&seen, sizeof(uint64_t), 0);
    if (error == kCudaSuccess)
      error = driver_->fillBytes(stream.faultWord, 0xff, sizeof(uint64_t), stream.handle);
    stream.seen = static_cast<uint64_t*>(seen);
    streams_[number] = stream;
    if (error == kCudaSuccess) return {};
    Fault fault = told("a stream", error);
    if (stream.faultWord) (void)driver_->memoryFree(stream.faultWord);
    if (seen) (void)driver_->hostFree(seen);
    (void)driver_->streamDestroy(stream.handle);
    streams_.erase(number);
    return fault;
  }

  Fault putEvent(bool records, uint32_t stream, uint32_t event) {
    const auto found = events_.find(event);
    const auto queue = streams_.find(stream);
    if (found == events_.end()) return noEvent();
    if (queue == streams_.end()) return noStream();
    return told("an event", records ? driver_->eventRecord(found->second, queue->second.handle)
                                    : driver_->streamWaitEvent(queue->second.handle, found->second, 0));
  }

  const int index_;   // of the driver's devices
  std::mutex mutex_;  // of all that follows
  const CudaDriver* driver_ = nullptr;
  CudaContext context_ = nullptr;
  int chip_ = 0;      // compute capability, 80 for 8.0
  std::string lost_;  // the error that ended the context
  std::optional<CudaMemory> memory_;
  std::map<uint32_t, Stream> streams_;  // 0 from `open` on
  std::map<uint32_t, CudaEvent> events_;
  std::map<uint64_t, Module> modules_;
  std::map<uint64_t, std::unique_ptr<Kernel>> kernels_;
  std::map<uint64_t, Graph> graphs_;
  uint64_t lastModule_ = 0, lastKernel_ = 0, lastGraph_ = 0;
  uint32_t lastStream_ = 0, lastEvent_ = 0;
};

int32_t answer(const Fault& fault, DynDeviceText* text) {
  if (fault.status == DYN_OK) return DYN_OK;
  if (text) {
    text->fault = fault.fault;
    text->launch = fault.launch;
  }
  return deviceFailure(text, fault.status, fault.text.c_str());
}

// Every function of the row: alone, with the context, with nothing thrown, and its fault told.
template <typename Body>
int32_t guarded(const DynDevice* device, DynDeviceText* text, Body&& body) {
  try {
    auto& cuda = *static_cast<CudaDevice*>(device->state);
    std::unique_lock lock(cuda.mutex());
    Fault fault = cuda.ready();
    if (fault.status == DYN_OK) fault = body(cuda, lock);
    return answer(fault, text);
  } catch (const std::bad_alloc&) {
    return deviceFailure(text, DYN_OUT_OF_MEMORY, "the system gives no memory");
  }
}

using Lock = std::unique_lock<std::mutex>;

int32_t open(const DynDevice* device, DynDeviceText* text) {
  try {
    auto& cuda = *static_cast<CudaDevice*>(device->state);
    const std::lock_guard lock(cuda.mutex());
    return answer(cuda.open(), text);
  } catch (const std::bad_alloc&) {
    return deviceFailure(text, DYN_OUT_OF_MEMORY, "the system gives no memory");
  }
}

template <CudaDevice::Way kWay>
int32_t copy(const DynDevice* device, uint32_t stream, void* target, const void* source, uint64_t bytes,
             DynDeviceText* text) {
  if (bytes == 0) return DYN_OK;
  return guarded(device, text,
                 [&](CudaDevice& cuda, Lock&) { return cuda.copy(kWay, stream, target, source, bytes); });
}

constexpr DynDeviceFunctions kFunctions = {
    .open = open,
    .allocate =
        [](const DynDevice* d, uint32_t stream, uint64_t bytes, void** memory, DynDeviceText* t) {
          *memory = nullptr;
          if (bytes == 0) return static_cast<int32_t>(DYN_OK);
          return guarded(d, t,
                         [&](CudaDevice& cuda, Lock&) { return cuda.allocate(stream, bytes, *memory); });
        },
    .deallocate =
        [](const DynDevice* d, uint32_t stream, void* memory, DynDeviceText* t) {
          if (!memory) return static_cast<int32_t>(DYN_OK);
          return guarded(d, t, [&](CudaDevice& cuda, Lock&) { return cuda.deallocate(stream, memory); });
        },
    .memoryInfo =
        [](const DynDevice* d, uint64_t* freeBytes, uint64_t* totalBytes, DynDeviceText* t) {
          return guarded(d, t,
                         [&](CudaDevice& cuda, Lock&) { return cuda.memoryInfo(*freeBytes, *totalBytes); });
        },
    .copyTo = copy<CudaDevice::Way::to>,
    .copyFrom = copy<CudaDevice::Way::from>,
    .copyWithin = copy<CudaDevice::Way::within>,
    .fill =
        [](const DynDevice* d, uint32_t stream, void* target, uint8_t value, uint64_t bytes,
           DynDeviceText* t) {
          if (bytes == 0) return static_cast<int32_t>(DYN_OK);
          return guarded(d, t,
                         [&](CudaDevice& cuda, Lock&) { return cuda.fill(stream, target, value, bytes); });
        },
    .loadCode =
        [](const DynDevice* d, const void* code, uint64_t bytes, uint64_t* module, DynDeviceText* t) {
          return guarded(d, t, [&](CudaDevice& cuda, Lock&) { return cuda.loadCode(code, bytes, *module); });
        },
    .unloadCode =
        [](const DynDevice* d, uint64_t module, DynDeviceText* t) {
          return guarded(d, t, [&](CudaDevice& cuda, Lock&) { return cuda.unloadCode(module); });
        },
    .findKernel =
        [](const DynDevice* d, uint64_t module, const char* name, uint64_t* kernel, DynDeviceText* t) {
          return guarded(d, t,
                         [&](CudaDevice& cuda, Lock&) { return cuda.findKernel(module, name, *kernel); });
        },
    .launch =
        [](const DynDevice* d, uint32_t stream, const DynLaunch* launch, DynDeviceText* t) {
          return guarded(d, t, [&](CudaDevice& cuda, Lock&) { return cuda.launch(stream, *launch); });
        },
    .createStream =
        [](const DynDevice* d, uint32_t* stream, DynDeviceText* t) {
          return guarded(d, t, [&](CudaDevice& cuda, Lock&) { return cuda.createStream(*stream); });
        },
    .destroyStream =
        [](const DynDevice* d, uint32_t stream, DynDeviceText* t) {
          return guarded(d, t, [&](CudaDevice& cuda, Lock&) { return cuda.destroyStream(stream); });
        },
    .synchronise =
        [](const DynDevice* d, uint32_t stream, DynDeviceText* t) {
          return guarded(d, t, [&](CudaDevice& cuda, Lock& lock) { return cuda.synchronise(stream, lock); });
        },
    .createEvent =
        [](const DynDevice* d, uint32_t* event, DynDeviceText* t) {
          return guarded(d, t, [&](CudaDevice& cuda, Lock&) { return cuda.createEvent(*event); });
        },
    .destroyEvent =
        [](const DynDevice* d, uint32_t event, DynDeviceText* t) {
          return guarded(d, t, [&](CudaDevice& cuda, Lock&) { return cuda.destroyEvent(event); });
        },
    .recordEvent =
        [](const DynDevice* d, uint32_t stream, uint32_t event, DynDeviceText* t) {
          return guarded(d, t, [&](CudaDevice& cuda, Lock&) { return cuda.record(stream, event); });
        },
    .waitEvent =
        [](const DynDevice* d, uint32_t stream, uint32_t event, DynDeviceText* t) {
          return guarded(d, t, [&](CudaDevice& cuda, Lock&) { return cuda.wait(stream, event); });
        },
    .queryEvent =
        [](const DynDevice* d, uint32_t event, int32_t* done, DynDeviceText* t) {
          return guarded(d, t, [&](CudaDevice& cuda, Lock&) { return cuda.query(event, *done); });
        },
};

constexpr DynDeviceExtras kExtras = {
    .allocatePinned =
        [](const DynDevice* d, uint64_t bytes, void** memory, DynDeviceText* t) {
          *memory = nullptr;
          return guarded(d, t, [&](CudaDevice& cuda, Lock&) { return cuda.allocatePinned(bytes, *memory); });
        },
    .freePinned =
        [](const DynDevice* d, void* memory, DynDeviceText* t) {
          return guarded(d, t, [&](CudaDevice& cuda, Lock&) { return cuda.freePinned(memory); });
        },
    .createStreamBeside =
        [](const DynDevice* d, uint32_t other, uint32_t* stream, DynDeviceText* t) {
          return guarded(d, t,
                         [&](CudaDevice& cuda, Lock&) { return cuda.createStreamBeside(other, *stream); });
        },
    .noteFaults =
        [](const DynDevice* d, uint32_t beside, DynDeviceText* t) {
          return guarded(d, t, [&](CudaDevice& cuda, Lock&) { return cuda.noteFaults(beside); });
        },
    .createTimedEvent =
        [](const DynDevice* d, uint32_t* event, DynDeviceText* t) {
          return guarded(d, t, [&](CudaDevice& cuda, Lock&) {
            return cuda.createEvent(*event, CudaDevice::Timing::on);
          });
        },
    .elapsedNs =
        [](const DynDevice* d, uint32_t from, uint32_t to, int64_t* ns, DynDeviceText* t) {
          return guarded(d, t, [&](CudaDevice& cuda, Lock&) { return cuda.elapsed(from, to, *ns); });
        },
    .beginGraph =
        [](const DynDevice* d, uint32_t stream, DynDeviceText* t) {
          return guarded(d, t, [&](CudaDevice& cuda, Lock&) { return cuda.beginGraph(stream); });
        },
    .endGraph =
        [](const DynDevice* d, uint32_t stream, uint64_t* graph, DynDeviceText* t) {
          return guarded(d, t, [&](CudaDevice& cuda, Lock&) { return cuda.endGraph(stream, *graph); });
        },
    .launchGraph =
        [](const DynDevice* d, uint32_t stream, uint64_t graph, DynDeviceText* t) {
          return guarded(d, t, [&](CudaDevice& cuda, Lock&) { return cuda.launchGraph(stream, graph); });
        },
    .destroyGraph =
        [](const DynDevice* d, uint64_t graph, DynDeviceText* t) {
          return guarded(d, t, [&](CudaDevice& cuda, Lock&) { return cuda.destroyGraph(graph); });
        },
};

}  // namespace

const DynDevice* cudaDevice(int index) {
  if (index < 0 || index >= kMostCudaDevices) return nullptr;
  // Never destroyed: contexts may outlive whatever ends with the process.
  static std::mutex making;
  static const DynDevice* rows[kMostCudaDevices] = {};
  const std::lock_guard lock(making);
  const DynDevice*& row = rows[index];
  if (!row)
    row = new DynDevice{
        "cuda", "a GPU by the CUDA driver", &kFunctions, new CudaDevice(index), DYN_CODE_PTX, 0, &kExtras};
  return row;
}

}  // namespace dyn::vm
