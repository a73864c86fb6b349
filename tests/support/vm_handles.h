// Objects of the VM's C API, released when they go.
#pragma once

#include <memory>

#include "vm/include/dynvm.h"

namespace dyn::test {

struct Release {
  void operator()(dyn_module* module) const { dyn_module_release(module); }
  void operator()(dyn_context* context) const { dyn_context_release(context); }
  void operator()(dyn_value* value) const { dyn_value_release(value); }
  void operator()(dyn_thread_pool* pool) const { dyn_thread_pool_release(pool); }
};
using ModuleHandle = std::unique_ptr<dyn_module, Release>;
using ContextHandle = std::unique_ptr<dyn_context, Release>;
using ValueHandle = std::unique_ptr<dyn_value, Release>;
using ThreadPoolHandle = std::unique_ptr<dyn_thread_pool, Release>;

}  // namespace dyn::test
