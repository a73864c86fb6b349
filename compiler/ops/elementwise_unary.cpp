// Element-by-element operators of one operand: result[i] = f(x[i]).
#include <cmath>

#include "compiler/ops/elementwise_rules.h"
#include "compiler/ops/op_table.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;

namespace ops {

const OpDef identityOp{
    .name = "identity",
    .summary = "the operand itself",
    .cls = OpClass::elementwise,
    .minOperands = 1,
    .maxOperands = 1,
    .infer = inferSame,
    .evaluate = [](EvalContext& c) -> Status {
      c.setResult(0, c.operand(0));
      return {};
    },
    .lowering = LoweringKind::loops,
    .lower = [](LowerContext& c, int, std::span<const Expr> index) { return c.read(0, index); },
    .doc = "[...] -> [...]",
    .example = "fn @main(%x: Tensor[(n, 3), f32]) { %y = identity(%x) return %y }",
};

const OpDef reluOp{
    .name = "relu",
    .summary = "max(x, 0)",
    .cls = OpClass::elementwise,
    .minOperands = 1,
    .maxOperands = 1,
    .infer = inferSameSigned,
    .evaluate = [](EvalContext& c) -> Status {
      if (isReal(c.operand(0).dtype())) {
        return evaluateRealMap(c, [](double x) { return x < 0 ? 0.0 : x; });
      }
      return evaluateIntegerMap(c, [](int64_t x) { return x < 0 ? 0 : x; });
    },
    .lowering = LoweringKind::loops,
    .lower = [](LowerContext& c, int, std::span<const Expr> index) -> Result<Expr> {
      DYN_TRY(Expr x, c.read(0, index));
      return max(x, c.number(0, x.dtype()));
    },
    .doc = "[...] -> [...]",
    .example = "fn @main(%x: Tensor[(n, 3), f32]) { %y = relu(%x) return %y }",
};

}  // namespace ops
}  // namespace dyn
