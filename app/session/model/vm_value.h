// Values of the session as values of the VM, and back.
#pragma once

#include <memory>

#include "compiler/reference/value.h"
#include "vm/include/dynvm.h"

namespace dyn {

struct VmValueRelease {
  void operator()(dyn_value* value) const { dyn_value_release(value); }
};
using VmValue = std::unique_ptr<dyn_value, VmValueRelease>;

struct VmContextRelease {
  void operator()(dyn_context* context) const { dyn_context_release(context); }
};
using VmContext = std::unique_ptr<dyn_context, VmContextRelease>;

struct VmModuleRelease {
  void operator()(dyn_module* module) const { dyn_module_release(module); }
};
using VmModule = std::unique_ptr<dyn_module, VmModuleRelease>;

// A failed call as an error: limits, cancellation and the user's faults keep their exit code.
Error vmError(dyn_status status);

// Tensors are shared, not copied. An optional is a tuple with tag 1 and one item, or tag 0 and none. Closures are unsupportedFeature.
Result<VmValue> toVm(dyn_context* context, const Value& value);
// `type` (may be null) tells optionals and data values from tuples; `module` (may be null) declares the data types.
Result<Value> fromVm(const dyn_value* value, Type type, const Module* module);

}  // namespace dyn
