#include "vm/core/device/device_copies.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace dyn::vm {
namespace {

constexpr uint64_t kBlockBytes = uint64_t{1} << 20, kAlignment = 64;

}  // namespace

Status DeviceCopies::create(const DynDevice& device, uint32_t work, std::unique_ptr<DeviceCopies>& copies) {
  std::unique_ptr<DeviceCopies> made(new DeviceCopies(device, work));
  const DynDeviceExtras& extras = *device.extras;
  DynDeviceText& text = made->text_;
  if (Status status = made->told(extras.createStreamBeside(&device, work, &made->in_, &text)); !status.ok())
    return status;
  made->hasIn_ = true;
  if (Status status = made->told(extras.createStreamBeside(&device, work, &made->out_, &text)); !status.ok())
    return status;
  made->hasOut_ = true;
  copies = std::move(made);
  return okStatus();
}

DeviceCopies::~DeviceCopies() {
  const DynDeviceFunctions& call = *device_.functions;
  if (hasIn_) (void)call.destroyStream(&device_, in_, nullptr);
  if (hasOut_) (void)call.destroyStream(&device_, out_, nullptr);
  for (const Copy& push : pushes_) freeEvents_.push_back(push.event);
  for (Copy& pull : pulls_) {
    freeEvents_.push_back(pull.event);
    pull.arrived(false);
  }
  for (uint32_t event : freeEvents_) (void)call.destroyEvent(&device_, event, nullptr);
  for (const Staging* staging : {&inStaging_, &outStaging_})
    for (const Staging::Block& block : staging->blocks)
      (void)device_.extras->freePinned(&device_, block.memory, nullptr);
}

Status DeviceCopies::stage(Staging& staging, uint64_t sizeBytes, std::byte*& memory) {
  memory = nullptr;
  const uint64_t size = (sizeBytes + kAlignment - 1) / kAlignment * kAlignment;
  for (; staging.block < staging.blocks.size(); ++staging.block, staging.used = 0) {
    const Staging::Block& block = staging.blocks[staging.block];
    if (block.sizeBytes - staging.used < size) continue;
    memory = block.memory + staging.used;
    staging.used += size;
    return okStatus();
  }
  const uint64_t made = std::max(size, kBlockBytes);
  if (made > kStagingBytes - staging.held) return okStatus();
  void* pinned = nullptr;
  if (Status status = told(device_.extras->allocatePinned(&device_, made, &pinned, &text_)); !status.ok())
    return status;
  staging.blocks.push_back({static_cast<std::byte*>(pinned), made});
  staging.held += made;
  staging.used = size;
  memory = static_cast<std::byte*>(pinned);
  return okStatus();
}

Status DeviceCopies::eventOf(uint32_t stream, uint32_t& event) {
  const DynDeviceFunctions& call = *device_.functions;
  if (freeEvents_.empty()) {
    if (Status status = told(call.createEvent(&device_, &event, &text_)); !status.ok()) return status;
  } else {
    event = freeEvents_.back();
    freeEvents_.pop_back();
  }
  return told(call.recordEvent(&device_, stream, event, &text_));
}

Status DeviceCopies::wait(uint32_t stream, uint32_t event) {
  return told(device_.functions->waitEvent(&device_, stream, event, &text_));
}

Status DeviceCopies::waitForWork(uint32_t stream) {
  if (!workGoesOn_) return okStatus();
  if (stream == out_)
    if (Status status = told(device_.extras->noteFaults(&device_, out_, &text_)); !status.ok()) return status;
  uint32_t before = 0;
  if (Status status = eventOf(work_, before); !status.ok()) return status;
  freeEvents_.push_back(before);
  return wait(stream, before);
}

Status DeviceCopies::push(void* target, const void* source, uint64_t sizeBytes) {
  const DynDeviceFunctions& call = *device_.functions;
  if (Status status = waitForWork(in_); !status.ok()) return status;
  for (const Copy& pull : pulls_)
    if (pull.touches(target, sizeBytes))
      if (Status status = wait(in_, pull.event); !status.ok()) return status;
  auto* to = static_cast<std::byte*>(target);
  const auto* from = static_cast<const std::byte*>(source);
  for (uint64_t done = 0; done < sizeBytes;) {
    const uint64_t piece = std::min(sizeBytes - done, kBlockBytes);
    std::byte* staged = nullptr;
    if (Status status = stage(inStaging_, piece, staged); !status.ok()) return status;
    if (!staged) {
      if (Status status = told(call.synchronise(&device_, in_, &text_)); !status.ok()) return status;
      takeBack(inStaging_);
      continue;
    }
    memcpy(staged, from + done, piece);
    if (Status status = told(call.copyTo(&device_, in_, to + done, staged, piece, &text_)); !status.ok())
      return status;
    done += piece;
  }
  Copy copy{to, to + sizeBytes, 0, nullptr, nullptr, {}};
  if (Status status = eventOf(in_, copy.event); !status.ok()) return status;
  pushes_.push_back(std::move(copy));
  return okStatus();
}

Status DeviceCopies::pull(void* target, const void* source, uint64_t sizeBytes,
                          std::function<void(bool)> arrived) {
  const DynDeviceFunctions& call = *device_.functions;
  for (const Copy& push : pushes_)
    if (push.touches(source, sizeBytes))
      if (Status status = wait(out_, push.event); !status.ok()) return status;
  if (Status status = waitForWork(out_); !status.ok()) return status;
  const auto* from = static_cast<const std::byte*>(source);
  std::byte* staged = nullptr;
  if (Status status = stage(outStaging_, sizeBytes, staged); !status.ok()) return status;
  if (!staged) {
    DynDeviceText fault{};
    if (Status status = settle(fault); !status.ok()) return status;
    if (Status status = stage(outStaging_, sizeBytes, staged); !status.ok()) return status;
  }
  if (!staged) {
    Status status = pullInPieces(target, source, sizeBytes);
    arrived(status.ok());
    return status;
  }
  if (Status status = told(call.copyFrom(&device_, out_, staged, from, sizeBytes, &text_)); !status.ok())
    return status;
  Copy copy{from, from + sizeBytes, 0, target, staged, std::move(arrived)};
  if (Status status = eventOf(out_, copy.event); !status.ok()) return status;
  pulls_.push_back(std::move(copy));
  return okStatus();
}

// More than all staging memory: nothing else is pulled meanwhile.
Status DeviceCopies::pullInPieces(void* target, const void* source, uint64_t sizeBytes) {
  const DynDeviceFunctions& call = *device_.functions;
  auto* to = static_cast<std::byte*>(target);
  const auto* from = static_cast<const std::byte*>(source);
  for (uint64_t done = 0; done < sizeBytes;) {
    const uint64_t piece = std::min(sizeBytes - done, kBlockBytes);
    std::byte* staged = nullptr;
    if (Status status = stage(outStaging_, piece, staged); !status.ok()) return status;
    if (!staged) {  // the first blocks were too small for one copy, but never for a piece
      takeBack(outStaging_);
      continue;
    }
    if (Status status = told(call.copyFrom(&device_, out_, staged, from + done, piece, &text_)); !status.ok())
      return status;
    if (Status status = told(call.synchronise(&device_, out_, &text_)); !status.ok()) return status;
    memcpy(to + done, staged, piece);
    takeBack(outStaging_);
    done += piece;
  }
  return okStatus();
}

Status DeviceCopies::beforeWork(std::span<const DeviceRange> ranges) {
  workGoesOn_ = true;
  for (const DeviceRange& range : ranges) {
    if (range.sizeBytes == 0) continue;
    // Work that has waited for a push has it before all that comes behind.
    for (size_t i = 0; i < pushes_.size();) {
      if (!pushes_[i].touches(range.memory, range.sizeBytes)) {
        ++i;
        continue;
      }
      if (Status status = wait(work_, pushes_[i].event); !status.ok()) return status;
      freeEvents_.push_back(pushes_[i].event);
      pushes_.erase(pushes_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    for (const Copy& pull : pulls_)
      if (range.written && pull.touches(range.memory, range.sizeBytes))
        if (Status status = wait(work_, pull.event); !status.ok()) return status;
  }
  return okStatus();
}

Status DeviceCopies::settle(DynDeviceText& fault) {
  if (pulls_.empty()) return okStatus();
  fault = {};
  const Status status = deviceStatus(device_, device_.functions->synchronise(&device_, out_, &fault), fault);
  for (Copy& copy : std::exchange(pulls_, {})) {
    if (status.ok()) memcpy(copy.target, copy.staged, static_cast<size_t>(copy.end - copy.begin));
    freeEvents_.push_back(copy.event);
    copy.arrived(status.ok());
  }
  takeBack(outStaging_);
  return status;
}

Status DeviceCopies::workIsDone(DynDeviceText& fault) {
  Status status = settle(fault);
  workGoesOn_ = false;
  // Pushes that no work has waited for.
  if (!pushes_.empty()) {
    Status pushed = told(device_.functions->synchronise(&device_, in_, &text_));
    if (status.ok()) status = std::move(pushed);
    for (const Copy& push : pushes_) freeEvents_.push_back(push.event);
    pushes_.clear();
  }
  takeBack(inStaging_);
  return status;
}

}  // namespace dyn::vm
