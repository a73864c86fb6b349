// Builtin: a hand-written operator's row in the table, and a call of it.
//
// Most rows are flat: their kernels see C structures only (dyn_builtin.h, vm/base/flat_call.h), so that they
// serve without this VM, too. Rows that make their results' sizes, lists or strings are hosted: their
// functions get objects and the pool.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "vm/base/flat_call.h"
#include "vm/core/object/object.h"
#include "vm/shared/dyn_panels.h"

namespace dyn::vm {

class BuiltinHost;

// One call, of a row of either kind. Arguments are borrowed and may be null (absent optionals). `builtin`
// fills empty results; `builtininto` gives tensors.
struct BuiltinCall : CallInputs {
  BuiltinHost* host = nullptr;  // whose context it is; hosted rows ask it what no flat row may
  MemoryPool* pool = nullptr;
  const DynGemmFamily* gemmFamily = nullptr;  // never null for rows with the trait GEMM, else null

  std::span<Object* const> arguments;
  std::span<Object*> results;
  bool into = false;  // results hold tensors to be written
  // A tensor for result 0 in memory that the caller of the run has bound for it, or null. May be empty.
  std::function<Tensor*(DataType, std::span<const int64_t>, int64_t elementCount, dyn_status&)> bound;
  bool rehearsal = false;      // make the results, and return
  int64_t keptPositions = -1;  // of a rehearsal: how many positions of a batch a mask keeps; -1: all
  // Rows that pack weights: for whom. Null: for this machine's kernels, and gemmFamily.
  const PanelLayout* panels = nullptr;

  BuiltinCall() = default;
  explicit BuiltinCall(BuiltinHost& caller);

  Tensor* argument(
      size_t index) const;  // null: absent (or not a tensor: the interpreter has checked tensor arguments)
  // Result `index` as a tensor of this dtype and shape: made by the pool, or, when writing into tensors,
  // checked against it.
  Status result(size_t index, DataType dtype, std::span<const int64_t> shape, Tensor*& tensor);
};

using BuiltinFunction = Status (*)(BuiltinCall& call);

struct BuiltinRow {
  std::string_view name;
  calls::RowTraits traits;
  uint8_t minResults, maxResults;  // 255: any
  calls::CallCounts counts;        // of what a call gives it (dyn_builtin_calls.h)
  std::string (*fields)();         // the same in words
  std::string_view meaning;
  BuiltinFunction hosted;  // null: the row is flat
  DynBuiltinKernel flat;

  bool is(calls::RowTrait trait) const { return traits.is(trait); }
  bool isFlat() const { return hosted == nullptr; }
};

// The rows that are there: all of vm/kernels/builtins.def (functions live there; core only declares them), or
// those that the program calls, where the runtime is linked with it (vm/embedded/linked_rows.cpp).
std::span<const BuiltinRow* const> builtinTable();
const BuiltinRow* findBuiltin(std::string_view name);  // null: unknown
// The runtime's own micro-kernels, for modules that bring none; null: it was linked without.
const DynGemmFamily* defaultGemmFamily();

// Runs it. A flat row gets its scratch memory from the pool, and in a rehearsal that is all. Error
// DYN_BAD_INPUT for arguments of a flat row that are no tensors.
Status runBuiltin(const BuiltinRow& row, BuiltinCall& call);

// "f32 expected, got i64[3]" and the like, with code DYN_BAD_INPUT.
Status badArgument(const char* builtin, size_t index, const std::string& expected, const Object* got);

}  // namespace dyn::vm
