// The panels of the kernels that this machine runs.
#include "vm/core/panels.h"

#include "vm/core/builtin.h"
#include "vm/kernels/byte/byte_gemm.h"
#include "vm/kernels/conv/convolution_kernels.h"
#include "vm/kernels/gemm/bf16_gemm.h"

namespace dyn::vm {

PanelLayout machinePanels() {
  const kernels::ConvolutionKernels& filters = kernels::convolutionKernels();
  const kernels::ByteGemmFamily& bytes = *kernels::byteGemmFamilies().front();
  return {.gemm = defaultGemmFamily()->panelWidth,
          .wideFilters = filters.wide,
          .narrowFilters = filters.narrow,
          .bf16 = kernels::bf16Families().front()->panelWidth,
          .bytes = bytes.panelWidth,
          .bytesInWord = bytes.group};
}

}  // namespace dyn::vm
