#include "vm/core/builtin/builtin.h"

#include <algorithm>
#include <new>

#include "vm/base/checked.h"
#include "vm/core/builtin/builtin_host.h"

namespace dyn::vm {

BuiltinCall::BuiltinCall(BuiltinHost& caller) : CallInputs(caller.context(), {}, {}), host(&caller) {}

Tensor* BuiltinCall::argument(size_t index) const {
  if (index >= arguments.size() || !arguments[index] || arguments[index]->kind != ObjectKind::tensor)
    return nullptr;
  return static_cast<Tensor*>(arguments[index]);
}

Status BuiltinCall::result(size_t index, DataType dtype, std::span<const int64_t> shape, Tensor*& tensor) {
  if (into) {
    auto* given = static_cast<Tensor*>(results[index]);
    if (given->dtype != dtype || given->rank != shape.size() ||
        !std::equal(shape.begin(), shape.end(), given->shape())) {
      std::string wanted(text(dtype));
      wanted += "[";
      for (size_t axis = 0; axis < shape.size(); ++axis)
        wanted += (axis ? "," : "") + std::to_string(shape[axis]);
      return failure(DYN_BAD_INPUT, "result " + std::to_string(index) + " is " + describe(given) +
                                        ", computed " + wanted + "]");
    }
    tensor = given;
    return okStatus();
  }
  dyn_status why = DYN_OK;
  tensor = nullptr;
  int64_t count = 0;
  if (bound && index == 0 && checkedElementCount(shape.data(), static_cast<uint32_t>(shape.size()), count))
    tensor = bound(dtype, shape, count, why);
  if (!tensor && why == DYN_OK)
    tensor = newTensor(pool, dtype, static_cast<uint32_t>(shape.size()), shape.data(), why);
  if (!tensor) return failure(why, "no room for result " + std::to_string(index));
  release(results[index]);
  results[index] = tensor;
  return okStatus();
}

const BuiltinRow* findBuiltin(std::string_view name) {
  for (const BuiltinRow* row : builtinTable())
    if (row->name == name) return row;
  return nullptr;
}

Status runBuiltin(const BuiltinRow& row, BuiltinCall& call) {
  try {
    return row.isFlat() ? call.host->callFlat(row, call) : row.hosted(call);
  } catch (const std::bad_alloc&) {  // of its own tables; what it has made so far is in the results
    return failure(DYN_OUT_OF_MEMORY, "");
  }
}

Status badArgument(const char* builtin, size_t index, const std::string& expected, const Object* got) {
  return failure(DYN_BAD_INPUT, std::string(builtin) + ": argument " + std::to_string(index) + " must be " +
                                    expected + ", got " + describe(got));
}

}  // namespace dyn::vm
