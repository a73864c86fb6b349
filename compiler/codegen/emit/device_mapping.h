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
// tile, square: one block for each 16 x 64 or 64 x 64 results of a product (device_products.h); tensor: the
// latter by tensor cores. attention: one block for each 32 rows (device_attention.h); tensorAttention: the
// same by tensor cores.
enum class DeviceMapping : uint8_t { thread, block, tile, square, tensor, attention, tensorAttention };

// What tensor cores multiply.
enum class DeviceUnit : uint8_t { none, f16, bf16, tf32 };

struct DeviceEmission {
  DeviceMapping mapping = DeviceMapping::thread;
  DeviceUnit unit = DeviceUnit::none;
  llvm::Value *faultWord = nullptr, *launch = nullptr, *units = nullptr;
  llvm::Value* thread = nullptr;  // of the block, i64
  bool shared = false;            // inside of a loop that the block's threads share
  bool mayFault = false;          // it can end with a fault
  bool dealsElements = false;     // thread: loops of a unit are dealt out, too
  // Memory by name that some thread has read or written since all threads met.
  std::set<std::string> read, written;
};

}  // namespace dyn
