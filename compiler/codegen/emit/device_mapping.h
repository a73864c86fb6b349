// Internal to codegen: how the iterations of a loop kernel become threads of a GPU, and what its emitter
// keeps while it writes one.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "vm/shared/dyn_device_code.h"

namespace llvm {
class Value;
}  // namespace llvm

namespace dyn {

// thread: one thread for each element that a unit's outermost loops store, or for each unit.
// block: one block for each unit, whose threads share the loops that are `vector`.
// tile: one block for each square of a product (device_tiles.h).
enum class DeviceMapping : uint8_t { thread, block, tile };

struct DeviceEmission {
  DeviceMapping mapping = DeviceMapping::thread;
  llvm::Value *faultWord = nullptr, *launch = nullptr, *units = nullptr;
  llvm::Value* thread = nullptr;  // of the block, i64
  bool shared = false;            // inside of a loop that the block's threads share
  bool mayFault = false;          // it can end with a fault
  // Memory by name that some thread has read or written since all threads met.
  std::set<std::string> read, written;
};

}  // namespace dyn
