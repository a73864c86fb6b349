#include "compiler/passes/simplify/moved_windows.h"

#include "compiler/ops/op_table.h"
#include "compiler/passes/rewrite/op_series.h"

namespace dyn::passes {

namespace {

constexpr size_t kInput = 0, kWeights = 1, kOffset = 2, kBias = 3, kMask = 4;

class Columns {
 public:
  Columns(const Op& convolution, IrContext& ir, const std::unordered_map<ValueId, Type>& types,
          std::vector<const Op*>& ops)
      : op_(convolution),
        types_(types),
        series_(ir, convolution.place, ops),
        one_(ir.dims().constant(1)),
        group_(ir.dims().constant(convolution.attributes.integer("group", 1))),
        narrow_(convolution.results[0].type.dtype()),
        dtype_(storageBytes(narrow_) < 4 ? Dtype::f32 : narrow_) {}

  bool run() {
    const Shape &w = dimsOf(kWeights), &result = op_.results[0].type.dims();
    for (size_t i = 2; i < w.size(); ++i) {
      if (!w[i].isConstant()) return false;
      kernel_.push_back(*w[i].constant());
    }
    const Dim filters = floorDiv(w[0], group_);
    if (filters.isConstant(1)) return false;
    Dim places = one_, depth = w[1];
    for (size_t i = 2; i < result.size(); ++i) places = places * result[i];
    for (int64_t size : kernel_) depth = depth * size;
    // Groups are one more axis, before the rows of both sides.
    Shape left{filters, depth}, right{result[0], depth, places}, product{result[0], filters, places};
    if (!group_.isConstant(1)) {
      left.insert(left.begin(), group_);
      right.insert(right.begin() + 1, group_);
      product.insert(product.begin() + 1, group_);
    }
    const ValueId rows = series_.reshape(wide(kWeights), left, dtype_);
    const ValueId columns = series_.reshape(windows(), right, dtype_);
    const ValueId sums = series_.emit(&ops::matmulOp, {rows, columns}, {}, product, dtype_);
    finish(sums);
    return true;
  }

 private:
  bool has(size_t i) const { return i < op_.operands.size() && op_.operands[i] != kNoValue; }
  const Shape& dimsOf(size_t i) const { return types_.at(op_.operands[i]).dims(); }

  ValueId cast(ValueId value, const Shape& shape, Dtype to, ValueId into = kNoValue) {
    Attributes attributes;
    attributes.set("to", to);
    return series_.emit(&ops::castOp, {value}, std::move(attributes), shape, to, into);
  }
  ValueId wide(size_t i) {
    return dtype_ == narrow_ ? op_.operands[i] : cast(op_.operands[i], dimsOf(i), dtype_);
  }

  ValueId windows() {
    Attributes attributes;
    for (const char* name : {"strides", "dilations", "pads"})
      if (op_.attributes.has(name)) attributes.set(name, op_.attributes.integers(name));
    if (op_.attributes.has("offset_group"))
      attributes.set("offset_group", op_.attributes.integer("offset_group", 1));
    attributes.set("kernel_shape", kernel_);
    const Shape &w = dimsOf(kWeights), &result = op_.results[0].type.dims();
    Shape shape{result[0], dimsOf(kInput)[1]};
    shape.insert(shape.end(), w.begin() + 2, w.end());
    shape.insert(shape.end(), result.begin() + 2, result.end());
    std::vector<ValueId> operands{wide(kInput), wide(kOffset)};
    if (has(kMask)) operands.push_back(wide(kMask));
    return series_.emit(&ops::deform_columnsOp, std::move(operands), std::move(attributes), shape, dtype_);
  }

  // The sums in the shape of the result, with the bias, in the result's type.
  void finish(ValueId sums) {
    const ValueDef& result = op_.results[0];
    const Shape& shape = result.type.dims();
    const bool narrows = dtype_ != narrow_;
    const ValueId last = narrows ? kNoValue : result.id;
    ValueId value = series_.reshape(sums, shape, dtype_, has(kBias) ? kNoValue : last);
    if (has(kBias)) {
      Shape along(shape.size() - 1, one_);
      along[0] = shape[1];
      const ValueId bias = series_.reshape(wide(kBias), along, dtype_);
      value = series_.emit(&ops::addOp, {value, bias}, {}, shape, dtype_, last);
    }
    if (narrows) cast(value, shape, narrow_, result.id);
  }

  const Op& op_;
  const std::unordered_map<ValueId, Type>& types_;
  OpSeries series_;
  Dim one_, group_;
  Dtype narrow_, dtype_;
  std::vector<int64_t> kernel_;
};

}  // namespace

bool hasMovedWindows(const Op& op) { return op.def == &ops::deform_convOp; }

bool productOfColumns(const Op& convolution, IrContext& ir, const std::unordered_map<ValueId, Type>& types,
                      std::vector<const Op*>& ops) {
  return Columns(convolution, ir, types, ops).run();
}

}  // namespace dyn::passes
