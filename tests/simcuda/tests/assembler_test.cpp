// CUDA's assembler takes the texts that the tests run: they are PTX, whatever the interpreter takes for it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace {

TEST(Assembler, takes_the_kernels) {
  if (std::system("command -v ptxas > /dev/null 2>&1") != 0)
    GTEST_SKIP() << "unavailable: ptxas is not installed";
  for (const char* name : {"elementwise", "matmul", "softmax", "mma", "faults"}) {
    std::string command =
        std::string("ptxas -arch=sm_80 -o /dev/null ") + SIMCUDA_KERNELS + "/" + name + ".ptx";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
}

}  // namespace
