// 32x32 tiles by a model of Intel AMX: for tests.
#include "vm/kernels/tile/tile_model.h"

namespace {
using Unit = dyn::vm::kernels::TileModel;
}

#define DYN_FAMILY bf16FamilyTileModel
#define DYN_NAME "tile-model"
#include "vm/kernels/gemm/bf16_kernel_tiles.inc"
