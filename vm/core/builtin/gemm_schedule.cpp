#include "vm/core/builtin/gemm_schedule.h"

#include <algorithm>

#include "vm/shared/dyn_caches.h"

namespace dyn::vm::kernels {

contraction::ProductMachine productMachine(int64_t maxRows, int64_t panelWidth) {
  static const int64_t l2Bytes = cacheBytes(2), l3Bytes = cacheBytes(3);
  contraction::ProductMachine machine;
  machine.maxRows = maxRows;
  machine.panelWidth = panelWidth;
  if (l2Bytes > 0) machine.l2Bytes = l2Bytes;
  machine.l3Bytes = std::max(l3Bytes, machine.l2Bytes);
  return machine;
}

}  // namespace dyn::vm::kernels
