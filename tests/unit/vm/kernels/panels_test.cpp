// What the runtime says of packed weights without its kernels is what the kernels' own tables say.
#include "vm/core/module/panels.h"

#include <gtest/gtest.h>

#include "vm/core/builtin/builtin.h"
#include "vm/kernels/byte/byte_gemm.h"
#include "vm/kernels/conv/convolution_kernels.h"
#include "vm/kernels/gemm/bf16_gemm.h"

namespace dyn::vm {

namespace kernels {
extern const Bf16Family bf16FamilyTileModel;
extern const ByteGemmFamily byteGemmTileModel;
}  // namespace kernels

namespace {

TEST(Panels, areThoseOfTheKernels) {
  const kernels::ConvolutionKernels& filters = kernels::convolutionKernels();
  const kernels::ByteGemmFamily& bytes = *kernels::byteGemmFamilies().front();
  const PanelLayout read = {.gemm = defaultGemmFamily()->panelWidth,
                            .wideFilters = filters.wide,
                            .narrowFilters = filters.narrow,
                            .bf16 = kernels::bf16Families().front()->panelWidth,
                            .bytes = bytes.panelWidth,
                            .bytesInWord = bytes.group};
  EXPECT_EQ(toString(machinePanels()), toString(read));
}

// Tiles read the panels of AVX-512's pairs and quads: a processor that has both packs once.
TEST(Panels, ofTilesAreThoseOfPairsAndQuads) {
  const PanelLayout layout =
      panelLayoutOf({.avx2 = true, .avx512 = true, .avx512Bf16 = true, .avx512Vnni = true});
  EXPECT_EQ(kernels::bf16FamilyTileModel.panelWidth, layout.bf16);
  EXPECT_EQ(kernels::byteGemmTileModel.panelWidth, layout.bytes);
  EXPECT_EQ(kernels::byteGemmTileModel.group, layout.bytesInWord);
}

}  // namespace
}  // namespace dyn::vm
