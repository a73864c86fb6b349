// Columns beside each other: stored and read as they lie, without a mask, a gather or an element by itself.
// Numbers are compared by tests/unit/compiler/driver/short_axes_test.cpp.
#include <gtest/gtest.h>

#include "tests/unit/compiler/codegen/emit/kernel_ir.h"

namespace dyn {
namespace {

// The LLVM IR of a loop over 64 elements with these statements.
std::string irOf(const std::string& machine, const std::string& in, const std::string& out,
                 const std::string& statements) {
  return test::kernelIr(machine, "kernel @columns(in x: " + in + ", out y: " + out +
                                     ") scalars (n) units u < dim(floordiv(n, 64)) {\n"
                                     "  for e < 64 vector {\n" +
                                     statements + "  }\n}\n");
}

size_t countOf(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

constexpr const char* kInto =
    "    y[u * 64 + e, 0] = x[0, u * 64 + e]\n"
    "    y[u * 64 + e, 1] = x[1, u * 64 + e]\n"
    "    y[u * 64 + e, 2] = x[2, u * 64 + e]\n";
constexpr const char* kFrom =
    "    y[0, u * 64 + e] = x[u * 64 + e, 0]\n"
    "    y[1, u * 64 + e] = x[u * 64 + e, 1]\n"
    "    y[2, u * 64 + e] = x[u * 64 + e, 2]\n";

TEST(InterleavingEmitter, ColumnsAreStoredTogether) {
  for (const char* machine : {"x86-64-v3", "x86-64-v4"})
    for (const char* type : {"u8", "f16", "f32", "f64"}) {
      const std::string ir = irOf(machine, std::string(type) + "[3, n]", std::string(type) + "[n, 3]", kInto);
      EXPECT_EQ(countOf(ir, "store <"), 1u) << machine << ", " << type << "\n" << ir;
      EXPECT_EQ(countOf(ir, "masked"), 0u) << machine << ", " << type;
    }
}

TEST(InterleavingEmitter, ColumnsAreReadTogether) {
  for (const char* machine : {"x86-64-v3", "x86-64-v4"})
    for (const char* type : {"u8", "f16", "f32", "f64"}) {
      const std::string ir = irOf(machine, std::string(type) + "[n, 3]", std::string(type) + "[3, n]", kFrom);
      EXPECT_EQ(countOf(ir, "load <"), 1u) << machine << ", " << type << "\n" << ir;
      EXPECT_EQ(countOf(ir, "masked"), 0u) << machine << ", " << type;
    }
}

// Behind the last column that is read nothing has to be there: two of three columns are read one by one.
TEST(InterleavingEmitter, NothingIsReadBehindTheLastColumn) {
  const std::string ir = irOf("x86-64-v4", "f32[n, 3]", "f32[2, n]",
                              "    y[0, u * 64 + e] = x[u * 64 + e, 0]\n"
                              "    y[1, u * 64 + e] = x[u * 64 + e, 1]\n");
  EXPECT_EQ(countOf(ir, "load <"), 0u) << ir;
  EXPECT_EQ(countOf(ir, "call <48 x float> @llvm.masked.load"), 2u) << ir;
}

}  // namespace
}  // namespace dyn
