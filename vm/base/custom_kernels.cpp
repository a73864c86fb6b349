#include "vm/base/custom_kernels.h"

#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>

// There where a library of kernels is linked into the program.
extern "C" __attribute__((weak)) const DynCustomKernels* dyn_custom_kernels(void);

namespace dyn::vm {
namespace {

struct Registry {
  std::shared_mutex mutex;
  std::map<std::string, const DynBuiltinKernel*, std::less<>> byName;

  Registry() {
    const DynCustomKernels* const linked = dyn_custom_kernels ? dyn_custom_kernels() : nullptr;
    if (!linked || linked->version != DYN_CUSTOM_KERNELS_VERSION) return;
    for (int32_t i = 0; i < linked->count; ++i) byName[linked->kernels[i].name] = &linked->kernels[i].kernel;
  }
};

// Never destroyed: threads may run calls until the process ends.
Registry& registry() {
  static Registry* const all = new Registry;
  return *all;
}

}  // namespace

const DynBuiltinKernel* findCustomKernel(std::string_view name) {
  Registry& all = registry();
  const std::shared_lock lock(all.mutex);
  const auto found = all.byName.find(name);
  return found == all.byName.end() ? nullptr : found->second;
}

Status addCustomKernels(std::span<const DynCustomKernel> kernels) {
  for (size_t i = 0; i != kernels.size(); ++i) {
    const std::string which = "custom kernel " + std::to_string(i);
    if (!kernels[i].name || !*kernels[i].name) return failure(DYN_INVALID_ARGUMENT, which + " has no name");
    if (!kernels[i].kernel.run)
      return failure(DYN_INVALID_ARGUMENT, which + ", " + kernels[i].name + ", has no function");
  }
  Registry& all = registry();
  const std::unique_lock lock(all.mutex);
  for (const DynCustomKernel& kernel : kernels) all.byName[kernel.name] = &kernel.kernel;
  return okStatus();
}

}  // namespace dyn::vm
