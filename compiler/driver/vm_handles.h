// What the runtime's C interface gives out, released when its holder goes.
#pragma once

#include <memory>

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

}  // namespace dyn
