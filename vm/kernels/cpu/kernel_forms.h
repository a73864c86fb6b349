// Which form of each family of micro-kernels this process runs: the instruction set it was compiled for, and
// its tile. Nothing runs plain loops unseen: those of a processor without a form of its own are "portable".
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace dyn::vm::kernels {

// The instruction set of the micro-kernels that dyn_machine_gemm_family and its like pick: "avx512", "avx2",
// "neon" or "portable".
std::string_view vectorForm();

struct KernelForm {
  std::string_view family;        // "products of f32"
  std::string_view form;          // "avx2", "neon", "portable"
  int32_t rows = 0, columns = 0;  // of its tile; 0: it has none
};

std::vector<KernelForm> kernelForms();

}  // namespace dyn::vm::kernels
