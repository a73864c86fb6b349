// The table of the sweep: for every operator programs that show all it can do, run at many shapes by operator_sweep_test.cpp.
//
//   {"softmax", kReals, "%x T[n, m]", "softmax(%x) {A}", {"", "axis = 0"}}
//
// stands for @main(%x: Tensor[(n, m), T]) -> softmax(%x), for every element type T named, then with `axis = 0` for the first of them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/dtype.h"

namespace dyn::test {

// Element types by name; the classes are kReals, ... below.
inline constexpr const char* kReals = "f16 bf16 f32 f64";
inline constexpr const char* kIntegers = "i8 i16 i32 i64 u8 u16 u32 u64";
inline constexpr const char* kNumbers = "f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64";
inline constexpr const char* kAnything = "f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool";
inline constexpr const char* kBoolean = "bool";
// What moves elements is shown with packed types too.
inline constexpr const char* kMovable = "f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool i4 u4";

// The elements of a parameter, low to high, both included: numbers or dims, "-n", "m-1".
struct Fill {
  std::string parameter, low, high;
};

struct SweepRow {
  std::string op;
  std::string dtypes;      // what T may be, and nothing else; "": the program has no T
  std::string parameters;  // "%x T[n, m], %k i64[1]"; "": `body` is the whole module
  // "op(%x) {A}", or statements that end in a return. A: one of the attributes. <T>: the element type.
  std::string body;
  std::vector<std::string> attributes = {""};
  std::vector<Fill> fills = {};  // otherwise reals about 0, integers -3 to 5 (0 to 5), texts of all kinds
  std::map<std::string, std::vector<int64_t>> dims = {};  // sizes of a symbol; otherwise 0, 1, 2, 3, 5, 7, 11
  double tolerance = 1;          // times what one rounding to the element type allows
  std::string notCompiled = "";  // of the types those that compiling refuses as unsupported
};

std::vector<SweepRow> elementwiseRows();
std::vector<SweepRow> placeRows();      // views, copies, indices, fills
std::vector<SweepRow> foldRows();       // reductions, norms, products, windows
std::vector<SweepRow> selectionRows();  // sorting, detection, images, strings, quantisation
std::vector<SweepRow> structureRows();  // control flow, lists, data types, what passes make

}  // namespace dyn::test
