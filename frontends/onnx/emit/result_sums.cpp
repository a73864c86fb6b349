#include "frontends/onnx/emit/result_sums.h"

#include "compiler/dims/dim.h"
#include "compiler/ops/op_table.h"

namespace dyn::onnx {
namespace {

struct Sum {
  ValueId base;
  int64_t offset;
};

Sum sumOf(ValueId id, ValueTable& values) {
  const ValueTable::Entry& entry = values.at(id);
  return entry.base == kNoValue ? Sum{id, 0} : Sum{entry.base, entry.offset};
}

bool given(const Op& op, size_t i) { return i < op.operands.size() && op.operands[i] != kNoValue; }

std::optional<int64_t> filledBy(const Op& op) {
  const HostTensor* tensor = op.attributes.tensor("value");
  if (tensor == nullptr || !isInteger(tensor->dtype()) || tensor->elementCount() != 1) return std::nullopt;
  return tensor->intAt(0);
}

void learnAdd(const Op& op, ValueTable& values) {
  const std::optional<int64_t> a = values.at(op.operands[0]).fill, b = values.at(op.operands[1]).fill;
  ValueTable::Entry& result = values.at(op.results[0].id);  // the last value: its entry stays where it is
  if (a && b) {
    result.fill = checkedAdd(*a, *b);
  } else if (a || b) {
    const Sum sum = sumOf(op.operands[b ? 0 : 1], values);
    const std::optional<int64_t> offset = checkedAdd(sum.offset, a ? *a : *b);
    if (!offset) return;
    result.base = sum.base;
    result.offset = *offset;
  }
}

// Views of one element keep what it is a cast of.
void learnWhole(const Op& op, ValueTable& values) {
  const ValueTable::Entry& source = values.at(op.operands[0]);
  ValueId whole = source.whole;
  if (op.def == &ops::castOp) whole = source.dtype && isInteger(*source.dtype) ? op.operands[0] : kNoValue;
  ValueTable::Entry& result = values.at(op.results[0].id);
  if (result.dtype && isReal(*result.dtype)) result.whole = whole;
}

// Of a vector, from a number up to that number plus k, in steps of 1.
void learnSlice(const Op& op, ValueTable& values) {
  if (!given(op, 0) || !given(op, 1) || !given(op, 2) || values.at(op.operands[0]).rank != 1) return;
  if (given(op, 4) && values.at(op.operands[4]).fill != 1) return;
  const Sum from = sumOf(op.operands[1], values), to = sumOf(op.operands[2], values);
  if (from.base != to.base) return;
  const std::optional<int64_t> less = checkedMul(from.offset, -1);
  const std::optional<int64_t> most = less ? checkedAdd(to.offset, *less) : std::nullopt;
  if (most && *most >= 0) values.at(op.results[0].id).atMost = *most;
}

}  // namespace

void learnSums(const Op& op, ValueTable& values) {
  if (op.results.size() != 1) return;
  const ValueId result = op.results[0].id;
  if (op.def == &ops::constantOp || op.def == &ops::constant_of_shapeOp) {
    values.at(result).fill = filledBy(op);
  } else if (op.def == &ops::castOp && given(op, 0)) {
    if (values.at(result).dtype && isInteger(*values.at(result).dtype)) {
      const std::optional<int64_t> fill = values.at(op.operands[0]).fill;
      values.at(result).fill = fill;
    }
    learnWhole(op, values);
  } else if (op.def->traits.view && given(op, 0)) {
    learnWhole(op, values);
  } else if (op.def == &ops::addOp) {
    learnAdd(op, values);
  } else if (op.def == &ops::sliceOp) {
    learnSlice(op, values);
  }
}

}  // namespace dyn::onnx
