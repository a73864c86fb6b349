// Builtin: what a hand-written operator (vm/kernels) sees of a call, and its row in the table.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "vm/base/status.h"
#include "vm/core/object.h"
#include "vm/core/thread_pool.h"

namespace dyn::vm {

class PlanCache;
struct KernelRow;
namespace kernels {
class ScheduleCache;
}

// One call. Arguments are borrowed and may be null (absent optionals). `builtin` fills empty results;
// `builtininto` gives tensors.
struct BuiltinCall {
  MemoryPool* pool = nullptr;
  ThreadPool* threads = nullptr;
  const std::atomic<uint32_t>* cancelFlag = nullptr;  // bit 0
  const DynGemmFamily* gemmFamily = nullptr;          // never null for rows with kGemmFamily, else null
  const DynKernelFunction* kernels = nullptr;         // of the module, for epilogues
  const KernelRow* kernelRows = nullptr;
  uint32_t kernelCount = 0;
  kernels::ScheduleCache* schedules = nullptr;  // of the context; null: nothing is remembered
  PlanCache* plans = nullptr;                   // of the context; null: nothing is kept
  std::string* version = nullptr;  // where to say which version runs, and for which values; null: nobody asks

  std::span<Object* const> arguments;
  std::span<Object*> results;
  bool into = false;  // results hold tensors to be written
  // A tensor for result 0 in memory that the caller of the run has bound for it, or null. May be empty.
  std::function<Tensor*(DataType, std::span<const int64_t>, int64_t elementCount, dyn_status&)> bound;
  bool rehearsal = false;  // take the scratch memory the call needs, and return
  std::span<const int64_t> scalars;
  std::span<const int32_t> numbers;

  bool cancelled() const { return (cancelFlag->load(std::memory_order_relaxed) & 1) != 0; }
  int64_t number(size_t index, int64_t otherwise) const {
    return index < numbers.size() ? numbers[index] : otherwise;
  }
  float real(size_t index, float otherwise) const;  // a number whose bits are an f32
  Tensor* argument(
      size_t index) const;  // null: absent (or not a tensor: the interpreter has checked tensor arguments)
  // Result `index` as a tensor of this dtype and shape: made by the pool, or, when writing into tensors,
  // checked against it.
  Status result(size_t index, DataType dtype, std::span<const int64_t> shape, Tensor*& tensor);
};

using BuiltinFunction = Status (*)(BuiltinCall& call);

enum class BuiltinForm : uint8_t { makes, into, both };

struct BuiltinRow {
  static constexpr uint8_t kRehearsed =
      1;  // looks at no elements in a rehearsal, and takes the memory it would take
  static constexpr uint8_t kReadsGrowing = 2;  // reads growing tensors (growing.h)
  static constexpr uint8_t kGemmFamily = 4;    // runs on the module's matrix kernels

  std::string_view name;
  BuiltinForm form;
  uint8_t traits;
  uint8_t minResults, maxResults, minArguments, maxArguments, minScalars, maxScalars, minNumbers,
      maxNumbers;  // 255: any
  std::string_view meaning;
  BuiltinFunction function;

  bool is(uint8_t trait) const { return (traits & trait) != 0; }
};

// The table is vm/kernels/builtins.def (functions live there; core only declares them).
std::span<const BuiltinRow> builtinTable();
const BuiltinRow* findBuiltin(std::string_view name);  // null: unknown
// The runtime's own micro-kernels, for modules that bring none.
const DynGemmFamily* defaultGemmFamily();

// "f32 expected, got i64[3]" and the like, with code DYN_BAD_INPUT.
Status badArgument(const char* builtin, size_t index, const std::string& expected, const Object* got);

}  // namespace dyn::vm
