#include "tests/unit/compiler/codegen/emit/kernel_ir.h"

#include <gtest/gtest.h>

#include "compiler/codegen/emit/loop_codegen.h"
#include "compiler/codegen/llvm/kernel_module.h"
#include "compiler/codegen/llvm/machine_catalog.h"
#include "compiler/loop/kernel.h"

namespace dyn::test {

std::string kernelIr(const std::string& machine, const std::string& kernel) {
  DimContext dims;
  auto parsed = loop::parseKernel(dims, kernel);
  EXPECT_TRUE(parsed.ok()) << parsed.error().toString();
  auto description = machinePreset(machine);
  EXPECT_TRUE(description.ok());
  auto module = emitLoopKernel(*parsed, parsed->name, *description);
  EXPECT_TRUE(module.ok()) << module.error().toString();
  return module->irText();
}

}  // namespace dyn::test
