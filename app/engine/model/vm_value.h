// Values of the session as values of the VM, and back.
#pragma once

#include "compiler/driver/vm_handles.h"
#include "compiler/reference/value.h"
#include "vm/include/dynvm.h"

namespace dyn {

// A failed call as an error: limits, cancellation and the user's faults keep their exit code.
Error vmError(dyn_status status);
// The same of a message that was kept.
Error vmError(dyn_status status, std::string message);

// Tensors are shared, not copied. An optional is a tuple with tag 1 and one item, or tag 0 and none. Closures
// are unsupportedFeature. A data value is a tuple, its tag the place of its constructor; one that is met
// again is one value. `type` (may be null) tells optionals and data values from tuples; `module` (may be
// null) declares the data types.
Result<VmValue> toVm(dyn_context* context, const Value& value, Type type, const Module* module);
Result<Value> fromVm(const dyn_value* value, Type type, const Module* module);

}  // namespace dyn
