// What a processor for 64-bit ARM has beyond Armv8.0, as the system tells it; elsewhere nothing.
#pragma once

namespace dyn::vm {

struct ArmFeatures {
  bool dotProducts = false;  // udot, sdot
  bool i8mm = false;         // usdot, sudot and products of matrices of bytes
  bool bf16 = false;         // bfdot, bfmmla
};
const ArmFeatures& armFeatures();

}  // namespace dyn::vm
