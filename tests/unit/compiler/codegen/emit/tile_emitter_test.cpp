// Squares that are turned over in registers: what is read at their edges. Numbers are compared by the
// operators' sweep; this is about memory that is not there, where a masked load costs a fault.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/compiler/codegen/emit/kernel_ir.h"

namespace dyn {
namespace {

// The LLVM IR of x [columns, n] turned over, 64 rows of the result at a time.
std::string turned(const std::string& machine, const std::string& columns, const std::string& type,
                   const std::string& rows = "64") {
  const std::string scalars = columns == "m" ? "n; m" : "n";
  return test::kernelIr(machine, "kernel @turned(in x: " + type + "[" + columns + ", n], out y: " + type +
                                     "[n, " + columns + "]) scalars (" + scalars +
                                     ") units u < dim(floordiv(n, 64)) {\n  for i < " + rows +
                                     " tile {\n    for j < " + columns +
                                     " vector {\n      y[u * 64 + i, j] = x[j, u * 64 + i]\n    }\n  }\n}\n");
}

size_t occurrences(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

constexpr const char* kMaskedLoad = "call <16 x float> @llvm.masked.load";
constexpr const char* kLoad = "load <16 x float>";

TEST(TileEmitter, ColumnsThatAreNotThereAreNotRead) {
  // 84 = 5 * 16 + 4: a full square reads sixteen columns, the last one four.
  const std::string known = turned("x86-64-v4", "84", "f32");
  EXPECT_EQ(occurrences(known, kMaskedLoad), 0u) << known;
  EXPECT_EQ(occurrences(known, kLoad), 16u + 4u) << known;
}

TEST(TileEmitter, ColumnsBehindTheLastAreTheLast) {
  const std::string open = turned("x86-64-v4", "m", "f32");
  EXPECT_EQ(occurrences(open, kMaskedLoad), 0u) << open;
  // Of a square of sixteen; of one of four, and what chooses it and ends its lines.
  EXPECT_EQ(occurrences(open, "call i64 @llvm.smin.i64"), 16u + 4u + 2u) << open;
}

TEST(TileEmitter, FewColumnsOrRowsHaveSquaresOfFour) {
  const std::string columns = turned("x86-64-v4", "3", "f32"), rows = turned("x86-64-v4", "m", "f32", "4");
  for (const std::string& narrow : {columns, rows}) {
    EXPECT_EQ(occurrences(narrow, "<16 x float>"), 0u) << narrow;
    EXPECT_GT(occurrences(narrow, "<4 x float>"), 0u) << narrow;
  }
  EXPECT_EQ(occurrences(turned("x86-64-v4", "5", "f32"), "<4 x float>"), 0u);
  // Smaller elements are turned by fewer instructions as they are.
  EXPECT_EQ(occurrences(turned("x86-64-v4", "3", "f16"), "load <4 x "), 0u);
}

TEST(TileEmitter, ElementsOfEightBytesHaveHalfTheLanes) {
  const std::string wide = turned("x86-64-v4", "64", "f64");
  EXPECT_EQ(occurrences(wide, "load <8 x double>"), 8u) << wide;
  EXPECT_EQ(occurrences(wide, "<16 x double>"), 0u) << wide;
}

TEST(TileEmitter, RowsThatAreLeftAreMasked) {
  const std::string left = turned("x86-64-v4", "84", "f32", "min(64, n - u * 64)");
  EXPECT_EQ(occurrences(left, kMaskedLoad), 16u + 4u) << left;
}

// A store under a mask takes as long as many plain ones on AVX2: half a square is stored as such.
TEST(TileEmitter, HalfSquaresNeedNoMask) {
  for (const char* type : {"f16", "f32"}) {
    const std::string half = turned("x86-64-v3", "84", type);
    EXPECT_EQ(occurrences(half, "masked"), 0u) << half;
    EXPECT_EQ(occurrences(half, "store <8 x "), 8u) << half;
    EXPECT_EQ(occurrences(half, "store <4 x "), 8u) << half;
  }
}

// Squares of bytes are 16 x 16, and 8 x 8 for the rows that are left.
TEST(TileEmitter, SquaresOfBytesFillARegister) {
  const std::string bytes = turned("x86-64-v3", "84", "u8");
  EXPECT_EQ(occurrences(bytes, "masked"), 0u) << bytes;
  EXPECT_EQ(occurrences(bytes, "store <16 x "), 16u) << bytes;
  EXPECT_EQ(occurrences(bytes, "store <8 x "), 8u) << bytes;
  EXPECT_EQ(occurrences(bytes, "store <4 x "), 16u + 8u) << "of 84 columns four are left";
  // Of 87 columns three more, element by element, in both.
  EXPECT_EQ(occurrences(turned("x86-64-v3", "87", "u8"), "store i8"), 2u);
}

// Squares that are not full stand beside whole ones: they are turned by one function, compiled once.
TEST(TileEmitter, EdgesAreTurnedByOneFunction) {
  const std::string open = turned("x86-64-v4", "m", "f32", "min(64, n - u * 64)");
  EXPECT_EQ(occurrences(open, " @transpose_16float("), 3u + 1u) << open;
  // Of a few columns little is turned, and what is all there is has no whole ones beside it.
  for (const char* columns : {"84", "20", "12"})
    EXPECT_EQ(occurrences(turned("x86-64-v4", columns, "f32"), "@transpose_"), 0u) << columns;
  EXPECT_EQ(occurrences(turned("x86-64-v4", "44", "f32"), " @transpose_16float("), 1u + 1u);
  // Other machines pass eight registers.
  EXPECT_EQ(occurrences(turned("cortex-a72", "m", "f32"), "@transpose_"), 0u);
}

// LLVM looks through operands of shuffles for shuffles: between two exchanges there is nothing to be seen.
TEST(TileEmitter, ExchangesAreKeptApart) {
  const std::string squares = turned("x86-64-v4", "64", "f32");
  EXPECT_EQ(occurrences(squares, "call <16 x float> @llvm.arithmetic.fence"), 3u * 16u) << squares;
}

}  // namespace
}  // namespace dyn
