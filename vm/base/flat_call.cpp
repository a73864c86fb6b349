#include "vm/base/flat_call.h"

#include <algorithm>

namespace dyn::vm {
namespace {

std::string flatTypeText(DataType dtype, std::span<const int64_t> shape) {
  std::string result(text(dtype));
  result += "[";
  for (size_t axis = 0; axis < shape.size(); ++axis)
    result += (axis ? "," : "") + std::to_string(shape[axis]);
  return result + "]";
}

}  // namespace

void TensorView::writeStrides(std::span<int64_t> to) const {
  if (strides) {
    std::copy_n(strides, to.size(), to.data());
    return;
  }
  int64_t step = 1;
  for (size_t axis = to.size(); axis-- > 0;) {
    to[axis] = step;
    if (elements > 0) step *= shape()[axis];  // without elements sizes beside a 0 may be anything
  }
}

Status FlatCall::checkResult(size_t index, DataType dtype, std::span<const int64_t> shape) const {
  const TensorView* given = result(index);
  if (given->dtype() == dtype &&
      std::equal(shape.begin(), shape.end(), given->sizes().begin(), given->sizes().end()))
    return okStatus();
  return failure(DYN_BAD_INPUT, "result " + std::to_string(index) + " is " + describe(given) + ", computed " +
                                    flatTypeText(dtype, shape));
}

int32_t reportStatus(const DynBuiltinContext* context, const Status& status) noexcept {
  context->fault(context, status.message.c_str());
  return status.code;
}

std::string describe(const TensorView* tensor) {
  if (!tensor) return "empty";
  return flatTypeText(tensor->dtype(), tensor->sizes()) + (tensor->strides ? " (strided)" : "");
}

Status badArgument(const char* builtin, size_t index, const std::string& expected, const TensorView* got) {
  return failure(DYN_BAD_INPUT, std::string(builtin) + ": argument " + std::to_string(index) + " must be " +
                                    expected + ", got " + describe(got));
}

}  // namespace dyn::vm
