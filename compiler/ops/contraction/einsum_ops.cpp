// einsum: sums of products named by letters.
#include <algorithm>
#include <map>

#include "compiler/ops/contraction/einsum_rules.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/reduce_rules.h"

namespace dyn {

using loop::Expr;
using loop::LowerContext;

namespace {

using Equation = EinsumEquation;

template <typename Context>
Result<Equation> parseEquation(const Context& c, const std::vector<int>& ranks) {
  std::string why;
  if (std::optional<Equation> equation = einsumEquation(c.attributes().string("equation"), ranks, &why))
    return std::move(*equation);
  return c.error(DiagnosticId::badAttribute, why);
}

std::string labelText(int label) {
  return label > 0 ? "einsum label " + std::string(1, static_cast<char>(label)) : "einsum axes of `...`";
}

Status inferEinsum(InferContext& c) {
  std::vector<TensorOperand> operands;
  std::vector<int> ranks;
  for (int i = 0; i < c.operandCount(); ++i) {
    DYN_TRY(TensorOperand x, tensorOperand(c, i));
    DYN_CHECK(requireClass(c, x, {DtypeClass::real, DtypeClass::integer, DtypeClass::natural}, "an operand"));
    if (i > 0) DYN_CHECK(requireSameDtype(c, operands[0], x));
    ranks.push_back(x.rank());
    operands.push_back(std::move(x));
  }
  DYN_TRY(Equation equation, parseEquation(c, ranks));
  std::map<int, Dim> dims;
  for (size_t i = 0; i < operands.size(); ++i) {
    for (size_t k = 0; k < equation.operands[i].size(); ++k) {
      Dim& known = dims[equation.operands[i][k]];
      const Dim here = operands[i].dims[k];
      if (!known) {
        known = here;
      } else {
        DYN_TRY(known, c.broadcast(known, here, labelText(equation.operands[i][k])));
      }
    }
  }
  Shape shape;
  for (int label : equation.result) shape.push_back(dims[label]);
  setTensor(c, shape, operands[0].dtype);
  return {};
}

Status evaluateEinsum(EvalContext& c) {
  std::vector<int> ranks;
  for (int i = 0; i < c.operandCount(); ++i) ranks.push_back(c.operand(i).rank());
  DYN_TRY(Equation equation, parseEquation(c, ranks));
  std::map<int, int64_t> sizes;
  for (int i = 0; i < c.operandCount(); ++i) {
    const std::vector<int>& labels = equation.operands[static_cast<size_t>(i)];
    for (size_t k = 0; k < labels.size(); ++k) {
      const int64_t size = c.operand(i).shape()[k];
      auto [at, isNew] = sizes.emplace(labels[k], size);
      if (isNew || at->second == size) continue;
      if (at->second != 1 && size != 1)
        return c.error(DiagnosticId::shapeMismatch, labelText(labels[k]) + ": " + std::to_string(at->second) +
                                                        " vs " + std::to_string(size));
      at->second = at->second == 1 ? size : at->second;
    }
  }
  // The whole index space: labels of the result, then the summed ones.
  std::vector<int> labels = equation.result;
  labels.insert(labels.end(), equation.summed.begin(), equation.summed.end());
  std::vector<int64_t> space, shape;
  for (int label : labels) space.push_back(sizes[label]);
  for (int label : equation.result) shape.push_back(sizes[label]);
  std::vector<std::vector<int64_t>> strides;
  for (int i = 0; i < c.operandCount(); ++i) {
    const std::vector<int64_t> own = rowMajorStrides(c.operand(i).shape());
    std::vector<int64_t> steps(labels.size(), 0);
    for (size_t k = 0; k < own.size(); ++k) {
      const auto at = std::find(labels.begin(), labels.end(), equation.operands[static_cast<size_t>(i)][k]);
      if (c.operand(i).shape()[k] != 1) steps[static_cast<size_t>(at - labels.begin())] += own[k];
    }
    strides.push_back(std::move(steps));
  }
  const Dtype dtype = c.operand(0).dtype();
  DYN_TRY(HostTensor result, newTensor(dtype, shape));
  const int64_t inner = sizeProduct(space, static_cast<int>(shape.size()), static_cast<int>(space.size()));
  OffsetWalk walk(space, strides);
  for (int64_t flat = 0; flat < result.elementCount(); ++flat) {
    double real = 0;
    uint64_t whole = 0;
    for (int64_t k = 0; k < inner; ++k, walk.next()) {
      double realProduct = 1;
      uint64_t wholeProduct = 1;
      for (int i = 0; i < c.operandCount(); ++i) {
        if (isReal(dtype)) {
          realProduct *= c.operand(i).realAt(walk.offset(i));
        } else {
          wholeProduct *= static_cast<uint64_t>(c.operand(i).intAt(walk.offset(i)));
        }
      }
      real += realProduct;
      whole += wholeProduct;
    }
    if (isReal(dtype)) {
      result.setReal(flat, real);
    } else {
      result.setInt(flat, static_cast<int64_t>(whole));
    }
  }
  c.setResult(0, std::move(result));
  return {};
}

Result<Expr> lowerEinsum(LowerContext& c, int, std::span<const Expr> index) {
  std::vector<int> ranks;
  for (int i = 0; i < c.operandCount(); ++i) ranks.push_back(c.operandType(i).rank());
  DYN_TRY(Equation equation, parseEquation(c, ranks));
  auto isOne = [&](Dim d) { return c.solver().canonical(d).isConstant(1); };
  Shape extents;
  for (int label : equation.summed) {
    Dim extent;
    for (int i = 0; i < c.operandCount(); ++i) {
      for (size_t k = 0; k < equation.operands[static_cast<size_t>(i)].size(); ++k) {
        const Dim d = c.operandType(i).dims()[k];
        if (equation.operands[static_cast<size_t>(i)][k] != label || d == extent) continue;
        // Of several sizes the one that is not 1.
        if (!extent || isOne(extent)) {
          extent = d;
        } else if (!isOne(d) && c.solver().equal(extent, d) != Answer::yes) {
          const Dim one = d.context().constant(1);
          extent = max(extent, d) * min(extent, one) * min(d, one);
        }
      }
    }
    extents.push_back(extent);
  }
  const Dtype dtype = c.resultType(0).dtype(), computed = accumulationDtype(dtype);
  DYN_TRY(Expr sum,
          reduceOver(c, loop::ReduceOp::sum, extents, [&](std::span<const Expr> variables) -> Result<Expr> {
            Expr product;
            for (int i = 0; i < c.operandCount(); ++i) {
              std::vector<Expr> at;
              for (size_t k = 0; k < equation.operands[static_cast<size_t>(i)].size(); ++k) {
                const int label = equation.operands[static_cast<size_t>(i)][k];
                const auto kept = std::find(equation.result.begin(), equation.result.end(), label);
                const auto summed = std::find(equation.summed.begin(), equation.summed.end(), label);
                const Dim size = c.solver().canonical(c.operandType(i).dims()[k]);
                const Expr own = kept != equation.result.end()
                                     ? index[static_cast<size_t>(kept - equation.result.begin())]
                                     : variables[static_cast<size_t>(summed - equation.summed.begin())];
                // A size that may be 1 at run time is asked then.
                at.push_back(size.isConstant(1)  ? c.integer(0)
                             : size.isConstant() ? own
                                                 : select(c.dim(size) == c.integer(1), c.integer(0), own));
              }
              DYN_TRY(Expr element, c.read(i, at));
              element = castTo(element, computed);
              product = product ? product * element : element;
            }
            return product;
          }));
  return castTo(sum, dtype);
}

constexpr AttributeSpec kEinsumAttributes[] = {
    {"equation", AttributeKind::string, true, "\"ij,jk->ik\"; `...` stands for axes that broadcast",
     Allowed::byRule("terms of letters, one for each axis of an operand")},
};

}  // namespace

namespace ops {

const OpDef einsumOp{
    .name = "einsum",
    .summary = "sums of products of elements, axes named by letters",
    .cls = OpClass::contraction,
    .minOperands = 1,
    .maxOperands = -1,
    .attributes = kEinsumAttributes,
    .infer = inferEinsum,
    .evaluate = evaluateEinsum,
    .lowering = LoweringKind::loops,
    .lower = lowerEinsum,
    .operandRules = kAnyElements,
    .doc =
        "One term of letters per operand, one letter per axis -> the axes named after the arrow; other "
        "letters are summed. "
        "A letter twice in a term takes the diagonal.",
    .example =
        "fn @main(%a: Tensor[(b, n, 3), f32], %c: Tensor[(b, m, 3), f32]) "
        "{ %y = einsum(%a, %c) {equation = \"bnd,bmd->bnm\"} return %y }",
};

}  // namespace ops
}  // namespace dyn
