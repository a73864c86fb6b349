// 32x32 tiles by Intel AMX. Compiled for AMX and AVX-512; nothing else may be in this file
// (vm/CMakeLists.txt).
#if defined(__AVX512F__)  // compilers do not agree on the names for AMX
#include "vm/kernels/tile/tile_instructions.h"

namespace {
using Unit = TileInstructions;
}

#define DYN_FAMILY byteGemmAmx
#define DYN_NAME "amx-int8"
#include "vm/kernels/byte/byte_kernel_tiles.inc"
#endif
