#include "vm/kernels/cpu/kernel_forms.h"

#include "vm/kernels/builtins.h"
#include "vm/kernels/byte/byte_gemm.h"
#include "vm/kernels/conv/convolution_kernels.h"
#include "vm/kernels/gemm/bf16_gemm.h"
#include "vm/kernels/gemm/half_panels.h"
#include "vm/kernels/gemm/number_gemm.h"
#include "vm/kernels/nbits/nbits_gemm.h"

namespace dyn::vm::kernels {

namespace {

template <typename T>
KernelForm formOf(std::string_view family, const NumberFamily<T>& tiles) {
  return {family, vectorForm(), static_cast<int32_t>(tiles.maxRows), static_cast<int32_t>(tiles.panelWidth)};
}

}  // namespace

std::vector<KernelForm> kernelForms() {
  const DynGemmFamily& f32 = *dyn_machine_gemm_family();
  const HalfFamily* halves = halfFamilyFor(f32);
  const Bf16Family& bf16 = *bf16Families().front();
  const ByteGemmFamily& bytes = *byteGemmFamilies().front();
  const ConvolutionKernels& convolutions = convolutionKernels();
  const NumberFamilies& numbers = numberFamilies();
  const std::string_view vectors = vectorForm();
  return {{"products of f32", vectors, f32.maxRows, f32.panelWidth},
          {"products with weights of f16 and bf16", halves ? vectors : "portable",
           halves ? halves->maxRows : 0, halves ? halves->panelWidth : 0},
          {"products of bf16", bf16.name, bf16.maxRows, bf16.panelWidth},
          {"int8 products", bytes.name, bytes.maxRows, bytes.panelWidth},
          {"products with weights of 4 and 8 bits", nbitsKernels().front()->name},
          formOf("products of f64", numbers.f64),
          formOf("products of 32-bit integers", numbers.i32),
          formOf("products of 64-bit integers", numbers.i64),
          {"convolutions of f32", vectors, convolutions.maxRows, convolutions.wide},
          {"pools, resizing", vectors},
          {"Fourier transforms", vectors},
          {"cells of recurrences", vectors}};
}

}  // namespace dyn::vm::kernels
