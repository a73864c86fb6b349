#include "vm/kernels/convolution.h"

#include "vm/base/checked.h"

namespace dyn::vm::kernels {

double Convolution::steps() const {
  return static_cast<double>(batch * groups * filters) * static_cast<double>(outputSize()) *
         static_cast<double>(std::max<int64_t>(depth(), 1));
}

namespace {

Status doNotFit(const Tensor* x, const Tensor* w, const Tensor* y) {
  return failure(DYN_BAD_INPUT,
                 "shapes do not fit: " + describe(x) + " * " + describe(w) + " -> " + describe(y));
}

}  // namespace

Status describeConvolution(const BuiltinCall& call, const Tensor* x, const Tensor* w, const Tensor* y,
                           bool transposed, Convolution& c) {
  if (x->dtype != w->dtype || x->dtype != y->dtype) return doNotFit(x, w, y);
  return describeWindows(call, x, w, y, transposed, c);
}

Status describeWindows(const BuiltinCall& call, const Tensor* x, const Tensor* w, const Tensor* y,
                       bool transposed, Convolution& c) {
  const int64_t rank = call.number(0, 0);
  if (rank < 1 || rank > 3) return failure(DYN_UNSUPPORTED, std::to_string(rank) + " spatial dims");
  if (static_cast<int64_t>(call.numbers.size()) < 2 + 2 * rank ||
      static_cast<int64_t>(call.scalars.size()) < rank)
    return failure(DYN_BAD_PROGRAM, "strides, dilations or pads are missing");
  if (x->rank != rank + 2 || w->rank != rank + 2 || y->rank != rank + 2) return doNotFit(x, w, y);
  c.batch = x->shape()[0];
  c.groups = call.number(1, 1);
  const int64_t own = w->shape()[1];  // per group: conv has its filters first, conv_transpose its channels
  if (c.groups < 1 || w->shape()[0] % c.groups != 0 || y->shape()[0] != c.batch) return doNotFit(x, w, y);
  const Tensor *all = transposed ? x : y, *grouped = transposed ? y : x;
  if (all->shape()[1] != w->shape()[0] || grouped->shape()[1] % c.groups != 0 ||
      grouped->shape()[1] / c.groups != own)
    return doNotFit(x, w, y);
  c.channels = transposed ? w->shape()[0] / c.groups : own;
  c.filters = transposed ? own : w->shape()[0] / c.groups;
  double staged = 1;
  for (int64_t i = 0; i < rank; ++i) {
    const auto to = static_cast<size_t>(3 - rank + i);
    c.input[to] = x->shape()[2 + i];
    c.kernel[to] = w->shape()[2 + i];
    c.output[to] = y->shape()[2 + i];
    c.stride[to] = call.number(static_cast<size_t>(2 + i), 1);
    c.dilation[to] = call.number(static_cast<size_t>(2 + rank + i), 1);
    c.pad[to] = call.scalars[static_cast<size_t>(i)];
    // Positions are sums of these four: 2^60 each leaves room for all.
    constexpr int64_t kFarthest = int64_t{1} << 60;
    const int64_t stepped = transposed ? c.input[to] : c.output[to],
                  other = transposed ? c.output[to] : c.input[to];
    int64_t reach = 0, span = 0;
    if (c.stride[to] < 1 || c.dilation[to] < 1 || c.pad[to] < -kFarthest || c.pad[to] > kFarthest ||
        other > kFarthest || !checkedMul(stepped, c.stride[to], reach) || reach > kFarthest ||
        !checkedMul(c.kernel[to], c.dilation[to], span) || span > kFarthest)
      return failure(DYN_BAD_INPUT, "stride, dilation or pad out of range");
    staged *= static_cast<double>(c.output[to]) +
              static_cast<double>(c.kernel[to]) * static_cast<double>(c.dilation[to]);
  }
  if (!transposed && staged * static_cast<double>(c.channels) > 0x1p50)
    return failure(DYN_BAD_INPUT, "dilation out of range");
  // Where there are no channels no bytes stand behind the other dims.
  int64_t count = 0;
  if (!checkedElementCount(c.kernel.data(), 3, count) || !checkedMul(count, c.channels, count) ||
      !checkedElementCount(c.input.data(), 3, count) || !checkedMul(count, c.channels, count))
    return failure(DYN_BAD_INPUT, "the window or the input has too many elements");
  return okStatus();
}

}  // namespace dyn::vm::kernels
