// The order in which nodes of trees and of graphs without cycles can be computed many at a time: levels.
#include <algorithm>
#include <numeric>

#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/op_rules.h"

namespace dyn {

namespace {

constexpr AttributeSpec kLevelsAttributes[] = {
    {"kinds", AttributeKind::integer, false,
     "1: the first of the reads is the kind of each node, and nodes of a level are of one kind; default 0",
     Allowed::flag()}};

Status inferLevels(InferContext& c) {
  DYN_TRY(TensorOperand rows, tensorOperand(c, 0, 0));
  DYN_CHECK(requireDtype(c, rows, Dtype::i64, "the number of rows"));
  DYN_TRY(TensorOperand writes, tensorOperand(c, 1, 1));
  DYN_CHECK(requireDtype(c, writes, Dtype::i64, "the rows that are written"));
  for (int i = 2; i < c.operandCount(); ++i) {
    DYN_TRY(TensorOperand reads, tensorOperand(c, i));
    DYN_CHECK(requireDtype(c, reads, Dtype::i64, "the rows that are read"));
    if (reads.rank() < 1)
      return c.error(DiagnosticId::rankMismatch, "the rows that are read have an axis of the nodes");
    DYN_CHECK(c.requireEqual(reads.dims[0], writes.dims[0], "rows are read by each node"));
  }
  if (c.attributes().integer("kinds", 0) != 0) {
    DYN_TRY(TensorOperand kinds, tensorOperand(c, 2, 1));
    (void)kinds;
  }
  setTensor(c, {writes.dims[0]}, Dtype::i64, 0);
  setTensor(c, {c.fresh("as many as there are levels, and one")}, Dtype::i64, 1);
  return {};
}

// Which node writes each row, -1 for none; nothing where a row is written twice or is not there.
std::vector<int64_t> writersOf(const HostTensor& writes, int64_t rows) {
  std::vector<int64_t> writers(static_cast<size_t>(std::max<int64_t>(rows, 0)), -1);
  for (int64_t i = 0; i < writes.elementCount(); ++i) {
    const int64_t row = writes.intAt(i);
    if (row < 0 || row >= rows || writers[static_cast<size_t>(row)] >= 0) return {};
    writers[static_cast<size_t>(row)] = i;
  }
  return writers;
}

// The height of each node; nothing where one reads what is written later.
std::vector<int64_t> heightsOf(const EvalContext& c, int64_t rows, int64_t nodes, int first) {
  const std::vector<int64_t> writers = writersOf(c.operand(1), rows);
  if (writers.empty()) return {};
  std::vector<int64_t> heights(static_cast<size_t>(nodes), 0);
  for (int64_t i = 0; i < nodes; ++i)
    for (int operand = first; operand < c.operandCount(); ++operand) {
      const int64_t perNode = c.operand(operand).elementCount() / nodes;
      for (int64_t k = 0; k < perNode; ++k) {
        int64_t row = c.operand(operand).intAt(i * perNode + k);
        row += row < 0 ? rows : 0;
        if (row < 0 || row >= rows || writers[static_cast<size_t>(row)] > i) return {};
        const int64_t writer = writers[static_cast<size_t>(row)];
        if (writer < 0 || writer == i) continue;
        int64_t& height = heights[static_cast<size_t>(i)];
        height = std::max(height, heights[static_cast<size_t>(writer)] + 1);
      }
    }
  return heights;
}

Status evaluateLevels(EvalContext& c) {
  const int64_t rows = c.operand(0).intAt(0), nodes = c.operand(1).elementCount();
  const bool kinds = c.attributes().integer("kinds", 0) != 0;
  for (int i = 2; i < c.operandCount(); ++i)
    if (c.operand(i).shape()[0] != nodes)
      return c.error(DiagnosticId::shapeMismatch, "rows are not read by each node");
  const std::vector<int64_t> heights = heightsOf(c, rows, nodes, kinds ? 3 : 2);
  std::vector<int64_t> order(static_cast<size_t>(nodes)), starts{0};
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](int64_t node) {
    return heights.empty()
               ? std::pair(node, int64_t{0})
               : std::pair(heights[static_cast<size_t>(node)], kinds ? c.operand(2).intAt(node) : 0);
  };
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return key(a) < key(b); });
  for (size_t k = 0; k < order.size(); ++k)
    if (k + 1 == order.size() || key(order[k]) != key(order[k + 1]))
      starts.push_back(static_cast<int64_t>(k) + 1);
  c.setResult(0, HostTensor::vectorInt(Dtype::i64, order));
  c.setResult(1, HostTensor::vectorInt(Dtype::i64, starts));
  return {};
}

Status fillLevels(const BuiltinRequest& request, CallFields<calls::Levels>& call) {
  call.numbers.kinds = request.op.attributes.integer("kinds", 0) != 0;
  return {};
}

}  // namespace

namespace ops {

const OpDef levelsOp{
    .name = "levels",
    .summary = "an order of nodes by height; each level reads only rows of earlier levels",
    .cls = OpClass::opaque,
    .minOperands = 2,
    .maxOperands = -1,
    .results = 2,
    .attributes = kLevelsAttributes,
    .infer = inferLevels,
    .evaluate = evaluateLevels,
    .lowering = LoweringKind::builtin,
    .builtin = calling<calls::Levels, fillLevels>,
    .operandRules = kAnyElements,
    .doc =
        "rows [] i64, writes [n] i64, reads [n, ...] i64... -> order [n], starts [levels + 1]. Node i reads "
        "the rows reads[i, ...] (from the end if negative), then writes the row writes[i]. Level k is "
        "order[starts[k]] to order[starts[k + 1]], by number. A node that reads no row is of the first "
        "level, any other of the one behind the last that it reads. Where one reads a row before another "
        "has written it, or two write one row, or a row is not there: one node a level, in their order.",
    .example =
        "fn @main(%rows: Tensor[(), i64], %writes: Tensor[(n), i64], %left: Tensor[(n), i64]) "
        "{ %order, %starts = levels(%rows, %writes, %left) return %order, %starts }",
};

}  // namespace ops
}  // namespace dyn
