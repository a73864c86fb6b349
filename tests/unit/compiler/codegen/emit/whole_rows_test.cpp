// Vector loops of other widths than the machine's lanes of f32. Numbers are compared by the operators' sweep.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/compiler/codegen/emit/kernel_ir.h"

namespace dyn {
namespace {

using testing::HasSubstr;
using testing::Not;

// The LLVM IR of a flat kernel whose elements are `value`, of a[i] and b[i].
std::string flat(const std::string& machine, const std::string& from, const std::string& to,
                 const std::string& value) {
  return test::kernelIr(machine, "kernel @flat(in a: " + from + "[n], in b: " + from + "[n], out y: " + to +
                                     "[n]) scalars (n) units u < 1 {\n  for i < n vector {\n    y[i] = " +
                                     value + "\n  }\n}\n");
}

TEST(WholeRows, LoopsOverBytesFillTheirVectors) {
  EXPECT_THAT(flat("x86-64-v3", "u8", "u8", "bitAnd(a[i], b[i])"), HasSubstr("store <32 x i8>"));
  EXPECT_THAT(flat("x86-64-v4", "u8", "u8", "bitAnd(a[i], b[i])"), HasSubstr("store <64 x i8>"));
  EXPECT_THAT(flat("x86-64-v3", "bool", "bool", "logicalNot(a[i])"), HasSubstr("store <32 x i8>"));
  EXPECT_THAT(flat("x86-64-v3", "i16", "i16", "a[i] + b[i]"), HasSubstr("store <16 x i16>"));
}

TEST(WholeRows, PlacesAreComparedInNarrowLanes) {
  const std::string triangle = flat("x86-64-v3", "u8", "u8", "select(3 <= i, a[i], 0:u8)");
  EXPECT_THAT(triangle, HasSubstr("store <32 x i8>"));
  EXPECT_THAT(triangle, HasSubstr("<i8 0, i8 1, i8 2"));
  EXPECT_THAT(triangle, Not(HasSubstr("x i64>")));
  EXPECT_THAT(triangle, Not(HasSubstr("masked.load")));  // what is stored is there, so what is read is
}

TEST(WholeRows, ChosenHalvesStayAsTheyLie) {
  const std::string chosen = flat("x86-64-v3", "f16", "f16", "select(3 <= i, a[i], 0.5:f16)");
  EXPECT_THAT(chosen, Not(HasSubstr("fptrunc")));
  EXPECT_THAT(chosen, HasSubstr("x half> "));
  const std::string added = flat("x86-64-v3", "f16", "f16", "select(3 <= i, a[i] + b[i], a[i])");
  EXPECT_THAT(added, HasSubstr("fptrunc"));
}

TEST(WholeRows, TheWidestValueDecides) {
  EXPECT_THAT(flat("x86-64-v3", "f32", "bool", "a[i] < b[i]"), Not(HasSubstr("store <32 x i8>")));
  EXPECT_THAT(flat("x86-64-v3", "u8", "u8", "u8(i32(a[i]) + 1:i32)"), Not(HasSubstr("store <32 x i8>")));
  EXPECT_THAT(flat("x86-64-v3", "f16", "f16", "a[i] + b[i]"), HasSubstr("store <8 x half>"));
}

// A table of 256 bytes is held in registers by machines that pick bytes among registers: 64 at once then.
TEST(WholeRows, BytesAreLookedUpInWholeVectors) {
  const auto lookUp = [](const std::string& machine, const std::string& size) {
    return test::kernelIr(machine, "kernel @look(in a: u8[n], in t: u8[" + size +
                                       "], out y: u8[n]) scalars (n) units u < 1 {\n  for i < n vector {\n"
                                       "    y[i] = t[i64(i32(a[i]))]\n  }\n}\n");
  };
  EXPECT_THAT(lookUp("znver4", "256"), HasSubstr("vpermi2var.qi.512"));
  EXPECT_THAT(lookUp("znver4", "256"), HasSubstr("store <64 x i8>"));
  EXPECT_THAT(lookUp("znver4", "300"), Not(HasSubstr("store <64 x i8>")));
  EXPECT_THAT(lookUp("x86-64-v4", "256"), Not(HasSubstr("store <64 x i8>")));
}

// What the units are taken apart into is reckoned before the loop: it does not make a sum dear.
TEST(WholeRows, SumsSideBySideInBatchesGoFourVectorsAtOnce) {
  const std::string sums = test::kernelIr(
      "x86-64-v4",
      "kernel @sums(in x: f32[b, c, n], out y: f32[b, n]) scalars (b; c; n; floordiv(n + 63, 64); "
      "b*floordiv(n + 63, 64)) units u < dim(b*floordiv(n + 63, 64)) {\n"
      "  let i: i64 = floorDiv(u, dim(floordiv(n + 63, 64)))\n"
      "  for e < min(64, n - mod(u, dim(floordiv(n + 63, 64))) * 64) vector {\n"
      "    accumulate r: f32 = sum over k < c vector {\n"
      "      x[i, k, mod(u, dim(floordiv(n + 63, 64))) * 64 + e]\n    }\n"
      "    y[i, mod(u, dim(floordiv(n + 63, 64))) * 64 + e] = r / f32(c)\n  }\n}\n");
  EXPECT_THAT(sums, HasSubstr("fadd <64 x float>"));
}

}  // namespace
}  // namespace dyn
