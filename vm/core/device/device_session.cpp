#include "vm/core/device/device_session.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include "vm/base/checked.h"

namespace dyn::vm {

// What is allocated on the device. Tensors may outlive the session, so the last of them or the session ends
// it.
struct DeviceSession::Memory {
  const DynDevice& device;
  uint64_t limitBytes;
  bool rehearsal;  // counted, not made
  uint32_t stream = 0;
  std::mutex mutex;
  std::map<const void*, uint64_t> blocks;
  MemoryStatistics statistics;
  // Launches that are held back must not find their memory gone. Null: none are, or the session has ended.
  DeviceGraphs* graphs = nullptr;
  std::string refusal;        // what the device said when it gave no memory the last time
  Status fault = okStatus();  // of a launch that went ahead of a free; told by the next flush

  Memory(const DynDevice& row, uint64_t limit, bool counted)
      : device(row), limitBytes(limit), rehearsal(counted) {}

  void* allocate(uint64_t sizeBytes, dyn_status& why) {
    std::lock_guard lock(mutex);
    if (sizeBytes > limitBytes - std::min(limitBytes, statistics.inUseBytes)) {
      why = DYN_MEMORY_LIMIT;
      return nullptr;
    }
    void* memory = nullptr;
    DynDeviceText text{};
    if (rehearsal) {  // an address of its own that nobody looks behind
      memory = reinterpret_cast<void*>(64 * ++statistics.systemAllocations);
    } else if (const int32_t status = device.functions->allocate(&device, stream, sizeBytes, &memory, &text);
               status != DYN_OK) {
      why = static_cast<dyn_status>(status);
      refusal = text.text;
      return nullptr;
    }
    blocks[memory] = sizeBytes;
    statistics.inUseBytes += sizeBytes;
    statistics.peakBytes = std::max(statistics.peakBytes, statistics.inUseBytes);
    return memory;
  }
  void deallocate(const void* memory) {
    std::lock_guard lock(mutex);
    DynDeviceText text{};
    if (graphs)
      if (Status status = graphs->flush(text); fault.ok()) fault = std::move(status);
    const auto found = blocks.find(memory);
    if (!rehearsal) (void)device.functions->deallocate(&device, stream, const_cast<void*>(memory), nullptr);
    statistics.inUseBytes -= found->second;
    blocks.erase(found);
  }
};

namespace {

int32_t loadHostCode(const DynDevice& device, std::span<const DynKernelEntry> kernels, uint64_t& code,
                     DynDeviceText& text) {
  const DynHostCode table{kernels.data(), static_cast<uint32_t>(kernels.size())};
  return device.functions->loadCode(&device, &table, sizeof table, &code, &text);
}

}  // namespace

Status DeviceSession::open(const DynDevice* device, int32_t number, const Settings& settings,
                           const Program& program, std::span<const DynKernelEntry> kernels,
                           std::unique_ptr<DeviceSession>& session) {
  if (!device) return failure(DYN_UNSUPPORTED, "device " + std::to_string(number) + " is not there");
  MemoryPool* pool = settings.pool;
  std::unique_ptr<DeviceSession> made(new DeviceSession(*device, number, pool, program));
  made->memory_ = std::make_shared<Memory>(*device, settings.limitBytes, pool->rehearsal());
  if (!pool->rehearsal())
    if (Status status = made->begin(settings, kernels); !status.ok()) return status;
  session = std::move(made);
  return okStatus();
}

Status DeviceSession::begin(const Settings& settings, std::span<const DynKernelEntry> kernels) {
  DynDeviceText text{};
  int32_t status = device_.functions->open(&device_, &text);
  if (status == DYN_OK) {
    status = device_.functions->createStream(&device_, &stream_, &text);
    hasStream_ = status == DYN_OK;
  }
  if (status == DYN_OK && device_.codeFormat == DYN_CODE_HOST) {
    status = loadHostCode(device_, kernels, code_, text);
    hasCode_ = status == DYN_OK;
  }
  if (status != DYN_OK) return deviceStatus(device_, status, text);
  memory_->stream = stream_;
  if (!device_.extras) return okStatus();
  if (settings.graphs) graphs_ = std::make_unique<DeviceGraphs>(device_, stream_);
  memory_->graphs = graphs_.get();
  return DeviceCopies::create(device_, stream_, copies_);
}

DeviceSession::~DeviceSession() {
  if (hasStream_) (void)synchronise();
  times_.reset();
  {
    std::lock_guard lock(memory_->mutex);
    memory_->graphs = nullptr;
  }
  graphs_.reset();
  copies_.reset();
  if (workspace_) memory_->deallocate(workspace_);
  {
    std::lock_guard lock(memory_->mutex);
    memory_->stream = 0;  // for what outlives this stream, whose work is all done
    if (hasStream_) (void)device_.functions->destroyStream(&device_, stream_, nullptr);
  }
  if (hasCode_) (void)device_.functions->unloadCode(&device_, code_, nullptr);
  deviceCode_.unload(device_);
}

Storage* DeviceSession::newStorage(uint64_t sizeBytes, dyn_status& why) {
  void* memory = sizeBytes > 0 ? memory_->allocate(sizeBytes, why) : emptyData();
  if (!memory) return nullptr;
  std::shared_ptr<Memory>* holder = nullptr;
  Storage* storage = borrowStorage(pool_, memory, sizeBytes, nullptr, nullptr, why);
  if (storage && sizeBytes > 0) {
    holder = new (std::nothrow) std::shared_ptr<Memory>(memory_);
    if (!holder) {
      why = DYN_OUT_OF_MEMORY;
      release(storage);
      storage = nullptr;
    }
  }
  if (!storage) {
    if (sizeBytes > 0) memory_->deallocate(memory);
    return nullptr;
  }
  storage->device = static_cast<uint8_t>(number_);
  storage->unknown = memory_->rehearsal;
  if (holder) {
    storage->user = holder;
    storage->release = [](void* user, const void* data) {
      auto* held = static_cast<std::shared_ptr<Memory>*>(user);
      (*held)->deallocate(data);
      delete held;
    };
  }
  return storage;
}

Status DeviceSession::flush() {
  if (!graphs_) return okStatus();
  DynDeviceText text{};
  Status status = graphs_->flush(text);
  Status earlier = std::exchange(memory_->fault, okStatus());
  return earlier.ok() ? status : earlier;
}

Status DeviceSession::synchronise() {
  if (memory_->rehearsal) return okStatus();
  fault_ = {};
  Status status = flush();
  Status waited = deviceStatus(device_, device_.functions->synchronise(&device_, stream_, &fault_), fault_);
  if (status.ok()) status = std::move(waited);
  ++waits_;
  if (graphs_) graphs_->waited();
  if (!copies_) return status;
  DynDeviceText later{};
  Status copied = copies_->workIsDone(later);
  return status.ok() ? copied : status;
}

Status DeviceSession::settle() {
  fault_ = {};
  return copies_ ? copies_->settle(fault_) : okStatus();
}

// The host's memory may go or change after the call, so both directions wait.
Status DeviceSession::copyTo(void* target, const void* source, uint64_t sizeBytes) {
  if (sizeBytes == 0) return okStatus();
  if (Status status = flush(); !status.ok()) return status;
  if (copies_) return copies_->push(target, source, sizeBytes);
  DynDeviceText text{};
  const int32_t status = device_.functions->copyTo(&device_, stream_, target, source, sizeBytes, &text);
  return status == DYN_OK ? synchronise() : deviceStatus(device_, status, text);
}
Status DeviceSession::copyFrom(void* target, const void* source, uint64_t sizeBytes) {
  if (sizeBytes == 0) return okStatus();
  if (copies_) {
    Status status = pull(target, source, sizeBytes, [](bool) {});
    return status.ok() ? settle() : status;
  }
  DynDeviceText text{};
  const int32_t status = device_.functions->copyFrom(&device_, stream_, target, source, sizeBytes, &text);
  return status == DYN_OK ? synchronise() : deviceStatus(device_, status, text);
}
Status DeviceSession::pull(void* target, const void* source, uint64_t sizeBytes,
                           std::function<void(bool)> arrived) {
  if (!copies_) {
    Status status = copyFrom(target, source, sizeBytes);
    arrived(status.ok());
    return status;
  }
  if (Status status = flush(); !status.ok()) return status;
  return copies_->pull(target, source, sizeBytes, std::move(arrived));
}
Status DeviceSession::copyWithin(void* target, const void* source, uint64_t sizeBytes) {
  if (sizeBytes == 0) return okStatus();
  if (Status status = flush(); !status.ok()) return status;
  if (copies_) {
    const DeviceRange ranges[] = {{source, sizeBytes, false}, {target, sizeBytes, true}};
    if (Status status = copies_->beforeWork(ranges); !status.ok()) return status;
  }
  DynDeviceText text{};
  return deviceStatus(
      device_, device_.functions->copyWithin(&device_, stream_, target, source, sizeBytes, &text), text);
}

Status DeviceSession::launch(size_t kernel, DynLaunch& launch, const DeviceSpan* timed) {
  return device_.codeFormat == DYN_CODE_HOST ? launchOfHost(launch) : launchCode(kernel, launch, timed);
}

void DeviceSession::takeTimes(std::vector<DeviceSpan>& spans) {
  if (times_) (void)times_->take(spans);  // without a time it is missing in the profile
}

Status DeviceSession::launchCode(size_t kernel, DynLaunch& launch, const DeviceSpan* timed) {
  if (memory_->rehearsal) return okStatus();
  if (!deviceCode_.isLoaded())
    if (Status loaded = DeviceCode::load(device_, program_, deviceCode_); !loaded.ok()) return loaded;
  if (Status ready = deviceCode_.prepare(device_, program_, kernel, launch); !ready.ok()) return ready;
  if (DynDeviceProduct* product = deviceCode_.product())
    if (Status given = giveWorkspace(*product); !given.ok()) return given;
  if (copies_) {
    ranges_.clear();
    for (uint32_t i = 0; i < launch.bufferCount; ++i)
      ranges_.push_back(
          {launch.buffers[i], launch.bufferBytes[i], i + launch.outputCount >= launch.bufferCount});
    if (Status ordered = copies_->beforeWork(ranges_); !ordered.ok()) return ordered;
  }
  DynDeviceText said{};
  if (timed && device_.extras) {  // each by itself
    if (Status status = flush(); !status.ok()) return status;
    if (!times_) times_ = std::make_unique<DeviceTimes>(device_, stream_);
    if (Status status = times_->begin(); !status.ok()) return status;
  } else if (graphs_) {
    return graphs_->launch(launch, said);
  }
  if (graphs_) graphs_->launchedApart();
  Status launched = deviceStatus(device_, device_.functions->launch(&device_, stream_, &launch, &said), said);
  return launched.ok() && timed && times_ ? times_->end(*timed) : launched;
}

// One for all products, as large as the largest has asked for: they follow each other in the stream.
Status DeviceSession::giveWorkspace(DynDeviceProduct& product) {
  if (product.workspaceBytes > workspaceBytes_) {
    if (workspace_) memory_->deallocate(workspace_);
    workspaceBytes_ = 0;
    dyn_status why = DYN_OK;
    workspace_ = memory_->allocate(product.workspaceBytes, why);
    if (!workspace_)
      return failure(why, std::to_string(product.workspaceBytes) + " bytes for the workspace of cuBLASLt");
    workspaceBytes_ = product.workspaceBytes;
  }
  product.workspace = product.workspaceBytes > 0 ? workspace_ : nullptr;
  return okStatus();
}

Status DeviceSession::launchOfHost(DynLaunch& launch) {
  dyn_status why = DYN_OK;
  int64_t total = 0;
  if (launch.scratchBytes > 0) {
    if (launch.scratchBytes > INT64_MAX ||
        !checkedMul(static_cast<int64_t>(launch.scratchBytes), int64_t{launch.gridX}, total))
      return failure(DYN_OUT_OF_MEMORY, "the scratch memory of a kernel");
    launch.scratch = memory_->allocate(static_cast<uint64_t>(total), why);
    if (!launch.scratch) return failure(why, std::to_string(total) + " bytes of scratch memory");
  }
  DynDeviceText text{};
  const int32_t status =
      memory_->rehearsal ? DYN_OK : device_.functions->launch(&device_, stream_, &launch, &text);
  if (launch.scratch) memory_->deallocate(launch.scratch);
  return deviceStatus(device_, status, text);
}

std::string DeviceSession::refusal() const {
  std::lock_guard lock(memory_->mutex);
  return memory_->refusal;
}

MemoryStatistics DeviceSession::statistics() const {
  std::lock_guard lock(memory_->mutex);
  MemoryStatistics result = memory_->statistics;
  result.systemAllocations = 0;  // the device keeps pools of its own
  result.heldBytes = result.inUseBytes;
  return result;
}

void DeviceSession::beginRun() {
  std::lock_guard lock(memory_->mutex);
  memory_->statistics.peakBytes = memory_->statistics.inUseBytes;
}

}  // namespace dyn::vm
