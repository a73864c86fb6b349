#include "frontends/onnx/emit/result_ranks.h"

#include <algorithm>
#include <string_view>

#include "compiler/ir/op_def.h"

namespace dyn::onnx {
namespace {

// Operators whose first result has the rank of an operand, though they are neither elementwise nor a normalisation.
constexpr std::string_view kKeepRank[] = {
    "transpose",
    "slice",
    "concat",
    "split",
    "pad",
    "tile",
    "cumsum",
    "softmax",
    "log_softmax",
    "hardmax",
    "layer_norm",
    "rms_norm",
    "batch_norm",
    "instance_norm",
    "group_norm",
    "conv",
    "conv_transpose",
    "conv_integer",
    "max_pool",
    "average_pool",
    "resize",
    "topk",
    "gather_elements",
    "scatter_elements",
    "scatter_nd",
    "depth_to_space",
    "space_to_depth",
    "reverse_sequence",
    "quantize_linear",
    "dequantize_linear",
    "trilu",
    "clip",
    "prelu",
    "cast",
    "lp_normalization",
};

bool isIn(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class RankRule {
 public:
  RankRule(const Op& op, ValueTable& values) : op_(op), values_(values) {}

  int result(size_t index) {
    const std::string_view name = op_.def->name;
    if (name == "shape" || name == "nonzero") return name == "shape" ? 1 : 2;
    if (name == "range" || name == "range_real" || name == "dims_value") return 1;
    if (name == "size" || name == "dim_value" || name == "list_length") return 0;
    if (name == "reshape" || name == "expand" || name == "constant_of_shape") return byShape(name);
    if (name == "gather") return rank(0) < 0 || rank(1) < 0 ? -1 : rank(0) + rank(1) - 1;
    if (name == "one_hot") return rank(0) < 0 ? -1 : rank(0) + 1;
    if (name == "unsqueeze" || name == "squeeze") {
      if (rank(0) < 0 || vectorLength(1) < 0) return -1;
      return name == "squeeze" ? rank(0) - vectorLength(1) : rank(0) + vectorLength(1);
    }
    if (name == "matmul" || name == "matmul_integer") return ofProduct();
    if (name == "where") return widest(3);
    if (op_.def->cls == OpClass::reduction && name.substr(0, 6) == "reduce") return ofReduction();
    if (op_.def->cls == OpClass::reduction && name.substr(0, 3) == "arg")
      return op_.attributes.integer("keepdims", 1) != 0 || rank(0) < 1 ? rank(0) : rank(0) - 1;
    if (isIn(kKeepRank, name)) return index == 0 || name == "split" || name == "topk" ? rank(0) : -1;
    if (op_.def->cls == OpClass::elementwise) return widest(op_.operands.size());
    return -1;
  }

 private:
  int rank(size_t i) {
    return i < op_.operands.size() && op_.operands[i] != kNoValue ? values_.at(op_.operands[i]).rank : -1;
  }

  int widest(size_t count) {
    int most = 0;
    for (size_t i = 0; i < std::min(count, op_.operands.size()); ++i) {
      if (op_.operands[i] == kNoValue) continue;
      if (rank(i) < 0) return -1;
      most = std::max(most, rank(i));
    }
    return most;
  }

  int ofReduction() {
    if (op_.attributes.integer("keepdims", 1) != 0 || rank(0) < 0) return rank(0);
    const bool given = op_.operands.size() > 1 && op_.operands[1] != kNoValue;
    const int count = given ? vectorLength(1) : 0;
    if (count < 0) return -1;
    if (count == 0) return op_.attributes.integer("noop_with_empty_axes", 0) != 0 ? rank(0) : 0;
    return std::max(rank(0) - count, 0);
  }

  int ofProduct() {
    const int a = rank(0), b = rank(1);
    if (a < 0 || b < 0) return -1;
    if (a == 1 && b == 1) return 0;
    const int most = std::max(a, b);
    return most - (a == 1) - (b == 1);
  }

  // How many elements a vector has.
  int vectorLength(size_t i) {
    if (i >= op_.operands.size() || op_.operands[i] == kNoValue) return -1;
    return values_.at(op_.operands[i]).vectorLength;
  }

  int byShape(std::string_view name) {
    const int length = vectorLength(name == "constant_of_shape" ? 0 : 1);
    if (name != "expand") return length;
    return length < 0 || rank(0) < 0 ? -1 : std::max(length, rank(0));
  }

  const Op& op_;
  ValueTable& values_;
};

}  // namespace

int resultRank(const Op& op, size_t index, ValueTable& values) { return RankRule(op, values).result(index); }

int resultLength(const Op& op, ValueTable& values) {
  const std::string_view name = op.def->name;
  const auto length = [&](size_t i) { return values.at(op.operands[i]).vectorLength; };
  if (const HostTensor* value = op.attributes.tensor("value"); value && name == "constant")
    return value->rank() == 1 ? static_cast<int>(value->elementCount()) : -1;
  if (name == "shape") {
    const int rank = values.at(op.operands[0]).rank;
    if (rank < 0) return -1;
    const auto bound = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
    const int64_t length =
        bound(op.attributes.integer("end", rank)) - bound(op.attributes.integer("start", 0));
    return static_cast<int>(std::max<int64_t>(length, 0));
  }
  if (name == "concat") {
    int total = 0;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (length(i) < 0) return -1;
      total += length(i);
    }
    return total;
  }
  if (name == "gather") return values.at(op.operands[0]).rank == 1 ? length(1) : -1;
  if (op.def->cls == OpClass::elementwise && !op.operands.empty()) {
    // Of a vector and scalars, or vectors of one length.
    int found = -1;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (op.operands[i] == kNoValue || values.at(op.operands[i]).rank == 0) continue;
      if (length(i) < 0) return -1;
      found = std::max(found, length(i));
    }
    return found;
  }
  return -1;
}

}  // namespace dyn::onnx
