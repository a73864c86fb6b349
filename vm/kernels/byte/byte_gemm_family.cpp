// Which byte micro-kernels the CPU can run.
#include "vm/base/arm_features.h"
#include "vm/kernels/byte/byte_gemm.h"
#include "vm/shared/dyn_tiles.h"

namespace dyn::vm::kernels {

extern const ByteGemmFamily byteGemmPortable, byteGemmAvx2, byteGemmVnni, byteGemmAmx, byteGemmTileModel,
    byteGemmNeon, byteGemmDot, byteGemmI8mm;

ByteTiles::ByteTiles(const ByteGemmFamily& tiles, const ByteGemmFamily& others)
    : kernels_(tiles.microKernels, tiles.microKernels + tiles.maxRows),
      runKernels_(tiles.runKernels, tiles.runKernels + tiles.maxRows),
      rescaledKernels_(tiles.rescaledKernels, tiles.rescaledKernels + tiles.maxRows),
      family_(tiles) {
  kernels_[0] = others.microKernels[0];
  runKernels_[0] = others.runKernels[0];
  family_.microKernels = kernels_.data();
  rescaledKernels_[0] = others.rescaledKernels[0];
  family_.runKernels = runKernels_.data();
  family_.rescaledKernels = rescaledKernels_.data();
  family_.windowKernel = others.windowKernel;
  family_.laneKernel = others.laneKernel;
  family_.rescaledLaneKernel = others.rescaledLaneKernel;
  family_.lanes = others.lanes;
  family_.packWords = others.packWords;
}

std::span<const ByteGemmFamily* const> byteGemmFamilies() {
  static const std::vector<const ByteGemmFamily*> families = [] {
    std::vector<const ByteGemmFamily*> usable;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni")) {
      if (tileChoice() == TileChoice::model) {
        static const ByteTiles model(byteGemmTileModel, byteGemmVnni);
        usable.push_back(&model.family());
      } else if (tileSupport().bytes) {
        static const ByteTiles amx(byteGemmAmx, byteGemmVnni);
        usable.push_back(&amx.family());
      }
      usable.push_back(&byteGemmVnni);
    }
    if (__builtin_cpu_supports("avx2")) usable.push_back(&byteGemmAvx2);
#elif defined(__aarch64__)
    const ArmFeatures& arm = armFeatures();
    if (arm.i8mm) usable.push_back(&byteGemmI8mm);
    if (arm.dotProducts) usable.push_back(&byteGemmDot);
    usable.push_back(&byteGemmNeon);
#endif
    usable.push_back(&byteGemmPortable);
    return usable;
  }();
  return families;
}

}  // namespace dyn::vm::kernels
