#include "vm/core/gemm_schedule.h"

#include <unistd.h>

namespace dyn::vm::kernels {
namespace {

struct CacheSizes {
  int64_t l2Bytes = 0, l3Bytes = 0;  // 0: the system does not tell
};

CacheSizes readCacheSizes() {
  CacheSizes sizes;
#ifdef _SC_LEVEL2_CACHE_SIZE
  sizes = {::sysconf(_SC_LEVEL2_CACHE_SIZE), ::sysconf(_SC_LEVEL3_CACHE_SIZE)};
#endif
  return sizes;
}

}  // namespace

contraction::ProductMachine productMachine(int64_t maxRows, int64_t panelWidth) {
  static const CacheSizes sizes = readCacheSizes();
  contraction::ProductMachine machine;
  machine.maxRows = maxRows;
  machine.panelWidth = panelWidth;
  if (sizes.l2Bytes > 0) machine.l2Bytes = sizes.l2Bytes;
  machine.l3Bytes = std::max(sizes.l3Bytes, machine.l2Bytes);
  return machine;
}

}  // namespace dyn::vm::kernels
