// Products of matrices and of bytes; packed weights are written as they were before.
#include <numeric>

#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/layout_rules.h"
#include "frontends/onnx/write/write_functions.h"

namespace dyn::onnx {

std::string transposed(NodeWriter& w, const std::string& tensor, std::span<const int64_t> order) {
  AttributeMessages attributes;
  attributes.integers("perm", order);
  return w.node("Transpose", {tensor}, std::move(attributes));
}

std::string unpackedWeights(NodeWriter& w, size_t operand, const Op** pack) {
  const Bound* bound = w.bound(operand);
  if (bound == nullptr || bound->kind != Bound::Kind::packed) {
    w.unsupported("its weights are in the order of one machine");
    return "";
  }
  *pack = bound->op;
  const std::string weights = w.tensorOf(bound->fields.at(0));
  const Type type = w.parts().typeOf(bound->op->operands[0]);
  const bool widens = type && isHalf(type.dtype());
  return widens && bound->op->def != &ops::pack_bytesOp ? w.cast(weights, Dtype::f32) : weights;
}

namespace {

std::string lastAxesExchanged(NodeWriter& w, const std::string& tensor, int rank) {
  std::vector<int64_t> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return transposed(w, tensor, order);
}

struct Factor {
  std::string tensor;
  int rank = -1;  // not known
  bool transpose = false;
};

// Of two matrices of reals one node, else transposes before the product.
void finishProduct(NodeWriter& w, Factor a, Factor b, Dtype dtype) {
  if ((a.transpose || b.transpose) && a.rank == 2 && b.rank == 2 && isReal(dtype)) {
    AttributeMessages attributes;
    if (a.transpose) attributes.integer("transA", 1);
    if (b.transpose) attributes.integer("transB", 1);
    return w.finish("Gemm", {a.tensor, b.tensor}, std::move(attributes));
  }
  for (Factor* factor : {&a, &b}) {
    if (!factor->transpose) continue;
    if (factor->rank < 2) return w.unsupported("the rank of a transposed operand is not known");
    factor->tensor = lastAxesExchanged(w, factor->tensor, factor->rank);
  }
  w.finish("MatMul", {a.tensor, b.tensor});
}

int rankOf(Type type) { return type && type.isTensor() ? type.rank() : -1; }

}  // namespace

void writeMatmul(NodeWriter& w) {
  const Type a = w.operandType(0), b = w.operandType(1);
  const Dtype dtype = a && a.isTensor() ? a.dtype() : Dtype::i64;
  finishProduct(w, {w.operand(0), rankOf(a), w.attributes().integer("transpose_a") != 0},
                {w.operand(1), rankOf(b), w.attributes().integer("transpose_b") != 0}, dtype);
}

void writeMatmulPermuted(NodeWriter& w) {
  const std::vector<int64_t> orderC = w.attributes().integers("order_c");
  const std::string a = transposed(w, w.operand(0), w.attributes().integers("order_a"));
  const std::string b = transposed(w, w.operand(1), w.attributes().integers("order_b"));
  std::vector<int64_t> back(orderC.size());
  bool moves = false;
  for (size_t i = 0; i < orderC.size(); ++i) {
    back[static_cast<size_t>(orderC[i])] = static_cast<int64_t>(i);
    moves = moves || orderC[i] != static_cast<int64_t>(i);
  }
  if (!moves) return w.finish("MatMul", {a, b});
  const std::string product = w.node("MatMul", {a, b});
  AttributeMessages attributes;
  attributes.integers("perm", back);
  w.finish("Transpose", {product}, std::move(attributes));
}

void writeGemmPacked(NodeWriter& w) {
  const Op* pack = nullptr;
  std::string weights = unpackedWeights(w, 1, &pack), x = w.operand(0);
  if (w.failed()) return;
  if (pack->attributes.dtype("dtype", Dtype::f32) == Dtype::bf16)
    for (std::string* side : {&x, &weights}) *side = w.cast(w.cast(*side, Dtype::bf16), Dtype::f32);
  finishProduct(w, {x, rankOf(w.operandType(0)), false},
                {weights, 2, pack->attributes.integer("transpose") != 0}, Dtype::f32);
}

void writeMatmulIntegerPacked(NodeWriter& w) {
  const Op* pack = nullptr;
  std::string weights = unpackedWeights(w, 1, &pack);
  if (w.failed()) return;
  if (pack->attributes.integer("transpose") != 0) weights = lastAxesExchanged(w, weights, 2);
  w.finish("MatMulInteger", {w.operand(0), weights, w.operand(2), w.operand(3)});
}

void writeMatmulNbits(NodeWriter& w) {
  const Type a = w.operandType(0), b = w.operandType(1);
  if (!a || !b || !a.dims().back().isConstant() || !b.dims()[0].isConstant())
    return w.unsupported("the sizes of its weights are not known");
  AttributeMessages attributes;
  attributes.integer("K", *a.dims().back().constant());
  attributes.integer("N", *b.dims()[0].constant());
  attributes.integer("bits", w.attributes().integer("bits"));
  attributes.integer("block_size", w.attributes().integer("block"));
  if (w.attributes().integer("round_rows", 0) != 0) attributes.integer("accuracy_level", 4);
  w.finish("MatMulNBits", w.operands(), std::move(attributes), "com.microsoft");
}

namespace {

// Zero points that are the same for all channels as one: onnxruntime takes no others.
std::string oneZeroPoint(NodeWriter& w, size_t operand) {
  const Bound* bound = w.bound(operand);
  if (bound == nullptr || bound->kind != Bound::Kind::constant) return w.operand(operand);
  const HostTensor& zeros = *bound->op->attributes.tensor("value");
  for (int64_t i = 0; i < zeros.elementCount(); ++i)
    if (zeros.intAt(i) != zeros.intAt(0)) return w.operand(operand);
  if (zeros.elementCount() < 2) return w.operand(operand);
  return w.parts().initializer(HostTensor::scalarInt(zeros.dtype(), zeros.intAt(0)), "zero_point");
}

}  // namespace

void writeConvInteger(NodeWriter& w) {
  std::string weights = w.operand(1);
  if (w.attributes().integer("channels_last") != 0) {
    const int rank = rankOf(w.operandType(1));
    if (rank < 3) return w.unsupported("the rank of its weights is not known");
    std::vector<int64_t> order{0, rank - 1};
    for (int axis = 1; axis < rank - 1; ++axis) order.push_back(axis);
    weights = transposed(w, weights, order);
  }
  w.finish("ConvInteger", {w.operand(0), weights, w.operand(2), oneZeroPoint(w, 3)},
           w.ownAttributes("-channels_last"));
}

// The weights as they were before they stood in runs (dyn_byte_window.h), the image in planes.
void writeConvIntegerPacked(NodeWriter& w) {
  const Shape sizes = w.attributes().dims("weights");
  const int64_t filters = *sizes[0].constant(), channels = *sizes[1].constant(), rows = *sizes[2].constant(),
                columns = *sizes[3].constant();
  const auto numbers = [&](const std::vector<int64_t>& values) { return w.parts().integers(values); };
  const std::vector<int64_t> dilations = w.attributes().integers("dilations");
  std::string weights;
  if (w.attributes().integer("group", 1) > 1) {
    const std::string places = w.node("Reshape", {w.operand(1), numbers({rows, columns, 1, filters})});
    weights = transposed(w, places, std::vector<int64_t>{3, 2, 0, 1});
  } else {
    const Op* pack = nullptr;
    const std::string packed = unpackedWeights(w, 1, &pack);
    if (w.failed()) return;
    const ByteRuns runs = ByteRuns::of(rows, columns, dilations.size() > 1 ? dilations[1] : 1, channels);
    const std::string parted = w.node("Reshape", {packed, numbers({filters, runs.count(), runs.padded})});
    const std::string filled = w.node("Slice", {parted, numbers({0}), numbers({runs.length}), numbers({2})});
    const std::string places = w.node("Reshape", {filled, numbers({filters, rows, columns, channels})});
    weights = transposed(w, places, std::vector<int64_t>{0, 3, 1, 2});
  }
  const std::string planes = transposed(w, w.operand(0), std::vector<int64_t>{0, 3, 1, 2});
  const std::string sums =
      w.node("ConvInteger", {planes, weights, w.operand(2)}, w.ownAttributes("-weights"));
  AttributeMessages order;
  order.integers("perm", std::vector<int64_t>{0, 2, 3, 1});
  w.finish("Transpose", {sums}, std::move(order));
}

}  // namespace dyn::onnx
