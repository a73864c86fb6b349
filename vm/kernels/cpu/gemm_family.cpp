// Picks the runtime's own micro-kernels for the CPU it runs on.
#include "vm/kernels/builtins.h"
#include "vm/kernels/conv/convolution_kernels.h"
#include "vm/kernels/conv/winograd_kernels.h"
#include "vm/kernels/fourier/fourier_kernels.h"
#include "vm/kernels/gemm/number_gemm.h"
#include "vm/kernels/image/pool_kernels.h"
#include "vm/kernels/image/resize_kernels.h"

extern const DynGemmFamily dynGemmFamilyPortable, dynGemmFamilyAvx2, dynGemmFamilyAvx512;
extern const dyn::vm::kernels::ConvolutionKernels dynConvolutionPortable, dynConvolutionAvx2,
    dynConvolutionAvx512;
extern const dyn::vm::kernels::PoolKernels dynPoolPortable, dynPoolAvx2, dynPoolAvx512;
extern const dyn::vm::kernels::ResizeKernels dynResizePortable, dynResizeAvx2, dynResizeAvx512;
extern const dyn::vm::kernels::WinogradKernels dynWinogradPortable, dynWinogradAvx2, dynWinogradAvx512;
extern const dyn::vm::kernels::FourierKernels<float> dynFourierFloatPortable, dynFourierFloatAvx2,
    dynFourierFloatAvx512;
extern const dyn::vm::kernels::FourierKernels<double> dynFourierDoublePortable, dynFourierDoubleAvx2,
    dynFourierDoubleAvx512;
extern const dyn::vm::kernels::NumberFamilies numberFamiliesPortable, numberFamiliesAvx2,
    numberFamiliesAvx512;

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

const DynGemmFamily* dyn_machine_gemm_family() {
  return &pick(dynGemmFamilyPortable, dynGemmFamilyAvx2, dynGemmFamilyAvx512);
}
const kernels::ConvolutionKernels& kernels::convolutionKernels() {
  static const ConvolutionKernels& kernels =
      pick(dynConvolutionPortable, dynConvolutionAvx2, dynConvolutionAvx512);
  return kernels;
}
kernels::FinishKernel kernels::finishKernel() { return convolutionKernels().finish; }
const kernels::PoolKernels& kernels::poolKernels() {
  static const PoolKernels& kernels = pick(dynPoolPortable, dynPoolAvx2, dynPoolAvx512);
  return kernels;
}
const kernels::ResizeKernels& kernels::resizeKernels() {
  static const ResizeKernels& kernels = pick(dynResizePortable, dynResizeAvx2, dynResizeAvx512);
  return kernels;
}
const kernels::WinogradKernels& kernels::winogradKernels() {
  static const WinogradKernels& kernels = pick(dynWinogradPortable, dynWinogradAvx2, dynWinogradAvx512);
  return kernels;
}
template <>
const kernels::FourierKernels<float>& kernels::fourierKernels<float>() {
  static const FourierKernels<float>& kernels =
      pick(dynFourierFloatPortable, dynFourierFloatAvx2, dynFourierFloatAvx512);
  return kernels;
}
template <>
const kernels::FourierKernels<double>& kernels::fourierKernels<double>() {
  static const FourierKernels<double>& kernels =
      pick(dynFourierDoublePortable, dynFourierDoubleAvx2, dynFourierDoubleAvx512);
  return kernels;
}
const kernels::NumberFamilies& kernels::numberFamilies() {
  static const NumberFamilies& families =
      pick(numberFamiliesPortable, numberFamiliesAvx2, numberFamiliesAvx512);
  return families;
}
#else
const kernels::NumberFamilies& kernels::numberFamilies() { return numberFamiliesPortable; }
const DynGemmFamily* dyn_machine_gemm_family() { return &dynGemmFamilyPortable; }
const kernels::ConvolutionKernels& kernels::convolutionKernels() { return dynConvolutionPortable; }
kernels::FinishKernel kernels::finishKernel() { return convolutionKernels().finish; }
const kernels::PoolKernels& kernels::poolKernels() { return dynPoolPortable; }
const kernels::ResizeKernels& kernels::resizeKernels() { return dynResizePortable; }
const kernels::WinogradKernels& kernels::winogradKernels() { return dynWinogradPortable; }
template <>
const kernels::FourierKernels<float>& kernels::fourierKernels<float>() {
  return dynFourierFloatPortable;
}
template <>
const kernels::FourierKernels<double>& kernels::fourierKernels<double>() {
  return dynFourierDoublePortable;
}
#endif

}  // namespace dyn::vm
