#include "vm/base/arm_features.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace dyn::vm {

const ArmFeatures& armFeatures() {
  static const ArmFeatures features = [] {
    ArmFeatures has;
#if defined(__aarch64__)
    const unsigned long one = getauxval(AT_HWCAP), two = getauxval(AT_HWCAP2);
    has.dotProducts = (one & HWCAP_ASIMDDP) != 0;
    has.i8mm = (two & HWCAP2_I8MM) != 0;
    has.bf16 = (two & HWCAP2_BF16) != 0;
#endif
    return has;
  }();
  return features;
}

}  // namespace dyn::vm
