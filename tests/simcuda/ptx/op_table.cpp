#include "tests/simcuda/ptx/op.h"

namespace simcuda {

const OpTable& OpTable::get() {
  static const OpTable table = [] {
    OpTable t;
    addIntegerOps(t);
    addBitOps(t);
    addFloatOps(t);
    addApproximateOps(t);
    addSmallFloatOps(t);
    addCompareOps(t);
    addConvertOps(t);
    addMoveOps(t);
    addMemoryOps(t);
    addAtomicOps(t);
    addCopyOps(t);
    addControlOps(t);
    addWarpOps(t);
    addMatrixOps(t);
    return t;
  }();
  return table;
}

}  // namespace simcuda
