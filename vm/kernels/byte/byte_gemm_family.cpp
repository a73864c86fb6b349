// Which byte micro-kernels the CPU can run.
#include "vm/kernels/byte/byte_gemm.h"

namespace dyn::vm::kernels {

extern const ByteGemmFamily byteGemmPortable, byteGemmAvx2, byteGemmVnni;

std::span<const ByteGemmFamily* const> byteGemmFamilies() {
  static const std::vector<const ByteGemmFamily*> families = [] {
    std::vector<const ByteGemmFamily*> usable;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni"))
      usable.push_back(&byteGemmVnni);
    if (__builtin_cpu_supports("avx2")) usable.push_back(&byteGemmAvx2);
#endif
    usable.push_back(&byteGemmPortable);
    return usable;
  }();
  return families;
}

}  // namespace dyn::vm::kernels
