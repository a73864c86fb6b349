// 32x32 tiles by Intel AMX. Compiled for AMX and AVX-512; nothing else may be in this file
// (vm/CMakeLists.txt).
#if defined(__AVX512F__)  // compilers do not agree on the names for AMX
#include "vm/kernels/tile/tile_instructions.h"

namespace {
using Unit = TileInstructions;
}

#define DYN_FAMILY bf16FamilyAmx
#define DYN_NAME "amx-bf16"
#include "vm/kernels/gemm/bf16_kernel_tiles.inc"
#endif
