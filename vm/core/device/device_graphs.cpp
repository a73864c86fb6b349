#include "vm/core/device/device_graphs.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace dyn::vm {

DeviceGraphs::Kept::Kept(const DynLaunch& from)
    : launch(from),
      buffers(from.buffers, from.buffers + from.bufferCount),
      scalars(from.scalars, from.scalars + from.scalarCount) {
  if (from.product) product = *from.product;
  if (from.bufferBytes) bytes.assign(from.bufferBytes, from.bufferBytes + from.bufferCount);
}

DynLaunch DeviceGraphs::Kept::view() const {
  DynLaunch made = launch;
  made.buffers = buffers.data();
  made.scalars = scalars.data();
  if (launch.product) made.product = &product;
  made.bufferBytes = bytes.empty() ? nullptr : bytes.data();
  return made;
}

bool DeviceGraphs::Kept::operator==(const Kept& other) const {
  const DynLaunch &a = launch, &b = other.launch;
  return a.kernel == b.kernel && a.gridX == b.gridX && a.gridY == b.gridY && a.gridZ == b.gridZ &&
         a.blockX == b.blockX && a.blockY == b.blockY && a.blockZ == b.blockZ &&
         a.sharedBytes == b.sharedBytes && a.units == b.units && a.mayFault == b.mayFault &&
         (a.product == nullptr) == (b.product == nullptr) &&
         memcmp(&product, &other.product, sizeof product) == 0 && buffers == other.buffers &&
         scalars == other.scalars && bytes == other.bytes;
}

DeviceGraphs::~DeviceGraphs() {
  while (!known_.empty()) forget(0);
}

void DeviceGraphs::forget(size_t index) {
  if (known_[index]->graph != 0) (void)device_.extras->destroyGraph(&device_, known_[index]->graph, nullptr);
  known_.erase(known_.begin() + static_cast<std::ptrdiff_t>(index));
}

Status DeviceGraphs::launchNow(const Kept& kept, DynDeviceText& text) {
  const DynLaunch launch = kept.view();
  return deviceStatus(device_, device_.functions->launch(&device_, stream_, &launch, &text), text);
}

Status DeviceGraphs::launchHeld(DynDeviceText& text) {
  while (issued_ < now_.launches.size())
    if (Status status = launchNow(now_.launches[issued_++], text); !status.ok()) return status;
  return okStatus();
}

Status DeviceGraphs::launch(const DynLaunch& launch, DynDeviceText& text) {
  if (now_.launches.size() >= kMostLaunches)
    if (Status status = flush(text); !status.ok()) return status;
  if (now_.launches.empty()) now_.before = launchesSinceWait_;
  ++launchesSinceWait_;
  now_.launches.emplace_back(launch);
  const size_t at = now_.launches.size() - 1;
  if (at == 0)
    for (const std::unique_ptr<Sequence>& known : known_)
      if (known->before == now_.before && known->launches[0] == now_.launches[0]) follows_ = known.get();
  if (follows_ && at < follows_->launches.size() && follows_->launches[at] == now_.launches[at])
    return okStatus();  // held back
  follows_ = nullptr;
  return launchHeld(text);
}

Status DeviceGraphs::makeGraph(Sequence& sequence, DynDeviceText& text) {
  const DynDeviceExtras& extras = *device_.extras;
  if (Status status = deviceStatus(device_, extras.beginGraph(&device_, stream_, &text), text); !status.ok())
    return status;
  Status launched = launchHeld(text);
  uint64_t graph = 0;
  Status ended = deviceStatus(device_, extras.endGraph(&device_, stream_, &graph, &text), text);
  if (!launched.ok()) return launched;
  if (ended.ok()) sequence.graph = graph;
  return ended;
}

void DeviceGraphs::remember() {
  if (now_.launches.size() < 2) return;  // nothing is saved
  // One that begins alike will not come again soon: it has other dims, or its buffers moved.
  for (size_t i = 0; i < known_.size(); ++i)
    if (known_[i]->before == now_.before && known_[i]->launches[0] == now_.launches[0]) {
      forget(i);
      break;
    }
  if (known_.size() >= kMostSequences) {
    size_t oldest = 0;
    for (size_t i = 1; i < known_.size(); ++i)
      if (known_[i]->lastUse < known_[oldest]->lastUse) oldest = i;
    forget(oldest);
  }
  known_.push_back(std::make_unique<Sequence>(std::move(now_)));
  known_.back()->lastUse = ++uses_;
}

Status DeviceGraphs::flush(DynDeviceText& text) {
  if (now_.launches.empty()) return okStatus();
  Status status = okStatus();
  Sequence* same = follows_ && follows_->launches.size() == now_.launches.size() ? follows_ : nullptr;
  if (same) {
    same->lastUse = ++uses_;
    if (same->graph == 0) status = makeGraph(*same, text);
    if (status.ok()) {
      status =
          deviceStatus(device_, device_.extras->launchGraph(&device_, stream_, same->graph, &text), text);
      ++launched_;
    }
  } else {
    status = launchHeld(text);
    if (status.ok()) remember();
  }
  now_ = {};
  follows_ = nullptr;
  issued_ = 0;
  return status;
}

}  // namespace dyn::vm
