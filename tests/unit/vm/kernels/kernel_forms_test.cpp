// The list of forms says what the kernels' own tables say; on a processor with a form of its own none is
// portable.
#include "vm/kernels/cpu/kernel_forms.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "vm/base/arm_features.h"
#include "vm/core/builtin/builtin.h"

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
  EXPECT_EQ(formNamed(forms, "products of f32").rows, 12);
}
#endif

}  // namespace
}  // namespace dyn::vm::kernels
