// Internal to codegen: element-wise functions as code, on float, double, <n x float> or <n x double>.
//
// On float, rows of form `polynomial` (math_functions.def) become straight vector code that calls nothing:
//
//   exp 1.1 ulp | log 1.5 ulp | tanh 6 ulp | erf 6 ulp | sigmoid 4 ulp | sin, cos 1.6 ulp | pow 1 ulp
//
// largest errors against a double-precision reference, with and without FMA, denormal arguments and results included;
// infinities, NaN and signed zeros follow C's Annex F. sin and cos of lanes with |x| > 1e6 are
// libm's. A lane's bits depend on its own arguments only, and are the same in vectors of any length and in scalars.
// Rows of form `library`, and every function on double, are one libm call per lane.
//
// The builder stands at the end of a block that has no terminator yet. It may be in ANOTHER block afterwards (sin and cos branch):
// take builder.GetInsertBlock() after the call for phis. The builder must not carry fast-math flags.
//
// Polynomials were fitted for this project: minimax by iteratively reweighted least squares on Chebyshev points, the
// coefficients then rounded to float; the tests measure what that cost.
#pragma once

#include <string_view>
#include <vector>

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace dyn {

enum class MathFunction {
#define DYN_MATH_FUNCTION(name, arity, floatLibm, doubleLibm, form) name,
#include "compiler/codegen/math_functions.def"
#undef DYN_MATH_FUNCTION
};

enum class MathForm { polynomial, library };

struct MathFunctionRow {
  MathFunction function;
  std::string_view name;        // "exp"
  int arity;                    // 1 or 2
  std::string_view floatLibm;   // "expf"; empty where libm has no such function
  std::string_view doubleLibm;  // "exp"
  MathForm form;
};

// All rows, in table order.
const std::vector<MathFunctionRow>& mathFunctionTable();
const MathFunctionRow& mathFunctionRow(MathFunction function);

// The function applied to each lane; `y` only for functions of two arguments (x^y, x mod y), of x's type.
llvm::Value* emitMath(MathFunction function, llvm::IRBuilderBase& builder, llvm::Value* x,
                      llvm::Value* y = nullptr);

// One call of the C library's function per lane.
llvm::Value* emitLibraryCall(std::string_view libmName, llvm::IRBuilderBase& builder,
                             const std::vector<llvm::Value*>& arguments);

}  // namespace dyn
