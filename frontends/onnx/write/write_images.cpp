// Convolutions and pools. ONNX has images in planes: where channels lie last, the node stands between turns.
#include <numeric>

#include "compiler/ops/rules/layout_rules.h"
#include "frontends/onnx/write/write_functions.h"

namespace dyn::onnx {
namespace {

// The planes with zeros around them where the operation's pads are computed: ONNX's are numbers.
std::string withPadding(NodeWriter& w, const std::string& planes) {
  if (!w.attributes().has("padding")) return planes;
  const Shape padding = w.attributes().dims("padding");
  const Dim zero = padding.front().context().constant(0);
  const auto middle = padding.begin() + static_cast<std::ptrdiff_t>(padding.size() / 2);
  Shape amounts{zero, zero};
  amounts.insert(amounts.end(), padding.begin(), middle);
  amounts.insert(amounts.end(), {zero, zero});
  amounts.insert(amounts.end(), middle, padding.end());
  return w.node("Pad", {planes, w.dimVector(amounts)});
}

// The node for planes, whose first operand and result are the operation's.
void finishInPlanes(NodeWriter& w, std::string_view node, std::vector<std::string> inputs,
                    AttributeMessages attributes) {
  if (!makesChannelsLast(w.op())) {
    inputs[0] = withPadding(w, inputs[0]);
    return w.finish(node, std::move(inputs), std::move(attributes));
  }
  const Type type = w.operandType(0);
  if (!type || !type.isTensor()) return w.unsupported("the rank of its image is not known");
  std::vector<int64_t> axes(type.dims().size());
  std::iota(axes.begin(), axes.end(), 0);
  if (readsChannelsLast(w.op()))
    inputs[0] = transposed(w, inputs[0], withPlanes(std::span<const int64_t>(axes)));
  inputs[0] = withPadding(w, inputs[0]);
  const std::string planes = w.node(node, std::move(inputs), std::move(attributes));
  AttributeMessages order;
  order.integers("perm", withChannelsLast(std::span<const int64_t>(axes)));
  w.finish("Transpose", {planes}, std::move(order));
}

}  // namespace

void writeConvPacked(NodeWriter& w) {
  const Op* pack = nullptr;
  const std::string weights = unpackedWeights(w, 1, &pack);
  std::vector<std::string> inputs{w.operand(0), weights};
  if (w.has(2)) inputs.push_back(w.operand(2));
  finishInPlanes(w, "Conv", std::move(inputs), w.ownAttributes("-weights -way -layout -padding"));
}

void writeConv(NodeWriter& w) { finishInPlanes(w, "Conv", w.operands(), w.ownAttributes("-padding")); }

// From operator set 22 on no window begins in the padding behind the operand, as here.
void writePool(NodeWriter& w) {
  if (w.attributes().integer("ceil_mode") != 0) w.parts().useVersion("", 22);
  const std::string_view name = w.op().def->name;
  finishInPlanes(w,
                 name == "max_pool"  ? "MaxPool"
                 : name == "lp_pool" ? "LpPool"
                                     : "AveragePool",
                 w.operands(), w.ownAttributes("-layout"));
}

}  // namespace dyn::onnx
