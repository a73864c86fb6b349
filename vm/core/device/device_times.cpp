#include "vm/core/device/device_times.h"

#include "vm/base/clock.h"

namespace dyn::vm {

DeviceTimes::~DeviceTimes() {
  for (const Pending& launch : pending_) free_.insert(free_.end(), {launch.from, launch.to});
  if (hasBase_) free_.push_back(base_);
  for (uint32_t event : free_) (void)device_.functions->destroyEvent(&device_, event, nullptr);
}

Status DeviceTimes::record(uint32_t& event) {
  if (free_.empty()) {
    if (Status status = told(device_.extras->createTimedEvent(&device_, &event, &text_)); !status.ok())
      return status;
  } else {
    event = free_.back();
    free_.pop_back();
  }
  return told(device_.functions->recordEvent(&device_, stream_, event, &text_));
}

Status DeviceTimes::begin() {
  if (!hasBase_) {
    if (Status status = record(base_); !status.ok()) return status;
    hasBase_ = true;
    int32_t done = 0;
    while (!done)
      if (Status status = told(device_.functions->queryEvent(&device_, base_, &done, &text_)); !status.ok())
        return status;
    baseNs_ = nowNs();
  }
  return record(from_);
}

Status DeviceTimes::end(DeviceSpan launch) {
  Pending made{launch, from_, 0};
  if (Status status = record(made.to); !status.ok()) return status;
  pending_.push_back(made);
  return okStatus();
}

Status DeviceTimes::take(std::vector<DeviceSpan>& spans) {
  Status result = okStatus();
  for (Pending& launch : pending_) {
    int64_t begin = 0, end = 0;
    Status status = told(device_.extras->elapsedNs(&device_, base_, launch.from, &begin, &text_));
    if (status.ok()) status = told(device_.extras->elapsedNs(&device_, base_, launch.to, &end, &text_));
    free_.insert(free_.end(), {launch.from, launch.to});
    if (!status.ok()) {
      if (result.ok()) result = std::move(status);
      continue;
    }
    launch.span.beginNs = baseNs_ + static_cast<uint64_t>(begin);
    launch.span.endNs = baseNs_ + static_cast<uint64_t>(end);
    spans.push_back(launch.span);
  }
  pending_.clear();
  return result;
}

}  // namespace dyn::vm
