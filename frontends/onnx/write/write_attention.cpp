// Attention within runs of positions, as attention over all of them under a mask.
#include <limits>

#include "frontends/onnx/write/write_functions.h"

namespace dyn::onnx {
namespace {

std::string number(NodeWriter& w, double value) {
  return w.parts().initializer(HostTensor::scalar(Dtype::f32, value), "number");
}

// Do two positions lie in one run? lengths [m] -> [n, n] bool. The number of a position's run is that of the
// runs that end at it or before.
std::string inOneRun(NodeWriter& w, const std::string& queries, const std::string& lengths) {
  ModelParts& parts = w.parts();
  const auto axis = [&](int64_t value) { return parts.integers(std::vector<int64_t>{value}); };
  AttributeMessages third;
  third.integer("start", 2);
  third.integer("end", 3);
  const std::string count = w.node("Squeeze", {w.node("Shape", {queries}, std::move(third))});
  const std::string places = w.node("Range", {parts.integer(0), count, parts.integer(1)});
  const std::string ends = w.node("CumSum", {lengths, parts.integer(0)});
  const std::string behind = w.node("GreaterOrEqual", {w.node("Unsqueeze", {places, axis(1)}), ends});
  AttributeMessages flat;
  flat.integer("keepdims", 0);
  const std::string run = w.node("ReduceSum", {w.cast(behind, Dtype::i64), axis(1)}, std::move(flat));
  return w.node("Equal", {w.node("Unsqueeze", {run, axis(1)}), run});
}

}  // namespace

void writePackedAttention(NodeWriter& w) {
  const double none = -std::numeric_limits<double>::infinity();
  const Attributes& attributes = w.attributes();
  std::string scores = w.node("MatMul", {w.operand(0), w.operand(1)});
  if (const double scale = attributes.real("scale", 1); scale != 1)
    scores = w.node("Mul", {scores, number(w, scale)});
  if (w.has(4)) scores = w.node("Add", {scores, w.operand(4)});
  if (w.has(5)) scores = w.node("Where", {w.operand(5), scores, number(w, attributes.real("fill", none))});
  const std::string same = inOneRun(w, w.operand(0), w.operand(3));
  std::string share = w.node("Softmax", {w.node("Where", {same, scores, number(w, none)})});
  if (attributes.integer("nan_as_zero") != 0)
    share = w.node("Where", {w.node("IsNaN", {share}), number(w, 0), share});
  AttributeMessages order;  // [1, h, n, e] -> [1, n, h, e]
  order.integers("perm", std::vector<int64_t>{0, 2, 1, 3});
  w.finish("Transpose", {w.node("MatMul", {share, w.operand(2)})}, std::move(order));
}

}  // namespace dyn::onnx
