// One GPU of the CUDA driver, as the row "cuda" works with it: its context, memory, streams, events, graphs
// and code, by the numbers that callers know them by. cuda_streams, cuda_events, cuda_graphs and cuda_code
// hold what their names say. All but `open` want `ready` before; all want the lock held.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "vm/device/cuda/cuda_memory.h"
#include "vm/device/cuda/cuda_products.h"
#include "vm/device/cuda/ptx_parts.h"
#include "vm/include/abi/dyn_device.h"
#include "vm/include/dyn_gpu.h"

namespace dyn::vm {

inline CudaAddress addressOf(const void* memory) {
  return static_cast<CudaAddress>(reinterpret_cast<uintptr_t>(memory));
}

class CudaGpu {
 public:
  // What a call ended in, as DynDeviceText tells it.
  struct Fault {
    dyn_status status = DYN_OK;
    std::string text = {};
    int32_t fault = 0;
    uint32_t launch = 0;
  };

  explicit CudaGpu(int index) : index_(index) {}
  std::mutex& mutex() { return mutex_; }

  Fault open();
  // Every call comes here first: threads have a context each that is the current one.
  Fault ready();

  // --- memory and copies
  Fault allocate(uint32_t stream, uint64_t bytes, void*& memory);
  Fault deallocate(uint32_t stream, const void* memory);
  Fault memoryInfo(uint64_t& freeBytes, uint64_t& totalBytes);
  Fault allocatePinned(uint64_t bytes, void*& memory);
  Fault freePinned(void* memory);
  enum class Way : uint8_t { to, from, within };
  Fault copy(Way way, uint32_t stream, void* target, const void* source, uint64_t bytes);
  Fault fill(uint32_t stream, void* target, uint8_t value, uint64_t bytes);

  // --- code
  Fault loadCode(const void* code, uint64_t bytes, uint64_t& module);
  Fault unloadCode(uint64_t module);
  Fault findKernel(uint64_t module, const char* name, uint64_t& kernel);
  Fault launch(uint32_t stream, const DynLaunch& launch);

  // --- products by a library (cuda_library.cpp)
  Fault openLibrary();
  Fault planProduct(DynDeviceProduct& product, void* const* buffers, uint64_t mostWorkspaceBytes);

  // --- streams
  Fault createStream(uint32_t& stream);
  Fault createStreamBeside(uint32_t other, uint32_t& stream);
  Fault destroyStream(uint32_t stream);
  Fault noteFaults(uint32_t beside);
  Fault synchronise(uint32_t number, std::unique_lock<std::mutex>& lock);

  // --- graphs
  Fault beginGraph(uint32_t stream);
  Fault endGraph(uint32_t stream, uint64_t& graph);
  Fault launchGraph(uint32_t stream, uint64_t graph);
  Fault destroyGraph(uint64_t graph);

  // --- events
  enum class Timing : uint8_t { off, on };
  Fault createEvent(uint32_t& event, Timing timing = Timing::off);
  Fault destroyEvent(uint32_t event);
  Fault record(uint32_t stream, uint32_t event) { return putEvent(true, stream, event); }
  Fault wait(uint32_t stream, uint32_t event) { return putEvent(false, stream, event); }
  Fault query(uint32_t event, int32_t& done);
  Fault elapsed(uint32_t from, uint32_t to, int64_t& ns);

 private:
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
    CudaAddress faultWord = 0;                      // 0: that of the stream `faults`
    uint64_t* seen = nullptr;                       // page-locked; what the fault word was
    std::vector<const std::string*> launched = {};  // names of kernels, since it was last synchronised
    bool mayFault = false;
    uint32_t faults = 0;  // of a stream beside another: that one
    bool captures = false;
    std::vector<const std::string*> captured = {};
  };
  struct Graph {
    CudaGraphExec executable = nullptr;
    std::vector<const std::string*> kernels;  // their names
    bool mayFault = false;
  };

  static Fault noStream() { return {DYN_INVALID_ARGUMENT, "a stream that is not there"}; }
  static Fault noEvent() { return {DYN_INVALID_ARGUMENT, "an event that is not there"}; }
  static std::string errorName(const CudaDriver& driver, int error);
  static Fault unavailable(const CudaDriver& driver, const std::string& what, int error);
  // An error of the driver. Those of work that ran end the context.
  Fault told(const std::string& what, int error);
  Fault loadText(const std::string& text, CudaModule& module);
  void declareBuffers(const DynLaunch& launch, CudaAddress faultWord) const;
  Fault launchProduct(Stream& queue, const DynLaunch& launch);
  Fault told(const DynDeviceProduct& product, int status) const;  // a status of the library
  bool isRight(const void* address, uint64_t bytes, bool ours) const;
  Fault newStream(uint32_t number);
  Fault putEvent(bool records, uint32_t stream, uint32_t event);

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
  std::optional<CudaProducts> products_;  // from the first plan on
  std::set<std::string> productNames_;    // of what was launched
  uint64_t lastModule_ = 0, lastKernel_ = 0, lastGraph_ = 0;
  uint32_t lastStream_ = 0, lastEvent_ = 0;
};

}  // namespace dyn::vm
