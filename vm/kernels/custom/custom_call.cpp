// custom_call: a kernel of the host (dyn_custom_kernel.h), found by its name at each call. It gets the call
// as it is, without the numbers, which hold the name.
#include <new>
#include <string>

#include "vm/base/custom_kernels.h"
#include "vm/kernels/builtins.h"
#include "vm/kernels/packed_numbers.h"

namespace dyn::vm::kernels {
namespace {

int32_t report(const DynBuiltinCall& call, dyn_status status, const std::string& text) {
  call.context->fault(call.context, text.c_str());
  return status;
}

// `use(kernel, inner call)` of the kernel that the call names.
template <typename Use>
int32_t withKernel(const DynBuiltinCall& call, Use&& use) noexcept {
  try {
    PackedNumbers packed({call.numbers, call.numberCount});
    const std::string_view name = packed.text();
    if (!packed.ok() || name.empty()) return report(call, DYN_BAD_PROGRAM, "it names no kernel");
    const DynBuiltinKernel* const kernel = findCustomKernel(name);
    if (!kernel)
      return report(call, DYN_UNSUPPORTED,
                    "no library that was loaded has the custom kernel " + std::string(name) +
                        " (--ops LIBRARY, dyn_custom_kernels_load)");
    DynBuiltinCall inner = call;
    inner.numbers = nullptr;
    inner.numberCount = 0;
    const int32_t status = use(*kernel, inner);
    if (status >= DYN_OK && status <= DYN_INTERNAL) return status;
    return report(call, DYN_KERNEL_FAULT,
                  "custom kernel " + std::string(name) + " returned " + std::to_string(status) +
                      ", which is no dyn_status");
  } catch (const std::bad_alloc&) {
    return DYN_OUT_OF_MEMORY;
  } catch (...) {
    return report(call, DYN_KERNEL_FAULT, "the custom kernel threw an exception");
  }
}

}  // namespace

int32_t customCallScratchBytes(const DynBuiltinCall* call, uint64_t* bytes) {
  return withKernel(*call, [&](const DynBuiltinKernel& kernel, const DynBuiltinCall& inner) {
    *bytes = 0;
    return kernel.scratchBytes ? kernel.scratchBytes(&inner, bytes) : DYN_OK;
  });
}

int32_t customCall(const DynBuiltinCall* call) {
  return withKernel(
      *call, [](const DynBuiltinKernel& kernel, const DynBuiltinCall& inner) { return kernel.run(&inner); });
}

}  // namespace dyn::vm::kernels
