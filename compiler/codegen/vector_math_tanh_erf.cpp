// tanh and erf: odd rational functions x P(x^2) / Q(x^2) on the range where float results differ from 1.
#include "compiler/codegen/vector_math_parts.h"

namespace dyn {

using llvm::Value;

namespace {

// `limit`: from here on the result rounds to 1. Clamping x keeps NaN; the last min repairs a result rounded above 1.
Value* oddRational(MathParts& m, Value* x, double limit, std::initializer_list<double> top,
                   std::initializer_list<double> bottom) {
  llvm::IRBuilderBase& b = m.b;
  Value* inside = m.atLeast(m.atMost(x, limit), -limit);
  Value* square = b.CreateFMul(inside, inside);
  Value* numerator = b.CreateFMul(inside, m.polynomial(square, top));
  Value* quotient = b.CreateFDiv(numerator, m.polynomial(square, bottom));
  return m.atLeast(m.atMost(quotient, 1.0), -1.0);
}

}  // namespace

Value* emitTanh(MathParts& m, Value* x) {
  return oddRational(m, x, 9.02,
                     {1.0, 0.136799157, 0.00386832794, 2.80074619e-05, 3.05850314e-08, -1.22034735e-11},
                     {1.0, 0.47013247, 0.0272458401, 0.000393863127, 1.28736679e-06});
}

Value* emitErf(MathParts& m, Value* x) {
  return oddRational(m, x, 3.93,
                     {1.12837911, 0.19078353, 0.0527902469, 0.00377959642, 0.000284808368, 2.04197363e-06},
                     {1.0, 0.502410233, 0.114257395, 0.0149974115, 0.00116520969, 3.8004091e-05});
}

}  // namespace dyn
