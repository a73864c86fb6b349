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

  // Of a list that cannot be taken nothing is there: a call says which kernel is missing.
  Registry() {
    const DynCustomKernels* const linked = dyn_custom_kernels ? dyn_custom_kernels() : nullptr;
    std::span<const DynCustomKernel> kernels;
    if (linked && kernelsOf(*linked, kernels).ok()) (void)add(kernels);
  }

  Status add(std::span<const DynCustomKernel> kernels) {
    for (size_t i = 0; i != kernels.size(); ++i) {
      const std::string which = "custom kernel " + std::to_string(i);
      if (!kernels[i].name || !*kernels[i].name) return failure(DYN_INVALID_ARGUMENT, which + " has no name");
      if (!kernels[i].kernel.run)
        return failure(DYN_INVALID_ARGUMENT, which + ", " + kernels[i].name + ", has no function");
    }
    const std::unique_lock lock(mutex);
    for (const DynCustomKernel& kernel : kernels) byName[kernel.name] = &kernel.kernel;
    return okStatus();
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

Status kernelsOf(const DynCustomKernels& library, std::span<const DynCustomKernel>& kernels) {
  if (library.version != DYN_CUSTOM_KERNELS_VERSION)
    return failure(DYN_UNSUPPORTED, "its kernels are of version " + std::to_string(library.version) +
                                        ", this runtime takes version " +
                                        std::to_string(DYN_CUSTOM_KERNELS_VERSION));
  if (library.count < 0 || (library.count > 0 && !library.kernels))
    return failure(DYN_IO_ERROR, "the list of its kernels is not valid");
  kernels = {library.kernels, static_cast<size_t>(library.count)};
  return okStatus();
}

Status addCustomKernels(std::span<const DynCustomKernel> kernels) { return registry().add(kernels); }

}  // namespace dyn::vm
