#include "app/session/views/kernel_views.h"

namespace dyn {

double boundFraction(const KernelRow& row) {
  return row.totalNs > 0 ? static_cast<double>(row.boundNs) / static_cast<double>(row.totalNs) : 0;
}

}  // namespace dyn
