// libdyn_pictures.so: the kernels of ImageDecoder for programs that have the runtime alone (dynrun --ops,
// dyn_custom_kernels_load). dynrepl, dynstudio and libdyn.so have them.
#include "app/pictures/picture_kernels.h"

DYN_CUSTOM_KERNELS_LINKAGE DYN_CUSTOM_KERNELS_EXPORT const DynCustomKernels* dyn_custom_kernels(void) {
  static const DynCustomKernels all = {DYN_CUSTOM_KERNELS_VERSION,
                                       static_cast<int32_t>(dyn::pictureKernels().size()),
                                       dyn::pictureKernels().data()};
  return &all;
}
