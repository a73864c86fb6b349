// Internal to codegen: element-wise functions as code, on float, double, <n x float> or <n x double>.
//
// Every row of math_functions.def is vector code of its own, whose error the row states (largest errors
// against references of higher precision, with and without FMA, denormal arguments and results included).
// Infinities, NaN and signed zeros follow C's Annex F. A lane's bits depend on its own arguments only, and
// are the same in vectors of any length and in scalars. Lanes that a function of form `rareLanes` does not
// reach (|x| > 1e6 of sin, cos, tan; large quotients of fmod) are one libm call each.
//
// The builder stands at the end of a block that has no terminator yet. It may be in ANOTHER block afterwards
// (rows of form rareLanes branch):
// take builder.GetInsertBlock() after the call for phis. The builder must not carry fast-math flags.
//
// Polynomials were fitted for this project: minimax by iteratively reweighted least squares on Chebyshev
// points, the coefficients then rounded to float; the tests measure what that cost.
#pragma once

#include <string_view>
#include <vector>

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace dyn {

enum class MathFunction {
#define DYN_MATH_FUNCTION(name, arity, floatLibm, doubleLibm, floatUlp, doubleUlp, form) name,
#include "compiler/codegen/math/math_functions.def"
#undef DYN_MATH_FUNCTION
};

enum class MathForm { straight, rareLanes };

struct MathFunctionRow {
  MathFunction function;
  std::string_view name;        // "exp"
  int arity;                    // 1 or 2
  std::string_view floatLibm;   // "expf"; empty where libm has no such function
  std::string_view doubleLibm;  // "exp"
  double floatUlp, doubleUlp;   // largest errors
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
