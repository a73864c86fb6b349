// The row "sim": a device on the host for tests, with an address space of its own. It finds what a real
// device would punish some day: host code that reads its memory (a SIGSEGV at that line), addresses of the
// wrong space, use behind a free, and waits that are missing.
//
// Work is deferred: it runs when somebody synchronises or queries, one command after the other, those of
// several streams in an order that the seed draws from all that the events allow. The target of a copy to the
// host holds 0xfe until then, fresh memory 0xcb. So a wait that is missing is found each time, without
// threads or clocks, and another order is another seed. Kernels are those of the host, one task after the
// other.
#pragma once

#include <memory>

#include "vm/include/abi/dyn_device.h"

namespace dyn::vm {

struct SimOptions {
  uint64_t seed = 1;
  uint64_t memoryBytes = UINT64_MAX;  // of the whole device; more than there is: what there is
};

class SimDevice;

// The one of the table: as a device would be, there is one in a process.
const DynDevice& simDevice();

// Further ones, for tests that need another order or less memory.
class OwnedSimDevice {
 public:
  explicit OwnedSimDevice(const SimOptions& options);
  ~OwnedSimDevice();
  const DynDevice& row() const { return row_; }

 private:
  std::unique_ptr<SimDevice> device_;
  DynDevice row_;
};

}  // namespace dyn::vm
