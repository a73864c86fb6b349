// The product of stacks of matrices that are read and written with their axes in any order: what attention's
// transposes become (pass `absorb`).
#include "compiler/ops/contraction/matmul_rules.h"
#include "compiler/ops/op_table.h"
#include "vm/include/abi/dyn_builtin_numbers.h"

namespace dyn {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"order_a", AttributeKind::integers, true, "axis i of the left stack of matrices is axis order_a[i] of a",
     Allowed::permutation(0)},
    {"order_b", AttributeKind::integers, true,
     "axis i of the right stack of matrices is axis order_b[i] of b", Allowed::permutation(1)},
    {"order_c", AttributeKind::integers, true,
     "axis i of the product is axis order_c[i] of the result; the last stays the last",
     Allowed::permutation(0)},
};

constexpr std::string_view kOrders[] = {"order_a", "order_b", "order_c"};

Status requireOrder(const InferContext& c, std::string_view name, int rank) {
  const std::vector<int64_t> order = c.attributes().integers(name);
  std::vector<bool> seen(static_cast<size_t>(rank), false);
  bool good = static_cast<int>(order.size()) == rank;
  for (size_t i = 0; good && i < order.size(); ++i) {
    good = order[i] >= 0 && order[i] < rank && !seen[static_cast<size_t>(order[i])];
    if (good) seen[static_cast<size_t>(order[i])] = true;
  }
  if (good) return {};
  return c.error(DiagnosticId::badAttribute,
                 std::string(name) + " is no permutation of " + std::to_string(rank) + " axes");
}

template <typename T>
std::vector<T> inOrder(std::span<const T> dims, const std::vector<int64_t>& order) {
  std::vector<T> result;
  for (int64_t axis : order) result.push_back(dims[static_cast<size_t>(axis)]);
  return result;
}

template <typename T>
std::vector<T> outOfOrder(std::span<const T> dims, const std::vector<int64_t>& order) {
  std::vector<T> result(dims.begin(), dims.end());
  for (size_t i = 0; i < order.size(); ++i) result[static_cast<size_t>(order[i])] = dims[i];
  return result;
}

Status inferPermuted(InferContext& c) {
  DYN_TRY(TensorOperand a, tensorOperand(c, 0));
  DYN_TRY(TensorOperand b, tensorOperand(c, 1, a.rank()));
  DYN_CHECK(requireDtype(c, a, Dtype::f32, "a matrix"));
  DYN_CHECK(requireDtype(c, b, Dtype::f32, "a matrix"));
  if (a.rank() < 2) return c.error(DiagnosticId::rankMismatch, "the operands are matrices or stacks of them");
  for (std::string_view name : kOrders) DYN_CHECK(requireOrder(c, name, a.rank()));
  const std::vector<int64_t> orderC = c.attributes().integers("order_c");
  if (orderC.back() != a.rank() - 1)
    return c.error(DiagnosticId::badAttribute, "order_c moves the last axis of the product");
  DYN_TRY(Shape product, matmulShape(c, inOrder<Dim>(a.dims, c.attributes().integers("order_a")),
                                     inOrder<Dim>(b.dims, c.attributes().integers("order_b")), false, false));
  setTensor(c, outOfOrder<Dim>(product, orderC), a.dtype);
  return {};
}

Status evaluatePermuted(EvalContext& c) {
  const HostTensor &a = c.operand(0), &b = c.operand(1);
  const auto orderA = c.attributes().integers("order_a"), orderB = c.attributes().integers("order_b"),
             orderC = c.attributes().integers("order_c");
  const std::vector<int64_t> left = inOrder<int64_t>(a.shape(), orderA),
                             right = inOrder<int64_t>(b.shape(), orderB);
  DYN_TRY(ConcreteProduct p, concreteProduct(c, left, right, false, false));
  const std::vector<int64_t> shape = outOfOrder<int64_t>(p.shape, orderC);
  DYN_TRY(HostTensor result, newTensor(a.dtype(), shape));
  const std::vector<int64_t> stepsA = inOrder<int64_t>(rowMajorStrides(a.shape()), orderA),
                             stepsB = inOrder<int64_t>(rowMajorStrides(b.shape()), orderB),
                             stepsC = inOrder<int64_t>(rowMajorStrides(shape), orderC);
  const size_t rank = p.shape.size();
  std::vector<int64_t> walkA(rank, 0), walkB(rank, 0);
  for (size_t axis = 0; axis + 2 < rank; ++axis) {
    if (left[axis] != 1) walkA[axis] = stepsA[axis];
    if (right[axis] != 1) walkB[axis] = stepsB[axis];
  }
  walkA[rank - 2] = stepsA[rank - 2];
  walkB[rank - 1] = stepsB[rank - 1];
  OffsetWalk walk(p.shape, {walkA, walkB, stepsC});
  const float *af = a.as<float>(), *bf = b.as<float>();
  for (int64_t i = 0; i < result.elementCount(); ++i, walk.next()) {
    double sum = 0;
    for (int64_t k = 0; k < p.depth; ++k)
      sum += static_cast<double>(af[walk.offset(0) + k * stepsA[rank - 1]]) *
             static_cast<double>(bf[walk.offset(1) + k * stepsB[rank - 2]]);
    result.setReal(walk.offset(2), sum);
  }
  c.setResult(0, std::move(result));
  return {};
}

Status fillPermuted(const BuiltinRequest& request, CallFields<calls::Gemm>& call) {
  call.numbers.ordered = true;
  for (std::string_view name : kOrders)
    for (int64_t axis : request.op.attributes.integers(name))
      call.numbers.orders.push_back(static_cast<int32_t>(axis));
  return {};
}

}  // namespace

namespace ops {

const OpDef matmul_permutedOp{
    .name = "matmul_permuted",
    .summary = "the product of stacks of matrices read and written with their axes in any order",
    .cls = OpClass::opaque,
    .minOperands = 2,
    .maxOperands = 2,
    .attributes = kAttributes,
    .infer = inferPermuted,
    .evaluate = evaluatePermuted,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::Gemm, fillPermuted>,
    .operandRules = kAnyElements,
    .doc =
        "a and b of one rank, f32: matmul(transpose(a, order_a), transpose(b, order_b)), its axis i at "
        "axis order_c[i] of the result.",
    .example =
        "fn @main(%q: Tensor[(b, s, 2, 4), f32], %k: Tensor[(b, t, 2, 4), f32]) { %y = matmul_permuted(%q, "
        "%k) "
        "{order_a = [0, 2, 1, 3], order_b = [0, 2, 3, 1], order_c = [0, 1, 2, 3]} return %y }",
};

}  // namespace ops
}  // namespace dyn
