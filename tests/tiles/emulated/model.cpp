// The cases by the model of tiles: what the emulated machine has to print.
#include <cstdio>
#include <memory>

#include "tests/tiles/emulated/cases.h"

namespace dyn::vm::kernels {
extern const Bf16Family bf16FamilyTileModel;
extern const ByteGemmFamily byteGemmTileModel;
}  // namespace dyn::vm::kernels

int main() {
  const auto putCase = [](const char* kind, int depth, int rows, int columns, int accumulate, uint32_t hash) {
    std::printf("%s %d %d %d %d %u\n", kind, depth, rows, columns, accumulate, hash);
  };
  const auto cases = std::make_unique<dyn::vm::test::Cases>();
  std::puts("begin\nsaved palette 1");  // what dyn_tiles.h finds out without a system
  cases->runBf16(dyn::vm::kernels::bf16FamilyTileModel, putCase);
  cases->runBytes(dyn::vm::kernels::byteGemmTileModel, putCase);
  std::puts("end");
}
