// The list of forms says what the kernels' own tables say; on a processor with a form of its own none is
// portable.
#include "vm/kernels/cpu/kernel_forms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "vm/base/arm_features.h"
#include "vm/core/builtin/builtin.h"
#include "vm/kernels/gemm/number_gemm.h"

namespace dyn::vm::kernels {
namespace {

const KernelForm& formNamed(const std::vector<KernelForm>& forms, std::string_view family) {
  return *std::find_if(forms.begin(), forms.end(),
                       [&](const KernelForm& form) { return form.family == family; });
}

TEST(KernelForms, sayTheTileOfProducts) {
  const std::vector<KernelForm> forms = kernelForms();
  const KernelForm& f32 = formNamed(forms, "products of f32");
  EXPECT_EQ(f32.rows, defaultGemmFamily()->maxRows);
  EXPECT_EQ(f32.columns, defaultGemmFamily()->panelWidth);
}

// Forms that have the instruction for it add a product without rounding it. What is compiled for them with
// other options than theirs (a precompiled header's) has not.
TEST(KernelForms, multiplyAndAddInOneStep) {
  if (vectorForm() == "portable") GTEST_SKIP() << "no form of its own for this processor";
  const DynGemmFamily& f32 = *defaultGemmFamily();
  const float x = 1 + std::ldexp(1.0f, -13);  // x * x is 2^-26 more than what it is rounded to
  const std::vector<float> all(64, x);
  std::vector<float> c(static_cast<size_t>(f32.maxRows * f32.panelWidth));
  for (int32_t rows = 1; rows <= f32.maxRows; ++rows) {
    std::fill(c.begin(), c.end(), -x * x);
    f32.microKernels[rows - 1](1, all.data(), 0, all.data(), c.data(), f32.panelWidth, f32.panelWidth, 1);
    EXPECT_EQ(c[0], std::ldexp(1.0f, -26)) << rows << " rows";
  }
  const NumberFamily<double>& f64 = numberFamilies().f64;
  const double y = 1 + std::ldexp(1.0, -27);
  const std::vector<double> wide(64, y);
  std::vector<double> sums(static_cast<size_t>(f64.maxRows * f64.panelWidth));
  for (int64_t rows = 1; rows <= f64.maxRows; ++rows) {
    std::fill(sums.begin(), sums.end(), -y * y);
    f64.microKernels[rows - 1](1, wide.data(), 0, wide.data(), sums.data(), f64.panelWidth, f64.panelWidth,
                               1);
    EXPECT_EQ(sums[0], std::ldexp(1.0, -54)) << rows << " rows";
  }
}

#if defined(__aarch64__)
TEST(KernelForms, areNeonOrWhatTheProcessorHasBeyond) {
  const std::vector<KernelForm> forms = kernelForms();
  const ArmFeatures& has = armFeatures();
  for (const KernelForm& form : forms) {
    std::string_view expected = "neon";
    if (has.dotProducts && form.family == "products with weights of 4 and 8 bits") expected = "dot";
    if (has.bf16 && form.family == "products of bf16") expected = "bfdot";
    if (form.family == "int8 products") expected = has.i8mm ? "i8mm" : has.dotProducts ? "dot" : "neon";
    EXPECT_EQ(form.form, expected) << form.family;
  }
  EXPECT_EQ(formNamed(forms, "products of f32").rows, 8);
}
#endif

}  // namespace
}  // namespace dyn::vm::kernels
