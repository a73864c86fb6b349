// Picks the runtime's own micro-kernels for the CPU it runs on.
#include "vm/kernels/builtins.h"
#include "vm/kernels/conv/convolution_kernels.h"
#include "vm/kernels/conv/winograd_kernels.h"
#include "vm/kernels/cpu/kernel_forms.h"
#include "vm/kernels/fourier/fourier_kernels.h"
#include "vm/kernels/gemm/number_gemm.h"
#include "vm/kernels/image/pool_kernels.h"
#include "vm/kernels/image/resize_kernels.h"

// A table of each form that this architecture has, and the one of them that the CPU runs.
#if defined(__x86_64__)
#define DYN_FORMS(Type, name) extern const Type name##Portable, name##Avx2, name##Avx512
#define DYN_PICK(name) pick(name##Portable, name##Avx2, name##Avx512)
#elif defined(__aarch64__)
#define DYN_FORMS(Type, name) extern const Type name##Neon
#define DYN_PICK(name) name##Neon  // each CPU of Armv8.0 has it
#else
#define DYN_FORMS(Type, name) extern const Type name##Portable
#define DYN_PICK(name) name##Portable
#endif

DYN_FORMS(DynGemmFamily, dynGemmFamily);
DYN_FORMS(dyn::vm::kernels::ConvolutionKernels, dynConvolution);
DYN_FORMS(dyn::vm::kernels::PoolKernels, dynPool);
DYN_FORMS(dyn::vm::kernels::ResizeKernels, dynResize);
DYN_FORMS(dyn::vm::kernels::WinogradKernels, dynWinograd);
DYN_FORMS(dyn::vm::kernels::FourierKernels<float>, dynFourierFloat);
DYN_FORMS(dyn::vm::kernels::FourierKernels<double>, dynFourierDouble);
DYN_FORMS(dyn::vm::kernels::NumberFamilies, numberFamilies);

namespace dyn::vm {

#if defined(__x86_64__)
namespace {

template <typename Table>
const Table& pick(const Table& portable, const Table& avx2, const Table& avx512) {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return avx512;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? avx2 : portable;
}

}  // namespace
#endif

std::string_view kernels::vectorForm() {
#if defined(__x86_64__)
  static constexpr std::string_view kPortable = "portable", kAvx2 = "avx2", kAvx512 = "avx512";
  return pick(kPortable, kAvx2, kAvx512);
#elif defined(__aarch64__)
  return "neon";
#else
  return "portable";
#endif
}
const DynGemmFamily* dyn_machine_gemm_family() { return &DYN_PICK(dynGemmFamily); }
const kernels::ConvolutionKernels& kernels::convolutionKernels() {
  static const ConvolutionKernels& kernels = DYN_PICK(dynConvolution);
  return kernels;
}
kernels::FinishKernel kernels::finishKernel() { return convolutionKernels().finish; }
const kernels::PoolKernels& kernels::poolKernels() {
  static const PoolKernels& kernels = DYN_PICK(dynPool);
  return kernels;
}
const kernels::ResizeKernels& kernels::resizeKernels() {
  static const ResizeKernels& kernels = DYN_PICK(dynResize);
  return kernels;
}
const kernels::WinogradKernels& kernels::winogradKernels() {
  static const WinogradKernels& kernels = DYN_PICK(dynWinograd);
  return kernels;
}
template <>
const kernels::FourierKernels<float>& kernels::fourierKernels<float>() {
  static const FourierKernels<float>& kernels = DYN_PICK(dynFourierFloat);
  return kernels;
}
template <>
const kernels::FourierKernels<double>& kernels::fourierKernels<double>() {
  static const FourierKernels<double>& kernels = DYN_PICK(dynFourierDouble);
  return kernels;
}
const kernels::NumberFamilies& kernels::numberFamilies() {
  static const NumberFamilies& families = DYN_PICK(numberFamilies);
  return families;
}

}  // namespace dyn::vm
