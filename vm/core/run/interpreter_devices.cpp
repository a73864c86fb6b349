// Interpreter: what runs or lies on a device. Kernels on the host are launched through its row, too; other
// devices have a session each, opened when the program first names them.
#include <cstring>
#include <utility>

#include "vm/base/checked.h"
#include "vm/core/run/host_launch.h"
#include "vm/core/run/interpreter.h"
#include "vm/device/cpu_device.h"

namespace dyn::vm {

// Null after a fault.
DeviceSession* Interpreter::deviceSession(int32_t device) {
  const auto index = static_cast<size_t>(device);
  if (devices_.size() <= index) devices_.resize(index + 1);
  const DynDevice* row = device == kCudaDevice ? module_.device().cuda : nullptr;
  const DeviceSession::Settings settings{options_.pool, options_.deviceLimitBytes, options_.graphs};
  if (!devices_[index])
    if (Status status = DeviceSession::open(row ? row : deviceAt(device), device, settings, program_,
                                            module_.kernelEntries(), devices_[index]);
        !status.ok())
      (void)fault(status.code, std::move(status.message));
  return devices_[index].get();
}

// Null and `why`; DYN_OK when the fault has been told.
Storage* Interpreter::newStorageOn(int32_t device, uint64_t sizeBytes, dyn_status& why) {
  if (device == kHostDevice) return newStorage(options_.pool, sizeBytes, why);
  DeviceSession* session = deviceSession(device);
  if (!session) return nullptr;
  Storage* storage = session->newStorage(sizeBytes, why);
  if (storage) return storage;
  if (why != DYN_MEMORY_LIMIT && why != DYN_OUT_OF_MEMORY) {
    (void)fault(why, session->refusal());
    why = DYN_OK;
    return nullptr;
  }
  const bool named = device == kCudaDevice && !module_.device().name.empty();
  std::string text = std::to_string(sizeBytes) + " bytes are needed on " +
                     (named ? module_.device().name : "device " + std::to_string(device));
  if (why == DYN_MEMORY_LIMIT)
    text += ", where " + std::to_string(session->statistics().inUseBytes) + " of " +
            std::to_string(options_.deviceLimitBytes) + " are in use";
  if (why == DYN_OUT_OF_MEMORY) text += ", which has no more memory";
  (void)fault(why, std::move(text));
  why = DYN_OK;
  return nullptr;
}

Tensor* Interpreter::newTensorOn(int32_t device, DataType dtype, std::span<const int64_t> shape,
                                 dyn_status& why) {
  const auto rank = static_cast<uint32_t>(shape.size());
  if (device == kHostDevice) return newTensor(options_.pool, dtype, rank, shape.data(), why);
  int64_t count = 0, bytes = 0;
  if (!checkedElementCount(shape.data(), rank, count) || !checkedMul(count, sizeBytes(dtype), bytes)) {
    why = DYN_ARITHMETIC;
    return nullptr;
  }
  if (dtype == DataType::string) {
    (void)fault(DYN_UNSUPPORTED, "string tensors on other devices");
    return nullptr;
  }
  Ref<Storage> storage(newStorageOn(device, static_cast<uint64_t>(bytes), why));
  return storage ? newView(options_.pool, dtype, rank, shape.data(), count, storage.get(),
                           storage.get()->data, why)
                 : nullptr;
}

Status Interpreter::copyBetween(int32_t from, const void* source, int32_t to, void* target,
                                uint64_t sizeBytes) {
  if (from == kHostDevice && to == kHostDevice) {
    if (sizeBytes > 0) memcpy(target, source, sizeBytes);
    return okStatus();
  }
  DeviceSession* session = deviceSession(from == kHostDevice ? to : from);
  if (!session) return std::move(status_);
  if (from == to) return session->copyWithin(target, source, sizeBytes);
  if (from == kHostDevice)
    return afterWait(*session, session->copyTo(target, source, sizeBytes), !session->hasCopyStreams());
  if (to == kHostDevice)
    return afterWait(*session, session->copyFrom(target, source, sizeBytes), !session->hasCopyStreams());
  return failure(DYN_UNSUPPORTED, "a copy from device " + std::to_string(from) + " to device " +
                                      std::to_string(to) + ": it goes through the host");
}

// What a wait found belongs to the launch that it was found in, not to who waited.
Status Interpreter::afterWait(const DeviceSession& session, Status status, bool all) {
  const std::vector<std::pair<uint32_t, uint32_t>> places =
      all ? std::exchange(launchPlaces_, {}) : launchPlaces_;
  const DynDeviceText& text = session.fault();
  if (status.ok() || text.launch == 0 || text.launch > places.size()) return status;
  const auto& [function, position] = places[text.launch - 1];
  std::string place = module_.positionText(function, position), shown = module_.placeOf(function, position);
  if (const std::optional<Module::Check> check =
          module_.checkOf(function, position, DYN_FAULT_CHECK(text.fault))) {
    status.message = checkText(*check, text.fault);
    shown = check->place;
  }
  if (!shown.empty()) place += ", " + shown;
  return failure(status.code, std::move(status.message), std::move(place));
}

bool Interpreter::runOn(int32_t device, size_t index, DynLaunch& launch) {
  const KernelRow& kernel = program_.kernels[index];
  DeviceSession* session = deviceSession(device);
  if (!session) return false;
  launchPlaces_.emplace_back(frames_.back().function, positionOf(at_));
  for (void*& buffer : std::span(buffers_.data(), kernel.bufferCount))
    if (buffer == emptyData()) buffer = nullptr;
  launch.bufferBytes = bufferBytes_.data();
  launch.outputCount = kernel.outputCount;
  const DeviceSpan span{frames_.back().function, positionOf(at_), static_cast<int32_t>(index), 0, 0};
  const bool timed = (trapBits_.load(std::memory_order_relaxed) & kProfile) != 0;
  const Status status = session->launch(index, launch, timed ? &span : nullptr);
  if (timed) version_ = session->version();
  return status.ok() || fault(status.code, status.message);
}

// The kernel's buffers are in buffers_. False after a fault. On other devices it may run later.
bool Interpreter::runKernel(size_t index, int64_t units, int64_t steps, int32_t device,
                            const int64_t* scalars) {
  DynLaunch launch = hostLaunch(module_, index, buffers_.data(), scalars, units, steps, host_.context());
  if (device > kHostDevice) return runOn(device, index, launch);
  if (launch.scratchBytes > 0) {
    dyn_status why = DYN_OK;
    int64_t total = 0;
    if (launch.scratchBytes <= INT64_MAX &&
        checkedMul(static_cast<int64_t>(launch.scratchBytes), int64_t{launch.gridX}, total))
      launch.scratch = options_.pool->allocate(static_cast<uint64_t>(total), why, MemoryUse::data);
    if (!launch.scratch) {
      (void)memoryFault(why == DYN_OK ? DYN_OUT_OF_MEMORY : why, launch.scratchBytes);
      return false;
    }
  }
  DynDeviceText text;
  int32_t status = DYN_OK;
  if (!options_.dryRun) {
    const DynDevice& cpu = cpuDevice();
    status = cpu.functions->launch(&cpu, 0, &launch, &text);
  }
  options_.pool->deallocate(launch.scratch);
  if (status == DYN_OK) return true;
  return status == DYN_KERNEL_FAULT ? kernelFault(text) : fault(static_cast<dyn_status>(status), text.text);
}

std::string Interpreter::checkText(const Module::Check& check, int32_t fault) {
  const int32_t value = DYN_FAULT_VALUE(fault);
  std::string message = check.noun;
  if (value != DYN_FAULT_NO_VALUE) message += " " + std::to_string(value);
  if (value == DYN_FAULT_MOST) message += " or more";
  if (value == -DYN_FAULT_MOST) message += " or less";
  return message + " is out of range: " + check.bound;
}

// At the operation whose check failed, which need not be the one that the kernel is named by.
bool Interpreter::kernelFault(const DynDeviceText& text) {
  const std::optional<Module::Check> check =
      module_.checkOf(frames_.back().function, positionOf(at_), DYN_FAULT_CHECK(text.fault));
  if (!check) return fault(DYN_KERNEL_FAULT, text.text);
  return fault(DYN_KERNEL_FAULT, checkText(*check, text.fault), check->place);
}

// What still runs elsewhere is done when a run ends, and its faults are the run's.
void Interpreter::finishDevices() {
  for (const std::unique_ptr<DeviceSession>& session : devices_) {
    if (!session) continue;
    Status status = afterWait(*session, session->synchronise(), true);
    if (status_.ok()) status_ = std::move(status);
    std::vector<DeviceSpan> spans;
    session->takeTimes(spans);
    profile_.recordOnDevice(module_.device().name, spans);
  }
}

void Interpreter::beginDevices() {
  graphLaunchesBefore_ += graphLaunches();
  for (const std::unique_ptr<DeviceSession>& session : devices_)
    if (session) session->beginRun();
}

uint64_t Interpreter::graphLaunches() const {
  uint64_t sum = 0;
  for (const std::unique_ptr<DeviceSession>& session : devices_)
    if (session) sum += session->graphLaunches();
  return sum - graphLaunchesBefore_;
}

bool Interpreter::isArriving(const Object* object) {
  if (!object) return false;
  if (object->kind == ObjectKind::tensor) {
    const Storage* storage = static_cast<const Tensor*>(object)->storage;
    return storage && storage->device == kArriving;
  }
  if (object->kind != ObjectKind::list) return false;
  const auto* list = static_cast<const List*>(object);
  return std::any_of(list->items, list->items + list->count, isArriving);
}

bool Interpreter::settle() {
  for (const std::unique_ptr<DeviceSession>& session : devices_) {
    if (!session || !session->isPulling()) continue;
    if (Status status = afterWait(*session, session->settle(), false); !status.ok()) {
      if (status.place.empty()) return fault(status.code, std::move(status.message));
      status_ = std::move(status);
      return false;
    }
  }
  return true;
}

// The elements come later: until then the tensor is on no device.
Status Interpreter::pull(const Tensor* source, Tensor* target, int32_t device) {
  DeviceSession* session = deviceSession(device);
  if (!session) return std::move(status_);
  if (source->sizeBytes() == 0) return okStatus();
  Storage* storage = target->storage;
  storage->device = kArriving;
  retain(storage);
  const uint64_t waits = session->waitsCount();
  Status status = session->pull(target->data, source->data, source->sizeBytes(), [storage](bool) {
    storage->device = kHostDevice;
    release(storage);
  });
  if (!status.ok() && storage->device == kArriving) {
    storage->device = kHostDevice;
    release(storage);
  }
  return afterWait(*session, std::move(status), session->waitsCount() != waits);
}

MemoryStatistics Interpreter::deviceStatistics() const {
  MemoryStatistics sum;
  for (const std::unique_ptr<DeviceSession>& session : devices_) {
    if (!session) continue;
    const MemoryStatistics one = session->statistics();
    sum.heldBytes += one.heldBytes;
    sum.inUseBytes += one.inUseBytes;
    sum.peakBytes += one.peakBytes;
  }
  return sum;
}

bool Interpreter::isOnHost(const Object* object) {
  if (object->kind == ObjectKind::tensor) {
    const Storage* storage = static_cast<const Tensor*>(object)->storage;
    return !storage || storage->device == kHostDevice;
  }
  if (object->kind != ObjectKind::list) return true;
  const auto* list = static_cast<const List*>(object);
  for (int64_t i = 0; i < list->count; ++i)
    if (list->items[i] && !isOnHost(list->items[i])) return false;
  return true;
}

}  // namespace dyn::vm
